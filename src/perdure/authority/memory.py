"""The reference authority: every port in plain dictionaries, an executable specification.

It keeps nothing when its process ends. Tests run the same suite on it and on the authorities that last,
so that a difference between them is a fault of one. A `Store` is what several processes would share; each
process has ports of its own over it (`Reference`).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import TypeVar

from perdure.authority.filesystem.locks import NestedLock
from perdure.core.admission import (
    Completion,
    Event,
    Intent,
    IntentTombstone,
    Outcome,
    OutcomeTombstone,
    Receipt,
    Revision,
    intent_tombstone,
)
from perdure.core.attempt import Attempt, Fate, Reconciled, Reserved, Result, Unknown, Usage
from perdure.core.budget import ZERO, Exposure, Limits, OverBudget, admit, charge, unresolved
from perdure.core.claim import Claim
from perdure.core.decision import Decision
from perdure.core.job import JOB_BYTES_MAX, Job, Lane, check_identity, lane_of, turn_ids
from perdure.core.memory import MAIN, Branch, empty_main, main_branch_id
from perdure.core.record import Record, seal
from perdure.core.text import normalize_key
from perdure.core.transaction import TransactionFacts
from perdure.errors import Conflict, Damaged, LockTimeout, NotFound, Refused
from perdure.ports.clock import Clock, Ids
from perdure.ports.coverage import HeldCoverage, Uncovered
from perdure.ports.memory import BranchName, HeldMemory, Tombstone
from perdure.ports.queue import Accepted, Quarantined

R = TypeVar("R", bound=Record)
LEASE_SECONDS = 900.0
_domain = threading.local()


class Store:
    """What is shared: records by name, what of them is damaged, who lives, and the locks."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.damaged: set[str] = set()
        self.set_aside: dict[str, str] = {}
        self.beats: dict[str, float] = {}
        self.living: set[str] = set()
        self.claims: dict[str, list[Claim]] = {}
        self.released: set[tuple[str, int]] = set()
        self.stones: dict[tuple[str, str, str], int] = {}
        self.selected: dict[str, str] = {}
        self.one_step = threading.RLock()
        self._locks: dict[str, threading.Lock] = {}

    @contextlib.contextmanager
    def hold(self, domain: str, *, wait_seconds: float = 10.0) -> Iterator[None]:
        """Hold one domain; a thread holds one at a time (D-09)."""
        held = getattr(_domain, "name", None)
        if held is not None:
            raise NestedLock(f"{domain} was asked for while {held} is held")
        with self.one_step:
            lock = self._locks.setdefault(domain, threading.Lock())
        if not lock.acquire(timeout=wait_seconds):
            raise LockTimeout(f"{domain} is held by another.")
        _domain.name = domain
        try:
            yield
        finally:
            _domain.name = None
            lock.release()

    def names(self, prefix: str) -> list[str]:
        """What follows a prefix, in the order of names."""
        with self.one_step:
            return sorted(name.removeprefix(prefix) for name in self.records if name.startswith(prefix))

    def read(self, name: str, record_type: type[R]) -> R | None:
        """The record of a name; Damaged when it cannot be read as that."""
        found = self.records.get(name)
        if found is None:
            return None
        if name in self.damaged or not isinstance(found, record_type):
            raise Damaged(name, "damaged")
        return found

    def elect(self, name: str, record: Record) -> bool:
        """The first creation stands; True when it was this one."""
        with self.one_step:
            return self.records.setdefault(name, record) is record

    def create(self, name: str, record: Record) -> None:
        """Publish once; the same again is success, anything else a Conflict."""
        if not self.elect(name, record) and self.records[name] != record:
            raise Conflict(f"{name}: other content stands at an immutable place.")


class Reference:
    """The ports of one process over a shared store."""

    def __init__(self, store: Store, clock: Clock, ids: Ids, *, largest_hold: Usage = ZERO) -> None:
        self.queue = MemoryQueue(store)
        self.claims = MemoryClaims(store, clock, ids)
        self.attempts = MemoryAttempts(store, self.claims, largest_hold)
        self.memory = MemoryMemory(store)
        self.coverage = MemoryCoverage(store, self.queue)


