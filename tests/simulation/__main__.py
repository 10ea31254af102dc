"""Many seeds, on all cores: `python -m tests.simulation 0-5000` (or `7`, `1,5,20-30`, `600-`).

`--seconds N` ends after that time; a span may then be open at its end. Prints progress and, of each of the
first failures, a smaller one and how to see it again; writes build/simulate.json.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable

from tests.bench.figures import BUILD_FOLDER, Figure, at_least, at_most, plain, table, write
from tests.long_runs import count_of, seconds_of, status_of
from tests.simulation.floors import FLOORS, SEEDS_MIN, floor
from tests.simulation.many import Sums, play_many

DEFAULT = "0-999"


def seeds_of(text: str) -> tuple[Iterable[int], int | None]:
    """Read `0-99`, `7`, a list of them with commas, or `600-`: the seeds, and how many there are.

    Raises ValueError.
    """
    spans: list[Iterable[int]] = []
    planned: int | None = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if dash and not last:
            spans.append(itertools.count(int(first)))
            planned = None
            continue
        span = range(int(first), int(last if dash else first) + 1)
        spans.append(span)
        if not span or span[0] < 0:
            msg = f"{part.strip()!r} has no seeds"
            raise ValueError(msg)
        planned = planned + len(span) if planned is not None else None
    return itertools.chain.from_iterable(spans), planned


def figures_of(sums: Sums) -> list[Figure]:
    """What was played, whether all held, and whether the hard meetings came up often enough."""
    enough = sums.seeds >= SEEDS_MIN
    return [
        plain("seeds", sums.seeds, "seeds"),
        at_most("violations", len(sums.failed), "seeds", 0),
        plain("steps", sums.steps, "steps"),
        plain("switches", sums.switches, "switches"),
        plain("calls", sums.sends, "calls"),
        plain("seeds per second", sums.per_second, "seeds/s"),
        plain("seeds per processor second", sums.seeds / max(sums.processor_seconds, 0.001), "seeds/s"),
        *(
            at_least(name, count, "times", floor(name, sums.seeds))
            if name in FLOORS and enough
            else plain(name, count, "times")
            for name, count in sorted((dict.fromkeys(FLOORS, 0) | sums.counts).items())
        ),
    ]


def main(arguments: list[str]) -> int:
    """Simulate; 1 when a promise was broken or something hard did not come up, 2 for wrong use."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Play seeds.")
    parser.add_argument("seeds", nargs="?", default=DEFAULT)
    parser.add_argument("--seconds", type=seconds_of)
    parser.add_argument("--processes", type=count_of)
    asked = parser.parse_args(arguments)
    try:
        seeds, planned = seeds_of(asked.seeds)
    except ValueError:
        print(
            f"{asked.seeds!r} is no list of seeds; give one like 0-5000, or 1,5,20-30, the smaller end first."
        )
        return 2
    if planned is None and asked.seconds is None:
        print("A span without an end needs --seconds.")
        return 2
    sums = play_many(
        iter(seeds),
        planned=planned,
        seconds_max=asked.seconds,
        processes=asked.processes,
        say=lambda line: print(line, flush=True),
    )
    figures = figures_of(sums)
    print(table(figures))
    write(BUILD_FOLDER / "simulate.json", figures)
    if sums.failed:
        print("See one again: " + ", ".join(f"make simulate SEEDS={seed}" for seed in sums.failed[:10]))
    sound = all(figure.holds is not False for figure in figures)
    return status_of(sums.stop, sound=sound, looked_at=sums.seeds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
