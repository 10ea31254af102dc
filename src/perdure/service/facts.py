"""Reading a job's records, from right to left and the outcome again at the end (rule 4)."""

from __future__ import annotations

from typing import Protocol

import msgspec

from perdure.core.admission import Outcome
from perdure.core.attempt import Attempt
from perdure.core.decision import Decision
from perdure.core.job import lane_of, successor
from perdure.core.protocol import JobFacts
from perdure.errors import Damaged, NewerVersion
from perdure.ports.claims import Claims
from perdure.ports.memory import Memory
from perdure.ports.queue import Queue


class OfJob(Protocol):
    """The part of `Attempts` that reading facts needs; a list of many jobs reads them all at once."""

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """The job's attempts, oldest first."""
        ...


def read_facts(job_id: str, *, queue: Queue, attempts: OfJob, memory: Memory, claims: Claims) -> JobFacts:
    """What exists of a job now. A record that cannot be read stops the job and nothing else."""
    lane = lane_of(job_id)
    try:
        ended = queue.outcome(job_id)
        if ended is not None:
            present = isinstance(ended, Outcome) and queue.event_present(job_id)
            return JobFacts(job_id, outcome=ended, event_present=present)
        receipt = memory.receipt(lane.project, job_id)
        decision = queue.decision(job_id)
        made = attempts.of_job(job_id)
        job = queue.job(job_id)
        branch = None if decision is not None else memory.branch(lane.project, lane.branch_id)
        ended = queue.outcome(job_id)
    except (Damaged, NewerVersion) as error:
        return JobFacts(job_id, damaged=(error.message,))
    facts = JobFacts(
        job_id,
        job=job,
        attempts=made,
        decision=decision,
        receipt=receipt,
        outcome=ended,
        successor_present=_successor_present(decision, queue, receipt.successor if receipt else None),
        branch_gone=decision is None and branch is None,
        branch_changed_ms=branch.changed_ms if branch is not None else 0,
        owners_gone=_gone(made, claims),
        damaged=() if decision is not None else tuple(a.damaged for a in made if a.damaged is not None),
    )
    if ended is not None:
        return msgspec.structs.replace(facts, event_present=queue.event_present(job_id))
    return facts


def _successor_present(decision: Decision | None, queue: Queue, named: str | None) -> bool:
    if named is None and decision is not None and decision.kind == "superseded":
        named = successor(decision.job, stale=False).job_id
    if named is None:
        return False
    return queue.outcome(named) is not None or queue.job(named) is not None


def _gone(made: tuple[Attempt, ...], claims: Claims) -> frozenset[str]:
    owners = {attempt.reserved.worker for attempt in made if attempt.open and attempt.reserved is not None}
    return frozenset(owner for owner in owners if claims.gone(owner))
