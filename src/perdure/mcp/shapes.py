"""What tools give as structured output: the command line's --json documents, described for clients.

The protocol library derives the published schemas from these types and checks every answer against them.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict  # the library reads typing's own only from Python 3.12 on


class EntryShape(TypedDict):
    """An entry of memory. Times are UTC milliseconds; `digest` names this version of it."""

    id: str
    text: str
    kind: str
    key: str | None
    importance: str
    origin: str
    created_ms: int
    updated_ms: int
    digest: str


class ChangeShape(TypedDict):
    """One entry before and after."""

    id: str
    index: int
    before: EntryShape | None
    after: EntryShape | None


class WrittenShape(TypedDict):
    """What a change did; `similar` are near duplicates and likely contradictions beside it."""

    changed: bool
    branch: str
    seq: int
    digest: str
    entry: EntryShape | None
    changes: list[ChangeShape]
    similar: list[EntryShape]


class FoundShape(EntryShape):
    """An entry that answers: `score` is the chance that it does, `margin` its lead over the next."""

    scope: str
    branch: str
    score: float
    margin: float
    provenance: dict[str, Any]
    why: dict[str, Any]


class RecalledShape(TypedDict):
    """The answer to a question. No entries: nothing stored answers it."""

    question: str
    searches: list[str]
    encoder: str | None
    pending: int
    problems: list[str]
    entries: list[FoundShape]


class PageShape(TypedDict):
    """A page of entries in the branch's order; `next` is where the next one starts, null at the end."""

    branch: str
    branch_id: str
    scope: str
    parent: str | None
    seq: int
    digest: str
    characters: int
    characters_max: int
    entries: list[EntryShape]
    count: int
    next: int | None


class StatusShape(TypedDict):
    """Where the memory of this project stands."""

    branch: str
    branch_id: str
    scope: str
    parent: str | None
    seq: int
    digest: str
    characters: int
    characters_max: int
    project: str
    entries: int
    mode: str
    reviewer: str
    open_jobs: dict[str, int]
    workers: int


class NudgeShape(TypedDict):
    """One short reminder."""

    id: str
    text: str


class NudgesShape(TypedDict):
    """Reminders that bear on a task."""

    nudges: list[NudgeShape]


class GuideShape(TypedDict):
    """How to use this memory well."""

    guide: str
