"""Every change of memory is one transaction; whoever takes the lock first finishes what others began."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from perdure.core.admission import Cause, Intent, Note, Revision
from perdure.core.memory import MAIN, Branch, Change
from perdure.core.move import Arrival, Move, arrival
from perdure.core.transaction import (
    Compact,
    Complete,
    Entomb,
    Finished,
    PutArrival,
    PutBranch,
    PutReceipt,
    PutRenamed,
    PutRevision,
    RemoveHistory,
    Step,
    next_transaction_step,
)
from perdure.errors import DiskFailed, DiskFull, PerdureError, StaleBranch, StorageError
from perdure.ports.memory import HeldMemory, Memory
from perdure.service.handover import arriving, leaving, refusal


@contextlib.contextmanager
def locked(memory: Memory, scope: str) -> Iterator[HeldMemory]:
    """Hold a scope with every move out of it and every begun transaction finished (rules 5 and 16).

    The lock is given back while a move is handed over at its target, since a process holds one at a time. A
    move that cannot be finished now, such as to a damaged memory, keeps nobody from writing here.
    """
    tried: set[str] = set()
    while True:
        with settled(memory, scope) as held:
            begun = [name for name in held.moves.begun() if name not in tried]
            if not begun:
                yield held
                return
        for move_id in begun:
            tried.add(move_id)
            with contextlib.suppress(PerdureError):
                _finish_move(memory, scope, move_id)


def finish_begun(memory: Memory, scope: str) -> None:
    """Finish what a crash left begun, before a change is planned on what can be read without the lock."""
    with locked(memory, scope):
        pass


def _finish_move(memory: Memory, scope: str, move_id: str) -> None:
    with settled(memory, scope) as held:
        move = held.moves.read(move_id)
    if move is not None:
        hand_over(memory, move)


@contextlib.contextmanager
def settled(memory: Memory, scope: str) -> Iterator[HeldMemory]:
    """Hold a scope with every begun transaction finished; moves out of it may be half done."""
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
            case Complete():
                clean = not step.completion.conflict
                held.complete(step.completion)
            case Compact():
                held.compact(step.intent)
                return clean
            case Finished():
                return clean
            case _:
                _take(held, step)


def _take(held: HeldMemory, step: Step) -> None:
    """One step that is not the last."""
    match step:
        case PutBranch():
            held.put_branch(step.branch)
        case PutRenamed():
            held.shape.put_renamed(step.branch, step.renamed)
        case Entomb():
            held.shape.entomb(step.tombstone)
        case RemoveHistory():
            held.shape.remove_history(step.branch_id)
        case PutRevision() if step.intent.revision is not None:
            held.put_revision(step.intent.revision)
        case PutArrival():
            held.moves.arrive(step.arrival)
        case PutReceipt():
            held.put_receipt(step.receipt)


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
    carry_out(held, intent, after.name)
    return revision


def carry_out(held: HeldMemory, intent: Intent, name: str) -> None:
    """Begin a transaction on the branch of that name and finish it; durable when it returns.

    Raises what `commit` raises, and StaleBranch.
    """
    try:
        held.begin(intent)
    except DiskFull as full:
        raise DiskFull(f"{full.message.rstrip('.')}; nothing was changed.", advice=full.advice) from full
    if not _finish(held, intent.transaction, "the change is recorded"):
        msg = f"branch {name!r} changed while it was being written."
        raise StaleBranch(msg, advice="Nothing was lost; read it again and retry.")


def hand_over(memory: Memory, move: Move) -> Arrival:
    """Take the steps of a move that are left, whoever began it. What the target decided is returned.

    The note is looked for again at the end: once it is gone, another has finished the move, and what stands
    at the source now is not what was moved.
    """
    with settled(memory, move.target) as held:
        arrived = held.moves.arrival(move.move_id)
        if arrived is None:
            arrived = arrival(move, refused=refusal(memory, held, move))
            intent = arriving(held, move) if not arrived.refused else None
            if intent is not None:
                carry_out(held, intent, MAIN)
            else:
                held.moves.arrive(arrived)
    with settled(memory, move.scope) as held:
        if held.moves.read(move.move_id) is not None:
            intent = leaving(held, move) if not arrived.refused else None
            if intent is not None:
                carry_out(held, intent, move.branch_id)
            held.moves.end(move.move_id)
    return arrived
