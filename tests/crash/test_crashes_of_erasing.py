"""Retention and purge, crashed at every disk operation: run again, they end in the same place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perdure.core.admission import OutcomeTombstone
from tests.crash.checks import check_by_the_book
from tests.crash.explore import record
from tests.crash.world import Actor, World
from tests.fakes import EVIDENCE_DAYS, PROJECT
from tests.simulated_disk import Model, SimulatedDisk

SECRETLY = "The port of the service is 4100."
MODELS: tuple[Model, ...] = ("posix-weak", "ext4")
SURVIVORS = 32
TRUSTED_DAYS = 2  # retention believes no larger jump of the clock


def reviewed(model: Model) -> tuple[World, SimulatedDisk]:
    """A home with a reviewed job whose evidence stands in memory, history, result and decision."""
    disk, world = SimulatedDisk(model), World()
    actor = world.start(disk)
    actor.rig.prepare()
    actor.remember("The tests run with make.")
    actor.capture((SECRETLY,))
    actor.drain()
    for _ in range(EVIDENCE_DAYS // TRUSTED_DAYS):
        actor.clock.advance(TRUSTED_DAYS * 86_400)
        actor.rig.retention().run()
    disk.reboot("kept")
    return world, disk


def crash_everywhere(model: Model, erase: Callable[[Actor], None], check: Callable[[Actor], None]) -> int:
    """Crash `erase` at each operation, in every way; erase again and check. How many states that were."""
    world, disk = reviewed(model)
    actor = world.start(disk)
    seen: set[int] = set()
    for snapshot in record(disk, world, lambda: erase(actor)):
        for state in snapshot.disk.surviving_states(limit=SURVIVORS):
            mark = hash(state.key())
            if mark in seen:
                continue
            seen.add(mark)
            after = snapshot.world.copy()
            check_by_the_book(after.copy().start(state.fork()).rig, rest=False)
            again = after.start(state)
            erase(again)
            again.drain()
            check_by_the_book(again.rig, rest=True)
            check(again)
    return len(seen)


@pytest.mark.requirement("E-05", "E-12", "X-05")
@pytest.mark.parametrize("model", MODELS)
def test_retention_ends_the_same_after_any_crash(model: Model) -> None:
    """What has expired leaves its outcome's tombstone and no evidence, wherever retention was cut off."""

    def erase(actor: Actor) -> None:
        actor.clock.advance(EVIDENCE_DAYS * 86_400)
        for _ in range(3):
            actor.clock.advance(TRUSTED_DAYS * 86_400)
            actor.rig.retention().run()

    def check(actor: Actor) -> None:
        for job_id in actor.world.jobs:
            assert isinstance(actor.rig.queue.outcome(job_id), OutcomeTombstone)
            assert job_id not in actor.rig.queue.queued()
        assert actor.world.turns <= actor.rig.coverage.covered(PROJECT).keys()
        assert [entry.text for entry in actor.rig.memory_service().branch().entries][-1] == SECRETLY

    assert crash_everywhere(model, erase, check) >= 40


@pytest.mark.requirement("M-12", "E-12", "X-05")
@pytest.mark.parametrize("model", MODELS)
def test_a_purge_ends_the_same_after_any_crash(model: Model) -> None:
    """Once `forget --everywhere` has run through, no file holds the text, wherever it was cut off before."""

    def erase(actor: Actor) -> None:
        actor.rig.purge_service().forget_everywhere(PROJECT, text=SECRETLY, wait_seconds=0)

    def check(actor: Actor) -> None:
        held = [path for path, data in actor.disk.files().items() if SECRETLY.encode() in data]
        assert [path for path in held if not path.startswith("tmp/")] == []
        assert [entry.text for entry in actor.rig.memory_service().branch().entries] == [
            "The tests run with make."
        ]

    assert crash_everywhere(model, erase, check) >= 40
