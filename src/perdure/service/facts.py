"""Reading a job's records, from right to left and the outcome again at the end (rule 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from perdure.core.admission import Outcome
from perdure.core.attempt import Attempt
from perdure.core.decision import Decision
from perdure.core.job import Lane, lane_of, successor
from perdure.core.memory import Branch
from perdure.core.protocol import JobFacts
from perdure.errors import Ambiguous, Damaged, NewerVersion, NotFound, Removed
from perdure.ports.claims import Claims
from perdure.ports.memory import BranchName, Memory
from perdure.ports.queue import Queue
from perdure.service.violation import place

RESTORE = "Run perdure verify; perdure verify --restore writes a branch again from its revisions."


class OfJob(Protocol):
    """The part of `Attempts` that reading facts needs; a list of many jobs reads them all at once."""

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """The job's attempts, oldest first."""
        ...


def read_facts(job_id: str, *, queue: Queue, attempts: OfJob, memory: Memory, claims: Claims) -> JobFacts:
    """What exists of a job now. A record that cannot be read stops the job and nothing else."""
    try:
        return _read(job_id, queue, attempts, memory, claims)
    except (Damaged, NewerVersion) as error:
        return JobFacts(job_id, damaged=(error.message,))


def _read(job_id: str, queue: Queue, attempts: OfJob, memory: Memory, claims: Claims) -> JobFacts:
    lane = lane_of(job_id)
    ended = queue.outcome(job_id)
    if ended is not None:
        present = isinstance(ended, Outcome) and queue.event_present(job_id)
        return JobFacts(job_id, outcome=ended, event_present=present)
    receipt = memory.receipt(lane.project, job_id)
    decision = queue.decision(job_id)
    made = attempts.of_job(job_id)
    job = queue.job(job_id)
    undecided = decision is None and job is not None
    branch, removed = _branch(memory, lane) if undecided else (None, False)
    ended = queue.outcome(job_id)
    return JobFacts(
        job_id,
        job=job,
        attempts=made,
        decision=decision,
        receipt=receipt,
        outcome=ended,
        successor_present=_successor_present(decision, queue, receipt.successor if receipt else None),
        event_present=ended is not None and queue.event_present(job_id),
        branch_changed_ms=branch.changed_ms if branch is not None else 0,
        branch_removed=removed,
        owners_gone=_gone(made, claims),
        damaged=() if decision is not None else _stopping(made),
    )


def _branch(memory: Memory, lane: Lane) -> tuple[Branch | None, bool]:
    """The branch, and whether it was removed: its tombstone is the proof (rule 15)."""
    try:
        return present_branch(memory, lane.project, lane.branch_id), False
    except Removed:
        return None, True


def present_branch(memory: Memory, scope: str, branch_id: str) -> Branch:
    """The branch. A file that is not there is damage, raises Damaged; a tombstone raises Removed."""
    return present(memory.branch(scope, branch_id), scope, branch_id)


def present(branch: Branch | None, scope: str, branch_id: str) -> Branch:
    """What was found under a branch's id. Raises Damaged when that is nothing."""
    if branch is None:
        raise Damaged(f"{place(scope)}/branches/{branch_id}", "the branch file is gone", advice=RESTORE)
    return branch


def row_named(rows: Iterable[BranchName], wanted: str) -> BranchName:
    """The branch of that name, or of that id.

    Raises NotFound; Damaged when it may be one that cannot be read; Ambiguous when restoring made two.
    """
    listed = tuple(rows)
    found = [row for row in listed if row.name == wanted] or [r for r in listed if r.branch_id == wanted]
    unread = [row.branch_id for row in listed if row.problem]
    if not found and unread:
        why = f"no branch that can be read has that name, and {', '.join(unread)} cannot be read"
        raise Damaged(f"branch {wanted!r}", why, advice=RESTORE)
    if not found:
        msg = f"there is no branch {wanted!r}."
        raise NotFound(msg, advice="perdure branch list shows them.")
    if len(found) > 1:
        msg = f"{len(found)} branches are called {wanted!r}: {', '.join(row.branch_id for row in found)}."
        raise Ambiguous(msg, advice="Name one by its id.")
    return found[0]


def _successor_present(decision: Decision | None, queue: Queue, named: str | None) -> bool:
    if named is None and decision is not None and decision.kind == "superseded":
        named = successor(decision.job, stale=False).job_id
    if named is None:
        return False
    return queue.outcome(named) is not None or queue.job(named) is not None


def _stopping(made: tuple[Attempt, ...]) -> tuple[str, ...]:
    """What of the attempts cannot be read and was not settled by the user's word, which closes an attempt."""
    return tuple(a.damaged for a in made if a.damaged is not None and a.reconciled is None)


def _gone(made: tuple[Attempt, ...], claims: Claims) -> frozenset[str]:
    owners = {attempt.reserved.worker for attempt in made if attempt.open and attempt.reserved is not None}
    return frozenset(owner for owner in owners if claims.gone(owner))
