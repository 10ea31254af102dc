"""How much documents bear on a prompt, by words alone: fast enough to stand in front of every turn.

A prompt is no question to be answered, so nothing is refused and no sign of doubt is read (`recall.doubts`):
the chance is that of an entry which has so much of a sentence's words (`recall.calibrate`), its character
n-grams taken to be as near as they are. Only the order of entries depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.recall.calibrate import LEXICAL
from perdure.recall.corpus import Corpus
from perdure.recall.tokens import terms


def bearing(corpus: Corpus, pieces: Iterable[str]) -> dict[str, float]:
    """The chance, 0 to 1, by document id: of the piece that a document is nearest to. Documents that share no
    word with any piece are left out.
    """
    shares: dict[str, float] = {}
    for piece in pieces:
        for doc_id, share in corpus.words.coverage(terms(piece)).items():
            if share > shares.get(doc_id, 0.0):
                shares[doc_id] = share
    chances = {share: _chance(share) for share in set(shares.values())}
    return {doc_id: chances[share] for doc_id, share in shares.items()}


def _chance(share: float) -> float:
    return LEXICAL.chance({"words": share, "grams": share, "digits": 0.0, "kind": 0.0})
