"""The Coverage port on files: a fold over jobs, outcomes and uncovered records (rule 8).

Records are immutable, so the fold is kept in memory and only new names are read. Whether another process
committed in between is told by a token in an unsynced hint, rewritten under the lock before each commit:
when it is still ours nothing is listed, so that a commit costs the same at any backlog. A lost or torn hint
only means another listing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import msgspec

from perdure.authority.filesystem import layout, locks
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Outcome, OutcomeTombstone
from perdure.core.canonical import digest
from perdure.core.job import Job, is_job_id, lane_of, turn_ids
from perdure.core.record import RECORD_BYTES_MAX, Record
from perdure.errors import Damaged, StorageError
from perdure.ports.clock import Ids
from perdure.ports.coverage import HeldCoverage, Uncovered
from perdure.ports.queue import Accepted

UNCOVERED = "uncovered"


class _Fold(msgspec.Struct):
    seen: set[str]
    turns: dict[str, str]
    token: bytes = b""


class FileCoverage:
    """See `perdure.ports.coverage.Coverage`."""

    def __init__(self, records: Records, queue: FileQueue, ids: Ids) -> None:
        self._records, self._queue, self._ids = records, queue, ids
        self._folds: dict[str, _Fold] = {}

    @contextlib.contextmanager
    def hold(self, project: str) -> Iterator[HeldCoverage]:
        """See `Coverage.hold`."""
        folder = f"{layout.scope_folder(project)}/coverage"
        with locks.hold(self._records.disk, folder, wait_seconds=self._records.lock_wait_seconds):
            yield _Held(self, project)

    def covered(self, project: str) -> Mapping[str, str]:
        """See `Coverage.covered`."""
        return dict(self._fold(project).turns)

    def _fold(self, project: str) -> _Fold:
        fold = self._folds.setdefault(project, _Fold(set(), {}))
        if fold.token and fold.token == self._token(project):
            return fold
        scope = layout.scope_folder(project)
        disk = self._records.disk
        jobs = {n for n in disk.names(layout.SPOOL_JOBS) if is_job_id(n) and lane_of(n).project == project}
        ends = {n for n in disk.names(f"{scope}/outcomes") if is_job_id(n)}
        marks = set(disk.names(f"{scope}/coverage"))
        self._read(fold, f"{scope}/outcomes", ends, Outcome, OutcomeTombstone)
        unread = {name for name in ends if layout.outcome(name) not in fold.seen}
        self._read(fold, layout.SPOOL_JOBS, jobs - ends | jobs & unread, Job)
        self._read(fold, f"{scope}/coverage", marks, Uncovered)
        return fold

    def _read(self, fold: _Fold, folder: str, names: set[str], *types: type[Record]) -> None:
        """Fold in what is new: made durable with one sync, then read; what cannot be read covers nothing."""
        new = [name for name in names if f"{folder}/{name}" not in fold.seen]
        self._records.settle_all(folder, new)
        for name in new:
            path = f"{folder}/{name}"
            with contextlib.suppress(StorageError):
                record = self._records.read(path, *types)
                if record is not None:
                    fold.turns.update(dict.fromkeys(_turns(record), getattr(record, "job_id", UNCOVERED)))
                    fold.seen.add(path)

    def _token(self, project: str) -> bytes:
        with contextlib.suppress(StorageError):
            return self._records.disk.read(f"{layout.HINTS}/{project}", bytes_max=64) or b""
        return b""

    def commit_begins(self, project: str, fold: _Fold) -> None:
        """Say in the hint who commits, before anything is committed, so that a crash in between is seen as
        foreign. While the hint is ours nobody else has committed, and it need not be written again.
        """
        if fold.token and fold.token == self._token(project):
            return
        token = self._ids.token(32).encode()
        self._records.disk.note(f"{layout.HINTS}/{project}", token)
        fold.token = token


class _Held:
    """See `perdure.ports.coverage.HeldCoverage`."""

    def __init__(self, coverage: FileCoverage, project: str) -> None:
        self._coverage, self._project = coverage, project
        self._now = coverage._fold(project)  # noqa: SLF001 - one unit
        self._settled: set[str] = set()

    def covered(self) -> Mapping[str, str]:
        return self._now.turns

    def accept(self, job: Job) -> Accepted:
        self._settle_branch(layout.branch(job.project, job.branch_id))
        self._coverage.commit_begins(self._project, self._now)
        accepted = self._coverage._queue.accept(job)  # noqa: SLF001 - one unit
        self._now.turns.update(dict.fromkeys(turn_ids(job), job.job_id))
        self._now.seen.add(layout.job(job.job_id))
        return accepted

    def _settle_branch(self, path: str) -> None:
        if path in self._settled:
            return
        records = self._coverage._records  # noqa: SLF001 - one unit
        with contextlib.suppress(Damaged):
            data = records.disk.read(path, bytes_max=RECORD_BYTES_MAX)
            if data is not None:
                records.settle_content(path, data)
        self._settled.add(path)

    def note_uncovered(self, uncovered: Uncovered) -> None:
        self._coverage.commit_begins(self._project, self._now)
        name = digest([uncovered.project, list(uncovered.turns), uncovered.reason])[:32]
        path = f"{layout.scope_folder(self._project)}/coverage/{name}"
        self._coverage._records.elect(path, uncovered)  # noqa: SLF001 - one unit
        self._now.turns.update(dict.fromkeys(uncovered.turns, UNCOVERED))
        self._now.seen.add(path)


def _turns(record: Record) -> tuple[str, ...]:
    if isinstance(record, Job):
        return turn_ids(record)
    return record.turns if isinstance(record, Outcome | OutcomeTombstone | Uncovered) else ()
