"""Admission: from a decision to memory, and the transaction that every change of memory is (D-05 to D-11).

`judge` decides; the intent binds what was decided, once. Everything after the intent (branch, revision,
completion, receipt, outcome, event) is a function of earlier records: no clock and no worker of its own,
so that whoever rolls a transaction forward writes the same bytes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.core.canonical import digest
from perdure.core.decision import Decision
from perdure.core.job import STALE_ENDS_MAX, Job, successor, turn_ids
from perdure.core.memory import Branch, Change
from perdure.core.record import Record, record_digest

Verdict = Literal["applied", "no-op", "stale", "rejected"]
Cause = Literal["review", "remember", "replace", "forget", "undo", "edit", "import", "fork"]
State = Literal["applied", "no-op", "stale", "rejected", "dead-lettered", "dropped", "superseded"]


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an operation was not applied, or a whole proposal. `operation` counts from 1; 0 is all of it."""

    operation: int
    code: str
    message: str  # without the text of entries or evidence


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reviewed change rests on (M-03): a side record of the revision."""

    entry_id: str
    evidence: tuple[str, ...]
    rationale: str


class Assessment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a review said of an entry without changing it."""

    entry_id: str
    verdict: str
    evidence: tuple[str, ...]


class Revision(Record, frozen=True, forbid_unknown_fields=True):
    """One change of a branch, immutable (M-09). Stands at its branch's sequence number."""

    KIND = "revision"

    branch_id: str
    seq: int
    transaction: str
    cause: Cause
    job_id: str | None
    undoes: int | None
    base_digest: str | None  # None for the first revision of a fork
    result_digest: str
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]
    made_ms: int


class RevisionTombstone(Record, frozen=True, forbid_unknown_fields=True):
    """Takes a revision's place when its text is purged (rule 13): digests stay, words go."""

    KIND = "revision-tombstone"

    branch_id: str
    seq: int
    transaction: str
    cause: Cause
    job_id: str | None
    undoes: int | None
    base_digest: str | None
    result_digest: str
    entry_ids: tuple[str, ...]
    made_ms: int

    @property
    def changes(self) -> tuple[Change, ...]:
        """Nothing is left of what changed."""
        return ()


class Intent(Record, frozen=True, forbid_unknown_fields=True):
    """A transaction has begun; holds all bytes that finishing it needs (D-11)."""

    KIND = "intent"

    transaction: str
    cause: Cause
    job_id: str | None
    decision_digest: str | None
    verdict: Verdict
    reasons: tuple[Reason, ...]
    assessments: tuple[Assessment, ...]
    branch_id: str
    base_digest: str | None
    result_digest: str | None
    branch: Branch | None
    revision: Revision | None
    successor: str | None
    begun_ms: int


class IntentTombstone(Record, frozen=True, forbid_unknown_fields=True):
    """What is left of a finished intent: digests only (D-07)."""

    KIND = "intent-tombstone"

    transaction: str
    job_id: str | None
    decision_digest: str | None
    intent_digest: str
    verdict: Verdict
    base_digest: str | None
    result_digest: str | None


class Completion(Record, frozen=True, forbid_unknown_fields=True):
    """Branch and revision of a transaction are durable, or it had none. `conflict` says that the branch was
    neither base nor result (rule 5).
    """

    KIND = "completion"

    transaction: str
    intent_digest: str
    conflict: bool


class Receipt(Record, frozen=True, forbid_unknown_fields=True):
    """How an admission ended (D-08)."""

    KIND = "receipt"

    job_id: str
    transaction: str
    decision_digest: str
    intent_digest: str
    verdict: Verdict
    reasons: tuple[Reason, ...]
    assessments: tuple[Assessment, ...]
    branch_id: str
    base_digest: str | None
    result_digest: str | None
    revision_seq: int | None
    successor: str | None
    ended_ms: int


class Outcome(Record, frozen=True, forbid_unknown_fields=True):
    """The immutable end of a job (D-12); keeps the covered turns (rule 8)."""

    KIND = "outcome"

    job_id: str
    state: State
    reason: str
    evidence_digest: str
    turns: tuple[str, ...]
    decision_digest: str
    receipt_digest: str | None
    successor: str | None
    attempts: int
    ended_ms: int


class OutcomeTombstone(Record, frozen=True, forbid_unknown_fields=True):
    """Takes an outcome's place at retention; stays for ever (rule 4)."""

    KIND = "outcome-tombstone"

    job_id: str
    state: State
    evidence_digest: str
    turns: tuple[str, ...]
    decision_digest: str
    outcome_digest: str


class Event(Record, frozen=True, forbid_unknown_fields=True):
    """What a review did, for the user: the actual diff (F-01)."""

    KIND = "event"

    job_id: str
    state: State
    reason: str
    changes: tuple[Change, ...]
    revision_seq: int | None
    ended_ms: int


