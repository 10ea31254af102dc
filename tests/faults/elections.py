"""Faults in what is elected and what is derived: fate, decision, receipt, outcome, successor, event."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem import memory as file_memory
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.claims import FileClaims
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.core import admission, protocol, transaction
from perdure.core.admission import Completion, Intent, Outcome, OutcomeTombstone, Reason, Receipt
from perdure.core.attempt import Fate
from perdure.core.claim import Claim
from perdure.core.decision import Decision
from perdure.core.job import Job
from perdure.core.protocol import Admit, Announce, Close, JobFacts, Verdict
from perdure.service.curate import Curator
from perdure.service.publish import Publisher
from perdure.service.work import Worker
from tests.faults import reviews
from tests.faults.instruments import Check, Crash
from tests.faults.row import Fault, Patch


def _decide_by_overwrite(patch: pytest.MonkeyPatch) -> None:
    def decide(self: FileQueue, decision: Decision) -> Decision:
        self._records.replace(layout.decision(decision.job_id), decision)
        return decision

    patch.setattr(FileQueue, "decide", decide)


def _claim_by_overwrite(patch: pytest.MonkeyPatch) -> None:
    real = Records.elect

    def elect(self: Records, path: str, record: Any, *rest: Any, **more: Any) -> Any:
        if not isinstance(record, Claim):
            return real(self, path, record, *rest, **more)
        self.replace(path, record)
        return record, True

    patch.setattr(Records, "elect", elect)


def cancel_dispatched(patch: pytest.MonkeyPatch) -> None:
    """Replace the `dispatched` of a lost call by `cancelled`."""

    def lose(self: FileAttempts, attempt_id: str) -> None:
        cancelled = Fate(attempt_id=attempt_id, fate="cancelled", worker="", reason="owner gone")
        self._records.replace(layout.attempt(attempt_id, "fate"), cancelled)
        known = self._known.get(attempt_id)
        if known is not None:
            self._known[attempt_id] = msgspec.structs.replace(known, fate=cancelled)

    patch.setattr(FileAttempts, "lose", lose)


def everybody_sends(patch: pytest.MonkeyPatch) -> None:
    """Send whoever decided the fate."""
    real = FileAttempts.decide_fate

    def decide_fate(self: FileAttempts, fate: Fate) -> bool:
        real(self, fate)
        return True

    patch.setattr(FileAttempts, "decide_fate", decide_fate)


def _clock_in_receipt(patch: pytest.MonkeyPatch) -> None:
    real, ticks = admission.receipt, itertools.count()

    def receipt(intent: Intent, done: Completion) -> Receipt:
        return msgspec.structs.replace(real(intent, done), ended_ms=next(ticks))

    patch.setattr(transaction, "receipt", receipt)


def _worker_in_receipt(patch: pytest.MonkeyPatch) -> None:
    real, workers = admission.receipt, itertools.count()

    def receipt(intent: Intent, done: Completion) -> Receipt:
        made = real(intent, done)
        by = Reason(0, "worker", f"by worker {next(workers)}")
        return msgspec.structs.replace(made, reasons=(*made.reasons, by))

    patch.setattr(transaction, "receipt", receipt)


def _observed_admitted(patch: pytest.MonkeyPatch) -> None:
    real = protocol._after_decision

    def after(facts: JobFacts, decision: Decision) -> Verdict:
        return Admit(decision) if decision.kind == "elected" else real(facts, decision)

    patch.setattr(protocol, "_after_decision", after)


def _outcome_before_receipt(patch: pytest.MonkeyPatch) -> None:
    real = file_memory._Held.put_receipt

    def put_receipt(self: Any, receipt: Receipt) -> None:
        decision = Records.read(self._records, layout.decision(receipt.job_id), Decision)
        if decision is not None:
            FileQueue(self._records).close(admission.outcome(decision, receipt))
        real(self, receipt)

    patch.setattr(file_memory._Held, "put_receipt", put_receipt)


def _outcome_before_successor(patch: pytest.MonkeyPatch) -> None:
    def after(_facts: JobFacts, decision: Decision, ended: Receipt) -> Verdict:
        return Close(admission.outcome(decision, ended))

    patch.setattr(protocol, "_after_receipt", after)


def _successor_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = protocol._after_decision

    def after(facts: JobFacts, decision: Decision) -> Verdict:
        if decision.kind == "superseded":
            return Close(admission.outcome(decision, None))
        return real(facts, decision)

    patch.setattr(protocol, "_after_decision", after)


def _successor_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """The next generation is made anew, at the time of whoever publishes it."""
    real, ticks = admission.stale_successor, itertools.count(1)

    def following(job: Job) -> Job | None:
        found = real(job)
        return None if found is None else msgspec.structs.replace(found, accepted_ms=next(ticks))

    patch.setattr(protocol, "stale_successor", following)


def _stale_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileClaims, "holds", lambda *_: True)


def _newest_first(patch: pytest.MonkeyPatch) -> None:
    real = Worker._list

    def listed(self: Worker) -> None:
        real(self)
        for jobs in self._lanes.values():
            jobs.reverse()

    patch.setattr(Worker, "_list", listed)


def _waits_for_no_quiet(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "STALE_ENDS_MAX", 99)


def _repairs_compacted(patch: pytest.MonkeyPatch) -> None:
    """The event of a tombstone is made once more; nothing takes it away again."""
    real = protocol._after_outcome
    told: set[str] = set()

    def after(facts: JobFacts, ended: Outcome | OutcomeTombstone) -> Verdict:
        if isinstance(ended, Outcome) or facts.job_id in told:
            return real(facts, ended)
        told.add(facts.job_id)
        return Announce(_revived(ended))

    patch.setattr(protocol, "_after_outcome", after)
    patch.setattr(FileQueue, "_withdraw", lambda *_: None)


def _revived(stone: OutcomeTombstone) -> Outcome:
    return Outcome(
        job_id=stone.job_id,
        state=stone.state,
        reason="",
        evidence_digest=stone.evidence_digest,
        turns=stone.turns,
        decision_digest=stone.decision_digest,
        receipt_digest=None,
        successor=None,
        attempts=0,
        ended_ms=0,
    )


def _last_look(field: str) -> Patch:
    """The last look before a call is paid for does not see what has come meanwhile."""

    def make(patch: pytest.MonkeyPatch) -> None:
        real = Curator._dispatch

        def dispatch(self: Curator, *rest: Any) -> Any:
            with pytest.MonkeyPatch.context() as inside:
                inside.setattr(self._queue, field, lambda _job_id: None)
                return real(self, *rest)

        patch.setattr(Curator, "_dispatch", dispatch)

    return make


def _no_look_under_the_lock(patch: pytest.MonkeyPatch) -> None:
    real = Publisher._admit

    def admit(self: Publisher, decision: Decision) -> None:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(self._queue, "outcome", lambda _job_id: None)
            real(self, decision)

    patch.setattr(Publisher, "_admit", admit)


def _late_records_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileQueue, "_withdraw", lambda *_: None)


ROWS = (
    Fault(
        "decide-by-overwrite",
        "1",
        "the last decision stands, not the first",
        _decide_by_overwrite,
        Crash("overtaken"),
        "D-12",
    ),
    Fault(
        "claim-by-overwrite",
        "1",
        "of two workers that claim a lane at once, both hold it",
        _claim_by_overwrite,
        Check(reviews.two_claims_at_once),
        "Q-03 a lane has one holder",
    ),
    Fault(
        "cancel-a-dispatched-attempt",
        "1",
        "the dispatched record of a lost call is replaced by a cancelled one",
        cancel_dispatched,
        Crash("unknown", survivors=2),
        "A-03",
    ),
    Fault(
        "send-whoever-decided-the-fate",
        "1",
        "who finds the fate decided sends all the same",
        everybody_sends,
        Check(reviews.taken_over_before_the_call),
        "A-03 what was sent is not cancelled",
    ),
    Fault(
        "put-a-clock-into-a-receipt",
        "2",
        "a receipt holds the time at which it was written",
        _clock_in_receipt,
        Crash("review", survivors=2),
        "X-03",
    ),
    Fault(
        "put-a-worker-into-a-receipt",
        "2",
        "a receipt holds who wrote it",
        _worker_in_receipt,
        Crash("review", survivors=2, book=True),
        "V-07",
    ),
    Fault(
        "admit-what-was-only-observed",
        "9",
        "a job that was born to be observed gets an intent once reviews are admitted",
        _observed_admitted,
        Crash("observe"),
        "S-01",
    ),
    Fault(
        "outcome-before-the-receipt",
        "order",
        "the outcome of an admission is published before its receipt",
        _outcome_before_receipt,
        Crash("review", survivors=2, book=True),
        "V-08",
    ),
    Fault(
        "outcome-before-the-successor",
        "10",
        "a stale end is published without the next generation that it names",
        _outcome_before_successor,
        Crash("stale", survivors=2),
        "Q-11",
    ),
    Fault(
        "a-successor-that-is-not-derived",
        "10",
        "the next generation is not the one that its decision embeds",
        _successor_of_its_own,
        Crash("stale", survivors=2, book=True),
        "V-11",
    ),
    Fault(
        "superseded-without-a-successor",
        "10",
        "a job that the user retries ends, and nothing follows",
        _successor_forgotten,
        Check(reviews.superseded),
        "V-11",
    ),
    Fault(
        "accept-the-outcome-of-a-stale-claim",
        "11",
        "a worker whose lane was taken over goes on as if it held it",
        _stale_claim,
        Check(reviews.fenced_before_the_call),
        "Q-03 a worker without its lane sends nothing",
    ),
    Fault(
        "newest-job-first",
        "11",
        "a lane's youngest job is reviewed first",
        _newest_first,
        Check(reviews.two_jobs_of_a_lane),
        "Q-10 the oldest job of a lane comes first",
    ),
    Fault(
        "no-wait-for-a-quiet-branch",
        "11",
        "after two stale ends the next review starts while the branch still changes",
        _waits_for_no_quiet,
        Check(reviews.branch_that_keeps_changing),
        "Q-11 after two stale ends a review waits",
    ),
    Fault(
        "announce-what-was-compacted",
        "17",
        "repair of the mailbox looks at outcomes that are compacted",
        _repairs_compacted,
        Check(reviews.late_look_at_an_expired_job),
        "F-01 an event that expired is not made again",
    ),
    Fault(
        "no-look-at-the-decision-before-sending",
        "4",
        "a call is paid for though the job was decided since the facts were read",
        _last_look("decision"),
        Check(reviews.decided_before_the_call),
        "Q-11 no call for a job that was decided",
    ),
    Fault(
        "no-look-at-the-outcome-under-the-lock",
        "4",
        "an admission begins though the job was closed and compacted since its facts were read",
        _no_look_under_the_lock,
        Check(reviews.compacted_before_the_lock),
        "D-12 a closed job gets no other intent",
    ),
    Fault(
        "leave-what-came-after-the-tombstone",
        "4",
        "a record that a late writer publishes beside a tombstone stays",
        _late_records_stay,
        Check(reviews.late_look_at_an_expired_outcome),
        "E-05 nothing of an expired job comes back",
    ),
)
