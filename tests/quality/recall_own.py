"""Refusal on material of our own: what the weights of `recall.calibrate` are fitted on, and how well they do.

`recall_own.json` holds invented facts of many kinds of projects, with three questions each (one that shares
words with the fact, one as somebody asks who has not read it, one that shares none), and questions that none
of the facts answers. Each of these names the fact that it comes nearest to and says how: it asks for the same
of another tool, for something else of the same thing, for a thing that is not there, with one other token, or
is small talk.

Stores are the whole and random parts of it, as chances must not depend on how much is stored. All that
belongs to one tenth of the facts is left out in turn; weights and threshold come from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from perdure.recall import ways
from perdure.recall.calibrate import COSINE, HOLOGRAPHIC, LEXICAL, SEMANTIC, Logistic
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features
from perdure.recall.ways import Candidate
from tests.bench.figures import Figure, at_least, at_most
from tests.quality import recall_fit
from tests.quality.recall_fit import Numbers, Training, fit_logistic, threshold_that_keeps

OWN = Path(__file__).with_name("recall_own.json")
KINDS = 3
"""Of answerable questions. For a search by meaning, right answers to each kind weigh as much as those to
another, however few they are: it is the questions in other words that a refusal hits first. Other searches
answer these by luck alone.
"""
FOLDS = 10
PARTS = 6
PART_FACTS = 50
LOST_SHARE_MAX = 0.03
"""Of all answerable questions."""
RIDGE = 2.0
TAKEN_AWAY = 0.25
"""Weight of "the same question, its fact taken away" as an unanswerable case."""

Way = Callable[[str], list[Candidate]]

_CORPORA: dict[str, Corpus] = {}


class Asked(msgspec.Struct, frozen=True):
    """One question. `fact` is the one that answers it, or that comes nearest.

    `words`: which of a fact's questions it is; `kind`: in which way it is unanswerable, empty if it is not.
    """

    text: str
    fact: int
    words: int = 0
    kind: str = ""


class Case(msgspec.Struct, frozen=True):
    """What is first of one store for a question. `outcome`: right, wrong, away, or a kind of unanswerable."""

    signals: tuple[float, ...]
    outcome: str
    fact: int
    store: int
    words: int
    """Which of the kinds of answerable questions it is."""
    weight: float = 1.0


class Stateless:
    """An encoder without its states of word pieces."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.fingerprint, self.dimensions = encoder.name, encoder.fingerprint, encoder.dimensions
        self.encode, self.reads = encoder.encode, encoder.reads

    def token_states(self, text: str) -> tuple[Sequence[int], NDArray[np.float32]] | None:
        """Give none."""
        del text
        return None


class Fact(msgspec.Struct, frozen=True):
    """One fact and what is asked about it, nearer to its words and further from them."""

    key: str
    value: str
    queries: tuple[str, str, str]


class Unanswerable(msgspec.Struct, frozen=True):
    """A question, the key of the fact that it comes nearest to, and in which way."""

    question: str
    near: str
    kind: str


class Facts(msgspec.Struct, frozen=True):
    """The file."""

    facts: tuple[Fact, ...]
    negatives: tuple[Unanswerable, ...]

    def corpus(self, encoder: Encoder | None) -> Corpus:
        """All facts, each under its number as id."""
        corpus = Corpus()
        for number, fact in enumerate(self.facts):
            document = Document(doc_id=str(number), key=fact.key, text=fact.value)
            corpus.add(document, features(document, encoder) if encoder is not None else None)
        return corpus

    def questions(self) -> list[Asked]:
        """Answerable ones first, kind after kind."""
        keys = [fact.key for fact in self.facts]
        asked = [
            Asked(fact.queries[words], number, words)
            for words in range(KINDS)
            for number, fact in enumerate(self.facts)
        ]
        return asked + [
            Asked(each.question, keys.index(each.near), kind=each.kind) for each in self.negatives
        ]


