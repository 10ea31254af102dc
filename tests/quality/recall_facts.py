"""Recall of facts of coding projects: the first answer, the first three, and what nothing answers.

Reads a file of {"facts": [{"key", "value", "queries": [shares words, shares none]}], "negatives": [...]}.
Refusal is measured with nested cross-validation: all that belongs to one fact, or one unanswerable question,
is left out, weights come from the rest and from our own material (`recall_own`), each of which weighs the
same, the threshold from the rest; and the left-out questions are judged by them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from perdure.recall import ways
from perdure.recall.calibrate import COSINE, HOLOGRAPHIC, LEXICAL, SEMANTIC, Logistic
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, Mode, features, search
from perdure.recall.ways import Candidate
from tests.bench.figures import Figure, at_least, at_most, plain
from tests.quality import recall_fit, recall_own
from tests.quality.recall_fit import Fitted, Numbers, Training, fit_logistic, threshold_that_keeps
from tests.quality.recall_own import LOST_SHARE_MAX, TAKEN_AWAY

Way = Callable[[Corpus, str, int, Callable[[str], bool]], list[Candidate]]
"""A corpus, a question, how many, and a test of ids -> candidates, the best first."""


class Fact(msgspec.Struct, frozen=True):
    """One fact and its two questions."""

    key: str
    value: str
    queries: tuple[str, str]


class Facts(msgspec.Struct, frozen=True):
    """The file."""

    facts: tuple[Fact, ...]
    negatives: tuple[str, ...]

    @property
    def questions(self) -> list[str]:
        """First questions of all facts, then second ones, then unanswerable ones."""
        firsts = [fact.queries[0] for fact in self.facts]
        return [*firsts, *(fact.queries[1] for fact in self.facts), *self.negatives]


class Stock(msgspec.Struct, frozen=True):
    """What is searched, and with what."""

    data: Facts
    corpus: Corpus
    encoder: Encoder | None


class Cases(msgspec.Struct, frozen=True):
    """What a way found first, for every question; and with the question's own fact taken away."""

    signals: Numbers  # [questions, signals]
    right: Numbers  # [questions], 1 or 0
    without: Numbers  # [answerable questions, signals]
    fold: Numbers  # [questions]


def measure(path: Path, encoder: Encoder | None) -> list[Figure]:
    """Print tables, return figures."""
    data = msgspec.json.decode(path.read_bytes(), type=Facts)
    corpus = Corpus()
    for number, fact in enumerate(data.facts):
        document = Document(doc_id=_name(number), key=fact.key, text=fact.value)
        corpus.add(document, features(document, encoder) if encoder is not None else None)
    print(f"\nAgent facts: {len(data.facts)} facts, {len(data.questions)} questions; 95% intervals")
    ranks = _rank_table(data, corpus, encoder)
    _ablations(data, corpus, encoder)
    refusals = _refusals(data, corpus, encoder)
    return [*ranks, *refusals]


def _name(number: int) -> str:
    return f"{number:04d}"


def _rank_table(data: Facts, corpus: Corpus, encoder: Encoder | None) -> list[Figure]:
    count = len(data.facts)
    modes: list[tuple[str, Mode, Encoder | None]] = [
        ("lexical tier (no encoder)", "fused", None),
        ("holographic alone", "holographic", None),
    ]
    if encoder is not None:
        modes = [("fused", "fused", encoder), ("semantic", "semantic", encoder), *modes]
    figures: list[Figure] = []
    fts = _fts5(data)
    _print_ranks("SQLite FTS5, porter, OR", [_place(fts(question), at) for question, at in _asked(data)])
    for label, mode, with_encoder in modes:
        places = [_place(_found(corpus, question, mode, with_encoder), at) for question, at in _asked(data)]
        _print_ranks(label, places)
        if label == "fused":
            exact = [
                _found(corpus, fact.key, "fused", encoder)[:1] == [_name(number)]
                for number, fact in enumerate(data.facts)
            ]
            figures += [
                at_least("facts: exact key, first", 100 * float(np.mean(exact)), "%", 100),
                at_least("facts: shared words, first", _within(places[:count], 1), "%", 95),
                at_least("facts: other words, first", _within(places[count:], 1), "%", 65),
                at_least("facts: other words, among three", _within(places[count:], 3), "%", 82),
            ]
    return [*figures, *_holographic_keys(data, corpus)]


def _holographic_keys(data: Facts, corpus: Corpus) -> list[Figure]:
    """Keys asked of the holographic search: decoded from the traces, by cues alone; and keys of nothing."""
    keys = [(_name(number), fact.key) for number, fact in enumerate(data.facts)]
    decoded = [_found(corpus, key, "holographic", None)[:1] == [name] for name, key in keys]
    cued = [ways.by_cues(corpus, key, 1, lambda _: True)[0].doc_id == name for name, key in keys]
    absent = [
        ways.by_traces(corpus, f"{key} {number}", lambda _: True) for number, (_, key) in enumerate(keys)
    ]
    print(
        f"  keys, holographic: decoded {100 * np.mean(decoded):.0f}, by cues alone {100 * np.mean(cued):.0f},"
        f" absent ones rejected {100 * np.mean([not found for found in absent]):.0f}"
    )
    return [
        at_least("facts: exact key, first, holographic", 100 * float(np.mean(decoded)), "%", 100),
        plain("facts: exact key, first, by cues alone", 100 * float(np.mean(cued)), "%"),
    ]


