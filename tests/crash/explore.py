"""Crash everywhere, recover from everything that may be left, check, and crash again inside recovery.

One run of a scenario gives a snapshot before every disk operation and one after the last: what a crash
*before* operation n+1 leaves is what a crash after n leaves, with at least as much acknowledged. Of each
snapshot two kinds of crash are made:

- *power*: every distinct disk that a power loss may leave, up to `survivors` combinations per snapshot
  (beyond that both extremes, each single deviation and a sample, see `SimulatedDisk`);
- *kill*: the processes die and the machine lives on, so that what was written is seen and is not durable.

Recovery is the worker's drain and one more foreground write; there is no other. A power loss inside a
recovery is taken at every operation: of all recoveries after a kill up to `kills` per scenario, and of
recoveries after a power loss up to `nested` per scenario, chosen with a fixed seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import msgspec

from tests.crash.checks import check, check_by_the_book, check_idle
from tests.crash.scenarios import Scenario
from tests.crash.world import World
from tests.simulated_disk import Crashed, Model, SimulatedDisk
from tests.simulated_machine import Operation

SEED = 20_270_115


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


class Violation(msgspec.Struct, frozen=True):
    """A promise that did not hold, and where."""

    scenario: str
    model: str
    at: str
    what: str


class Tally(msgspec.Struct):
    """What was looked at. `states` are distinct: by scenario, model, disk, and what had been promised."""

    states: int = 0
    nested: int = 0
    sampled: int = 0
    points: int = 0
    violations: list[Violation] = msgspec.field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another's too."""
        self.states += other.states
        self.nested += other.nested
        self.sampled += other.sampled
        self.points += other.points
        self.violations += other.violations


def record(disk: SimulatedDisk, world: World, act: Callable[[], None]) -> list[Snapshot]:
    """The snapshots of one run, the last one after its end."""
    taken: list[Snapshot] = []

    def watch(operation: Operation, path: str) -> None:
        taken.append(Snapshot(f"{operation} {path}", disk.fork(), world.copy()))

    disk.watch(watch)
    act()
    disk.watch(lambda _operation, _path: None)
    taken.append(Snapshot("the end", disk.fork(), world.copy()))
    return taken


def recover(disk: SimulatedDisk, world: World) -> None:
    """All that a user does after a crash: go on working."""
    actor = world.start(disk)
    actor.drain(times=2)
    actor.remember(f"Written after crash {world.boots}.")


class Explorer:
    """Explores one scenario in one model."""

    def __init__(self, scenario: Scenario, model: Model, bounds: Bounds, *, seed: int = SEED) -> None:
        self._scenario, self._model, self._bounds = scenario, model, bounds
        self._chance = random.Random(seed)
        self._seed = seed
        self._seen: set[tuple[object, ...]] = set()
        self._until = time.monotonic() + bounds.seconds
        self.tally = Tally()

    def run(self) -> Tally:
        """Look at everything within the bounds; the first violation of a place ends that place."""
        world, disk = self._scenario.base(self._model)
        snapshots = record(disk, world, lambda: self._scenario.act(world, disk))
        self.tally.points = len(snapshots)
        deeper: list[Snapshot] = []
        for snapshot in snapshots:
            for state in self._survivors(snapshot, self._bounds.survivors):
                deeper.append(Snapshot(f"power loss before {snapshot.at}", state, snapshot.world))
                self._recover(deeper[-1])
        self._kills(snapshots)
        for chosen in self._choose(deeper, self._bounds.nested):
            self._nest(chosen)
        return self.tally

    def _kills(self, snapshots: list[Snapshot]) -> None:
        for snapshot in self._choose(snapshots, self._bounds.kills):
            self._nest(Snapshot(f"kill before {snapshot.at}", snapshot.disk, snapshot.world))

    def _nest(self, start: Snapshot) -> None:
        """Recover, and lose power at every operation of that recovery."""
        disk, world = start.disk.fork(), start.world.copy()
        snapshots: list[Snapshot] = []

        def act() -> None:
            snapshots.extend(record(disk, world, lambda: recover(disk, world)))

        self._guard(start.at, act)
        for snapshot in snapshots:
            for state in self._survivors(snapshot, self._bounds.nested_survivors):
                self.tally.nested += 1
                self._recover(
                    Snapshot(f"{start.at}, then power loss before {snapshot.at}", state, snapshot.world)
                )

    def _survivors(self, snapshot: Snapshot, limit: int) -> Iterator[SimulatedDisk]:
        if time.monotonic() > self._until or (self._bounds.first_only and self.tally.violations):
            return
        states = snapshot.disk.surviving_states(limit=limit, seed=self._seed)
        if not states.exhaustive:
            self.tally.sampled += 1
        for state in states:
            mark = (hash(state.key()), snapshot.world.stamp)
            if mark not in self._seen:
                self._seen.add(mark)
                self.tally.states += 1
                yield state

    def _recover(self, start: Snapshot) -> None:
        idle = self.tally.states % self._bounds.converge_every == 0
        self._guard(start.at, lambda: prove_recovery(start.disk.fork(), start.world.copy(), idle=idle))

    def _guard(self, at: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (Crashed, Exception) as error:  # noqa: BLE001 - whatever recovery raises breaks the promise
            what = f"{type(error).__name__}: {error}"
            self.tally.violations.append(Violation(self._scenario.name, self._model, at, what))

    def _choose(self, snapshots: list[Snapshot], count: int) -> list[Snapshot]:
        if len(snapshots) <= count:
            return snapshots
        self.tally.sampled += 1
        return self._chance.sample(snapshots, count)


def prove_recovery(disk: SimulatedDisk, world: World, *, idle: bool) -> None:
    """Recover and check; with `idle` also verify before and after, and that a second recovery is idle."""
    if idle:
        check_by_the_book(world.copy().start(disk).rig, rest=False)
    recover(disk, world)
    actor = world.start(disk)
    check(actor.rig, world)
    if idle:
        check_by_the_book(actor.rig, rest=True)
        before = disk.files()
        world.start(disk).drain()
        check_idle(before, disk.files())
