"""Lines of sessions in their order, and who is asked about: what a search of evidence knows besides words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from perdure.recall.found import Document

ROLES = frozenset({"user", "assistant"})
"""Speakers that are roles and no names: "I" then is the user and "you" the assistant."""

_MINE = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)
_YOURS = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


class Lines(msgspec.Struct, frozen=True):
    """All lines, session by session, with the place of the line before and after each, -1 where none is."""

    documents: tuple[Document, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    speakers: tuple[str, ...]
    """Every speaker once, in order of name."""

    @classmethod
    def of(cls, documents: Mapping[str, Document]) -> Lines:
        """Put documents in order. What has no group stands alone."""
        ordered = sorted(documents.values(), key=lambda each: (each.group, each.order, each.doc_id))
        together = [bool(one.group) and one.group == other.group for one, other in pairwise(ordered)]
        return cls(
            documents=tuple(ordered),
            before=tuple(at - 1 if at and together[at - 1] else -1 for at in range(len(ordered))),
            after=tuple(at + 1 if at < len(together) and together[at] else -1 for at in range(len(ordered))),
            speakers=tuple(sorted({each.speaker for each in ordered if each.speaker})),
        )


def asked_speaker(question: str, speakers: Sequence[str]) -> str | None:
    """The one speaker that a question is about: the only one it names, or the role behind "I" or "you"."""
    names = [name for name in speakers if name.casefold() not in ROLES]
    named = [name for name in names if _names((name,)).search(question)]
    if named or names:
        return named[0] if len(named) == 1 else None
    mine, yours = _MINE.search(question) is not None, _YOURS.search(question) is not None
    if mine == yours:
        return None
    wanted = "user" if mine else "assistant"
    return next((name for name in speakers if name.casefold() == wanted), None)


def without_names(question: str, speakers: Sequence[str]) -> str:
    """The question without the speakers' names; roles are ordinary words and stay."""
    names = tuple(name for name in speakers if name.casefold() not in ROLES)
    return _names(names).sub(" ", question) if names else question


def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    spelt = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{spelt})(?:['’]s)?(?!\w)", re.IGNORECASE)
