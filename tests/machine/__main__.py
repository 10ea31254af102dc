"""Long hunts on a real machine, until the work is done or the time is over; figures go to build/machine.json.

    python -m tests.machine --sweep            # every fault at every system call of every writing command
    python -m tests.machine --rooms            # every command on a full disk, at every amount of room
    python -m tests.machine --kills 2000       # random SIGKILLs of two workers and a writer
    ... --seconds 600 --only "forget" --seed 7

What a hunt finds is printed with what repeats it, and at the end how much of the whole was reached. The
status is 1 when a promise was broken, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import BUILD_FOLDER, Figure, at_most, plain, write
from tests.long_runs import (
    EVERY_SECONDS,
    count_of,
    interruptible,
    seconds_of,
    status_of,
    there_are,
    unhearing,
)
from tests.machine.aftermath import killed
from tests.machine.cases import CASES, Case, clean_view
from tests.machine.commands import cannot_trace
from tests.machine.small_disk import Room, SmallDisk, cannot_mount, small_disk
from tests.machine.sweep import FAULTS, Struck, census, squeeze, strike
from tests.machine.world import World, quick_folder

SEED = 20_270_301
KILLS_PER_HOME = 200
SECONDS_PER_HOME = 300.0
PLENTY = 4_000
STRIKES, ROOMS, KILLS = "faults", "full disks", "kills"
PAGES = (*range(20), *range(76, 90))
INODES = range(24)


class Hunt:
    """What was tried and what was found."""

    def __init__(self, seconds: float) -> None:
        self.tried: Counter[str] = Counter()
        self.found: list[str] = []
        self.reached: dict[str, tuple[int, int]] = {}  # of each part of the hunt: how many, of how many
        self._until = time.monotonic() + seconds
        self._shown = time.monotonic()

    @property
    def left(self) -> float:
        """How many seconds are left."""
        return self._until - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.left <= 0

    def note(self, kind: str, where: str, struck: Struck) -> None:
        """Count one fault, and keep what it broke."""
        self.tried[kind] += 1
        self.tried[f"{kind}, not met"] += not struck.hit
        self.find(where, list(struck.wrong))

    def find(self, where: str, wrong: list[str]) -> None:
        """Keep what was broken, and print it at once; say now and then how far it is."""
        for what in wrong:
            self.found.append(f"{where}: {what}")
            print(f"BROKEN {where}:\n    {what[:1_000]}", flush=True)
        if time.monotonic() - self._shown > EVERY_SECONDS:
            self._shown = time.monotonic()
            print(", ".join(f"{kind} {count}" for kind, count in self.tried.items()), flush=True)

    def told(self, parts: list[str]) -> str:
        """How much of the whole was reached."""
        reached = [
            f"{self.reached[part][0]:,} of {self.reached[part][1]:,} {part}"
            for part in parts
            if part in self.reached
        ]
        missed = [part for part in parts if part not in self.reached]
        return "; ".join([*reached, *([f"{' and '.join(missed)} not reached"] if missed else [])])

    @property
    def looked_at(self) -> int:
        """How many faults, full disks and kills there were."""
        return sum(done for done, _planned in self.reached.values())

    def figures(self) -> list[Figure]:
        """What goes to the file."""
        counts = [plain(kind, count, "times") for kind, count in sorted(self.tried.items())]
        return [*counts, at_most("violations", len(self.found), "violations", 0)]


def sweep(hunt: Hunt, cases: list[Case], seed: int) -> None:
    """Every fault at every call, in an order that spreads over all of them from the start."""
    with quick_folder() as folder, _opened(World(folder)) as world:
        plans = {case.name: (clean_view(world, case), census(world, case)) for case in cases}
        hunt.tried["calls"] = sum(len(calls) for _, calls in plans.values())
        strikes = [
            (case, fault, call)
            for case in cases
            for fault in FAULTS.values()
            for call in [call for call in plans[case.name][1] if call.name in fault.calls][
                : 1 if fault.every else None
            ]
        ]
        random.Random(seed).shuffle(strikes)
        print(f"{len(strikes)} faults at {hunt.tried['calls']} calls of {len(cases)} cases", flush=True)
        for number, (case, fault, call) in enumerate(strikes):
            hunt.reached[STRIKES] = (number, len(strikes))
            if hunt.over:
                return
            struck = strike(world, case, call, fault, plans[case.name][0])
            hunt.note(fault.name, f"{case.name}, {fault.name} at {call.name} {call.number}", struck)
        hunt.reached[STRIKES] = (len(strikes), len(strikes))


def rooms(hunt: Hunt, cases: list[Case], seed: int) -> None:
    """Every command with every amount of room."""
    with _small_world() as (disk, world):
        clean = {case.name: clean_view(world, case) for case in cases}
        some = [*(Room(pages, PLENTY) for pages in PAGES), *(Room(PLENTY, inodes) for inodes in INODES)]
        plans = list(itertools.product(cases, some))
        random.Random(seed).shuffle(plans)
        for number, (case, room) in enumerate(plans):
            hunt.reached[ROOMS] = (number, len(plans))
            if hunt.over:
                return
            struck = squeeze(world, disk, case, room, clean[case.name])
            hunt.note("small rooms", f"{case.name} with {room}", struck)
        hunt.reached[ROOMS] = (len(plans), len(plans))


@contextlib.contextmanager
def _small_world() -> Iterator[tuple[SmallDisk, World]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        small_disk(Path(folder) / "disk") as disk,
        _opened(World(Path(folder) / "world", disk=disk.path)) as world,
    ):
        yield disk, world


@contextlib.contextmanager
def _opened(world: World) -> Iterator[World]:
    """Open a world whose processes do not hear Ctrl-C."""
    with contextlib.ExitStack() as stack:
        with unhearing():
            stack.enter_context(world.opened())
        yield world


def kills(hunt: Hunt, count: int, seed: int) -> None:
    """So many kills, each two hundred of them on a home of its own, which is then drained and checked."""
    while hunt.tried["kills"] < count and not hunt.over:
        left = min(KILLS_PER_HOME, count - hunt.tried["kills"])
        with (
            tempfile.TemporaryDirectory() as folder,
            killed(Path(folder), seed=seed, kills=left, seconds=min(SECONDS_PER_HOME, hunt.left)) as after,
        ):
            story = after.story
            hunt.tried["kills"] += story.kills
            hunt.reached[KILLS] = (hunt.tried["kills"], count)
            hunt.tried["homes"] += 1
            hunt.tried["jobs accepted"] += len(story.accepted)
            hunt.tried["writes acknowledged"] += len(story.noted)
            hunt.tried["calls sent"] += len(after.sends)
            hunt.find(f"kills, seed {seed}", after.wrong())
        seed += 1


def main() -> int:
    """Hunt as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.machine", description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", action="store_true", help="faults at system calls")
    parser.add_argument("--rooms", action="store_true", help="full disks")
    parser.add_argument("--kills", type=count_of, default=0, metavar="N", help="random SIGKILLs")
    parser.add_argument("--seconds", type=seconds_of, default=float("inf"), help="stop after that time")
    parser.add_argument("--only", default="", metavar="CASE", help="only the cases whose names begin so")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    asked = {STRIKES: options.sweep, ROOMS: options.rooms, KILLS: bool(options.kills)}
    parts = [part for part, wanted in asked.items() if wanted]
    if not parts:
        parser.error("nothing to do: give --sweep, --rooms or --kills N, or several of them")
    for part, why in ((STRIKES, cannot_trace), (ROOMS, cannot_mount)):
        if part in parts and (trouble := why()):
            parser.error(trouble)
    cases = [case for case in CASES if case.name.startswith(options.only)]
    if not cases:
        parser.error(there_are("case", options.only, (case.name for case in CASES)))
    hunt = Hunt(options.seconds)
    with interruptible() as stop:
        _hunt(hunt, cases, options)
    write(BUILD_FOLDER / "machine.json", hunt.figures())
    for figure in hunt.figures():
        print(f"{figure.name:28}{figure.value:>10,.0f}")
    print(hunt.told(parts))
    return status_of(stop, sound=not hunt.found, looked_at=hunt.looked_at)


def _hunt(hunt: Hunt, cases: list[Case], options: argparse.Namespace) -> None:
    """Go through the parts that were asked for, while there is time."""
    if options.sweep:
        sweep(hunt, cases, options.seed)
    if options.rooms and not hunt.over:
        rooms(hunt, cases, options.seed)
    if options.kills:
        kills(hunt, options.kills, options.seed)


if __name__ == "__main__":
    sys.exit(main())
