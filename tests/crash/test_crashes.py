"""Every operation of the product, crashed before and after every disk operation, in both disk models."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from perdure.authority.filesystem import layout
from tests.crash.explore import Bounds, Explorer
from tests.crash.histories import history
from tests.crash.scenario import Scenario
from tests.crash.scenarios import BY_NAME, SCENARIOS
from tests.crash.world import Broken
from tests.simulated_disk import Model
from tests.simulated_view import DiskView

BOUNDS = Bounds(survivors=12, nested_survivors=3, kills=4, nested=2)
STATES_MIN = 50_000

FLOORS: dict[str, tuple[int, int]] = {
    "remember": (480, 290),
    "replace": (395, 385),
    "forget": (425, 315),
    "undo": (395, 385),
    "fork": (400, 380),
    "select": (265, 280),
    "capture": (845, 805),
    "observe": (775, 700),
    "review": (1045, 910),
    "two jobs": (1570, 1335),
    "nothing to remember": (940, 815),
    "unknown": (1130, 950),
    "unavailable": (1175, 975),
    "refused": (910, 800),
    "dead letter": (1205, 1025),
    "cancel": (1280, 1170),
    "stale": (1745, 1520),
    "overtaken": (820, 670),
    "orphans": (1570, 1310),
    "retry": (430, 430),
    "successor": (1100, 1020),
    "superseded": (1260, 1125),
    "drop": (465, 385),
    "reconcile": (590, 610),
    "a day": (1460, 1380),
    "retention": (795, 390),
    "retention of a day": (805, 480),
    "retention beside work": (1485, 1250),
    "news": (300, 250),
    "news past its job": (900, 530),
    "news that expires": (660, 340),
    "purge": (885, 720),
    "purge of what was reviewed": (585, 415),
    "quarantine": (805, 600),
    "restore": (310, 385),
    "restore of a lost branch": (125, 125),
    "resume": (680, 360),
    "import": (215, 210),
    "import of additions": (340, 310),
    "full memory": (205, 200),
    "large window": (1245, 1105),
    "injection": (120, 110),
    "uncovered": (395, 375),
    "adoption": (160, 150),
    "probe": (225, 180),
    "init": (55, 45),
}
"""Distinct states per scenario: at least so many on posix-weak and on ext4."""

HISTORY_BOUNDS = Bounds(survivors=8, nested_survivors=2, kills=2, nested=1)
HISTORIES = 8
HISTORY_STATES_MIN = 100


def _explored(
    scenario: Scenario, model: Model, bounds: Bounds, record_property: Callable[[str, object], None]
) -> int:
    tally = Explorer(scenario, model, bounds).run()
    record_property("crash_states", tally.states)
    record_property("crash_nested", tally.nested)
    record_property("crash_exhaustive", tally.exhaustive)
    record_property("crash_sampled", tally.sampled)
    assert tally.violations == []
    return tally.states


@pytest.mark.requirement("G-01", "G-03", "G-04", "D-06", "A-03", "D-02", "E-05", "M-12", "M-13", "M-14")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_crash_of_an_operation_is_recovered(
    scenario: Scenario, model: Model, record_property: Callable[[str, object], None]
) -> None:
    """Whatever a crash leaves: going on keeps what was promised, ends every job once, and converges."""
    states = _explored(scenario, model, BOUNDS, record_property)
    assert states >= FLOORS[scenario.name][model == "ext4"]


@pytest.mark.requirement("G-01", "G-03", "G-04", "D-06", "E-05", "M-12")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_every_crash_of_a_history_is_recovered(
    seed: int, model: Model, record_property: Callable[[str, object], None]
) -> None:
    """The same of operations in an order that a seed gives; `python -m tests.crash` goes on with more."""
    assert _explored(history(seed), model, HISTORY_BOUNDS, record_property) >= HISTORY_STATES_MIN


def test_the_floors_add_up() -> None:
    """All scenarios together look at no fewer than 50,000 distinct crash states."""
    assert set(FLOORS) == {scenario.name for scenario in SCENARIOS}
    assert sum(sum(pair) for pair in FLOORS.values()) >= STATES_MIN


def test_the_place_of_a_broken_promise_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report names leads back to the same state: the same is broken there, in a recovery too."""
    real = DiskView.sync_folder

    def sync(self: DiskView, path: str) -> None:
        if path != layout.SPOOL_JOBS:
            real(self, path)

    monkeypatch.setattr(DiskView, "sync_folder", sync)
    explorer = Explorer(BY_NAME["capture"], "posix-weak", BOUNDS)
    broken = {len(found.place.split(".")): found for found in explorer.run().violations}
    assert len(broken) > 1
    for found in broken.values():
        with pytest.raises(Broken, match=re.escape(found.what.partition(": ")[2])):
            explorer.replay(found.place)


def test_rounds_count_no_state_twice() -> None:
    """A round that shares what was seen with the one before adds nothing where nothing is new."""
    scenario, seen = BY_NAME["remember"], set[tuple[int, int]]()
    first = Explorer(scenario, "ext4", BOUNDS, seen=seen).run()
    again = Explorer(scenario, "ext4", BOUNDS, seen=seen).run()
    assert first.states == len(seen) > 0
    assert again.states == 0


def test_files_of_several_blocks_come_back_torn() -> None:
    """Where a file is overwritten in place, some states hold new blocks beside old ones."""
    tally = Explorer(BY_NAME["injection"], "posix-weak", BOUNDS).run()
    assert tally.torn > 0
    assert tally.violations == []
