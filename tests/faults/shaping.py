"""Faults in what changes branches as a whole, and in moves between memories (rules 15 and 16)."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.authority.filesystem import coverage, layout
from perdure.authority.filesystem.locks import hold
from perdure.authority.filesystem.memory import FileMemory
from perdure.authority.filesystem.structural import FileMoves, FileShape
from perdure.core import protocol
from perdure.core.job import Job
from perdure.core.memory import MAIN, Branch
from perdure.core.move import Arrival, Move, arrival
from perdure.core.protocol import JobFacts, Policy, Verdict, Wait
from perdure.core.structural import BranchTombstone
from perdure.errors import Removed
from perdure.ports.memory import Memory
from perdure.ports.queue import Accepted
from perdure.service import curate, facts, moves, publish, transact
from perdure.service.handover import arriving, leaving
from tests.faults import shapes
from tests.faults.instruments import Check, Crash
from tests.faults.row import Fault

_LONG_MS = 10**12


def _jobs_outlive_their_branch(patch: pytest.MonkeyPatch) -> None:
    real = protocol._between_attempts

    def between(found: JobFacts, job: Job, *, now_ms: int, policy: Policy) -> Verdict:
        if found.branch_removed:
            return Wait(now_ms + _LONG_MS, "the branch may come back", blocks_lane=False)
        return real(found, job, now_ms=now_ms, policy=policy)

    patch.setattr(protocol, "_between_attempts", between)


def _bound_by_name(patch: pytest.MonkeyPatch) -> None:
    """Where a job's branch was removed, the other one that is not main has its name by now."""
    real = facts.present_branch

    def present(memory: Memory, scope: str, branch_id: str) -> Branch:
        try:
            return real(memory, scope, branch_id)
        except Removed:
            named = [row.branch_id for row in memory.branches(scope) if row.name != MAIN]
            return real(memory, scope, named[0])

    def to_judge(held: Any, lane: Any) -> Branch:
        return present(FileMemory(held._records, held._key), lane.project, lane.branch_id)

    patch.setattr(facts, "present_branch", present)
    patch.setattr(curate, "present_branch", present)
    patch.setattr(publish, "_to_judge", to_judge)


def _history_goes_first(patch: pytest.MonkeyPatch) -> None:
    real = FileShape.entomb

    def entomb(self: FileShape, tombstone: BranchTombstone) -> None:
        self.remove_history(tombstone.branch_id)
        real(self, tombstone)

    patch.setattr(FileShape, "entomb", entomb)


def _two_locks(patch: pytest.MonkeyPatch) -> None:
    real = coverage._Held.accept

    def accept(self: Any, job: Job) -> Accepted:
        with hold(self._coverage._records.disk, layout.scope_folder(job.project)):
            return real(self, job)

    patch.setattr(coverage._Held, "accept", accept)


def _source_first(patch: pytest.MonkeyPatch) -> None:
    def hand_over(memory: Memory, move: Move) -> Arrival:
        with transact.settled(memory, move.scope) as held:
            out = leaving(held, move)
            if out is not None:
                transact.carry_out(held, out, MAIN)
            held.moves.end(move.move_id)
        with transact.settled(memory, move.target) as held:
            into = arriving(held, move)
            if into is not None:
                transact.carry_out(held, into, MAIN)
        return arrival(move)

    patch.setattr(transact, "hand_over", hand_over)
    patch.setattr(moves, "hand_over", hand_over)


def _no_note(patch: pytest.MonkeyPatch) -> None:
    """Nothing tells those who come after a crash that a move was begun."""
    read = FileMoves.read
    begun: dict[str, Move] = {}

    def begin(_self: FileMoves, move: Move) -> None:
        begun[move.move_id] = move

    patch.setattr(FileMoves, "begin", begin)
    patch.setattr(FileMoves, "read", lambda self, move_id: read(self, move_id) or begun.get(move_id))


ROWS = (
    Fault(
        "a-removed-branch-keeps-its-jobs",
        "15",
        "a job whose branch was removed waits for it to come back",
        _jobs_outlive_their_branch,
        Crash("remove"),
        "G-01",
    ),
    Fault(
        "bind-a-job-to-the-name-of-its-branch",
        "15",
        "a new branch of the same name gets what was reviewed for a removed one",
        _bound_by_name,
        Check(shapes.forked_again_under_the_same_name),
        "M-02 a new branch gets nothing of a removed one's jobs",
    ),
    Fault(
        "remove-the-history-before-the-tombstone",
        "15",
        "a branch's history goes while nothing proves yet that the branch is removed",
        _history_goes_first,
        Crash("remove", book=True),
        "V-13",
    ),
    Fault(
        "two-locks-at-once",
        "16",
        "a capture takes the project's lock while it holds the coverage",
        _two_locks,
        Crash("capture"),
        "NestedLock",
    ),
    Fault(
        "remove-at-the-source-first",
        "16",
        "an entry that is moved goes at its source before it stands at its target",
        _source_first,
        Crash("move to the user"),
        "rule 16: never lost, never twice",
    ),
    Fault(
        "move-without-a-note",
        "16",
        "nothing tells those who come after a crash that a move was begun",
        _no_note,
        Crash("move to the user"),
        "rule 16: never lost, never twice",
    ),
)