class MemoryQueue:
    """See `perdure.ports.queue.Queue`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accept(self, job: Job) -> Accepted:
        """See `Queue.accept`."""
        if len(seal(job)) > JOB_BYTES_MAX:
            raise Refused(f"the job would take more than {JOB_BYTES_MAX} bytes.")
        name = f"job/{job.job_id}"
        new = self._store.elect(name, job)
        standing = self._store.read(name, Job)
        if standing is not None and standing.evidence_digest != job.evidence_digest:
            self._store.set_aside[f"{name}.copy"] = "other evidence"
            raise Conflict(f"{name}: the same job id stands for other evidence.")
        return Accepted(job.job_id, new)

    def queued(self) -> list[str]:
        """See `Queue.queued`."""
        return self._store.names("job/")

    def closed(self, project: str) -> frozenset[str]:
        """See `Queue.closed`."""
        return frozenset(n for n in self._store.names("outcome/") if lane_of(n).project == project)

    def announced(self, project: str) -> frozenset[str]:
        """See `Queue.announced`."""
        return frozenset(n for n in self._store.names("event/") if lane_of(n).project == project)

    def job(self, job_id: str) -> Job | None:
        """See `Queue.job`."""
        name = f"job/{job_id}"
        found = self._store.read(name, Job)
        if found is not None and (found.job_id != job_id or check_identity(found)):
            raise Damaged(name, check_identity(found) or "its name is not its job id")
        return found

    def decision(self, job_id: str) -> Decision | None:
        """See `Queue.decision`."""
        return self._store.read(f"decision/{job_id}", Decision)

    def decide(self, decision: Decision) -> Decision:
        """See `Queue.decide`."""
        self._store.elect(f"decision/{decision.job_id}", decision)
        return self.decision(decision.job_id) or decision

    def outcome(self, job_id: str) -> Outcome | OutcomeTombstone | None:
        """See `Queue.outcome`."""
        name = f"outcome/{job_id}"
        found = self._store.read(name, Record)
        if found is None or isinstance(found, Outcome | OutcomeTombstone):
            return found
        raise Damaged(name, "damaged")

    def close(self, outcome: Outcome) -> None:
        """See `Queue.close`."""
        standing = self.outcome(outcome.job_id)
        if isinstance(standing, OutcomeTombstone) and standing.decision_digest == outcome.decision_digest:
            return
        self._store.create(f"outcome/{outcome.job_id}", outcome)

    def event_present(self, job_id: str) -> bool:
        """See `Queue.event_present`."""
        return f"event/{job_id}" in self._store.records

    def announce(self, event: Event) -> None:
        """See `Queue.announce`."""
        self._store.create(f"event/{event.job_id}", event)

    def set_aside(self, job_id: str, reason: str) -> Quarantined:
        """See `Queue.set_aside`."""
        name = f"job/{job_id}"
        self._store.records.pop(name, None)
        self._store.damaged.discard(name)
        self._store.set_aside[name] = reason
        return Quarantined(path=name, reason=reason)


class MemoryClaims:
    """See `perdure.ports.claims.Claims`. A worker lives while its name is in the store's `living`."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store, self._clock, self._ids = store, clock, ids

    def register(self) -> str:
        """See `Claims.register`."""
        worker = self._ids.token(32)
        self._store.living.add(worker)
        self.beat(worker)
        return worker

    def retire(self, worker: str) -> None:
        """See `Claims.retire`."""
        self._store.living.discard(worker)

    def gone(self, worker: str) -> bool:
        """See `Claims.gone`."""
        return worker not in self._store.living

    def beat(self, worker: str) -> None:
        """See `Claims.beat`."""
        self._store.beats[worker] = self._clock.boot_seconds()

    def claim(self, lane: Lane, worker: str) -> Claim | None:
        """See `Claims.claim`."""
        with self._store.one_step:
            made = self._store.claims.setdefault(lane.name, [])
            if made and not self._free(made[-1], worker):
                return None
            mine = Claim(lane=lane.name, ordinal=len(made) + 1, worker=worker, token=self._ids.token(32))
            made.append(mine)
            return mine

    def holds(self, claim: Claim) -> bool:
        """See `Claims.holds`."""
        return self._store.claims[claim.lane][-1] == claim and not self.gone(claim.worker)

    def release(self, claim: Claim) -> None:
        """See `Claims.release`."""
        self._store.released.add((claim.lane, claim.ordinal))

    def workers(self) -> tuple[str, ...]:
        """See `Claims.workers`."""
        return tuple(sorted(self._store.living))

    def _free(self, current: Claim, me: str) -> bool:
        """Released, its owner gone, or its owner another who makes no progress."""
        stands = self._clock.boot_seconds() - self._store.beats[current.worker] > LEASE_SECONDS
        released = (current.lane, current.ordinal) in self._store.released
        return released or self.gone(current.worker) or (stands and current.worker != me)


