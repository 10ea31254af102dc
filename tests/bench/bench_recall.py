"""Recall over 1,000 entries, warm, beside SQLite's full-text search; one write; memory (issue: speed)."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

import msgspec

from perdure.authority.filesystem.index import path_of
from perdure.core.memory import main_branch_id
from perdure.ports.index import BranchPart
from perdure.provider.encoder import packaged
from perdure.provider.encoder_static import StaticEncoder, static
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, Features, features, pack, search, search_evidence
from perdure.service.recall_corpus import FollowingCorpus, PartDocuments, version_of
from perdure.service.recall_features import Featuring
from tests.bench.figures import Figure, against, at_most, plain
from tests.bench.rig import home, median

Asked = TypeVar("Asked")

ENTRIES = 1_000
ROUNDS = 60
WRITES = 200
RESIDENT_MB_MAX = 200.0
UPDATE_MS_MAX = 5.0
STATIC_MS_MAX = 5.0
FACT_BYTES_MAX = 1_000.0

_SECONDS = 600.0
"""More than encoding all entries needs."""

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
import sys
from perdure.app import make_encoder
from perdure.config import Recall
from perdure.recall.engine import Corpus, Document, features, search
encoder = make_encoder(Recall(encoder=sys.argv[1]))
corpus = Corpus()
for number in range(40):
    document = Document(doc_id=str(number), key=f"key {number}", text=f"value number {number}")
    corpus.add(document, features(document, encoder))
search(corpus, "which value has key 7?", encoder=encoder)
print(open("/proc/self/status").read().split("VmRSS:")[1].split()[0])
"""


def main() -> list[Figure]:
    """Measure by words, with the static encoder, and with the packaged one if it is installed."""
    documents = _documents()
    questions = [
        _QUESTIONS[number % len(_QUESTIONS)].format(
            thing=_THINGS[number % len(_THINGS)], aspect=_ASPECTS[number % len(_ASPECTS)]
        )
        for number in range(ROUNDS)
    ]
    encoder = packaged()
    corpus = Corpus()
    made = [features(document, encoder) for document in documents] if encoder is not None else []
    for document, found in zip_longest(documents, made):
        corpus.add(document, found)
    stock = _timed(_stock(documents), questions)
    figures = [
        against(
            f"recall by words, {ENTRIES:,} entries, beside FTS5",
            _timed(lambda question: search(corpus, question), questions),
            "ms",
            reference=stock,
        ),
        at_most("update after one write, by words", _writes(corpus, documents, None), "ms", UPDATE_MS_MAX),
        *_with_static(documents, questions, stock),
    ]
    if encoder is None:
        return figures
    return [*figures, *_with_encoder(corpus, documents, made, questions, encoder)]


def _with_static(documents: Sequence[Document], questions: Sequence[str], stock: float) -> list[Figure]:
    encoder = static()
    if encoder is None:
        raise ValueError("There is no NumPy.")
    load = _timed(lambda _: StaticEncoder(encoder.path).encode(["first"]), range(5))
    corpus = Corpus()
    for document in documents:
        corpus.add(document, features(document, encoder))
    fused = _timed(lambda question: search(corpus, question, encoder=encoder), questions)
    title = f"fused recall, {ENTRIES:,} entries, static encoder"
    return [
        against(f"{title}, beside FTS5", fused, "ms", reference=stock),
        at_most(title, fused, "ms", STATIC_MS_MAX),
        at_most(
            "a question's vector, static", _timed(lambda each: encoder.encode([each]), questions), "ms", 0.1
        ),
        plain("loading the static encoder", load, "ms"),
        plain(
            "encoding one entry, static", _timed(lambda each: features(each, encoder), documents[:60]), "ms"
        ),
        at_most("resident with the static encoder", _resident("static"), "MB", RESIDENT_MB_MAX),
    ]


def _with_encoder(
    corpus: Corpus,
    documents: Sequence[Document],
    made: Sequence[Features],
    questions: Sequence[str],
    encoder: Encoder,
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
        at_most(
            "update after one write, encoded before", _writes(corpus, documents, encoder), "ms", UPDATE_MS_MAX
        ),
        *_index(documents, made, encoder),
        plain("encoding one entry", _timed(lambda each: features(each, encoder), documents[:ROUNDS]), "ms"),
        at_most("resident with the packaged encoder", _resident("packaged"), "MB", RESIDENT_MB_MAX),
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


def _index(documents: Sequence[Document], made: Sequence[Features], encoder: Encoder) -> list[Figure]:
    """The index of a branch of so many entries: its size, and what one write costs the next answer and after.

    The resident process answers before it encodes; catching up encodes the one entry and writes the index.
    """
    with tempfile.TemporaryDirectory() as folder, home(Path(folder), "index") as (app, project):
        part = BranchPart(project.key, main_branch_id(project.key))
        following = FollowingCorpus()

        def bring_up(now: Sequence[Document], source: str, seconds: float) -> float:
            featuring = Featuring(app.index, app.clock, encoder, seconds=seconds)
            begun = time.perf_counter()
            following.bring_up([PartDocuments(part, source, tuple(now))], featuring)
            return 1_000 * (time.perf_counter() - begun)

        ready = {version_of(document): pack(each) for document, each in zip(documents, made, strict=True)}
        app.index.save(part, ready, source="first", encoder=encoder.fingerprint)
        stored = Path(app.home.path, path_of(part)).stat().st_size / len(documents)
        bring_up(documents, "first", _SECONDS)
        answering, after = [], []
        now = list(documents)
        for number in range(ROUNDS):
            now[number] = msgspec.structs.replace(now[number], text=f"{now[number].text} again")
            answering.append(bring_up(now, f"write {number}", 0))
            after.append(bring_up(now, f"write {number}", _SECONDS))
        if following.pending:
            raise ValueError("Something was not encoded in time.")
    return [
        at_most("update after one write, resident", median(answering), "ms", UPDATE_MS_MAX),
        plain("catching up after one write, when idle", median(after), "ms"),
        at_most("index on disk, a fact", stored, "bytes", FACT_BYTES_MAX),
    ]


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


def _resident(encoder: str) -> float:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [sys.executable, "-c", CHILD, encoder]
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return int(done.stdout) / 1024
