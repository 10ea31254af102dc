"""A shadow of the records in SQLite: for looking things up, never for deciding (S-02).

It is built from the records alone, in memory, and put in its place as one whole file through the Disk port:
readers see the old one or the new one, a crash leaves either, and a missing or damaged one is built again.
It holds ids, states, times and amounts; never text of memory or evidence. It is never written while this
thread holds a lock of the authority.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from perdure.authority.filesystem import layout, locks
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Outcome
from perdure.core.attempt import day_of
from perdure.core.budget import exposure
from perdure.core.job import lane_of
from perdure.errors import StorageError
from perdure.ports.inspect import ScopeRecords, Snapshot

PATH = f"{layout.INDEX}/shadow.sqlite"
SCHEMA_VERSION = 1
SHADOW_BYTES_MAX = 1 << 30

_SCHEMA = """
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY, project TEXT NOT NULL, branch_id TEXT NOT NULL, settled_ms INTEGER NOT NULL,
  generation INTEGER, mode TEXT, evidence_digest TEXT, turns INTEGER NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, successor TEXT, ended_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_by_state ON jobs (project, state, settled_ms);
CREATE TABLE attempts (
  attempt_id TEXT PRIMARY KEY, job_id TEXT, day TEXT NOT NULL, provider TEXT, model TEXT, state TEXT NOT NULL,
  outcome TEXT, actual_calls INTEGER NOT NULL, actual_tokens INTEGER NOT NULL,
  actual_nanodollars INTEGER NOT NULL, held_nanodollars INTEGER NOT NULL,
  unknown_nanodollars INTEGER NOT NULL, reserved_ms INTEGER, settled_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_job ON attempts (job_id);
CREATE TABLE receipts (
  job_id TEXT PRIMARY KEY, project TEXT NOT NULL, branch_id TEXT NOT NULL, verdict TEXT NOT NULL,
  reasons TEXT NOT NULL, base_digest TEXT, result_digest TEXT, revision_seq INTEGER, ended_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE revisions (
  scope TEXT NOT NULL, branch_id TEXT NOT NULL, seq INTEGER NOT NULL, cause TEXT NOT NULL, job_id TEXT,
  undoes INTEGER, base_digest TEXT, result_digest TEXT NOT NULL, changes INTEGER NOT NULL,
  made_ms INTEGER NOT NULL,
  PRIMARY KEY (scope, branch_id, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE budget_days (
  day TEXT NOT NULL, provider TEXT NOT NULL, attempts INTEGER NOT NULL,
  actual_calls INTEGER NOT NULL, actual_tokens INTEGER NOT NULL, actual_nanodollars INTEGER NOT NULL,
  held_nanodollars INTEGER NOT NULL, unknown_nanodollars INTEGER NOT NULL,
  PRIMARY KEY (day, provider)
) STRICT, WITHOUT ROWID;
"""
TABLES = ("jobs", "attempts", "receipts", "revisions", "budget_days")


class ShadowCounts(msgspec.Struct, frozen=True):
    """Rows per table, and the records that could not be read and are therefore not in it."""

    jobs: int
    attempts: int
    receipts: int
    revisions: int
    budget_days: int
    unread: int


class Shadow:
    """The observer of one home's records."""

    def __init__(self, records: Records) -> None:
        self._records, self._disk = records, records.disk

    def rebuild(self) -> ShadowCounts:
        """Build it again and put it in place of the old one. Raises NestedLock under a lock."""
        locks.refuse_held("the shadow")
        snapshot = load_snapshot(self._records)
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            _fill(base, snapshot)
            counts = _counted(base, len(snapshot.unread))
            data = base.serialize()
        with self._disk.temporary(data) as temporary:
            temporary.replace(PATH)
        return counts

    def counts(self) -> ShadowCounts:
        """Rows per table; builds a missing, older or damaged one first."""
        with self.reading() as base:
            return _counted(base, base.execute("PRAGMA application_id").fetchone()[0])

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to a private copy, after a whole check of it; rebuilt when it fails."""
        base = _opened(self._disk)
        if base is None:
            self.rebuild()
            base = _opened(self._disk)
        if base is None:
            msg = f"{PATH} cannot be read right after it was built."
            raise StorageError(msg, advice="Check the disk; the shadow can be deleted at any time.")
        with contextlib.closing(base):
            yield base


def _opened(disk: Disk) -> sqlite3.Connection | None:
    """The file as a database in memory, or None when it is missing, damaged or of another schema."""
    try:
        data = disk.read(PATH, bytes_max=SHADOW_BYTES_MAX)
    except StorageError:
        return None
    if not data:
        return None
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(data)
        version = base.execute("PRAGMA user_version").fetchone()[0]
        sound = version == SCHEMA_VERSION and base.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    except sqlite3.DatabaseError:
        sound = False
    if not sound:
        base.close()
        return None
    return base


def _fill(base: sqlite3.Connection, snapshot: Snapshot) -> None:
    """One transaction; how many records were unreadable stands in SQLite's number for applications."""
    base.executescript(_SCHEMA)
    base.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    base.execute(f"PRAGMA application_id = {min(len(snapshot.unread), 2**31 - 1)}")
    _insert(base, "jobs", 12, _jobs(snapshot))
    _insert(base, "attempts", 14, _attempts(snapshot))
    _insert(base, "budget_days", 8, _days(snapshot))
    for scope in snapshot.scopes.values():
        _insert(base, "receipts", 9, _receipts(scope))
        _insert(base, "revisions", 10, _revisions(scope))
    base.commit()


def _insert(base: sqlite3.Connection, table: str, columns: int, rows: Iterable[tuple[object, ...]]) -> None:
    places = ",".join("?" * columns)
    base.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608 - our own names


def _counted(base: sqlite3.Connection, unread: int) -> ShadowCounts:
    rows = {
        table: int(base.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names
        for table in TABLES
    }
    return ShadowCounts(**rows, unread=unread)


def _jobs(snapshot: Snapshot) -> Iterator[tuple[object, ...]]:
    ends = {name: ended for scope in snapshot.scopes.values() for name, ended in scope.outcomes.items()}
    embedded = {name: decision.job for name, decision in snapshot.decisions.items()}
    for job_id in sorted({*snapshot.jobs, *embedded, *ends}):
        job, ended = snapshot.jobs.get(job_id) or embedded.get(job_id), ends.get(job_id)
        lane = lane_of(job_id)
        whole = ended if isinstance(ended, Outcome) else None
        turns = len(ended.turns) if ended is not None else len(job.evidence.turns) if job is not None else 0
        yield (
            job_id,
            lane.project,
            lane.branch_id,
            int(job_id[:12], 16),
            job.generation if job is not None else None,
            job.mode if job is not None else None,
            job.evidence_digest if job is not None else ended.evidence_digest if ended is not None else None,
            turns,
            ended.state if ended is not None else "open",
            whole.reason if whole is not None else "",
            whole.successor if whole is not None else None,
            whole.ended_ms if whole is not None else None,
        )


def _attempts(snapshot: Snapshot) -> Iterator[tuple[object, ...]]:
    for attempt in snapshot.attempts:
        reserved, result, counted = attempt.reserved, attempt.result, exposure(attempt)
        yield (
            attempt.attempt_id,
            reserved.job_id if reserved is not None else None,
            day_of(attempt.attempt_id),
            reserved.provider if reserved is not None else None,
            reserved.model if reserved is not None else None,
            "damaged" if attempt.damaged is not None else attempt.state,
            result.outcome if result is not None else None,
            counted.actual.calls,
            counted.actual.tokens,
            counted.actual.cost_nanodollars,
            counted.held.cost_nanodollars,
            counted.unknown.cost_nanodollars,
            reserved.reserved_ms if reserved is not None else None,
            result.settled_ms if result is not None else None,
        )


def _days(snapshot: Snapshot) -> Iterator[tuple[object, ...]]:
    """Totals of closed days, and the fold of the attempts of all others."""
    for day, totals in snapshot.totals.items():
        for t in totals.providers:
            yield (day, t.provider, t.attempts, t.calls, t.tokens, t.cost_nanodollars, 0, 0)
    rows: dict[tuple[str, str], list[int]] = {}
    for attempt in snapshot.attempts:
        day = day_of(attempt.attempt_id)
        if day in snapshot.totals and attempt.attempt_id in snapshot.totals[day].removing:
            continue
        provider = attempt.reserved.provider if attempt.reserved is not None else "unreadable"
        row, counted = rows.setdefault((day, provider), [0] * 6), exposure(attempt)
        actual = counted.actual
        added = (
            1,
            actual.calls,
            actual.tokens,
            actual.cost_nanodollars,
            counted.held.cost_nanodollars,
            counted.unknown.cost_nanodollars,
        )
        for place, amount in enumerate(added):
            row[place] += amount
    for (day, provider), row in rows.items():
        yield (day, provider, *row)


def _receipts(scope: ScopeRecords) -> Iterator[tuple[object, ...]]:
    for job_id, ended in scope.receipts.items():
        codes = " ".join(reason.code for reason in ended.reasons)
        yield (
            job_id,
            scope.scope,
            ended.branch_id,
            ended.verdict,
            codes,
            ended.base_digest,
            ended.result_digest,
            ended.revision_seq,
            ended.ended_ms,
        )


def _revisions(scope: ScopeRecords) -> Iterator[tuple[object, ...]]:
    for branch_id, revisions in scope.revisions.items():
        for seq, made in revisions.items():
            yield (
                scope.scope,
                branch_id,
                seq,
                made.cause,
                made.job_id,
                made.undoes,
                made.base_digest,
                made.result_digest,
                len(made.changes),
                made.made_ms,
            )
