"""The stage: actors take turns, one at a time, and a seed says whose turn it is.

Every actor is a thread that waits for its baton. It gives the baton away inside `step`, which every look at
the disk and every change of it goes through, and inside `sleep`. Nothing else runs meanwhile, so that a run
is the same every time. When all sleep, the time of the next one's waking comes at once.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from typing import NoReturn, TypeVar

from perdure.authority.filesystem.disk import Lock
from perdure.errors import StorageError
from tests.crash.world import Broken
from tests.fakes import ManualClock
from tests.simulated_machine import Crashed, Fault, Machine, Operation
from tests.simulated_view import DiskView

T = TypeVar("T")

STEP_SECONDS = 0.004
"""What one step takes on virtual time."""
TRACE_LINES = 60
NEVER = 1 << 60
_NOBODY = "only an actor takes steps"


class StageClock(ManualClock):
    """The machine's clocks; whoever sleeps gives the others their turn."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.boots = 1
        self.on_sleep: Callable[[float], None] = self.advance

    def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        self.on_sleep(seconds)

    def reboot(self) -> None:
        """Start another boot: its clock begins anew, the wall clock goes on."""
        self.boots += 1
        self._boot = f"boot-{self.boots}"
        self._boot_seconds = 30.0


class _Actor:
    def __init__(self, name: str, body: Callable[[], None]) -> None:
        self.name, self.body = name, body
        self.baton = threading.Lock()
        self.baton.acquire()
        self.wakes = 0.0
        self.done = False


