"""The Memory port on files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from perdure.authority.filesystem import layout, locks
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.structural import FileMoves, FileShape, Selected
from perdure.core.admission import (
    Completion,
    Intent,
    IntentTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
    intent_tombstone,
)
from perdure.core.canonical import keyed_digest
from perdure.core.job import is_job_id
from perdure.core.memory import MAIN, Branch, empty_main, main_branch_id
from perdure.core.record import Record
from perdure.core.structural import BranchTombstone, Intent2, Revision2
from perdure.core.text import normalize_key
from perdure.core.transaction import TransactionFacts, own_revision
from perdure.errors import Conflict, Damaged, NewerVersion, NotFound, Removed, StorageError
from perdure.ports.memory import BranchName, HeldMemory, Tombstone

_TRANSACTION_DIGITS = 32
_BRANCH_DIGITS = 16
_HEX = frozenset("0123456789abcdef")
_RESTORE = "Run perdure verify; perdure verify --restore writes the branch again from its revisions."


class Buried(Record, frozen=True, forbid_unknown_fields=True):
    """A tombstone: keyed digests only. A key's tombstone binds evidence that settled before it."""

    KIND = "buried"

    what: str
    keyed: str
    forgotten_ms: int


class FileMemory:
    """See `perdure.ports.memory.Memory`. `key` is the home's HMAC key."""

    def __init__(self, records: Records, key: bytes) -> None:
        self._records, self._key = records, key
        self._clean: dict[str, bytes] = {}

    @contextlib.contextmanager
    def hold(self, scope: str) -> Iterator[HeldMemory]:
        """See `Memory.hold`.

        An unsynced hint says who held the lock last. While it is this process, and it left nothing begun,
        nothing can be begun: the transactions need not be listed, however many there were.
        """
        wait_seconds = self._records.lock_wait_seconds
        with locks.hold(self._records.disk, layout.scope_folder(scope), wait_seconds=wait_seconds):
            mine = self._clean.pop(scope, None)
            clean = mine is not None and mine == self._last_holder(scope)
            if mine is None or not clean:
                mine = os.urandom(16).hex().encode()
                self._records.disk.note(f"{layout.HINTS}/{scope}.holder", mine)
            held = _Held(self._records, self._key, scope, clean=clean)
            yield held
            if held.left_open == set():
                self._clean[scope] = mine

    def _last_holder(self, scope: str) -> bytes | None:
        with contextlib.suppress(StorageError):
            return self._records.disk.read(f"{layout.HINTS}/{scope}.holder", bytes_max=64)
        return None

    def branch(self, scope: str, branch_id: str) -> Branch | None:
        """See `Memory.branch`."""
        found: Record | None = self._records.read(layout.branch(scope, branch_id), Branch, BranchTombstone)
        return _checked(self._records, scope, branch_id, found)

    def branches(self, scope: str) -> tuple[BranchName, ...]:
        """See `Memory.branches`."""
        disk, base = self._records.disk, layout.scope_folder(scope)
        ids = {main_branch_id(scope), *disk.names(f"{base}/branches"), *disk.names(f"{base}/revisions")}
        rows = (self._row(scope, branch_id) for branch_id in ids if _is_branch_id(branch_id))
        return tuple(sorted((row for row in rows if row is not None), key=lambda r: (r.name != MAIN, r.name)))

    def _row(self, scope: str, branch_id: str) -> BranchName | None:
        """A fork that was cut off before its branch has a folder for revisions and none in it. A branch that
        has revisions by now was written since it was looked for.
        """
        try:
            b = self.branch(scope, branch_id)
            has_history = b is None and bool(_seqs(self._records, scope, branch_id))
            if has_history:
                b = self.branch(scope, branch_id)
            if b is not None:
                return BranchName(b.branch_id, b.name, b.parent, len(b.entries), b.seq)
            if not has_history:
                return None
            problem = _gone(scope, branch_id).message
        except Removed:
            return None
        except (Damaged, NewerVersion) as error:
            problem = error.message
        return BranchName(
            branch_id, MAIN if branch_id == main_branch_id(scope) else branch_id, None, 0, 0, problem
        )

    def revision(self, scope: str, branch_id: str, seq: int) -> Revision | RevisionTombstone | None:
        """See `Memory.revision`."""
        path = layout.revision(scope, branch_id, seq)
        found: Record | None = self._records.read(path, Revision, Revision2, RevisionTombstone)
        assert found is None or isinstance(found, Revision | RevisionTombstone)  # noqa: S101 - the types asked for
        return found

    def revisions(self, scope: str, branch_id: str) -> tuple[int, ...]:
        """See `Memory.revisions`."""
        return _seqs(self._records, scope, branch_id)

    def moves(self, scope: str) -> tuple[str, ...]:
        """See `Memory.moves`."""
        return FileMoves(self._records, scope).begun()

    def receipt(self, scope: str, job_id: str) -> Receipt | None:
        """See `Memory.receipt`."""
        return self._records.found(layout.receipt(scope, job_id), Receipt)

    def receipts(self, scope: str) -> tuple[str, ...]:
        """See `Memory.receipts`."""
        names = self._records.disk.names(f"{layout.scope_folder(scope)}/receipts")
        return tuple(sorted(name for name in names if is_job_id(name)))

    def selected(self, scope: str) -> str | None:
        """See `Memory.selected`."""
        found = self._records.read(layout.selected(scope), Selected)
        if found is None or not _is_branch_id(found.name):
            return found.name if found is not None else None
        with contextlib.suppress(Damaged, NewerVersion, Removed):
            branch = self.branch(scope, found.name)
            return branch.name if branch is not None else found.name
        return found.name

    def select(self, scope: str, name: str) -> None:
        """See `Memory.select`."""
        if all(row.name != name for row in self.branches(scope)):
            msg = f"there is no branch {name!r}."
            raise NotFound(msg, advice="perdure branch list shows them; perdure branch fork makes one.")
        self._records.replace(layout.selected(scope), Selected(name=name))


