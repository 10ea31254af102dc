"""The search over entries of memory: who is asked, what decides, and when nothing stored answers.

A key that the question is decides, whatever else there is. Then each way ranks by what ranks best and says,
apart from that, the chance that what it found answers; chances of all ways are on one scale, so that entries
that have no vectors yet stand among those that do. Pure: documents come in, an `Answer` goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from perdure.errors import UsageError
from perdure.recall.corpus import Corpus, told
from perdure.recall.encoder import Encoder
from perdure.recall.features import Features, features, pack, unpack
from perdure.recall.found import Answer, Document, Hit, Mode, Why
from perdure.recall.keys import KeyMatch
from perdure.recall.ways import Candidate, by_cues, by_meaning, by_traces, by_words, shared_words

__all__ = [
    "Answer",
    "Corpus",
    "Document",
    "Encoder",
    "Features",
    "Hit",
    "Mode",
    "Why",
    "features",
    "pack",
    "search",
    "search_evidence",
    "told",
    "unpack",
]

MISSPELT_CHANCE = 0.95
"""Of keys that decide though they are misspelt, at least so many are the ones that were meant."""

FOLLOWING_SHARE = 0.25
"""Behind an answer stand others whose chance is at least this share of what an answer needs."""

_DEPTH = 10
"""So many candidates at least are looked at closely."""


def search(
    corpus: Corpus,
    question: str,
    *,
    mode: Mode = "fused",
    limit: int = 10,
    encoder: Encoder | None = None,
    accept: Callable[[Document], bool] | None = None,
    explain: bool = False,
    is_word: Callable[[str], bool] | None = None,
) -> Answer:
    """Search entries; give up to `limit`, or none if nothing stored answers, and then the nearest misses.

    `accept` says which documents may be found; None: all. With `explain` the reasons hold the z-score of the
    holographic search in every mode, which costs a vector for every document at the first question. `is_word`
    says of a folded word that it is an ordinary one, and so not a key's word misspelt; None: unknown.

    Raises `UsageError` for an empty question, and for mode "semantic" without an encoder.
    """
    check_question(question)
    if mode == "semantic" and encoder is None:
        raise UsageError(
            "There is no encoder, and --mode semantic needs one.",
            advice='Install it with: pip install "perdure[recall]", or leave the mode out.',
        )
    accepted = corpus.accepted(accept)
    depth = max(limit, _DEPTH)
    matches = _matches(corpus, question, depth, accepted, mode=mode, is_word=is_word)
    searches, ranked = _ranked(corpus, question, depth, accepted, mode=mode, encoder=encoder)
    candidates = _merge(matches, ranked)
    if explain:
        candidates = _with_cues(corpus, question, candidates)
    hits = _hits(corpus, question, candidates)
    following = [
        hit
        for hit, candidate in zip(hits, candidates, strict=True)
        if candidate.chance >= FOLLOWING_SHARE * candidate.needed
    ]
    answered = any(candidate.chance >= candidate.needed for candidate in candidates)
    return Answer(
        hits=tuple(following[:limit]) if answered else (),
        nearest=() if answered else tuple(hits[:limit]),
        searches=searches,
    )


def search_evidence(
    corpus: Corpus,
    question: str,
    *,
    limit: int = 10,
    encoder: Encoder | None = None,
    now_ms: int = 0,
) -> Answer:
    """Search lines of sessions; `recall.evidence` says how. Loads NumPy.

    `now_ms` is UTC milliseconds, for "yesterday" and "last week"; 0: such words are not read as dates.
    Raises `UsageError` for an empty question.
    """
    from perdure.recall.evidence import find_lines

    check_question(question)
    return find_lines(corpus, question, limit=limit, encoder=encoder, now_ms=now_ms)


def check_question(question: str) -> None:
    """Raise `UsageError` if a question says nothing."""
    if not question.strip():
        raise UsageError("The question is empty.", advice="Ask for something, or name a key.")


def _matches(
    corpus: Corpus,
    question: str,
    depth: int,
    accepted: Callable[[str], bool],
    *,
    mode: Mode,
    is_word: Callable[[str], bool] | None,
) -> list[KeyMatch]:
    """What the keys say: all of it for mode "exact", what decides for mode "fused"."""
    if mode not in ("exact", "fused"):
        return []
    found = [match for match in corpus.keys.exact(question) if accepted(match.doc_id)]
    if not found:
        near = corpus.keys.find(question, limit=len(corpus), is_word=is_word)
        found = [match for match in near if accepted(match.doc_id)]
    wanted = found if mode == "exact" else [match for match in found if match.decides]
    return wanted[:depth]


def _ranked(
    corpus: Corpus,
    question: str,
    depth: int,
    accepted: Callable[[str], bool],
    *,
    mode: Mode,
    encoder: Encoder | None,
) -> tuple[tuple[str, ...], list[Candidate]]:
    """Names of the searches that took part, and what they found, the best first."""
    if mode == "exact":
        return ("key",), []
    if mode == "holographic":
        decoded = by_traces(corpus, question, accepted)
        keyed = {each.doc_id for each in decoded}
        cued = by_cues(corpus, question, depth, lambda each: accepted(each) and each not in keyed)
        return ("holographic",), [*decoded, *cued]
    if mode == "lexical":
        return ("lexical",), by_words(corpus, question, depth, accepted)
    first = ("key",) if mode == "fused" else ()
    if encoder is None or (first and not encoder.reads(question)):
        return (*first, "lexical"), by_words(corpus, question, depth, accepted)
    if not encoder.reads(question):
        return ("semantic",), []
    mixed = mode == "fused"
    found = by_meaning(corpus, question, depth, encoder, accepted, with_words=mixed)
    if not mixed:
        return ("semantic",), found
    vectors = corpus.vectors(encoder)
    read = {
        each for each, told_of in corpus.documents.items() if each in vectors and encoder.reads(told(told_of))
    }
    if found and len(read) == len(corpus):
        return ("key", "lexical", "semantic"), found
    rest = by_words(corpus, question, depth, lambda each: accepted(each) and not (found and each in read))
    mixed_up = sorted([*found, *rest], key=lambda each: -each.chance)  # stable: ranks of each way stay
    return ("key", "lexical", "semantic"), mixed_up[:depth]


def _merge(matches: Sequence[KeyMatch], ranked: Iterable[Candidate]) -> list[Candidate]:
    """Keys before the rest; each document once, with what every search knows of it."""
    known = {candidate.doc_id: candidate for candidate in ranked}
    merged: dict[str, Candidate] = {}
    for match in matches:
        base = known.get(match.doc_id, Candidate(doc_id=match.doc_id, chance=0.0, needed=1.0))
        exact = match.way == "exact"
        why = msgspec.structs.replace(base.why, exact_key=exact, key_meant=None if exact else match.key)
        chance = 1.0 if exact else MISSPELT_CHANCE if match.decides else min(match.share, MISSPELT_CHANCE)
        needed = 0.0 if match.decides else 1.0
        merged[match.doc_id] = Candidate(doc_id=match.doc_id, chance=chance, needed=needed, why=why)
    return [*merged.values(), *(each for doc_id, each in known.items() if doc_id not in merged)]


def _with_cues(corpus: Corpus, question: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    """With the z of the key's binding where the question is the key, and else that of the cue."""
    scores = {doc_id: match.z for doc_id, match in corpus.cues().scores(question).items()}
    keyed = by_traces(corpus, question, lambda _: True)
    scores |= {each.doc_id: each.why.holographic_z or 0.0 for each in keyed}
    return [
        msgspec.structs.replace(
            each, why=msgspec.structs.replace(each.why, holographic_z=scores[each.doc_id])
        )
        for each in candidates
    ]


def _hits(corpus: Corpus, question: str, candidates: Sequence[Candidate]) -> list[Hit]:
    """Candidates in their order as hits, with the words that they share with the question."""
    chances = [each.chance for each in candidates]
    following = [*chances, 0.0][1:]
    return [
        Hit(
            doc_id=each.doc_id,
            score=each.chance,
            margin=max(0.0, each.chance - after),
            why=msgspec.structs.replace(each.why, words=shared_words(corpus, question, each.doc_id)),
        )
        for each, after in zip(candidates, following, strict=True)
    ]
