"""A home with a backlog of any size, for benchmarks: real records, written without syncs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.project import Project
from perdure.core.admission import Outcome, event
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import Job, make_job, turn_ids
from perdure.core.memory import main_branch_id
from perdure.core.record import Record, seal

JOB_CHARS = 15_000
SETTLED_MS = 1_700_000_000_000


@contextmanager
def home(folder: Path, name: str) -> Iterator[tuple[App, Project]]:
    """Open a fresh home and a project of its own below a folder."""
    os.environ["PERDURE_HOME"] = str(folder / f"home-{name}")
    os.environ["PERDURE_STATE"] = str(folder / f"state-{name}")
    work = folder / f"work-{name}"
    (work / ".git").mkdir(parents=True)
    app = App.open(create=True)
    try:
        project = app.project(str(work))
        app.ensure_project(project)
        app.begin_writing()
        yield app, project
    finally:
        app.close()


def job(project: str, number: int, *, chars: int = JOB_CHARS) -> Job:
    """The job number `number`: one turn of that many characters."""
    text = f"turn {number}. " + "We talked about the build. " * (chars // 27)
    lines = (EvidenceLine("e1", "user", text[:chars]), EvidenceLine("e2", "assistant", "Done."))
    turn = EvidenceTurn(turn_id=f"{number:032x}", settled_ms=SETTLED_MS + number, cut=False, lines=lines)
    evidence = Evidence(host="pi", session="ab" * 16, turns=(turn,))
    return make_job(
        project=project,
        branch_id=main_branch_id(project),
        evidence=evidence,
        accepted_ms=SETTLED_MS,
        release="bench",
    )


def fill(app: App, project: Project, numbers: range, *, chars: int = 200) -> None:
    """Put jobs into the spool as they would be after being accepted. Small ones: only their number counts."""
    for number in numbers:
        made = job(project.key, number, chars=chars)
        _put(app, layout.job(made.job_id), made)


def finish(app: App, project: Project, numbers: range) -> None:
    """Put outcomes and events of jobs that are over; their job files are gone."""
    for number in numbers:
        made = job(project.key, number, chars=10)
        ended = Outcome(
            job_id=made.job_id,
            state="no-op",
            reason="",
            evidence_digest=made.evidence_digest,
            turns=turn_ids(made),
            decision_digest="0" * 64,
            receipt_digest=None,
            successor=None,
            attempts=1,
            ended_ms=SETTLED_MS,
        )
        _put(app, layout.outcome(made.job_id), ended)
        _put(app, layout.event(made.job_id), event(ended, None))


def _put(app: App, path: str, record: Record) -> None:
    Path(app.home.path, path).write_bytes(seal(record))


def median(samples: list[float]) -> float:
    """The middle one."""
    return sorted(samples)[len(samples) // 2]
