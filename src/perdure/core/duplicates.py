"""Near duplicates and likely contradictions, reported at write (M-08)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from perdure.core.memory import Entry

NEAR = 0.75
_WORDS_MIN = 3
_NEGATIONS = frozenset(
    "not no never don t cannot without nicht kein nie ne pas jamais nunca sin не никогда".split()
)
_WORD = re.compile(r"\w+", re.UNICODE)
_FILLERS = frozenset("a an the is are be to of for in on at and or we you it this that please".split())


def words(text: str) -> frozenset[str]:
    """The folded content words of a text; two-character pieces where a script has no spaces."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word.isascii() or len(word) < 3:  # noqa: PLR2004 - shorter than a bigram pair
            found.add(word)
        else:
            found.update(word[place : place + 2] for place in range(len(word) - 1))
    return frozenset(found - _FILLERS) or frozenset(found)


def likeness(first: str, second: str) -> float:
    """Jaccard overlap of the content words, 0 to 1."""
    left, right = words(first), words(second)
    return len(left & right) / len(left | right) if left | right else 0.0


def exact_duplicate(text: str, entries: Iterable[Entry]) -> Entry | None:
    """An entry that says the same but for case, spaces and a final full stop."""
    wanted = _plain(text)
    return next((entry for entry in entries if _plain(entry.text) == wanted), None)


def near_duplicates(text: str, entries: Iterable[Entry], *, threshold: float = NEAR) -> tuple[Entry, ...]:
    """Entries that share most content words with a text: duplicates or contradictions, the closest first."""
    scored = [(likeness(text, entry.text), entry) for entry in entries]
    close = [(score, entry) for score, entry in scored if score >= threshold]
    return tuple(entry for _, entry in sorted(close, key=lambda pair: -pair[0]))


def covered_by(text: str, entries: Iterable[Entry]) -> Entry | None:
    """An entry whose words include all of the text's, so that the text adds nothing to it.

    A negation that only one of them has, or fewer than three words, makes them different statements.
    """
    wanted = words(text)
    if len(wanted) < _WORDS_MIN:
        return None
    for entry in entries:
        held = words(entry.text)
        if wanted <= held and not (held - wanted) & _NEGATIONS:
            return entry
    return None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
