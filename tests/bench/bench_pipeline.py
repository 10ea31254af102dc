"""Pipeline: whole reviews with a provider that answers at once, beside the floor of what they publish.

The floor is taken inside the provider's call, in turns with the jobs, so that a slow minute of the disk hits
both; its time is taken off. Medians of jobs and of floors are compared.
"""

from __future__ import annotations

import time
from pathlib import Path

from perdure.authority.filesystem.disk_port import TEMPORARY_FOLDER
from perdure.ports.provider import Answered, Reply, ReviewRequest, Usage
from perdure.provider.replay import ReplayProvider
from tests.bench.figures import Figure, against, floor_seconds, plain, scratch
from tests.bench.rig import fill, home, median

JOBS = 150
FLOOR_BYTES = 1_500
ANSWER = Answered('{"operations":[]}', Usage(0, 0, 0), None)
ADDING = (
    '{{"operations":[{{"op":"add","text":"The service number {0} listens on port {1}.",'
    '"key":"port {0}","evidence":["e1"]}}]}}'
)


def main() -> list[Figure]:
    """Measure jobs that end as a no-op and jobs that change memory."""
    with scratch() as folder:
        nothing = [ANSWER] * JOBS
        adding = [Answered(ADDING.format(n % 40, 5000 + n), Usage(0, 0, 0), None) for n in range(JOBS)]
        return [*_run(folder, "no-op", nothing), *_run(folder, "applied", adding)]


class _Timing(ReplayProvider):
    """Answers at once; times each job from call to call, without the floors that it takes in between."""

    def __init__(self, answers: list[Answered], folder: Path) -> None:
        super().__init__(answers)
        self.jobs: list[float] = []
        self.floors: list[float] = []
        self._folder, self._left = folder, 0.0

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
        """Note the time since the last call ended, take a floor, answer."""
        if self._left:
            self.jobs.append(time.perf_counter() - self._left)
        self.floors.append(floor_seconds(self._folder, b"x" * FLOOR_BYTES, f"floor-{len(self.floors)}"))
        reply = super().review(request, timeout_seconds=timeout_seconds)
        self._left = time.perf_counter()
        return reply


def _run(folder: Path, name: str, answers: list[Answered]) -> list[Figure]:
    with home(folder, f"pipeline-{name}") as (app, project):
        fill(app, project, range(JOBS), chars=4_000)
        provider = _Timing(answers, Path(app.home.path, TEMPORARY_FOLDER))
        published = _Count(app.records.disk)
        ended = app.worker(provider=provider).drain().ended
        published.stop()
    assert ended == {name: JOBS}, ended
    each, floor = median(provider.jobs), median(provider.floors)
    return [
        against(
            f"pipeline, {name}: one job, {published.count / JOBS:.1f} publications",
            each * 1000,
            "ms",
            reference=published.count / JOBS * floor * 1000,
            ratio_max=2.0,
        ),
        plain(f"pipeline, {name}: throughput", 1 / each, "jobs/s"),
    ]


class _Count:
    """Counts publications: every record is written to a temporary file first."""

    def __init__(self, disk: object) -> None:
        self.count = 0
        self._disk = disk
        self._real = disk.temporary  # type: ignore[attr-defined] # a counting stand-in for one method
        disk.temporary = self._counted  # type: ignore[attr-defined] # the same

    def _counted(self, data: bytes) -> object:
        self.count += 1
        return self._real(data)

    def stop(self) -> None:
        """Take the stand-in away."""
        del self._disk.temporary  # type: ignore[attr-defined] # the same
