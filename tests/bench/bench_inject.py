"""Turn start: the injected block, in process and as a command (I-01, I-02)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from perdure.authority.filesystem import layout
from perdure.core.admission import Event
from perdure.core.memory import BRANCH_CHARS_MAX
from perdure.core.record import seal
from tests.bench.figures import Figure, against, at_most, scratch
from tests.bench.rig import home, job, median

PENDING = 500
ROUNDS = 300
COMMAND_ROUNDS = 25
ENTRY_CHARS = 140


def main() -> list[Figure]:
    """Measure with a full branch and many pending mailbox events."""
    with scratch() as folder, home(folder, "inject") as (app, project):
        service = app.memory_service(project.key)
        for number in range(BRANCH_CHARS_MAX // ENTRY_CHARS):
            service.remember(f"Fact number {number}: ".ljust(ENTRY_CHARS - 1, "x") + ".")
        for number in range(PENDING):
            name = job(project.key, number, chars=10).job_id
            waiting = Event(job_id=name, state="no-op", reason="", changes=(), revision_seq=None, ended_ms=0)
            Path(app.home.path, layout.event(name)).write_bytes(seal(waiting))
        inject = app.inject_service()
        assert inject.block(project.key).text
        samples: list[float] = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            inject.turn_start(project.key, session="bench")
            samples.append(time.perf_counter() - begun)
        command = _commands(Path(project.root))
    return [
        at_most(f"turn start, full branch, {PENDING} pending events", median(samples) * 1000, "ms", 1.0),
        command,
    ]


def _commands(work: Path) -> Figure:
    """Whole processes in turns: `perdure inject` and an interpreter that does nothing."""
    script = Path(sys.executable).with_name("perdure")
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(COMMAND_ROUNDS):
        ours.append(_timed([str(script), "inject"], work))
        bare.append(_timed([sys.executable, "-c", "pass"], work))
    return against(
        "perdure inject beside python -c pass",
        median(ours) * 1000,
        "ms",
        reference=median(bare) * 1000,
        ratio_max=2.0,
    )


def _timed(command: list[str], work: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, cwd=work, capture_output=True, env=dict(os.environ))
    return time.perf_counter() - begun
