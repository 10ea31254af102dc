"""Ways of ranking entries: by words, by meaning, by superposed cues; each with calibrated chances.

What ranks best is not what tells best whether anything answers: a ranking compares entries with each other,
a chance judges one by itself. So entries stand in the order of their rank, and the chance of one is never
above that of an entry before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING

import msgspec

from perdure.recall.calibrate import COSINE, HOLOGRAPHIC, LEXICAL, SEMANTIC, STATIC, Logistic
from perdure.recall.corpus import Corpus, told
from perdure.recall.doubts import doubts
from perdure.recall.encoder import Encoder
from perdure.recall.found import Why
from perdure.recall.keys import bare
from perdure.recall.tokens import (
    content_words,
    grams,
    hard_terms,
    mostly_latin,
    named_terms,
    spelt_terms,
    terms,
)

# NumPy is loaded by the first search with an encoder.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats

NAMES_SHARE = 0.1
"""What the names of a question add to a cosine when all of them stand in an entry: an encoder of language
knows words, not names. Ordinary words add nothing; what they add costs questions in other words.
"""

WORDS_SHARE = {"static": 0.2}
"""By the name of an encoder: what shared words of any kind add at most. It helps where vectors are coarse."""

_WORDS_MUCH = 6.0
"""A BM25 score that tells much: it adds three quarters of the most."""

_GRAM_SHARE = 0.5


class Candidate(msgspec.Struct, frozen=True):
    """An entry that may answer. It does if `chance` is at least `needed`.

    `signals` are what the chance was made of.
    """

    doc_id: str
    chance: float
    needed: float
    why: Why = Why()
    signals: Mapping[str, float] = msgspec.field(default_factory=dict)


def by_words(corpus: Corpus, question: str, depth: int, accepted: Callable[[str], bool]) -> list[Candidate]:
    """Rank by BM25 over stems plus BM25 over character n-grams; what shares nothing is left out."""
    asked, asked_grams = terms(question), grams(question)
    words, near = corpus.words.score(asked), corpus.grams().score(asked_grams)
    ranks = {
        doc_id: words.get(doc_id, 0.0) + _GRAM_SHARE * near.get(doc_id, 0.0)
        for doc_id in words.keys() | near.keys()
        if accepted(doc_id)
    }
    share = corpus.words.coverage(asked)
    share_grams = corpus.grams().coverage(asked_grams)
    found = [
        (
            doc_id,
            LEXICAL,
            {"words": share.get(doc_id, 0.0), "grams": share_grams.get(doc_id, 0.0)}
            | doubts(question, told(corpus.documents[doc_id])),
            Why(lexical=words.get(doc_id, 0.0)),
        )
        for doc_id in best(ranks, depth)
    ]
    return _judged(found)


def by_cues(corpus: Corpus, question: str, depth: int, accepted: Callable[[str], bool]) -> list[Candidate]:
    """Rank by the holographic search alone."""
    matches = [match for match in corpus.cues().rank(question, limit=len(corpus)) if accepted(match.doc_id)]
    return _judged(
        (
            match.doc_id,
            HOLOGRAPHIC,
            {"cosine": match.cosine} | doubts(question, told(corpus.documents[match.doc_id])),
            Why(holographic_z=match.z),
        )
        for match in matches[:depth]
    )


def by_traces(corpus: Corpus, question: str, accepted: Callable[[str], bool]) -> list[Candidate]:
    """Decode a question that is a key from the superposed bindings; without one, or for another key, nothing.

    What comes out is given if the entry that is stored bears it out (R-02).
    """
    for asked in dict.fromkeys((question, bare(question))):
        decoded = corpus.traces().recall(asked)
        if decoded.value is not None:
            why = Why(exact_key=True, holographic_z=decoded.z)
            return [
                Candidate(doc_id=doc_id, chance=1.0, needed=0.0, why=why)
                for doc_id in decoded.value.split("\n")
                if doc_id in corpus.keys.holders(asked) and accepted(doc_id)
            ]
    return []


def by_meaning(
    corpus: Corpus,
    question: str,
    depth: int,
    encoder: Encoder,
    accepted: Callable[[str], bool],
    *,
    with_words: bool,
) -> list[Candidate]:
    """Rank the entries that have vectors by cosine and, if `with_words`, by names that stand in them, for the
    static encoder also by all other shared words.

    Entries that the encoder cannot read are left out. With `with_words`, a question that is mostly in another
    alphabet is ranked by whichever of words and meaning gives an entry the better chance. Nothing is found if
    the encoder gives vectors of another length than those that are kept.
    """
    vectors = corpus.vectors(encoder)
    asked = encoder.encode([question])[0]
    if not vectors.compares(asked):
        return []
    near = dict(zip(vectors.ids, vectors.cosines(asked).tolist(), strict=True))
    words = corpus.words.score(terms(question)) if with_words else {}
    names = corpus.words.coverage(hard_terms(question)) if with_words else {}
    share = WORDS_SHARE.get(encoder.name, 0.0)
    ranks = {
        doc_id: cosine
        + NAMES_SHARE * names.get(doc_id, 0.0)
        + share * math.tanh(words.get(doc_id, 0.0) / _WORDS_MUCH)
        for doc_id, cosine in near.items()
        if accepted(doc_id) and encoder.reads(told(corpus.documents[doc_id]))
    }
    chosen = best(ranks, depth)
    states = encoder.token_states(question)
    late = vectors.late(*states, chosen).tolist() if states is not None else [0.0] * len(chosen)
    model, scale = (SEMANTIC, None) if states is not None else (COSINE, corpus.scale(encoder))
    shared: Mapping[str, float] = {}
    grams_shared: Mapping[str, float] = {}
    if share:
        model, scale = STATIC, None
        shared = corpus.words.coverage(terms(question))
        grams_shared = corpus.grams().coverage(grams(question))
    named = "unnamed" in model.weights
    unnamed = _unnamed(corpus, question, chosen, encoder) if named else [0.0] * len(chosen)
    found = [
        (
            doc_id,
            model,
            {
                "cosine": near[doc_id] if scale is None else scale.packaged(near[doc_id]),
                "late": fit,
                "unnamed": lack,
                "words": shared.get(doc_id, 0.0),
                "grams": grams_shared.get(doc_id, 0.0),
            }
            | doubts(question, told(corpus.documents[doc_id])),
            Why(
                lexical=words.get(doc_id) if with_words else None,
                cosine=near[doc_id],
                late=fit if states is not None else None,
            ),
        )
        for doc_id, fit, lack in zip(chosen, late, unnamed, strict=True)
    ]
    if with_words and not mostly_latin(question):
        return _better(_judged(found), by_words(corpus, question, depth, lambda each: each in ranks), depth)
    return _judged(found)


def best(ranks: dict[str, float], depth: int) -> list[str]:
    """The ids of the highest ranks, at most `depth`; equal ones in the order of their ids."""
    return nsmallest(depth, ranks, key=lambda doc_id: (-ranks[doc_id], doc_id))


def shared_words(corpus: Corpus, question: str, doc_id: str) -> tuple[str, ...]:
    """Words of the question, as it spells them, that stand in a document."""
    shared = (word for word, term in spelt_terms(question) if corpus.words.holds(doc_id, term))
    return tuple(dict.fromkeys(shared))


def _judged(found: Iterable[tuple[str, Logistic, dict[str, float], Why]]) -> list[Candidate]:
    """Give chances to what stands in order; none is above the one before."""
    judged: list[Candidate] = []
    ceiling = 1.0
    for doc_id, model, scores, why in found:
        ceiling = min(ceiling, model.chance(scores))
        judged.append(
            Candidate(doc_id=doc_id, chance=ceiling, needed=model.threshold, why=why, signals=scores)
        )
    return judged


def _better(one: Sequence[Candidate], other: Sequence[Candidate], depth: int) -> list[Candidate]:
    """Of two rankings of the same entries, the better chance of each."""
    merged = {each.doc_id: each for each in one}
    for each in other:
        known = merged.get(each.doc_id)
        if known is None or known.chance < each.chance:
            why = msgspec.structs.replace(known.why, lexical=each.why.lexical) if known else each.why
            merged[each.doc_id] = msgspec.structs.replace(each, why=why)
    return sorted(merged.values(), key=lambda each: (-each.chance, each.doc_id))[:depth]


def _unnamed(corpus: Corpus, question: str, doc_ids: Sequence[str], encoder: Encoder) -> list[float]:
    """How far the least known name in the question is from every word of each entry: 0 (there) to 1."""
    names = named_terms(question)
    if not names or not doc_ids:
        return [0.0 for _ in doc_ids]
    held = [content_words(told(corpus.documents[doc_id])) for doc_id in doc_ids]
    every = list(dict.fromkeys(word for words in [names, *held] for word in words))
    vectors = corpus.word_vectors(every, encoder)
    return [_lack(names, words, vectors) for words in held]


def _lack(names: Sequence[str], words: Sequence[str], vectors: dict[str, Floats]) -> float:
    from perdure.recall.semantic import nearest_word

    absent = [vectors[name] for name in names if name not in words]
    return max((1.0 - near for near in nearest_word(absent, [vectors[word] for word in words])), default=0.0)
