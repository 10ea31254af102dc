"""The rules of verify about removed branches and moved entries (rules 15 and 16)."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.core.admission import Intent
from perdure.core.memory import MAIN, find_entry, main_branch_id
from perdure.core.move import Arrival, arrival
from perdure.core.structural import Intent2
from perdure.ports.inspect import ScopeRecords, Snapshot
from perdure.service.violation import Violation, place


def removals(snapshot: Snapshot) -> Iterator[Violation]:
    """Of a removed branch nothing is left but its tombstone; main is never removed (rule 15)."""
    for scope in snapshot.scopes.values():
        base = place(scope.scope)
        for branch_id, stone in scope.removed.items():
            path = f"{base}/branches/{branch_id}"
            named = f"{stone.project} {stone.branch_id}"
            if named != f"{scope.scope} {branch_id}" or branch_id == main_branch_id(scope.scope):
                yield Violation("V-20", "name", path, "a tombstone of another branch", "its own")
            if scope.revisions.get(branch_id) and not _removing(scope, branch_id):
                yield Violation("V-20", "history", path, "revisions of a removed branch", "none")
        for name, intent in scope.intents.items():
            yield from _bound(f"{base}/admissions/{name}", intent) if isinstance(intent, Intent2) else ()


def choices(snapshot: Snapshot) -> Iterator[Violation]:
    """The branch in use is there, whatever it is called meanwhile (M-02)."""
    for scope in snapshot.scopes.values():
        base = place(scope.scope)
        if any(unread.path.startswith(f"{base}/branches/") for unread in snapshot.unread):
            continue
        there = {MAIN, *scope.branches, *(branch.name for branch in scope.branches.values())}
        if scope.selected is not None and scope.selected not in there:
            yield Violation(
                "V-22", "selected", f"{base}/selected", "a branch that is gone", "one that is there"
            )


def _removing(scope: ScopeRecords, branch_id: str) -> bool:
    """Whether the removal has not completed."""
    return any(
        isinstance(intent, Intent) and intent.branch_id == branch_id and name not in scope.completions
        for name, intent in scope.intents.items()
    )


def _bound(path: str, intent: Intent2) -> Iterator[Violation]:
    stone = intent.tombstone
    if (stone is None) == (intent.revision is None):
        yield Violation("V-20", "parts", path, "a tombstone and a revision, or neither", "one of them")
    elif stone is not None:
        told = (stone.branch_id, stone.last_digest, stone.transaction)
        if told != (intent.branch_id, intent.base_digest, intent.transaction):
            yield Violation("V-20", "binding", path, "tombstone and intent disagree", "one removal")


def moves(snapshot: Snapshot) -> Iterator[Violation]:
    """A move's note and arrival agree, and without the note nothing that arrived is left behind (rule 16)."""
    for scope in snapshot.scopes.values():
        base = place(scope.scope)
        for name, move in scope.moves.items():
            if (move.move_id, move.scope) != (name, scope.scope):
                yield Violation("V-21", "name", f"{base}/moves/{name}", "another move", "content of its name")
        for name, arrived in scope.arrivals.items():
            path = f"{base}/arrivals/{name}"
            source = snapshot.scopes.get(arrived.scope)
            if arrived.move_id != name:
                yield Violation("V-21", "name", path, "another move", "content of its name")
            elif source is not None and not _unread(snapshot, source, name):
                yield from _arrived(path, scope, source, arrived)


def _unread(snapshot: Snapshot, source: ScopeRecords, name: str) -> bool:
    """Whether the note may be there and cannot be read."""
    path = f"{place(source.scope)}/moves/{name}"
    return any(unread.path == path for unread in snapshot.unread)


def _arrived(path: str, target: ScopeRecords, source: ScopeRecords, arrived: Arrival) -> Iterator[Violation]:
    note = source.moves.get(arrived.move_id)
    if note is not None:
        if arrived != arrival(note, refused=arrived.refused):
            yield Violation("V-21", "derived", path, "another content", "what the move gives")
        return
    left, there = source.branches.get(arrived.branch_id), target.branches.get(arrived.target_branch_id)
    if arrived.refused or left is None or there is None:
        return
    on_the_way = {e.entry_id for scope in (source, target) for m in scope.moves.values() for e in m.entries}
    for entry_id in {*arrived.entry_ids} - on_the_way:
        entry = find_entry(left, entry_id)
        if entry is not None and find_entry(there, entry_id) == entry:
            yield Violation("V-21", "twice", path, f"entry {entry_id} in both memories", "in one of them")


def open_moves(snapshot: Snapshot) -> Iterator[Violation]:
    """No move is half done."""
    for scope in snapshot.scopes.values():
        for name, move in scope.moves.items():
            path = f"{place(scope.scope)}/moves/{name}"
            there = snapshot.scopes.get(move.target)
            stands = there is not None and name in there.arrivals
            found = f"decided at {move.target}, not finished here" if stands else "not yet arrived"
            yield Violation("R-04", "open-move", path, found, "a move that has ended")
