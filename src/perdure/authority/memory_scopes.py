"""The Memory port of the reference authority: branches, transactions and tombstones in dictionaries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from perdure.authority.memory_store import Store
from perdure.core.admission import (
    Completion,
    Intent,
    IntentTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
    intent_tombstone,
)
from perdure.core.memory import MAIN, Branch, empty_main, main_branch_id
from perdure.core.move import Arrival, Move
from perdure.core.record import Record
from perdure.core.structural import BranchTombstone, Intent2, Renamed
from perdure.core.text import normalize_key
from perdure.core.transaction import TransactionFacts, own_revision
from perdure.errors import Conflict, Damaged, NotFound, Removed
from perdure.ports.memory import BranchName, HeldMemory, Tombstone


class MemoryMemory:
    """See `perdure.ports.memory.Memory`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @contextlib.contextmanager
    def hold(self, scope: str) -> Iterator[HeldMemory]:
        """See `Memory.hold`."""
        with self._store.hold(f"scope/{scope}"):
            yield _HeldMemory(self, self._store, scope)

    def branch(self, scope: str, branch_id: str) -> Branch | None:
        """See `Memory.branch`."""
        name = f"branch/{scope}/{branch_id}"
        found = self._store.read(name, Record)
        if isinstance(found, BranchTombstone):
            raise Removed(f"branch {branch_id} was removed.")
        if isinstance(found, Branch) or branch_id != main_branch_id(scope):
            return found if isinstance(found, Branch) else None
        if self.revisions(scope, branch_id):
            raise Damaged(name, "the branch is gone though revisions exist")
        return empty_main(scope)

    def branches(self, scope: str) -> tuple[BranchName, ...]:
        """See `Memory.branches`."""
        revised = {name.partition("/")[0] for name in self._store.names(f"revision/{scope}/")}
        ids = {main_branch_id(scope), *self._store.names(f"branch/{scope}/"), *revised}
        rows = (self._row(scope, name) for name in ids)
        return tuple(
            sorted((row for row in rows if row is not None), key=lambda row: (row.name != MAIN, row.name))
        )

    def _row(self, scope: str, branch_id: str) -> BranchName | None:
        problem = "the branch is gone though revisions exist"
        try:
            b = self.branch(scope, branch_id)
            if b is not None:
                return BranchName(b.branch_id, b.name, b.parent, len(b.entries), b.seq)
        except Removed:
            return None
        except Damaged as damaged:
            problem = damaged.message
        return BranchName(
            branch_id, MAIN if branch_id == main_branch_id(scope) else branch_id, None, 0, 0, problem
        )

    def revision(self, scope: str, branch_id: str, seq: int) -> Revision | RevisionTombstone | None:
        """See `Memory.revision`."""
        found = self._store.read(f"revision/{scope}/{branch_id}/{seq:08d}", Record)
        return found if isinstance(found, Revision | RevisionTombstone) else None

    def revisions(self, scope: str, branch_id: str) -> tuple[int, ...]:
        """See `Memory.revisions`."""
        return tuple(int(name) for name in self._store.names(f"revision/{scope}/{branch_id}/"))

    def moves(self, scope: str) -> tuple[str, ...]:
        """See `Memory.moves`."""
        return tuple(self._store.names(f"move/{scope}/"))

    def receipt(self, scope: str, job_id: str) -> Receipt | None:
        """See `Memory.receipt`."""
        return self._store.read(f"receipt/{scope}/{job_id}", Receipt)

    def receipts(self, scope: str) -> tuple[str, ...]:
        """See `Memory.receipts`."""
        return tuple(self._store.names(f"receipt/{scope}/"))

    def selected(self, scope: str) -> str | None:
        """See `Memory.selected`."""
        chosen = self._store.selected.get(scope)
        standing = self._store.records.get(f"branch/{scope}/{chosen}")
        return standing.name if isinstance(standing, Branch) else chosen

    def select(self, scope: str, name: str) -> None:
        """See `Memory.select`."""
        if all(row.name != name for row in self.branches(scope)):
            raise NotFound(f"there is no branch {name!r}.")
        self._store.selected[scope] = name


