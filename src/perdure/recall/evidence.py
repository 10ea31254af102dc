"""The search over lines of sessions: who spoke, what stood beside it, and when, besides words and meaning.

Every score is brought to mean 0 and deviation 1 over all lines, per question, and summed with fixed weights.
These are round numbers near the ones learned on five long conversations with one left out in turn; the
measurements of quality say what each part is worth. Names of the speakers are taken out of a question before
it is compared: who spoke is a fact about a line, not a word in it. The score of a line is its share of
exp(sum) over all lines, which is what the weights were learned for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from perdure.recall.corpus import Corpus
from perdure.recall.dates import asked_dates, asks_when, day_of, tells_when
from perdure.recall.encoder import Encoder
from perdure.recall.found import Answer, Hit, Why
from perdure.recall.lines import ROLES, Lines, asked_speaker, without_names
from perdure.recall.semantic import Vectors
from perdure.recall.tokens import grams, spelt_terms, terms

Floats = NDArray[np.float32]

WITH_STATES = {
    "words": 0.15,
    "cosine": 0.4,
    "late": 0.6,
    "words beside": 0.08,
    "cosine beside": 0.15,
    "session": 0.4,
    "speaker": 2.5,
    "date": 2.5,
    "when": 2.0,
}
WITH_VECTORS = WITH_STATES | {
    "words": 0.5,
    "cosine": 0.6,
    "late": 0.0,
    "words beside": 0.1,
    "cosine beside": 0.2,
}
BY_WORDS = {
    "words": 0.5,
    "grams": 0.15,
    "words beside": 0.15,
    "session": 0.5,
    "speaker": 2.5,
    "date": 2.5,
    "when": 2.0,
}

ROLE_SHARE = 0.4
""""I" and "you" say less about who spoke than a name does: half of a turn repeats the other's words."""

LATE_LINES = 200
"""Late interaction looks at the best so many lines of all the rest; others count as far below their mean."""

NOTHING_COSINE = 0.2
"""Lines that share no word with a question and are less alike than this are not what it asks for."""

_LATE_ABSENT = -3.0
_LENT = 1.0
"""A line beside, this many deviations above the mean, is named as a reason."""


class Signals(msgspec.Struct, frozen=True):
    """All that counts, by name, each float32 [lines]; and what of it is told as it is."""

    lines: Lines
    parts: Mapping[str, Floats]
    weights: Mapping[str, float]
    words: Mapping[str, float]
    cosines: Floats | None
    late: Mapping[int, float]
    cosine_needed: float = NOTHING_COSINE

    def total(self, weights: Mapping[str, float] | None = None) -> Floats:
        """The weighted sum of the parts, float32 [lines]."""
        summed = np.zeros(len(self.lines.documents), np.float32)
        for name, weight in (self.weights if weights is None else weights).items():
            if name in self.parts:
                summed += np.float32(weight) * self.parts[name]
        return summed


def find_lines(corpus: Corpus, question: str, *, limit: int, encoder: Encoder | None, now_ms: int) -> Answer:
    """Give up to `limit` lines, the best first; none if no line has a word or a meaning of the question."""
    encoder = encoder if encoder is not None and encoder.reads(question) else None
    searches = ("lexical",) if encoder is None else ("lexical", "semantic")
    if not len(corpus):
        return Answer(hits=(), nearest=(), searches=searches)
    signals = weigh(corpus, question, encoder=encoder, now_ms=now_ms)
    total = signals.total()
    order = np.argsort(-total, kind="stable")[:limit].tolist()
    shares = np.exp(total - total.max())
    shares /= shares.sum()
    hits = _with_margins([_hit(corpus, question, signals, shares, at) for at in order], shares)
    related = any(_related(hit.why, signals.cosine_needed) for hit in hits)
    return Answer(hits=hits if related else (), nearest=() if related else hits, searches=searches)


def weigh(corpus: Corpus, question: str, *, encoder: Encoder | None, now_ms: int) -> Signals:
    """Compute all signals of a question over all lines."""
    lines = corpus.lines()
    plain = without_names(question, lines.speakers)
    words = corpus.words.score(terms(plain))
    ids = [each.doc_id for each in lines.documents]
    parts: dict[str, Floats] = {"words": zscore(_row(words, ids))}
    parts["words beside"] = beside(parts["words"], lines)
    by_group = corpus.groups.score(terms(plain))
    parts["session"] = zscore(_row(by_group, [each.group for each in lines.documents]))
    parts |= _structure(question, lines, now_ms)
    if encoder is None:
        parts["grams"] = zscore(_row(corpus.grams().score(grams(plain)), ids))
        return Signals(lines, parts, BY_WORDS, words, None, {})
    vectors = corpus.vectors(encoder)
    cosines = _cosines(vectors, encoder.encode([plain])[0], ids)
    parts["cosine"] = zscore(cosines)
    parts["cosine beside"] = beside(parts["cosine"], lines)
    states = encoder.token_states(plain)
    if states is None:
        needed = corpus.scale(encoder).own(NOTHING_COSINE)
        return Signals(lines, parts, WITH_VECTORS, words, cosines, {}, needed)
    rest = Signals(lines, parts, WITH_STATES, words, None, {}).total()
    parts["late"], late = _late(vectors, states, ids, rest)
    return Signals(lines, parts, WITH_STATES, words, cosines, late)


