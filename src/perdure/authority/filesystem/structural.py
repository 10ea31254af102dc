"""Names, removals and moves on files: see `perdure.ports.structural`."""

from __future__ import annotations

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.records import Records
from perdure.core.memory import MAIN, Branch
from perdure.core.move import Arrival, Move
from perdure.core.record import Record
from perdure.core.structural import BranchTombstone, Renamed

MOVE_DIGITS = 32
_HEX = frozenset("0123456789abcdef")


class Selected(Record, frozen=True, forbid_unknown_fields=True):
    """The branch that was chosen for use in this project: its name, or its id once it was renamed."""

    KIND = "selected"

    name: str


class FileShape:
    """See `perdure.ports.structural.HeldShape`."""

    def __init__(self, records: Records, scope: str) -> None:
        self._records, self._scope = records, scope

    def put_renamed(self, branch: Branch, renamed: Renamed) -> None:
        """See `HeldShape.put_renamed`. The choice is bound to the id first: it leads there by either name."""
        self._choose_instead({renamed.before}, branch.branch_id)
        self._records.replace(layout.branch(self._scope, branch.branch_id), branch)

    def entomb(self, tombstone: BranchTombstone) -> None:
        """See `HeldShape.entomb`."""
        path = layout.branch(self._scope, tombstone.branch_id)
        found: Record | None = self._records.found_changing(path, Branch, BranchTombstone)
        names = {tombstone.branch_id} | ({found.name} if isinstance(found, Branch) else set())
        self._choose_instead(names, MAIN)
        self._records.replace(path, tombstone)

    def _choose_instead(self, names: set[str], chosen: str) -> None:
        path = layout.selected(self._scope)
        found = self._records.found_changing(path, Selected)
        if found is not None and found.name in names:
            self._records.replace(path, Selected(name=chosen))

    def remove_history(self, branch_id: str) -> None:
        """See `HeldShape.remove_history`."""
        folder = layout.revisions(self._scope, branch_id)
        self._records.remove(*(f"{folder}/{name}" for name in self._records.disk.names(folder)))
        if self._records.disk.remove_folder(folder):
            self._records.sync_folder(f"{layout.scope_folder(self._scope)}/revisions")


class FileMoves:
    """See `perdure.ports.structural.HeldMoves`."""

    def __init__(self, records: Records, scope: str) -> None:
        self._records, self._scope = records, scope

    def begun(self) -> tuple[str, ...]:
        """See `HeldMoves.begun`."""
        names = self._records.disk.names(layout.moves(self._scope))
        return tuple(sorted(name for name in names if is_move_id(name)))

    def read(self, move_id: str) -> Move | None:
        """See `HeldMoves.read`."""
        return self._records.found(layout.move(self._scope, move_id), Move)

    def begin(self, move: Move) -> None:
        """See `HeldMoves.begin`."""
        self._records.ensure_folders(layout.moves(self._scope))
        self._records.create(layout.move(self._scope, move.move_id), move)

    def end(self, move_id: str) -> None:
        """See `HeldMoves.end`."""
        self._records.remove(layout.move(self._scope, move_id))

    def arrival(self, move_id: str) -> Arrival | None:
        """See `HeldMoves.arrival`."""
        return self._records.found(layout.arrival(self._scope, move_id), Arrival)

    def arrive(self, arrival: Arrival) -> None:
        """See `HeldMoves.arrive`."""
        self._records.ensure_folders(layout.arrivals(self._scope))
        self._records.derive(layout.arrival(self._scope, arrival.move_id), arrival)


def is_move_id(name: str) -> bool:
    """Whether a name can be a move's; foreign files are passed over (Q-13)."""
    return len(name) == MOVE_DIGITS and _HEX.issuperset(name)