class Stage:
    """Runs actors to their end, or for at most `steps_max` steps.

    `stay` is how likely the one who runs goes on at a step. The functions that others set are the place of
    everything that befalls the machine, and of who watches it.
    """

    def __init__(self, chance: random.Random, clock: StageClock, *, stay: float, steps_max: int) -> None:
        self._chance, self._clock = chance, clock
        self._stay, self.steps_max = stay, steps_max
        self._actors: list[_Actor] = []
        self._main = threading.Lock()
        self._main.acquire()
        self._current: _Actor | None = None
        self._now = 0.0
        self.steps = 0
        self.switches = 0
        self.closing = False
        self.failure: BaseException | None = None
        self.next_event = NEVER
        """The step before which something befalls the machine: `befall` is called then."""
        self.befall: Callable[[int], None] = lambda _step: None
        self.before_operation: Callable[[str, Operation, str], None] = lambda *_: None
        self.woken: Callable[[str], None] = lambda _process: None
        self.published: Callable[[str, bool], None] = lambda *_: None
        self.waits: Callable[[str, str], None] = lambda *_: None
        self.trace: deque[str] = deque(maxlen=TRACE_LINES)
        clock.on_sleep = self.sleep

    def add(self, name: str, body: Callable[[], None]) -> None:
        """Let an actor take part; `body` returns when it has nothing left to do."""
        self._actors.append(_Actor(name, body))

    def run(self) -> None:
        """Let all take their turns until none is left; then raise what went wrong first, if anything did."""
        threads = [threading.Thread(target=self._live, args=(actor,)) for actor in self._actors]
        for thread in threads:
            thread.start()
        first = self._next()
        if first is not None:
            self._current = first
            first.baton.release()
            self._main.acquire()
        for thread in threads:
            thread.join()
        self._clock.on_sleep = self._clock.advance
        if self.failure is not None:
            raise self.failure

    # -- for the one who runs

    def step(self) -> None:
        """Come to a point where others may take their turn. Raises Crashed once the curtain falls."""
        if self.closing:
            raise Crashed
        self.steps += 1
        if self.steps > self.steps_max:
            self.closing = True
            raise Crashed
        self._now += STEP_SECONDS
        self._clock.advance(STEP_SECONDS)
        if self.steps >= self.next_event:
            self.befall(self.steps)
        me = self._current
        if me is None:
            raise RuntimeError(_NOBODY)
        if me.wakes > self._now or self._chance.random() >= self._stay:
            self._give_way(me)

    def sleep(self, seconds: float) -> None:
        """Let at least that much time pass."""
        if self.closing:
            raise Crashed
        me = self._me()
        me.wakes = self._now + seconds
        self._give_way(me)

    def fail(self, error: Exception) -> NoReturn:
        """End the run with this error, even from inside something that takes errors for its own affair."""
        self.failure = self.failure or error
        self.closing = True
        raise Crashed

    def busy(self, kind: str) -> bool:
        """Whether an actor whose name does not begin with `kind` still has something to do."""
        return any(not actor.done and not actor.name.startswith(kind) for actor in self._actors)

    @property
    def now(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now

    def note(self, line: str) -> None:
        """Write a line into the trace."""
        self.trace.append(f"{self.steps:6} {line}")

    # -- for what befalls the actors

    def stall(self, name: str, seconds: float) -> None:
        """Stop an actor at its next step for so long, whatever it holds."""
        for actor in self._named(name):
            actor.wakes = max(actor.wakes, self._now) + seconds
            self.note(f"{name} stalls for {seconds:.0f} s")

    def wake(self, name: str) -> None:
        """Let an actor's sleep or stall end now."""
        for actor in self._named(name):
            actor.wakes = 0.0

    def wake_all(self) -> None:
        """Let every sleep end now."""
        for actor in self._actors:
            actor.wakes = 0.0

    # -- parts

    def _named(self, name: str) -> list[_Actor]:
        return [actor for actor in self._actors if actor.name == name]

    def _me(self) -> _Actor:
        if self._current is None:
            raise RuntimeError(_NOBODY)
        return self._current

    def _pass_time(self, seconds: float) -> None:
        self._now += seconds
        self._clock.advance(seconds)

    def _next(self) -> _Actor | None:
        """Whose turn it is; None when all are done. At the end whoever is left only has to leave."""
        left = [actor for actor in self._actors if not actor.done]
        if not left or self.closing:
            return left[0] if left else None
        ready = [actor for actor in left if actor.wakes <= self._now]
        if not ready:
            wakes = min(actor.wakes for actor in left)
            self._pass_time(wakes - self._now)
            self._now = wakes
            ready = [actor for actor in left if actor.wakes <= wakes]
        return ready[0] if len(ready) == 1 else self._chance.choice(ready)

    def _give_way(self, me: _Actor) -> None:
        following = self._next()
        if following is not None and following is not me:
            self.switches += 1
            self._current = following
            following.baton.release()
            me.baton.acquire()
        if self.closing:
            raise Crashed

    def _live(self, me: _Actor) -> None:
        me.baton.acquire()
        try:
            if not self.closing:
                me.body()
        except Crashed:
            pass  # the curtain fell
        except BaseException as error:  # noqa: BLE001 - kept, and raised where the run was started
            self.failure = self.failure or error
            self.closing = True
        me.done = True
        following = self._next()
        self._current = following
        if following is not None:
            following.baton.release()
        else:
            self._main.release()


class SteppedView(DiskView):
    """A process's view of the disk on which every call, a look or a change, is a step on a stage."""

    def __init__(self, machine: Machine, process: str, stage: Stage, clock: StageClock) -> None:
        self._stage, self._clock = stage, clock
        super().__init__(machine, process)

    @property
    def lives(self) -> bool:
        """Whether the process has not been killed."""
        return self._lives(self._life)

    def lock(self, path: str, *, wait_seconds: float, shared: bool = False) -> Lock:
        """See `Disk.lock`; waits on virtual time while others have their turns."""
        until, pause = self._clock.boot_seconds() + wait_seconds, 0.01
        while True:
            held = self.try_lock(path, shared=shared)
            if held is not None:
                self._check_alone(path)
                return held
            self._stage.waits(self._process, path)
            if self._clock.boot_seconds() >= until:
                return super().lock(path, wait_seconds=wait_seconds, shared=shared)
            self._stage.sleep(pause)
            pause = min(pause * 2, 2.0)

    def _check_alone(self, path: str) -> None:
        """A process holds one lock domain at a time (D-09): of the locks on folders it has this one alone."""
        machine = self._machine
        held = [
            inode
            for inode in machine.media.folders
            if any(lock.process == self._process for lock in machine.holders(inode))
        ]
        if len(held) > 1:
            raise Broken(f"D-09: {self._process} took {path} while it held another lock")

    def _check_alive(self) -> None:
        self._stage.step()
        super()._check_alive()

    def _perform(self, operation: Operation, path: str, effect: Callable[[], T]) -> T:
        done = super()._perform(operation, path, effect)
        if operation == "link":
            self._stage.published(path, bool(done))
        return done

    def _begin(self, operation: Operation, path: str) -> Fault | None:
        self._stage.before_operation(self._process, operation, path)
        fault = super()._begin(operation, path)
        self._stage.woken(self._process)
        failed = " fails" if fault is not None and isinstance(fault.error, StorageError) else ""
        self._stage.note(f"{self._process}: {operation} {path}{failed}")
        return fault
