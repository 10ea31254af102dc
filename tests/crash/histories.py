"""Scenarios made from seeds: three to eight operations in one home, in an order that chance chose.

`history(17)` is the same scenario in every run. What an operation works on is chosen from what the world
knows by then, in sorted order. Every second operation is another process's.
"""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable

import msgspec

from perdure.core.attempt import Attempt
from perdure.errors import NotFound, Refused
from tests.crash import upkeep
from tests.crash.scenario import Scenario
from tests.crash.scenarios import babbling, drop_as, lost, refused, retry_as, unavailable
from tests.crash.world import Actor, World
from tests.fakes import Script, finding_nothing, proposing, turns
from tests.simulated_disk import SimulatedDisk

PREFIX = "history "
OPERATIONS_MIN, OPERATIONS_MAX = 3, 8
_ANSWERS: tuple[Script, ...] = (
    proposing,
    proposing,
    finding_nothing,
    lost,
    unavailable,
    refused,
    babbling,
)
_PROCESSES = ("main", "another")


class Part(msgspec.Struct):
    """One operation's process, its chance, and how many texts and turns were used before it."""

    actor: Actor
    chance: random.Random
    texts: int = 0
    turns: int = 0

    def text(self) -> str:
        """A text that stands nowhere yet."""
        self.texts += 1
        return f"Shelf {self.texts} of the archive holds the drawings of year {1900 + self.texts}."

    def one(self, known: list[str]) -> str | None:
        """One of those, or None."""
        return self.chance.choice(known) if known else None

    @property
    def present(self) -> list[str]:
        """The ids of acknowledged entries of main."""
        world = self.actor.world
        return sorted(e for e, text in world.entries.items() if text is not None and e not in world.doubt)


Operation = Callable[[Part], None]


def history(seed: int) -> Scenario:
    """The scenario of a seed."""
    return Scenario(f"{PREFIX}{seed}", _nothing, functools.partial(_act, seed=seed))


def _nothing(_world: World, _disk: SimulatedDisk) -> None:
    """An empty home."""


def _act(world: World, disk: SimulatedDisk, *, seed: int) -> None:
    chance = random.Random(seed)
    part = None
    for number in range(chance.randint(OPERATIONS_MIN, OPERATIONS_MAX)):
        script = tuple(chance.choice(_ANSWERS) for _ in range(2))
        actor = world.start(disk, process=_PROCESSES[number % len(_PROCESSES)], script=script)
        part = Part(actor, chance, part.texts if part else 0, part.turns if part else 0)
        chance.choice(OPERATIONS)(part)


# -- memory


def _remember(part: Part) -> None:
    part.actor.remember(part.text())


def _fact(part: Part) -> None:
    part.actor.remember(part.text(), key=part.chance.choice(["first shelf", "second shelf"]))


def _replace(part: Part) -> None:
    entry_id = part.one(part.present)
    if entry_id is not None:
        part.actor.replace(entry_id, part.text())


def _forget(part: Part) -> None:
    entry_id = part.one(part.present)
    if entry_id is not None:
        part.actor.forget(entry_id)


def _undo(part: Part) -> None:
    with contextlib.suppress(Refused):  # it would bring back what was forgotten since
        part.actor.undo_newest()


def _fork(part: Part) -> None:
    part.actor.fork(f"branch-{len(part.actor.world.branches)}")


def _use(part: Part) -> None:
    names = sorted(part.actor.world.branches)
    part.actor.use(part.chance.choice(["main", *names]))


def _import(part: Part) -> None:
    upkeep.import_all(part.actor, [part.text(), part.text()])


# -- reviews


def _capture(part: Part) -> None:
    _captured(part, observe=False)


def _observe(part: Part) -> None:
    _captured(part, observe=True)


def _captured(part: Part, *, observe: bool) -> None:
    texts = tuple(part.text() for _ in range(part.chance.randint(1, 2)))
    part.actor.capture(texts, first=part.turns, observe=observe)
    part.turns += len(texts)


def _capture_again(part: Part) -> None:
    """Turns that were taken in already, by whatever text, are not taken again."""
    if part.turns:
        part.actor.rig.capture(turns(part.text()))


def _drain(part: Part) -> None:
    part.actor.drain(times=part.chance.randint(1, 2))


def _drain_beside_a_writer(part: Part) -> None:
    """Memory changes while a call runs."""
    actor, text = part.actor, part.text()
    writer = actor.world.start(actor.disk, process="writer")
    actor.in_call = lambda: _write(writer, text)
    actor.drain()


def _write(writer: Actor, text: str) -> None:
    writer.remember(text)


def _retry(part: Part) -> None:
    job_id = part.one(sorted(part.actor.world.jobs))
    if job_id is not None:
        with contextlib.suppress(Refused, NotFound):  # it was applied, expired, or is reviewed again already
            retry_as(part.actor, job_id)


def _drop(part: Part) -> None:
    job_id = part.one(sorted(part.actor.world.jobs))
    if job_id is not None:
        with contextlib.suppress(Refused, NotFound):  # it has ended
            drop_as(part.actor, job_id)


def _reconcile(part: Part) -> None:
    unknown = sorted(a.attempt_id for a in part.actor.rig.attempts.all() if _in_doubt(a))
    attempt = part.one(unknown)
    if attempt is not None:
        part.actor.rig.budget_service().reconcile(attempt, reason="seen on the invoice")
        part.actor.world.settled_by_user.add(attempt)
        part.actor.world.stamp += 1


def _in_doubt(attempt: Attempt) -> bool:
    return attempt.state == "unknown"


# -- upkeep


def _retire(part: Part) -> None:
    part.actor.retire(runs=1)


def _retire_all(part: Part) -> None:
    part.actor.retire(runs=upkeep.RUNS + 1)


def _purge(part: Part) -> None:
    """One that stands in memory, or one that may stand in evidence."""
    world = part.actor.world
    texts = [text for text in world.entries.values() if text is not None]
    texts += [f"Shelf {number} of the archive" for number in range(1, part.texts + 1)]
    text = part.one(sorted(set(texts)))
    if text is not None:
        part.actor.purge(text)


def _inject(part: Part) -> None:
    upkeep.inject(part.actor, times=2)


def _restore(part: Part) -> None:
    """There is nothing to restore: it writes nothing, and finishes what was begun."""
    upkeep.restore(part.actor)


OPERATIONS: tuple[Operation, ...] = (
    _remember,
    _fact,
    _replace,
    _forget,
    _undo,
    _fork,
    _use,
    _import,
    _capture,
    _capture,
    _capture,
    _observe,
    _capture_again,
    _drain,
    _drain,
    _drain,
    _drain_beside_a_writer,
    _retry,
    _drop,
    _reconcile,
    _retire,
    _retire_all,
    _purge,
    _inject,
    _restore,
)
