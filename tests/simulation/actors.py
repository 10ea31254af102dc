"""Who takes part: workers, writers, hosts, a user with second thoughts, retention and purges.

Each lives in a process of its own that may be killed at any step and starts again. What a call returned goes
into the ledger as a promise; what it had begun when it failed may have happened or not.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes import PROJECT
from tests.simulation import hosts, writers
from tests.simulation.house import House
from tests.simulation.part import Part

IDLE_SECONDS = 5.0
TRIES = 40
"""How often something is tried on a disk that fails or is full."""


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
        """A worker stays a little longer than all others."""
        while house.stage.busy(kind):
            body()
        body()

    return work_on if kind == "worker" else body


# -- workers and keepers


def _work(part: Part) -> None:
    """A worker that stays for a while, or a review of what is ready."""
    rig = part.rig
    if part.chance.random() < 0.7:
        if not rig.drain().ended:
            part.house.stage.sleep(part.chance.random() * IDLE_SECONDS)
        return
    looks = part.chance.randrange(1, 4)

    def leaves() -> bool:
        nonlocal looks
        looks -= 1
        return looks < 0

    rig.worker().run(stop=leaves)


def _keep(part: Part) -> None:
    part.rig.retention().run()


def _purge(part: Part) -> None:
    """Forget something that was said, everywhere; from then on nobody says it again."""
    ledger = part.ledger
    texts = ledger.may_purge()
    if not texts:
        return
    text = part.chance.choice(texts)
    ledger.unsayable.add(text)
    done = part.rig.purge_service().forget_everywhere(PROJECT, text=text)
    ledger.counts["purges"] += 1
    ledger.forgotten.add(text)
    if not done.left:
        ledger.purged.add(text)


# -- users


def _use(part: Part) -> None:
    """Retry or drop a job, or settle what an attempt cost."""
    rig, chance = part.rig, part.chance
    if chance.random() < 0.35:
        attempts = rig.attempts.all()
        if attempts:
            attempt = chance.choice(attempts).attempt_id
            now = rig.budget_service().reconcile(attempt, reason="seen on the invoice")
            if now.state != "cancelled":
                part.ledger.reconciled.add(attempt)
            part.ledger.counts["reconciled"] += 1
        return
    jobs = rig.queue.queued()
    if not jobs:
        return
    closed = rig.queue.closed(PROJECT)
    still_open = [job_id for job_id in jobs if job_id not in closed]
    job_id = chance.choice(still_open if still_open and chance.random() < 0.7 else jobs)
    if chance.random() < 0.6:
        part.ledger.jobs.add(rig.jobs_service().retry(job_id).job_id)
        part.ledger.counts["retried"] += 1
    else:
        part.ledger.closed[job_id] = rig.jobs_service().drop(job_id).state
        part.ledger.counts["dropped"] += 1


_PARTS: dict[str, tuple[int, float, Callable[[Part], None]]] = {
    "worker": (3, 3_000.0, _work),
    "writer": (9, 1_500.0, writers.write),
    "host": (8, 2_500.0, hosts.tend),
    "user": (8, 4_000.0, _use),
    "keeper": (3, 20_000.0, _keep),
    "purger": (3, 8_000.0, _purge),
}
"""Of each kind: how often it acts, how many seconds it waits at most before, and what it does."""