def zscore(scores: Floats) -> Floats:
    """Bring scores to mean 0 and deviation 1; equal ones become 0."""
    spread = float(scores.std())
    if not scores.size or spread < 1e-9:  # noqa: PLR2004 - nothing but rounding
        return np.zeros_like(scores)
    scaled: Floats = ((scores - scores.mean()) / np.float32(spread)).astype(np.float32)
    return scaled


def beside(scores: Floats, lines: Lines) -> Floats:
    """The scores of the line before and the line after, summed; 0 where none is."""
    padded = np.append(scores, np.float32(0))  # place -1
    summed: Floats = padded[np.asarray(lines.before, np.int64)] + padded[np.asarray(lines.after, np.int64)]
    return summed


def _row(scores: Mapping[str, float], names: Sequence[str]) -> Floats:
    return np.array([scores.get(name, 0.0) for name in names], np.float32)


def _structure(question: str, lines: Lines, now_ms: int) -> dict[str, Floats]:
    """Who spoke, when, and whether a line tells a time that is asked for. Not brought to any scale."""
    parts: dict[str, Floats] = {}
    speaker = asked_speaker(question, lines.speakers)
    if speaker is not None:
        worth = ROLE_SHARE if speaker.casefold() in ROLES else 1.0
        spoke = [worth if each.speaker == speaker else 0.0 for each in lines.documents]
        parts["speaker"] = np.array(spoke, np.float32)
    asked = asked_dates(question, now_ms)
    if asked is not None:
        days = [day_of(each.when_ms) for each in lines.documents]
        parts["date"] = np.array([asked.fits(day) if day else 0.0 for day in days], np.float32)
    if asks_when(question):
        parts["when"] = np.array([float(tells_when(each.text)) for each in lines.documents], np.float32)
    return parts


def _cosines(vectors: Vectors, asked: Floats, ids: Sequence[str]) -> Floats:
    """Cosines in the order of `ids`; a line without a vector gets the mean of the others."""
    near = vectors.cosines(asked)
    mean = float(near.mean()) if near.size else 0.0
    known = dict(zip(vectors.ids, near.tolist(), strict=True))
    return np.array([known.get(doc_id, mean) for doc_id in ids], np.float32)


def _late(
    vectors: Vectors, states: tuple[Sequence[int], Floats], ids: Sequence[str], rest: Floats
) -> tuple[Floats, dict[int, float]]:
    """Late interaction with the best lines of the rest, at its own scale among them, and as it is."""
    chosen = np.argsort(-rest, kind="stable")[:LATE_LINES]
    fits = vectors.late(*states, [ids[at] for at in chosen])
    scaled = np.full(len(ids), _LATE_ABSENT if len(chosen) < len(ids) else 0.0, np.float32)
    scaled[chosen] = zscore(fits)
    return scaled, dict(zip(chosen.tolist(), fits.tolist(), strict=True))


def _hit(corpus: Corpus, question: str, signals: Signals, shares: Floats, at: int) -> Hit:
    document = signals.lines.documents[at]
    shared = (word for word, term in spelt_terms(question) if corpus.words.holds(document.doc_id, term))
    return Hit(
        doc_id=document.doc_id,
        score=float(shares[at]),
        margin=0.0,
        why=Why(
            words=tuple(dict.fromkeys(shared)),
            neighbours=_lenders(signals, at),
            lexical=signals.words.get(document.doc_id, 0.0),
            cosine=None if signals.cosines is None else float(signals.cosines[at]),
            late=signals.late.get(at),
        ),
    )


def _with_margins(hits: Sequence[Hit], shares: Floats) -> tuple[Hit, ...]:
    """Hits with their leads over the next in score; the last one's over the best line that is left out."""
    left = np.sort(shares)[::-1][len(hits) : len(hits) + 1].tolist()
    scores = [*(hit.score for hit in hits), *left, 0.0]
    return tuple(
        msgspec.structs.replace(hit, margin=max(0.0, hit.score - after))
        for hit, after in zip(hits, scores[1:], strict=False)
    )


def _lenders(signals: Signals, at: int) -> tuple[str, ...]:
    """Ids of the lines beside that are themselves near to the question."""
    scores = [signals.parts[name] for name in ("words", "cosine") if name in signals.parts]
    near = (place for place in (signals.lines.before[at], signals.lines.after[at]) if place >= 0)
    return tuple(
        signals.lines.documents[place].doc_id
        for place in near
        if any(float(score[place]) > _LENT for score in scores)
    )


def _related(why: Why, cosine_needed: float) -> bool:
    return bool(why.lexical) or (why.cosine is not None and why.cosine >= cosine_needed)
