"""Renames, removals, moves and merges as something that can be crashed at every step, and what they promise.

The user of this world also writes to the user-wide memory and to another project while going on after a
crash, and looks at both sides of what was moved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from perdure.authority.filesystem import layout
from perdure.errors import Removed
from perdure.ports.provider import Reply, ReviewRequest
from perdure.service.capture import CaptureService
from perdure.service.moves import MoveService
from perdure.service.remember import Written
from tests.crash.checks import need
from tests.crash.scenario import Act, Scenario
from tests.crash.world import Actor, World
from tests.fakes import PROJECT, SESSION, proposing, turns
from tests.services import branch_service
from tests.simulated_disk import Model, SimulatedDisk

USER = layout.USER_SCOPE
OTHER = "fedcba9876543210"
FIRST = "The tests run with make."
SECOND = "Releases go out on Thursdays."
PORT = "The port of the service is 4100."
RECOVERED = "Written after crash"
BETWEEN = (PROJECT, OTHER, USER)


class ShapedWorld(World):
    """What the user knows of branches by id and of entries that change memories."""

    def __init__(self) -> None:
        super().__init__()
        self.called: dict[str, tuple[str, ...]] = {}
        """Branch id to the names that it may have; none when it is removed for certain."""
        self.doomed: set[str] = set()
        """Branches whose removal was begun."""
        self.travelling: dict[str, tuple[str, ...]] = {}
        """Text to the memories of which exactly one holds it."""
        self.as_one: set[tuple[str, ...]] = set()
        """Texts that a merge moves all or none of."""

    def start(
        self,
        disk: SimulatedDisk,
        *,
        process: str = "main",
        script: tuple[Callable[[ReviewRequest], Reply], ...] = (),
        otherwise: Callable[[ReviewRequest], Reply] = proposing,
    ) -> ShapedActor:
        """See `World.start`."""
        self.boots += 1
        return ShapedActor(self, disk, process, script, otherwise)


class ShapedActor(Actor):
    """A process that also shapes memories."""

    world: ShapedWorld

    def moves(self, scope: str) -> MoveService:
        """Moves out of a scope."""
        return MoveService(self.rig.memory, scope, clock=self.rig.clock, ids=self.rig.ids)

    def remember_in(self, scope: str, text: str) -> None:
        """Remember on main of any scope."""
        self.rig.memory_service(scope).remember(text, branch="main")

    def forked(self, name: str) -> str:
        """Fork main; the id."""
        branch_id = self.rig.memory_service().fork(name, source="main").branch_id
        self.world.called[branch_id] = (name,)
        self.world.stamp += 1
        return branch_id

    def rename(self, branch_id: str, new: str) -> None:
        """Rename a branch; from its return on it has the new name."""
        world = self.world
        (old,) = world.called[branch_id]
        world.called[branch_id] = (old, new)
        world.selected |= {new} if old in world.selected else set()
        world.stamp += 1
        branch_service(self.rig).rename_branch(old, new)
        world.called[branch_id] = (new,)
        world.selected = {new if name == old else name for name in world.selected}
        world.stamp += 1

    def remove(self, branch_id: str) -> None:
        """Remove a branch; from its return on it is gone and its jobs have ended."""
        world = self.world
        (name,) = world.called[branch_id]
        world.doomed.add(branch_id)
        world.selected |= {"main"} if name in world.selected else set()
        world.stamp += 1
        done = branch_service(self.rig).remove(name)
        world.called[branch_id] = ()
        world.selected -= {name}
        world.closed.update(dict.fromkeys(done.dropped, "dropped"))
        world.stamp += 1

    def move(self, text: str, source: str, target: str) -> None:
        """Move one entry; from its return on the target holds it."""
        act = functools.partial(self.moves(source).move, text, target, branch="main")
        self._travel((text,), source, target, act)

    def merge(self, source: str, target: str) -> None:
        """Move all of a memory into another."""
        entries = self.rig.memory_service(source).branch("main").entries
        act = functools.partial(self.moves(source).merge, target)
        self._travel(tuple(entry.text for entry in entries), source, target, act)

    def _travel(self, texts: tuple[str, ...], source: str, target: str, act: Callable[[], object]) -> None:
        world = self.world
        entries = self.rig.memory_service(source).branch("main").entries
        known = {entry.entry_id: entry.text for entry in entries if entry.text in texts}
        world.doubt |= known.keys()
        world.travelling.update(dict.fromkeys(texts, (source, target)))
        world.as_one.add(texts)
        world.stamp += 1
        act()
        world.travelling.update(dict.fromkeys(texts, (target,)))
        world.doubt -= known.keys()
        world.entries.update(known if target == PROJECT else dict.fromkeys(known))
        world.stamp += 1

    def capture_on(self, branch_id: str, *texts: str) -> None:
        """Take turns in as a job of a branch."""
        found = turns(*texts)
        service = CaptureService(self.rig.coverage, clock=self.rig.clock, release="1")
        done = service.capture(host="pi", session=SESSION, turns=found, project=PROJECT, branch_id=branch_id)
        self.world.jobs.update(done.jobs)
        self.world.turns.update(turn.turn_id for turn in found)
        self.world.stamp += 1

    def remember(self, text: str, *, key: str | None = None) -> Written:
        """Remember; the write that ends a recovery is one of each memory's user, after which nothing may be
        half done.
        """
        written = super().remember(text, key=key)
        if text.startswith(RECOVERED):
            for scope in BETWEEN[1:]:
                self.remember_in(scope, text)
            self.rig.attempts.sweep_orphans()  # as before each paid call: a closed job's are settled there
            self._check_branches()
            self._check_travellers()
        return written

    def _check_branches(self) -> None:
        world = self.world
        found = {row.branch_id: row.name for row in self.rig.memory.branches(PROJECT)}
        for branch_id, names in world.called.items():
            gone = branch_id not in found
            may_be_gone = branch_id in world.doomed
            need("a branch is there until its removal is begun", holds=not gone or may_be_gone, found=found)
            if not names:
                need("an acknowledged removal stays", holds=gone, found=found)
            elif not gone:
                need("a branch has one of its names", holds=found[branch_id] in names, found=found)
            if gone:
                self._check_gone(branch_id)

    def _check_gone(self, branch_id: str) -> None:
        """The tombstone proves it, and neither text nor history is left."""
        try:
            self.rig.memory.branch(PROJECT, branch_id)
        except Removed:
            proved = True
        else:
            proved = False
        need("rule 15: a tombstone proves the removal", holds=proved, found=branch_id)
        left = self.rig.memory.revisions(PROJECT, branch_id)
        need("rule 15: no history is left", holds=not left, found=left)

    def _check_travellers(self) -> None:
        held = {
            scope: [entry.text for entry in self.rig.memory_service(scope).branch("main").entries]
            for scope in BETWEEN
        }
        for text, places in self.world.travelling.items():
            holders = [scope for scope in BETWEEN for one in held[scope] if one == text]
            need("rule 16: never lost, never twice", holds=len(holders) == 1, found=(text, holders))
            need("rule 16: at its source or its target", holds=holders[0] in places, found=(text, holders))
        for texts in self.world.as_one:
            holders = [s for s in BETWEEN if any(text in held[s] for text in texts)]
            need("rule 16: all of a merge or nothing", holds=len(holders) <= 1, found=holders)
        for scope in BETWEEN:
            left = self.rig.memory.moves(scope)
            need("rule 16: no move is half done", holds=not left, found=(scope, left))


class ShapedScenario(Scenario, frozen=True):
    """A scenario in a world of three memories."""

    def base(self, model: Model) -> tuple[World, SimulatedDisk]:
        """See `Scenario.base`."""
        disk, world = SimulatedDisk(model), ShapedWorld()
        world.start(disk).rig.prepare(PROJECT, OTHER)
        disk.reboot("kept")
        self.prepare(world, disk)
        if self.settled:
            disk.reboot("kept")
        return world, disk


Shaping = Callable[[ShapedActor], None]


def _act(shape: Shaping) -> Act:
    def act(world: World, disk: SimulatedDisk) -> None:
        actor = world.start(disk)
        assert isinstance(actor, ShapedActor)
        shape(actor)

    return act


def _only(actor: ShapedActor) -> str:
    return next(iter(actor.world.called))


def _branch(actor: ShapedActor) -> None:
    actor.remember(FIRST)
    branch_id = actor.forked("trial")
    actor.rig.memory_service().remember(SECOND, branch="trial")
    actor.capture_on(branch_id, PORT)


def _branch_in_use(actor: ShapedActor) -> None:
    _branch(actor)
    actor.use("trial")


def _entry(actor: ShapedActor) -> None:
    actor.remember(FIRST, key="test command")
    actor.remember(SECOND)


def _entry_of_the_user(actor: ShapedActor) -> None:
    actor.remember_in(USER, FIRST)
    actor.remember_in(USER, SECOND)


def _both(actor: ShapedActor) -> None:
    _entry(actor)
    actor.remember_in(OTHER, PORT)


def _rename(actor: ShapedActor) -> None:
    actor.rename(_only(actor), "attempt")


def _remove(actor: ShapedActor) -> None:
    actor.remove(_only(actor))


def _remove_and_fork_again(actor: ShapedActor) -> None:
    removed = _only(actor)
    actor.remove(removed)
    again = actor.forked("trial")
    need("rule 15: another branch of that name is another id", holds=again != removed)


def _review_and_remove(actor: ShapedActor) -> None:
    """The branch is removed by another process while its review is under way."""
    user = actor.world.start(actor.disk, process="user")
    actor.in_call = lambda: user.remove(_only(user))
    Actor.drain(actor)


def _move_to_user(actor: ShapedActor) -> None:
    actor.move(FIRST, PROJECT, USER)


def _move_from_user(actor: ShapedActor) -> None:
    actor.move(FIRST, USER, PROJECT)


def _move_there_and_back(actor: ShapedActor) -> None:
    actor.move(FIRST, PROJECT, OTHER)
    actor.move(FIRST, OTHER, PROJECT)


def _merge(actor: ShapedActor) -> None:
    actor.merge(PROJECT, OTHER)


SHAPING = tuple(
    ShapedScenario(name, _act(before), _act(act))
    for name, before, act in (
        ("rename", _branch, _rename),
        ("rename in use", _branch_in_use, _rename),
        ("remove", _branch, _remove),
        ("remove in use", _branch_in_use, _remove),
        ("remove and fork again", _branch, _remove_and_fork_again),
        ("remove under review", _branch, _review_and_remove),
        ("move to the user", _entry, _move_to_user),
        ("move from the user", _entry_of_the_user, _move_from_user),
        ("move there and back", _entry, _move_there_and_back),
        ("merge", _both, _merge),
    )
)
