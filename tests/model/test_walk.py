"""Every interleaving within small bounds: the laws hold in every state, and each has a way to an end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.model.__main__ import main
from tests.model.calls import number_of
from tests.model.moves import Moves
from tests.model.scenarios import DEEP, QUICK
from tests.model.walk import told, walk
from tests.model.world import Bounds, Move, State, Worker

BELIEVED = 2
WRONG_USE = 2

CHOSEN = {**QUICK, **DEEP} if os.environ.get("PERDURE_WALK") == "deep" else QUICK


@pytest.mark.requirement(
    "G-01", "G-03", "A-01", "A-02", "A-03", "A-04", "B-02", "B-03", "D-02", "D-06", "D-12", "Q-05"
)
@pytest.mark.parametrize("name", CHOSEN)
def test_every_state_is_safe_and_has_a_way_to_an_end(name: str) -> None:
    """Within these bounds no order of steps, deaths and replies breaks a law or wedges a job."""
    seen = walk(Moves(CHOSEN[name]))
    print(told(name, seen))
    assert seen.fault is None, told(name, seen)
    assert seen.ends > 0


class Unfenced(Moves):
    """Workers that never look whether their claim still stands. A superseded one begins no third attempt:
    it would reserve, and the owner take back, for ever.
    """

    def begin(self, state: State, place: int, worker: Worker) -> Move:
        """Believe it twice."""
        if number_of(worker.what[1]) > BELIEVED and not super().holds(state, worker):
            return self.release(state, place, worker)
        return super().begin(state, place, worker)

    def holds(self, state: State, worker: Worker) -> bool:
        """Believe it."""
        del state, worker
        return True


@pytest.mark.requirement("Q-03")
@pytest.mark.parametrize(
    "bounds", [Bounds(takeovers=2), Bounds(takeovers=1, crashes=1)], ids=["stalls", "dies"]
)
def test_late_writes_of_a_superseded_owner_are_harmless_by_construction(bounds: Bounds) -> None:
    """Even owners that never look at their claim break no law: the fence only saves calls."""
    seen = walk(Unfenced(bounds))
    assert seen.fault is None, told("unfenced", seen)


@pytest.mark.requirement("Q-11", "D-08")
def test_a_write_between_call_and_admission_is_reached() -> None:
    """The walk really comes to stale ends, to their successors, to unknown attempts and to late results."""
    world = Moves(Bounds(edits=1, evictions=1, faults=1, replies=("invalid",)))
    reached: set[str] = set()
    todo, seen = [world.start()], {world.start()}
    wanted = {"stale", "applied", "generation 2", "unknown", "late result", "invalid"}
    while todo and not wanted <= reached:
        state = todo.pop()
        for name in world.names(state.records):
            record = world.record(world.names(state.records)[name])
            reached.add(str(getattr(record, "state", "")))
            reached.add(f"generation {getattr(record, 'generation', 1)}")
            reached.add(str(getattr(record, "outcome", "")))
        for attempt in world.attempts(state.records, ""):
            reached.add("late result" if attempt.unknown and attempt.result is not None else attempt.state)
        for move in world.moves(state):
            if move.state not in seen:
                seen.add(move.state)
                todo.append(move.state)
    assert wanted <= reached


def test_the_report_says_what_was_walked_and_whether_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The states of each walk and how many were exhaustive; an unknown name is wrong use."""
    monkeypatch.setattr("tests.model.__main__.BUILD_FOLDER", tmp_path)
    assert main(["only", "observing,", "two"]) == 0
    told_of = {row["name"]: row["value"] for row in json.loads((tmp_path / "model.json").read_text())}
    assert told_of["exhaustive"] == 1
    assert (
        told_of["states: only observing, two stalls"]
        == walk(Moves(QUICK["only observing, two stalls"])).states
    )
    assert main(["no such walk"]) == WRONG_USE
    assert "no such walk" in capsys.readouterr().out


def test_a_walk_that_is_too_wide_is_not_exhaustive() -> None:
    """Beyond the bound on states a walk ends as a failure, never as a success."""
    seen = walk(Moves(QUICK["two stalls"]), states_max=100)
    assert not seen.exhaustive
    assert seen.fault is not None
    assert "too wide" in seen.fault.law
