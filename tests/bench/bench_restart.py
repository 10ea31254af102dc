"""Restart: from the start of a worker process to its first claim, with much behind it (Q-07, Q-09)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import Figure, against, at_most, scratch
from tests.bench.rig import fill, finish, home, median

QUEUED, FINISHED = 10_000, 10_000
RUNS = 5
LIMIT_SECONDS = 1.0

CHILD = """
import sys, time
from perdure.app import App
app = App.open()
app.begin_writing()
worker = app.worker()
names = []
claim = app.claims.claim
def first(lane, name):
    made = claim(lane, name)
    sys.stdout.write("claimed\\n"); sys.stdout.flush()
    import os; os._exit(0)
app.claims.claim = first
worker.drain()
"""


def main() -> list[Figure]:
    """Measure whole processes, the bare interpreter beside them."""
    with scratch() as folder:
        with home(folder, "restart") as (app, project):
            fill(app, project, range(QUEUED))
            finish(app, project, range(QUEUED, QUEUED + FINISHED))
        seconds = median([_until_claim(folder) for _ in range(RUNS)])
        bare = median([_bare() for _ in range(RUNS)])
    name = f"start to first claim, {QUEUED:,} queued and {FINISHED:,} outcomes"
    return [
        at_most(name, seconds, "s", LIMIT_SECONDS),
        against(f"{name}, beside a bare interpreter", seconds * 1000, "ms", reference=bare * 1000),
    ]


def _until_claim(folder: Path) -> float:
    environment = dict(
        os.environ, PERDURE_HOME=str(folder / "home-restart"), PERDURE_STATE=str(folder / "state-restart")
    )
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        elapsed = time.perf_counter() - begun
    assert line == b"claimed\n", line
    return elapsed


def _bare() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - begun
