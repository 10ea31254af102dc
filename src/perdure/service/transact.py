"""Every change of memory is one transaction; whoever takes the lock first finishes what others began."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from perdure.core.admission import Cause, Intent, Note, Revision
from perdure.core.memory import Branch, Change
from perdure.core.transaction import (
    Compact,
    Complete,
    Finished,
    PutBranch,
    PutReceipt,
    PutRevision,
    next_transaction_step,
)
from perdure.errors import DiskFailed, DiskFull, PerdureError, StaleBranch, StorageError
from perdure.ports.memory import HeldMemory, Memory


@contextlib.contextmanager
def locked(memory: Memory, scope: str) -> Iterator[HeldMemory]:
    """Hold a scope with every begun transaction finished (rule 5)."""
    with memory.hold(scope) as held:
        for transaction in held.begun():
            _finish(held, transaction, "an earlier change is recorded, and this command did nothing")
        yield held


def roll_forward(held: HeldMemory, transaction: str) -> bool:
    """Take the remaining steps of a transaction. False when it ended as a conflict."""
    clean = True
    while True:
        facts = held.transaction(transaction)
        if facts is None:
            return clean
        step = next_transaction_step(facts)
        match step:
            case PutBranch():
                held.put_branch(step.branch)
            case PutRevision():
                held.put_revision(step.intent.revision) if step.intent.revision is not None else None
            case Complete():
                clean = not step.completion.conflict
                held.complete(step.completion)
            case PutReceipt():
                held.put_receipt(step.receipt)
            case Compact():
                held.compact(step.intent)
                return clean
            case Finished():
                return clean


def _finish(held: HeldMemory, transaction: str, standing: str) -> bool:
    """Roll a durable transaction forward. False when it ended as a conflict.

    A disk that fails on the way takes nothing back: the error says what stands, and the next lock holder
    goes on. Where only the tidying is left, the change is complete and the tidying waits for that holder.
    """
    try:
        return roll_forward(held, transaction)
    except StorageError as error:
        if type(error) not in {StorageError, DiskFull, DiskFailed}:
            raise
        ended = None if isinstance(error, DiskFailed) else _ended(held, transaction)
        if ended is not None:
            return ended
        advice = "Free some space." if isinstance(error, DiskFull) else error.advice
        raise type(error)(
            f"{standing}; finishing it failed: {error.message}",
            advice=f"{advice} Do not repeat the change: the next command that writes finishes it.",
        ) from error


def _ended(held: HeldMemory, transaction: str) -> bool | None:
    """Whether a transaction ended clean; None when more than its tidying is left, or nobody can tell."""
    try:
        facts = held.transaction(transaction)
    except PerdureError:
        return None
    if facts is None:
        return True
    tidying = isinstance(next_transaction_step(facts), Compact | Finished)
    return facts.completion is None or not facts.completion.conflict if tidying else None


def commit(
    held: HeldMemory,
    *,
    transaction: str,
    cause: Cause,
    base: Branch | None,
    after: Branch,
    changes: tuple[Change, ...],
    undoes: int | None = None,
    notes: tuple[Note, ...] = (),
    now_ms: int,
) -> Revision:
    """Carry out a foreground change, planned on `base` under this lock. Durable when it returns (G-04).

    DiskFull says that nothing was changed when the change could not be recorded; any failure of the disk
    after that says that it is recorded.
    """
    base_digest = base.digest if base is not None else None
    revision = Revision(
        branch_id=after.branch_id,
        seq=after.seq,
        transaction=transaction,
        cause=cause,
        job_id=None,
        undoes=undoes,
        base_digest=base_digest,
        result_digest=after.digest,
        changes=changes,
        notes=notes,
        made_ms=now_ms,
    )
    intent = Intent(
        transaction=transaction,
        cause=cause,
        job_id=None,
        decision_digest=None,
        verdict="applied",
        reasons=(),
        assessments=(),
        branch_id=after.branch_id,
        base_digest=base_digest,
        result_digest=revision.result_digest,
        branch=after,
        revision=revision,
        successor=None,
        begun_ms=now_ms,
    )
    try:
        held.begin(intent)
    except DiskFull as full:
        raise DiskFull(f"{full.message.rstrip('.')}; nothing was changed.", advice=full.advice) from full
    if not _finish(held, transaction, "the change is recorded"):
        msg = f"branch {after.name!r} changed while it was being written."
        raise StaleBranch(msg, advice="Nothing was lost; read it again and retry.")
    return revision
