"""What recall searches, what it finds, and why: the words that the searches and their callers share."""

from __future__ import annotations

from typing import Literal

import msgspec

QUESTION_CHARS_MAX = 4_000
"""A longer question is refused."""

Mode = Literal["fused", "exact", "lexical", "semantic", "holographic"]


class Document(msgspec.Struct, frozen=True):
    """One thing that can be found: an entry of memory, or a line of evidence.

    `group` and `order` say what stands beside it: lines of one session, in their order. `speaker` is
    "user" or "assistant" for evidence. `when_ms` is UTC milliseconds, 0 when it has no date.
    """

    doc_id: str
    text: str
    key: str | None = None
    kind: str = ""
    speaker: str = ""
    group: str = ""
    order: int = 0
    when_ms: int = 0


class Why(msgspec.Struct, frozen=True):
    """Why a document was found. What did not take part is None or empty."""

    exact_key: bool = False
    key_meant: str | None = None
    """The key that a misspelt or partial one was taken for."""
    words: tuple[str, ...] = ()
    """Words of the question that stand in it, as the question spells them."""
    neighbours: tuple[str, ...] = ()
    """Ids of documents beside it that lent it weight."""
    lexical: float | None = None
    cosine: float | None = None
    late: float | None = None
    holographic_z: float | None = None


class Hit(msgspec.Struct, frozen=True):
    """One document that was found. `score` is the chance that it answers, 0 to 1; `margin` its lead over the
    next in score.
    """

    doc_id: str
    score: float
    margin: float
    why: Why


class Answer(msgspec.Struct, frozen=True):
    """What a search gave. Nothing in `hits` means that nothing stored answers; `nearest` then are the misses.

    `searches` names what took part: "key", "lexical", "semantic", "holographic".
    """

    hits: tuple[Hit, ...]
    nearest: tuple[Hit, ...]
    searches: tuple[str, ...]
