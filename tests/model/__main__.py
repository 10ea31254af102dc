"""Every walk to exhaustion, on all cores: `python -m tests.model` (or with a part of their names).

Prints how far each one is and what it found; writes build/model.json. Ctrl-C leaves what was walked by then.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import Future, ProcessPoolExecutor, as_completed

from tests.bench.figures import BUILD_FOLDER, Figure, at_least, at_most, plain, table, write
from tests.long_runs import WRONG_USE, interruptible, status_of, there_are, unhearing
from tests.model.named import SCENARIOS, Walked, walk_named
from tests.model.walk import told


def figures_of(walked: list[Walked], planned: int) -> list[Figure]:
    """The states of each walk, whether each was exhaustive, and whether every law held."""
    found = [one for one in walked if one.seen.fault is not None]
    whole = [one for one in walked if one.seen.exhaustive]
    return [
        *(plain(f"states: {one.name}", one.seen.states, "states") for one in walked),
        plain("states", sum(one.seen.states for one in walked), "states"),
        plain("transitions", sum(one.seen.transitions for one in walked), "transitions"),
        plain("seconds of all walks", sum(one.seconds for one in walked), "s"),
        at_least("exhaustive", len(whole), "walks", planned),
        at_most("broken laws", len(found), "walks", 0),
    ]


def main(arguments: list[str]) -> int:
    """Walk; 1 when a law was broken or a walk did not come to its end, 2 when no walk has such a name."""
    wanted = " ".join(arguments)
    names = [name for name in SCENARIOS if wanted in name]
    if not names:
        print(there_are("walk like", wanted, SCENARIOS))
        return WRONG_USE
    count = os.cpu_count() or 1
    walked: list[Walked] = []
    with (
        ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool,
        interruptible() as stop,
    ):
        with unhearing():
            futures: list[Future[Walked]] = [pool.submit(walk_named, name) for name in reversed(names)]
        for future in as_completed(futures):
            one = future.result()
            walked.append(one)
            print(f"{len(walked)} of {len(names)}: {told(one.name, one.seen)}", flush=True)
    walked.sort(key=lambda one: names.index(one.name))
    figures = figures_of(walked, len(names))
    print(table(figures))
    print(f"{len(walked)} of {len(names)} walks came to their end")
    write(BUILD_FOLDER / "model.json", figures)
    sound = all(figure.holds is not False for figure in figures)
    return status_of(stop, sound=sound, looked_at=len(walked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
