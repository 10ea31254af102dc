"""A long exploration: `python -m tests.crash [--seconds n]`, or one place again.

Uses all cores, prints how far it is every few seconds, ends with a report per scenario, and writes
build/crash.json; status 1 when a promise was broken, 130 after Ctrl-C. Without --seconds
PERDURE_CRASH_SECONDS counts, or 60. The seconds bound the exploration; the table of deliberate faults comes
after it.

    python -m tests.crash --seconds 3600
    python -m tests.crash --scenario review                    # one scenario, in this process
    python -m tests.crash --scenario 'history 17' --model ext4 --width 16 --seed 20270115 --place 12.3.40.1
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time

import msgspec

from tests.bench.figures import BUILD_FOLDER, Figure, at_most, plain
from tests.crash.campaign import FIXED, HISTORIES, MODELS, WIDTH_MIN, News, again, bounds_of, explore
from tests.crash.explore import COUNTS, SEED, Explorer, Tally
from tests.crash.histories import PREFIX, history
from tests.crash.scenario import Scenario
from tests.long_runs import (
    EVERY_SECONDS,
    count_of,
    interruptible,
    seconds_of,
    status_of,
    there_are,
)

_SHOWN_MAX = 20


class Progress:
    """What all workers have told."""

    def __init__(self, seconds: float) -> None:
        self.total = Tally()
        self.scenarios: dict[tuple[str, str], Tally] = {}
        self._begun, self._seconds, self._told = time.monotonic(), seconds, 0.0
        self._at: dict[int, str] = {}

    def hear(self, news: News) -> None:
        """Count, and print a line now and then; a broken promise at once."""
        if not news.ended:
            group = HISTORIES if news.scenario.startswith(PREFIX) else news.scenario
            self.scenarios.setdefault((group, news.model), Tally()).add(news.tally)
            self._at[news.worker] = f"{news.scenario} on {news.model}"
        for violation in news.tally.violations:
            if len(self.total.violations) < _SHOWN_MAX:
                print(f"BROKEN {violation.at}:\n    {violation.what[:400]}\n    {again(violation)}")
            self.total.violations.append(violation)
        self.total.add(msgspec.structs.replace(news.tally, violations=[]))
        gone = time.monotonic() - self._begun
        if gone - self._told >= EVERY_SECONDS:
            self._told = gone
            self._say(gone)

    def _say(self, gone: float) -> None:
        states, broken = self.total.states, len(self.total.violations)
        left = max(0.0, self._seconds - gone)
        now = "; ".join(self._at[worker] for worker in sorted(self._at))
        rate = states / gone
        print(f"{left:6.0f} s left  {states:>10,} states  {rate:6.0f}/s  {broken} broken  {now}", flush=True)

    def report(self) -> None:
        """Print a line per scenario and model."""
        names = ("states", "nested", "torn", "exhaustive", "sampled", "skipped")
        print(f"\n{'':40}" + "".join(f"{name:>12}" for name in names) + f"{'broken':>8}")
        for (scenario, model), tally in self.scenarios.items():
            counts = "".join(f"{getattr(tally, name):>12,}" for name in names)
            print(f"{f'{scenario} on {model}':40}{counts}{len(tally.violations):>8}")
        for model in MODELS:
            print(f"{self.reached(model)} of {len(FIXED)} operations on {model}")

    def reached(self, model: str) -> int:
        """How many operations were looked at, beside the histories."""
        return sum((name, model) in self.scenarios for name in FIXED)


def figures(progress: Progress) -> list[Figure]:
    """What build/crash.json says of the exploration."""
    total = progress.total
    places = {"sampled": "places", "exhaustive": "places", "points": "operations", "skipped": "recoveries"}
    return [
        at_most("violations", len(total.violations), "states", 0),
        *(plain(name, getattr(total, name), places.get(name, "states")) for name in COUNTS),
        *(plain(f"reached on {model}", progress.reached(model), "scenarios") for model in MODELS),
    ]


def extra_figures() -> list[Figure]:
    """What the table of deliberate faults adds, where it is."""
    if importlib.util.find_spec("tests.faults.table") is None:
        return []
    print("\nthe time is over; now each rule is broken on purpose, which takes its own time", flush=True)
    made = importlib.import_module("tests.faults.table").figures()
    return [figure for figure in made if isinstance(figure, Figure)]


def _campaign(seconds: float) -> int:
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    progress = Progress(seconds)
    with interruptible() as stop:
        explore(seconds, workers, progress.hear)
    progress.report()
    found = figures(progress)
    if not stop.happened:
        with interruptible() as stop:
            found += extra_figures()
    BUILD_FOLDER.mkdir(exist_ok=True)
    (BUILD_FOLDER / "crash.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    print()
    for figure in found:
        print(f"{figure.name:24}{figure.value:>12,.0f} {figure.unit}")
    sound = all(figure.holds is not False for figure in found)
    return status_of(stop, sound=sound, looked_at=progress.total.states)


def _one(scenario: Scenario, options: argparse.Namespace) -> int:
    """Explore one scenario in this process, or go to one place."""
    progress, places = Progress(options.seconds), 0
    with interruptible() as stop:
        for model in (options.model,) if options.model else MODELS:
            bounds = bounds_of(options.width, options.seconds)
            explorer = Explorer(scenario, model, bounds, seed=options.seed)
            if options.place:
                explorer.replay(options.place)
                print("nothing is broken there")
                places += 1
                continue
            try:
                explorer.run()
            finally:
                progress.hear(News(0, scenario.name, model, explorer.tally))
    if not options.place:
        progress.report()
    total = progress.total
    return status_of(stop, sound=not total.violations, looked_at=total.states + places)


def main() -> int:
    """Explore, print, write the figures; 1 when a promise was broken."""
    seconds = os.environ.get("PERDURE_CRASH_SECONDS", "60")
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash", description="Crash everywhere and recover."
    )
    parser.add_argument(
        "--seconds", type=seconds_of, default=seconds, help="how long to explore (default: %(default)s)"
    )
    parser.add_argument("--scenario", help=f"one of: {', '.join(FIXED)}; or '{PREFIX}N'")
    parser.add_argument("--model", choices=MODELS, help="one disk model (default: both)")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of what is sampled")
    parser.add_argument(
        "--width", type=count_of, default=WIDTH_MIN, help="how far to look (default: %(default)d)"
    )
    parser.add_argument("--place", help="go to one place that a report names, and raise what is broken there")
    options = parser.parse_args()
    if options.scenario is None:
        return _campaign(options.seconds)
    name: str = options.scenario
    if name.startswith(PREFIX) and name.removeprefix(PREFIX).isdigit():
        return _one(history(int(name.removeprefix(PREFIX))), options)
    if name not in FIXED:
        parser.error(there_are("scenario", name, (*FIXED, f"{PREFIX}N")))
    return _one(FIXED[name], options)


if __name__ == "__main__":
    sys.exit(main())
