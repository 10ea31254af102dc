"""The worker: order, fairness, heartbeat, and what it does when it may not go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.project import Project
from perdure.core.admission import Outcome
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import Job, make_job
from perdure.core.memory import main_branch_id
from perdure.ports.provider import Answered, Failed, Lost, Reply, ReviewRequest, Usage
from perdure.provider.replay import ReplayProvider
from tests.fakes import Rig, turns
from tests.simulated_disk import SimulatedDisk

NOTHING = Answered('{"operations":[]}', Usage(0, 0, 0), None)


class Noting(ReplayProvider):
    """Answers "nothing" for ever, or what it is told, and notes which jobs asked in what order."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__([NOTHING])
        self.asked: list[str] = []
        self._replies = list(replies)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
        """Note the text that identifies the job."""
        assert timeout_seconds > 0
        self.asked.append(request.evidence[0].text)
        return self._replies.pop(0) if self._replies else NOTHING


@pytest.fixture
def app(perdure_home: Path) -> Iterator[App]:
    """An open home."""
    assert not perdure_home.exists()
    made = App.open(create=True)
    yield made
    made.close()


def a_project(app: App, folder: Path) -> Project:
    """A new project with a memory."""
    (folder / ".git").mkdir(parents=True)
    project = app.project(str(folder))
    app.ensure_project(project)
    return project


def a_job(app: App, project: Project, text: str, settled_ms: int) -> Job:
    """An accepted job of one turn."""
    line = EvidenceLine("e1", "user", text)
    turn = EvidenceTurn(turn_id=f"{settled_ms:032x}", settled_ms=settled_ms, cut=False, lines=(line,))
    job = make_job(
        project=project.key,
        branch_id=main_branch_id(project.key),
        evidence=Evidence(host="pi", session="0" * 32, turns=(turn,)),
        accepted_ms=settled_ms,
        release="test",
    )
    app.queue.accept(job)
    return job


@pytest.mark.requirement("Q-10")
def test_the_oldest_goes_first_and_projects_take_turns(app: App, tmp_path: Path) -> None:
    """A large backlog of one project does not keep another's job waiting; each keeps its order."""
    large, small = a_project(app, tmp_path / "large"), a_project(app, tmp_path / "small")
    for number in (3, 1, 4, 2):
        a_job(app, large, f"large {number}", 1_000 + number)
    a_job(app, small, "small 1", 9_000)
    provider = Noting()
    app.worker(provider=provider).drain()
    assert provider.asked == ["large 1", "small 1", "large 2", "large 3", "large 4"]


@pytest.mark.requirement("E-07")
def test_a_heartbeat_says_who_and_nothing_else(app: App, tmp_path: Path) -> None:
    """A heartbeat holds release, policy, process, project root and the boot-time clock only."""
    project = a_project(app, tmp_path / "shop")
    a_job(app, project, "The launch code word is heliotrope.", 1_000)
    beats: list[dict[str, object]] = []

    class Looking(Noting):
        def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
            folder = Path(app.home.path, layout.BEATS)
            beats.extend(json.loads(file.read_bytes()) for file in folder.iterdir())
            return super().review(request, timeout_seconds=timeout_seconds)

    app.worker(provider=Looking()).drain()
    assert [set(beat) for beat in beats] == [
        {"release", "policy", "process", "project_root", "boot_id", "boot_seconds"}
    ]


@pytest.mark.requirement("Q-12", "G-01")
def test_an_outage_ends_no_job_and_uses_up_no_attempts(app: App, tmp_path: Path) -> None:
    """Failures of availability and configuration, however many, leave the job waiting with its evidence."""
    project = a_project(app, tmp_path / "shop")
    job = a_job(app, project, "turn", 1_000)
    outage = Failed("availability", "http 503", Usage(0, 0, 0), None)
    lost, refused = Lost("timeout"), Failed("configuration", "http 401", Usage(0, 0, 0), None)
    replies: list[Reply] = [outage, lost, refused]
    provider = Noting(*(replies * 5))
    clock = app.clock
    skipped = 0

    def later() -> int:
        return clock.__class__().now_ms() + skipped

    app.clock.now_ms = later  # type: ignore[method-assign] # the test's own clock
    for _ in range(15):
        report = app.worker(provider=provider).drain()
        assert list(report.waiting) == [job.job_id]
        skipped += 3_600_000
    assert app.queue.outcome(job.job_id) is None
    assert app.worker(provider=provider).drain().ended == {"no-op": 1}
    assert len(provider.asked) == 16


@pytest.mark.requirement("Q-09")
def test_a_running_worker_stops_when_told(app: App, tmp_path: Path) -> None:
    """`run` reviews what is there and ends at the next step after it was told to stop; its lane is free."""
    project = a_project(app, tmp_path / "shop")
    a_job(app, project, "turn", 1_000)
    provider = Noting()
    worker = app.worker(provider=provider)
    report = worker.run(stop=lambda: bool(provider.asked))
    assert report.ended == {"no-op": 1}
    assert app.claims.workers() == ()
    names = app.records.disk.names(layout.SPOOL_LANES)
    assert sorted(name.endswith(".released") for name in names) == [False, True]


@pytest.mark.requirement("D-03", "Q-07")
def test_a_conflict_stops_its_own_job_and_the_others_go_on(app: App, tmp_path: Path) -> None:
    """Another job's outcome in the place of one job's own stops that job; the next one is reviewed."""
    project = a_project(app, tmp_path / "shop")
    first = a_job(app, project, "one", 1_000)
    app.worker(provider=Noting()).drain()
    other = app.records.read(layout.outcome(first.job_id), Outcome)
    assert other is not None
    third = a_job(app, project, "three", 3_000)
    app.records.create(layout.outcome(third.job_id), other)
    fourth = a_job(app, project, "four", 4_000)
    report = app.worker(provider=Noting()).drain()
    assert list(report.stopped) == [third.job_id]
    assert isinstance(app.queue.outcome(fourth.job_id), Outcome)


@pytest.mark.requirement("Q-03", "Q-09")
def test_a_worker_that_others_hold_for_dead_goes_on_as_another() -> None:
    """Somebody removes the file of its life while it runs: the next job is reviewed all the same."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    worker = rig.worker()
    lives: list[str] = []

    def stop() -> bool:
        (name,) = disk.names(layout.WORKERS)
        if not lives:
            disk.remove(f"{layout.WORKERS}/{name}")
            rig.capture(turns("The port of the service is 4100."))
        lives.append(name)
        return worker.report.ended == {"applied": 1} or len(lives) > 20

    assert worker.run(stop=stop).ended == {"applied": 1}
    assert len(set(lives)) == 2
    assert disk.names(layout.WORKERS) == []
