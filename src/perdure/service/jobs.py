"""What became of each review job, and the user's two orders: retry it, or drop it (G-01, Q-06, F-04).

A state is derived from the records each time and stored nowhere (F-02).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from perdure.core.admission import Outcome, OutcomeTombstone, Receipt
from perdure.core.attempt import Attempt
from perdure.core.decision import Decision
from perdure.core.evidence import Evidence
from perdure.core.job import Job, lane_of, successor
from perdure.core.memory import Change
from perdure.core.protocol import (
    Admit,
    Announce,
    Begin,
    Close,
    Continue,
    Decide,
    JobFacts,
    Policy,
    Rest,
    Stopped,
    Wait,
    next_step,
)
from perdure.errors import Ambiguous, NotFound, Refused, StorageError, UsageError
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock
from perdure.ports.memory import Memory
from perdure.ports.queue import Queue
from perdure.service.facts import read_facts
from perdure.service.publish import Log, Publisher

IDENTITY_DIGITS = 32
SHORT_DIGITS = 12
PREFIX_DIGITS_MIN = 4

JobState = Literal[
    "queued",
    "in flight",
    "waiting",
    "applying",
    "stopped",
    "applied",
    "no-op",
    "stale",
    "rejected",
    "dead-lettered",
    "dropped",
    "superseded",
]
"""The first five are open jobs; the others are the states of an outcome."""


class JobRow(msgspec.Struct, frozen=True):
    """One job as a list shows it. `generation` and `turns` are None where no record tells them any more."""

    job_id: str
    short: str  # the beginning of the job's own part of its id; enough for show, retry and drop
    state: JobState
    reason: str
    project: str
    branch: str  # the branch's name, or its id when the branch cannot be read
    generation: int | None
    turns: int | None
    settled_ms: int
    attempts: int
    until_ms: int = 0  # for "waiting": when it goes on


class JobDetail(msgspec.Struct, frozen=True):
    """Everything that is kept of a job. Evidence is None once it has expired."""

    row: JobRow
    evidence: Evidence | None
    attempts: tuple[Attempt, ...]
    decision: Decision | None
    receipt: Receipt | None
    outcome: Outcome | OutcomeTombstone | None
    successor: str | None
    changes: tuple[Change, ...]


class Retried(msgspec.Struct, frozen=True):
    """The next review of the same evidence."""

    job_id: str
    successor: str
    generation: int


class JobsService:
    """Lists and steers jobs. `projects` names the projects that have records."""

    def __init__(
        self,
        *,
        queue: Queue,
        attempts: Attempts,
        memory: Memory,
        claims: Claims,
        clock: Clock,
        policy: Policy,
        projects: Callable[[], Iterable[str]],
        log: Log = lambda *_: None,
    ) -> None:
        self._queue, self._attempts, self._memory, self._claims = queue, attempts, memory, claims
        self._clock, self._policy, self._projects = clock, policy, projects
        self._publisher = Publisher(queue=queue, attempts=attempts, memory=memory, clock=clock, log=log)

    # -- looking

    def list(self, project: str | None = None, *, open_only: bool = False) -> tuple[JobRow, ...]:
        """The jobs of a project, or of all, in the order of settled time."""
        made = _Grouped(self._attempts.all())
        names: dict[str, dict[str, str]] = {}
        return tuple(self._row(job_id, made, names) for job_id in self._ids(project, open_only=open_only))

    def show(self, which: str, project: str | None = None) -> JobDetail:
        """One job by its id or the beginning of it. Raises NotFound, Ambiguous."""
        job_id = self.resolve(which, project)
        made = _Grouped(self._attempts.all())
        job, decision = self._job(job_id), self._queue.decision(job_id)
        ended, lane = self._queue.outcome(job_id), lane_of(job_id)
        receipt = self._memory.receipt(lane.project, job_id)
        changes: tuple[Change, ...] = ()
        if receipt is not None and receipt.revision_seq is not None:
            revision = self._memory.revision(lane.project, lane.branch_id, receipt.revision_seq)
            changes = revision.changes if revision is not None else ()
        known = job or (decision.job if decision is not None else None)
        return JobDetail(
            row=self._row(job_id, made, {}),
            evidence=known.evidence if known is not None else None,
            attempts=made.of_job(job_id),
            decision=decision,
            receipt=receipt,
            outcome=ended,
            successor=ended.successor if isinstance(ended, Outcome) else None,
            changes=changes,
        )

    def resolve(self, which: str, project: str | None = None) -> str:
        """Find the full id of a job by the unique beginning of it, or of its last 32 digits."""
        wanted = which.strip().lower()
        if len(wanted) < PREFIX_DIGITS_MIN:
            msg = f"{which!r} is too short to name a job; {PREFIX_DIGITS_MIN} digits are needed."
            raise UsageError(msg, advice="perdure jobs lists them.")
        ids = self._ids(project, open_only=False)
        own = [job_id for job_id in ids if job_id[-IDENTITY_DIGITS:].startswith(wanted)]
        matches = own or [job_id for job_id in ids if job_id.startswith(wanted)]
        if not matches:
            msg = f"there is no job {which!r}."
            raise NotFound(msg, advice="perdure jobs lists them.")
        if len(matches) > 1:
            listed = ", ".join(job_id[-IDENTITY_DIGITS:][:SHORT_DIGITS] for job_id in matches[:5])
            msg = f"{len(matches)} jobs begin with {which!r}: {listed}."
            raise Ambiguous(msg, advice="Give more digits.")
        return matches[0]

    # -- steering

    def retry(self, which: str, project: str | None = None) -> Retried:
        """Review the same evidence again, as the next generation, against current memory.

        Raises Refused when the job took effect, is still to be reviewed anyway, is in flight, was retried
        already, or when its evidence has expired. Never leads to a second effect (G-03).
        """
        job_id = self.resolve(which, project)
        ended = self._queue.outcome(job_id) or self._supersede(job_id)
        if ended.state == "applied":
            msg = f"job {_short(job_id)} was applied; its evidence has had its effect."
            raise Refused(msg, advice="perdure undo takes the change back.")
        job = self._retained(job_id)
        following = successor(job, stale=False)
        if ended.state == "superseded":
            return Retried(job_id, following.job_id, following.generation)
        accepted = self._publisher.accept(job_id, following)
        if accepted is None:
            raise _expired(job_id)
        if not accepted.new:
            state = self._row(following.job_id, _Grouped(self._attempts.all()), {}).state
            msg = f"job {_short(job_id)} is reviewed again already, as {_short(following.job_id)}: {state}."
            raise Refused(msg, advice=f"perdure jobs show {_short(following.job_id)}")
        return Retried(job_id, following.job_id, following.generation)

    def drop(self, which: str, project: str | None = None) -> Outcome:
        """End an open job for good (G-01); its turns stay covered. Refused when it has ended already."""
        job_id = self.resolve(which, project)
        ended = self._queue.outcome(job_id)
        if ended is None:
            job = self._retained(job_id)
            decision = self._queue.decision(job_id)
            if decision is None:
                made = self._attempts.of_job(job_id)
                decision = self._publisher.decide(job, Decide("dropped", "user", None), made)
                self._publisher.cancel_unsent(made, "job dropped")
            ended = self._finished(job_id)
            if isinstance(ended, Outcome) and decision.kind == "dropped":
                return ended
        msg = f"job {_short(job_id)} has ended already: {ended.state}."
        raise Refused(msg, advice=f"perdure jobs show {_short(job_id)}")

    # -- inside

    def _supersede(self, job_id: str) -> Outcome | OutcomeTombstone:
        """End an open job that waits or is stopped, so that the next generation follows (rule 10)."""
        facts = self._facts(job_id, self._attempts)
        verdict = self._verdict(facts)
        if facts.decision is None:
            job = self._retained(job_id)
            if any(attempt.open for attempt in facts.attempts):
                msg = f"job {_short(job_id)} is being reviewed right now."
                raise Refused(msg, advice="Wait for its end; perdure jobs shows it.")
            if isinstance(verdict, Begin) and verdict.number == 1:
                msg = f"job {_short(job_id)} is queued and has not been reviewed yet."
                raise Refused(msg, advice="perdure review --once reviews what is queued.")
            self._publisher.decide(job, Decide("superseded", "user", None), facts.attempts)
        return self._finished(job_id)

    def _finished(self, job_id: str) -> Outcome | OutcomeTombstone:
        ended = self._publisher.finish(job_id, self._claims)
        if ended is None:
            msg = f"job {_short(job_id)} cannot be ended: one of its records is damaged."
            raise StorageError(msg, advice="Run perdure verify.")
        return ended

    def _retained(self, job_id: str) -> Job:
        job = self._job(job_id)
        if job is None:
            decision = self._queue.decision(job_id)
            job = decision.job if decision is not None else None
        if job is None:
            raise _expired(job_id)
        return job

    def _ids(self, project: str | None, *, open_only: bool) -> tuple[str, ...]:
        queued = [j for j in self._queue.queued() if project in {None, lane_of(j).project}]
        projects = (
            {*self._projects(), *(lane_of(j).project for j in queued)} if project is None else {project}
        )
        closed = {job_id for key in projects for job_id in self._queue.closed(key, durable=True)}
        return tuple(sorted(set(queued) - closed if open_only else closed.union(queued)))

    def _row(self, job_id: str, made: _Grouped, names: dict[str, dict[str, str]]) -> JobRow:
        """One row; a record that cannot be read stops its own job and keeps no other off the list."""
        lane = lane_of(job_id)
        if lane.project not in names:
            names[lane.project] = {b.branch_id: b.name for b in self._memory.branches(lane.project)}
        facts = self._facts(job_id, made)
        state, reason, until_ms = self._state(facts)
        job = facts.job or (facts.decision.job if facts.decision is not None else None)
        if job is None and facts.outcome is not None:
            job = self._known(job_id)
        turns = len(job.evidence.turns) if job is not None else None
        if facts.outcome is not None:
            turns = len(facts.outcome.turns)
        return JobRow(
            job_id=job_id,
            short=_short(job_id),
            state=state,
            reason=reason,
            project=lane.project,
            branch=names[lane.project].get(lane.branch_id, lane.branch_id),
            generation=job.generation if job is not None else None,
            turns=turns,
            settled_ms=int(job_id[:12], 16),
            attempts=len(made.of_job(job_id)),
            until_ms=until_ms,
        )

    def _facts(self, job_id: str, made: _Grouped | Attempts) -> JobFacts:
        return read_facts(job_id, queue=self._queue, attempts=made, memory=self._memory, claims=self._claims)

    def _verdict(self, facts: JobFacts) -> object:
        return next_step(facts, me="", now_ms=self._clock.now_ms(), policy=self._policy)

    def _state(self, facts: JobFacts) -> tuple[JobState, str, int]:
        if facts.outcome is not None:
            reason = facts.outcome.reason if isinstance(facts.outcome, Outcome) else "expired"
            return facts.outcome.state, reason, 0
        if any(attempt.open for attempt in facts.attempts) and facts.decision is None:
            return "in flight", "", 0
        match self._verdict(facts):
            case Stopped(paths):
                return "stopped", "; ".join(paths), 0
            case Wait(until_ms, reason, _):
                return "waiting", reason, until_ms
            case Admit() | Close() | Continue() | Announce() | Decide():
                return "applying", "", 0
            case Rest():
                return "stopped", "its job file is gone", 0
            case _:
                return "queued", "", 0

    def _job(self, job_id: str) -> Job | None:
        """The job; None when it expired or is damaged."""
        try:
            return self._queue.job(job_id)
        except StorageError:
            return None

    def _known(self, job_id: str) -> Job | None:
        job = self._job(job_id)
        if job is not None:
            return job
        try:
            decision = self._queue.decision(job_id)
        except StorageError:
            return None
        return decision.job if decision is not None else None


class _Grouped:
    """The attempts of all jobs, read once."""

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._groups: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            self._groups.setdefault(attempt.attempt_id[9:-5], []).append(attempt)

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """The job's attempts, oldest first."""
        found = self._groups.get(job_id[-IDENTITY_DIGITS:], [])
        return tuple(sorted(found, key=lambda attempt: attempt.attempt_id[-4:]))


def _expired(job_id: str) -> Refused:
    return Refused(
        f"the evidence of job {_short(job_id)} has expired.",
        advice="Its turns stay covered; perdure remember stores what matters by hand.",
    )


def _short(job_id: str) -> str:
    return job_id[-IDENTITY_DIGITS:][:SHORT_DIGITS]
