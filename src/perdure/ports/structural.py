"""What changes a scope beyond its entries' texts, while its lock is held (rules 15 and 16)."""

from __future__ import annotations

from typing import Protocol

from perdure.core.memory import Branch
from perdure.core.move import Arrival, Move
from perdure.core.structural import BranchTombstone, Renamed


class HeldShape(Protocol):
    """Names and removals of branches."""

    def put_renamed(self, branch: Branch, renamed: Renamed) -> None:
        """Replace the branch by itself under its new name; where it was chosen for use, it stays chosen."""
        ...

    def entomb(self, tombstone: BranchTombstone) -> None:
        """Put the tombstone in the branch's place, durably; where it was chosen for use, main is, before."""
        ...

    def remove_history(self, branch_id: str) -> None:
        """Remove every revision of a branch, durably."""
        ...


class HeldMoves(Protocol):
    """Moves out of the scope, and what became of those into it."""

    def begun(self) -> tuple[str, ...]:
        """The ids of moves out of this scope that have not ended."""
        ...

    def read(self, move_id: str) -> Move | None:
        """One of them, None when it has ended."""
        ...

    def begin(self, move: Move) -> None:
        """Note a move at its source, durably."""
        ...

    def end(self, move_id: str) -> None:
        """Take the note away: its arrival stands, and what arrived has left this scope."""
        ...

    def arrival(self, move_id: str) -> Arrival | None:
        """What became of a move into this scope, None before that is decided."""
        ...

    def arrive(self, arrival: Arrival) -> None:
        """Publish what became of a move into this scope."""
        ...