class MemoryAttempts:
    """See `perdure.ports.attempts.Attempts`."""

    def __init__(self, store: Store, claims: MemoryClaims, largest_hold: Usage) -> None:
        self._store, self._claims, self._largest_hold = store, claims, largest_hold

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """See `Attempts.of_job`."""
        mine = (attempt for attempt in self.all() if job_id[-32:] == attempt.attempt_id[9:41])
        return tuple(sorted(mine, key=lambda attempt: attempt.attempt_id[-4:]))

    def all(self) -> tuple[Attempt, ...]:
        """See `Attempts.all`."""
        with self._store.one_step:
            parts = [name.rpartition(".")[0] for name in self._store.names("attempt/")]
            return tuple(self._attempt(name) for name in dict.fromkeys(parts))

    def reserve(self, draft: Reserved, limits: Limits | None) -> Reserved | OverBudget | None:
        """See `Attempts.reserve`."""
        with self._store.hold("budget"):
            self._settle_orphans()
            if any(int(a.attempt_id[-4:]) >= draft.number for a in self.of_job(draft.job_id)):
                return None
            over = admit(self.charge(draft.provider, draft.day), draft.hold, limits) if limits else None
            if over is not None:
                return over
            self._store.create(f"attempt/{draft.attempt_id}.reserved", draft)
            return draft

    def decide_fate(self, fate: Fate) -> bool:
        """See `Attempts.decide_fate`."""
        return self._store.elect(f"attempt/{fate.attempt_id}.fate", fate)

    def settle(self, result: Result) -> None:
        """See `Attempts.settle`."""
        self._store.create(f"attempt/{result.attempt_id}.result", result)

    def lose(self, attempt_id: str) -> None:
        """See `Attempts.lose`."""
        self._store.create(f"attempt/{attempt_id}.unknown", Unknown(attempt_id=attempt_id))

    def reconcile(self, reconciled: Reconciled) -> None:
        """See `Attempts.reconcile`."""
        name = reconciled.attempt_id
        attempt = self._attempt(name)
        if attempt.reserved is None:
            raise NotFound(f"there is no attempt {name}.")
        if not unresolved(attempt) or not self._claims.gone(attempt.reserved.worker):
            raise Refused(f"attempt {name} is {attempt.state}, or its owner lives.")
        if attempt.open:
            self._settle_orphan(attempt)
        if attempt.state != "reserved":
            self._store.create(f"attempt/{name}.reconciled", reconciled)

    def charge(self, provider: str, day: str) -> Exposure:
        """See `Attempts.charge`."""
        return charge(self.all(), provider=provider, day=day, largest_hold=self._largest_hold)

    def _settle_orphans(self) -> None:
        for attempt in self.all():
            if attempt.open and attempt.reserved is not None and self._claims.gone(attempt.reserved.worker):
                self._settle_orphan(attempt)

    def _settle_orphan(self, attempt: Attempt) -> None:
        """What was dispatched may have run; what was only reserved did not (A-03)."""
        if attempt.state == "dispatched":
            self.lose(attempt.attempt_id)
        else:
            name = attempt.attempt_id
            self.decide_fate(Fate(attempt_id=name, fate="cancelled", worker="", reason="owner gone"))

    def _attempt(self, name: str) -> Attempt:
        parts = {
            part: f"attempt/{name}.{part}" for part in ("reserved", "fate", "result", "unknown", "reconciled")
        }
        damaged = next((path for path in parts.values() if path in self._store.damaged), None)
        whole = {part: path for part, path in parts.items() if path not in self._store.damaged}
        return Attempt(
            reserved=self._store.read(whole.get("reserved", ""), Reserved),
            fate=self._store.read(whole.get("fate", ""), Fate),
            result=self._store.read(whole.get("result", ""), Result),
            unknown=self._store.read(whole.get("unknown", ""), Unknown) is not None,
            reconciled=self._store.read(whole.get("reconciled", ""), Reconciled),
            attempt_id=name,
            damaged=damaged,
        )


