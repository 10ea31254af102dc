"""The Attempts port on files: a folder per UTC day, at most five records per attempt.

Records are immutable, so what was read once is kept in memory; every look lists the names again, and reads
again what could not be read. Sums are never kept: the budget is folded from the records each time (rule 12).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from perdure.authority.filesystem import layout, locks
from perdure.authority.filesystem.quarantine import copy_aside
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
    Amount,
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
from perdure.errors import Damaged, NotFound, Refused, StorageError
from perdure.ports.retain import UNREADABLE, DayTotals

PARTS: dict[str, type[Record]] = {
    "reserved": Reserved,
    "fate": Fate,
    "result": Result,
    "unknown": Unknown,
    "reconciled": Reconciled,
}
_ATTEMPT = re.compile(r"[0-9]{8}-[0-9a-f]{32}-[0-9]{4,}")
_DAY_DIGITS = 8
_MONTH_DIGITS = 6
_HOUR_MS = 3_600_000
EXPIRED = "expired"
"""The detail of a result whose text was taken out when its job expired."""
RESULT_BYTES = 320 * 1024
"""The largest result: 64,000 characters of proposal, in at most four bytes each, and what is around it."""
_ROOM = bytes(RESULT_BYTES)


class _Owners(Protocol):
    def gone(self, worker: str) -> bool: ...

    def workers(self) -> tuple[str, ...]: ...


class FileAttempts:
    """See `perdure.ports.attempts.Attempts`. `largest_hold` is what an unreadable attempt costs.

    `before_paid` runs before each reservation that has limits: it says outside the home that more is spent,
    so that a copy made before is known as one (rule 14).
    """

    def __init__(
        self,
        records: Records,
        owners: _Owners,
        *,
        largest_hold: Usage = ZERO,
        before_paid: Callable[[], object] = lambda: None,
    ) -> None:
        self._records, self._owners, self._largest_hold = records, owners, largest_hold
        self._before_paid = before_paid
        self._known: dict[str, Attempt] = {}
        self._seen: set[str] = set()
        self._damaged: dict[str, str] = {}

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """See `Attempts.of_job`.

        Their names follow from the job, so no folder is listed: other jobs' attempts cost nothing. The next
        one is looked for first on the day of the one before.
        """
        names: list[str] = []
        days, at = self._days(), 0
        while True:
            ids = [attempt_id(day, job_id, len(names) + 1) for day in (*days[at:], *days[:at])]
            name = next((name for name in ids if self._is_there(name)), None)
            if name is None:
                break
            names.append(name)
            at = days.index(day_of(name))
        self._look(names)
        return tuple(self._known[name] for name in names if name in self._known)

    def all(self) -> tuple[Attempt, ...]:
        """See `Attempts.all`."""
        self._refresh()
        return tuple(self._known[name] for name in sorted(self._known))

    def reserve(self, draft: Reserved, limits: Limits | None) -> Reserved | OverBudget | None:
        """See `Attempts.reserve`."""
        if limits is not None:
            self._before_paid()
        with locks.hold(self._records.disk, layout.BUDGETS):
            if len(self.of_job(draft.job_id)) >= draft.number:
                return None
            if limits is not None:
                self.sweep_orphans()
                over = self._over(draft, limits)
                if over is not None:
                    return over
            self._publish(draft.attempt_id, "reserved", draft)
        return draft

    def _over(self, draft: Reserved, limits: Limits) -> OverBudget | None:
        closed = self._closed()
        made = self._uncounted(closed)
        month = month_cost(made, provider=draft.provider, day=draft.day, largest_hold=self._largest_hold)
        ended = _in_closed(closed, draft.provider, since=draft.day[:_MONTH_DIGITS])
        return admit(
            self._charge(made, closed, draft.provider, draft.day),
            draft.hold,
            limits,
            month_cost_nanodollars=month + ended.cost_nanodollars,
            hour_calls=calls_since(made, provider=draft.provider, since_ms=draft.reserved_ms - _HOUR_MS),
        )

    def _closed(self) -> tuple[DayTotals, ...]:
        """The totals of days that were closed."""
        days = sorted(day for day in self._records.disk.names(layout.BUDGETS) if _is_day(day))
        found = (self._records.found_changing(f"{layout.BUDGETS}/{day}", DayTotals) for day in days)
        return tuple(totals for totals in found if totals is not None)

    def _uncounted(self, closed: tuple[DayTotals, ...]) -> tuple[Attempt, ...]:
        """The attempts that no day's totals count yet: the removal of the others may have been cut short."""
        counted = {name for totals in closed for name in totals.removing}
        return tuple(attempt for attempt in self.all() if attempt.attempt_id not in counted)

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        """See `Attempts.room`. The room is a temporary file of the largest result's size."""
        with self._records.disk.temporary(_ROOM):
            yield

    def decide_fate(self, fate: Fate) -> bool:
        """See `Attempts.decide_fate`. A fate that this process wrote before still means: not the creator.

        An attempt whose reservation is gone was settled by others and expired: it is never sent.
        """
        if not self._reserved(fate.attempt_id):
            return False
        path = layout.attempt(fate.attempt_id, "fate")
        _, created = self._records.elect(path, fate)
        return created

    def settle(self, result: Result) -> None:
        """See `Attempts.settle`. A day that was closed meanwhile is opened again: the result counts alone."""
        try:
            self._publish(result.attempt_id, "result", result)
        except StorageError:
            if self._records.disk.info(_day_folder(result.attempt_id)) is not None:
                raise
            self._publish(result.attempt_id, "result", result)

    def strip_result(self, attempt_id: str) -> bool:
        """Take the text out of an expired result, under the budget's lock; False when it has none (E-05)."""
        path = layout.attempt(attempt_id, "result")
        with locks.hold(self._records.disk, layout.BUDGETS):
            found = self._records.found_changing(path, Result)
            if found is None:
                return False
            bare = msgspec.structs.replace(found, detail=EXPIRED, proposal=None, correction=None)
            if has_text(found):
                self._records.replace(path, bare)
            if attempt_id in self._known:
                self._known[attempt_id] = with_part(self._known[attempt_id], "result", bare)
        return has_text(found)

    def lose(self, attempt_id: str) -> None:
        """See `Attempts.lose`. An attempt whose reservation is gone was settled by others and expired."""
        if self._reserved(attempt_id):
            self._records.derive(layout.attempt(attempt_id, "unknown"), Unknown(attempt_id=attempt_id))

    def _reserved(self, name: str) -> bool:
        return self._records.disk.info(layout.attempt(name, "reserved")) is not None

    def reconcile(self, reconciled: Reconciled) -> None:
        """See `Attempts.reconcile`. Under the budget's lock: of two users at once, the second is refused."""
        with locks.hold(self._records.disk, layout.BUDGETS):
            self._reconcile(reconciled)

    def _reconcile(self, reconciled: Reconciled) -> None:
        name = reconciled.attempt_id
        self._refresh()
        attempt = self._known.get(name)
        if attempt is None:
            msg = f"there is no attempt {name}."
            raise NotFound(msg, advice="perdure budget show lists them.")
        if not unresolved(attempt):
            msg = f"attempt {name} is {attempt.state}; nothing is open about it."
            raise Refused(msg)
        self._check_owner_gone(attempt)
        if attempt.damaged is None and attempt.state == "dispatched":
            self.lose(name)
        elif attempt.damaged is None and attempt.state == "reserved":
            self.decide_fate(Fate(attempt_id=name, fate="cancelled", worker="", reason="owner gone"))
            return
        self._say(reconciled)

    def _check_owner_gone(self, attempt: Attempt) -> None:
        """Where no record names the owner, only the end of all workers proves that it is gone (rule 12)."""
        named = attempt.reserved or attempt.fate
        if named is None and self._owners.workers():
            msg = f"no record tells whose attempt {attempt.attempt_id} is, and a worker is alive."
            raise Refused(msg, advice="Stop all workers first.")
        if named is not None and not self._owners.gone(named.worker):
            msg = f"attempt {attempt.attempt_id} belongs to a worker that is still alive."
            raise Refused(msg, advice="Wait for it to end, or stop that worker first.")

    def _say(self, reconciled: Reconciled) -> None:
        """The user's word; in place of an earlier one that cannot be read, of which a copy is kept."""
        part = f"{reconciled.attempt_id}.reconciled"
        if part in self._damaged:
            path = layout.attempt(reconciled.attempt_id, "reconciled")
            copy_aside(self._records, path, self._damaged[part])
            self._records.replace(path, reconciled)
        else:
            self._publish(reconciled.attempt_id, "reconciled", reconciled)

    def charge(self, provider: str, day: str) -> Exposure:
        """See `Attempts.charge`."""
        closed = self._closed()
        return self._charge(self._uncounted(closed), closed, provider, day)

    def _charge(
        self, made: tuple[Attempt, ...], closed: tuple[DayTotals, ...], provider: str, day: str
    ) -> Exposure:
        """A day that was closed under a clock ahead counts too when its date is still to come."""
        counted = charge(made, provider=provider, day=day, largest_hold=self._largest_hold)
        return counted + Exposure(actual=_in_closed(closed, provider, since=day))

    def _publish(self, name: str, part: str, record: Record) -> None:
        self._records.ensure_folders(_day_folder(name))
        self._records.create(layout.attempt(name, part), record)

    def sweep_orphans(self) -> None:
        """Settle what dead owners left open, so that proved non-calls free their budget (A-03).

        A damaged attempt proves nothing: it counts what it may have cost until the user reconciles it.
        """
        for attempt in self.all():
            if not attempt.open or attempt.damaged is not None or attempt.reserved is None:
                continue
            if not self._owners.gone(attempt.reserved.worker):
                continue
            if attempt.state == "dispatched":
                self.lose(attempt.attempt_id)
            else:
                cancelled = Fate(
                    attempt_id=attempt.attempt_id, fate="cancelled", worker="", reason="owner gone"
                )
                self.decide_fate(cancelled)

    def _days(self) -> list[str]:
        return sorted(name for name in self._records.disk.names(layout.ATTEMPTS) if _is_day(name))

    def _is_there(self, name: str) -> bool:
        return f"{name}.reserved" in self._seen or self._reserved(name)

    def _look(self, names: list[str]) -> None:
        """Read what exists of those attempts and was not read before: one sync per day that has any."""
        fresh: dict[str, list[str]] = {}
        for name in names:
            known = self._known.get(name)
            if known is not None and _complete(known):
                continue
            for part in PARTS:
                if not self._unread(f"{name}.{part}"):
                    continue
                if self._records.disk.info(layout.attempt(name, part)) is not None:
                    fresh.setdefault(_day_folder(name), []).append(f"{name}.{part}")
        for folder, parts in fresh.items():
            self._records.settle_all(folder, parts)
            for part in parts:
                self._learn(part)

    def _refresh(self) -> None:
        present: set[str] = set()
        for day in self._days():
            folder = f"{layout.ATTEMPTS}/{day}"
            names = [name for name in self._records.disk.names(folder) if is_part(name)]
            present.update(names)
            fresh = [name for name in names if self._unread(name)]
            self._records.settle_all(folder, fresh)
            for name in sorted(fresh):
                self._learn(name)
        if len(present) < len(self._seen):
            self._forget(self._seen - present)

    def _unread(self, part: str) -> bool:
        """A part that could not be read is read again: the failure may have been the disk's, for a moment."""
        return part not in self._seen or part in self._damaged

    def _learn(self, name: str) -> None:
        attempt, _, part = name.rpartition(".")
        known = self._known.get(attempt) or Attempt(reserved=None, attempt_id=attempt)
        path = layout.attempt(attempt, part)
        try:
            record = self._records.read(path, PARTS[part])
        except Damaged as damaged:
            self._damaged[name] = f"{path}: {damaged.reason}"
            self._known[attempt] = msgspec.structs.replace(known, damaged=self._damaged[name])
            self._seen.add(name)
            return
        if record is None:
            return
        self._damaged.pop(name, None)
        found = with_part(known, part, record)
        if known.damaged is not None:
            others = (self._damaged.get(f"{attempt}.{other}") for other in PARTS)
            found = msgspec.structs.replace(found, damaged=next((why for why in others if why), None))
        self._known[attempt] = found
        self._seen.add(name)

    def _forget(self, gone: set[str]) -> None:
        """A day was removed by retention: drop what is no longer there."""
        self._seen -= gone
        for attempt in {name.rpartition(".")[0] for name in gone}:
            self._known.pop(attempt, None)
        self._damaged = {name: why for name, why in self._damaged.items() if name not in gone}
        self._seen = {name for name in self._seen if name.rpartition(".")[0] in self._known}