def revision_tombstone(revision: Revision) -> RevisionTombstone:
    """Derived from the revision."""
    return RevisionTombstone(
        branch_id=revision.branch_id,
        seq=revision.seq,
        transaction=revision.transaction,
        cause=revision.cause,
        job_id=revision.job_id,
        undoes=revision.undoes,
        base_digest=revision.base_digest,
        result_digest=revision.result_digest,
        entry_ids=tuple(dict.fromkeys(change.entry_id for change in revision.changes)),
        made_ms=revision.made_ms,
    )


def intent_tombstone(intent: Intent) -> IntentTombstone:
    """Derived from the intent."""
    return IntentTombstone(
        transaction=intent.transaction,
        job_id=intent.job_id,
        decision_digest=intent.decision_digest,
        intent_digest=record_digest(intent),
        verdict=intent.verdict,
        base_digest=intent.base_digest,
        result_digest=intent.result_digest,
    )


def completion(intent: Intent, *, conflict: bool = False) -> Completion:
    """Derived from the intent."""
    return Completion(transaction=intent.transaction, intent_digest=record_digest(intent), conflict=conflict)


CONFLICT = Reason(0, "conflict", "the branch was neither the transaction's base nor its result")


def receipt(intent: Intent, done: Completion) -> Receipt:
    """Derived from intent and completion. Only reviews have receipts."""
    if intent.job_id is None or intent.decision_digest is None:
        msg = "a receipt belongs to a review"
        raise ValueError(msg)
    return Receipt(
        job_id=intent.job_id,
        transaction=intent.transaction,
        decision_digest=intent.decision_digest,
        intent_digest=done.intent_digest,
        verdict="rejected" if done.conflict else intent.verdict,
        reasons=(*intent.reasons, CONFLICT) if done.conflict else intent.reasons,
        assessments=intent.assessments,
        branch_id=intent.branch_id,
        base_digest=intent.base_digest,
        result_digest=None if done.conflict else intent.result_digest,
        revision_seq=None if done.conflict or intent.revision is None else intent.revision.seq,
        successor=intent.successor,
        ended_ms=intent.begun_ms,
    )


_ENDS: dict[str, State] = {"dead": "dead-lettered", "dropped": "dropped", "superseded": "superseded"}


def outcome(decision: Decision, ended: Receipt | None) -> Outcome:
    """Derived from the decision, and from the receipt when the decision elected a proposal."""
    job = decision.job
    if decision.kind == "elected" and job.mode == "observe":
        state: State = "no-op"
        reason, following, when = "observed", None, decision.decided_ms
    elif decision.kind == "elected":
        if ended is None:
            msg = "an elected decision ends with its receipt"
            raise ValueError(msg)
        state = ended.verdict
        reason = ended.reasons[0].code if ended.reasons else ""
        following, when = ended.successor, ended.ended_ms
    else:
        state, reason, when = _ENDS[decision.kind], decision.reason, decision.decided_ms
        following = successor(job, stale=False).job_id if decision.kind == "superseded" else None
    return Outcome(
        job_id=job.job_id,
        state=state,
        reason=reason,
        evidence_digest=job.evidence_digest,
        turns=turn_ids(job),
        decision_digest=record_digest(decision),
        receipt_digest=record_digest(ended) if ended is not None else None,
        successor=following,
        attempts=decision.attempts,
        ended_ms=when,
    )


def outcome_tombstone(ended: Outcome) -> OutcomeTombstone:
    """Derived from the outcome."""
    return OutcomeTombstone(
        job_id=ended.job_id,
        state=ended.state,
        evidence_digest=ended.evidence_digest,
        turns=ended.turns,
        decision_digest=ended.decision_digest,
        outcome_digest=record_digest(ended),
    )


def event(ended: Outcome, revision: Revision | None) -> Event:
    """Derived from the outcome and the revision it led to."""
    return Event(
        job_id=ended.job_id,
        state=ended.state,
        reason=ended.reason,
        changes=revision.changes if revision is not None else (),
        revision_seq=revision.seq if revision is not None else None,
        ended_ms=ended.ended_ms,
    )


def stale_successor(job: Job) -> Job | None:
    """The generation that follows a stale end, at most twice (Q-11)."""
    return successor(job, stale=True) if job.stale_ends < STALE_ENDS_MAX else None


def review_transaction(job_id: str) -> str:
    """A review's transaction carries its job's id, so that it can begin only once."""
    return job_id


def added_entry_id(job_id: str, operation: int) -> str:
    """The id of an entry that a review adds: derived, so that every re-judgement gives the same bytes."""
    return digest(["entry", job_id, operation])[:16]
