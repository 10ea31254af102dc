"""SIGKILL of real processes at random moments: two workers and a writer on one real home.

`python -m tests.machine --kills 2000` goes on for as long as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.machine.aftermath import Aftermath, killed

SEED = 20_270_115
KILLS = 220
KILLS_MIN = 200
SECONDS = 120.0

pytestmark = pytest.mark.xdist_group("kills")


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    """Give a home after all the kills and one clean drain."""
    with killed(tmp_path_factory.mktemp("kills"), seed=SEED, kills=KILLS, seconds=SECONDS) as made:
        yield made


@pytest.mark.requirement("X-05", "Q-09")
def test_at_least_two_hundred_processes_were_killed(after: Aftermath) -> None:
    """The test is worth its name: 200 kills of processes at work, calls cut off, and no other ends."""
    story = after.story
    assert story.kills >= KILLS_MIN
    assert story.failures == []
    assert len(story.accepted) > 20
    assert len(story.noted) > 20
    assert "unknown" in {attempt.state for attempt in after.app.attempts.all()}


@pytest.mark.requirement("G-01", "Q-05")
def test_every_accepted_job_has_one_outcome(after: Aftermath) -> None:
    """Whatever was killed: each job that was accepted stands there and has ended."""
    assert list(after.lost_jobs()) == []


@pytest.mark.requirement("G-04", "M-11")
def test_every_acknowledged_write_is_there(after: Aftermath) -> None:
    """Each acknowledged remember has its revision, and the branch its text or that writer's next one."""
    assert list(after.lost_writes()) == []


@pytest.mark.requirement("A-04", "A-02", "A-03", "B-03")
def test_every_request_is_accounted_for_once(after: Aftermath) -> None:
    """No attempt sent twice; what was sent is settled or unknown and counted; nothing is left open."""
    assert after.sends != []
    assert list(after.miscounted_calls()) == []


@pytest.mark.requirement("G-03", "D-06", "M-09", "X-02")
def test_every_rule_holds_over_the_whole_home(after: Aftermath) -> None:
    """What `perdure verify` checks, on every record, and that nothing is left to do."""
    assert list(after.broken_rules()) == []


@pytest.mark.requirement("Q-09", "Q-03")
def test_nothing_is_left_of_the_dead(after: Aftermath) -> None:
    """Temporaries are swept, no worker counts as alive, and every lock is free."""
    assert list(after.left_behind()) == []
