"""The child of Pi's extension, asked over its wire: what it adds to a turn and to a tool call (I-01, G-04).

What a turn costs inside the real Pi is measured by bench_pi.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from perdure.authority.filesystem import layout
from perdure.core.memory import BRANCH_CHARS_MAX
from perdure.service.remember import MemoryService
from tests.bench.figures import Figure, against, at_most, floor_seconds, plain, scratch
from tests.bench.rig import home, median
from tests.pi_child import PiChild

ENTRIES = 60
SESSIONS = 5
TURNS = 200
PAUSE_SECONDS = 0.01
TIGHT_CHARS = 2_500
WRITES = 40
ROOM = 100
"""Characters of a branch that are left when it is full."""
PROMPT = (
    "Please fix the failing test of the parser. It says that the port is taken! Should we change the number? "
    "I think the docs tell how. Look at the deploy script first. Then run everything again, and write it up."
)


def main() -> list[Figure]:
    """Measure 60 entries, with room and without, and two full branches."""
    with scratch() as folder, home(folder, "pi") as (app, project):
        memory = app.memory_service(project.key)
        for number in range(ENTRIES):
            memory.remember(
                f"Fact number {number}: " + "the tests of this part run alone. "[: 60 + number % 7]
            )
        work = Path(project.root)
        starts, firsts = _starts(work)
        bare = [
            _seconds(lambda: subprocess.run((sys.executable, "-c", "pass"), check=True)) for _ in range(9)
        ]
        with PiChild(work) as pi:
            turns = _turns(pi)
            writes, inside, floors = _writes(pi, memory, folder)
        config = Path(app.home.path) / layout.CONFIG
        config.write_text(f"[injection]\ncharacters = {TIGHT_CHARS}\n")
        tight = _crowded(work)
        config.unlink()
        for scope in (project.key, "user"):
            _fill(app.memory_service(scope))
        crowded = _crowded(work)
    ms = 1_000
    return [
        against(
            "Pi child: start to hello, beside a bare interpreter",
            median(starts) * ms,
            "ms",
            reference=median(bare) * ms,
        ),
        at_most("Pi child: first turn after hello", median(firsts) * ms, "ms", 150.0),
        at_most(f"Pi child: a later turn, {ENTRIES} entries", median(turns) * ms, "ms", 2.0),
        plain("Pi child: a later turn, the slowest of all", max(turns) * ms, "ms"),
        at_most(
            f"Pi child: a turn that half of {ENTRIES} entries find no room in", median(tight) * ms, "ms", 2.0
        ),
        plain("Pi child: a turn with two full branches, 50 entries too many", median(crowded) * ms, "ms"),
        against(
            "Pi child: remember, beside the same call without Pi",
            median(writes) * ms,
            "ms",
            reference=median(inside) * ms,
        ),
        plain("Pi child: remember, besides two bare syncs", (median(writes) - median(floors)) * ms, "ms"),
    ]


def _starts(work: Path) -> tuple[list[float], list[float]]:
    """Seconds from the start of the process to its answer to hello, and of the first turn after that."""
    starts: list[float] = []
    firsts: list[float] = []
    for _ in range(SESSIONS):
        begun = time.perf_counter()
        with PiChild(work) as pi:
            starts.append(time.perf_counter() - begun)
            firsts.append(_seconds(lambda pi=pi: pi.ask("turn", prompt=PROMPT)))  # type: ignore[misc] # bound now
    return starts, firsts


def _turns(pi: PiChild) -> list[float]:
    """Seconds of turns. What the child does after an answer is over when the next turn comes."""
    found: list[float] = []
    for _ in range(TURNS):
        time.sleep(PAUSE_SECONDS)
        found.append(_seconds(lambda: pi.ask("turn", prompt=PROMPT)))
    return found


def _crowded(work: Path) -> list[float]:
    """Seconds of turns where not all has room."""
    with PiChild(work) as pi:
        found = _turns(pi)
        told = pi.ask("why")["data"]
    assert told["included"]
    assert told["left_out"]
    return found


def _writes(pi: PiChild, memory: MemoryService, folder: Path) -> tuple[list[float], list[float], list[float]]:
    """Seconds of writes that supersede one key, over the wire and in this process, and of bare syncs."""
    asked: list[float] = []
    inside: list[float] = []
    floors: list[float] = []
    for number in range(WRITES + 1):
        text = f"Measured for the {number}. time."
        begun = time.perf_counter()
        pi.ask("remember", text=text, key="measured")
        middle = time.perf_counter()
        memory.remember(text, key="measured here")
        ended = time.perf_counter()
        if number:  # the first begins to write in this home
            asked.append(middle - begun)
            inside.append(ended - middle)
        floors.append(floor_seconds(folder, b"x" * 600, f"floor-{number}"))
    return asked, inside, floors


def _fill(memory: MemoryService) -> None:
    """Fill a branch nearly to its limit."""
    number = 0
    what = "the build of that part comes first, before any other part is looked at. "
    while memory.branch().chars < BRANCH_CHARS_MAX - ROOM:
        memory.remember(f"Another fact, {number}: {what[: 70 + number % 6]}")
        number += 1


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
