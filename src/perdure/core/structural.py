"""What changes a branch beyond its entries' texts: renames, removals and moves (rules 15 and 16).

Version 1 of intent and revision knows none of these. Such a change is written in version 2, which an older
program holds untouched, and everything else stays in version 1. `cause` keeps to the words of version 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.core.admission import Intent, Revision, RevisionTombstone
from perdure.core.memory import Branch, Planned
from perdure.core.move import Arrival, Moved
from perdure.core.record import Record


class Renamed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch's name before and after."""

    before: str
    after: str


class Revision2(Revision, frozen=True, forbid_unknown_fields=True):
    """A revision of a rename, or of one side of a move: one of the two is there."""

    VERSION = 2

    renamed: Renamed | None
    moved: Moved | None


class BranchTombstone(Record, frozen=True, forbid_unknown_fields=True):
    """Takes a removed branch's place for good: ids and digests, neither name nor text (rule 15)."""

    KIND = "branch"
    VERSION = 2

    branch_id: str
    project: str
    parent: str | None
    seq: int  # of the last revision; none follows
    last_digest: str  # of the branch as it was last
    transaction: str
    removed_ms: int


class Intent2(Intent, frozen=True, forbid_unknown_fields=True):
    """A transaction that renames, removes (then `tombstone` is there) or moves (`arrival`, at the target)."""

    VERSION = 2

    revision: Revision2 | None
    tombstone: BranchTombstone | None
    arrival: Arrival | None


def branch_tombstone(branch: Branch, *, transaction: str, removed_ms: int) -> BranchTombstone:
    """What stays of a branch."""
    return BranchTombstone(
        branch_id=branch.branch_id,
        project=branch.project,
        parent=branch.parent,
        seq=branch.seq,
        last_digest=branch.digest,
        transaction=transaction,
        removed_ms=removed_ms,
    )


def renamed_by(intent: Intent) -> Renamed | None:
    """The rename that an intent makes, if any."""
    revision = intent.revision
    return revision.renamed if isinstance(revision, Revision2) else None


def what_it_did(revision: Revision) -> str:
    """The cause in one word, as people are told it."""
    if not isinstance(revision, Revision2):
        return revision.cause
    return "rename" if revision.renamed is not None else "move"


def names(last: str, ordered: Sequence[Revision | RevisionTombstone]) -> dict[int, str | None]:
    """The branch's name after each revision, by sequence number, found backward from its name now.

    None where a purged rename hides it: only a rename leaves a tombstone that names no entry and no fork.
    """
    found: dict[int, str | None] = {}
    name: str | None = last
    for revision in reversed(ordered):
        renamed = revision.renamed if isinstance(revision, Revision2) else None
        found[revision.seq] = name if renamed is None else renamed.after
        if renamed is not None:
            name = renamed.before
        elif isinstance(revision, RevisionTombstone) and revision.cause == "edit" and not revision.entry_ids:
            name = None
    return found


def structural_intent(
    *,
    transaction: str,
    base: Branch,
    planned: Planned | None,
    now_ms: int,
    renamed: Renamed | None = None,
    moved: Moved | None = None,
    arrival: Arrival | None = None,
) -> Intent2:
    """The intent of a rename or of one side of a move; of a removal when nothing is planned."""
    after = planned.branch if planned is not None else None
    revision = tombstone = None
    if planned is None:
        tombstone = branch_tombstone(base, transaction=transaction, removed_ms=now_ms)
    else:
        revision = Revision2(
            branch_id=base.branch_id,
            seq=planned.branch.seq,
            transaction=transaction,
            cause="edit",
            job_id=None,
            undoes=None,
            base_digest=base.digest,
            result_digest=planned.branch.digest,
            changes=planned.changes,
            notes=(),
            made_ms=now_ms,
            renamed=renamed,
            moved=moved,
        )
    return Intent2(
        transaction=transaction,
        cause="edit",
        job_id=None,
        decision_digest=None,
        verdict="applied",
        reasons=(),
        assessments=(),
        branch_id=base.branch_id,
        base_digest=base.digest,
        result_digest=after.digest if after is not None else None,
        branch=after,
        revision=revision,
        successor=None,
        begun_ms=now_ms,
        tombstone=tombstone,
        arrival=arrival,
    )


def rename(branch: Branch, name: str, *, now_ms: int) -> Planned:
    """The branch under another name, one revision later."""
    after = msgspec.structs.replace(
        branch, name=name, seq=branch.seq + 1, changed_ms=max(now_ms, branch.changed_ms)
    )
    return Planned(after, ())