class _HeldMemory:
    """See `perdure.ports.memory.HeldMemory`."""

    def __init__(self, memory: MemoryMemory, store: Store, scope: str) -> None:
        self._memory, self._store, self._scope = memory, store, scope
        self.shape, self.moves = _Shape(store, scope), _Moves(store, scope)

    def branch(self, branch_id: str) -> Branch | None:
        return self._memory.branch(self._scope, branch_id)

    def begun(self) -> list[str]:
        return [name for name in self._store.names(f"intent/{self._scope}/") if self._unfinished(name)]

    def _unfinished(self, transaction: str) -> bool:
        try:
            facts = self.transaction(transaction)
        except (Damaged, Conflict):
            return True
        if facts is None or isinstance(facts.intent, IntentTombstone):
            return False
        return facts.completion is None or facts.intent.job_id is None or facts.receipt is None

    def transaction(self, transaction: str) -> TransactionFacts | None:
        intent = self._store.read(self._intent(transaction), Record)
        if isinstance(intent, IntentTombstone):
            return TransactionFacts(intent, None, revision_present=True, completion=None, receipt=None)
        if not isinstance(intent, Intent):
            return None
        (current, removed), revision = self._current(intent.branch_id), intent.revision
        standing = None
        if revision is not None:
            standing = self._memory.revision(self._scope, revision.branch_id, revision.seq)
        at = current.digest if current is not None else None
        agrees = at in {intent.base_digest, intent.result_digest}
        if standing is not None and agrees and not own_revision(intent, standing):
            raise Conflict(f"{transaction}: the revision of another transaction stands at its number.")
        return TransactionFacts(
            intent=intent,
            branch_digest=at,
            revision_present=standing is not None,
            completion=self._store.read(self._done(transaction), Completion),
            receipt=self._memory.receipt(self._scope, intent.job_id) if intent.job_id is not None else None,
            removed=removed,
            history=removed and bool(self._memory.revisions(self._scope, intent.branch_id)),
            arrived=isinstance(intent, Intent2)
            and intent.arrival is not None
            and self.moves.arrival(intent.arrival.move_id) is not None,
        )

    def _current(self, branch_id: str) -> tuple[Branch | None, bool]:
        try:
            return self.branch(branch_id), False
        except Removed:
            return None, True

    def begin(self, intent: Intent) -> Intent | IntentTombstone:
        name, revision = self._intent(intent.transaction), intent.revision
        if revision is not None:
            standing = self._memory.revision(self._scope, intent.branch_id, revision.seq)
            if standing is not None and standing.transaction != intent.transaction:
                raise Damaged(f"branch/{self._scope}/{intent.branch_id}", "it is older than its history")
        self._store.elect(name, intent)
        first = self._store.read(name, Record)
        return first if isinstance(first, Intent | IntentTombstone) else intent

    def put_branch(self, branch: Branch) -> None:
        self._store.records[f"branch/{self._scope}/{branch.branch_id}"] = branch

    def put_revision(self, revision: Revision) -> None:
        name = f"revision/{self._scope}/{revision.branch_id}/{revision.seq:08d}"
        self._store.create(name, revision)

    def complete(self, completion: Completion) -> None:
        self._store.create(self._done(completion.transaction), completion)

    def put_receipt(self, receipt: Receipt) -> None:
        self._store.create(f"receipt/{self._scope}/{receipt.job_id}", receipt)

    def compact(self, intent: Intent) -> None:
        if intent.job_id is not None:
            self._store.records[self._intent(intent.transaction)] = intent_tombstone(intent)
        else:
            del self._store.records[self._intent(intent.transaction)]
            self._store.records.pop(self._done(intent.transaction), None)

    def discard(self, transaction: str) -> None:
        for name in (self._done(transaction), self._intent(transaction)):
            self._store.records.pop(name, None)
            self._store.damaged.discard(name)

    def withdraw(self, transaction: str) -> None:
        self._store.records.pop(self._done(transaction), None)
        self._store.damaged.discard(self._done(transaction))

    def bury(self, tombstones: tuple[Tombstone, ...]) -> None:
        for stone in tombstones:
            name = self._stone(stone.what, stone.value)
            self._store.stones[name] = max(stone.forgotten_ms, self._store.stones.get(name, 0))

    def forgotten_ms(self, text: str) -> int | None:
        return self._store.stones.get(self._stone("text", text))

    def buried(self, text: str | None, key: str | None, settled_ms: int) -> bool:
        stones = self._store.stones
        if text is not None and self._stone("text", text) in stones:
            return True
        return key is not None and settled_ms <= stones.get(self._stone("key", key), -1)

    def _stone(self, what: str, value: str) -> tuple[str, str, str]:
        form = value if what == "entry" else normalize_key(value).rstrip(".")
        return self._scope, what, form

    def _intent(self, transaction: str) -> str:
        return f"intent/{self._scope}/{transaction}"

    def _done(self, transaction: str) -> str:
        return f"completion/{self._scope}/{transaction}"


class _Shape:
    """See `perdure.ports.structural.HeldShape`. A choice is of an id once its branch was renamed."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store, self._scope = store, scope

    def put_renamed(self, branch: Branch, renamed: Renamed) -> None:
        if self._store.selected.get(self._scope) == renamed.before:
            self._store.selected[self._scope] = branch.branch_id
        self._store.records[f"branch/{self._scope}/{branch.branch_id}"] = branch

    def entomb(self, tombstone: BranchTombstone) -> None:
        name = f"branch/{self._scope}/{tombstone.branch_id}"
        standing = self._store.records.get(name)
        known = {tombstone.branch_id} | ({standing.name} if isinstance(standing, Branch) else set())
        if self._store.selected.get(self._scope) in known:
            self._store.selected[self._scope] = MAIN
        self._store.records[name] = tombstone

    def remove_history(self, branch_id: str) -> None:
        prefix = f"revision/{self._scope}/{branch_id}/"
        for name in self._store.names(prefix):
            del self._store.records[prefix + name]


class _Moves:
    """See `perdure.ports.structural.HeldMoves`."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store, self._scope = store, scope

    def begun(self) -> tuple[str, ...]:
        return tuple(self._store.names(f"move/{self._scope}/"))

    def read(self, move_id: str) -> Move | None:
        return self._store.read(f"move/{self._scope}/{move_id}", Move)

    def begin(self, move: Move) -> None:
        self._store.create(f"move/{self._scope}/{move.move_id}", move)

    def end(self, move_id: str) -> None:
        self._store.records.pop(f"move/{self._scope}/{move_id}", None)

    def arrival(self, move_id: str) -> Arrival | None:
        return self._store.read(f"arrival/{self._scope}/{move_id}", Arrival)

    def arrive(self, arrival: Arrival) -> None:
        self._store.create(f"arrival/{self._scope}/{arrival.move_id}", arrival)
