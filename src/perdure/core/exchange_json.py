"""The JSON form of a branch for exchange (M-14)."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from perdure.core.exchange import DOCUMENT_CHARS_MAX, KIND_DEFAULT, Document, Item, check_count
from perdure.core.memory import Branch, Importance, entry_digest
from perdure.errors import UsageError


class JsonEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry. Only the text is needed; origin and times are shown and not read back."""

    text: str
    kind: str = KIND_DEFAULT
    key: str | None = None
    importance: Importance = "normal"
    id: str | None = None
    digest: str | None = None
    origin: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None


class JsonMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole document."""

    format: Literal["perdure-memory"]
    version: Literal[1]
    branch: str | None = None
    base_digest: str | None = None
    entries: tuple[JsonEntry, ...]


def to_json(branch: Branch) -> str:
    """Give a branch as JSON text that ends with a line break."""
    entries = tuple(
        JsonEntry(
            id=entry.entry_id,
            digest=entry_digest(entry),
            kind=entry.kind,
            key=entry.key,
            importance=entry.importance,
            text=entry.text,
            origin=entry.origin,
            created_ms=entry.created_ms,
            updated_ms=entry.updated_ms,
        )
        for entry in branch.entries
    )
    document = JsonMemory(
        format="perdure-memory", version=1, branch=branch.name, base_digest=branch.digest, entries=entries
    )
    return json.dumps(msgspec.to_builtins(document), ensure_ascii=False, indent=2) + "\n"


def from_json(text: str) -> Document:
    """Read what `to_json` wrote, or a foreign file of the same form. Raises UsageError."""
    if len(text) > DOCUMENT_CHARS_MAX:
        msg = f"the file has {len(text):,} characters, at most {DOCUMENT_CHARS_MAX:,} are read."
        raise UsageError(msg)
    try:
        found = msgspec.json.decode(text.encode("utf-8"), type=JsonMemory)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        msg = f"the file is not a perdure-memory document of version 1: {error}."
        raise UsageError(msg, advice="perdure export --format json shows the form.") from error
    check_count(len(found.entries))
    items = tuple(
        Item(
            text=entry.text,
            kind=entry.kind,
            key=entry.key,
            importance=entry.importance,
            entry_id=entry.id,
            digest=entry.digest,
            where=f"entry {place}",
        )
        for place, entry in enumerate(found.entries, 1)
    )
    return Document(items, found.branch, found.base_digest)
