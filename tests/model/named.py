"""One walk by its name, in a process of its own that says how far it is."""

from __future__ import annotations

import time

import msgspec

from tests.model.moves import Moves
from tests.model.scenarios import DEEP, QUICK
from tests.model.walk import Walk, walk

STATES_MAX = 5_000_000
SAY_SECONDS = 5.0
SCENARIOS = {**QUICK, **DEEP}


class Walked(msgspec.Struct, frozen=True):
    """A walk under its name, and how long it took."""

    name: str
    seen: Walk
    seconds: float


def walk_named(name: str) -> Walked:
    """Walk one scenario to its end; says how far it is."""
    begun = said = time.monotonic()

    def say(states: int, waiting: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said > SAY_SECONDS:
            said = now
            print(f"{name}: {states:,} states, {waiting:,} to visit, {now - begun:.0f} s", flush=True)

    seen = walk(Moves(SCENARIOS[name]), states_max=STATES_MAX, say=say)
    return Walked(name, seen, time.monotonic() - begun)