class _Held:
    """See `perdure.ports.memory.HeldMemory`."""

    def __init__(self, records: Records, key: bytes, scope: str, *, clean: bool) -> None:
        self._records, self._key, self._scope = records, key, scope
        self.shape, self.moves = FileShape(records, scope), FileMoves(records, scope)
        self.left_open: set[str] | None = set() if clean else None  # None: not looked at yet

    def branch(self, branch_id: str) -> Branch | None:
        path = layout.branch(self._scope, branch_id)
        found: Record | None = self._records.found_changing(path, Branch, BranchTombstone)
        return _checked(self._records, self._scope, branch_id, found)

    def begun(self) -> list[str]:
        """By name alone: no completion, a foreground one with its intent, or a review without a receipt."""
        if self.left_open is not None:
            return sorted(self.left_open)
        folder = f"{layout.scope_folder(self._scope)}/admissions"
        names = [name for name in self._records.disk.names(folder) if _is_transaction(name)]
        done = {name.removesuffix(".done") for name in names if name.endswith(".done")}
        intents = [name for name in names if not name.endswith(".done")]
        open_ones = [name for name in intents if name not in done or not is_job_id(name)]
        finished = [name for name in intents if name in done and is_job_id(name)]
        if finished:
            receipts = set(self._records.disk.names(f"{layout.scope_folder(self._scope)}/receipts"))
            open_ones += [name for name in finished if name not in receipts and self._is_intent(name)]
        self.left_open = set(open_ones)
        return sorted(open_ones)

    def _is_intent(self, transaction: str) -> bool:
        """A tombstone whose receipt has expired is finished; what cannot be read may be open."""
        path = layout.intent(self._scope, transaction)
        try:
            found: Record | None = self._records.read(path, Intent, Intent2, IntentTombstone)
        except Damaged:
            return True
        return isinstance(found, Intent)

    def transaction(self, transaction: str) -> TransactionFacts | None:
        path = layout.intent(self._scope, transaction)
        intent: Record | None = self._records.found_changing(path, Intent, Intent2, IntentTombstone)
        if intent is None:
            return None
        assert isinstance(intent, Intent | IntentTombstone)  # noqa: S101 - the two types asked for
        if isinstance(intent, IntentTombstone):
            return TransactionFacts(intent, None, revision_present=True, completion=None, receipt=None)
        current, removed = self._current(intent.branch_id)
        revision = None
        if intent.revision is not None:
            revision = self._revision(intent, intent.revision.seq)
            at = None if current is None else current.digest
            if revision is not None and at in {intent.base_digest, intent.result_digest}:
                self._check_own(intent, revision)
        done = self._records.found(layout.completion(self._scope, transaction), Completion)
        receipt = None
        if intent.job_id is not None:
            receipt = self._records.found(layout.receipt(self._scope, intent.job_id), Receipt)
        return TransactionFacts(
            intent=intent,
            branch_digest=current.digest if current is not None else None,
            revision_present=revision is not None,
            completion=done,
            receipt=receipt,
            removed=removed,
            history=removed and bool(_seqs(self._records, self._scope, intent.branch_id)),
            arrived=isinstance(intent, Intent2)
            and intent.arrival is not None
            and self.moves.arrival(intent.arrival.move_id) is not None,
        )

    def _current(self, branch_id: str) -> tuple[Branch | None, bool]:
        """The branch, and whether it was removed."""
        try:
            return self.branch(branch_id), False
        except Removed:
            return None, True

    def _revision(self, intent: Intent, seq: int) -> Revision | RevisionTombstone | None:
        where = layout.revision(self._scope, intent.branch_id, seq)
        found: Record | None = self._records.found(where, Revision, Revision2, RevisionTombstone)
        assert found is None or isinstance(found, Revision | RevisionTombstone)  # noqa: S101 - the types asked for
        return found

    def _check_own(self, intent: Intent, standing: Revision | RevisionTombstone) -> None:
        if not own_revision(intent, standing):
            where = layout.revision(self._scope, standing.branch_id, standing.seq)
            msg = f"{where}: another transaction's revision stands at the number of {intent.transaction}."
            raise Conflict(msg, advice=f"Nothing was overwritten. {_RESTORE}")

    def _check_history(self, intent: Intent, seq: int) -> None:
        """Sequence numbers never recur (rule 4): an older copy of a branch file takes no further change."""
        standing = self._revision(intent, seq)
        if standing is not None and standing.transaction != intent.transaction:
            where = layout.branch(self._scope, intent.branch_id)
            msg = f"it is older than its history, which has a revision {seq}"
            raise Damaged(where, msg, advice=_RESTORE)

    def begin(self, intent: Intent) -> Intent | IntentTombstone:
        if intent.revision is not None:
            self._check_history(intent, intent.revision.seq)
            self._records.ensure_folders(layout.revisions(self._scope, intent.branch_id))
        if self.left_open is not None:
            self.left_open.add(intent.transaction)
        path = layout.intent(self._scope, intent.transaction)
        standing: Record
        standing, _ = self._records.elect(path, intent, Intent, Intent2, IntentTombstone)
        assert isinstance(standing, Intent | IntentTombstone)  # noqa: S101 - the two types asked for
        return standing

    def put_branch(self, branch: Branch) -> None:
        self._records.replace(layout.branch(self._scope, branch.branch_id), branch)

    def put_revision(self, revision: Revision) -> None:
        self._records.ensure_folders(layout.revisions(self._scope, revision.branch_id))
        self._records.derive(layout.revision(self._scope, revision.branch_id, revision.seq), revision)

    def complete(self, completion: Completion) -> None:
        self._records.derive(layout.completion(self._scope, completion.transaction), completion)

    def put_receipt(self, receipt: Receipt) -> None:
        self._records.derive(layout.receipt(self._scope, receipt.job_id), receipt)

    def compact(self, intent: Intent) -> None:
        path = layout.intent(self._scope, intent.transaction)
        if intent.job_id is not None:
            self._records.replace(path, intent_tombstone(intent))
        else:
            self._records.remove(path, layout.completion(self._scope, intent.transaction))
        if self.left_open is not None:
            self.left_open.discard(intent.transaction)

    def discard(self, transaction: str) -> None:
        """The completion goes first: without its intent it would be a transaction that never began."""
        self._records.remove(layout.completion(self._scope, transaction))
        self._records.remove(layout.intent(self._scope, transaction))
        if self.left_open is not None:
            self.left_open.discard(transaction)

    def withdraw(self, transaction: str) -> None:
        self._records.remove(layout.completion(self._scope, transaction))
        self.left_open = None

    def bury(self, tombstones: tuple[Tombstone, ...]) -> None:
        for stone in tombstones:
            keyed = self._keyed(stone.what, stone.value)
            path = layout.tombstone(self._scope, keyed)
            buried = Buried(what=stone.what, keyed=keyed, forgotten_ms=stone.forgotten_ms)
            standing = self._records.found_changing(path, Buried)
            if standing is None or standing.forgotten_ms < stone.forgotten_ms:
                self._records.replace(path, buried)

    def forgotten_ms(self, text: str) -> int | None:
        stone = self._stone("text", text)
        return stone.forgotten_ms if stone is not None else None

    def buried(self, text: str | None, key: str | None, settled_ms: int) -> bool:
        if text is not None and self._stone("text", text) is not None:
            return True
        stone = self._stone("key", key) if key is not None else None
        return stone is not None and settled_ms <= stone.forgotten_ms

    def _stone(self, what: str, value: str) -> Buried | None:
        return self._records.read(layout.tombstone(self._scope, self._keyed(what, value)), Buried)

    def _keyed(self, what: str, value: str) -> str:
        return stone_name(self._key, what, value)


