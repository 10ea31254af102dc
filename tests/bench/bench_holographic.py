"""Holographic memory and keys (R-01 to R-03): exactness, rejection, speed and size, beside a dictionary.

Draws docs/explanation/holographic-error.svg on the way: the errors that the law predicts, and those measured.
"""

from __future__ import annotations

import random
import statistics
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from perdure.recall.cues import CueMemory, complete
from perdure.recall.holographic import Decoded, HolographicMemory
from perdure.recall.keys import KeyIndex
from perdure.recall.phases import predicted_accuracy, superpose, symbols
from tests.bench.error_plot import Curve, Point, draw
from tests.bench.figures import Figure, against, at_least, at_most, plain

SIZES = (50, 1_000, 10_000, 100_000)
ASKED_MAX = 10_000
"""So many stored keys, and as many absent ones, are asked for."""
TYPICAL = 10_000
MISSPELT = 1_000
MISSPELT_CHARS_MIN = 6
ACCEPTED = 0.999
TIMED = 400
PLOT = Path("docs/explanation/holographic-error.svg")
PLOT_DIMENSIONS = (512, 1_024, 2_048)
PLOT_FACTS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1_024)
PLOT_DECODED = 2_000

_SUBJECTS = (
    "test build deploy lint format cache queue worker database migration session token user billing search "
    "index schema config feature release backup metric alert log trace route handler client server payment "
    "email image upload report export import job schedule sprint branch commit review docs editor shell "
    "terminal docker cluster node region bucket secret key cert proxy gateway socket stream event topic model"
).split()
_ASPECTS = (
    "command path owner limit timeout version port host url policy style name format size count rate "
    "interval retry prefix suffix folder file flag mode level target address window rule order default root"
).split()
_SYLLABLES = [a + b + c for a in "bcdfghklmnprstvw" for b in "aeiou" for c in ("", "n", "r", "s", "t")]


def main() -> list[Figure]:
    """Measure all of it, and draw the errors."""
    figures = [figure for size in SIZES for figure in _at_size(size)]
    figures += _speed()
    figures += _misspelt("phrases", _phrases(TYPICAL))
    figures += _misspelt("syllables", _made_up(TYPICAL))
    return [*figures, _errors()]


def _phrases(count: int) -> list[str]:
    """Keys that share their words, and some their numbers."""
    chance = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < count:
        words = [chance.choice(_SUBJECTS), chance.choice(_SUBJECTS), chance.choice(_ASPECTS)]
        tail = [str(chance.randrange(1_000))] if count > TYPICAL or chance.random() < 0.2 else []
        found[" ".join(words[chance.random() < 0.3 :] + tail)] = None
    return list(found)


def _made_up(count: int) -> list[str]:
    """Keys of one word each that nobody has heard of."""
    chance = random.Random(3)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(chance.choice(_SYLLABLES) for _ in range(chance.choice((3, 3, 4))))] = None
    return list(found)


def _facts(keys: Sequence[str]) -> dict[str, str]:
    return {key: f"value {number} of {key}" for number, key in enumerate(keys)}


