"""The reference authority: every port in plain dictionaries, an executable specification.

It keeps nothing when its process ends. Tests run the same suite on it and on the authorities that last,
so that a difference between them is a fault of one. A `Store` is what several processes would share; each
process has ports of its own over it (`Reference`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from perdure.authority.memory_mailbox import MemoryMailbox
from perdure.authority.memory_scopes import MemoryMemory
from perdure.authority.memory_store import Store
from perdure.core.admission import Event, Outcome, OutcomeTombstone
from perdure.core.attempt import Attempt, Fate, Reconciled, Reserved, Result, Unknown, Usage
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
from perdure.core.claim import Claim
from perdure.core.decision import Decision
from perdure.core.job import JOB_BYTES_MAX, Job, Lane, check_identity, lane_of, turn_ids
from perdure.core.record import Record, seal
from perdure.errors import Conflict, Damaged, NotFound, Refused
from perdure.ports.clock import Clock, Ids
from perdure.ports.coverage import HeldCoverage, Uncovered
from perdure.ports.queue import Accepted, Quarantined

LEASE_SECONDS = 900.0
HOUR_MS = 3_600_000


class Reference:
    """The ports of one process over a shared store."""

    def __init__(self, store: Store, clock: Clock, ids: Ids, *, largest_hold: Usage = ZERO) -> None:
        self.queue = MemoryQueue(store)
        self.mailbox = MemoryMailbox(store)
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

    def closed(self, project: str, *, durable: bool = False) -> frozenset[str]:  # noqa: ARG002 - all is durable
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

    def renew(self, worker: str) -> str:
        """See `Claims.renew`."""
        return self.register() if self.gone(worker) else worker

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
            over = self._over(draft, limits) if limits is not None else None
            if over is not None:
                return over
            self._store.create(f"attempt/{draft.attempt_id}.reserved", draft)
            return draft

    def _over(self, draft: Reserved, limits: Limits) -> OverBudget | None:
        made, provider, day = self.all(), draft.provider, draft.day
        largest = self._largest_hold
        return admit(
            charge(made, provider=provider, day=day, largest_hold=largest),
            draft.hold,
            limits,
            month_cost_nanodollars=month_cost(made, provider=provider, day=day, largest_hold=largest),
            hour_calls=calls_since(made, provider=provider, since_ms=draft.reserved_ms - HOUR_MS),
        )

    def room(self) -> contextlib.nullcontext[None]:
        """See `Attempts.room`: there is no disk here to be full."""
        return contextlib.nullcontext()

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
        with self._store.hold("budget"):
            self._reconcile(reconciled.attempt_id, reconciled)

    def _reconcile(self, name: str, reconciled: Reconciled) -> None:
        attempt = self._attempt(name)
        if attempt.reserved is None and attempt.damaged is None:
            raise NotFound(f"there is no attempt {name}.")
        named = attempt.reserved or attempt.fate
        alive = bool(self._claims.workers()) if named is None else not self._claims.gone(named.worker)
        if not unresolved(attempt) or alive:
            raise Refused(f"attempt {name} is {attempt.state}, or its owner lives.")
        if attempt.open and attempt.damaged is None:
            self._settle_orphan(attempt)
        if attempt.state != "reserved" or attempt.damaged is not None:
            self._store.create(f"attempt/{name}.reconciled", reconciled)

    def charge(self, provider: str, day: str) -> Exposure:
        """See `Attempts.charge`."""
        return charge(self.all(), provider=provider, day=day, largest_hold=self._largest_hold)

    def _settle_orphans(self) -> None:
        for attempt in self.all():
            if attempt.reserved is None or attempt.damaged is not None or not attempt.open:
                continue
            if self._claims.gone(attempt.reserved.worker):
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
