"""The operations that keep a home in order: what expires, is purged, mended, imported, settled or noted."""

from __future__ import annotations

import contextlib
import functools

from perdure.authority.filesystem import layout, projects
from perdure.authority.filesystem.exposure import FileExposures
from perdure.authority.filesystem.inspect import FileInspect
from perdure.authority.filesystem.project import Project
from perdure.core.budget import Amount, Limits
from perdure.errors import DiskFailed
from perdure.ports.coverage import Uncovered
from perdure.ports.provider import Failed, Reply, ReviewRequest
from perdure.service.adoption import charge_rest_of_day
from perdure.service.exchange import ExchangeService
from perdure.service.inject import InjectService
from perdure.service.probe import ProbeService
from perdure.service.restore import RestoreService
from tests.crash.scenario import Scenario
from tests.crash.world import Actor, Broken, World
from tests.fakes import EVIDENCE_DAYS, MAIN_BRANCH, PROJECT, SESSION, Rig, turns
from tests.services import feedback_service
from tests.simulated_disk import SimulatedDisk

PORT = "The port of the service is 4100."
THURSDAYS = "Releases go out on Thursdays."
RULE = "The tests run with make."
RUNS = EVIDENCE_DAYS // 2
"""Runs of retention, two days apart, after which a job that has just ended is about to expire."""
ELSEWHERE = Amount(20, 90_000, 700_000)
LIMITS = Limits(
    calls_per_day=ELSEWHERE.calls,
    tokens_per_day=ELSEWHERE.tokens,
    cost_nanodollars_per_day=ELSEWHERE.cost_nanodollars,
)
WINDOW = " ".join(
    f"The {place}th shelf of the archive holds the drawings of that year." for place in range(90)
)


# -- retention


