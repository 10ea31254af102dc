"""Superposed cues: a text as the sum of its words and character n-grams, so that part of it finds it.

Each document is one vector of D unit phases per word and n-gram, all added up; a question is the same sum,
with rare words and n-grams weighing more. Their product counts what the two share, plus cross-talk of a known
size, so that a score comes as z: how many deviations it is above that of a document that shares nothing. What
a vector proposes is checked against the document's own words and n-grams before it is given out (R-02).

It ranks much as TF-IDF over the same tokens does, with noise (docs/explanation/holographic.md has the
figures); the default fusion gives it no weight. Pure: no clock, no chance, no disk.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from perdure.core.text import normalize_key
from perdure.recall.holographic import Decoded, HolographicMemory
from perdure.recall.keys import grams, words_of
from perdure.recall.phases import atoms, token_hash, weighted

CUE_DIMENSIONS = 512
_ROWS_MIN = 64
_BATCH = 256
"""So many tokens are summed at a time: bounds the memory of a long text."""


class CueMatch(msgspec.Struct, frozen=True):
    """A document that shares words or n-grams with a question.

    `cosine` is the share of the question that stands in the document, for the document's length: 0 to 1, but
    for cross-talk. `z` is the score in deviations of cross-talk, where what no document holds does not count.
    """

    doc_id: str
    cosine: float
    z: float


class CueMemory:
    """Documents by the superposition of their words and n-grams."""

    def __init__(self, *, dimensions: int = CUE_DIMENSIONS) -> None:
        self.dimensions = dimensions
        self._rows: NDArray[np.float32] = np.zeros((_ROWS_MIN, 2 * dimensions), np.float32)
        """Unit vectors [documents or more, 2 D]."""
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._tokens: list[frozenset[int]] = []
        self._holders: Counter[int] = Counter()
        """How many documents hold a token."""

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, doc_id: str, text: str) -> None:
        """Add a document; one that is there under the same id is replaced."""
        self.remove(doc_id)
        tokens = cue_tokens(text)
        place = len(self._ids)
        if place == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[place] = _sum(sorted(tokens), np.ones(len(tokens), np.float32), self.dimensions)
        self._ids.append(doc_id)
        self._places[doc_id] = place
        self._tokens.append(tokens)
        self._holders.update(tokens)

    def remove(self, doc_id: str) -> bool:
        """Take a document out; False when it is not there."""
        place = self._places.pop(doc_id, None)
        if place is None:
            return False
        for token in self._tokens[place]:
            self._holders[token] -= 1
            if not self._holders[token]:
                del self._holders[token]
        last, tokens = self._ids.pop(), self._tokens.pop()
        if place < len(self._ids):
            self._ids[place], self._tokens[place], self._places[last] = last, tokens, place
            self._rows[place] = self._rows[len(self._ids)]
        return True

    def scores(self, question: str) -> dict[str, CueMatch]:
        """Give the match of every document, by id; all zero where either has no words."""
        cosines, z_scores = self._scored(cue_tokens(question))
        return {
            doc_id: CueMatch(doc_id=doc_id, cosine=cosine, z=z)
            for doc_id, cosine, z in zip(self._ids, cosines.tolist(), z_scores.tolist(), strict=True)
        }

    def rank(self, question: str, *, limit: int) -> tuple[CueMatch, ...]:
        """Give up to `limit` documents, the best first, equal ones by id.

        A document that the vectors propose and that shares no word or n-gram with the question is left out.
        """
        tokens = cue_tokens(question)
        cosines, z_scores = (each.tolist() for each in self._scored(tokens))
        best = sorted(range(len(self._ids)), key=lambda at: (-z_scores[at], self._ids[at]))
        sharing = (at for at in best if not tokens.isdisjoint(self._tokens[at]))
        return tuple(
            CueMatch(doc_id=self._ids[at], cosine=cosines[at], z=z_scores[at])
            for at in itertools.islice(sharing, limit)
        )

    def _scored(self, tokens: frozenset[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Cosines and z of all documents. A token weighs the square of its inverse document frequency."""
        weights = {token: math.log1p(len(self) / max(1, self._holders[token])) ** 2 for token in tokens}
        known = sorted(token for token in tokens if token in self._holders)
        cue = np.array([weights[token] for token in known], np.float32)
        matches: NDArray[np.float32] = self._rows[: len(self)] @ _sum(known, cue, self.dimensions)
        whole = math.sqrt(sum(weight * weight for weight in weights.values()))
        there = math.sqrt(float(cue @ cue)) / whole if whole else 0.0
        return matches * np.float32(there), matches * np.float32(math.sqrt(2 * self.dimensions))


def cue_tokens(text: str) -> frozenset[int]:
    """Give the words of a text and their character 3-grams, by hash; of words without ASCII 2-grams too.

    The text is folded by the key rule. Marks stand at both ends of a word; "C++" is a word, and so is "3.11".
    """
    found: set[int] = set()
    for word in set(words_of(normalize_key(text))):
        found.add(token_hash(word, "word"))
        sizes = (3,) if word.isascii() else (2, 3)
        found.update(token_hash(gram, "gram") for gram in grams(word, sizes))
    return frozenset(found)


def complete(question: str, keys: CueMemory, facts: HolographicMemory) -> tuple[CueMatch, Decoded] | None:
    """Recall from a partial or misspelt key: the key that the cue fits best, and what its bank holds.

    `keys` holds the keys of `facts` under themselves as ids. None when the cue fits no key; the value is
    checked against the stored fact.
    """
    best = keys.rank(question, limit=1)
    if not best:
        return None
    return best[0], facts.recall(best[0].doc_id)


def _sum(hashes: Sequence[int], weights: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The weighted sum [2 D] of tokens, of the length that cross-talk gives it: sqrt(D sum of squares)."""
    total = np.zeros(2 * dimensions, np.float32)
    for start in range(0, len(hashes), _BATCH):
        part = slice(start, start + _BATCH)
        total += weighted(atoms(hashes[part], dimensions), weights[part])
    length = math.sqrt(dimensions * float(weights @ weights))
    return total / np.float32(length) if length else total
