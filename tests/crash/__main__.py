"""A long exploration: `python -m tests.crash`, for PERDURE_CRASH_SECONDS (60 by default).

Rounds over all scenarios in both models, each with another seed and wider bounds, until the time is up.
Writes build/crash.json.
"""

from __future__ import annotations

import os
import sys
import time

import msgspec

from tests.bench.figures import BUILD_FOLDER, Figure, plain
from tests.crash.explore import SEED, Bounds, Explorer, Tally
from tests.crash.scenarios import SCENARIOS
from tests.simulated_disk import Model

MODELS: tuple[Model, ...] = ("posix-weak", "ext4")


def explore(seconds: float) -> Tally:
    """Look as far as the time allows."""
    until = time.monotonic() + seconds
    total, round_number = Tally(), 0
    while time.monotonic() < until:
        width = 16 << min(round_number, 6)
        for scenario in SCENARIOS:
            for model in MODELS:
                left = until - time.monotonic()
                if left <= 0:
                    break
                bounds = Bounds(
                    survivors=width,
                    nested_survivors=max(2, width // 8),
                    kills=width // 2,
                    nested=width // 4,
                    seconds=left,
                )
                total.add(Explorer(scenario, model, bounds, seed=SEED + round_number).run())
        round_number += 1
    return total


def main() -> int:
    """Explore, print, write the figures; 1 when a promise was broken."""
    total = explore(float(os.environ.get("PERDURE_CRASH_SECONDS", "60")))
    broken = len(total.violations)
    figures = [
        Figure(name="states", value=total.states, unit="states"),
        Figure(name="violations", value=broken, unit="violations", target="<= 0", holds=not broken),
        plain("nested", total.nested, "states"),
        plain("sampled", total.sampled, "places"),
    ]
    BUILD_FOLDER.mkdir(exist_ok=True)
    (BUILD_FOLDER / "crash.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    for figure in figures:
        print(f"{figure.name:12}{figure.value:>12,.0f} {figure.unit}")
    for violation in total.violations[:20]:
        print(f"{violation.scenario} on {violation.model}, {violation.at}:\n    {violation.what[:400]}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
