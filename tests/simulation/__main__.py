"""Many seeds: `python -m tests.simulation 0-5000` (or `7`, or `1,5,20-30`).

Prints progress and, of each failure, a smaller one and how to see it again; writes build/simulate.json.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.bench.figures import BUILD_FOLDER, Figure, at_most, plain, table, write
from tests.simulation.run import play_seed, shrink, story

PROGRESS_SECONDS = 10.0
SHRUNK_MAX = 3


def seeds_of(text: str) -> list[int]:
    """Read `0-99`, `7` or a list of them with commas. Raises ValueError."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        found += range(int(first), int(last if dash else first) + 1)
    return found


def simulate(seeds: list[int]) -> list[Figure]:
    """Run the seeds; tell failures at once."""
    begun = told = time.monotonic()
    counts: Counter[str] = Counter()
    steps = switches = sends = 0
    failed: list[int] = []
    for number, seed in enumerate(seeds, 1):
        played = play_seed(seed)
        steps, switches, sends = steps + played.steps, switches + played.switches, sends + played.sends
        counts += played.counts
        if played.broken is not None:
            failed.append(seed)
            print(story(shrink(played) if len(failed) <= SHRUNK_MAX else played), flush=True)
        if time.monotonic() - told > PROGRESS_SECONDS:
            told = time.monotonic()
            print(f"{number} of {len(seeds)} seeds, {len(failed)} failed, {told - begun:.0f} s", flush=True)
    seconds = time.monotonic() - begun
    return [
        plain("seeds", len(seeds), "seeds"),
        at_most("violations", len(failed), "seeds", 0),
        plain("steps", steps, "steps"),
        plain("switches", switches, "switches"),
        plain("calls", sends, "calls"),
        plain("seeds per second", len(seeds) / seconds, "seeds/s"),
        *(plain(name, count, "times") for name, count in sorted(counts.items())),
    ]


def main(arguments: list[str]) -> int:
    """Simulate; 1 when a promise was broken, 2 for wrong use."""
    try:
        seeds = seeds_of(arguments[0] if arguments else "0-999")
    except ValueError:
        print(f"{arguments[0]!r} is no list of seeds; give one like 0-5000, or 1,5,20-30.")
        return 2
    figures = simulate(seeds)
    print(table(figures))
    write(BUILD_FOLDER / "simulate.json", figures)
    return 0 if all(figure.holds is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
