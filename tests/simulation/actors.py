"""Who takes part: workers, writers, hosts, a user with second thoughts, retention and purges.

Each lives in a process of its own that may be killed at any step and starts again. What a call returned goes
into the ledger as a promise; what it had begun when it failed may have happened or not.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.authority.filesystem import layout
from perdure.errors import Refused
from perdure.service.curate import FENCED
from tests.crash.world import Broken
from tests.fakes import PROJECT
from tests.simulated_machine import HeldLock
from tests.simulation import hosts, writers
from tests.simulation.house import House
from tests.simulation.part import Part

IDLE_SECONDS = 5.0
IDLE_SECONDS_MAX = 640.0
"""How long a worker that finds nothing to do sleeps at most, at first and after many times."""
LURKING = 0.5
LOOKS_MAX = 60
TRIES = 40
"""How often something is tried on a disk that fails or is full."""
CALM_SECONDS = 10_800.0
"""How long an open job may still take once nothing befalls anybody and every call is answered: longer than
the longest sleep, a lease after it, and the longest pause before a call is tried again.
"""
CALM_STEPS_LEFT = 200
"""With so few steps left, whoever is not done goes round in circles."""


def actor(house: House, name: str) -> Callable[[], None]:
    """What the actor of that name does, from the beginning to its end."""
    part = Part(house, name)
    kind = name.partition("-")[0]
    rounds, pause, act = _PARTS[kind]

    def body() -> None:
        for _ in range(rounds):
            for _ in range(TRIES):
                part.pause(pause)
                if part.safely(lambda: act(part)):
                    break
                house.stage.sleep(60)

    def work_on() -> None:
        """A worker stays longer than all others, until every job has its end."""
        while house.stage.busy(kind):
            body()
        house.become_calm()
        part.rig.spend_freely()
        while _open_jobs(house):
            _be_patient(part)
            part.pause(pause)
            part.safely(lambda: act(part))

    return work_on if kind == "worker" else body


# -- workers and keepers


def _open_jobs(house: House) -> set[str]:
    """Jobs without an end, as the running machine sees them."""
    disk = house.disk
    ended = disk._names(f"{layout.scope_folder(PROJECT)}/outcomes").keys()
    return set(disk._names(layout.SPOOL_JOBS)) - ended


def _be_patient(part: Part) -> None:
    """Q-12: with workers alive, a reviewer who answers and money to spend, every job comes to its end."""
    house = part.house
    since = house.calm_since
    assert since is not None
    stage = house.stage
    if stage.now - since > CALM_SECONDS or stage.steps_max - stage.steps < CALM_STEPS_LEFT:
        waiting = sorted(job_id[-12:] for job_id in _open_jobs(house))
        stage.fail(Broken(f"Q-12 an open job ends while workers live: {waiting}"))


def _work(part: Part) -> None:
    """A worker that stays for a while, or a review of what is ready."""
    rig, counts = part.rig, part.ledger.counts
    if part.chance.random() < 0.7:
        report = rig.drain()
    else:
        looks = part.chance.randrange(1, 4)

        def leaves() -> bool:
            nonlocal looks
            looks -= 1
            return looks < 0

        report = rig.worker().run(stop=leaves)
    counts["fenced before reserving"] += sum(done.reason == FENCED for done in report.waiting.values())
    if report.unfit is not None:
        counts["a worker of another policy stopped"] += 1
        part.replace_program()
    part.idle_seconds = IDLE_SECONDS if report.ended else min(part.idle_seconds * 2, IDLE_SECONDS_MAX)
    if not report.ended:
        part.house.rest(part.name, part.chance.random() * part.idle_seconds)


def _lurk(part: Part) -> None:
    """Half the time, wait for a moment at which a call is under way."""
    if part.chance.random() < LURKING:
        for _ in range(LOOKS_MAX):
            if part.house.witness.in_flight:
                break
            part.house.stage.sleep(part.chance.random() * IDLE_SECONDS)


def _keep(part: Part) -> None:
    _lurk(part)
    part.house.witness.retires(part.name, "retention")
    part.rig.retention().run()


def _purge(part: Part) -> None:
    """Forget something that was said, everywhere; from then on nobody says it again."""
    ledger = part.ledger
    texts = ledger.may_purge()
    if not texts:
        return
    text = part.chance.choice(texts)
    ledger.unsayable.add(text)
    _lurk(part)
    part.house.witness.retires(part.name, "purge")
    done = part.rig.purge_service().forget_everywhere(PROJECT, text=text)
    ledger.counts["purges"] += 1
    ledger.forgotten.add(text)
    if not done.left:
        ledger.purged.add(text)


# -- users


def _use(part: Part) -> None:
    """Retry or drop a job, or settle what an attempt cost."""
    rig, chance = part.rig, part.chance
    if chance.random() < 0.4:
        _reconcile(part)
        return
    jobs = rig.queue.queued()
    if not jobs:
        return
    closed = rig.queue.closed(PROJECT)
    still_open = [job_id for job_id in jobs if job_id not in closed]
    job_id = chance.choice(still_open if still_open and chance.random() < 0.7 else jobs)
    if chance.random() < 0.6:
        part.ledger.jobs.add(rig.jobs_service().retry(job_id).job_id)
        part.house.notice()
        part.ledger.counts["retried"] += 1
    else:
        part.ledger.closed[job_id] = rig.jobs_service().drop(job_id).state
        part.ledger.counts["dropped"] += 1


def _reconcile(part: Part) -> None:
    """Say what an attempt cost: allowed once its owner is gone, and not before (A-06)."""
    house, rig, chance = part.house, part.rig, part.chance
    attempts = rig.attempts.all()
    if not attempts:
        return
    waiting = [attempt for attempt in attempts if attempt.attempt_id in house.witness.in_flight]
    asked = chance.choice(waiting if waiting and chance.random() < 0.7 else attempts)
    owner = asked.reserved.worker if asked.reserved is not None else ""
    before = _life(house, owner)
    counts = part.ledger.counts
    try:
        now = rig.budget_service().reconcile(asked.attempt_id, reason="seen on the invoice")
    except Refused:
        counts["reconciling refused, owner alive"] += before is not None and asked.open
        raise
    if before is not None and _life(house, owner) is before:
        house.stage.fail(Broken(f"A-06: {asked.attempt_id} was reconciled while its owner lived"))
    if now.state != "cancelled":
        part.ledger.reconciled.add(asked.attempt_id)
    counts["reconciled, owner gone"] += 1


def _life(house: House, worker: str) -> HeldLock | None:
    """The lock that says that a worker lives, if it does."""
    inode = house.disk._find(f"{layout.WORKERS}/{worker}") if worker else None
    held = house.disk._machine.holders(inode) if inode is not None else []
    return next((lock for lock in held if not lock.shared), None)


_PARTS: dict[str, tuple[int, float, Callable[[Part], None]]] = {
    "worker": (3, 3_000.0, _work),
    "writer": (9, 1_500.0, writers.write),
    "host": (8, 2_500.0, hosts.tend),
    "user": (8, 4_000.0, _use),
    "keeper": (3, 20_000.0, _keep),
    "purger": (3, 8_000.0, _purge),
}
"""Of each kind: how often it acts, how many seconds it waits at most before, and what it does."""
