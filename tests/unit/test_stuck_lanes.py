"""What holds a lane or a budget up, and for how long at most: clocks, stuck owners, closed jobs."""

from __future__ import annotations

import contextlib

import pytest

from perdure.authority.filesystem import locks
from perdure.core.attempt import Fate
from perdure.core.budget import Limits
from perdure.core.memory import Remove
from perdure.errors import Refused
from perdure.ports.provider import Failed, Lost, Reply, ReviewRequest
from tests.fakes import PROJECT, ManualClock, Rig, ScriptedProvider, SequentialIds, turns
from tests.simulated_disk import Crashed, SimulatedDisk

YEAR = 365 * 86_400
PORT = "The port of the service is 4100."
BLUEBIRD = "The launch is called Bluebird."


def prepared(**more: object) -> Rig:
    """A project with one captured turn."""
    rig = Rig(SimulatedDisk(), **more)  # type: ignore[arg-type]  # by name
    rig.prepare()
    rig.capture(turns(PORT))
    return rig


@pytest.mark.requirement("Q-04", "Q-12")
@pytest.mark.parametrize("reply", [Failed("availability", "http 503", None, None), Lost("timeout")])
@pytest.mark.parametrize("same", [True, False])
def test_a_lane_goes_on_after_the_clock_was_a_year_ahead(reply: Reply, same: bool) -> None:
    """Nobody waits out a year that never was, neither the worker that saw it nor a new one."""
    replies = [reply]

    def answer(request: ReviewRequest) -> Reply:
        return replies.pop() if replies else ScriptedProvider()._otherwise(request)

    rig = prepared(provider=ScriptedProvider([answer, answer]))
    rig.clock.jump(YEAR)
    worker = rig.worker()
    assert len(worker.drain().waiting) == 1
    rig.clock.jump(-YEAR)
    later = worker if same else rig.worker()
    assert later.drain().ended == {"applied": 1}


class Stuck(BaseException):
    """The owner stops in the middle of a step, and its process lives on."""


@pytest.mark.requirement("Q-03", "A-03")
def test_a_stuck_owner_that_lives_does_not_keep_the_lane_by_a_reservation() -> None:
    """After the lease another takes the lane over, and takes back what was never sent."""
    rig = prepared()
    stuck = Rig(rig.disk.process("s"), ids=SequentialIds("s"), clock=rig.clock)  # type: ignore[attr-defined]  # simulated

    def stop(fate: Fate) -> bool:
        raise Stuck(fate.attempt_id)

    stuck.attempts.decide_fate = stop  # type: ignore[method-assign]  # the step before
    stuck.claims.retire = lambda worker: None  # type: ignore[method-assign]  # noqa: ARG005 - it lives on
    with contextlib.suppress(Stuck):
        stuck.worker().drain()
    rig.clock.advance(86_400)
    assert rig.drain().ended == {"applied": 1}
    assert [attempt.state for attempt in rig.attempts.all()] == ["cancelled", "settled"]


@pytest.mark.requirement("G-01", "B-02")
def test_a_reservation_of_a_job_that_was_closed_meanwhile_frees_its_budget() -> None:
    """One call a day: the next job gets it although the worker that reserved it first lives on."""
    rig = prepared(limits=Limits(calls_per_day=1))
    (first,) = rig.queue.queued()
    rig.capture(turns(PORT, "Releases go out on Thursdays."))
    user = Rig(rig.disk.process("u"), ids=SequentialIds("u"))  # type: ignore[attr-defined]  # simulated

    def drop(_: ReviewRequest) -> None:
        rig.provider.before_quote = lambda _: None
        user.jobs_service().drop(first)

    rig.provider.before_quote = drop
    assert rig.drain().ended == {"dropped": 1, "applied": 1}
    assert sorted(attempt.state for attempt in rig.attempts.all()) == ["cancelled", "settled"]


@pytest.mark.requirement("D-09")
def test_no_lock_is_held_while_the_reviewer_works() -> None:
    """A call may take minutes; whatever needs a lock meanwhile gets it."""
    rig = prepared()
    looked: list[str] = []

    def look(_: ReviewRequest) -> None:
        locks.refuse_held("the reviewer")
        looked.append("free")

    rig.provider.before_review = look
    assert rig.drain().ended == {"applied": 1}
    assert looked == ["free"]


def forgotten_after_a_removal() -> Rig:
    """Revision 2 took the text out by an edit; 3 and 4 stored it again and forgot it."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    memory = rig.memory_service()
    entry = memory.remember(BLUEBIRD).entry
    assert entry is not None
    memory.edit((Remove(entry.entry_id),), planned_on=memory.branch().digest)
    memory.remember(BLUEBIRD)
    memory.forget("Bluebird")
    return rig


@pytest.mark.requirement("M-12", "M-09")
def test_undoing_an_older_edit_does_not_bring_a_forgotten_text_back() -> None:
    """The undo is refused and names what it would store again."""
    memory = forgotten_after_a_removal().memory_service()
    with pytest.raises(Refused, match="Bluebird"):
        memory.undo(2)
    assert memory.branch().entries == ()


@pytest.mark.requirement("M-12")
def test_replacing_by_a_forgotten_text_needs_relearn() -> None:
    """As with remember: refused with advice, and done when it is meant."""
    memory = forgotten_after_a_removal().memory_service()
    memory.remember("Use pnpm here.", key="tool")
    with pytest.raises(Refused, match="--relearn"):
        memory.replace("tool", text=BLUEBIRD)
    assert memory.replace("tool", importance="high").changed
    assert memory.replace("tool", text=BLUEBIRD, relearn=True).changed


@pytest.mark.requirement("M-12", "G-04")
def test_a_forget_is_durable_though_another_wrote_its_tombstones() -> None:
    """A forget was killed before its tombstones' folder was synced; the next one's word holds anyway."""
    disk = SimulatedDisk("posix-weak")
    rig = Rig(disk)
    rig.prepare()
    entry = rig.memory_service().remember("The port is 4100.", key="port").entry
    assert entry is not None
    disk.reboot("kept")
    probe = disk.fork()
    Rig(probe, ids=SequentialIds("v")).memory_service().forget(entry.entry_id)
    steps = probe.operations
    last = max(
        n for n, (kind, path) in enumerate(steps) if (kind, path[-11:]) == ("sync_folder", "/tombstones")
    )
    victim = disk.process("first", crash_at=last + 1)
    with contextlib.suppress(Crashed):
        Rig(victim, ids=SequentialIds("v")).memory_service().forget(entry.entry_id)
    clock = ManualClock()
    clock.jump(-1)
    Rig(disk.process("second"), ids=SequentialIds("u"), clock=clock).memory_service().forget(entry.entry_id)
    disk.reboot("lost")
    rig = Rig(disk, ids=SequentialIds("n"))
    assert len(disk.names(f"projects/{PROJECT}/tombstones")) == 3
    with rig.memory.hold(PROJECT) as held:
        assert held.buried("The port is 4100.", None, 0)
        assert held.buried(None, "port", 0)
