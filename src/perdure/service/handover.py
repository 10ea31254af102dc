"""What each side of a move has to write, from its note and from the branch that stands there (rule 16)."""

from __future__ import annotations

from perdure.core.memory import Branch, EditRefused, Entry, Planned
from perdure.core.move import Move, arrival, move_transaction, moved, place, still_there, take_out
from perdure.core.structural import Intent2, structural_intent
from perdure.errors import Removed
from perdure.ports.memory import HeldMemory, Memory
from perdure.service.facts import present

CHANGED = "changed"
FORGOTTEN = "forgotten"


def planned_at(
    held: HeldMemory, target: str, branch_id: str, entries: tuple[Entry, ...], now_ms: int
) -> Planned:
    """The target with the entries added. Raises EditRefused, with the code "forgotten" for a tombstone."""
    branch = present(held.branch(branch_id), target, branch_id)
    buried = [entry.entry_id for entry in entries if held.buried(entry.text, None, 0)]
    if buried:
        msg = f"{', '.join(buried)} says what was forgotten there on purpose"
        raise EditRefused(FORGOTTEN, msg)
    return place(branch, entries, now_ms=now_ms)


def refusal(memory: Memory, held: HeldMemory, move: Move) -> str:
    """Why the target takes nothing of a move: a code, or nothing when it takes all of it.

    What changed or was forgotten at the source since the move began stays there.
    """
    if not still_there(_source(memory, move), move.entries):
        return CHANGED
    try:
        planned_at(held, move.target, move.target_branch_id, move.entries, move.begun_ms)
    except EditRefused as refused:
        return refused.code
    return ""


def arriving(held: HeldMemory, move: Move) -> Intent2 | None:
    """The transaction at the target, under its lock; None when the entries stand there already."""
    branch = present(held.branch(move.target_branch_id), move.target, move.target_branch_id)
    planned = place(branch, move.entries, now_ms=move.begun_ms)
    if not planned.changes:
        return None
    return structural_intent(
        transaction=move_transaction(move, "in", branch),
        base=branch,
        planned=planned,
        moved=moved(move, "in"),
        arrival=arrival(move),
        now_ms=move.begun_ms,
    )


def leaving(held: HeldMemory, move: Move) -> Intent2 | None:
    """The transaction at the source, under its lock; None when nothing of the move is left there."""
    try:
        branch = present(held.branch(move.branch_id), move.scope, move.branch_id)
    except Removed:
        return None
    planned = take_out(branch, move.entries, now_ms=move.begun_ms)
    if not planned.changes:
        return None
    return structural_intent(
        transaction=move_transaction(move, "out", branch),
        base=branch,
        planned=planned,
        moved=moved(move, "out"),
        now_ms=move.begun_ms,
    )


def _source(memory: Memory, move: Move) -> Branch | None:
    try:
        return memory.branch(move.scope, move.branch_id)
    except Removed:
        return None
