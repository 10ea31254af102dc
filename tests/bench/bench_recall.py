"""Recall over 1,000 entries, warm, beside SQLite's full-text search; one write; memory (issue: speed)."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from perdure.provider.encoder import packaged
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features, search, search_evidence
from tests.bench.figures import Figure, against, at_most, plain
from tests.bench.rig import median

Asked = TypeVar("Asked")

ENTRIES = 1_000
ROUNDS = 60
WRITES = 200
RESIDENT_MB_MAX = 200.0

_THINGS = "queue cache worker index schema session billing search export upload gateway scheduler".split()
_PLACES = (
    "staging",
    "production",
    "the laptop",
    "the cluster",
    "Frankfurt",
    "the CI runner",
    "the night job",
)
_ASPECTS = "owner limit timeout folder policy version port schedule format command".split()
_QUESTIONS = (
    "how long may the {thing} take before it is given up?",
    "who looks after the {thing}?",
    "which {aspect} did we choose for the {thing}?",
    "where does the {thing} put its files?",
)

CHILD = """
from perdure.provider.encoder import packaged
from perdure.recall.engine import Corpus, Document, features, search
encoder = packaged()
corpus = Corpus()
for number in range(40):
    document = Document(doc_id=str(number), key=f"key {number}", text=f"value number {number}")
    corpus.add(document, features(document, encoder))
search(corpus, "which value has key 7?", encoder=encoder)
print(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
"""


def main() -> list[Figure]:
    """Measure without the packaged encoder, and with it if it is installed."""
    documents = _documents()
    questions = [
        _QUESTIONS[number % len(_QUESTIONS)].format(
            thing=_THINGS[number % len(_THINGS)], aspect=_ASPECTS[number % len(_ASPECTS)]
        )
        for number in range(ROUNDS)
    ]
    encoder = packaged()
    corpus = Corpus()
    for document in documents:
        corpus.add(document, features(document, encoder) if encoder is not None else None)
    stock = _timed(_stock(documents), questions)
    figures = [
        against(
            f"recall by words, {ENTRIES:,} entries, beside FTS5",
            _timed(lambda question: search(corpus, question), questions),
            "ms",
            reference=stock,
        ),
        at_most("update after one write, by words", _writes(corpus, documents, None), "ms", 5.0),
    ]
    return figures if encoder is None else [*figures, *_with_encoder(corpus, documents, questions, encoder)]


def _with_encoder(
    corpus: Corpus, documents: Sequence[Document], questions: Sequence[str], encoder: Encoder
) -> list[Figure]:
    lines = Corpus()
    for number, document in enumerate(documents):
        line = Document(
            doc_id=document.doc_id, text=document.text, speaker="user", group=str(number // 20), order=number
        )
        lines.add(line, features(line, encoder))
    fused = _timed(lambda question: search(corpus, question, encoder=encoder), questions)
    evidence = _timed(lambda question: search_evidence(lines, question, encoder=encoder), questions)
    return [
        at_most(f"fused recall, {ENTRIES:,} entries", fused, "ms", 40.0),
        at_most(f"evidence, {ENTRIES:,} lines", evidence, "ms", 40.0),
        at_most("update after one write, encoded before", _writes(corpus, documents, encoder), "ms", 5.0),
        plain("encoding one entry", _timed(lambda each: features(each, encoder), documents[:ROUNDS]), "ms"),
        at_most("resident with the packaged encoder", _resident(), "MB", RESIDENT_MB_MAX),
    ]


def _documents() -> list[Document]:
    return [
        Document(
            doc_id=f"{number:04d}",
            key=f"{_THINGS[number % len(_THINGS)]} {_ASPECTS[number % len(_ASPECTS)]} {number}",
            text=f"{_PLACES[number % len(_PLACES)]} keeps number {number * 37 % 1_009} since change "
            f"{number * 7_919 % 10_007}, agreed for the {_THINGS[number // 12 % len(_THINGS)]}",
        )
        for number in range(ENTRIES)
    ]


def _timed(ask: Callable[[Asked], object], asked: Sequence[Asked]) -> float:
    """The median in milliseconds; the first ones warm up and are asked again."""
    for each in asked[:5]:
        ask(each)
    times: list[float] = []
    for each in asked:
        begun = time.perf_counter()
        ask(each)
        times.append(time.perf_counter() - begun)
    return median(times) * 1_000


def _writes(corpus: Corpus, documents: Sequence[Document], encoder: Encoder | None) -> float:
    """One entry replaced in a corpus that has answered; its features are there already."""
    chosen = documents[:20]
    ready = [features(document, encoder) if encoder is not None else None for document in chosen]
    numbers = [number % len(chosen) for number in range(WRITES)]
    return _timed(lambda number: corpus.add(chosen[number], ready[number]), numbers)


def _stock(documents: Sequence[Document]) -> Callable[[str], object]:
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table entries using fts5(told, tokenize = 'porter')")
    database.executemany(
        "insert into entries(told) values (?)", [(f"{each.key}: {each.text}",) for each in documents]
    )

    def ask(question: str) -> object:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        query = "select rowid from entries where told match ? order by bm25(entries) limit 10"
        return database.execute(query, (match,)).fetchall()

    return ask


def _resident() -> float:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run([sys.executable, "-c", CHILD], check=True, capture_output=True, env=environment)
    return int(done.stdout) / 1024
