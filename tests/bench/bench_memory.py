"""Memory: what a worker holds with a large backlog (Q-07)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.figures import Figure, against, at_most, scratch
from tests.bench.rig import fill, home

QUEUED = 100_000
LIMIT_MB = 60.0

CHILD = """
from tests.memory_use import peak_kib
from perdure.app import App
app = App.open()
app.begin_writing()
worker = app.worker()
done = []
worker.drain(stop=lambda: len(done) >= 0 and worker.report.ended.get("no-op", 0) >= 20)
own = open("/proc/self/status").read().split("VmRSS:")[1].split()[0]
print(own, peak_kib())
"""


def main() -> list[Figure]:
    """Measure a worker process after it has reviewed some of the jobs, and a bare interpreter."""
    with scratch() as folder:
        with home(folder, "memory") as (app, project):
            fill(app, project, range(QUEUED))
        resident, peak = _numbers(CHILD, folder)
        bare, _ = _numbers(CHILD.split("from perdure", maxsplit=1)[0] + CHILD[CHILD.index("own =") :], folder)
    return [
        at_most(f"worker resident, {QUEUED:,} queued", resident, "MB", LIMIT_MB),
        against("worker peak beside a bare interpreter", peak, "MB", reference=bare),
    ]


def _numbers(code: str, folder: Path) -> tuple[float, float]:
    environment = dict(
        os.environ, PERDURE_HOME=str(folder / "home-memory"), PERDURE_STATE=str(folder / "state-memory")
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
    own, peak = done.stdout.split()
    return int(own) / 1024, int(peak) / 1024