def measure(encoder: Encoder | None) -> list[Figure]:
    """Print a table for each way of search; return the figures of the best one."""
    data = read()
    corpus, asked, count = _corpus(encoder), data.questions(), len(data.facts)
    print(f"\nOwn facts: {count}, {len(asked)} questions; left out by tenths of the facts; 95% intervals")
    all_of = lambda _: True  # noqa: E731
    _judge("lexical tier", lambda each: ways.by_words(corpus, each, count, all_of), LEXICAL, asked, count)
    _judge("holographic", lambda each: ways.by_cues(corpus, each, count, all_of), HOLOGRAPHIC, asked, count)
    if encoder is None:
        return []

    def meaning(with_encoder: Encoder) -> Way:
        return lambda each: ways.by_meaning(corpus, each, count, with_encoder, all_of, with_words=True)

    _judge("cosine, no states", meaning(Stateless(encoder)), COSINE, asked, count)
    before = Logistic(dict.fromkeys(("cosine", "late", "unnamed"), 0.0), 0.0, 0.5)
    _judge("fused without digits, kind", meaning(encoder), before, asked, count)

    def with_cues(question: str) -> list[Candidate]:
        cues = corpus.cues().scores(question)
        return [
            msgspec.structs.replace(each, signals={**each.signals, "cue": cues[each.doc_id].cosine})
            for each in meaning(encoder)(question)
        ]

    cued = msgspec.structs.replace(SEMANTIC, weights={**SEMANTIC.weights, "cue": 0.0})
    _judge("fused + holographic", with_cues, cued, asked, count)
    refused, lost = _judge("fused", meaning(encoder), SEMANTIC, asked, count)
    return [
        at_least("own facts: unanswerable refused (left out)", refused, "%", 55),
        at_most("own facts: right answers lost (left out)", lost, "points", 5),
    ]


def training(ways_of: Callable[[Corpus], Way], encoder: Encoder | None, names: Sequence[str]) -> Training:
    """Give what a way of search finds here, to fit on beside other material."""
    data = read()
    asked, count = data.questions(), len(data.facts)
    way = ways_of(_corpus(encoder))
    return _training(_cases([way(each.text) for each in asked], names, asked, count), names)


def _corpus(encoder: Encoder | None) -> Corpus:
    """All facts as one corpus; made once for an encoder."""
    name = encoder.fingerprint if encoder is not None else ""
    if name not in _CORPORA:
        _CORPORA[name] = read().corpus(encoder)
    return _CORPORA[name]


def read() -> Facts:
    """Read the file."""
    return msgspec.json.decode(OWN.read_bytes(), type=Facts)


def _judge(label: str, way: Way, model: Logistic, asked: Sequence[Asked], count: int) -> tuple[float, float]:
    """Print how a way refuses; give the share refused in % and the points lost, both in stores of a part."""
    names = list(model.weights)
    cases = _cases([way(each.text) for each in asked], names, asked, count)
    fold = np.random.default_rng(0).permutation(count)[[case.fact for case in cases]] % FOLDS
    kept = np.zeros(len(cases), bool)
    chances = np.zeros(len(cases))
    signals = np.array([case.signals for case in cases])
    for left in range(FOLDS):
        inside = fold == left
        fitted, threshold = _fit([case for case, out in zip(cases, inside, strict=True) if not out], names)
        chances[inside] = fitted.chances(signals[inside])
        kept[inside] = chances[inside] >= threshold
    whole, threshold = _fit(cases, names)
    print(f"  {label}: {dict(zip(names, whole.weights.round(2).tolist(), strict=True))}")
    print(f"    bias {whole.bias:.2f} threshold {threshold:.3f}")
    figures = (0.0, 0.0)
    for title, whole_store in (("all facts", True), ("parts", False)):
        here = np.array([(case.store == 0) == whole_store for case in cases])
        figures = _told(title, cases, here, kept, chances)
    return figures


