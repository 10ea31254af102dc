"""Crash everywhere, recover from everything that may be left, check, and crash again inside recovery.

One run of a scenario gives a snapshot before every disk operation and one after the last: what a crash
*before* operation n+1 leaves is what a crash after n leaves, with at least as much acknowledged. Of each
snapshot two kinds of crash are made:

- *power*: every distinct disk that a power loss may leave, up to `survivors` combinations per snapshot
  (beyond that both extremes, each single deviation and a sample, see `Survivors`);
- *kill*: the processes die and the machine lives on, so that what was written is seen and is not durable.

Recovery repeats the command that was cut off, where the product asks the user to, and then is the worker's
drain and one more foreground write; there is no other. A power loss inside a recovery is taken at every
operation: of all recoveries after a kill up to `kills` per scenario, and of recoveries after a power loss up
to `nested` per scenario, chosen with a fixed seed.

A state is counted once per scenario and model, over any number of rounds that share `seen`. Its *place* says
how to come to it: the number of a snapshot and of a state of it ("k": a kill), and the same inside the
recovery. `replay` goes there at once.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator

import msgspec

from tests.crash.checks import check, check_by_the_book, check_bytes, check_idle, need
from tests.crash.scenario import Scenario
from tests.crash.steady import steady
from tests.crash.world import START_SECONDS, Actor, World
from tests.simulated_disk import Crashed, Model, SimulatedDisk
from tests.simulated_machine import Operation

SEED = 20_270_115
KILL = "k"


class Bounds(msgspec.Struct, frozen=True):
    """How far to look; see the module."""

    survivors: int = 64
    nested_survivors: int = 8
    kills: int = 12
    nested: int = 4
    converge_every: int = 8
    seconds: float = float("inf")
    first_only: bool = False  # stop at the first violation


class Snapshot(msgspec.Struct, frozen=True):
    """The machine and the world at one instant."""

    at: str
    disk: SimulatedDisk
    world: World
    place: tuple[str, ...] = ()


class Violation(msgspec.Struct, frozen=True):
    """A promise that did not hold, and where."""

    scenario: str
    model: str
    at: str
    what: str
    place: str = ""
    seed: int = SEED
    width: int = 0  # the bounds' survivors


COUNTS = ("states", "nested", "sampled", "exhaustive", "skipped", "torn", "points")


class Tally(msgspec.Struct):
    """What was looked at. `states` are distinct: by scenario, model, disk, and what had been promised.

    `exhaustive` and `sampled` are places where every combination was tried and where some were; `skipped` are
    recoveries inside which no crash was made, beyond the bounds. `torn` states hold a file of old and new
    blocks.
    """

    states: int = 0
    nested: int = 0
    sampled: int = 0
    exhaustive: int = 0
    skipped: int = 0
    torn: int = 0
    points: int = 0
    violations: list[Violation] = msgspec.field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another's too."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.violations += other.violations

    def since(self, before: Tally) -> Tally:
        """What has come on top."""
        counts = {name: getattr(self, name) - getattr(before, name) for name in COUNTS}
        return Tally(**counts, violations=self.violations[len(before.violations) :])


def record(disk: SimulatedDisk, world: World, act: Callable[[], object]) -> list[Snapshot]:
    """The snapshots of one run, the last one after its end."""
    taken: list[Snapshot] = []

    def take(at: str) -> None:
        taken.append(Snapshot(at, disk.fork(), world.copy(), (str(len(taken)),)))

    disk.watch(lambda operation, path: take(f"{operation} {path}"))
    act()
    disk.watch(_nothing)
    take("the end")
    return taken


def _nothing(_operation: Operation, _path: str) -> None:
    """Watch no more."""


def recover(disk: SimulatedDisk, world: World) -> Actor:
    """All that a user does after a crash: repeat what was cut off, and go on working. Gives who did it."""
    actor = world.start(disk)
    for name, command in list(world.unfinished.items()):
        actor.finishing(name, command)
    actor.drain(times=2)
    actor.remember(f"Written after crash {world.boots}.")
    return actor


class Explorer:
    """Explores one scenario in one model. Rounds that share `seen` count no state twice."""

    def __init__(
        self,
        scenario: Scenario,
        model: Model,
        bounds: Bounds,
        *,
        seed: int = SEED,
        seen: set[tuple[int, int]] | None = None,
        tell: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        self._scenario, self._model, self._bounds = scenario, model, bounds
        self._chance = random.Random(seed)
        self._seed, self._tell = seed, tell
        self._seen = set() if seen is None else seen
        self._until = time.monotonic() + bounds.seconds
        self.tally = Tally()

    def run(self) -> Tally:
        """Look at everything within the bounds; the first violation of a place ends that place."""
        with steady():
            snapshots = self._snapshots()
            self.tally.points = len(snapshots)
            deeper = [
                self._recovered(state)
                for snapshot in snapshots
                for state in self._survivors(snapshot, self._bounds.survivors)
            ]
            for chosen in self._choose(snapshots, self._bounds.kills):
                self._nest(self._killed(chosen))
            for chosen in self._choose(deeper, self._bounds.nested):
                self._nest(chosen)
        return self.tally

    def replay(self, place: str) -> None:
        """Go to one place that a violation names, and raise what went wrong there."""
        steps = place.split(".")
        with steady():
            here = self._step(self._snapshots(), steps[:2], self._bounds.survivors)
            if len(steps) > 2:
                disk, world = here.disk.fork(), here.world.copy()
                inside = record(disk, world, lambda: recover(disk, world))
                here = self._step(inside, steps[2:], self._bounds.nested_survivors)
            prove_recovery(here.disk.fork(), here.world.copy(), idle=True)

    def _step(self, snapshots: list[Snapshot], step: list[str], limit: int) -> Snapshot:
        snapshot = snapshots[int(step[0])]
        if step[1:] in ([], [KILL]):
            return snapshot
        states = snapshot.disk.surviving_states(limit=limit, seed=self._seed, settle_loose=True)
        state = next(itertools.islice(states, int(step[1]), None))
        return Snapshot(snapshot.at, state, snapshot.world.after_power_loss())

    def _snapshots(self) -> list[Snapshot]:
        world, disk = self._scenario.base(self._model)
        return record(disk, world, lambda: self._scenario.act(world, disk))

    def _killed(self, snapshot: Snapshot) -> Snapshot:
        at, place = f"kill before {snapshot.at}", (*snapshot.place, KILL)
        return msgspec.structs.replace(snapshot, at=at, place=place)

    def _nest(self, start: Snapshot) -> None:
        """Recover, and lose power at every operation of that recovery."""
        if self._is_over():
            return
        disk, world = start.disk.fork(), start.world.copy()
        snapshots: list[Snapshot] = []

        def act() -> None:
            snapshots.extend(record(disk, world, lambda: recover(disk, world)))

        self._guard(start, act)
        for snapshot in snapshots:
            at = f"{start.at}, then before {snapshot.at}"
            inside = Snapshot(at, snapshot.disk, snapshot.world, (*start.place, *snapshot.place))
            for state in self._survivors(inside, self._bounds.nested_survivors):
                self.tally.nested += 1
                self._recovered(state)

    def _survivors(self, snapshot: Snapshot, limit: int) -> Iterator[Snapshot]:
        """The states that were not seen yet."""
        if self._is_over():
            return
        states = snapshot.disk.surviving_states(limit=limit, seed=self._seed, settle_loose=True)
        if states.exhaustive:
            self.tally.exhaustive += 1
        else:
            self.tally.sampled += 1
        world = snapshot.world.after_power_loss()
        facts, torn = world.mark(), 0
        for number, state in enumerate(states):
            mark = (hash(state.key()), facts)
            if mark not in self._seen:
                self._seen.add(mark)
                self.tally.states += 1
                self.tally.torn += states.torn - torn
                self._tell(self.tally)
                yield Snapshot(
                    f"power loss before {snapshot.at}", state, world, (*snapshot.place, str(number))
                )
            torn = states.torn

    def _is_over(self) -> bool:
        first = self._bounds.first_only and bool(self.tally.violations)
        return first or time.monotonic() > self._until

    def _recovered(self, start: Snapshot) -> Snapshot:
        idle = self.tally.states % self._bounds.converge_every == 0
        self._guard(start, lambda: prove_recovery(start.disk.fork(), start.world.copy(), idle=idle))
        return start

    def _guard(self, start: Snapshot, act: Callable[[], None]) -> None:
        try:
            act()
        except (Crashed, Exception) as error:  # noqa: BLE001 - whatever recovery raises breaks the promise
            what, place = f"{type(error).__name__}: {error}", ".".join(start.place)
            self.tally.violations.append(
                Violation(
                    self._scenario.name,
                    self._model,
                    start.at,
                    what,
                    place,
                    self._seed,
                    self._bounds.survivors,
                )
            )

    def _choose(self, snapshots: list[Snapshot], count: int) -> list[Snapshot]:
        if len(snapshots) <= count:
            return snapshots
        self.tally.skipped += len(snapshots) - count
        return self._chance.sample(snapshots, count)


def prove_recovery(disk: SimulatedDisk, world: World, *, idle: bool) -> None:
    """Recover and check; with `idle` also verify before and after, and that a second recovery is idle."""
    check_bytes(disk.files(), world)
    if idle:
        damaged = world.broken.union(world.aside)
        check_by_the_book(world.copy().start(disk).rig, rest=False, damaged=damaged)
    first = recover(disk, world)
    actor = world.start(disk)
    check(actor.rig, world)
    check_bytes(disk.files(), world)
    if idle:
        check_by_the_book(actor.rig, rest=True)
        before = disk.files()
        world.boot = first.clock.boot_id()
        again = world.start(disk)
        again.clock.advance(-START_SECONDS)  # in the hour of the first one: what time brings is no recovery
        again.drain()
        check_idle(before, disk.files())
    need("nothing opens a temporary by its name", holds=not disk.opened_temporary)
