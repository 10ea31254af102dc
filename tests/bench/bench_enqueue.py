"""Enqueue: durable acceptance of a job, at three sizes of backlog, beside the bare floor (Q-02, Q-07)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from perdure.core.record import seal
from tests.bench.figures import Figure, against, interleaved, plain, scratch
from tests.bench.rig import fill, home, job

BACKLOGS = (0, 10_000, 100_000)
ROUNDS = 80
FIRST_NEW = 1_000_000
COUNTED = 20


def main() -> list[Figure]:
    """Measure enqueue against the floor and against itself at no backlog; count its syncs."""
    medians: dict[int, float] = {}
    figures: list[Figure] = []
    with scratch() as folder:
        for backlog in BACKLOGS:
            figure = _at(folder, backlog)
            medians[backlog] = figure.ratio or 0.0
            figures.append(figure)
    figures.extend(
        against(
            f"enqueue, backlog {backlog:,} beside 0 (both over their floor)",
            medians[backlog],
            "x floor",
            reference=medians[0],
            ratio_max=1.3,
        )
        for backlog in BACKLOGS[1:]
    )
    figures.append(_syncs())
    return figures


def _at(folder: Path, backlog: int) -> Figure:
    with home(folder, f"enqueue-{backlog}") as (app, project):
        fill(app, project, range(backlog))
        payload = seal(job(project.key, FIRST_NEW))
        jobs = [job(project.key, FIRST_NEW + index) for index in range(ROUNDS + 3)]

        def enqueue(index: int) -> None:
            with app.coverage.hold(project.key) as held:
                held.accept(jobs[index])

        samples = interleaved(enqueue, folder=Path(app.home.path, "index"), payload=payload, rounds=ROUNDS)
    return samples.figure(f"enqueue, backlog {backlog:,}", ratio_max=1.5)


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