def _told(
    title: str, cases: Sequence[Case], here: NDArray[np.bool_], kept: NDArray[np.bool_], chances: Numbers
) -> tuple[float, float]:
    outcome = np.array([case.outcome for case in cases])
    right, wrong, away = (here & (outcome == each) for each in ("right", "wrong", "away"))
    nothing = here & ~right & ~wrong & ~away
    refused = (~kept[nothing]).astype(float)
    lost = 100 * float((~kept & right).sum()) / float((right | wrong).sum())
    kinds = ", ".join(
        f"{kind} {100 * float((~kept[here & (outcome == kind)]).mean()):.0f}"
        for kind in dict.fromkeys(outcome[nothing].tolist())
    )
    area = recall_fit.area_under_curve(chances[right], chances[nothing])
    print(
        f"    {title:10s} area {area:.3f}  refused {recall_fit.told(refused)}  lost {lost:.1f} points"
        f"  wrong refused {100 * float((~kept[wrong]).mean()):.0f}%  ({kinds})",
        flush=True,
    )
    return 100 * float(refused.mean()), lost


def _cases(
    found: Sequence[Sequence[Candidate]], names: Sequence[str], asked: Sequence[Asked], count: int
) -> list[Case]:
    stores = [frozenset(range(count))]
    for part in range(PARTS):
        chosen = np.random.default_rng(100 + part).choice(count, PART_FACTS, replace=False)
        stores.append(frozenset(chosen.tolist()))
    cases: list[Case] = []
    for number, store in enumerate(stores):
        for question, candidates in zip(asked, found, strict=True):
            if question.kind:
                first, signals = _first(candidates, store, names)
                cases.append(Case(signals, question.kind, question.fact, number, 0))
            elif question.fact in store:
                first, signals = _first(candidates, store, names)
                outcome = "right" if first == question.fact else "wrong"
                cases.append(Case(signals, outcome, question.fact, number, question.words))
                _, signals = _first(candidates, store - {question.fact}, names)
                cases.append(Case(signals, "away", question.fact, number, question.words))
    return _weighted(cases, "unnamed" in names)


def _weighted(cases: Sequence[Case], by_meaning: bool) -> list[Case]:
    """Cases with their weights: see `KINDS` and `TAKEN_AWAY`."""
    right = [case.words for case in cases if case.outcome == "right"]
    share = [len(right) / KINDS / max(1, right.count(words)) if by_meaning else 1.0 for words in range(KINDS)]
    other = {"away": TAKEN_AWAY}
    return [
        msgspec.structs.replace(
            case, weight=share[case.words] if case.outcome == "right" else other.get(case.outcome, 1.0)
        )
        for case in cases
    ]


def _first(
    candidates: Sequence[Candidate], store: frozenset[int], names: Sequence[str]
) -> tuple[int, tuple[float, ...]]:
    for each in candidates:
        if int(each.doc_id) in store:
            return int(each.doc_id), tuple(float(each.signals[name]) for name in names)
    return -1, tuple(0.0 for _ in names)


def _fit(cases: Sequence[Case], names: Sequence[str]) -> tuple[recall_fit.Fitted, float]:
    taught = _training(cases, names)
    fitted = fit_logistic(taught.signals, taught.answered, case_weights=taught.weights, ridge=RIDGE)
    answerable = sum(case.outcome in {"right", "wrong"} for case in cases)
    right = fitted.chances(taught.signals[taught.answered == 1])
    return fitted, threshold_that_keeps(right, int(LOST_SHARE_MAX * answerable))


def _training(cases: Sequence[Case], names: Sequence[str]) -> Training:
    """Right first answers, unanswerable questions, and facts taken away; wrong answers are neither."""
    used = [case for case in cases if case.outcome != "wrong"]
    stores = len({case.store for case in cases})
    return Training(
        signals=np.array([case.signals for case in used]).reshape(-1, len(names)),
        answered=np.array([float(case.outcome == "right") for case in used]),
        weights=np.array([case.weight for case in used]) / stores,
    )
