"""Enqueue: durable acceptance of a job, at three sizes of backlog, beside the bare floor (Q-02, Q-07)."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from perdure.app import App
from perdure.authority.filesystem.disk_port import TEMPORARY_FOLDER
from perdure.authority.filesystem.project import Project
from perdure.core.record import seal
from tests.bench.figures import Figure, against, floor_seconds, plain, scratch
from tests.bench.rig import fill, home, job, median

BACKLOGS = (0, 10_000, 100_000)
ROUNDS = 80
WARM_UP = 5
FIRST_NEW = 1_000_000
COUNTED = 20


def main() -> list[Figure]:
    """Measure enqueue against the floor and against itself at no backlog; count its syncs.

    The three backlogs and the floor are timed in turns, so that a slow moment of the disk hits all of them.
    The floor makes its files in the same folder as Perdure its temporaries: how long a new file takes depends
    on how full that part of the filesystem is.
    """
    with scratch() as folder, contextlib.ExitStack() as homes:
        spools = [_Spool(homes.enter_context(home(folder, f"enqueue-{n}")), n) for n in BACKLOGS]
        for index in range(WARM_UP + ROUNDS):
            for place in range(len(spools)):
                spools[(place + index) % len(spools)].round(counted=index >= WARM_UP)
    floor = median([seconds for spool in spools for seconds in spool.floors])
    none = median(spools[0].times)
    figures = [
        against(
            f"enqueue, backlog {spool.backlog:,}",
            median(spool.times) * 1_000,
            "ms",
            reference=floor * 1_000,
            ratio_max=1.5,
        )
        for spool in spools
    ]
    figures += [
        against(
            f"enqueue, backlog {spool.backlog:,} beside none",
            median(spool.times) * 1_000,
            "ms",
            reference=none * 1_000,
            ratio_max=1.3,
        )
        for spool in spools[1:]
    ]
    return [*figures, _syncs()]


class _Spool:
    """One home with a backlog, and what was timed in it, in seconds."""

    def __init__(self, opened: tuple[App, Project], backlog: int) -> None:
        self._app, self._project = opened
        self.backlog, self.times, self.floors = backlog, list[float](), list[float]()
        fill(self._app, self._project, range(backlog))
        self._payload = seal(job(self._project.key, FIRST_NEW))
        self._next = FIRST_NEW

    def round(self, *, counted: bool) -> None:
        """Enqueue one job and do the barest publication of the same size in the same home, in turns first."""
        made = job(self._project.key, self._next)
        self._next += 1
        floor = self._floor() if self._next % 2 else None
        begun = time.perf_counter()
        with self._app.coverage.hold(self._project.key) as held:
            held.accept(made)
        taken = time.perf_counter() - begun
        if floor is None:
            floor = self._floor()
        if counted:
            self.times.append(taken)
            self.floors.append(floor)

    def _floor(self) -> float:
        return floor_seconds(
            Path(self._app.home.path, TEMPORARY_FOLDER), self._payload, f"floor-{self._next}"
        )


def _syncs() -> Figure:
    """Count the syncs of one enqueue as the kernel sees them: a run with 2n jobs less a run with n."""
    name = "syncs per enqueue (strace)"
    if shutil.which("strace") is None:
        return plain(f"{name}: strace is not installed", 0, "syncs")
    few, many = _traced(COUNTED), _traced(2 * COUNTED)
    value = (many - few) / COUNTED
    return Figure(
        name=name, value=value, unit="syncs", reference=2, ratio=value / 2, target="= 2", holds=value == 2
    )


def _traced(count: int) -> int:
    with scratch() as folder:
        log = folder / "trace"
        command = [sys.executable, "-m", "tests.bench.bench_enqueue", str(folder), str(count)]
        trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(log)]
        subprocess.run([*trace, *command], check=True, capture_output=True)
        return sum("sync(" in line for line in log.read_text().splitlines())


def _enqueue_many(folder: Path, count: int) -> None:
    with home(folder, "traced") as (app, project):
        for number in range(count):
            with app.coverage.hold(project.key) as held:
                held.accept(job(project.key, number))
    sys.stdout.write(json.dumps({"count": count}))


if __name__ == "__main__":
    _enqueue_many(Path(sys.argv[1]), int(sys.argv[2]))
