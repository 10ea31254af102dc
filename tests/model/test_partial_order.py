"""Leaving out orders that come to the same leaves out nothing else."""

from __future__ import annotations

from collections import deque

import pytest

from perdure.core.record import seal
from tests.model.moves import Moves
from tests.model.walk import walk
from tests.model.world import Bounds, Move, Records, State


class Every(Moves):
    """The world in which every order of steps is walked."""

    def alone(self, state: State) -> Move | None:
        """No step goes first."""
        del state
        return None


def reached(world: Moves) -> set[frozenset[tuple[str, bytes]]]:
    """Every set of records that a walk comes to, by their bytes: numbers differ from world to world."""
    start = world.start()
    todo, seen = deque([start]), {start}
    sets: set[Records] = set()
    while todo:
        state = todo.popleft()
        sets.add(state.records)
        for move in world.moves(state):
            if move.state not in seen:
                seen.add(move.state)
                todo.append(move.state)
    return {frozenset((path, seal(world.record(number))) for path, number in records) for records in sets}


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(crashes=2),
        Bounds(evictions=1, torn_reads=True),
        Bounds(takeovers=2),
        Bounds(edits=1, crashes=1),
        Bounds(drops=1, evictions=1),
    ],
    ids=["deaths", "held for dead", "stalls", "a write", "a drop"],
)
def test_the_shorter_walk_comes_to_the_same_records(bounds: Bounds) -> None:
    """Both walks reach the same sets of records, and both are without fault; one of them is shorter."""
    whole, shorter = walk(Every(bounds)), walk(Moves(bounds))
    assert whole.fault is shorter.fault is None
    assert shorter.states < whole.states
    assert reached(Every(bounds)) == reached(Moves(bounds))
