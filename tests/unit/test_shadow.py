"""The shadow: rebuilt from the records, deletable, never trusted when damaged, never under a lock."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from perdure.authority.filesystem.locks import NestedLock
from perdure.authority.shadow import PATH, Shadow
from perdure.ports.provider import Lost, Reply, ReviewRequest
from tests.fakes import PROJECT, USED, Rig, ScriptedProvider, turns
from tests.services import open_app, retention
from tests.simulated_disk import SimulatedDisk

PREFER = "Prefer small commits in this project."


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def reviewed() -> Rig:
    """A rig with a lost and an applied attempt, a foreground write and an undo."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([lost]))
    rig.prepare()
    rig.memory_service().remember("Use tabs.")
    rig.capture(turns(PREFER))
    rig.drain()
    rig.clock.advance(60)
    rig.drain()
    rig.memory_service().undo()
    return rig


@pytest.mark.requirement("S-02")
def test_it_holds_what_the_records_hold() -> None:
    """Every table has a row for each record of its kind, with states and amounts, and no text at all."""
    rig = reviewed()
    shadow = Shadow(rig.records)
    counts = shadow.rebuild()
    assert (counts.jobs, counts.attempts, counts.receipts, counts.revisions, counts.unread) == (1, 2, 1, 3, 0)
    with shadow.reading() as base:
        assert base.execute("SELECT state, turns, generation FROM jobs").fetchall() == [("applied", 1, 1)]
        day = base.execute(
            "SELECT attempts, actual_nanodollars, unknown_nanodollars FROM budget_days"
        ).fetchone()
        assert day == (2, USED.cost_nanodollars, 5_000)
        assert base.execute("SELECT cause FROM revisions ORDER BY seq").fetchall() == [
            ("remember",),
            ("review",),
            ("undo",),
        ]
    data = rig.disk.read(PATH, bytes_max=1 << 24)
    assert data is not None
    assert PREFER.encode() not in data
    assert b"Use tabs." not in data


@pytest.mark.requirement("S-02")
@pytest.mark.parametrize("harm", [None, b"", b"not a database", "cut", "overwritten"])
def test_a_missing_or_damaged_one_is_built_again(harm: bytes | str | None) -> None:
    """Whatever stands there, reading gives what the records hold."""
    rig = reviewed()
    shadow = Shadow(rig.records)
    whole = shadow.rebuild()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    data = disk.files()[PATH]
    if harm is None:
        disk.remove(PATH)
    elif isinstance(harm, bytes):
        disk.put(PATH, harm)
    elif harm == "cut":
        disk.put(PATH, data[: len(data) // 2])
    else:
        disk.put(PATH, data[:4_000] + b"\xff" * 6_000 + data[10_000:])
    assert shadow.counts() == whole


@pytest.mark.requirement("S-02", "D-09")
def test_it_is_never_written_under_a_lock_of_the_authority() -> None:
    """Asking for it while a project is held is a broken rule of ours, and fails before anything is read."""
    rig = reviewed()
    with rig.memory.hold(PROJECT), pytest.raises(NestedLock):
        Shadow(rig.records).rebuild()
    assert rig.disk.info(PATH) is None


@pytest.mark.requirement("S-02")
def test_nothing_decides_from_it() -> None:
    """With a shadow that lies, a review, the budget and the queue go on as without one."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(PREFER))
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE jobs (job_id TEXT, state TEXT)")
    base.execute("INSERT INTO jobs VALUES (?, 'applied')", (rig.queue.queued()[0],))
    base.commit()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    disk.put(PATH, base.serialize())
    base.close()
    assert rig.drain().ended == {"applied": 1}


@pytest.mark.requirement("S-02", "E-05")
def test_it_follows_retention() -> None:
    """After evidence has expired, jobs and the day's totals are still told."""
    rig = reviewed()
    for attempt in rig.attempts.all():
        if attempt.state == "unknown":
            from perdure.core.attempt import Reconciled, Usage

            rig.attempts.reconcile(Reconciled(attempt.attempt_id, "none", Usage(0, 0, 0), 1))
    for _ in range(20):
        rig.clock.advance(86_400)
        retention(rig).run()
    counts = Shadow(rig.records).rebuild()
    assert (counts.jobs, counts.attempts, counts.receipts, counts.budget_days) == (1, 0, 0, 1)


@pytest.mark.requirement("S-02", "E-04")
def test_its_file_is_private(tmp_path: Path, perdure_home: Path) -> None:
    """It is written through the Disk like every other file, and opens with any SQLite."""
    app, project = open_app(tmp_path)
    app.memory_service(project).remember("Use tabs.")
    app.shadow().rebuild()
    app.close()
    path = perdure_home / PATH
    assert path.stat().st_mode & 0o777 == 0o600
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert base.execute("SELECT count(*) FROM revisions").fetchone() == (1,)
    base.close()
