"""Measure what a prompt does for the injected block: `python -m tests.quality.selection_quality`.

Each case is a memory of 60 entries with random ages and importances, a prompt that asks for three of them,
and a block of 1,500 characters. Which three are needed depends on importance: a high entry is needed three
times as often as a normal one, a low one a third as often. Printed is the share of needed entries that the
block holds, with a 95% interval from a bootstrap over cases, for each way to choose; build/selection.json
keeps the table.

The facts and their questions are read from the file that PERDURE_AGENT_FACTS names; without it nothing is
measured. Priors were chosen before measuring and are not tuned on these facts.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from perdure.core.inject import Item, render
from perdure.provider.encoder import packaged
from perdure.recall.bearing import bearing
from perdure.recall.engine import Corpus, Encoder, features, search
from perdure.recall.found import Document
from perdure.recall.select import worth
from perdure.service.recall import pieces_of

CASES: Final = 120
NEEDED: Final = 3
ENTRIES: Final = 60
CHARS_MAX: Final = 1_500
TOKENS_MAX: Final = 10_000
ODDS: Final = {"high": 3.0, "normal": 1.0, "low": 1 / 3}
SHARES: Final = (0.2, 0.6, 0.2)
RESAMPLES: Final = 2_000
REPORT: Final = Path("build/selection.json")
SUBJECTS: Final = "billing search mailer login export reports caching uploads webhooks archive".split()


class Fact(msgspec.Struct, frozen=True):
    """One fact, a question that shares words with it, and one that does not."""

    key: str
    value: str
    queries: tuple[str, str]


class Case(NamedTuple):
    """One memory, the ids of what is needed, and the prompt that needs it."""

    items: list[Item]
    needed: frozenset[str]
    prompt: str


Relevance = Callable[[str], Mapping[str, float]]
Choice = Callable[[Case], Mapping[str, float]]


def cases(facts: Sequence[Fact], kind: int) -> list[Case]:
    """Give the cases of one kind of question (0 shares words, 1 does not), the same in every run."""
    chance = random.Random(20_260 + kind)
    return [_case(facts, kind, chance) for _ in range(CASES)]


def _case(facts: Sequence[Fact], kind: int, chance: random.Random) -> Case:
    texts = [(fact.key, fact.value) for fact in facts]
    texts += [
        (f"{name} owner", f"The {name} module is looked after by the {name} team.") for name in SUBJECTS
    ]
    texts = texts[:ENTRIES]
    ranks = chance.choices(list(ODDS), SHARES, k=len(texts))
    ages = chance.sample(range(len(texts)), len(texts))
    items = [
        Item("For this project", str(place), value, key=key, importance=rank, updated_ms=age)
        for place, ((key, value), rank, age) in enumerate(zip(texts, ranks, ages, strict=True))
    ]
    drawn = sorted(range(len(facts)), key=lambda place: chance.random() ** (1 / ODDS[ranks[place]]))[-NEEDED:]
    prompt = "\n".join(facts[place].queries[kind] for place in drawn)
    return Case(items, frozenset(map(str, drawn)), prompt)


def relevance_of(items: Sequence[Item], encoder: Encoder | None) -> Relevance:
    """Recall over the entries of a case: their texts are the same in all cases."""
    corpus = Corpus()
    for item in items:
        document = Document(item.entry_id, item.text, key=item.key)
        corpus.add(document, features(document, encoder) if encoder is not None else None)
    known: dict[str, Mapping[str, float]] = {}

    def piece(text: str) -> Mapping[str, float]:
        if text not in known:
            answer = search(corpus, text, limit=len(corpus), encoder=encoder)
            known[text] = {hit.doc_id: hit.score for hit in (*answer.hits, *answer.nearest)}
        return known[text]

    def asked(prompt: str) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for text in pieces_of(prompt):
            for doc_id, score in piece(text).items():
                found[doc_id] = max(found.get(doc_id, 0.0), score)
        return found

    return asked


def by_words(items: Sequence[Item]) -> Relevance:
    """What hosts ask in front of every turn."""
    corpus = Corpus()
    for item in items:
        corpus.add(Document(item.entry_id, item.text, key=item.key))
    return lambda prompt: bearing(corpus, pieces_of(prompt))


def choices(relevances: Mapping[str, Relevance]) -> dict[str, Choice]:
    """Every way to choose, as the worth of each entry."""
    ways: dict[str, Choice] = {
        "age": lambda case: {item.entry_id: float(item.updated_ms) for item in case.items},
        "importance, then age": lambda case: {
            item.entry_id: worth(item.importance, 0.0) for item in case.items
        },
    }
    for name, relevance in relevances.items():
        ways[f"relevance alone, {name}"] = lambda case, asked=relevance: asked(case.prompt)  # type: ignore[misc] # bound now
        ways[f"both, {name}"] = lambda case, asked=relevance: {  # type: ignore[misc] # bound now
            item.entry_id: worth(item.importance, asked(case.prompt).get(item.entry_id, 0.0))
            for item in case.items
        }
    return ways


def shares(given: Sequence[Case], choose: Choice) -> list[float]:
    """The share of needed entries in the block, for each case."""
    found = []
    for case in given:
        block = render(case.items, chars_max=CHARS_MAX, tokens_max=TOKENS_MAX, worth=dict(choose(case)))
        found.append(len(case.needed & set(block.included)) / NEEDED)
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95% bootstrap interval of a mean over cases."""
    chance = random.Random(7)
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def main() -> int:
    """Print the table and write the report; 1 when a prompt does not beat age and importance."""
    path = os.environ.get("PERDURE_AGENT_FACTS")
    if not path:
        print("skipped: PERDURE_AGENT_FACTS names no file of facts and questions.")
        return 0
    facts = msgspec.convert(json.loads(Path(path).read_text(encoding="utf-8"))["facts"], list[Fact])
    encoder = packaged()
    encoders: dict[str, Encoder | None] = {"words": None} | ({"encoder": encoder} if encoder else {})
    first = cases(facts, 0)[0].items
    relevances = {name: relevance_of(first, each) for name, each in encoders.items()}
    ways = choices(relevances | {"words at a turn": by_words(first)})
    rows = []
    print(f"{'questions':<14}{'chosen by':<40}share of needed entries in the block")
    for kind, label in enumerate(("shared words", "other words")):
        given = cases(facts, kind)
        plain = statistics.fmean(shares(given, ways["importance, then age"]))
        for name, choose in ways.items():
            values = shares(given, choose)
            mean, (low, high) = statistics.fmean(values), interval(values)
            print(f"{label:<14}{name:<40}{mean:.3f} [{low:.3f}, {high:.3f}]")
            judged = name.startswith("both")
            rows.append(
                {
                    "name": f"selection {label}: {name}",
                    "value": mean,
                    "unit": "share",
                    "reference": [low, high],
                    "ratio": mean / plain if plain else None,
                    "target": plain if judged else None,
                    "holds": not judged or low > plain,
                }
            )
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
