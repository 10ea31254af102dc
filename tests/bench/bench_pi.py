"""Perdure inside the real Pi: what it adds to the start, to a turn and to a tool call (I-01, G-04).

Two small extensions, loaded before and after Perdure's, time how long Pi's events are with it. The turns are
taken one after another in one session, against a scripted model on loopback.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from perdure.core.memory import BRANCH_CHARS_MAX
from tests.bench.figures import Figure, at_least, at_most, floor_seconds, plain, scratch
from tests.bench.rig import median
from tests.e2e.pi.driver import PiUser
from tests.e2e.pi.install import install
from tests.e2e.pi.model import Model, remembers, says, system_text
from tests.e2e.pi.rpc import Rpc

CLOCK = Path(__file__).parent / "pi_clock"
ENTRY_CHARS = 90
SESSIONS = 3
TURNS = 24
WRITES = 12
PAUSE_SECONDS = 2.0
"""A person reads an answer before the next prompt; the review of the turn before runs meanwhile."""

ROOM = 2_000
"""Characters of the branch that are left for what the tool calls write."""


def main() -> list[Figure]:
    """Measure a branch that is nearly full in several sessions of one user."""
    with scratch() as folder, Model() as model:
        user = PiUser(install(dict(os.environ)), folder / "user", model.url)
        user.perdure("init")
        for number in range((BRANCH_CHARS_MAX - ROOM) // ENTRY_CHARS):
            user.perdure("remember", f"Fact number {number}: ".ljust(ENTRY_CHARS - 1, "x") + ".")
        clock = _with_clocks(user)
        imports = [_import_ms(user) for _ in range(SESSIONS)]
        clock.unlink()
        starts: list[float] = []
        firsts: list[float] = []
        turns: list[float] = []
        for _ in range(SESSIONS):
            with Rpc(user) as pi:
                for number in range(TURNS // SESSIONS + 1):
                    pi.prompt(f"What is fact number {number}?")
                    time.sleep(PAUSE_SECONDS)
            first, *rest = _noted(clock, "before_agent_start")
            firsts.append(first)
            turns += rest
            starts += _noted(clock, "session_start")
            clock.unlink()
        calls, floors = _tool_calls(user, model, folder)
    given = sum("Fact number 0:" in system_text(request) for request in model.requests)
    return [
        at_most("Pi: the extension's import and registration", median(imports), "ms", 10.0),
        at_most("Pi: session_start, which starts the child", median(starts), "ms", 10.0),
        at_least("Pi: requests that held memory", 100.0 * given / len(model.requests), "%", 100.0),
        at_most("Pi: first turn, the start of Python included", median(firsts), "ms", 150.0),
        at_most("Pi: a later turn", median(turns), "ms", 2.0),
        plain("Pi: a later turn, the slowest of all", max(turns), "ms"),
        at_most("Pi: a call that writes, besides two bare syncs", median(calls) - median(floors), "ms", 5.0),
    ]


def _with_clocks(user: PiUser) -> Path:
    """Have Pi load one clock before and one after Perdure; give the file that they write."""
    path = user.agent / "settings.json"
    settings = json.loads(path.read_text())
    settings["extensions"] = [str(CLOCK / "before.ts")]
    settings["packages"].append(str(CLOCK / "after.ts"))
    path.write_text(json.dumps(settings))
    clock = user.base / "clock"
    user.env = {"PI_CLOCK_FILE": str(clock), "PI_TIMING": "1"}
    user.say("hi")  # Pi translates TypeScript once, and keeps the translation
    return clock


def _import_ms(user: PiUser) -> float:
    """What Pi itself says of loading the extension, in milliseconds."""
    said = re.findall(r"extension/perdure\.ts (?:module import|factory): (\d+)ms", user.say("hi").err)
    return float(sum(map(int, said)))


def _noted(clock: Path, event: str) -> list[float]:
    found = [json.loads(line) for line in clock.read_text().splitlines()]
    return [each["ms"] for each in found if each["event"] == event]


def _tool_calls(user: PiUser, model: Model, folder: Path) -> tuple[list[float], list[float]]:
    """How long calls that store a fact took, by Pi's own clock, and as many bare syncs, in milliseconds."""
    calls: list[float] = []
    floors: list[float] = []
    with Rpc(user) as pi:
        for number in range(WRITES):
            model.play(remembers(f"Written {number}.", key=f"written {number}"), says("Done."))
            start = len(pi.events)
            time.sleep(PAUSE_SECONDS)
            pi.prompt("store it")
            ended = [each for each in pi.events[start:] if each.get("type") == "tool_execution_end"]
            calls += [float(each["durationMs"]) for each in ended]
            floors.append(floor_seconds(folder, b"x" * 600, f"floor-{number}") * 1_000)
    return calls, floors