def _asked(data: Facts) -> list[tuple[str, str]]:
    count = len(data.facts)
    return [(question, _name(at % count)) for at, question in enumerate(data.questions[: 2 * count])]


def _found(corpus: Corpus, question: str, mode: Mode, encoder: Encoder | None) -> list[str]:
    answer = search(corpus, question, mode=mode, limit=10, encoder=encoder)
    return [hit.doc_id for hit in answer.hits or answer.nearest]


def _place(ranking: Sequence[str], wanted: str) -> int:
    return ranking.index(wanted) if wanted in ranking else len(ranking) + 1_000


def _within(places: Sequence[int], depth: int) -> float:
    return 100 * float(np.mean([place < depth for place in places]))


def _print_ranks(label: str, places: Sequence[int]) -> None:
    half = len(places) // 2
    cells = [
        recall_fit.told([float(place < depth) for place in kind])
        for kind in (places[:half], places[half:])
        for depth in (1, 3)
    ]
    print(f"  {label:40s} shared words {cells[0]} / {cells[1]}   other words {cells[2]} / {cells[3]}")


def _fts5(data: Facts) -> Callable[[str], list[str]]:
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table facts using fts5(told, tokenize = 'porter')")
    database.executemany(
        "insert into facts(rowid, told) values (?, ?)",
        [(number, f"{fact.key}: {fact.value}") for number, fact in enumerate(data.facts)],
    )

    def found(question: str) -> list[str]:
        words = "".join(char if char.isalnum() else " " for char in question).split()
        match = " OR ".join(f'"{word}"' for word in words)
        rows = database.execute("select rowid from facts where told match ? order by bm25(facts)", (match,))
        return [_name(row[0]) for row in rows]

    return found


def _ablations(data: Facts, corpus: Corpus, encoder: Encoder | None) -> None:
    """What other scores add to the cosine, in ranking."""
    if encoder is None:
        return
    count = len(data.facts)
    for label, weights in {
        "cosine + .05 words": {"words": 0.05},
        "cosine + .05 holographic": {"holographic": 0.05},
        "cosine + .1 holographic": {"holographic": 0.1},
        "cosine + .2 holographic": {"holographic": 0.2},
        "cosine + .3 late": {"late": 0.3},
    }.items():
        places = []
        for question, wanted in _asked(data):
            found = ways.by_meaning(corpus, question, count, encoder, lambda _: True, with_words=True)
            cues = corpus.cues().scores(question)
            ranks = {
                each.doc_id: each.signals["cosine"]
                + weights.get("late", 0.0) * each.signals["late"]
                + weights.get("words", 0.0) * float(np.tanh((each.why.lexical or 0.0) / 6))
                + weights.get("holographic", 0.0) * cues[each.doc_id].cosine
                for each in found
            }
            places.append(_place(ways.best(ranks, count), wanted))
        _print_ranks(f"  {label}", places)


def _refusals(data: Facts, corpus: Corpus, encoder: Encoder | None) -> list[Figure]:
    print("\n  Refusal (nested cross-validation): area, refused, answers lost, wrong answers refused")
    stock = Stock(data, corpus, encoder)
    _refusal(stock, "lexical tier", _by_words, LEXICAL)
    _refusal(stock, "holographic alone", _by_cues, HOLOGRAPHIC)
    if encoder is None:
        return []
    meaning = _by_meaning(encoder)
    _refusal(stock, "  cosine", meaning, _part(SEMANTIC, ["cosine"]))
    _refusal(stock, "  cosine, late", meaning, _part(SEMANTIC, ["cosine", "late"]))
    _refusal(stock, "  ... unnamed", meaning, _part(SEMANTIC, ["cosine", "late", "unnamed"]))
    stateless = recall_own.Stateless(encoder)
    _refusal(stock, "  no states", _by_meaning(stateless), COSINE)
    cued = _part(SEMANTIC, [*SEMANTIC.weights, "cue"])
    _refusal(stock, "  fused + holographic", _with_cues(meaning), cued)
    refused, lost = _refusal(stock, "fused", meaning, SEMANTIC)
    return [
        at_least("facts: unanswerable refused (nested)", refused, "%", 85),
        at_most("facts: right answers lost (nested)", lost, "points", 3),
        *_shipped(data, corpus, encoder),
    ]


def _by_words(corpus: Corpus, question: str, depth: int, accept: Callable[[str], bool]) -> list[Candidate]:
    return ways.by_words(corpus, question, depth, accept)


def _by_cues(corpus: Corpus, question: str, depth: int, accept: Callable[[str], bool]) -> list[Candidate]:
    return ways.by_cues(corpus, question, depth, accept)


