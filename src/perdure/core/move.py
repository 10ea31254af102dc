"""Entries that change scope: what is moved, and what became of it at the target (rule 16).

A move is three steps, each under one lock: it is noted at the source, it arrives at the target or is refused
there, and it leaves the source. Whoever finds the note takes the steps that are left; everything that they
write follows from the note and from the branches, so that two who finish one move write the same.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.core.canonical import digest
from perdure.core.memory import (
    Branch,
    Change,
    EditRefused,
    Entry,
    Planned,
    Remove,
    check_capacity,
    find_entry,
    find_key,
    plan,
)
from perdure.core.record import Record
from perdure.core.text import normalize_key

Direction = Literal["in", "out"]


class Move(Record, frozen=True, forbid_unknown_fields=True):
    """A move that has begun and not ended; stands at the source."""

    KIND = "move"

    move_id: str  # 32 hex digits
    scope: str
    branch_id: str
    target: str
    target_branch_id: str
    entries: tuple[Entry, ...]  # as they stood at the source
    begun_ms: int


class Arrival(Record, frozen=True, forbid_unknown_fields=True):
    """What the target made of a move, once and for good; ids alone."""

    KIND = "arrival"

    move_id: str
    scope: str  # the source
    branch_id: str
    target_branch_id: str
    entry_ids: tuple[str, ...]
    refused: str  # empty, or the code of why nothing was added
    arrived_ms: int


class Moved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other side of a move, as the revision of either side names it."""

    move_id: str
    direction: Direction
    scope: str
    branch_id: str


def arrival(move: Move, *, refused: str = "") -> Arrival:
    """Derived from the move."""
    return Arrival(
        move_id=move.move_id,
        scope=move.scope,
        branch_id=move.branch_id,
        target_branch_id=move.target_branch_id,
        entry_ids=tuple(entry.entry_id for entry in move.entries),
        refused=refused,
        arrived_ms=move.begun_ms,
    )


def moved(move: Move, direction: Direction) -> Moved:
    """What the revision at the target ("in") or at the source ("out") says of the other side."""
    if direction == "in":
        return Moved(move.move_id, direction, move.scope, move.branch_id)
    return Moved(move.move_id, direction, move.target, move.target_branch_id)


def move_transaction(move: Move, direction: Direction, base: Branch) -> str:
    """The id of a step's transaction: another one for every state of the branch that it begins on."""
    return digest(["move", move.move_id, direction, base.digest])[:32]


def place(target: Branch, entries: tuple[Entry, ...], *, now_ms: int) -> Planned:
    """Append the entries as they are; one that stands there already stays as it is.

    Raises EditRefused: "duplicate-key", "taken-id" or "capacity". All of them or none.
    """
    held = list(target.entries)
    changes: list[Change] = []
    for entry in entries:
        if not _stands(target, entry):
            held.append(entry)
            changes.append(Change(len(held) - 1, None, entry))
    planned = _planned(target, held, changes, now_ms)
    check_capacity(target, planned.branch)
    return planned


def take_out(source: Branch, entries: tuple[Entry, ...], *, now_ms: int) -> Planned:
    """Remove the entries that still are as they were moved; one that changed since is another by now."""
    edits = tuple(Remove(e.entry_id) for e in entries if find_entry(source, e.entry_id) == e)
    return plan(source, edits, now_ms=now_ms)


def still_there(source: Branch | None, entries: tuple[Entry, ...]) -> bool:
    """Whether every entry stands at the source as it was when the move began."""
    return source is not None and all(find_entry(source, entry.entry_id) == entry for entry in entries)


def _stands(target: Branch, entry: Entry) -> bool:
    """Whether the target says the same already. Raises EditRefused when something else takes its place."""
    same_id = find_entry(target, entry.entry_id)
    if same_id is not None:
        if _says(same_id) != _says(entry):
            msg = f"entry {entry.entry_id} stands there with another text, kind or key"
            raise EditRefused("taken-id", msg)
        return True
    if entry.key is None:
        return any(_says(other) == _says(entry) for other in target.entries)
    same_key = find_key(target, entry.key)
    if same_key is not None and same_key.text != entry.text:
        msg = f"key {entry.key!r} is held there by entry {same_key.entry_id}, with another value"
        raise EditRefused("duplicate-key", msg)
    return same_key is not None


def _says(entry: Entry) -> tuple[str, str, str | None]:
    return entry.text, entry.kind, normalize_key(entry.key) if entry.key is not None else None


def _planned(target: Branch, held: list[Entry], changes: list[Change], now_ms: int) -> Planned:
    if not changes:
        return Planned(target, ())
    after = msgspec.structs.replace(
        target, seq=target.seq + 1, changed_ms=max(now_ms, target.changed_ms), entries=tuple(held)
    )
    return Planned(after, tuple(changes))
