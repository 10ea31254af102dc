"""The steps of a review that only publish: whoever takes them writes the same bytes."""

from __future__ import annotations

from collections.abc import Callable

from perdure.core.admission import Intent, Outcome, OutcomeTombstone, Revision, event
from perdure.core.attempt import Attempt, Fate
from perdure.core.decision import Decision
from perdure.core.job import Job, Lane, lane_of
from perdure.core.judge import judge
from perdure.core.memory import Branch
from perdure.core.protocol import (
    Admit,
    Announce,
    Cancel,
    Close,
    Continue,
    Decide,
    JobFacts,
    Lose,
    Policy,
    next_step,
)
from perdure.core.record import record_digest
from perdure.errors import Conflict, Damaged, Removed
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock
from perdure.ports.memory import HeldMemory, Memory
from perdure.ports.queue import Accepted, Queue
from perdure.service.facts import present, read_facts
from perdure.service.transact import locked, roll_forward

Log = Callable[[str, str, str], None]
"""(event, job or attempt id, detail): ids, outcomes and sizes only (E-06)."""

Publishing = Announce | Close | Continue | Admit | Decide | Cancel | Lose


class Publisher:
    """Publishes what a verdict asks for."""

    def __init__(
        self,
        *,
        queue: Queue,
        attempts: Attempts,
        memory: Memory,
        clock: Clock,
        log: Log = lambda *_: None,
    ) -> None:
        self._queue, self._attempts, self._memory = queue, attempts, memory
        self._clock, self._log = clock, log

    def publish(self, facts: JobFacts, verdict: Publishing) -> None:
        """Take the one step."""
        match verdict:
            case Announce():
                announce(verdict.outcome, queue=self._queue, memory=self._memory)
            case Close():
                self._close(verdict.outcome)
            case Continue():
                if self.accept(facts.job_id, verdict.job) is not None:
                    self._log("continued", facts.job_id, f"as generation {verdict.job.generation}")
            case Admit():
                self._admit(verdict.decision)
            case Decide():
                if facts.job is not None:
                    self.decide(facts.job, verdict, facts.attempts)
            case Cancel():
                self.cancel(verdict.attempt_id, verdict.reason, "")
            case Lose():
                self._attempts.lose(verdict.attempt_id)
                self._log("unknown", verdict.attempt_id, "")

    def accept(self, predecessor: str, following: Job) -> Accepted | None:
        """Publish the next generation; None when its predecessor was compacted meanwhile (rules 4 and 13).

        Jobs are compacted under the project's lock: a purge either finds this job or has gone before it.
        """
        with locked(self._memory, following.project):
            if isinstance(self._queue.outcome(predecessor), OutcomeTombstone):
                return None
            return self._queue.accept(following)

    def decide(self, job: Job, verdict: Decide, attempts: tuple[Attempt, ...]) -> Decision:
        """Elect an end; the decision that stands is returned, whoever made it."""
        decision = make_decision(job, verdict, attempts, now_ms=self._clock.now_ms())
        standing = self._queue.decide(decision)
        self._log("decided", job.job_id, f"{standing.kind} {standing.reason}".strip())
        return standing

    def cancel(self, attempt: str, reason: str, worker: str) -> None:
        """Elect that an attempt is not sent."""
        self._attempts.decide_fate(Fate(attempt_id=attempt, fate="cancelled", worker=worker, reason=reason))
        self._log("cancelled", attempt, reason)

    def cancel_unsent(self, attempts: tuple[Attempt, ...], reason: str) -> None:
        """Free what a closed job reserved and did not send, unless its owner dispatches first."""
        for attempt in attempts:
            if attempt.state == "reserved":
                self.cancel(attempt.attempt_id, reason, "")

    def finish(self, job_id: str, claims: Claims) -> Outcome | OutcomeTombstone | None:
        """Take a decided job to its end; no claim is needed, since every step is elected or derived.

        Returns the outcome, or None when the job is not decided or a damaged record stops it.
        """
        while True:
            facts = read_facts(
                job_id, queue=self._queue, attempts=self._attempts, memory=self._memory, claims=claims
            )
            verdict = next_step(facts, me="", now_ms=self._clock.now_ms(), policy=Policy())
            if not isinstance(verdict, Announce | Close | Continue | Admit):
                return facts.outcome
            self.publish(facts, verdict)

    def _close(self, ended: Outcome) -> None:
        """An admission that was cut off after its receipt is compacted first, since it holds text (D-07)."""
        if ended.receipt_digest is not None:
            with locked(self._memory, lane_of(ended.job_id).project) as held:
                roll_forward(held, ended.job_id)
        self._queue.close(ended)
        self._log("closed", ended.job_id, f"{ended.state} {ended.reason}".strip())

    def _admit(self, decision: Decision) -> None:
        lane = lane_of(decision.job_id)
        with locked(self._memory, lane.project) as held:
            if self._queue.outcome(decision.job_id) is not None:
                return
            begun = held.transaction(decision.job_id)
            if begun is None:
                now_ms = self._clock.now_ms()
                intent = judge(decision, _to_judge(held, lane), forgotten=held.buried, now_ms=now_ms)
                held.begin(intent)
                self._log("admitting", decision.job_id, intent.verdict)
            elif isinstance(begun.intent, Intent) and begun.intent.decision_digest != record_digest(decision):
                msg = f"{decision.job_id}: an intent for another decision stands there."
                raise Conflict(msg, advice="Run perdure verify.")
            roll_forward(held, decision.job_id)
        if self._memory.receipt(lane.project, decision.job_id) is None:
            path = f"receipt of {decision.job_id}"
            raise Damaged(path, "it is gone though its intent was compacted", advice="Run perdure verify.")


def _to_judge(held: HeldMemory, lane: Lane) -> Branch | None:
    """The branch that a proposal is for; None when it was removed since."""
    try:
        return present(held.branch(lane.branch_id), lane.project, lane.branch_id)
    except Removed:
        return None


def make_decision(job: Job, verdict: Decide, attempts: tuple[Attempt, ...], *, now_ms: int) -> Decision:
    """The decision that a verdict asks for; embeds job and proposal (D-02)."""
    winner = verdict.winner
    result = winner.result if winner is not None else None
    return Decision(
        job_id=job.job_id,
        kind=verdict.kind,
        reason=verdict.reason,
        job=job,
        attempt_id=result.attempt_id if result is not None else None,
        result_digest=record_digest(result) if result is not None else None,
        base_digest=winner.reserved.base_digest
        if winner is not None and winner.reserved is not None
        else None,
        proposal=result.proposal if result is not None else None,
        attempts=len(attempts),
        decided_ms=now_ms,
    )


def announce(ended: Outcome, *, queue: Queue, memory: Memory) -> None:
    """Tell an end in the mailbox, with the revision that came of it."""
    lane = lane_of(ended.job_id)
    receipt = memory.receipt(lane.project, ended.job_id)
    revision = None
    if receipt is not None and receipt.revision_seq is not None:
        found = memory.revision(lane.project, lane.branch_id, receipt.revision_seq)
        revision = found if isinstance(found, Revision) else None
    queue.announce(event(ended, revision))
