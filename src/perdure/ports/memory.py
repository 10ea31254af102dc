"""Canonical memory of one scope, read freely and changed under its lock."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from perdure.core.admission import Completion, Intent, IntentTombstone, Receipt, Revision, RevisionTombstone
from perdure.core.memory import Branch
from perdure.core.transaction import TransactionFacts
from perdure.ports.structural import HeldMoves, HeldShape


class BranchName(msgspec.Struct, frozen=True):
    """One branch as a list shows it. `problem` says why it cannot be read: its id stands for its name then,
    since only its file knows that; main keeps its name.
    """

    branch_id: str
    name: str
    parent: str | None
    entries: int
    seq: int
    problem: str = ""


class Tombstone(msgspec.Struct, frozen=True):
    """What must not come back: keyed digests only (M-12). `settled_ms_max` bounds a key's tombstone: evidence
    that settled later may use the key again.
    """

    what: Literal["text", "key", "entry"]
    value: str  # the text, the normalised key or the entry id; only its keyed digest is stored
    forgotten_ms: int


class HeldMemory(Protocol):
    """One project's memory while its lock is held."""

    @property
    def shape(self) -> HeldShape:
        """Names and removals of branches."""
        ...

    @property
    def moves(self) -> HeldMoves:
        """Moves out of this scope, and what became of those into it."""
        ...

    def branch(self, branch_id: str) -> Branch | None:
        """The current branch; main exists implicitly. Raises Removed when its tombstone stands."""
        ...

    def begun(self) -> list[str]:
        """Transactions that are not finished."""
        ...

    def transaction(self, transaction: str) -> TransactionFacts | None:
        """What exists of a transaction. Raises Conflict when another one's revision stands at its number."""
        ...

    def begin(self, intent: Intent) -> Intent | IntentTombstone:
        """Elect the intent: the first one stands and is returned.

        Raises Damaged when another one's revision stands at its number: the branch is older than its
        history, and its sequence numbers would recur.
        """
        ...

    def put_branch(self, branch: Branch) -> None:
        """Replace the branch durably."""
        ...

    def put_revision(self, revision: Revision) -> None:
        """Publish the revision at its branch and sequence number."""
        ...

    def complete(self, completion: Completion) -> None:
        """Publish the completion."""
        ...

    def put_receipt(self, receipt: Receipt) -> None:
        """Publish the receipt."""
        ...

    def compact(self, intent: Intent) -> None:
        """Replace a finished review's intent by its tombstone, or remove a foreground one."""
        ...

    def discard(self, transaction: str) -> None:
        """Take away an intent that cannot be read and has nothing left to do, with its completion."""
        ...

    def withdraw(self, transaction: str) -> None:
        """Take away a completion that cannot be read, so that it is derived again."""
        ...

    def bury(self, tombstones: tuple[Tombstone, ...]) -> None:
        """Publish tombstones, durable before the branch changes (rule 13)."""
        ...

    def forgotten_ms(self, text: str) -> int | None:
        """When that text was last forgotten, in UTC milliseconds."""
        ...

    def buried(self, text: str | None, key: str | None, settled_ms: int) -> bool:
        """Whether a tombstone forbids that evidence of that time brings the text or key back."""
        ...


class Memory(Protocol):
    """The memory of every scope: a project key, or "user"."""

    def hold(self, scope: str) -> AbstractContextManager[HeldMemory]:
        """Take the scope's lock. Raises LockTimeout naming the holder."""
        ...

    def branch(self, scope: str, branch_id: str) -> Branch | None:
        """The branch as it is on disk now; main exists implicitly. Raises Removed for a tombstone."""
        ...

    def branches(self, scope: str) -> tuple[BranchName, ...]:
        """All branches, main first; one that cannot be read is listed with its problem."""
        ...

    def revision(self, scope: str, branch_id: str, seq: int) -> Revision | RevisionTombstone | None:
        """One revision, or its tombstone when its text was purged."""
        ...

    def revisions(self, scope: str, branch_id: str) -> tuple[int, ...]:
        """The sequence numbers that have a revision, ascending."""
        ...

    def moves(self, scope: str) -> tuple[str, ...]:
        """The ids of moves out of a scope that have begun and not ended."""
        ...

    def receipt(self, scope: str, job_id: str) -> Receipt | None:
        """The receipt of a review."""
        ...

    def receipts(self, scope: str) -> tuple[str, ...]:
        """The job ids that have a receipt, oldest first."""
        ...

    def selected(self, scope: str) -> str | None:
        """The branch name that was chosen for use, None for main."""
        ...

    def select(self, scope: str, name: str) -> None:
        """Choose a branch for use."""
        ...
