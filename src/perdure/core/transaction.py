"""The transaction of one change of memory, rolled forward by whoever takes the project's lock (D-06).

intent -> branch -> revision -> completion -> receipt -> the intent becomes a tombstone. Never back.
"""

from __future__ import annotations

import msgspec

from perdure.core.admission import (
    Completion,
    Intent,
    IntentTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
    completion,
    receipt,
)
from perdure.core.memory import Branch


class TransactionFacts(msgspec.Struct, frozen=True):
    """What exists of one transaction. `branch_digest` is the current branch's, None when there is none."""

    intent: Intent | IntentTombstone
    branch_digest: str | None
    revision_present: bool
    completion: Completion | None
    receipt: Receipt | None


def own_revision(intent: Intent, standing: Revision | RevisionTombstone) -> bool:
    """Whether the revision at the intent's sequence number is the intent's own, perhaps purged since."""
    return (standing.transaction, standing.result_digest) == (intent.transaction, intent.result_digest)


class PutBranch(msgspec.Struct, frozen=True):
    """Replace the branch by the intent's frozen one."""

    branch: Branch


class PutRevision(msgspec.Struct, frozen=True):
    """Publish the intent's revision."""

    intent: Intent


class Complete(msgspec.Struct, frozen=True):
    """Publish the completion."""

    completion: Completion


class PutReceipt(msgspec.Struct, frozen=True):
    """Publish the receipt."""

    receipt: Receipt


class Compact(msgspec.Struct, frozen=True):
    """Replace a review's intent by its tombstone, or remove a foreground one."""

    intent: Intent


class Finished(msgspec.Struct, frozen=True):
    """Nothing is left to do."""


Step = PutBranch | PutRevision | Complete | PutReceipt | Compact | Finished


def next_transaction_step(facts: TransactionFacts) -> Step:
    """The one next step of a begun transaction. Pure and total."""
    intent = facts.intent
    if isinstance(intent, IntentTombstone):
        return Finished()
    if facts.completion is None:
        return _toward_completion(facts, intent)
    if intent.job_id is not None and facts.receipt is None:
        return PutReceipt(receipt(intent, facts.completion))
    return Compact(intent)


def _toward_completion(facts: TransactionFacts, intent: Intent) -> Step:
    """A branch that is neither base nor result ends the transaction as a conflict (rule 5)."""
    if intent.branch is None or intent.revision is None:
        return Complete(completion(intent))
    if facts.branch_digest == intent.base_digest:
        return PutBranch(intent.branch)
    if facts.branch_digest != intent.result_digest:
        return Complete(completion(intent, conflict=True))
    if not facts.revision_present:
        return PutRevision(intent)
    return Complete(completion(intent))
