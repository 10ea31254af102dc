"""The Attempts port on files: a folder per UTC day, at most five records per attempt.

Records are immutable, so what was read once is kept in memory; every look lists the names again. Sums are
never kept: the budget is folded from the records each time (rule 12).
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from perdure.authority.filesystem import layout, locks
from perdure.authority.filesystem.records import Records
from perdure.core.attempt import (
    Attempt,
    Fate,
    Reconciled,
    Reserved,
    Result,
    Unknown,
    Usage,
    attempt_id,
    day_of,
)
from perdure.core.budget import (
    ZERO,
    Exposure,
    Limits,
    OverBudget,
    admit,
    calls_since,
    charge,
    month_cost,
    unresolved,
)
from perdure.core.record import Record
from perdure.errors import Damaged, NotFound, Refused
from perdure.ports.retain import DayTotals

PARTS: dict[str, type[Record]] = {
    "reserved": Reserved,
    "fate": Fate,
    "result": Result,
    "unknown": Unknown,
    "reconciled": Reconciled,
}
_DAY_DIGITS = 8
_MONTH_DIGITS = 6
_HOUR_MS = 3_600_000


class _Owners(Protocol):
    def gone(self, worker: str) -> bool: ...


class FileAttempts:
    """See `perdure.ports.attempts.Attempts`. `largest_hold` is what an unreadable attempt costs."""

    def __init__(self, records: Records, owners: _Owners, *, largest_hold: Usage = ZERO) -> None:
        self._records, self._owners, self._largest_hold = records, owners, largest_hold
        self._known: dict[str, Attempt] = {}
        self._seen: set[str] = set()

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """See `Attempts.of_job`.

        Their names follow from the job, so no folder is listed: other jobs' attempts cost nothing.
        """
        found: list[Attempt] = []
        days = self._days()
        while True:
            number = len(found) + 1
            names = (attempt_id(day, job_id, number) for day in days)
            attempt = next((a for name in names if (a := self._look(name)) is not None), None)
            if attempt is None:
                return tuple(found)
            found.append(attempt)

    def all(self) -> tuple[Attempt, ...]:
        """See `Attempts.all`."""
        self._refresh()
        return tuple(self._known[name] for name in sorted(self._known))

    def reserve(self, draft: Reserved, limits: Limits | None) -> Reserved | OverBudget | None:
        """See `Attempts.reserve`."""
        self._records.ensure_folders(f"{layout.ATTEMPTS}/{draft.day}")
        with locks.hold(self._records.disk, layout.BUDGETS):
            if len(self.of_job(draft.job_id)) >= draft.number:
                return None
            if limits is not None:
                self._sweep_orphans()
                over = self._over(draft, limits)
                if over is not None:
                    return over
            self._publish(draft.attempt_id, "reserved", draft)
        return draft

    def _over(self, draft: Reserved, limits: Limits) -> OverBudget | None:
        made = self.all()
        open_days = month_cost(made, provider=draft.provider, day=draft.day, largest_hold=self._largest_hold)
        return admit(
            charge(made, provider=draft.provider, day=draft.day, largest_hold=self._largest_hold),
            draft.hold,
            limits,
            month_cost_nanodollars=open_days + self._closed_cost(draft.provider, draft.day[:_MONTH_DIGITS]),
            hour_calls=calls_since(made, provider=draft.provider, since_ms=draft.reserved_ms - _HOUR_MS),
        )

    def _closed_cost(self, provider: str, month: str) -> int:
        """What days of a month cost whose attempts are gone and whose totals stay."""
        cost = 0
        for day in self._records.disk.names(layout.BUDGETS):
            if len(day) == _DAY_DIGITS and day.startswith(month):
                totals = self._records.found(f"{layout.BUDGETS}/{day}", DayTotals)
                rows = totals.providers if totals is not None else ()
                cost += sum(row.amount.cost_nanodollars for row in rows if row.provider == provider)
        return cost

    def decide_fate(self, fate: Fate) -> bool:
        """See `Attempts.decide_fate`. A fate that this process wrote before still means: not the creator."""
        path = layout.attempt(fate.attempt_id, "fate")
        _, created = self._records.elect(path, fate)
        return created

    def settle(self, result: Result) -> None:
        """See `Attempts.settle`."""
        self._publish(result.attempt_id, "result", result)

    def lose(self, attempt_id: str) -> None:
        """See `Attempts.lose`."""
        self._records.derive(layout.attempt(attempt_id, "unknown"), Unknown(attempt_id=attempt_id))

    def reconcile(self, reconciled: Reconciled) -> None:
        """See `Attempts.reconcile`."""
        name = reconciled.attempt_id
        self._refresh()
        attempt = self._known.get(name)
        if attempt is None:
            msg = f"there is no attempt {name}."
            raise NotFound(msg, advice="perdure budget show lists them.")
        if not unresolved(attempt):
            msg = f"attempt {name} is {attempt.state}; nothing is open about it."
            raise Refused(msg)
        if attempt.reserved is not None and not self._owners.gone(attempt.reserved.worker):
            msg = f"attempt {name} belongs to a worker that is still alive."
            raise Refused(msg, advice="Wait for it to end, or stop that worker first.")
        if attempt.state == "dispatched":
            self.lose(name)
        elif attempt.state == "reserved":
            self.decide_fate(Fate(attempt_id=name, fate="cancelled", worker="", reason="owner gone"))
            return
        self._publish(name, "reconciled", reconciled)

    def charge(self, provider: str, day: str) -> Exposure:
        """See `Attempts.charge`."""
        return self._charge(provider, day)

    def _charge(self, provider: str, day: str) -> Exposure:
        return charge(self.all(), provider=provider, day=day, largest_hold=self._largest_hold)

    def _publish(self, name: str, part: str, record: Record) -> None:
        self._records.ensure_folders(f"{layout.ATTEMPTS}/{day_of(name)}")
        self._records.create(layout.attempt(name, part), record)

    def _sweep_orphans(self) -> None:
        """Settle what dead owners left open, so that proved non-calls free their budget (A-03)."""
        for attempt in self.all():
            if not attempt.open or attempt.reserved is None or not self._owners.gone(attempt.reserved.worker):
                continue
            if attempt.state == "dispatched":
                self.lose(attempt.attempt_id)
            else:
                cancelled = Fate(
                    attempt_id=attempt.attempt_id, fate="cancelled", worker="", reason="owner gone"
                )
                self.decide_fate(cancelled)

    def _days(self) -> list[str]:
        names = self._records.disk.names(layout.ATTEMPTS)
        return sorted(name for name in names if len(name) == _DAY_DIGITS and name.isdigit())

    def _look(self, name: str) -> Attempt | None:
        """One attempt with all its records that exist now; None when it was never reserved."""
        first = layout.attempt(name, "reserved")
        if f"{name}.reserved" not in self._seen and self._records.disk.info(first) is None:
            return None
        for part in PARTS:
            record = f"{name}.{part}"
            path = layout.attempt(name, part)
            if record not in self._seen and self._records.disk.info(path) is not None:
                self._records.settle(path)
                self._learn(record)
        return self._known.get(name)

    def _refresh(self) -> None:
        present: set[str] = set()
        for day in self._days():
            folder = f"{layout.ATTEMPTS}/{day}"
            names = [name for name in self._records.disk.names(folder) if is_part(name)]
            present.update(names)
            fresh = [name for name in names if name not in self._seen]
            self._records.settle_all(folder, fresh)
            for name in sorted(fresh):
                self._learn(name)
        if len(present) < len(self._seen):
            self._forget(self._seen - present)

    def _learn(self, name: str) -> None:
        attempt, _, part = name.rpartition(".")
        known = self._known.get(attempt) or Attempt(reserved=None, attempt_id=attempt)
        path = layout.attempt(attempt, part)
        try:
            record = self._records.read(path, PARTS[part])
        except Damaged as damaged:
            self._known[attempt] = msgspec.structs.replace(known, damaged=f"{path}: {damaged.reason}")
            self._seen.add(name)
            return
        if record is None:
            return
        self._known[attempt] = with_part(known, part, record)
        self._seen.add(name)

    def _forget(self, gone: set[str]) -> None:
        """A day was removed by retention: drop what is no longer there."""
        self._seen -= gone
        for attempt in {name.rpartition(".")[0] for name in gone}:
            self._known.pop(attempt, None)
        self._seen = {name for name in self._seen if name.rpartition(".")[0] in self._known}


def with_part(attempt: Attempt, part: str, record: Record) -> Attempt:
    """The attempt with one more of its records."""
    value: object = True if part == "unknown" else record
    return msgspec.structs.replace(attempt, **{part: value})


def is_part(name: str) -> bool:
    """Whether a name in a day's folder can be a record of an attempt."""
    attempt, _, part = name.rpartition(".")
    return part in PARTS and len(attempt) >= len(attempt_id("00000000", "0" * 76, 1))
