"""What a test knows from outside: what was acknowledged, what was sent, what was decided.

A `World` outlives crashes: the disk may forget, the user and the provider's bill do not.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TypeVar

from perdure.authority.filesystem import layout
from perdure.core.budget import Amount
from perdure.core.record import record_digest
from perdure.ports.provider import ReviewRequest
from perdure.service.capture import Captured
from perdure.service.remember import Written
from tests.crash.steady import TOKENS
from tests.fakes import PROJECT, ManualClock, Rig, Script, ScriptedProvider, SequentialIds, proposing, turns
from tests.services import feedback_service
from tests.simulated_disk import SimulatedDisk
from tests.simulated_view import DiskView

T = TypeVar("T")
START_SECONDS = 3_600
"""How much later each start of a process is than the one before."""
TRUSTED_SECONDS = 2 * 86_400
"""Retention believes no larger jump of the clock (rule 12)."""


class Broken(AssertionError):
    """A promise did not hold; the message names it."""


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return frozenset((key, None if callable(held) else held) for key, held in value.items())
    return frozenset(value) if isinstance(value, set) else value


class World:
    """The facts outside the disk. `stamp` grows with every new fact."""

    def __init__(self) -> None:
        self.entries: dict[str, str | None] = {}
        """Entry id to its text as acknowledged; None for an entry that was taken out."""
        self.doubt: set[str] = set()
        """Entries that a call has begun to change and has not acknowledged."""
        self.branches: set[str] = set()
        self.selected = {"main"}
        """The branch names that may be in use: one when the last choice was acknowledged."""
        self.jobs: set[str] = set()
        self.turns: set[str] = set()
        self.dispatched: set[str] = set()
        self.settled: set[str] = set()
        self.settled_by_user: set[str] = set()
        self.sends: dict[str, int] = {}
        self.hasty: set[str] = set()
        """Attempts whose request went out before their `fate` would have survived a power loss."""
        self.decisions: dict[str, str] = {}
        self.closed: dict[str, str] = {}
        self.expiring = False
        """Whether outcomes may be tombstones and days of attempts totals: retention or a purge has begun."""
        self.retaining = False
        """Whether workers run retention when nothing is left to review, as they do once an hour."""
        self.together: set[tuple[str, ...]] = set()
        """Texts that one command puts into main, all of them or none."""
        self.purged: set[str] = set()
        """Texts of which an acknowledged purge said that no file holds them any more."""
        self.aside: dict[str, bytes] = {}
        """Path to bytes of what is damaged: they stay there, or stand in quarantine."""
        self.broken: set[str] = set()
        """Paths from which something was taken away from outside."""
        self.adopted: set[str] = set()
        """Attempts that stand for what another copy of the home may have spent."""
        self.counted = Amount()
        """What the budget counts at least, from an acknowledged adoption on."""
        self.unfinished: dict[str, Callable[[Actor], None]] = {}
        """Commands that were begun and are not acknowledged, which the product asks the user to repeat."""
        self.displayed: set[str] = set()
        """Jobs whose news a host was given to display."""
        self.later_seconds = 0
        self.boot: str | None = None
        """The boot that all processes share until the next power loss; None: each start has its own."""
        self.stamp = 0
        self.boots = 0

    def copy(self) -> World:
        """A world of its own that goes on from here."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set):
                setattr(other, name, value.copy())
        return other

    def mark(self) -> int:
        """A hash of all facts. How often something was started is none, nor is what a command consists of."""
        facts = {name: value for name, value in vars(self).items() if name not in {"boots", "stamp"}}
        return hash(tuple(_frozen(value) for value in facts.values()))

    def after_power_loss(self) -> World:
        """The same facts, seen from the next boot."""
        if self.boot is None:
            return self
        other = self.copy()
        other.boot = None
        return other

    # -- a process in this world

    def start(
        self,
        disk: SimulatedDisk,
        *,
        process: str = "main",
        script: tuple[Script, ...] = (),
        otherwise: Script = proposing,
    ) -> Actor:
        """Start the product on the disk, as that process, at a time and with ids of its own."""
        self.boots += 1
        return Actor(self, disk, process, script, otherwise)


