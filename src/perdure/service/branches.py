"""Renaming and removing branches (rule 15). Jobs and transactions are bound to the id, never to the name."""

from __future__ import annotations

import contextlib

import msgspec

from perdure.core.job import lane_of
from perdure.core.memory import MAIN, main_branch_id
from perdure.core.protocol import BRANCH_GONE, Decide
from perdure.core.structural import Renamed, rename, structural_intent
from perdure.errors import Damaged, NewerVersion, Refused
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock, Ids
from perdure.ports.memory import BranchName, Memory
from perdure.ports.queue import Queue
from perdure.service.facts import present, row_named
from perdure.service.publish import Log, Publisher
from perdure.service.remember import check_branch_name
from perdure.service.transact import carry_out, finish_begun, locked


class RemovedBranch(msgspec.Struct, frozen=True):
    """What went: `dropped` are the jobs that ended with it, `left` those whose records cannot be read."""

    name: str
    branch_id: str
    entries: int
    was_selected: bool
    dropped: tuple[str, ...]
    left: tuple[str, ...]


class BranchService:
    """Names and removals of one scope's branches."""

    def __init__(
        self,
        *,
        queue: Queue,
        attempts: Attempts,
        memory: Memory,
        claims: Claims,
        scope: str,
        clock: Clock,
        ids: Ids,
        log: Log = lambda *_: None,
    ) -> None:
        self._queue, self._attempts, self._memory, self._claims = queue, attempts, memory, claims
        self._scope, self._clock, self._ids = scope, clock, ids
        self._publisher = Publisher(queue=queue, attempts=attempts, memory=memory, clock=clock, log=log)

    def rename_branch(self, old: str, new: str) -> BranchName:
        """Give a branch another name. Raises Refused for main and for a name that is taken."""
        finish_begun(self._memory, self._scope)
        row = self._row(old, "renamed")
        if new == row.name:
            return row
        check_branch_name(new)
        with locked(self._memory, self._scope) as held:
            if any(other.name == new for other in self._memory.branches(self._scope)):
                msg = f"a branch {new!r} exists already."
                raise Refused(msg, advice="Nothing was changed. perdure branch list shows all.")
            branch = present(held.branch(row.branch_id), self._scope, row.branch_id)
            now_ms = self._clock.now_ms()
            planned = rename(branch, new, now_ms=now_ms)
            intent = structural_intent(
                transaction=self._ids.token(32),
                base=branch,
                planned=planned,
                renamed=Renamed(branch.name, new),
                now_ms=now_ms,
            )
            carry_out(held, intent, branch.name)
        after = planned.branch
        return BranchName(after.branch_id, new, after.parent, len(after.entries), after.seq)

    def open_jobs(self, name: str) -> tuple[BranchName, tuple[str, ...]]:
        """The branch that a removal would take away, and its jobs that would end with it."""
        finish_begun(self._memory, self._scope)
        row = self._row(name, "removed")
        return row, self._open(row.branch_id)

    def remove(self, name: str) -> RemovedBranch:
        """Remove a branch with its history for good, and end its open jobs as dropped.

        A crash on the way leaves either the branch as it was, or what the next holder of the lock and the
        next worker finish. Raises Refused for main.
        """
        finish_begun(self._memory, self._scope)
        row = self._row(name, "removed")
        with locked(self._memory, self._scope) as held:
            branch = present(held.branch(row.branch_id), self._scope, row.branch_id)
            was_selected = self._memory.selected(self._scope) == branch.name
            intent = structural_intent(
                transaction=self._ids.token(32), base=branch, planned=None, now_ms=self._clock.now_ms()
            )
            carry_out(held, intent, branch.name)
        dropped: list[str] = []
        left: list[str] = []
        for job_id in self._open(row.branch_id):
            (dropped if self._end(job_id) else left).append(job_id)
        return RemovedBranch(
            name=branch.name,
            branch_id=branch.branch_id,
            entries=len(branch.entries),
            was_selected=was_selected,
            dropped=tuple(dropped),
            left=tuple(left),
        )

    # -- inside

    def _row(self, name: str, what: str) -> BranchName:
        if name in {MAIN, main_branch_id(self._scope)}:
            msg = f"{MAIN!r} cannot be {what}: every memory has it."
            raise Refused(msg, advice="perdure branch list shows the others.")
        return row_named(self._memory.branches(self._scope), name)

    def _open(self, branch_id: str) -> tuple[str, ...]:
        closed = self._queue.closed(self._scope)
        mine = (job_id for job_id in self._queue.queued() if self._is_mine(job_id, branch_id))
        return tuple(job_id for job_id in mine if job_id not in closed)

    def _is_mine(self, job_id: str, branch_id: str) -> bool:
        lane = lane_of(job_id)
        return (lane.project, lane.branch_id) == (self._scope, branch_id)

    def _end(self, job_id: str) -> bool:
        """Take a job of the removed branch to its end; an elected proposal ends rejected."""
        with contextlib.suppress(Damaged, NewerVersion):
            if self._queue.decision(job_id) is None:
                job = self._queue.job(job_id)
                if job is None:
                    return True
                made = self._attempts.of_job(job_id)
                self._publisher.decide(job, Decide("dropped", BRANCH_GONE, None), made)
                self._publisher.cancel_unsent(made, "the branch was removed")
            return self._publisher.finish(job_id, self._claims) is not None
        return False
