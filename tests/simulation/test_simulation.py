"""Whole systems from fixed seeds: every law holds, every mistake is found out, every run repeats itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import get_args

import pytest

from tests.simulation.__main__ import seeds_of
from tests.simulation.faults import MISTAKES, SEEDS_MAX, Mistake, made
from tests.simulation.plan import EventKind, plan_of
from tests.simulation.run import play, play_seed, shrink, story

BATCHES = 16
PER_BATCH = 10
"""160 fixed seeds in all; `make simulate` runs as many as one likes."""


@pytest.mark.requirement("G-01", "G-03", "G-04", "A-03", "A-04", "B-02", "D-02", "D-09", "M-12", "Q-12")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_law_holds(batch: int, record_property: Callable[[str, object], None]) -> None:
    """Workers, writers, hosts and users, kills, power losses, bad disks and clocks: nothing is broken."""
    for seed in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        played = play_seed(seed)
        record_property("simulated_steps", played.steps)
        assert played.broken is None, story(shrink(played))


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found_out(mistake: Mistake) -> None:
    """A product with this mistake in it breaks a law under one of the first seeds; a sound one does not."""
    seeds = [mistake.seed, *(seed for seed in range(SEEDS_MAX) if seed != mistake.seed)]
    assert any(_notices(mistake, seed) for seed in seeds), f"nothing noticed: {mistake.name}"


def _notices(mistake: Mistake, seed: int) -> bool:
    with made(mistake):
        if play_seed(seed).broken is None:
            return False
    return play_seed(seed).broken is None


def test_a_seed_repeats_itself() -> None:
    """The same seed takes the same steps, to the last one."""
    first, second = play_seed(5), play_seed(5)
    assert first == second
    assert first.trace
    assert play_seed(6).trace != first.trace


def test_a_failure_is_made_smaller_and_says_how_to_see_it_again() -> None:
    """Events and actors that it does not take are left out, and the story names the seed."""
    mistake = next(mistake for mistake in MISTAKES if mistake.name == "cancel a dispatched attempt")
    with made(mistake):
        failed = play_seed(mistake.seed)
        small = shrink(failed, runs_max=20)
        assert small.law == failed.law
        assert len(small.plan.actors) + len(small.plan.events) < len(failed.plan.actors) + len(
            failed.plan.events
        )
        assert play(small.plan) == small
    told = story(small)
    assert f"make simulate SEEDS={mistake.seed}" in told
    assert small.law in told


def test_the_plans_reach_everything() -> None:
    """All kinds of events, actors and moods come up among the fixed seeds."""
    plans = [plan_of(seed) for seed in range(BATCHES * PER_BATCH)]
    kinds = Counter(event.kind for plan in plans for event in plan.events)
    assert set(kinds) == set(get_args(EventKind))
    assert {plan.model for plan in plans} == {"posix-weak", "ext4"}
    assert {"good", "mixed", "slow", "bad"} == {plan.mood for plan in plans}


def test_seeds_are_read_as_written() -> None:
    """Single seeds, spans and lists of them."""
    assert seeds_of("7") == [7]
    assert seeds_of("1,5,20-22") == [1, 5, 20, 21, 22]
    with pytest.raises(ValueError, match="invalid literal"):
        seeds_of("all")
