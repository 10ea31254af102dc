"""SIGKILL of real processes at random moments: two workers and a writer on one real home."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.core.admission import Revision
from perdure.service.invariants import check_invariants, check_rest
from tests.e2e.sigkill_process import BRANCH, CountingProvider, Story, note
from tests.fakes import PROJECT

SEED = 20_270_115
KILLS = 220
KILLS_MIN = 200
SECONDS = 45.0

CONFIG = """
[retries]
unknown_seconds_first = 0
quiet_branch_seconds = 0

[limits]
calls = 1_000_000
calls_per_hour = 1_000_000
tokens = 1_000_000_000_000
usd = 1_000_000.0
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[App, Story, Path]:
    """A home after all the kills and one clean drain."""
    folder = tmp_path_factory.mktemp("sigkill")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_HOME", str(folder / "home"))
        patch.setenv("PERDURE_STATE", str(folder / "state"))
        patch.setenv("SENDS", str(folder / "sends"))
        patch.setenv("STORY", str(folder / "story"))
        app = App.open(create=True)
        app.home.ensure_scope(PROJECT)
        app.close()
        (folder / "home" / layout.CONFIG).write_text(CONFIG)
        _kill_at_random()
        app = App.open()
        app.begin_writing()
        _drain(app)
    return app, msgspec.json.decode((folder / "story").read_bytes(), type=Story), folder


def _kill_at_random() -> None:
    command = [sys.executable, "-m", "tests.e2e.sigkill_process", str(SEED), str(KILLS), str(SECONDS)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, cwd=root, env=environment, start_new_session=True) as driver:
        try:
            assert driver.wait(timeout=SECONDS + 60) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)


def _drain(app: App) -> None:
    until = time.monotonic() + 60
    provider = CountingProvider()
    while waiting := app.worker(provider=provider).drain().waiting:
        assert time.monotonic() < until, {advance.reason for advance in waiting.values()}
        time.sleep(0.05)


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("X-05", "Q-09")
def test_at_least_two_hundred_processes_were_killed(ended: tuple[App, Story, Path]) -> None:
    """The test is worth its name: 200 kills, and nobody ended in another way."""
    _, story, _ = ended
    assert story.kills >= KILLS_MIN
    assert story.failures == []
    assert len(story.accepted) > 20
    assert len(story.noted) > 20


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("G-01", "Q-05")
def test_every_accepted_job_has_one_outcome(ended: tuple[App, Story, Path]) -> None:
    """Whatever was killed: each job that was accepted stands there and has ended."""
    app, story, _ = ended
    closed = app.queue.closed(PROJECT)
    assert [job for job in story.accepted if job not in closed] == []
    assert set(app.queue.queued()) == closed == app.queue.announced(PROJECT)


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("G-04", "M-11")
def test_every_acknowledged_write_is_there(ended: tuple[App, Story, Path]) -> None:
    """Each acknowledged remember has its revision, and the branch its text or that writer's next one."""
    app, story, _ = ended
    texts = {entry.key: entry.text for entry in app.memory_service(PROJECT).branch().entries}
    last: dict[int, int] = {}
    for noted in story.noted:
        revision = app.memory.revision(PROJECT, BRANCH, noted.seq)
        assert isinstance(revision, Revision)
        assert [change.after.text for change in revision.changes if change.after] == [
            note(noted.life, noted.number)
        ]
        last[noted.life] = max(noted.number, last.get(noted.life, 0))
    for life, number in last.items():
        assert texts[f"note {life}"] in {note(life, number), note(life, number + 1)}


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("A-04", "A-02", "A-03", "B-03")
def test_every_request_is_accounted_for_once(ended: tuple[App, Story, Path]) -> None:
    """No attempt sent twice; what was sent is settled or unknown and counted; nothing is left open."""
    app, _, folder = ended
    sends = Counter((folder / "sends").read_text().split())
    attempts = {attempt.attempt_id: attempt for attempt in app.attempts.all()}
    assert set(sends.values()) == {1}
    assert {attempts[name].state for name in sends} <= {"settled", "unknown"}
    assert not any(attempt.open for attempt in attempts.values())
    assert "unknown" in {attempt.state for attempt in attempts.values()}, "no call was cut off"
    day = min(attempts)[:8]
    assert app.attempts.charge("scripted", day).total.calls >= len(sends)


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("G-03", "D-06", "M-09", "X-02")
def test_every_rule_holds_over_the_whole_home(ended: tuple[App, Story, Path]) -> None:
    """What `perdure verify` checks, on every record, and that nothing is left to do."""
    app, _, _ = ended
    snapshot = load_snapshot(app.records)
    assert [*check_invariants(snapshot), *check_rest(snapshot)] == []


@pytest.mark.xdist_group("sigkill")
@pytest.mark.requirement("Q-09", "Q-03")
def test_nothing_is_left_of_the_dead(ended: tuple[App, Story, Path]) -> None:
    """Temporaries are swept, no worker counts as alive, and every lock is free."""
    app, _, folder = ended
    disk = app.records.disk
    disk.sweep_temporaries()
    assert list((folder / "home" / "tmp").iterdir()) == []
    assert app.claims.workers() == ()
    scope = layout.scope_folder(PROJECT)
    for domain in (layout.BUDGETS, scope, f"{scope}/coverage"):
        held = disk.try_lock(domain)
        assert held is not None
        held.release()
