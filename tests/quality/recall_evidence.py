"""Recall of the lines of long conversations that hold the evidence for a question.

Reads LoCoMo's file (Maharana et al. 2024, CC BY-NC: for evaluation only; none of it stands in this
repository). Counted as there: questions of categories 1 to 4 with evidence; the share of a question's
evidence lines among the first 5, 10 and 20. Learned weights are fitted with one conversation left out.

Refusal is measured on two kinds of questions that nothing answers: those of category 5, which ask of one
person what the other one said or did, and small talk and questions about software (`recall_own`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features, search_evidence
from perdure.recall.evidence import BY_WORDS, WITH_STATES, WITH_VECTORS, Signals, weigh, zscore
from tests.bench.figures import Figure, at_least, plain
from tests.quality import recall_own
from tests.quality.recall_fit import area_under_curve, fit_listwise, told

DEPTHS = (5, 10, 20)
FLOORS = {
    "words": 0.15,
    "cosine": 0.25,
    "late": 0.3,
    "words beside": 0.05,
    "cosine beside": 0.1,
    "session": 0.1,
}
STRUCTURE = ("speaker", "date", "when")
ADVERSARIAL = 5
"""The category of questions that nothing answers."""

_DATE = re.compile(r"on (\d+) (\w+),? (\d{4})")
_LINE = re.compile(r"D:?(\d+):(\d+)")
_NOON = 12

Scores = NDArray[np.float32]


class Question(msgspec.Struct, frozen=True):
    """A question and the places of its evidence among the lines."""

    text: str
    evidence: frozenset[int]
    conversation: int


class Conversation(msgspec.Struct, frozen=True):
    """Lines in order, and the questions about them."""

    lines: tuple[Document, ...]
    questions: tuple[Question, ...]
    adversarial: tuple[str, ...] = ()


class Judged(msgspec.Struct, frozen=True):
    """A question with the signals of all lines, with and without an encoder."""

    question: Question
    words: Signals
    whole: Signals | None
    cues: Scores


class Refusals:
    """Whether questions get any line, and the best cosine among the lines that they get."""

    def __init__(self) -> None:
        self.refused: dict[str, list[float]] = {"answerable": [], "adversarial": [], "foreign": []}
        self.best: dict[str, list[float]] = {name: [] for name in self.refused}
        self._foreign = [
            each.question for each in recall_own.read().negatives if each.kind in {"chat", "absent subject"}
        ]

    def ask(self, corpus: Corpus, conversation: Conversation, encoder: Encoder | None) -> None:
        """Ask a conversation all questions of all kinds."""
        for name, questions in (
            ("answerable", [question.text for question in conversation.questions]),
            ("adversarial", conversation.adversarial),
            ("foreign", self._foreign),
        ):
            for question in questions:
                answer = search_evidence(corpus, question, encoder=encoder)
                self.refused[name].append(float(not answer.hits))
                found = (hit.why.cosine or 0.0 for hit in (*answer.hits, *answer.nearest))
                self.best[name].append(max(found, default=0.0))

    def told(self) -> list[Figure]:
        """Print what is refused, and how well the best cosine would tell what nothing answers."""
        right = np.array(self.best["answerable"])
        for name, refused in self.refused.items():
            area = area_under_curve(right, np.array(self.best[name]))
            share = told(refused, digits=1)
            print(f"  refused, {name:12s} {share} of {len(refused)}, area by cosine {area:.3f}")
        return [
            plain(f"evidence: {name} refused", 100 * float(np.mean(refused)), "%")
            for name, refused in self.refused.items()
        ]


def measure(path: Path, encoder: Encoder | None) -> list[Figure]:
    """Print tables, return figures."""
    conversations = list(read(path))
    judged: list[Judged] = []
    stock: list[list[float]] = []
    refusals = Refusals()
    for conversation in conversations:
        corpus = Corpus()
        for line in conversation.lines:
            corpus.add(line, features(line, encoder) if encoder is not None else None)
        stock += _stock(conversation)
        judged += [_judge(corpus, question, encoder) for question in conversation.questions]
        refusals.ask(corpus, conversation, encoder)
    print(f"\nEvidence: {len(conversations)} conversations, {len(judged)} questions; R@5, R@10, R@20, 95%")
    _print("SQLite FTS5, porter, OR", np.array(stock))
    table = _table(judged)
    tiers = [("lexical tier (no encoder)", lambda each: each.words.total())]
    results = {label: _print(label, table(score)) for label, score in tiers}
    results["holographic alone"] = _print("holographic alone", table(lambda each: each.cues))
    lexical = float(results["lexical tier (no encoder)"][:, 1].mean())
    figures = [plain("evidence: R@10, lexical tier", 100 * lexical, "%"), *refusals.told()]
    if encoder is None:
        return figures
    fused = _print("fused, as shipped", table(lambda each: _whole(each).total()))
    for label, weights in _ablations().items():
        _print(f"  {label}", table(_weighted(weights)))
    for share in (0.1, 0.2):
        _print(
            f"  with holographic {share}",
            table(_with_cues(share)),
        )
    learned = _print("learned, one conversation left out", _left_out(judged, len(conversations)))
    means = [100 * float(value) for value in fused.mean(0)]
    return [
        at_least("evidence: R@5, fused", means[0], "%", 63),
        at_least("evidence: R@10, fused", means[1], "%", 72),
        at_least("evidence: R@10, learned, left out", 100 * float(learned[:, 1].mean()), "%", 72),
        *figures,
    ]


def read(path: Path) -> Iterator[Conversation]:
    """Read LoCoMo's file."""
    for number, item in enumerate(msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])):
        talk = item["conversation"]
        lines: list[Document] = []
        places: dict[str, int] = {}
        session = 1
        while f"session_{session}_date_time" in talk or f"session_{session}" in talk:
            when = _milliseconds(talk.get(f"session_{session}_date_time", ""))
            for turn in talk.get(f"session_{session}", []):
                places.setdefault(turn["dia_id"], len(lines))
                lines.append(
                    Document(
                        doc_id=f"{len(lines):05d}",
                        text=turn["text"],
                        speaker=turn["speaker"],
                        group=f"{session:03d}",
                        order=len(lines),
                        when_ms=when,
                    )
                )
            session += 1
        adversarial = tuple(row["question"] for row in item["qa"] if row["category"] == ADVERSARIAL)
        yield Conversation(tuple(lines), tuple(_questions(item["qa"], places, number)), adversarial)


