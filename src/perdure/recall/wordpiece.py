"""BERT's uncased tokenizer: greedy longest-match word pieces over a given vocabulary.

Source: Devlin et al. 2019 and the reference tokenizer of `google-research/bert` (basic and WordPiece
tokenizers, Apache-2.0): lower case, accents off, punctuation and Han characters apart.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from perdure.errors import ConfigError

TOKENS_MAX = 256
"""What the packaged model was trained with; what stands after it in a text is not seen."""

_WORD_CHARS_MAX = 100
_CACHE_WORDS_MAX = 50_000
_HAN = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF))


def basic_words(text: str) -> list[str]:
    """Split a text into lower-case words, punctuation marks and single Han characters."""
    spaced: list[str] = []
    for char in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(char)
        if char.isspace():
            spaced.append(" ")
        elif category == "Mn" or category[0] == "C":
            continue
        elif _stands_alone(char, category):
            spaced.append(f" {char} ")
        else:
            spaced.append(char)
    return "".join(spaced).split()


class WordPieces:
    """A vocabulary and what it makes of texts. Raises `ConfigError` if the vocabulary lacks BERT's marks."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        marks = [self._ids.get(mark) for mark in ("[UNK]", "[CLS]", "[SEP]")]
        if any(mark is None for mark in marks):
            raise ConfigError("The encoder's vocabulary is not one of BERT's.")
        self._unknown, self._start, self._end = (mark or 0 for mark in marks)
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, *, limit: int = TOKENS_MAX) -> list[int]:
        """Ids of a text between the marks of start and end, at most `limit` with them."""
        pieces: list[int] = []
        for word in basic_words(text):
            pieces += self._pieces(word)
            if len(pieces) >= limit - 2:
                break
        return [self._start, *pieces[: limit - 2], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        found = self._known.get(word)
        if found is None:
            found = self._split(word)
            if len(self._known) < _CACHE_WORDS_MAX:
                self._known[word] = found
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _WORD_CHARS_MAX:
            return (self._unknown,)
        found: list[int] = []
        at = 0
        while at < len(word):
            lead = "##" if at else ""
            for stop in range(len(word), at, -1):
                piece = self._ids.get(lead + word[at:stop])
                if piece is not None:
                    found.append(piece)
                    at = stop
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def _stands_alone(char: str, category: str) -> bool:
    code = ord(char)
    if char.isascii():
        return not char.isalnum()
    return category[0] == "P" or any(low <= code <= high for low, high in _HAN)