def _at_size(size: int) -> list[Figure]:
    facts = _facts(_phrases(size))
    memory = HolographicMemory(facts)
    asked = list(facts)[:: max(1, size // ASKED_MAX)]
    right = sum(memory.recall(key).value == facts[key] for key in asked)
    stored = [memory.decode(key) for key in asked]
    absent = [memory.decode(f"absent {number}") for number in range(ASKED_MAX)]
    least = float(np.quantile([each.score for each in stored], 1 - ACCEPTED))
    rejected = sum(each.score < least for each in absent) / len(absent)
    name = f"{size:,} facts"
    return [
        at_least(f"{name}: keys recalled exactly, of {len(asked):,}", 100 * right / len(asked), "%", 100),
        at_least(f"{name}: absent keys rejected at 99.9% acceptance", 100 * rejected, "%", 99.9),
        at_least(f"{name}: accepted at our own threshold", 100 * _accepted(stored), "%", 99.9),
        at_least(f"{name}: absent keys rejected there", 100 - 100 * _accepted(absent), "%", 99.9),
        plain(f"{name}: in the fullest of {memory.banks:,} banks", memory.fullest, "facts"),
        at_most(f"{name}: packed", len(memory.pack()) / size, "B/fact", 1_024),
    ]


def _accepted(decoded: Sequence[Decoded]) -> float:
    return sum(each.accepted for each in decoded) / len(decoded)


def _speed() -> list[Figure]:
    keys = _phrases(TYPICAL)
    facts = _facts(keys)
    started = time.perf_counter()
    memory = HolographicMemory(facts)
    built = time.perf_counter() - started
    packed = memory.pack()
    started = time.perf_counter()
    HolographicMemory.unpack(packed, facts)
    unpacked = time.perf_counter() - started
    index = KeyIndex()
    for key in keys:
        index.add(key, key)
    dictionary = _milliseconds(lambda number: facts[keys[number]])
    index.find("no key")  # what only nearness needs is made here

    def added(number: int) -> None:
        index.add(f"added {number}", f"added key {number}")
        index.find(f"aded key {number}")

    return [
        at_most(f"rebuild of {TYPICAL:,} facts", built, "s", 2),
        plain(f"{TYPICAL:,} facts from packed traces", unpacked, "s"),
        at_most("recall, checked", _milliseconds(lambda at: memory.recall(keys[at])), "ms", 1),
        against("exact key", _milliseconds(lambda at: index.exact(keys[at])), "ms", reference=dictionary),
        at_most("add", _milliseconds(lambda at: memory.add(f"added {at}", "value")), "ms", 0.2),
        at_most("remove", _milliseconds(lambda at: memory.remove(f"added {at}")), "ms", 0.2),
        plain("add a key and look for it, misspelt", _milliseconds(added), "ms"),
    ]


def _milliseconds(call: Callable[[int], object]) -> float:
    """The median of `call(0)`, `call(1)`, ..., in milliseconds."""
    samples = []
    for number in range(TIMED):
        started = time.perf_counter()
        call(number)
        samples.append(1_000 * (time.perf_counter() - started))
    return statistics.median(samples)


def _misspelt(kind: str, keys: list[str]) -> list[Figure]:
    facts = _facts(keys)
    index, cues, memory = KeyIndex(), CueMemory(), HolographicMemory(facts)
    for key in keys:
        index.add(key, key)
        cues.add(key, key)
    chance = random.Random(5)
    long = [key for key in keys if len(key) >= MISSPELT_CHARS_MIN]
    tried = [(key, _edited(key, chance)) for key in chance.choices(long, k=MISSPELT)]
    tried = [(key, typed) for key, typed in tried if typed not in facts]
    found = [index.find(typed)[:1] for _, typed in tried]
    hits = sum(
        any(each.doc_id == key for each in each_found)
        for (key, _), each_found in zip(tried, found, strict=True)
    )
    wrong = sum(
        any(each.decides and each.doc_id != key for each in each_found)
        for (key, _), each_found in zip(tried, found, strict=True)
    )
    few = tried[: TIMED // 2]
    by_cue = [complete(typed, cues, memory) for _, typed in few]
    cued = sum(
        each is not None and each[1].value == facts[key] for (key, _), each in zip(few, by_cue, strict=True)
    )
    name = f"misspelt {kind}, {TYPICAL:,} keys"
    return [
        at_least(f"{name}: found first", 100 * hits / len(tried), "%", 95),
        at_most(f"{name}: decided wrongly", 100 * wrong / len(tried), "%", 1),
        at_most(f"{name}: time", _milliseconds(lambda at: index.find(tried[at][1])), "ms", 1),
        plain(f"{name}: found by superposed cue alone", 100 * cued / len(few), "%"),
        plain(
            f"{name}: time of that", _milliseconds(lambda at: cues.rank(few[at % len(few)][1], limit=1)), "ms"
        ),
    ]


def _edited(key: str, chance: random.Random) -> str:
    """A key after one edit of a kind and at a place that chance chooses."""
    at = chance.randrange(len(key) - 1)
    letter = chance.choice(string.ascii_lowercase)
    return chance.choice(
        (
            key[:at] + key[at + 1 :],
            key[:at] + letter + key[at:],
            key[:at] + letter + key[at + 1 :],
            key[:at] + key[at + 1] + key[at] + key[at + 2 :],
        )
    )


def _errors() -> Figure:
    """Draw predicted and measured errors, and give the largest distance between them."""
    curves, points = [], []
    largest = 0.0
    for dimensions in PLOT_DIMENSIONS:
        grid = np.unique(np.geomspace(PLOT_FACTS[0], PLOT_FACTS[-1], 49).round().astype(int)).tolist()
        line = [(facts, 1 - predicted_accuracy(dimensions, facts, facts)) for facts in grid]
        curves.append(Curve(dimensions=dimensions, line=tuple(line)))
        for facts in PLOT_FACTS:
            wrong, decoded = _measured(dimensions, facts)
            points.append(Point(dimensions=dimensions, facts=facts, wrong=wrong, decoded=decoded))
            distance = wrong / decoded - (1 - predicted_accuracy(dimensions, facts, facts))
            largest = max(largest, abs(distance))
    PLOT.write_text(draw(curves, points), encoding="utf-8")
    return at_most("errors: largest distance from the law", 100 * largest, "points", 4)


def _measured(dimensions: int, facts: int) -> tuple[int, int]:
    """Decode each key of traces of so many facts: wrong ones, and all."""
    unit = np.exp(2j * np.pi * np.arange(256) / 256).astype(np.complex64)
    wrong = decoded = 0
    for trial in range(-(-PLOT_DECODED // facts)):
        keys = symbols([f"key {trial} {number}" for number in range(facts)], "key", dimensions)
        values = symbols([f"value {trial} {number}" for number in range(facts)], "value", dimensions)
        real, imaginary = superpose(keys + values).astype(np.float32)
        unbound = (real + 1j * imaginary).astype(np.complex64) * unit[keys].conj()
        best = (unbound @ unit[values].conj().T).real.argmax(axis=1)
        wrong += int((best != np.arange(facts)).sum())
        decoded += facts
    return wrong, decoded
