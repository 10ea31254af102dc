"""Retention and purge, crashed at every disk operation: run again, they end in the same place. And a purge
at every disk operation of those under way: what it took away stays away.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest

from perdure.authority.filesystem import locks
from perdure.core.admission import OutcomeTombstone
from perdure.errors import LockTimeout, NotFound, Refused
from perdure.ports.provider import Answered, Failed, Reply, ReviewRequest
from perdure.service.purge import Purged
from tests.crash.checks import check_by_the_book
from tests.crash.explore import record
from tests.crash.world import Actor, World
from tests.fakes import (
    EVIDENCE_DAYS,
    NOON_MS,
    PROJECT,
    USED,
    ManualClock,
    Rig,
    ScriptedProvider,
    SequentialIds,
    proposing,
    turns,
)
from tests.simulated_disk import Crashed, Model, SimulatedDisk
from tests.simulated_view import DiskView

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
        for state in actor.disk.surviving_states(limit=2):
            assert not [path for path, data in state.files().items() if SECRETLY.encode() in data]
        assert [entry.text for entry in actor.rig.memory_service().branch().entries] == [
            "The tests run with make."
        ]

    assert crash_everywhere(model, erase, check) >= 40


# -- a purge in the middle of what others do

REMEMBERED = "The launch code name is Bluebird Harbour."
UNRELATED = "Releases go out on Thursdays."
NEEDLE = "Bluebird Harbour"


def quoting(request: ReviewRequest) -> Reply:
    """Answer as a reviewer does that works an entry it was shown into what it proposes."""
    line = request.evidence[0]
    shown = next((view for view in request.memory if NEEDLE in view.text), None)
    if shown is None or line.text != UNRELATED:
        return proposing(request)
    text = f"{shown.text} {UNRELATED}"
    operation = {"op": "replace", "entry": shown.entry_id, "text": text, "evidence": [line.line_id]}
    return Answered(json.dumps({"operations": [{**operation, "rationale": ""}]}), USED, None)


def refusing(_request: ReviewRequest) -> Reply:
    """Answer with a failure that ends the job."""
    return Failed("permanent", "http 400", None, None)


def started(view: DiskView, name: str, later_ms: int = 0) -> Rig:
    """One process on the disk."""
    clock = ManualClock(NOON_MS + later_ms)
    provider = ScriptedProvider(otherwise=quoting)
    return Rig(view, ids=SequentialIds(name), clock=clock, provider=provider)


def told() -> SimulatedDisk:
    """The text in memory and in a queued job, and a queued job that has nothing to do with it."""
    disk = SimulatedDisk()
    rig = started(disk, "before")
    rig.prepare()
    rig.memory_service().remember(REMEMBERED)
    rig.capture(turns(f"By the way: {REMEMBERED}"))
    rig.capture(turns(f"By the way: {REMEMBERED}", UNRELATED))
    disk.reboot("kept")
    return disk


def refused() -> SimulatedDisk:
    """The text in a job alone that has ended without an effect, so that it can be retried."""
    disk = SimulatedDisk()
    rig = started(disk, "before")
    rig.prepare()
    rig.capture(turns(REMEMBERED))
    rig.provider = ScriptedProvider(otherwise=refusing)
    rig.drain()
    disk.reboot("kept")
    return disk


def held_in(disk: SimulatedDisk) -> list[str]:
    """The files that hold the text."""
    return sorted(path for path, data in disk.files().items() if NEEDLE.encode() in data)


def purged(rig: Rig) -> Purged | None:
    """Forget the text, as another process: it may hold locks while this one does. None: it had to wait."""
    holding = vars(locks._held).pop("folder", None)
    try:
        return rig.purge_service().forget_everywhere(PROJECT, text=NEEDLE)
    except LockTimeout:
        return None
    finally:
        locks._held.folder = holding


def purge_at(
    disk: SimulatedDisk, number: int, act: Callable[[Rig], None], *, die_at: int | None = None
) -> tuple[bool, Purged | None]:
    """Act as one process, with a whole purge before its operation of that number; whether it got there.

    The process dies at its own operation `die_at`.
    """
    passed = 0
    done: list[Purged | None] = []

    def look(_operation: str, _path: str) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            disk.watch(lambda *_: None)
            done.append(purged(started(disk.process("purge"), "purge", 3_000)))

    disk.watch(look)
    with contextlib.suppress(Refused, NotFound, Crashed):
        act(started(disk.process("other", crash_at=die_at), "other"))
    disk.watch(lambda *_: None)
    return bool(done), done[0] if done else None


def review(rig: Rig) -> None:
    """Review what is queued."""
    rig.drain()


def drop(rig: Rig) -> None:
    """Drop the oldest job."""
    rig.jobs_service().drop(rig.queue.queued()[0])


def retry(rig: Rig) -> None:
    """Retry the oldest job."""
    rig.jobs_service().retry(rig.queue.queued()[0])


def supersede(rig: Rig) -> None:
    """Retry the oldest job, that a stop in its review has left waiting."""
    rig.provider = ScriptedProvider(otherwise=lambda _: Failed("configuration", "http 401", None, None))
    rig.drain()
    rig.jobs_service().retry(rig.queue.queued()[0])


def expire(rig: Rig) -> None:
    """Review, and take away what was reviewed."""
    rig.drain()
    rig.retention().expire(PROJECT, tuple(sorted(rig.queue.closed(PROJECT))))


@pytest.mark.requirement("M-12", "D-02", "Q-05")
@pytest.mark.parametrize(
    ("before", "act"),
    [(told, review), (told, drop), (told, supersede), (told, expire), (refused, retry)],
    ids=["review", "drop", "supersede", "expire", "retry"],
)
def test_a_purge_is_not_undone_by_whoever_was_under_way(
    before: Callable[[], SimulatedDisk], act: Callable[[Rig], None]
) -> None:
    """A purge that says that nothing is left stays right, at whatever operation of another it ran; what it
    says is left is gone after one more. The unrelated evidence is reviewed all the same.
    """
    base = before()
    clean = kept = number = 0
    while True:
        number += 1
        disk = base.fork()
        reached, done = purge_at(disk, number, act)
        if not reached:
            break
        if done is None or done.left:
            done = purged(started(disk.process("purge"), "again", 9_000))
            assert done is not None
            assert done.left == [], number
        else:
            clean += 1
        assert held_in(disk) == [], number
        later = started(disk.process("later"), "later", 7_200_000)
        later.drain()
        assert held_in(disk) == [], number
        check_by_the_book(later, rest=True)
        texts = [entry.text for entry in later.memory_service().branch().entries]
        assert texts in ([], [UNRELATED]), number  # nothing when it had become part of what was purged
        kept += bool(texts)
    assert clean >= 2
    assert kept >= 10 or before is refused


@pytest.mark.requirement("M-12", "E-05")
@pytest.mark.parametrize(
    ("before", "act"), [(told, review), (told, drop), (refused, retry)], ids=["review", "drop", "retry"]
)
def test_what_a_late_writer_left_by_dying_goes_with_the_next_retention(
    before: Callable[[], SimulatedDisk], act: Callable[[Rig], None]
) -> None:
    """A process that a purge overtook may die when it has published one more record: what then stands beside
    the tombstone goes at the next run of retention, however young the job is; or the purge had said so.
    """
    base = before()
    strays = number = 0
    reached = True
    while reached:
        number += 1
        for die_at in range(number + 3, number + 7):
            disk = base.fork()
            reached, done = purge_at(disk, number, act, die_at=die_at)
            disk.kill("other")
            later = started(disk.process("later"), "later", 3_600_000)
            if done is None or done.left:
                done = purged(later)
                assert done is not None
                assert done.left == [], (number, die_at)
            elif reached:
                strays += held_in(disk) != []
                later.retention().run()
            assert not reached or held_in(disk) == [], (number, die_at)
    assert strays or act is retry
