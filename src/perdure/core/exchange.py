"""Memory as a file that people read and edit: from a document to a plan of edits (M-14).

A *document* is what such a file says, whatever its format. With a base digest it is the whole branch as it
shall be: an entry that is missing was removed. Without one it is a foreign file, and only adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from perdure.core.memory import (
    BRANCH_CHARS_MAX,
    Add,
    Branch,
    Change,
    Edit,
    Entry,
    Importance,
    Origin,
    Remove,
    Replace,
    entry_digest,
)
from perdure.core.proposal import check_kind
from perdure.core.text import check_entry_text, check_key, normalize_key
from perdure.errors import Refused, TextRefused, UsageError

DIGEST_DIGITS = 12
DOCUMENT_CHARS_MAX = 2_000_000
ITEMS_MAX = BRANCH_CHARS_MAX
"""A branch holds no more entries than characters; each item is judged, so that many would take long."""
KIND_DEFAULT = "project"
_SHOWN_CHARS = 60


class Item(msgspec.Struct, frozen=True):
    """One entry as a document has it. `entry_id` and `digest` (at least 12 digits) tie it to the branch."""

    text: str
    kind: str = KIND_DEFAULT
    key: str | None = None
    importance: Importance = "normal"
    entry_id: str | None = None
    digest: str | None = None
    where: str = ""  # for messages, such as "line 12"


class Document(msgspec.Struct, frozen=True):
    """What a file says. Without `base_digest` it belongs to no branch and only adds."""

    items: tuple[Item, ...]
    branch: str | None = None
    base_digest: str | None = None


def check_count(items: int) -> None:
    """Refuse a document with more entries than any branch can hold. Raises UsageError."""
    if items > ITEMS_MAX:
        msg = f"the file has more than {ITEMS_MAX:,} entries, which no branch can hold."
        raise UsageError(msg, advice="Split it, or leave out what need not be remembered.")


class EditPlan(msgspec.Struct, frozen=True):
    """Edits for one branch, and the items that it holds already."""

    edits: tuple[Edit, ...]
    duplicates: tuple[Item, ...] = ()


class DiffLine(msgspec.Struct, frozen=True):
    """One line of a readable diff: `sign` is "+", "-" or, before a changed entry's two lines, "~"."""

    sign: Literal["+", "-", "~"]
    text: str


def plan_whole(document: Document, branch: Branch, new_id: Callable[[], str]) -> EditPlan:
    """Edits that make the branch say what the document says. The caller has compared the base digest.

    Removals come first, then replacements, then additions. Raises UsageError for an item that names an
    entry that is not there, or names it twice, and TextRefused for text that may not enter memory (M-10).
    """
    entries = {entry.entry_id: entry for entry in branch.entries}
    named: dict[str, Item] = {}
    removed: list[Edit] = []
    replaced: list[Edit] = []
    added: list[Edit] = []
    for item in document.items:
        if item.entry_id is None:
            added.append(_addition(item, new_id(), "edit"))
            continue
        entry = _named(item, entries, named)
        named[item.entry_id] = item
        if entry.key is not None and item.key is None:
            removed.append(Remove(entry.entry_id, entry_digest(entry)))
            added.append(_addition(item, new_id(), "edit"))
            continue
        edit = _replacement(item, entry)
        if edit is not None:
            replaced.append(edit)
    gone = [entry for entry in branch.entries if entry.entry_id not in named]
    removed += [Remove(entry.entry_id, entry_digest(entry)) for entry in gone]
    return EditPlan((*removed, *replaced, *added))


