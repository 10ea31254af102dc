"""BM25 over terms, kept up as documents come and go: no NumPy, so that a cold search by words is quick.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
idf = ln(1 + (N - n + 1/2) / (n + 1/2)), which is never negative. k1 and b are those that baselines use for
short passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

K1 = 0.9
B = 0.4


class Postings:
    """Term -> the documents that hold it, and how often. Documents are named by any string."""

    def __init__(self) -> None:
        self._where: dict[str, dict[str, int]] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._length_sum = 0

    def __len__(self) -> int:
        return len(self._counts)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._counts

    def add(self, doc_id: str, terms: Iterable[str]) -> None:
        """Add terms to a document, which comes into being with its first call, even without any."""
        counts = self._counts.setdefault(doc_id, Counter())
        before = self._lengths.get(doc_id, 0)
        for term in terms:
            counts[term] += 1
            self._where.setdefault(term, {})[doc_id] = counts[term]
        self._resize(doc_id, counts.total() - before)

    def take(self, doc_id: str, terms: Iterable[str]) -> None:
        """Take terms out of a document that holds them; without any left the document is gone."""
        counts = self._counts[doc_id]
        before = counts.total()
        for term in terms:
            counts[term] -= 1
            if counts[term]:
                self._where[term][doc_id] = counts[term]
            else:
                self._drop(doc_id, term)
        self._resize(doc_id, counts.total() - before)
        if not counts:
            self.remove(doc_id)

    def remove(self, doc_id: str) -> None:
        """Take a document out, if it is there; nothing of it stays."""
        for term in tuple(self._counts.get(doc_id, ())):
            self._drop(doc_id, term)
        self._counts.pop(doc_id, None)
        self._length_sum -= self._lengths.pop(doc_id, 0)

    def terms(self, doc_id: str) -> Iterable[str]:
        """The terms of a document, each as often as it stands there."""
        return self._counts.get(doc_id, Counter()).elements()

    def holds(self, doc_id: str, term: str) -> bool:
        """Say whether a document holds a term."""
        return doc_id in self._where.get(term, ())

    def idf(self, term: str) -> float:
        """Inverse document frequency of a term, above 0; largest for one that no document holds."""
        held = len(self._where.get(term, ()))
        return math.log(1 + (len(self) - held + 0.5) / (held + 0.5))

    def score(self, terms: Iterable[str]) -> dict[str, float]:
        """BM25 of every document that holds a term; those that hold none are left out."""
        found: dict[str, float] = {}
        mean = self._length_sum / len(self) if self._length_sum else 1.0
        for term, times in Counter(terms).items():
            held = self._where.get(term)
            if not held:
                continue
            weight = times * self.idf(term) * (K1 + 1)
            for doc_id, often in held.items():
                room = K1 * (1 - B + B * self._lengths[doc_id] / mean)
                found[doc_id] = found.get(doc_id, 0.0) + weight * often / (often + room)
        return found

    def coverage(self, terms: Iterable[str]) -> Mapping[str, float]:
        """The share, above 0 to 1, of the terms' idf that a document holds; others are left out."""
        weights = {term: self.idf(term) for term in terms}
        total = sum(weights.values())
        found: dict[str, float] = {}
        for term, weight in weights.items():
            for doc_id in self._where.get(term, ()):
                found[doc_id] = found.get(doc_id, 0.0) + weight / total
        return found

    def _drop(self, doc_id: str, term: str) -> None:
        del self._counts[doc_id][term]
        held = self._where[term]
        del held[doc_id]
        if not held:
            del self._where[term]

    def _resize(self, doc_id: str, change: int) -> None:
        self._lengths[doc_id] = self._lengths.get(doc_id, 0) + change
        self._length_sum += change
