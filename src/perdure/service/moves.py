"""Moving entries between memories, and taking a whole project's memory into another (rule 16).

Nothing but these two commands places an entry of a project in the user-wide memory (G-05).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.core.memory import MAIN, Branch, EditRefused, Entry, main_branch_id
from perdure.core.move import Move, still_there
from perdure.errors import CapacityRefused, PerdureError, Refused, StaleBranch, UsageError
from perdure.ports.clock import Clock, Ids
from perdure.ports.memory import Memory
from perdure.service.facts import present
from perdure.service.handover import CHANGED, FORGOTTEN, planned_at
from perdure.service.remember import MemoryService, find_one
from perdure.service.transact import finish_begun, hand_over, locked, settled

_WHY = {
    CHANGED: "it changed while it was moved",
    FORGOTTEN: "it was forgotten there on purpose",
    "capacity": "there is no room for it there",
    "duplicate-key": "its key has another value there",
    "taken-id": "an entry of that id says something else there",
}


class MovedEntries(msgspec.Struct, frozen=True):
    """What was moved, from the source branch to main of the target."""

    move_id: str
    entries: tuple[Entry, ...]
    source: str
    branch: str
    target: str


class MoveService:
    """Moves out of one scope."""

    def __init__(self, memory: Memory, scope: str, *, clock: Clock, ids: Ids) -> None:
        self._memory, self._scope, self._clock, self._ids = memory, scope, clock, ids

    def move(self, which: str, target: str, *, branch: str | None = None) -> MovedEntries:
        """Move one entry, found as by `forget`, to main of another scope; it keeps its id and times.

        Refused before anything is written when the target has no room, another value of its key, or forgot
        its text. Raises NotFound, Ambiguous, CapacityRefused, Refused, StaleBranch.
        """
        return self._move(target, branch, lambda found: (find_one(which, found),))

    def merge(self, target: str) -> MovedEntries:
        """Move all entries of main to main of another project, all or nothing. Raises as `move` does."""
        return self._move(target, MAIN, lambda found: found.entries)

    def _move(
        self, target: str, branch: str | None, choose: Callable[[Branch], tuple[Entry, ...]]
    ) -> MovedEntries:
        if target == self._scope:
            msg = "source and target are the same memory."
            raise UsageError(
                msg, advice="perdure move ENTRY --to user, or --to the folder of another project."
            )
        finish_begun(self._memory, self._scope)
        row = MemoryService(self._memory, self._scope, clock=self._clock, ids=self._ids).branch(branch)
        entries = choose(row)
        move = Move(
            move_id=self._ids.token(32),
            scope=self._scope,
            branch_id=row.branch_id,
            target=target,
            target_branch_id=main_branch_id(target),
            entries=entries,
            begun_ms=self._clock.now_ms(),
        )
        if entries:
            self._check(move)
            self._note(move, row.name)
            refused = self._hand_over(move)
            if refused:
                raise Refused(f"nothing was moved: {_WHY[refused]}.", advice="Look at both, and repeat.")
        return MovedEntries(move.move_id, entries, self._scope, row.name, target)

    def _hand_over(self, move: Move) -> str:
        """Why the target refused; nothing when the entries are there. What fails here is finished later."""
        try:
            return hand_over(self._memory, move).refused
        except PerdureError as error:
            error.message = f"the move is recorded; finishing it failed: {error.message}"
            error.advice = f"{error.advice} Do not repeat it: the next command that writes here finishes it."
            raise

    def _check(self, move: Move) -> None:
        """Refuse with all that can be said, while nothing is written."""
        try:
            with settled(self._memory, move.target) as held:
                planned_at(held, move.target, move.target_branch_id, move.entries, move.begun_ms)
        except EditRefused as refused:
            msg = f"nothing was moved: {refused.message}."
            if refused.code == "capacity":
                raise CapacityRefused(msg, advice="Forget or shorten entries there first.") from refused
            advice = "Change or forget one of the two first."
            if refused.code == FORGOTTEN:
                advice = "perdure remember --relearn there stores it again."
            raise Refused(msg, advice=advice) from refused

    def _note(self, move: Move, name: str) -> None:
        with locked(self._memory, move.scope) as held:
            found = present(held.branch(move.branch_id), move.scope, move.branch_id)
            if not still_there(found, move.entries):
                msg = f"branch {name!r} changed meanwhile; nothing was moved."
                raise StaleBranch(msg, advice="Read it again and retry.")
            held.moves.begin(move)


def holds_entries(memory: Memory, scope: str) -> tuple[str, ...]:
    """The branches of a scope that hold entries, by name: what a merge of main leaves behind."""
    return tuple(row.name for row in memory.branches(scope) if row.entries)
