"""The deterministic checks of admission (D-05): schema, text, evidence, targets, tombstones, capacity, CAS.

Operations are judged one after another on the branch as the earlier ones left it, so that siblings in one
proposal see each other. One that fails is left out with its reason; the rest go on.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.core.admission import (
    Assessment,
    Intent,
    Note,
    Reason,
    Revision,
    Verdict,
    added_entry_id,
    review_transaction,
    stale_successor,
)
from perdure.core.decision import Decision
from perdure.core.duplicates import covered_by, exact_duplicate
from perdure.core.memory import (
    Add,
    Branch,
    Change,
    Edit,
    EditRefused,
    Remove,
    Replace,
    check_review_capacity,
    plan,
)
from perdure.core.proposal import (
    AddOp,
    AssessOp,
    MergeOp,
    Operation,
    Proposal,
    RemoveOp,
    ReplaceOp,
    check_operation,
)
from perdure.core.record import record_digest

Forgotten = Callable[[str, str | None, int], bool]
"""(text, key, settled_ms) -> whether a tombstone forbids that evidence of that time brings it back (M-12)."""


_WEIGHTS = {"capacity": 0, "duplicate": 2}
"""The first reason is the one that an outcome tells: what the user can mend leads, what is harmless ends."""


class _Work(msgspec.Struct):
    decision: Decision
    forgotten: Forgotten
    now_ms: int
    branch: Branch
    changes: list[Change]
    notes: list[Note]
    reasons: list[Reason]
    assessments: list[Assessment]


def judge(decision: Decision, branch: Branch | None, *, forgotten: Forgotten, now_ms: int) -> Intent:
    """The intent of an elected decision on the current branch. Never raises for what a proposal says."""
    if branch is None:
        reason = Reason(0, "branch-gone", "the branch does not exist any more")
        return _intent(decision, None, "rejected", now_ms, reasons=(reason,))
    if decision.base_digest != branch.digest:
        reason = Reason(0, "stale", "the branch changed after the proposal was made")
        following = stale_successor(decision.job)
        return _intent(
            decision,
            branch,
            "stale",
            now_ms,
            reasons=(reason,),
            successor=following.job_id if following else None,
        )
    try:
        proposal = msgspec.json.decode(decision.proposal or "", type=Proposal)
    except msgspec.MsgspecError:
        reason = Reason(0, "schema", "the elected proposal does not fit the schema")
        return _intent(decision, branch, "rejected", now_ms, reasons=(reason,))
    work = _Work(decision, forgotten, now_ms, branch, [], [], [], [])
    lines = {line.line_id for turn in decision.job.evidence.turns for line in turn.lines}
    for number, operation in enumerate(proposal.operations, 1):
        reason_found = _judge_one(work, operation, number, lines)
        if reason_found is not None:
            work.reasons.append(reason_found)
    return _conclude(decision, branch, work, now_ms)


def _conclude(decision: Decision, branch: Branch, work: _Work, now_ms: int) -> Intent:
    work.reasons.sort(key=lambda reason: _WEIGHTS.get(reason.code, 1))
    if not work.changes:
        codes = {reason.code for reason in work.reasons}
        no_op = codes <= {"duplicate"} or (work.assessments and "capacity" not in codes)
        verdict: Verdict = "no-op" if no_op else "rejected"
        return _intent(
            decision,
            branch,
            verdict,
            now_ms,
            reasons=tuple(work.reasons),
            assessments=tuple(work.assessments),
        )
    after = msgspec.structs.replace(work.branch, seq=branch.seq + 1)
    return _intent(
        decision,
        branch,
        "applied",
        now_ms,
        reasons=tuple(work.reasons),
        assessments=tuple(work.assessments),
        after=after,
        changes=tuple(work.changes),
        notes=tuple(work.notes),
    )


def _judge_one(work: _Work, operation: Operation, number: int, lines: set[str]) -> Reason | None:
    entries = {entry.entry_id for entry in work.branch.entries}
    fault = check_operation(operation, evidence_ids=lines, entry_ids=entries)
    if fault:
        return Reason(number, "invalid", fault)
    if isinstance(operation, AssessOp):
        work.assessments.append(Assessment(operation.entry, operation.verdict, operation.evidence))
        return None
    if not isinstance(operation, RemoveOp):
        settled_ms = work.decision.job.settled_ms
        if work.forgotten(operation.text, operation.key, settled_ms):
            return Reason(number, "forgotten", "the user made Perdure forget this")
        twin = _duplicate(work.branch, operation)
        if twin is not None:
            return Reason(number, "duplicate", f"entry {twin} says this already")
    try:
        planned = plan(work.branch, _edits(work.decision, operation, number), now_ms=work.now_ms)
        check_review_capacity(work.branch, planned.branch)
    except EditRefused as refused:
        return Reason(number, refused.code, refused.message)
    if not planned.changes:
        return Reason(number, "duplicate", "it changes nothing")
    work.branch = planned.branch
    work.changes.extend(planned.changes)
    work.notes.extend(
        Note(change.entry_id, operation.evidence, operation.rationale) for change in planned.changes
    )
    return None


def _duplicate(branch: Branch, operation: AddOp | ReplaceOp | MergeOp) -> str | None:
    if not isinstance(operation, AddOp):
        return None
    others = [entry for entry in branch.entries if operation.key is None or entry.key is None]
    twin = exact_duplicate(operation.text, others) or covered_by(operation.text, others)
    return twin.entry_id if twin is not None else None


def _edits(decision: Decision, operation: Operation, number: int) -> tuple[Edit, ...]:
    if isinstance(operation, AddOp):
        return (
            Add(
                text=operation.text,
                kind=operation.kind,
                key=operation.key,
                importance=operation.importance,
                origin="review",
                entry_id=added_entry_id(decision.job_id, number),
            ),
        )
    if isinstance(operation, ReplaceOp):
        return (_replace(operation.entry, operation),)
    if isinstance(operation, MergeOp):
        first, *rest = dict.fromkeys(operation.entries)
        return (*(Remove(entry) for entry in rest), _replace(first, operation))
    return (Remove(operation.entry),) if isinstance(operation, RemoveOp) else ()


def _replace(entry: str, operation: ReplaceOp | MergeOp) -> Replace:
    return Replace(
        entry_id=entry,
        text=operation.text,
        key=operation.key,
        importance=operation.importance,
        origin="review",
    )


def _intent(
    decision: Decision,
    branch: Branch | None,
    verdict: Verdict,
    now_ms: int,
    *,
    reasons: tuple[Reason, ...] = (),
    assessments: tuple[Assessment, ...] = (),
    after: Branch | None = None,
    changes: tuple[Change, ...] = (),
    notes: tuple[Note, ...] = (),
    successor: str | None = None,
) -> Intent:
    transaction = review_transaction(decision.job_id)
    base = branch.digest if branch is not None else None
    branch_id = decision.job.branch_id
    revision = None
    if after is not None:
        revision = Revision(
            branch_id=branch_id,
            seq=after.seq,
            transaction=transaction,
            cause="review",
            job_id=decision.job_id,
            undoes=None,
            base_digest=base,
            result_digest=after.digest,
            changes=changes,
            notes=notes,
            made_ms=now_ms,
        )
    return Intent(
        transaction=transaction,
        cause="review",
        job_id=decision.job_id,
        decision_digest=record_digest(decision),
        verdict=verdict,
        reasons=reasons,
        assessments=assessments,
        branch_id=branch_id,
        base_digest=base,
        result_digest=after.digest if after is not None else None,
        branch=after,
        revision=revision,
        successor=successor,
        begun_ms=now_ms,
    )