class MemoryCoverage:
    """See `perdure.ports.coverage.Coverage`. Holding it gives the object itself."""

    def __init__(self, store: Store, queue: MemoryQueue) -> None:
        self._store, self._queue = store, queue

    @contextlib.contextmanager
    def hold(self, project: str) -> Iterator[HeldCoverage]:
        """See `Coverage.hold`."""
        with self._store.hold(f"coverage/{project}"):
            yield _HeldCoverage(self, self._store, self._queue, project)

    def covered(self, project: str) -> Mapping[str, str]:
        """See `Coverage.covered`."""
        found: dict[str, str] = {}
        for name, record in self._store.records.items():
            if name in self._store.damaged:
                continue
            if isinstance(record, Job) and record.project == project:
                found.update(dict.fromkeys(turn_ids(record), record.job_id))
            elif isinstance(record, Outcome | OutcomeTombstone) and lane_of(record.job_id).project == project:
                found.update(dict.fromkeys(record.turns, record.job_id))
            elif isinstance(record, Uncovered) and record.project == project:
                found.update(dict.fromkeys(record.turns, "uncovered"))
        return found


class _HeldCoverage:
    """See `perdure.ports.coverage.HeldCoverage`."""

    def __init__(self, coverage: MemoryCoverage, store: Store, queue: MemoryQueue, project: str) -> None:
        self._coverage, self._store, self._queue, self._project = coverage, store, queue, project

    def covered(self) -> Mapping[str, str]:
        return self._coverage.covered(self._project)

    def accept(self, job: Job) -> Accepted:
        return self._queue.accept(job)

    def note_uncovered(self, uncovered: Uncovered) -> None:
        self._store.elect(f"uncovered/{uncovered.project}/{uncovered.turns}/{uncovered.reason}", uncovered)


