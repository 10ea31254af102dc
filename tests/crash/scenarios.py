"""The operations of the product, each as something that can be crashed at every step.

`prepare` makes what stands before, durably and without a crash; `act` is what is crashed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.core.decision import Decision
from perdure.core.protocol import Policy
from perdure.ports.provider import Answered, Failed, Lost, Reply, ReviewRequest
from tests.crash.scenario import Scenario
from tests.crash.upkeep import UPKEEP
from tests.crash.world import Actor, World
from tests.fakes import USED, finding_nothing
from tests.simulated_disk import Crashed, SimulatedDisk


def lost(_request: ReviewRequest) -> Reply:
    """The request may have run."""
    return Lost("timeout")


def unavailable(_request: ReviewRequest) -> Reply:
    """The provider answered that it is busy."""
    return Failed("availability", "http 503", None, None)


def refused(_request: ReviewRequest) -> Reply:
    """The provider will never take this request."""
    return Failed("permanent", "http 400", None, None)


def babbling(_request: ReviewRequest) -> Reply:
    """An answer that is no proposal."""
    return Answered("Certainly! Here it is.", USED, None)


def _nothing(_world: World, _disk: SimulatedDisk) -> None:
    """An empty home."""


def _entry(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).remember("The tests run with make.", key="test command")


def _job(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).capture(("The port of the service is 4100.",))


def _entry_and_job(world: World, disk: SimulatedDisk) -> None:
    _entry(world, disk)
    _job(world, disk)


def _jobs(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.capture(("The port of the service is 4100.",))
    actor.capture(("The port of the service is 4100.", "Releases go out on Thursdays."))


def _only_entry(world: World) -> str:
    return next(entry_id for entry_id, text in world.entries.items() if text is not None)


def _remember(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.remember("Use pnpm check before pnpm test.", key="check command")
    actor.remember("Use pnpm check and pnpm lint before pnpm test.", key="check command")


def _replace(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.replace(_only_entry(world), "The tests run with make test.")


def _forget(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).forget(_only_entry(world))


def _undo(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).undo(_only_entry(world), text=None)


def _fork(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).fork("trial")


def _select(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.use("trial")
    actor.use("main")


def _forked(world: World, disk: SimulatedDisk) -> None:
    _entry(world, disk)
    _fork(world, disk)


def _capture(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.capture(("The port of the service is 4100.",))
    actor.capture(("The port of the service is 4100.", "Releases go out on Thursdays."))


def _capture_observe(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.capture(("The port of the service is 4100.",), observe=True)
    actor.drain()


def _review(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).drain()


def _review_nothing(world: World, disk: SimulatedDisk) -> None:
    world.start(disk, otherwise=finding_nothing).drain()


def _review_lost(world: World, disk: SimulatedDisk) -> None:
    world.start(disk, script=(lost,)).drain(times=2)


def _review_unavailable(world: World, disk: SimulatedDisk) -> None:
    world.start(disk, script=(unavailable,)).drain(times=2)


def _review_refused(world: World, disk: SimulatedDisk) -> None:
    world.start(disk, script=(refused,)).drain()


def _review_babble(world: World, disk: SimulatedDisk) -> None:
    world.start(disk, script=(babbling,) * Policy().invalid_attempts_max).drain()


def _cancel(world: World, disk: SimulatedDisk) -> None:
    """Memory changes between the reservation and the call: the attempt is cancelled, another one is made."""
    actor = world.start(disk)
    writer = world.start(disk, process="writer")

    def meddle(_request: ReviewRequest) -> None:
        actor.provider.before_quote = lambda _request: None
        writer.remember("Written while a call was prepared.")

    actor.provider.before_quote = meddle
    actor.drain()


def _stale(world: World, disk: SimulatedDisk) -> None:
    """Memory changes during the call: the admission is stale, its successor is reviewed."""
    actor = world.start(disk)
    writer = world.start(disk, process="writer")
    actor.in_call = lambda: _meddle(writer)
    actor.drain()


def _meddle(writer: Actor) -> None:
    writer.remember("Written while a call was running.")


class _Overtaken(FileQueue):
    """The queue of a worker that stalls before its decision, while the user drops the job."""

    def __init__(self, records: Records, overtake: Callable[[str], None]) -> None:
        super().__init__(records)
        self._overtake = overtake

    def decide(self, decision: Decision) -> Decision:
        """Let the user come first."""
        self._overtake(decision.job_id)
        return super().decide(decision)


def _overtaken(world: World, disk: SimulatedDisk) -> None:
    actor, user = world.start(disk), world.start(disk, process="user")
    actor.rig.queue = _Overtaken(actor.rig.records, lambda job_id: drop_as(user, job_id))
    actor.drain()


def drop_as(actor: Actor, job_id: str) -> None:
    """Drop a job; once that returns, it has ended so for good."""
    ended = actor.rig.jobs_service().drop(job_id)
    actor.world.closed[job_id] = ended.state
    actor.world.stamp += 1


def _orphans(world: World, disk: SimulatedDisk) -> None:
    """One worker was killed after its reservation, another one in its call."""
    _jobs(world, disk)
    first = world.start(disk, process="victim")

    def after_reservation(operation: str, path: str) -> None:
        if operation == "link" and path.endswith(".fate"):
            disk.watch(lambda _operation, _path: None)
            disk.kill("victim")

    disk.watch(after_reservation)
    _drain_to_death(first)
    second = world.start(disk, process="victim")

    def in_call() -> None:
        disk.kill("victim")
        second.view.names("")

    second.in_call = in_call
    _drain_to_death(second)


def _drain_to_death(victim: Actor) -> None:
    with contextlib.suppress(Crashed):
        victim.drain()
        raise AssertionError("the victim survived")


def _dead_letter(world: World, disk: SimulatedDisk) -> None:
    _job(world, disk)
    _review_refused(world, disk)


def _retry(world: World, disk: SimulatedDisk) -> None:
    (job_id,) = world.jobs
    retry_as(world.start(disk), job_id)


def retry_as(actor: Actor, job_id: str) -> None:
    """Have a job reviewed again; once that returns, the next generation is accepted."""
    retried = actor.rig.jobs_service().retry(job_id)
    actor.world.jobs.add(retried.successor)
    actor.world.stamp += 1


def _retry_and_review(world: World, disk: SimulatedDisk) -> None:
    _retry(world, disk)
    world.start(disk).drain()


def _waiting(world: World, disk: SimulatedDisk) -> None:
    """The provider was busy: the job waits for its next attempt."""
    _job(world, disk)
    world.start(disk, script=(unavailable,)).drain()


def _supersede(world: World, disk: SimulatedDisk) -> None:
    """The user does not wait: the next generation follows, and is reviewed."""
    _retry_and_review(world, disk)


def _drop(world: World, disk: SimulatedDisk) -> None:
    (job_id,) = world.jobs
    drop_as(world.start(disk), job_id)


def _lost_job(world: World, disk: SimulatedDisk) -> None:
    _job(world, disk)
    world.start(disk, script=(lost,)).drain()


def _reconcile(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    (attempt,) = world.sends
    actor.rig.budget_service().reconcile(attempt, reason="seen on the invoice")
    world.settled_by_user.add(attempt)
    world.stamp += 1


def _day(world: World, disk: SimulatedDisk) -> None:
    """A day of work: everything after everything else."""
    actor = world.start(disk)
    actor.remember("Use pnpm check before pnpm test.")
    actor.capture(("The port of the service is 4100.",))
    actor.drain()
    reviewed = [e for e in actor.rig.memory_service().branch().entries if e.origin == "review"]
    actor.forget(reviewed[0].entry_id)
    actor.capture(("The port of the service is 4100.", "Releases go out on Thursdays."))
    actor.drain()


SCENARIOS = (
    Scenario("remember", _nothing, _remember),
    Scenario("replace", _entry, _replace),
    Scenario("forget", _entry, _forget),
    Scenario("undo", _entry, _undo),
    Scenario("fork", _entry, _fork),
    Scenario("select", _forked, _select),
    Scenario("capture", _nothing, _capture),
    Scenario("observe", _nothing, _capture_observe),
    Scenario("review", _job, _review),
    Scenario("two jobs", _jobs, _review),
    Scenario("nothing to remember", _job, _review_nothing),
    Scenario("unknown", _job, _review_lost),
    Scenario("unavailable", _job, _review_unavailable),
    Scenario("refused", _job, _review_refused),
    Scenario("dead letter", _job, _review_babble),
    Scenario("cancel", _entry_and_job, _cancel),
    Scenario("stale", _entry_and_job, _stale),
    Scenario("overtaken", _job, _overtaken),
    Scenario("orphans", _orphans, _review),
    Scenario("retry", _dead_letter, _retry),
    Scenario("successor", _dead_letter, _retry_and_review),
    Scenario("superseded", _waiting, _supersede),
    Scenario("drop", _job, _drop),
    Scenario("reconcile", _lost_job, _reconcile),
    Scenario("a day", _nothing, _day),
    *UPKEEP,
)

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
