"""Each rule of the protocol, broken on purpose: the crash scenarios have to notice every time."""

from __future__ import annotations

import pytest

from tests.crash.explore import Bounds, Explorer
from tests.crash.faults import FAULTS, Fault, made
from tests.crash.scenarios import BY_NAME

BOUNDS = Bounds(survivors=16, nested_survivors=3, kills=10, nested=0, converge_every=1, first_only=True)


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_broken_rule_is_noticed(fault: Fault) -> None:
    """A product with this mistake in it does not pass the scenario that is named beside it."""
    with made(fault):
        tally = Explorer(BY_NAME[fault.caught_by], "posix-weak", BOUNDS).run()
    assert tally.violations, f"nothing noticed: {fault.name}"