def stone_name(key: bytes, what: str, value: str) -> str:
    """The name of a tombstone: an HMAC of what was forgotten, in its folded form (rule 13)."""
    form = value if what == "entry" else " ".join(normalize_key(value).split()).rstrip(".")
    return keyed_digest(key, f"{what}\0{form}")


def _checked(records: Records, scope: str, branch_id: str, found: Record | None) -> Branch | None:
    """A branch under another's name is damaged; main without a file is empty unless it has a history.
    Raises Removed for a tombstone.

    A branch comes before its revisions: one that has some by now was written since it was looked for.
    """
    has_history = found is None and bool(_seqs(records, scope, branch_id))
    if has_history:
        found = records.read(layout.branch(scope, branch_id), Branch, BranchTombstone)
    if isinstance(found, Branch | BranchTombstone):
        if found.branch_id != branch_id or found.project != scope:
            raise Damaged(layout.branch(scope, branch_id), "it holds another branch")
        if isinstance(found, BranchTombstone):
            msg = f"branch {branch_id} was removed."
            raise Removed(msg, advice="perdure branch list shows the others.")
        return found
    if branch_id != main_branch_id(scope):
        return None
    if has_history:
        raise _gone(scope, branch_id)
    return empty_main(scope)


def _gone(scope: str, branch_id: str) -> Damaged:
    return Damaged(
        layout.branch(scope, branch_id), "the branch file is gone though revisions exist", advice=_RESTORE
    )


def _seqs(records: Records, scope: str, branch_id: str) -> tuple[int, ...]:
    names = records.disk.names(layout.revisions(scope, branch_id))
    return tuple(sorted(int(name) for name in names if name.isdigit()))


def _is_branch_id(name: str) -> bool:
    """Whether a name can be a branch's; foreign files are passed over (Q-13)."""
    return len(name) == _BRANCH_DIGITS and _HEX.issuperset(name)


def _is_transaction(name: str) -> bool:
    """Whether a name can be an intent's or a completion's; foreign files are passed over (Q-13)."""
    transaction = name.removesuffix(".done")
    plain = len(transaction) == _TRANSACTION_DIGITS and _HEX.issuperset(transaction)
    return plain or is_job_id(transaction)
