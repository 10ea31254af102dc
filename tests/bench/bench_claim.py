"""Claim: what a worker pays to own the next job's lane, at three sizes of backlog (Q-03, Q-07)."""

from __future__ import annotations

import threading
from pathlib import Path

from perdure.authority.filesystem.disk_port import TEMPORARY_FOLDER
from perdure.core.claim import Claim
from perdure.core.job import lane_of
from perdure.core.record import seal
from tests.bench.figures import Figure, against, interleaved, scratch
from tests.bench.rig import fill, home, job, median

BACKLOGS = (0, 10_000, 100_000)
ROUNDS = 60
FIRST_NEW = 1_000_000
CLAIM_BYTES = 300


def main() -> list[Figure]:
    """Measure claims against the floor, and enqueue while a worker claims all the time."""
    with scratch() as folder:
        return [*(_at(folder, backlog) for backlog in BACKLOGS), _enqueue_meanwhile(folder)]


def _at(folder: Path, backlog: int) -> Figure:
    with home(folder, f"claim-{backlog}") as (app, project):
        fill(app, project, range(max(backlog, 1)))
        worker = app.claims.register()
        first = app.queue.queued()[0]
        lane = lane_of(first)
        held: list[Claim] = []

        def claim(_index: int) -> None:
            app.queue.outcome(first)
            app.queue.job(first)
            mine = app.claims.claim(lane, worker)
            assert mine is not None
            held.append(mine)

        samples = interleaved(
            claim,
            folder=Path(app.home.path, TEMPORARY_FOLDER),
            payload=b"x" * CLAIM_BYTES,
            rounds=ROUNDS,
            after=lambda _index: app.claims.release(held.pop()),
        )
        app.claims.retire(worker)
    return samples.figure(f"claim, backlog {backlog:,}", ratio_max=3.0)


def _enqueue_meanwhile(folder: Path) -> Figure:
    """The floor is measured with the same claimer running, so that both share the disk with it."""
    with home(folder, "meanwhile") as (app, project):
        fill(app, project, range(1_000))
        payload = seal(job(project.key, FIRST_NEW))
        over, claims = threading.Event(), []

        def claimer() -> None:
            worker = app.claims.register()
            lane = lane_of(app.queue.queued()[0])
            while not over.is_set():
                mine = app.claims.claim(lane, worker)
                if mine is not None:
                    claims.append(mine.ordinal)
                    app.claims.release(mine)
            app.claims.retire(worker)

        thread = threading.Thread(target=claimer)
        thread.start()
        jobs = [job(project.key, FIRST_NEW + index) for index in range(ROUNDS + 3)]

        def enqueue(index: int) -> None:
            with app.coverage.hold(project.key) as held:
                held.accept(jobs[index])

        try:
            samples = interleaved(
                enqueue, folder=Path(app.home.path, TEMPORARY_FOLDER), payload=payload, rounds=ROUNDS
            )
        finally:
            over.set()
            thread.join()
    return against(
        f"enqueue while a worker claims ({len(claims)} claims, none refused)",
        median(list(samples.measured_seconds)) * 1000,
        "ms",
        reference=median(list(samples.floor_seconds)) * 1000,
        ratio_max=2.0,
    )
