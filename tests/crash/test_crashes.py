"""Every operation of the product, crashed before and after every disk operation, in both disk models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.crash.explore import Bounds, Explorer
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.simulated_disk import Model

BOUNDS = Bounds(survivors=10, nested_survivors=2, kills=3, nested=1)
STATES_MIN = 20_000

FLOORS: dict[str, tuple[int, int]] = {
    "remember": (285, 220),
    "replace": (200, 195),
    "forget": (250, 195),
    "undo": (200, 195),
    "fork": (220, 195),
    "select": (155, 130),
    "capture": (380, 305),
    "observe": (525, 450),
    "review": (600, 520),
    "two jobs": (970, 845),
    "nothing to remember": (580, 470),
    "unknown": (820, 610),
    "unavailable": (820, 610),
    "refused": (520, 460),
    "dead letter": (625, 490),
    "cancel": (895, 775),
    "stale": (1110, 940),
    "overtaken": (460, 370),
    "orphans": (1010, 855),
    "retry": (190, 195),
    "drop": (300, 265),
    "reconcile": (315, 310),
    "a day": (1125, 1120),
}
"""Distinct states per scenario: at least so many on posix-weak and on ext4."""


@pytest.mark.requirement("G-01", "G-03", "G-04", "D-06", "A-03", "D-02")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_crash_of_an_operation_is_recovered(
    scenario: Scenario, model: Model, record_property: Callable[[str, object], None]
) -> None:
    """Whatever a crash leaves: going on keeps what was promised, ends every job once, and converges."""
    tally = Explorer(scenario, model, BOUNDS).run()
    record_property("crash_states", tally.states)
    record_property("crash_nested", tally.nested)
    assert tally.violations == []
    assert tally.states >= FLOORS[scenario.name][model == "ext4"]


def test_the_floors_add_up() -> None:
    """All scenarios together look at no fewer than 20,000 distinct crash states."""
    assert set(FLOORS) == {scenario.name for scenario in SCENARIOS}
    assert sum(sum(pair) for pair in FLOORS.values()) >= STATES_MIN
