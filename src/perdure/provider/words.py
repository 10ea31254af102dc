"""Which words are ordinary ones: those of the packaged vocabulary, which is ordered by frequency.

A question whose word is an ordinary one has not misspelt a key's word that looks like it (`recall.keys`).
"""

from __future__ import annotations

from functools import lru_cache

from perdure.provider.encoder import vocabulary

_PIECES = 16_000
"""Of 30,522. In what comes after these, rare names are as many as words: 1 of 100 misspellings of a word of
six letters or more is among these, and 5 of 100 of a shorter one.
"""
_CHARS_MIN = 3


def is_common_word(word: str) -> bool:
    """Say whether a folded word is an ordinary one of English. The first time reads the vocabulary."""
    return word in _common()


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    return frozenset(
        piece for piece in vocabulary()[:_PIECES] if len(piece) >= _CHARS_MIN and piece.isalpha()
    )