class MemoryMemory:
    """See `perdure.ports.memory.Memory`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @contextlib.contextmanager
    def hold(self, scope: str) -> Iterator[HeldMemory]:
        """See `Memory.hold`."""
        with self._store.hold(f"scope/{scope}"):
            yield _HeldMemory(self, self._store, scope)

    def branch(self, scope: str, branch_id: str) -> Branch | None:
        """See `Memory.branch`."""
        name = f"branch/{scope}/{branch_id}"
        found = self._store.read(name, Branch)
        if found is not None or branch_id != main_branch_id(scope):
            return found
        if self.revisions(scope, branch_id):
            raise Damaged(name, "the branch is gone though revisions exist")
        return empty_main(scope)

    def branches(self, scope: str) -> tuple[BranchName, ...]:
        """See `Memory.branches`."""
        ids = {main_branch_id(scope), *self._store.names(f"branch/{scope}/")}
        found = [branch for branch in (self.branch(scope, name) for name in ids) if branch is not None]
        rows = [BranchName(b.branch_id, b.name, b.parent, len(b.entries), b.seq) for b in found]
        return tuple(sorted(rows, key=lambda row: (row.name != MAIN, row.name)))

    def revision(self, scope: str, branch_id: str, seq: int) -> Revision | None:
        """See `Memory.revision`."""
        return self._store.read(f"revision/{scope}/{branch_id}/{seq:08d}", Revision)

    def revisions(self, scope: str, branch_id: str) -> tuple[int, ...]:
        """See `Memory.revisions`."""
        return tuple(int(name) for name in self._store.names(f"revision/{scope}/{branch_id}/"))

    def receipt(self, scope: str, job_id: str) -> Receipt | None:
        """See `Memory.receipt`."""
        return self._store.read(f"receipt/{scope}/{job_id}", Receipt)

    def receipts(self, scope: str) -> tuple[str, ...]:
        """See `Memory.receipts`."""
        return tuple(self._store.names(f"receipt/{scope}/"))

    def selected(self, scope: str) -> str | None:
        """See `Memory.selected`."""
        return self._store.selected.get(scope)

    def select(self, scope: str, name: str) -> None:
        """See `Memory.select`."""
        if all(row.name != name for row in self.branches(scope)):
            raise NotFound(f"there is no branch {name!r}.")
        self._store.selected[scope] = name


class _HeldMemory:
    """See `perdure.ports.memory.HeldMemory`."""

    def __init__(self, memory: MemoryMemory, store: Store, scope: str) -> None:
        self._memory, self._store, self._scope = memory, store, scope

    def branch(self, branch_id: str) -> Branch | None:
        return self._memory.branch(self._scope, branch_id)

    def begun(self) -> list[str]:
        return [name for name in self._store.names(f"intent/{self._scope}/") if self._unfinished(name)]

    def _unfinished(self, transaction: str) -> bool:
        facts = self.transaction(transaction)
        if facts is None or isinstance(facts.intent, IntentTombstone):
            return False
        return facts.completion is None or (facts.intent.job_id is not None and facts.receipt is None)

    def transaction(self, transaction: str) -> TransactionFacts | None:
        intent = self._store.read(self._intent(transaction), Record)
        if isinstance(intent, IntentTombstone):
            return TransactionFacts(intent, None, revision_present=True, completion=None, receipt=None)
        if not isinstance(intent, Intent):
            return None
        current, revision = self.branch(intent.branch_id), intent.revision
        return TransactionFacts(
            intent=intent,
            branch_digest=current.digest if current is not None else None,
            revision_present=revision is not None
            and self._memory.revision(self._scope, revision.branch_id, revision.seq) is not None,
            completion=self._store.read(self._done(transaction), Completion),
            receipt=self._memory.receipt(self._scope, intent.job_id) if intent.job_id is not None else None,
        )

    def begin(self, intent: Intent) -> Intent | IntentTombstone:
        name = self._intent(intent.transaction)
        self._store.elect(name, intent)
        standing = self._store.read(name, Record)
        return standing if isinstance(standing, Intent | IntentTombstone) else intent

    def put_branch(self, branch: Branch) -> None:
        self._store.records[f"branch/{self._scope}/{branch.branch_id}"] = branch

    def put_revision(self, revision: Revision) -> None:
        name = f"revision/{self._scope}/{revision.branch_id}/{revision.seq:08d}"
        self._store.create(name, revision)

    def complete(self, completion: Completion) -> None:
        self._store.create(self._done(completion.transaction), completion)

    def put_receipt(self, receipt: Receipt) -> None:
        self._store.create(f"receipt/{self._scope}/{receipt.job_id}", receipt)

    def compact(self, intent: Intent) -> None:
        if intent.job_id is not None:
            self._store.records[self._intent(intent.transaction)] = intent_tombstone(intent)
        else:
            del self._store.records[self._intent(intent.transaction)]
            self._store.records.pop(self._done(intent.transaction), None)

    def bury(self, tombstones: tuple[Tombstone, ...]) -> None:
        for stone in tombstones:
            name = self._stone(stone.what, stone.value)
            self._store.stones[name] = max(stone.forgotten_ms, self._store.stones.get(name, 0))

    def buried(self, text: str | None, key: str | None, settled_ms: int) -> bool:
        stones = self._store.stones
        if text is not None and self._stone("text", text) in stones:
            return True
        return key is not None and settled_ms <= stones.get(self._stone("key", key), -1)

    def _stone(self, what: str, value: str) -> tuple[str, str, str]:
        form = value if what == "entry" else normalize_key(value).rstrip(".")
        return self._scope, what, form

    def _intent(self, transaction: str) -> str:
        return f"intent/{self._scope}/{transaction}"

    def _done(self, transaction: str) -> str:
        return f"completion/{self._scope}/{transaction}"