def _by_meaning(encoder: Encoder) -> Way:
    return lambda corpus, question, depth, accept: ways.by_meaning(
        corpus, question, depth, encoder, accept, with_words=True
    )


def _with_cues(way: Way) -> Way:
    def found(corpus: Corpus, question: str, depth: int, accept: Callable[[str], bool]) -> list[Candidate]:
        cues = corpus.cues().scores(question)
        return [
            msgspec.structs.replace(each, signals={**each.signals, "cue": cues[each.doc_id].cosine})
            for each in way(corpus, question, depth, accept)
        ]

    return found


def _part(model: Logistic, names: Sequence[str]) -> Logistic:
    return Logistic({name: model.weights.get(name, 0.0) for name in names}, model.bias, model.threshold)


def _refusal(stock: Stock, label: str, way: Way, model: Logistic) -> tuple[float, float]:
    """Print one line; return the share refused in % and the right answers lost in points of all asked."""
    data, corpus = stock.data, stock.corpus
    names = list(model.weights)
    cases = _cases(data, lambda question, accept: way(corpus, question, 1, accept), names)
    own = recall_own.training(
        lambda stored: lambda question: way(stored, question, len(stored), lambda _: True),
        stock.encoder,
        names,
    )
    answerable = 2 * len(data.facts)
    chances = np.zeros(len(cases.right))
    kept = np.zeros(len(cases.right), bool)
    for fold in np.unique(cases.fold):
        inside = cases.fold == fold
        fitted, threshold = _fit(cases, own, answerable, ~inside)
        chances[inside] = fitted.chances(cases.signals[inside])
        kept[inside] = chances[inside] >= threshold
    right = cases.right == 1
    wrong = ~right[:answerable]
    area = recall_fit.area_under_curve(chances[right], chances[answerable:])
    refused = ~kept[answerable:]
    lost = 100 * float((~kept & right).sum()) / answerable
    wrong_refused = 100 * float((~kept[:answerable][wrong]).mean()) if wrong.any() else 0.0
    whole, threshold = _fit(cases, own, answerable, np.ones(len(cases.right), bool))
    print(
        f"  {label:24s} {area:.3f}  {recall_fit.told(refused.astype(float)):16s} {lost:4.1f}"
        f"  {wrong_refused:3.0f}%"
        f"   all data: {dict(zip(names, whole.weights.round(2).tolist(), strict=True))}"
        f" bias {whole.bias:.2f} threshold {threshold:.3f}"
    )
    return 100 * float(refused.mean()), lost


def _fit(
    cases: Cases, own: Training, answerable: int, train: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Fitted, float]:
    """Fit on our own material and the questions of `train`: right first answers, unanswerable, taken away."""
    place = np.arange(len(cases.right))
    used = train & ((cases.right == 1) | (place >= answerable))
    without = train[:answerable]
    taught = Training(
        signals=np.vstack([cases.signals[used], cases.without[without]]),
        answered=np.concatenate([cases.right[used], np.zeros(int(without.sum()))]),
        weights=np.concatenate([np.ones(int(used.sum())), np.full(int(without.sum()), TAKEN_AWAY)]),
    ).beside(own)
    fitted = fit_logistic(taught.signals, taught.answered, case_weights=taught.weights)
    right = fitted.chances(cases.signals[train & (cases.right == 1)])
    return fitted, threshold_that_keeps(right, int(LOST_SHARE_MAX * answerable))


def _cases(
    data: Facts, way: Callable[[str, Callable[[str], bool]], list[Candidate]], names: Sequence[str]
) -> Cases:
    count = len(data.facts)
    signals, right, without = [], [], []
    for at, question in enumerate(data.questions):
        wanted = _name(at % count)
        first = _first(way(question, lambda _: True), names)
        signals.append(first[1])
        right.append(float(at < 2 * count and first[0] == wanted))
        if at < 2 * count:
            without.append(_first(way(question, wanted.__ne__), names)[1])
    folds = [at % count if at < 2 * count else at for at in range(len(data.questions))]
    return Cases(np.array(signals), np.array(right), np.array(without), np.array(folds, np.float64))


def _first(found: Sequence[Candidate], names: Sequence[str]) -> tuple[str, list[float]]:
    if not found:
        return "", [0.0 for _ in names]
    return found[0].doc_id, [float(found[0].signals[name]) for name in names]


def _shipped(data: Facts, corpus: Corpus, encoder: Encoder) -> list[Figure]:
    """The weights as they ship, on data that they come from in part: what a user of these facts would see."""
    refused = [not search(corpus, each, encoder=encoder).hits for each in data.negatives]
    answers: Mapping[str, tuple[str, ...]] = {
        question: tuple(hit.doc_id for hit in search(corpus, question, encoder=encoder).hits)
        for question, _ in _asked(data)
    }
    right = [answers[question][:1] == (wanted,) for question, wanted in _asked(data)]
    return [
        plain("facts: unanswerable refused (as shipped)", 100 * float(np.mean(refused)), "%"),
        plain("facts: answered rightly (as shipped)", 100 * float(np.mean(right)), "%"),
    ]