def _reviewed(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.remember(RULE)
    actor.capture((PORT,))
    actor.drain()


def _aged(world: World, disk: SimulatedDisk, *, runs: int) -> None:
    _reviewed(world, disk)
    world.start(disk).retire(runs=runs)


def _expire(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).retire(runs=2)


def _expire_open(world: World, disk: SimulatedDisk) -> None:
    """A young job and an attempt in doubt stand beside what expires: neither goes."""
    actor = world.start(disk, script=(_refusing,))
    actor.capture((PORT, THURSDAYS))
    actor.retire(runs=1)
    actor.drain()
    actor.retire(runs=1)


def _refusing(_request: ReviewRequest) -> Reply:
    return Failed("permanent", "http 400", None, None)


# -- what reviews did


def _ended_twice(world: World, disk: SimulatedDisk) -> None:
    """One review changed memory, another one was refused for good: both are news."""
    _reviewed(world, disk)
    actor = world.start(disk, script=(_refusing,))
    actor.capture((PORT, THURSDAYS))
    actor.drain()


def _show(world: World, disk: SimulatedDisk) -> None:
    """Two hosts are open: one displays the news. Whoever comes after a crash looks, too."""
    world.unfinished["a later look"] = _look
    world.start(disk).look("pi")
    world.start(disk, process="another").look("codex")


def _look(actor: Actor) -> None:
    actor.look("claude-code")
    left = feedback_service(actor.rig).peek(PROJECT)
    if left:
        raise Broken(f"F-03: after a look there is news left: {left}")


def _kept(world: World, disk: SimulatedDisk, *, runs: int) -> None:
    """The job has expired and its news is kept; somebody looks, and time goes by."""
    _reviewed(world, disk)
    actor = world.start(disk)
    actor.retire(runs=RUNS + 1)
    actor.look("pi")
    actor.retire(runs=runs)


def _expire_news(world: World, disk: SimulatedDisk) -> None:
    """News that nobody has seen stand past their job and are shown then; those that were shown go in time."""
    world.unfinished["a later look"] = _look
    world.start(disk).retire(runs=2)
    world.start(disk, process="another").look("codex")


# -- purge


def _told_twice(world: World, disk: SimulatedDisk) -> None:
    """The text in memory, in two branches, in a reviewed job and in one that waits with another."""
    actor = world.start(disk)
    actor.remember(PORT)
    actor.fork("trial")
    actor.capture((f"By the way: {PORT}",))
    actor.drain()
    actor.capture((f"By the way: {PORT}", THURSDAYS))


def _purge(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).purge(PORT)


def _purge_reviewed(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).purge(PORT)


# -- damage


def _damaged_jobs(world: World, disk: SimulatedDisk) -> None:
    """One job's bytes are cut off, one is another's, one stays well."""
    actor = world.start(disk)
    made = [
        *actor.capture((PORT,)).jobs,
        *actor.capture((PORT, THURSDAYS)).jobs,
        *actor.capture((PORT, THURSDAYS, WINDOW)).jobs,
    ]
    cut, other = layout.job(made[0]), layout.job(made[1])
    files = disk.files()
    for path, data in ((cut, files[cut][:100]), (other, files[layout.job(made[2])])):
        disk.put(path, data)
        world.aside[path] = data
    world.jobs.difference_update(made[:2])
    world.turns.difference_update(turn.turn_id for turn in turns(PORT, THURSDAYS))


def _review(world: World, disk: SimulatedDisk) -> None:
    world.start(disk).drain()


def _damaged_branch(world: World, disk: SimulatedDisk) -> None:
    _reviewed(world, disk)
    path = layout.branch(PROJECT, MAIN_BRANCH)
    world.aside[path] = disk.files()[path][:-20]
    disk.put(path, world.aside[path])


def _lost_branch(world: World, disk: SimulatedDisk) -> None:
    _reviewed(world, disk)
    path = layout.branch(PROJECT, MAIN_BRANCH)
    world.broken.add(path)
    disk.remove(path)
    disk.sync_folder(path.rpartition("/")[0])


def _restore(world: World, disk: SimulatedDisk) -> None:
    """A branch that cannot be read stays so until the user restores it: recovery is to do it again."""
    world.start(disk).finishing("verify --restore", restore)


def restore(actor: Actor) -> None:
    """Write branches again that records prove, and finish what was begun."""
    RestoreService(FileInspect(actor.rig.records), actor.rig.memory).restore()


def _failed_sync(world: World, disk: SimulatedDisk) -> None:
    """A sync of a capture failed, and all processes of this boot are told to stop writing."""
    world.boot = "the boot of the failure"
    actor = world.start(disk)
    actor.remember(RULE)
    disk.fail("sync_file" if disk.model == "ext4" else "sync_folder", nth=1)
    with contextlib.suppress(DiskFailed):
        actor.rig.capture(turns(PORT))


def _resume(world: World, disk: SimulatedDisk) -> None:
    """As long as the machine runs, nobody writes before the user has resumed: recovery is to do it again."""
    actor = world.start(disk)
    actor.finishing("home resume", _resumed)
    actor.capture((PORT,))


def _resumed(actor: Actor) -> None:
    actor.rig.records.resume()


# -- files in and out


def _two_entries(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.remember(RULE, key="test command")
    actor.remember("Main is protected.")


def _import(world: World, disk: SimulatedDisk) -> None:
    """The exported file, edited: one entry changed, one new."""
    exchange = _exchange(world.start(disk))
    memory = exchange.plan("- New.\n", form="markdown", add=True).base
    text = exchange.export("markdown", memory).replace("make", "make test") + f"- {THURSDAYS}\n"
    changed = next(entry for entry in memory.entries if entry.text == RULE)
    _apply(world, exchange, text, changed=changed.entry_id, now="The tests run with make test.")


def _import_adding(world: World, disk: SimulatedDisk) -> None:
    """A file of another memory: two entries that are new here."""
    import_all(world.start(disk), [THURSDAYS, PORT])


def import_all(actor: Actor, texts: list[str]) -> None:
    """Import entries that are new here, all of them or none."""
    group = tuple(texts)
    actor.world.together.add(group)
    _apply(actor.world, _exchange(actor), "".join(f"- {text}\n" for text in texts), add=True)
    actor.world.together.discard(group)


def _exchange(actor: Actor) -> ExchangeService:
    return ExchangeService(actor.rig.memory, PROJECT, clock=actor.clock, ids=actor.rig.ids)


def _apply(
    world: World,
    exchange: ExchangeService,
    text: str,
    *,
    changed: str | None = None,
    now: str = "",
    add: bool = False,
) -> None:
    planned = exchange.plan(text, form="markdown", add=add)
    if changed is not None:
        world.doubt.add(changed)
        world.together.add((now, THURSDAYS))  # both are new, so that either shows what took effect
    world.stamp += 1
    written = exchange.apply(planned, cause="import")
    world.doubt.clear()
    world.entries.update({c.entry_id: c.after.text for c in written.changes if c.after is not None})
    world.stamp += 1


# -- large records


def _full_memory(world: World, disk: SimulatedDisk) -> None:
    """A branch, and so an intent, of more than a block."""
    actor = world.start(disk)
    for place in range(6):
        actor.remember(f"Number {place}: {WINDOW[:780]}", key=f"shelf {place}")


def _replace_in_full(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.remember(f"Anew: {WINDOW[:790]}", key="shelf 2")


def _large_window(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    actor.capture((WINDOW,))
    actor.drain()


def _long_session(world: World, disk: SimulatedDisk) -> None:
    _two_entries(world, disk)
    actor = world.start(disk)
    many = {f"{place:016x}": f"{place:064x}" for place in range(60)}
    FileExposures(actor.rig.records).record(PROJECT, SESSION, many, now_ms=actor.clock.now_ms())


def _shown(world: World, disk: SimulatedDisk) -> None:
    """What was shown to a session is noted in place and never synced: it may come back torn."""
    inject(world.start(disk), times=3)


def inject(actor: Actor, *, times: int) -> None:
    """Begin that many turns of one session."""
    exposures = FileExposures(actor.rig.records)
    service = InjectService(actor.rig.memory, exposures, actor.clock, chars_max=6_000, tokens_max=2_000)
    for _ in range(times):
        service.turn_start(PROJECT, session=SESSION)


# -- what else is noted


def _uncovered(world: World, disk: SimulatedDisk) -> None:
    """A turn that no window can hold is noted, once and for all (E-09)."""
    actor = world.start(disk)
    for place, turn in enumerate(turns(PORT, THURSDAYS)):
        with actor.rig.coverage.hold(PROJECT) as held:
            held.note_uncovered(Uncovered(PROJECT, (turn.turn_id,), "text", actor.clock.now_ms()))
        world.turns.add(turn.turn_id)
        world.stamp += 1 + place
    actor.capture((PORT, THURSDAYS, "The archive closes at noon."))


def _adopt(world: World, disk: SimulatedDisk) -> None:
    """The home asks to be adopted until it is: recovery is to do it again."""
    actor = world.start(disk)
    actor.finishing("home adopt", _adopted)
    world.unfinished["a paid review"] = _swept


def _adopted(actor: Actor) -> None:
    rig = actor.rig
    charged = charge_rest_of_day(
        rig.attempts, provider="scripted", model="m", limits=LIMITS, clock=actor.clock, ids=rig.ids
    )
    actor.world.adopted.update([charged] if charged is not None else [])
    actor.world.counted = ELSEWHERE


def _swept(actor: Actor) -> None:
    """What every reservation of a paid review does first."""
    actor.rig.attempts.sweep_orphans()


def _probe(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    world.unfinished["a paid review"] = _swept
    probe = _probe_service(actor.rig)
    probed = probe.send(probe.prepare())
    world.settled.add(probed.attempt_id)
    world.stamp += 1


def _probe_service(rig: Rig) -> ProbeService:
    return ProbeService(
        attempts=rig.attempts,
        claims=rig.claims,
        clock=rig.clock,
        ids=rig.ids,
        provider=rig.provider,
        limits=LIMITS,
        timeout_seconds=1.0,
    )


def _bind(world: World, disk: SimulatedDisk) -> None:
    actor = world.start(disk)
    bound = Project(PROJECT, "/home/someone/project", "git")
    actor.finishing("init", functools.partial(_bound, project=bound))


def _bound(actor: Actor, *, project: Project) -> None:
    actor.rig.prepare(PROJECT, "fedcba9876543210")
    projects.bind(actor.rig.records, project, now_ms=actor.clock.now_ms())


def _nothing(_world: World, _disk: SimulatedDisk) -> None:
    """An empty home."""


UPKEEP = (
    Scenario("retention", functools.partial(_aged, runs=RUNS), _expire),
    Scenario("retention of a day", functools.partial(_aged, runs=4), _expire),
    Scenario("retention beside work", functools.partial(_aged, runs=RUNS), _expire_open),
    Scenario("news", _ended_twice, _show),
    Scenario("news past its job", functools.partial(_aged, runs=RUNS), _expire_news),
    Scenario("news that expires", functools.partial(_kept, runs=RUNS - 1), _expire_news),
    Scenario("purge", _told_twice, _purge),
    Scenario("purge of what was reviewed", _reviewed, _purge_reviewed),
    Scenario("quarantine", _damaged_jobs, _review),
    Scenario("restore", _damaged_branch, _restore),
    Scenario("restore of a lost branch", _lost_branch, _restore),
    Scenario("resume", _failed_sync, _resume, settled=False),
    Scenario("import", _two_entries, _import),
    Scenario("import of additions", _two_entries, _import_adding),
    Scenario("full memory", _full_memory, _replace_in_full),
    Scenario("large window", _nothing, _large_window),
    Scenario("injection", _long_session, _shown),
    Scenario("uncovered", _nothing, _uncovered),
    Scenario("adoption", _reviewed, _adopt),
    Scenario("probe", _nothing, _probe),
    Scenario("init", _nothing, _bind),
)
