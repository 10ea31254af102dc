"""How well recall finds with the static encoder, beside words alone: our own facts, and those that are named.

Both tiers are asked as they ship, all facts in one store. What counts is whether the answer is the right one,
and whether a question that nothing answers gets none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from perdure.provider.encoder_static import static
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features, search
from perdure.recall.evidence import weigh
from tests.bench.figures import Figure, at_least, plain
from tests.quality import recall_evidence, recall_facts, recall_fit, recall_own

FOUND = 10


class Tier(msgspec.Struct, frozen=True):
    """What a tier made of questions, in percent. The first three are by kind of question."""

    first: tuple[float, ...]
    among_three: tuple[float, ...]
    answered: tuple[float, ...]
    refused: float


def measure() -> list[Figure]:
    """Print tables; return figures, of which none may be worse than by words alone."""
    encoder = static()
    if encoder is None:
        raise ValueError("There is no NumPy, which the static encoder needs.")
    own = recall_own.read()
    print("\nStatic encoder and words alone: right first / among three / given, by kind of question; 95%")
    figures = _compared(
        "own facts",
        [(fact.key, fact.value, fact.queries) for fact in own.facts],
        [each.question for each in own.negatives],
        encoder,
    )
    path = os.environ.get("PERDURE_AGENT_FACTS")
    if path is not None:
        data = msgspec.json.decode(Path(path).read_bytes(), type=recall_facts.Facts)
        facts = [(fact.key, fact.value, fact.queries) for fact in data.facts]
        figures += _compared("facts", facts, data.negatives, encoder)
    path = os.environ.get("PERDURE_LOCOMO")
    return figures if path is None else [*figures, *_evidence(Path(path), encoder)]


def _compared(
    title: str,
    facts: Sequence[tuple[str, str, tuple[str, ...]]],
    unanswerable: Sequence[str],
    encoder: Encoder,
) -> list[Figure]:
    words = _tier(f"{title}, words", facts, unanswerable, None)
    told = _tier(f"{title}, static", facts, unanswerable, encoder)
    return [
        at_least(f"{title}: shared words, given, static", told.answered[0], "%", words.answered[0]),
        at_least(f"{title}: other words, first, static", told.first[-1], "%", words.first[-1]),
        plain(f"{title}: other words, among three, static", told.among_three[-1], "%"),
        at_least(f"{title}: given, static", _mean(told.answered), "%", _mean(words.answered)),
        plain(f"{title}: unanswerable refused, static", told.refused, "%"),
        plain(f"{title}: unanswerable refused, words", words.refused, "%"),
    ]


def _tier(
    label: str,
    facts: Sequence[tuple[str, str, tuple[str, ...]]],
    unanswerable: Sequence[str],
    encoder: Encoder | None,
) -> Tier:
    corpus = Corpus()
    for number, (key, text, _) in enumerate(facts):
        document = Document(doc_id=str(number), key=key, text=text)
        corpus.add(document, features(document, encoder) if encoder is not None else None)
    rows: list[list[list[float]]] = [[], [], []]
    for kind in range(len(facts[0][2])):
        found = [_asked(corpus, each[2][kind], str(number), encoder) for number, each in enumerate(facts)]
        for row, values in zip(rows, zip(*found, strict=True), strict=True):
            row.append(list(values))
    refused = [float(not search(corpus, each, encoder=encoder).hits) for each in unanswerable]
    cells = ["  ".join(recall_fit.told(kind) for kind in row) for row in rows]
    print(f"  {label:18s} {' / '.join(cells)}  refused {recall_fit.told(refused)}", flush=True)
    first, three, given = (tuple(100 * float(np.mean(kind)) for kind in row) for row in rows)
    return Tier(first, three, given, 100 * float(np.mean(refused)))


def _asked(corpus: Corpus, question: str, wanted: str, encoder: Encoder | None) -> tuple[float, float, float]:
    """Whether the wanted fact is first, is among three, and is the first that is given as an answer."""
    answer = search(corpus, question, limit=FOUND, encoder=encoder)
    found = [hit.doc_id for hit in answer.hits or answer.nearest]
    return (
        float(found[:1] == [wanted]),
        float(wanted in found[:3]),
        float([hit.doc_id for hit in answer.hits[:1]] == [wanted]),
    )


def _mean(shares: Sequence[float]) -> float:
    return float(np.mean(shares))


def _evidence(path: Path, encoder: Encoder) -> list[Figure]:
    """What share of the right lines of a conversation is among ten."""
    found: dict[str, list[float]] = {"static": [], "words": []}
    for conversation in recall_evidence.read(path):
        corpus = Corpus()
        for line in conversation.lines:
            corpus.add(line, features(line, encoder))
        for question in conversation.questions:
            for tier, asked in (("static", encoder), ("words", None)):
                total = weigh(corpus, question.text, encoder=asked, now_ms=0).total()
                best = set(np.argsort(-total, kind="stable")[:FOUND].tolist())
                found[tier].append(len(best & question.evidence) / len(question.evidence))
    for tier, shares in found.items():
        print(f"  evidence, {tier}: {recall_fit.told(shares, digits=1)} of the right lines among ten")
    means = {tier: 100 * float(np.mean(shares)) for tier, shares in found.items()}
    return [at_least("evidence: R@10, static", means["static"], "%", means["words"])]
