"""Breadth first over every state of a world, then backwards from the ends."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable

import msgspec

from tests.model.laws import Laws
from tests.model.moves import Moves
from tests.model.world import State, Violation

STATES_MAX = 1_000_000
SAY_EVERY = 20_000


class Fault(msgspec.Struct, frozen=True):
    """A broken law and the shortest way to it."""

    law: str
    steps: tuple[str, ...]


class Walk(msgspec.Struct, frozen=True):
    """What a walk saw. `ends` are states in which all jobs are closed and announced."""

    states: int
    transitions: int
    ends: int
    fault: Fault | None

    @property
    def exhaustive(self) -> bool:
        """Whether every reachable state was visited."""
        return self.fault is None


def walk(
    world: Moves, *, states_max: int = STATES_MAX, say: Callable[[int, int], None] = lambda *_: None
) -> Walk:
    """Visit every reachable state; stop at the first broken law.

    `say` is told now and then how many states were found, and how many of them wait to be visited.
    """
    laws, start = Laws(world), world.start()
    found: dict[State, int] = {start: 0}
    steps: list[tuple[int, str]] = [(-1, "start")]
    todo = deque([start])
    before: list[array[int]] = [array("i")]
    ends: list[int] = []
    transitions = 0
    state, label = start, ""
    try:
        laws.state(start)
        while todo:
            state, label = todo.popleft(), ""
            place = found[state]
            if closed(world, state):
                ends.append(place)
            for label, after, fault in world.moves(state):
                transitions += 1
                laws.step(state, after)
                number = found.get(after)
                if number is None:
                    laws.state(after)
                    number = found[after] = len(steps)
                    steps.append((place, label))
                    before.append(array("i"))
                    todo.append(after)
                if not fault:
                    before[number].append(place)
            _bound(len(steps), states_max)
            if place % SAY_EVERY == 0:
                say(len(steps), len(todo))
    except Violation as violation:
        trace = (*_trace(steps, found[state]), label)
        return Walk(len(steps), transitions, len(ends), Fault(str(violation), trace))
    stuck = _without_end(before, ends)
    if stuck is not None:
        wedged = Fault("liveness: no way to an end from here", _trace(steps, stuck))
        return Walk(len(steps), transitions, len(ends), wedged)
    return Walk(len(steps), transitions, len(ends), None)


def _bound(states: int, states_max: int) -> None:
    if states > states_max:
        raise Violation(f"more than {states_max:,} states: the bounds are too wide")


def closed(world: Moves, state: State) -> bool:
    """Whether every job has its outcome and event, no lock is held and no transaction is begun."""
    return not state.lock and not world.open_jobs(state.records) and not world.begun(state.records)


def _without_end(before: list[array[int]], ends: list[int]) -> int | None:
    """The first state that no faultless steps lead from to an end."""
    reached = bytearray(len(before))
    todo = list(ends)
    for place in ends:
        reached[place] = 1
    while todo:
        for place in before[todo.pop()]:
            if not reached[place]:
                reached[place] = 1
                todo.append(place)
    first = reached.find(0)
    return None if first < 0 else first


def _trace(steps: list[tuple[int, str]], place: int) -> tuple[str, ...]:
    found: list[str] = []
    while place >= 0:
        place, label = steps[place]
        found.append(label)
    return tuple(reversed(found))


def told(name: str, seen: Walk) -> str:
    """The counts of a walk, and the way to what is wrong."""
    counts = f"{name}: {seen.states:,} states, {seen.transitions:,} transitions, {seen.ends:,} ends"
    if seen.fault is None:
        return counts
    return "\n  ".join((f"{counts}\n{seen.fault.law}", *seen.fault.steps))
