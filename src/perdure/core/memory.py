"""Canonical memory: entries, branches, edits and their inverse (M-02 to M-09).

Everything is a value. An edit is planned on one branch and gives the next branch with one higher
sequence number and the `Change`s that a revision keeps; a revision's changes can be inverted entry by
entry as long as the entries it touched have not changed since.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from perdure.core.canonical import digest
from perdure.core.record import Record, record_digest
from perdure.core.text import ENTRY_CHARS_MAX, normalize_key
from perdure.errors import TextRefused

Importance = Literal["high", "normal", "low"]
Origin = Literal["tool", "review", "capture", "import", "edit"]

BRANCH_CHARS_MAX = 6_000
REVIEW_CHARS_TARGET = 4_500
MAINTENANCE_CHARS_GOAL = 4_000
MAIN = "main"

__all__ = [
    "BRANCH_CHARS_MAX",
    "ENTRY_CHARS_MAX",
    "MAIN",
    "MAINTENANCE_CHARS_GOAL",
    "REVIEW_CHARS_TARGET",
]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One durable belief or preference. Frozen as version 1 (M-06): newer facts live in side records."""

    entry_id: str  # 16 hex digits
    text: str  # NFC, at most ENTRY_CHARS_MAX characters
    kind: str  # "user", "project", "agent" or a name of the user's
    key: str | None  # as spelt; compared by normalize_key
    importance: Importance
    origin: Origin
    created_ms: int
    updated_ms: int


