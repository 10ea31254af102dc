"""Renames, removals, moves and merges, crashed before and after every disk operation, in both disk models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.crash.explore import Bounds, Explorer
from tests.crash.structural import SHAPING, ShapedScenario
from tests.simulated_disk import Model

BOUNDS = Bounds(survivors=6, nested_survivors=2, kills=1, nested=0)


@pytest.mark.requirement("M-02", "G-01", "G-04", "G-05", "D-06", "X-05")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
@pytest.mark.parametrize("scenario", SHAPING, ids=lambda scenario: scenario.name)
def test_every_crash_of_a_change_of_shape_is_recovered(
    scenario: ShapedScenario, model: Model, record_property: Callable[[str, object], None]
) -> None:
    """Whatever a crash leaves: a branch has one name or is gone with its jobs ended, and an entry that was
    moved is in exactly one memory once its users have gone on working.
    """
    tally = Explorer(scenario, model, BOUNDS).run()
    record_property("crash_states", tally.states)
    record_property("crash_nested", tally.nested)
    assert tally.violations == []
    assert tally.states >= 100
