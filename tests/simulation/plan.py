"""What a seed means: who takes part, what befalls them and when."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

from tests.simulated_media import Model

EventKind = Literal[
    "kill",
    "power loss",
    "reboot",
    "stall",
    "jump",
    "midnight",
    "pass",
    "sync fails",
    "resume",
    "fill",
    "empty",
    "lose lock",
    "ambush",
    "other release",
]

WORKERS = ("worker-1", "worker-2", "worker-3")
OTHERS = ("writer-1", "writer-2", "host-1", "host-2", "user", "keeper", "purger")
DAY_SECONDS = 86_400.0
STEPS_MAX = 12_000
STALLS = (60.0, 1_200.0, 2_500.0, 2_500.0)
"""How many seconds whoever is ambushed sleeps; a lease is 900."""
FRUGAL = 0.3
OTHER_RELEASE = 0.2

_LIKELY: dict[EventKind, int] = {
    "kill": 6,
    "power loss": 4,
    "reboot": 2,
    "stall": 2,
    "jump": 2,
    "midnight": 1,
    "pass": 1,
    "sync fails": 2,
    "fill": 2,
    "lose lock": 2,
}
"""How likely an event is, to begin with; the others follow from one of these, or lie in wait."""

AMBUSHES: dict[str, int] = {
    "stall before claim": 6,
    "stall before reserved": 1,
    "stall before fate": 4,
    "stall after fate": 3,
    "stall before result": 5,
    "stall before decision": 4,
    "stall before intent": 2,
    "stall before branch": 1,
    "stall before outcome": 3,
    "stall before event": 1,
    "give up before fate": 2,
    "give up after fate": 3,
    "give up before result": 4,
    "give up before decision": 2,
    "give up before intent": 1,
    "give up before outcome": 3,
    "give up before event": 2,
    "give up before unknown": 1,
    "kill before result": 1,
    "kill after fate": 2,
    "kill after intent": 2,
    "kill after branch": 2,
    "power loss after fate": 2,
    "power loss before result": 1,
    "power loss after decision": 2,
    "power loss after branch": 2,
    "power loss after done": 1,
    "power loss after receipt": 1,
    "power loss after outcome": 1,
    "midnight after reserved": 1,
    "midnight after fate": 3,
    "set back after fate": 2,
    "set back after decision": 1,
}
"""What may wait for the next process that publishes such a record, and how likely it is.

Whoever is given up stalls too, and loses the file whose lock says that it lives: others hold it for dead.
"""


class Event(msgspec.Struct, frozen=True):
    """Something that befalls the machine before step `at`. `who` and `amount` mean what `kind` says."""

    at: int
    kind: EventKind
    who: str = ""
    amount: float = 0.0


class Plan(msgspec.Struct, frozen=True):
    """One whole run. Everything in it follows from the seed, and parts can be left out to make it smaller."""

    seed: int
    model: Model
    stay: float
    actors: tuple[str, ...]
    events: tuple[Event, ...]
    calls_per_day: int
    mood: str  # what the reviewer mostly does, see `reviewer`
    frugal: bool = False  # whether the limits of the day stand until everything has come to rest
    steps_max: int = STEPS_MAX


def plan_of(seed: int) -> Plan:
    """The plan of a seed."""
    chance = random.Random(f"plan {seed}")
    workers = WORKERS[: chance.choice((2, 2, 3))]
    others = tuple(
        name for name in OTHERS if name in {"writer-1", "host-1", "host-2"} or chance.random() < 0.6
    )
    actors = (*workers, *others)
    reach = chance.choice((600, 1_500, 3_000))
    events = [event for _ in range(chance.randrange(0, 14)) for event in _event(chance, actors, reach)]
    events += _waiting(random.Random(f"ambushes {seed}"), reach)
    return Plan(
        seed=seed,
        model=chance.choice(("posix-weak", "ext4")),
        stay=chance.choice((0.2, 0.6, 0.85, 0.95)),
        actors=actors,
        events=tuple(sorted(events, key=lambda event: event.at)),
        calls_per_day=chance.choice((1, 2, 6, 40)),
        mood=chance.choice(("good", "mixed", "mixed", "slow", "bad")),
        frugal=chance.random() < FRUGAL,
    )


def _waiting(chance: random.Random, reach: int) -> list[Event]:
    """What lies in wait for those who publish a record."""
    kinds, weights = list(AMBUSHES), list(AMBUSHES.values())
    ambushes = [
        Event(chance.randrange(1, reach), "ambush", what, chance.choice(STALLS))
        for what in chance.choices(kinds, weights, k=chance.randrange(0, 5))
    ]
    if chance.random() < OTHER_RELEASE:
        ambushes.append(Event(chance.randrange(20, reach), "other release"))
    return ambushes


def _event(chance: random.Random, actors: tuple[str, ...], reach: int) -> list[Event]:
    """What befalls the machine once, with what ends it where something has to."""
    at = chance.randrange(20, reach)
    later = at + chance.randrange(20, 600)
    kind = chance.choices(list(_LIKELY), list(_LIKELY.values()))[0]
    events = [Event(at, kind)]
    match kind:
        case "kill":
            events = [Event(at, kind, chance.choice(actors))]
        case "stall":
            events = [Event(at, kind, chance.choice(actors), chance.choice((3.0, 60.0, 2_000.0)))]
        case "jump":
            days = chance.choice((-1.5, -0.1, -0.001, 0.1, 1.0, 5.0, 20.0))
            events = [Event(at, kind, amount=days * DAY_SECONDS)]
        case "pass":
            events = [Event(at, kind, amount=chance.choice((3_600.0, 200_000.0)))]
        case "sync fails":
            cure: EventKind = chance.choice(("resume", "power loss", "reboot"))
            failing = chance.choice(("sync_file", "sync_folder"))
            events = [Event(at, kind, failing, chance.randrange(1, 6)), Event(later, cure)]
        case "fill":
            what = chance.choice(("bytes", "inodes"))
            events = [Event(at, kind, what, chance.randrange(0, 4)), Event(later, "empty")]
        case "lose lock":
            events = [Event(at, kind, amount=chance.random())]
    return events
