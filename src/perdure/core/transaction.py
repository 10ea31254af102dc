"""The transaction of one change of memory, rolled forward by whoever takes the project's lock (D-06).

intent -> branch -> revision -> completion -> receipt -> the intent becomes a tombstone. Never back.
A removal puts the branch's tombstone in its place and takes its history away; a move publishes its arrival
after the revision (rules 15 and 16).
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
from perdure.core.move import Arrival
from perdure.core.structural import BranchTombstone, Intent2, Renamed, renamed_by


class TransactionFacts(msgspec.Struct, frozen=True):
    """What exists of one transaction. `branch_digest` is the current branch's, None when there is none.

    `removed`: the branch's tombstone stands; `history`: revisions of it are left; `arrived`: the intent's
    arrival stands.
    """

    intent: Intent | IntentTombstone
    branch_digest: str | None
    revision_present: bool
    completion: Completion | None
    receipt: Receipt | None
    removed: bool = False
    history: bool = False
    arrived: bool = False


def own_revision(intent: Intent, standing: Revision | RevisionTombstone) -> bool:
    """Whether the revision at the intent's sequence number is the intent's own, perhaps purged since."""
    return (standing.transaction, standing.result_digest) == (intent.transaction, intent.result_digest)


class PutBranch(msgspec.Struct, frozen=True):
    """Replace the branch by the intent's frozen one."""

    branch: Branch


class PutRenamed(msgspec.Struct, frozen=True):
    """The same for a branch under another name; a choice of the old name has to lead to it still."""

    branch: Branch
    renamed: Renamed


class Entomb(msgspec.Struct, frozen=True):
    """Put the tombstone in the branch's place; where the branch was in use, main is."""

    tombstone: BranchTombstone


class RemoveHistory(msgspec.Struct, frozen=True):
    """Take the revisions of a removed branch away."""

    branch_id: str


class PutArrival(msgspec.Struct, frozen=True):
    """Publish what became of a move at its target."""

    arrival: Arrival


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


Step = (
    PutBranch
    | PutRenamed
    | Entomb
    | RemoveHistory
    | PutRevision
    | PutArrival
    | Complete
    | PutReceipt
    | Compact
    | Finished
)


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
    if isinstance(intent, Intent2) and intent.tombstone is not None:
        return _toward_removal(facts, intent, intent.tombstone)
    if intent.branch is None or intent.revision is None:
        return Complete(completion(intent))
    if facts.removed:
        return Complete(completion(intent, conflict=True))
    if facts.branch_digest == intent.base_digest:
        renamed = renamed_by(intent)
        return PutBranch(intent.branch) if renamed is None else PutRenamed(intent.branch, renamed)
    if facts.branch_digest != intent.result_digest:
        return Complete(completion(intent, conflict=True))
    if not facts.revision_present:
        return PutRevision(intent)
    if isinstance(intent, Intent2) and intent.arrival is not None and not facts.arrived:
        return PutArrival(intent.arrival)
    return Complete(completion(intent))


def _toward_removal(facts: TransactionFacts, intent: Intent2, tombstone: BranchTombstone) -> Step:
    """The tombstone first, durably; then the history, in any order (rule 15)."""
    if facts.removed:
        return RemoveHistory(intent.branch_id) if facts.history else Complete(completion(intent))
    if facts.branch_digest == intent.base_digest:
        return Entomb(tombstone)
    return Complete(completion(intent, conflict=True))
