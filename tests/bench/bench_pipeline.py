"""Pipeline: whole reviews with a provider that answers at once, beside the floor of what they publish."""

from __future__ import annotations

import time
from pathlib import Path

from perdure.authority.filesystem import layout
from perdure.ports.provider import Answered, Usage
from perdure.provider.replay import ReplayProvider
from tests.bench.figures import Figure, against, floor_seconds, plain, scratch
from tests.bench.rig import fill, home, median

JOBS = 150
FLOORS = 60
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


def _run(folder: Path, name: str, answers: list[Answered]) -> list[Figure]:
    with home(folder, f"pipeline-{name}") as (app, project):
        fill(app, project, range(JOBS), chars=4_000)
        published = _Count(app.records.disk)
        begun = time.perf_counter()
        report = app.worker(provider=ReplayProvider(answers)).drain()
        elapsed = time.perf_counter() - begun
        published.stop()
        ended = report.ended
        floor = median(
            [floor_seconds(Path(app.home.path, layout.INDEX), b"x" * 1500, f"f{n}") for n in range(FLOORS)]
        )
    assert ended == {name: JOBS}, ended
    each = elapsed / JOBS * 1000
    return [
        against(
            f"pipeline, {name}: one job, {published.count / JOBS:.1f} publications",
            each,
            "ms",
            reference=published.count / JOBS * floor * 1000,
            ratio_max=2.0,
        ),
        plain(f"pipeline, {name}: throughput", JOBS / elapsed, "jobs/s"),
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
