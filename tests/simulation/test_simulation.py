"""Whole systems from fixed seeds: every law holds, every mistake is found out, every run repeats itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest

from tests.simulation.__main__ import figures_of, main, seeds_of
from tests.simulation.faults import MISTAKES, SEEDS_MAX, Mistake, made
from tests.simulation.floors import FLOORS, SEEDS_MIN, missed
from tests.simulation.many import Sums
from tests.simulation.plan import AMBUSHES, EventKind, plan_of
from tests.simulation.run import play, play_seed, shrink, story

WRONG_USE = 2
FIRST = 80
"""So many seeds in one test, which also counts what is hard."""
BATCHES = 8
PER_BATCH = 10
"""160 fixed seeds in all; `make simulate` runs as many as one likes."""


@pytest.mark.requirement("G-01", "G-03", "G-04", "A-03", "A-04", "B-02", "D-02", "D-09", "M-12", "Q-12")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_law_holds(batch: int, record_property: Callable[[str, object], None]) -> None:
    """Workers, writers, hosts and users, kills, power losses, bad disks and clocks: nothing is broken."""
    begin = FIRST + batch * PER_BATCH
    for seed in range(begin, begin + PER_BATCH):
        played = play_seed(seed)
        record_property("simulated_steps", played.steps)
        assert played.broken is None, story(shrink(played))


@pytest.mark.requirement("Q-03", "Q-04", "A-05", "A-06", "B-06", "Q-08", "Q-12", "D-11")
def test_what_is_hard_comes_up_often_enough() -> None:
    """Owners who wake after a take-over, late results, refusals, bad disks: none of them becomes rare."""
    counts: Counter[str] = Counter()
    for seed in range(FIRST):
        played = play_seed(seed)
        assert played.broken is None, story(shrink(played))
        counts += played.counts
    assert not missed(counts, FIRST)
    assert set(FLOORS) <= set(counts), set(FLOORS) - set(counts)


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
    mistake = next(mistake for mistake in MISTAKES if mistake.name == "cancel-a-dispatched-attempt")
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
    plans = [plan_of(seed) for seed in range(FIRST + BATCHES * PER_BATCH)]
    kinds = Counter(event.kind for plan in plans for event in plan.events)
    assert set(kinds) == set(get_args(EventKind))
    assert {plan.model for plan in plans} == {"posix-weak", "ext4"}
    assert {"good", "mixed", "slow", "bad"} == {plan.mood for plan in plans}
    assert {False, True} == {plan.frugal for plan in plans}
    assert set(AMBUSHES) == {event.who for plan in plans for event in plan.events if event.kind == "ambush"}


def test_seeds_are_read_as_written() -> None:
    """Single seeds, spans and lists of them."""
    for text, wanted in (("7", [7]), ("1,5,20-22", [1, 5, 20, 21, 22])):
        seeds, planned = seeds_of(text)
        assert list(seeds) == wanted
        assert planned == len(wanted)
    seeds, planned = seeds_of("600-")
    assert list(islice(seeds, 3)) == [600, 601, 602]
    assert planned is None
    with pytest.raises(ValueError, match="invalid literal"):
        seeds_of("all")


def test_a_meeting_that_vanished_fails_the_report() -> None:
    """Of many seeds, each floor is a target of the report; one that is missed fails it."""
    sums = Sums(SEEDS_MIN, seeds=SEEDS_MIN, counts=Counter(dict.fromkeys(FLOORS, 100_000)))
    assert all(figure.holds is not False for figure in figures_of(sums))
    name = max(FLOORS, key=lambda name: FLOORS[name])
    sums.counts[name] = 0
    assert [figure.name for figure in figures_of(sums) if figure.holds is False] == [name]
    assert name in missed(sums.counts, SEEDS_MIN)


def test_seeds_are_played_on_all_cores_and_summed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processes of their own come to the same as this one; the figures are written, wrong use is said."""
    monkeypatch.setattr("tests.simulation.__main__.BUILD_FOLDER", tmp_path)
    assert main(["3-4", "--processes", "2"]) == 0
    told = json.loads((tmp_path / "simulate.json").read_text())
    values = {figure["name"]: figure["value"] for figure in told}
    assert values["seeds"] == len((3, 4))
    assert values["violations"] == 0
    assert values["steps"] == play_seed(3).steps + play_seed(4).steps
    assert main(["all"]) == main(["3-"]) == WRONG_USE
    assert "--seconds" in capsys.readouterr().out