class Actor:
    """One process that uses the product and tells the world what it was promised."""

    def __init__(
        self,
        world: World,
        disk: SimulatedDisk,
        process: str,
        script: tuple[Script, ...],
        otherwise: Script,
    ) -> None:
        self.world, self.disk = world, disk
        self.view: DiskView = disk if process == "main" else disk.process(process)
        self.clock = ManualClock(boot=world.boot or f"boot-{world.boots}")
        self.clock.advance(world.boots * START_SECONDS + world.later_seconds)
        self.provider = ScriptedProvider(script, otherwise=otherwise)
        self.provider.sends = world.sends
        self.provider.before_review = self._sending
        self.rig = Rig(
            self.view,
            clock=self.clock,
            ids=SequentialIds(f"{process} {world.boots}"),
            provider=self.provider,
            log=self._note,
        )
        self.in_call: Callable[[], None] = lambda: None
        TOKENS.begin(f"{process} {world.boots}")

    def _sending(self, request: ReviewRequest) -> None:
        """A request may go out only after its `fate` would survive a power loss (A-02)."""
        self.world.stamp += 1
        after = self.disk.fork()
        after.reboot("lost")
        if layout.attempt(request.attempt_id, "fate") not in after.files():
            self.world.hasty.add(request.attempt_id)  # raised here, it would pass for a lost call
        then, self.in_call = self.in_call, lambda: None
        then()

    def _note(self, event: str, name: str, detail: str) -> None:
        world = self.world
        world.stamp += 1
        if event == "decided":
            decision = self.rig.queue.decision(name)
            if decision is None:
                raise Broken(f"D-02: the decision of {name} was announced and is not there")
            world.decisions.setdefault(name, record_digest(decision))
        elif event == "closed":
            world.closed.setdefault(name, detail)
        elif event == "dispatched":
            world.dispatched.add(name)
        elif event == "settled":
            world.settled.add(name)

    # -- foreground calls, with what they promise

    def changing(self, entry_id: str, act: Callable[[], T], *, text: str | None) -> T:
        """Do what changes one entry; once it returns, the entry has that text, or None: is gone."""
        self.world.doubt.add(entry_id)
        self.world.stamp += 1
        done = act()
        self.world.doubt.discard(entry_id)
        self.world.entries[entry_id] = text
        self.world.stamp += 1
        return done

    def remember(self, text: str, *, key: str | None = None) -> Written:
        """Remember on main; from its return on the entry has to be there."""
        service = self.rig.memory_service()
        known = [e.entry_id for e in service.branch("main").entries if key is not None and e.key == key]
        if known:
            act = functools.partial(service.remember, text, key=key, branch="main")
            return self.changing(known[0], act, text=text)
        written = service.remember(text, key=key, branch="main")
        if written.entry is None:
            raise Broken(f"G-04: remember said that {text!r} changes nothing")
        self.world.entries[written.entry.entry_id] = text
        self.world.stamp += 1
        return written

    def replace(self, entry_id: str, text: str) -> Written:
        """Replace an entry's text."""
        service = self.rig.memory_service()
        return self.changing(entry_id, lambda: service.replace(entry_id, text=text), text=text)

    def forget(self, entry_id: str) -> Written:
        """Forget an entry."""
        return self.changing(entry_id, lambda: self.rig.memory_service().forget(entry_id), text=None)

    def undo(self, entry_id: str, *, text: str | None) -> Written:
        """Undo the newest revision, which concerns that entry and leaves it with that text."""
        return self.changing(entry_id, self.rig.memory_service().undo, text=text)

    def fork(self, name: str) -> None:
        """Fork the branch in use."""
        self.rig.memory_service().fork(name)
        self.world.branches.add(name)
        self.world.stamp += 1

    def use(self, name: str) -> None:
        """Choose the branch in use."""
        self.world.selected.add(name)
        self.rig.memory_service().use(name)
        self.world.selected = {name}
        self.world.stamp += 1

    def capture(self, texts: tuple[str, ...], *, first: int = 0, observe: bool = False) -> Captured:
        """Take turns in; from its return on each of them is held by a job."""
        found = turns(*texts, first=first)
        captured = self.rig.capture(found, observe=observe)
        self.world.jobs.update(captured.jobs)
        self.world.turns.update(turn.turn_id for turn in found)
        self.world.stamp += 1
        return captured

    def finishing(self, name: str, command: Callable[[Actor], None]) -> None:
        """Run a command that the user repeats when it was cut off."""
        self.world.unfinished[name] = command
        self.world.stamp += 1
        command(self)
        del self.world.unfinished[name]
        self.world.stamp += 1

    def purge(self, text: str) -> None:
        """Forget a text everywhere; from its return on no file holds it, after any power loss."""
        self.world.expiring = True
        self.finishing(f"purge {text}", functools.partial(_purge, text=text))

    def undo_newest(self) -> None:
        """Undo the newest revision of main, if it changed entries that were remembered or replaced."""
        history = self.rig.memory_service().history("main")
        if not history or history[0].cause not in {"remember", "replace", "undo"}:
            return
        change = getattr(history[0], "changes", (None,))[0]
        if change is None:
            return
        text = change.before.text if change.before is not None else None
        service = self.rig.memory_service()
        self.changing(change.entry_id, functools.partial(service.undo, branch="main"), text=text)

    def look(self, host: str) -> None:
        """Display the news there are; nothing is displayed twice."""
        for card in feedback_service(self.rig).take(PROJECT, host=host, session="a session"):
            if card.job_id in self.world.displayed:
                raise Broken(f"F-03: the news of {card.job_id} is shown again")
            self.world.displayed.add(card.job_id)
        self.world.stamp += 1

    def retire(self, *, runs: int) -> None:
        """Let time go by and retention run, two days each time."""
        self.world.expiring = self.world.retaining = True
        for _ in range(runs):
            self.clock.advance(TRUSTED_SECONDS)
            self.world.later_seconds += TRUSTED_SECONDS
            self.world.stamp += 1
            self.rig.retention().run()

    def drain(self, *, times: int = 1) -> None:
        """Review what is ready; an hour passes before each further time."""
        for time in range(times):
            if time:
                self.clock.advance(3_600)
            self.rig.drain()
        retention = self.rig.retention()
        if self.world.retaining and retention.due():
            retention.run()


def _purge(actor: Actor, *, text: str) -> None:
    """Entries that hold that text go. Nobody else lives, so that a purge may not leave anything."""
    world = actor.world
    found = [entry_id for entry_id, known in world.entries.items() if known is not None and text in known]
    world.doubt.update(found)
    done = actor.rig.purge_service().forget_everywhere(PROJECT, text=text, wait_seconds=0)
    if done.left:
        raise Broken(f"M-12: a purge without rivals left {done.left}")
    world.purged.add(text)
    world.entries.update(dict.fromkeys(found))
    world.doubt.difference_update(found)
