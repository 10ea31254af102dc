"""The rules of verify about admission: from an intent to the event, each record follows from earlier ones."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.core.admission import (
    Intent,
    IntentTombstone,
    Outcome,
    OutcomeTombstone,
    Receipt,
    Revision,
    completion,
    event,
    outcome,
    receipt,
    review_transaction,
)
from perdure.core.decision import Decision
from perdure.core.job import lane_of
from perdure.core.record import record_digest
from perdure.ports.inspect import Snapshot
from perdure.service.violation import Violation, place, unread_at


def intents(snapshot: Snapshot) -> Iterator[Violation]:
    """An intent is bound to its decision and to itself (D-11), and an observe job never has one."""
    for scope in snapshot.scopes.values():
        for name, intent in scope.intents.items():
            path = f"{place(scope.scope)}/admissions/{name}"
            if intent.job_id is not None:
                yield from _reviewed(path, intent, intent.job_id, snapshot.decisions.get(intent.job_id))
            if isinstance(intent, Intent):
                yield from _frozen(path, intent)


def _reviewed(
    path: str, intent: Intent | IntentTombstone, job_id: str, decision: Decision | None
) -> Iterator[Violation]:
    if intent.transaction != review_transaction(job_id):
        yield Violation("V-05", "transaction", path, "another job's transaction", "the job's own")
    if decision is None:
        return
    if intent.decision_digest != record_digest(decision):
        yield Violation("V-05", "decision-digest", path, "another decision", "the decision that stands")
    if decision.kind != "elected" or decision.job.mode != "admit":
        yield Violation(
            "V-05", "not-admissible", path, f"{decision.kind}, {decision.job.mode}", "elected, admit"
        )


def _frozen(path: str, intent: Intent) -> Iterator[Violation]:
    branch, revision = intent.branch, intent.revision
    if (branch is None) != (revision is None) or (branch is None) != (intent.result_digest is None):
        yield Violation("V-05", "parts", path, "a branch without a revision, or the reverse", "both or none")
        return
    if branch is None or revision is None:
        return
    told = (
        revision.branch_id,
        revision.seq,
        revision.transaction,
        revision.base_digest,
        revision.result_digest,
    )
    meant = (intent.branch_id, branch.seq, intent.transaction, intent.base_digest, intent.result_digest)
    if told != meant or branch.branch_id != intent.branch_id or branch.digest != intent.result_digest:
        yield Violation("V-05", "binding", path, "branch, revision and digests disagree", "one change")


def completions(snapshot: Snapshot) -> Iterator[Violation]:
    """A completion names its intent by digest."""
    for scope in snapshot.scopes.values():
        for name, done in scope.completions.items():
            intent = scope.intents.get(name)
            if intent is not None and done.intent_digest != _intent_digest(intent):
                path = f"{place(scope.scope)}/admissions/{name}.done"
                yield Violation("V-06", "intent-digest", path, "another intent", "the intent that stands")


def _intent_digest(intent: Intent | IntentTombstone) -> str:
    return record_digest(intent) if isinstance(intent, Intent) else intent.intent_digest


def receipts(snapshot: Snapshot) -> Iterator[Violation]:
    """A receipt follows from intent and completion; it is never there without them, while they are kept."""
    for scope in snapshot.scopes.values():
        for name, ended in scope.receipts.items():
            path = f"{place(scope.scope)}/receipts/{name}"
            intent, done = scope.intents.get(name), scope.completions.get(name)
            expired = isinstance(scope.outcomes.get(name), OutcomeTombstone)
            if intent is None:
                if not expired and not unread_at(snapshot, f"{place(scope.scope)}/admissions/{name}"):
                    yield Violation("V-07", "order", path, "a receipt without its intent", "intent first")
            elif isinstance(intent, IntentTombstone):
                if (ended.intent_digest, ended.decision_digest) != (
                    intent.intent_digest,
                    intent.decision_digest,
                ):
                    yield Violation(
                        "V-07", "derived", path, "other digests", "those of the intent's tombstone"
                    )
            elif done is None:
                yield Violation("V-07", "order", path, "a receipt without completion", "completion first")
            elif done.intent_digest == record_digest(intent) and ended != receipt(intent, done):
                yield Violation("V-07", "derived", path, "another content", "what intent and completion give")


def outcomes(snapshot: Snapshot) -> Iterator[Violation]:
    """An outcome follows from its decision, and its receipt where one was elected (D-12)."""
    for scope in snapshot.scopes.values():
        for name, ended in scope.outcomes.items():
            path = f"{place(scope.scope)}/outcomes/{name}"
            decision = snapshot.decisions.get(name)
            if isinstance(ended, OutcomeTombstone):
                continue  # a sleeper may decide beside it, and die (rule 4); retention takes that away
            if decision is None:
                if not unread_at(snapshot, f"spool/decisions/{name}"):
                    yield Violation(
                        "V-08", "order", path, "an outcome without its decision", "decision first"
                    )
                continue
            yield from _closed(path, ended, decision, scope.receipts.get(name))


def _closed(path: str, ended: Outcome, decision: Decision, receipted: Receipt | None) -> Iterator[Violation]:
    admits = decision.kind == "elected" and decision.job.mode == "admit"
    if admits and receipted is None:
        yield Violation("V-08", "order", path, "an admission's outcome without its receipt", "receipt first")
    elif ended != outcome(decision, receipted if admits else None):
        yield Violation("V-08", "derived", path, "another content", "what decision and receipt give")


def events(snapshot: Snapshot) -> Iterator[Violation]:
    """An event follows from an outcome and its revision; it is never there without an outcome (F-01)."""
    for scope in snapshot.scopes.values():
        for name, told in scope.events.items():
            path = f"{place(scope.scope)}/mailbox/{name}"
            ended = scope.outcomes.get(name)
            if ended is None:
                yield Violation("V-09", "order", path, "an event without an outcome", "outcome first")
            if not isinstance(ended, Outcome):
                continue
            ended_by = scope.receipts.get(name)
            seq = ended_by.revision_seq if ended_by is not None else None
            revision = scope.revisions.get(lane_of(name).branch_id, {}).get(seq) if seq is not None else None
            told_well = isinstance(revision, Revision) or seq is None
            if told_well and told != event(ended, revision if isinstance(revision, Revision) else None):
                yield Violation("V-09", "derived", path, "another content", "what outcome and revision give")


def premature(snapshot: Snapshot) -> Iterator[Violation]:
    """A completion that is no conflict stands only after its revision (D-06)."""
    for scope in snapshot.scopes.values():
        for name, intent in scope.intents.items():
            done = scope.completions.get(name)
            if not isinstance(intent, Intent) or done is None or done.conflict or intent.revision is None:
                continue
            revisions = scope.revisions.get(intent.branch_id, {})
            path = f"{place(scope.scope)}/admissions/{name}.done"
            if intent.revision.seq not in revisions:
                yield Violation("V-16", "order", path, "a completion without its revision", "revision first")
            elif done != completion(intent):
                yield Violation("V-16", "derived", path, "another content", "what the intent gives")