class Branch(Record, frozen=True, forbid_unknown_fields=True):
    """A named, ordered set of entries; the unit of compare-and-swap. Frozen as version 1 (M-06)."""

    KIND = "branch"

    branch_id: str  # 16 hex digits; the file's name (rule 15)
    project: str
    name: str
    parent: str | None  # branch id it was forked from
    seq: int  # never recurs (rule 4)
    changed_ms: int
    entries: tuple[Entry, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over the complete branch (M-04)."""
        return record_digest(self)

    @property
    def chars(self) -> int:
        """Characters of text and keys, what the limits count."""
        return sum(entry_chars(entry) for entry in self.entries)


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one edit did to one entry. `index` is its place: before the change, or after it for an add."""

    index: int
    before: Entry | None
    after: Entry | None

    @property
    def entry_id(self) -> str:
        """The entry that changed."""
        entry = self.before or self.after
        return entry.entry_id if entry else ""


class Add(msgspec.Struct, frozen=True):
    """Append an entry, or supersede the current one with the same key (M-15)."""

    text: str
    kind: str
    key: str | None
    importance: Importance
    origin: Origin
    entry_id: str


class Replace(msgspec.Struct, frozen=True):
    """Change fields of one entry; None leaves a field. `expected` is the entry digest planned on (M-05)."""

    entry_id: str
    text: str | None = None
    kind: str | None = None
    key: str | None = None
    importance: Importance | None = None
    origin: Origin = "tool"
    expected: str | None = None


class Remove(msgspec.Struct, frozen=True):
    """Take one entry out."""

    entry_id: str
    expected: str | None = None


Edit = Add | Replace | Remove


class EditRefused(Exception):
    """An edit does not fit. `code`: "missing", "changed", "duplicate-key", "capacity" or "too-long"."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Planned(msgspec.Struct, frozen=True):
    """The branch after the edits and what changed; no changes means a no-op."""

    branch: Branch
    changes: tuple[Change, ...]


def main_branch_id(project: str) -> str:
    """The id of a project's implicit main branch (rule 15)."""
    return digest(["main-branch", project])[:16]


def empty_main(project: str) -> Branch:
    """The branch that exists before anything was written: sequence 0."""
    return Branch(
        branch_id=main_branch_id(project),
        project=project,
        name=MAIN,
        parent=None,
        seq=0,
        changed_ms=0,
        entries=(),
    )


def entry_digest(entry: Entry) -> str:
    """SHA-256 over the complete entry."""
    return digest(entry)


def entry_chars(entry: Entry) -> int:
    """What an entry counts against the branch's limits."""
    return len(entry.text) + len(entry.key or "")


def find_key(branch: Branch, key: str) -> Entry | None:
    """The current entry of a key, compared by the one key rule (M-15)."""
    wanted = normalize_key(key)
    return next((e for e in branch.entries if e.key is not None and normalize_key(e.key) == wanted), None)


def find_entry(branch: Branch, entry_id: str) -> Entry | None:
    """The entry with exactly this id."""
    return next((entry for entry in branch.entries if entry.entry_id == entry_id), None)


def plan(branch: Branch, edits: tuple[Edit, ...], *, now_ms: int) -> Planned:
    """Apply edits in order. Raises EditRefused; nothing of a refused plan takes effect.

    Exact duplicates and replacements that change nothing are left out (M-08).
    """
    entries = list(branch.entries)
    changes: list[Change] = []
    for edit in edits:
        change = _apply(entries, edit, now_ms)
        if change is not None:
            changes.append(change)
    if not changes:
        return Planned(branch, ())
    after = msgspec.structs.replace(
        branch, seq=branch.seq + 1, changed_ms=max(now_ms, branch.changed_ms), entries=tuple(entries)
    )
    return Planned(after, tuple(changes))


def check_capacity(before: Branch, after: Branch) -> None:
    """The hard limit for foreground writes (M-07). Shrinking is always allowed. Raises EditRefused."""
    if after.chars > BRANCH_CHARS_MAX and after.chars > before.chars:
        msg = f"the branch would hold {after.chars:,} characters, at most {BRANCH_CHARS_MAX:,} are allowed"
        raise EditRefused("capacity", msg)


def check_review_capacity(before: Branch, after: Branch) -> None:
    """A review below the target may not cross it; at or above the target it may not grow (M-07)."""
    limit = max(REVIEW_CHARS_TARGET, before.chars)
    if after.chars > limit:
        msg = f"a review may leave {limit:,} characters here, the proposal leaves {after.chars:,}"
        raise EditRefused("capacity", msg)


def invert(branch: Branch, changes: tuple[Change, ...], *, now_ms: int) -> Planned:
    """Undo a revision's changes entry by entry (M-09). Raises EditRefused "changed" when an entry that
    the revision left is no longer as it left it; unrelated later writes survive.
    """
    entries = list(branch.entries)
    undone = [_invert_one(entries, change) for change in reversed(changes)]
    after = msgspec.structs.replace(
        branch, seq=branch.seq + 1, changed_ms=max(now_ms, branch.changed_ms), entries=tuple(entries)
    )
    return Planned(after, tuple(undone))


def _invert_one(entries: list[Entry], change: Change) -> Change:
    place = _place(entries, change.entry_id)
    current = entries[place] if place is not None else None
    if current != change.after:
        msg = f"entry {change.entry_id} changed after that revision"
        raise EditRefused("changed", msg)
    before = change.before
    if before is not None and before.key is not None:
        _refuse_taken_key(entries, before.key, before.entry_id)
    if place is not None and before is not None:
        entries[place] = before
        return Change(index=place, before=current, after=before)
    if place is not None:
        del entries[place]
        return Change(index=place, before=current, after=None)
    if before is None:
        msg = f"entry {change.entry_id} is not part of that revision"
        raise EditRefused("missing", msg)
    index = min(change.index, len(entries))
    entries.insert(index, before)
    return Change(index=index, before=None, after=before)


def _apply(entries: list[Entry], edit: Edit, now_ms: int) -> Change | None:
    if isinstance(edit, Add):
        return _add(entries, edit, now_ms)
    place = _place(entries, edit.entry_id)
    if place is None:
        msg = f"no entry {edit.entry_id} on this branch"
        raise EditRefused("missing", msg)
    before = entries[place]
    if edit.expected is not None and entry_digest(before) != edit.expected:
        msg = f"entry {edit.entry_id} is not as expected: it now has digest {entry_digest(before)[:12]}"
        raise EditRefused("changed", msg)
    if isinstance(edit, Remove):
        del entries[place]
        return Change(index=place, before=before, after=None)
    after = _replaced(before, edit, now_ms)
    if after is None:
        return None
    if after.key is not None:
        _refuse_taken_key(entries, after.key, after.entry_id)
    entries[place] = _checked(after)
    return Change(index=place, before=before, after=after)


def _add(entries: list[Entry], edit: Add, now_ms: int) -> Change | None:
    if edit.key is not None:
        wanted = normalize_key(edit.key)
        for held in entries:
            if held.key is not None and normalize_key(held.key) == wanted:
                supersede = Replace(
                    entry_id=held.entry_id,
                    text=edit.text,
                    kind=edit.kind,
                    importance=edit.importance,
                    origin=edit.origin,
                )
                return _apply(entries, supersede, now_ms)
    elif any(held.text == edit.text and held.key is None and held.kind == edit.kind for held in entries):
        return None
    after = Entry(
        entry_id=edit.entry_id,
        text=edit.text,
        kind=edit.kind,
        key=edit.key,
        importance=edit.importance,
        origin=edit.origin,
        created_ms=now_ms,
        updated_ms=now_ms,
    )
    entries.append(_checked(after))
    return Change(index=len(entries) - 1, before=None, after=after)


_T = TypeVar("_T")


def _or(value: _T | None, otherwise: _T) -> _T:
    return otherwise if value is None else value


def _replaced(before: Entry, edit: Replace, now_ms: int) -> Entry | None:
    after = msgspec.structs.replace(
        before,
        text=_or(edit.text, before.text),
        kind=_or(edit.kind, before.kind),
        key=before.key if edit.key is None else edit.key,
        importance=_or(edit.importance, before.importance),
    )
    if after == before:
        return None
    return msgspec.structs.replace(after, origin=edit.origin, updated_ms=max(now_ms, before.updated_ms))


def _checked(entry: Entry) -> Entry:
    if len(entry.text) > ENTRY_CHARS_MAX:
        msg = f"an entry holds at most {ENTRY_CHARS_MAX} characters, this one has {len(entry.text)}"
        raise EditRefused("too-long", msg)
    if entry.key is not None:
        from perdure.core.text_meaning import check_fact

        try:
            check_fact(entry.key, entry.text)
        except TextRefused as refused:
            raise EditRefused(refused.code, refused.message.rstrip(".")) from refused
    return entry


def _place(entries: list[Entry], entry_id: str) -> int | None:
    return next((place for place, entry in enumerate(entries) if entry.entry_id == entry_id), None)


def _refuse_taken_key(entries: list[Entry], key: str, own_id: str) -> None:
    wanted = normalize_key(key)
    for held in entries:
        if held.entry_id != own_id and held.key is not None and normalize_key(held.key) == wanted:
            msg = f"key {key!r} is held by entry {held.entry_id}"
            raise EditRefused("duplicate-key", msg)
