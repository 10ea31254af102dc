"""Many seeds on all cores, with progress: what they came to, added up."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice

import msgspec

from tests.long_runs import EVERY_SECONDS, Stop, interruptible, unhearing
from tests.simulation.run import Played, play_seed, play_timed, shrink, story

SHRUNK_MAX = 3
AHEAD = 4
"""How many seeds wait for each process."""


class Sums(msgspec.Struct):
    """What the runs came to so far."""

    planned: int | None  # None: as many as there is time for
    seeds: int = 0
    failed: list[int] = msgspec.field(default_factory=list)
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    steps: int = 0
    switches: int = 0
    sends: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    seconds_max: float | None = None
    stop: Stop = msgspec.field(default_factory=Stop)

    def add(self, played: Played) -> None:
        """Count one run."""
        self.seeds += 1
        self.counts += played.counts
        self.steps, self.switches = self.steps + played.steps, self.switches + played.switches
        self.sends += played.sends
        self.processor_seconds += played.processor_seconds
        if played.broken is not None:
            self.failed.append(played.plan.seed)

    @property
    def per_second(self) -> float:
        """Seeds per second of all processes together."""
        return self.seeds / self.seconds if self.seconds else 0.0

    def told(self) -> str:
        """One line of progress."""
        of = f" of {self.planned:,}" if self.planned is not None else ""
        lefts = []
        if self.planned is not None and self.per_second:
            lefts.append((self.planned - self.seeds) / self.per_second)
        if self.seconds_max is not None:
            lefts.append(self.seconds_max - self.seconds)
        left = f", {max(0.0, min(lefts)):.0f} s left" if lefts else ""
        violations = len(self.failed)
        return f"{self.seeds:,}{of} seeds, {self.per_second:.1f} a second, {violations} violations{left}"


def shrunk_story(seed: int) -> str:
    """A failing seed made smaller, as text."""
    played = play_seed(seed)
    return (
        story(shrink(played)) if played.broken is not None else f"seed {seed} holds when it is played again"
    )


def play_many(
    seeds: Iterator[int],
    *,
    planned: int | None,
    seconds_max: float | None = None,
    processes: int | None = None,
    say: Callable[[str], None] = print,
) -> Sums:
    """Play the seeds until none or no time is left. Failures are told when they have been made smaller."""
    sums = Sums(planned, seconds_max=seconds_max)
    count = processes or os.cpu_count() or 1
    with (
        ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool,
        interruptible() as sums.stop,
    ):
        for future_story in _play(pool, seeds, sums, count, say):
            say(future_story.result())
    return sums


def _play(
    pool: ProcessPoolExecutor, seeds: Iterator[int], sums: Sums, count: int, say: Callable[[str], None]
) -> list[Future[str]]:
    """Play, and give the failures that are being made smaller."""
    begun = told = time.monotonic()

    def more(number: int) -> set[Future[Played]]:
        with unhearing():
            return {pool.submit(play_timed, seed) for seed in islice(seeds, number)}

    playing = more(count * AHEAD)
    stories: list[Future[str]] = []
    while playing:
        done, playing = wait(playing, timeout=1.0, return_when=FIRST_COMPLETED)
        sums.seconds = time.monotonic() - begun
        for future in done:
            played = future.result()
            sums.add(played)
            if played.broken is not None:
                say(f"seed {played.plan.seed}: {played.broken}")
                if len(stories) < SHRUNK_MAX:
                    with unhearing():
                        stories.append(pool.submit(shrunk_story, played.plan.seed))
        if sums.seconds_max is None or sums.seconds < sums.seconds_max:
            playing |= more(len(done))
        if time.monotonic() - told > EVERY_SECONDS:
            told = time.monotonic()
            say(sums.told())
    return stories