def plan_additions(document: Document, branch: Branch, new_id: Callable[[], str]) -> EditPlan:
    """Edits that add what the branch does not hold yet; all or nothing.

    A text that stands there already is a duplicate. Raises Refused, naming all of them, when keys stand for
    other texts, and TextRefused for text that may not enter memory (M-10).
    """
    texts = {entry.text for entry in branch.entries}
    keys = {normalize_key(entry.key): entry.text for entry in branch.entries if entry.key is not None}
    edits: list[Edit] = []
    duplicates: list[Item] = []
    taken: list[str] = []
    for item in document.items:
        addition = _addition(item, new_id(), "import")
        key = normalize_key(addition.key) if addition.key is not None else None
        if key is not None and keys.get(key, addition.text) != addition.text:
            taken.append(f"{item.where}: {addition.key!r}")
        elif key in keys if key is not None else addition.text in texts:
            duplicates.append(item)
        else:
            edits.append(addition)
            texts.add(addition.text)
            if key is not None:
                keys[key] = addition.text
    if taken:
        msg = f"{len(taken)} keys stand for other texts already ({'; '.join(taken)}); an import only adds."
        raise Refused(msg, advice="Take them out of the file, or use perdure remember --key.")
    return EditPlan(tuple(edits), tuple(duplicates))


def diff(changes: tuple[Change, ...]) -> tuple[DiffLine, ...]:
    """Say what changes do, in their order, a line or two for each."""
    lines: list[DiffLine] = []
    for change in changes:
        if change.before is not None and change.after is not None:
            lines.append(DiffLine("~", change.entry_id))
        if change.before is not None:
            lines.append(DiffLine("-", described(change.before)))
        if change.after is not None:
            lines.append(DiffLine("+", described(change.after)))
    return tuple(lines)


def described(entry: Entry) -> str:
    """One entry on one line, with all that a person may change."""
    mark = "" if entry.importance == "normal" else f"({entry.importance}) "
    key = f"{entry.key}: " if entry.key is not None else ""
    return f"[{entry.kind}] {mark}{key}{entry.text}".replace("\n", "\n    ")


def shown(text: str) -> str:
    """The beginning of a text, on one line, for messages."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"


def _named(item: Item, entries: dict[str, Entry], named: dict[str, Item]) -> Entry:
    name = item.entry_id or ""
    entry = entries.get(name)
    if entry is None:
        msg = f"{item.where}: there is no entry {name} on this branch."
        raise UsageError(msg, advice="Leave the id out to add a new entry.")
    if name in named:
        msg = f"{item.where}: entry {name} stands at {named[name].where} already."
        raise UsageError(msg, advice="Leave the id out at the one that is new.")
    if item.digest is not None and not entry_digest(entry).startswith(item.digest):
        msg = f"{item.where}: entry {name} has another digest."
        raise UsageError(msg, advice="Ids and digests are not for editing. Start again from perdure export.")
    return entry


def _addition(item: Item, entry_id: str, origin: Origin) -> Add:
    text, key = _checked_text(item, item.text), _checked_key(item, item.key)
    return Add(text, _checked_kind(item), key, item.importance, origin, entry_id)


def _replacement(item: Item, entry: Entry) -> Replace | None:
    """What differs; what a person left alone is not judged again."""
    text = None if item.text == entry.text else _checked_text(item, item.text)
    key = None if item.key == entry.key else _checked_key(item, item.key)
    kind = None if item.kind == entry.kind else _checked_kind(item)
    importance = None if item.importance == entry.importance else item.importance
    if text is None and key is None and kind is None and importance is None:
        return None
    return Replace(entry.entry_id, text, kind, key, importance, "edit", entry_digest(entry))


def _checked_text(item: Item, text: str) -> str:
    try:
        return check_entry_text(text)
    except TextRefused as refused:
        raise _at(item, refused) from refused


def _checked_key(item: Item, key: str | None) -> str | None:
    try:
        return check_key(key) if key is not None else None
    except TextRefused as refused:
        raise _at(item, refused) from refused


def _checked_kind(item: Item) -> str:
    fault = check_kind(item.kind)
    if fault:
        msg = f"{item.where}: {fault}."
        raise UsageError(msg)
    return item.kind


def _at(item: Item, refused: TextRefused) -> TextRefused:
    return TextRefused(refused.code, f"{item.where}: {refused.message}", advice=refused.advice)