def with_part(attempt: Attempt, part: str, record: Record) -> Attempt:
    """The attempt with one more of its records."""
    value: object = True if part == "unknown" else record
    return msgspec.structs.replace(attempt, **{part: value})


def _complete(attempt: Attempt) -> bool:
    """Whether no record that may still come could change what the attempt is or costs."""
    told = attempt.result is not None and attempt.result.usage is not None
    return attempt.damaged is None and (told or attempt.state == "cancelled")


def has_text(result: Result) -> bool:
    """Whether a result holds what the reviewer wrote."""
    return result.proposal is not None or result.correction is not None


def is_part(name: str) -> bool:
    """Whether a name in a day's folder can be a record of an attempt."""
    attempt, _, part = name.rpartition(".")
    return part in PARTS and _ATTEMPT.fullmatch(attempt) is not None


def _in_closed(closed: tuple[DayTotals, ...], provider: str, *, since: str) -> Amount:
    """What closed days from that day or month on came to; what has no provider counts against each."""
    rows = (row for totals in closed if totals.day[: len(since)] >= since for row in totals.providers)
    return sum((row.amount for row in rows if row.provider in {provider, UNREADABLE}), Amount())


def _day_folder(attempt: str) -> str:
    return f"{layout.ATTEMPTS}/{day_of(attempt)}"


def _is_day(name: str) -> bool:
    return len(name) == _DAY_DIGITS and name.isdigit()
