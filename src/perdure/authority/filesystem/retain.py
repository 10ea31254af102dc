"""The Retain and Ledger ports on files (E-05, rules 4 and 12)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec

from perdure.authority.filesystem import ballast, layout, locks, projects
from perdure.authority.filesystem.attempts import FileAttempts, has_text
from perdure.authority.filesystem.claims import FileClaims, is_worker
from perdure.authority.filesystem.index import path_of
from perdure.authority.filesystem.quarantine import sweep_copies
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Intent, IntentTombstone, Outcome, OutcomeTombstone, outcome_tombstone
from perdure.core.attempt import Attempt, day_of
from perdure.core.budget import exposure, unresolved
from perdure.core.job import is_job_id
from perdure.core.record import Record
from perdure.errors import Damaged, StorageError
from perdure.ports.index import JobPart
from perdure.ports.retain import REMOVING_MAX, UNREADABLE, DayTotals, Mark, ProviderTotal

MARK = f"{layout.HINTS}/retention"
_DAY_DIGITS = 8
_ORDINAL_TAIL = len(".00000000")
_REMOVAL_ORDER = ("reserved", "unknown", "fate", "result", "reconciled")
"""Part by part, with a sync after each: an attempt without its reservation is never sent."""


class FileRetain:
    """See `perdure.ports.retain.Retain`."""

    def __init__(self, records: Records, claims: FileClaims) -> None:
        self._records, self._claims = records, claims
        self._compacted: set[str] = set()

    def projects(self) -> tuple[str, ...]:
        """See `Retain.projects`."""
        return projects.keys(self._records)

    def candidates(self, project: str) -> tuple[str, ...]:
        """See `Retain.candidates`."""
        base, disk = layout.scope_folder(project), self._records.disk
        ended = {name for name in disk.names(f"{base}/outcomes") if is_job_id(name)}
        if not ended:
            return ()
        found = ended.intersection(name.removesuffix(".done") for name in disk.names(f"{base}/admissions"))
        for folder in (layout.SPOOL_JOBS, layout.SPOOL_DECISIONS, f"{base}/mailbox", f"{base}/receipts"):
            found |= ended.intersection(disk.names(folder))
        return tuple(sorted(found))

    def newest_settled_ms(self) -> int:
        """See `Retain.newest_settled_ms`."""
        folders = [f"{layout.scope_folder(key)}/outcomes" for key in self.projects()]
        names = (name for folder in folders for name in self._records.disk.names(folder) if is_job_id(name))
        return max((int(name[:12], 16) for name in names), default=0)

    def entomb(self, job_id: str) -> None:
        """See `Retain.entomb`."""
        path = layout.outcome(job_id)
        ended: Record | None = self._records.read(path, Outcome, OutcomeTombstone)
        if isinstance(ended, Outcome):
            self._records.replace(path, outcome_tombstone(ended))

    def entombed(self, job_id: str) -> bool:
        """See `Retain.entombed`."""
        path = layout.outcome(job_id)
        ended: Record | None = self._records.read(path, Outcome, OutcomeTombstone)
        return isinstance(ended, OutcomeTombstone)

    def remove_rest(self, project: str, job_ids: tuple[str, ...]) -> int:
        """See `Retain.remove_rest`. The completion goes last: alone it means nothing."""
        paths: list[str] = []
        ends: list[str] = []
        for job_id in job_ids:
            path = layout.outcome(job_id)
            ended: Record | None = self._records.found_changing(path, Outcome, OutcomeTombstone)
            if not isinstance(ended, OutcomeTombstone):
                continue
            paths += [layout.job(job_id), layout.decision(job_id), layout.event(job_id)]
            derived = path_of(JobPart(job_id))
            if self._records.disk.info(derived) is not None:
                paths.append(derived)
            if self.compacted(project, job_id):
                paths += [layout.receipt(project, job_id), layout.intent(project, job_id)]
                ends.append(layout.completion(project, job_id))
        return self._records.remove(*paths) + self._records.remove(*ends)

    def uncompacted(self, project: str) -> tuple[str, ...]:
        """See `Retain.uncompacted`."""
        base, disk = layout.scope_folder(project), self._records.disk
        receipts = set(disk.names(f"{base}/receipts"))
        names = sorted(name for name in disk.names(f"{base}/admissions") if name in receipts)
        return tuple(name for name in names if not self.compacted(project, name))

    def sweep_scope(self, scope: str) -> int:
        """See `Retain.sweep_scope`."""
        folder = f"{layout.scope_folder(scope)}/admissions"
        names = set(self._records.disk.names(folder))
        alone = [n for n in names if n.endswith(".done") and n.removesuffix(".done") not in names]
        return self._records.remove(*(f"{folder}/{name}" for name in sorted(alone)))

    def sweep_home(self) -> int:
        """See `Retain.sweep_home`."""
        before = sum(is_worker(name) for name in self._records.disk.names(layout.WORKERS))
        living = len(self._claims.workers())
        lanes: dict[str, list[str]] = {}
        for name in self._records.disk.names(layout.SPOOL_LANES):
            plain = name.removesuffix(".released")
            if plain[-_ORDINAL_TAIL + 1 :].isdigit() and "." in plain:
                lanes.setdefault(plain[:-_ORDINAL_TAIL], []).append(name)
        old = [
            f"{layout.SPOOL_LANES}/{name}"
            for names in lanes.values()
            for name in names
            if name.removesuffix(".released") != max(other.removesuffix(".released") for other in names)
        ]
        swept = self._records.disk.sweep_temporaries()
        return swept + self._records.remove(*old) + max(0, before - living)

    def sweep_quarantine(self, before_ms: int) -> int:
        """See `Retain.sweep_quarantine`."""
        return sweep_copies(self._records, before_ms)

    def give_up_ballast(self) -> bool:
        """See `Retain.give_up_ballast`."""
        return ballast.give_up(self._records)

    def stock_ballast(self) -> None:
        """See `Retain.stock_ballast`."""
        ballast.stock(self._records)

    def mark(self) -> Mark | None:
        """See `Retain.mark`."""
        with contextlib.suppress(StorageError, msgspec.MsgspecError):
            data = self._records.disk.read(MARK, bytes_max=4096)
            return msgspec.json.decode(data, type=Mark) if data is not None else None
        return None

    def set_mark(self, mark: Mark) -> None:
        """See `Retain.set_mark`."""
        self._records.disk.note(MARK, msgspec.json.encode(mark))

    def compacted(self, project: str, job_id: str) -> bool:
        """See `Retain.compacted`. A tombstone never becomes an intent again: what was seen once is known.

        Should a power loss bring the intent back, whoever takes the lock next compacts it again.
        """
        if job_id in self._compacted:
            return True
        try:
            path = layout.intent(project, job_id)
            found: Record | None = self._records.read(path, Intent, IntentTombstone)
        except Damaged:
            return False
        if isinstance(found, Intent):
            return False
        if found is not None:
            self._compacted.add(job_id)
        return True


class FileLedger:
    """See `perdure.ports.retain.Ledger`. `closed` says whether a job has its outcome."""

    def __init__(self, records: Records, attempts: FileAttempts, closed: Callable[[str], bool]) -> None:
        self._records, self._attempts, self._closed = records, attempts, closed

    def totals(self) -> tuple[DayTotals, ...]:
        """See `Ledger.totals`."""
        found = (
            self._records.read(f"{layout.BUDGETS}/{day}", DayTotals) for day in self._days(layout.BUDGETS)
        )
        return tuple(totals for totals in found if totals is not None)

    def days(self) -> tuple[str, ...]:
        """See `Ledger.days`."""
        return self._days(layout.ATTEMPTS)

    def close_day(self, day: str) -> DayTotals | None:
        """See `Ledger.close_day`."""
        path = f"{layout.BUDGETS}/{day}"
        with locks.hold(self._records.disk, layout.BUDGETS):
            totals = self._records.found_changing(path, DayTotals) or DayTotals(
                day=day, providers=(), removing=()
            )
            self._remove(day, totals.removing)
            self._attempts.sweep_orphans()  # of a closed job nobody else settles them
            mine = [a for a in self._attempts.all() if day_of(a.attempt_id) == day]
            if not all(self._settled(attempt) for attempt in mine):
                return None
            for begin in range(0, len(mine), REMOVING_MAX):
                totals = _with(totals, mine[begin : begin + REMOVING_MAX])
                self._records.replace(path, totals)
                self._remove(day, totals.removing)
            if totals.removing:
                totals = msgspec.structs.replace(totals, removing=())
                self._records.replace(path, totals)
            if self._records.disk.remove_folder(f"{layout.ATTEMPTS}/{day}"):
                self._records.sync_folder(layout.ATTEMPTS)
        return totals if totals.providers else None

    def strip_results(self, expired: Callable[[str], bool]) -> int:
        """See `Ledger.strip_results`."""
        stripped = 0
        for attempt in self._attempts.all():
            if attempt.result is not None and has_text(attempt.result) and expired(attempt.result.job_id):
                stripped += self._attempts.strip_result(attempt.attempt_id)
        return stripped

    def _settled(self, attempt: Attempt) -> bool:
        if unresolved(attempt) or attempt.open:
            return False
        return attempt.reserved is None or self._closed(attempt.reserved.job_id)

    def _remove(self, day: str, attempts: tuple[str, ...]) -> None:
        if not attempts:
            return
        folder, gone = f"{layout.ATTEMPTS}/{day}", frozenset(attempts)
        present = self._records.disk.names(folder)
        for part in _REMOVAL_ORDER:
            names = [n for n in present if n.endswith(f".{part}") and n.removesuffix(f".{part}") in gone]
            self._records.remove(*(f"{folder}/{name}" for name in sorted(names)))

    def _days(self, folder: str) -> tuple[str, ...]:
        names = self._records.disk.names(folder)
        return tuple(sorted(name for name in names if len(name) == _DAY_DIGITS and name.isdigit()))


def _with(before: DayTotals, attempts: list[Attempt]) -> DayTotals:
    """The totals with those attempts counted on top."""
    rows = {row.provider: row for row in before.providers}
    for attempt in attempts:
        provider = attempt.reserved.provider if attempt.reserved is not None else UNREADABLE
        row = rows.get(provider) or ProviderTotal(provider, 0, 0, 0, 0)
        spent = exposure(attempt).actual
        rows[provider] = ProviderTotal(
            provider=provider,
            attempts=row.attempts + 1,
            calls=row.calls + spent.calls,
            tokens=row.tokens + spent.tokens,
            cost_nanodollars=row.cost_nanodollars + spent.cost_nanodollars,
        )
    return DayTotals(
        day=before.day,
        providers=tuple(rows[name] for name in sorted(rows)),
        removing=tuple(attempt.attempt_id for attempt in attempts),
    )
