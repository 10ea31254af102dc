"""How often each hard meeting has to come up: a change that makes one vanish is noticed."""

from __future__ import annotations

import math
from collections import Counter

PER = 1_000
FLOORS: dict[str, int] = {
    "a worker of another policy stopped": 75,
    "a worker waits for a writer": 7_150,
    "a writer waits for a worker": 500,
    "call: again": 100,
    "call: busy": 150,
    "call: cut": 60,
    "call: lost": 250,
    "call: unreported": 60,
    "changes undone": 400,
    "clock set backwards": 150,
    "clock set forwards": 150,
    "election lost: claim": 100,
    "election lost: decision": 30,
    "election lost: fate": 25,
    "end: stale": 100,
    "event: empty": 250,
    "event: resume": 85,
    "event: sync fails": 250,
    "fenced": 15,
    "fenced before reserving": 150,
    "late result after a decision": 65,
    "late result after the outcome": 85,
    "late result after unknown": 40,
    "midnight during a call": 20,
    "observed": 500,
    "purge during a call": 100,
    "reconciled, owner gone": 80,
    "reconciling refused, owner alive": 70,
    "refused: disk": 6_200,
    "refused: full": 1_700,
    "retention during a call": 250,
    "reviews undone": 30,
    "taken twice: event": 20,
    "taken twice: outcome": 20,
    "woke after a take-over, before closing": 15,
    "woke after a take-over, before deciding": 20,
    "woke after a take-over, before sending": 10,
    "woke after a take-over, before sending, dispatched": 30,
    "woke after a take-over, holding nothing": 8,
    "woke after a take-over, with its answer": 40,
    "writes on a fork": 50,
}
"""By what is counted, the least number of times in so many seeds: about half of what was seen."""
SEEDS_MIN = 400
"""Over fewer seeds the rarest ones may fail to come up."""


def floor(name: str, seeds: int) -> int:
    """How often a meeting has to come up in so many seeds.

    Twice the floor is expected. Of few seeds chance may take more than half: four standard deviations below
    what is expected are allowed, so that every change of the product does not draw anew.
    """
    expected = 2 * FLOORS[name] * seeds / PER
    return max(0, math.floor(min(expected / 2, expected - 4 * math.sqrt(expected))))


def missed(counts: Counter[str], seeds: int) -> dict[str, tuple[int, int]]:
    """The meetings that came up too seldom: how often they did, and how often they should have."""
    return {name: (counts[name], floor(name, seeds)) for name in FLOORS if counts[name] < floor(name, seeds)}