def _questions(
    rows: Sequence[Mapping[str, Any]], places: Mapping[str, int], number: int
) -> Iterator[Question]:
    for row in rows:
        if row["category"] not in (1, 2, 3, 4):
            continue
        named = (f"D{int(a)}:{int(b)}" for each in row["evidence"] for a, b in _LINE.findall(each))
        evidence = frozenset(places[name] for name in named if name in places)
        if evidence:
            yield Question(text=row["question"], evidence=evidence, conversation=number)


def _milliseconds(date: str) -> int:
    found = _DATE.search(date)
    if found is None:
        return 0
    day = datetime.strptime(f"{found[1]} {found[2]} {found[3]}", "%d %B %Y").replace(hour=_NOON, tzinfo=UTC)
    return int(day.timestamp() * 1000)


def _judge(corpus: Corpus, question: Question, encoder: Encoder | None) -> Judged:
    cues = corpus.cues().scores(question.text)
    words = weigh(corpus, question.text, encoder=None, now_ms=0)
    return Judged(
        question=question,
        words=words,
        whole=weigh(corpus, question.text, encoder=encoder, now_ms=0) if encoder is not None else None,
        cues=np.array([cues[each.doc_id].cosine for each in words.lines.documents], np.float32),
    )


def _whole(judged: Judged) -> Signals:
    if judged.whole is None:
        raise ValueError("There is no encoder.")
    return judged.whole


def _table(judged: Sequence[Judged]) -> Callable[[Callable[[Judged], Scores]], Scores]:
    def results(score: Callable[[Judged], Scores]) -> Scores:
        return np.array([_recall(score(each), each.question.evidence) for each in judged], np.float32)

    return results


def _weighted(weights: Mapping[str, float]) -> Callable[[Judged], Scores]:
    return lambda judged: _whole(judged).total(weights)


def _with_cues(share: float) -> Callable[[Judged], Scores]:
    return lambda judged: _whole(judged).total() + np.float32(share) * zscore(judged.cues)


def _recall(scores: Scores, evidence: frozenset[int]) -> list[float]:
    first = np.argsort(-scores, kind="stable")[: max(DEPTHS)].tolist()
    return [len(evidence.intersection(first[:depth])) / len(evidence) for depth in DEPTHS]


def _print(label: str, results: NDArray[Any]) -> NDArray[Any]:
    cells = [told(results[:, at], digits=1) for at in range(len(DEPTHS))]
    print(f"  {label:40s} " + "  ".join(f"{cell:18s}" for cell in cells), flush=True)
    return results


def _ablations() -> dict[str, dict[str, float]]:
    without = {f"without {name}": {**WITH_STATES, name: 0.0} for name in WITH_STATES}
    return {
        "no late interaction": WITH_VECTORS,
        "no structure": {**WITH_STATES, **dict.fromkeys(STRUCTURE, 0.0)},
        "words and cosine, equal": {"words": 1.0, "cosine": 1.0},
        "words of the lexical tier": {name: weight for name, weight in BY_WORDS.items() if name != "grams"},
        **without,
    }


def _left_out(judged: Sequence[Judged], conversations: int) -> Scores:
    """Each conversation ranked by weights that were learned on the others, above their floors."""
    names = list(WITH_STATES)
    floors = np.array([FLOORS.get(name, 0.0) for name in names])
    found: list[list[float]] = []
    for left in range(conversations):
        examples = [_example(each, names) for each in judged if each.question.conversation != left]
        weights = dict(zip(names, fit_listwise(examples, floors).tolist(), strict=True))
        print("    learned: " + ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items()))
        found += [
            _recall(_whole(each).total(weights), each.question.evidence)
            for each in judged
            if each.question.conversation == left
        ]
    return np.array(found, np.float32)


def _example(judged: Judged, names: Sequence[str]) -> tuple[Scores, Scores]:
    signals = _whole(judged)
    count = len(signals.lines.documents)
    none = np.zeros(count, np.float32)
    shares = np.zeros(count, np.float32)
    shares[list(judged.question.evidence)] = 1 / len(judged.question.evidence)
    return np.stack([signals.parts.get(name, none) for name in names], axis=1), shares


def _stock(conversation: Conversation) -> list[list[float]]:
    """What SQLite's full-text search finds with all words of the question."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table lines using fts5(told, tokenize = 'porter')")
    database.executemany(
        "insert into lines(rowid, told) values (?, ?)",
        [(at, line.text) for at, line in enumerate(conversation.lines)],
    )
    found = []
    for question in conversation.questions:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        rows = database.execute(
            "select rowid from lines where told match ? order by bm25(lines) limit 20", (match,)
        )
        first = [row[0] for row in rows]
        evidence = question.evidence
        found.append([len(evidence.intersection(first[:depth])) / len(evidence) for depth in DEPTHS])
    database.close()
    return found
