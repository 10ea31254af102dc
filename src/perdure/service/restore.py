"""Write a missing or damaged branch again from its revisions, and finish what was begun (M-13, rule 5).

Only a complete chain is trusted: every revision from the first, linked by digests, none purged. What stood
at the branch's place is copied to quarantine first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from perdure.core.admission import CONFLICT, Completion, IntentTombstone, Revision, RevisionTombstone
from perdure.core.job import is_job_id
from perdure.core.memory import MAIN, Branch, empty_main, main_branch_id
from perdure.core.structural import Revision2
from perdure.errors import Conflict, Damaged, LockTimeout, PerdureError
from perdure.ports.inspect import Inspect, ScopeRecords, Snapshot
from perdure.ports.memory import HeldMemory, Memory
from perdure.service.chain import replay
from perdure.service.invariants import check_invariants
from perdure.service.transact import roll_forward
from perdure.service.violation import place

FORGETTING_MS = 5_000
"""A tombstone is dated while its revision is being made: at most so long after it, in milliseconds."""


class Restored(msgspec.Struct, frozen=True):
    """Branch files that were written again, copies of what stood there, and what stays broken, with why."""

    branches: tuple[str, ...]
    copies: tuple[str, ...]
    refused: tuple[str, ...]
    finished: int  # transactions that were open and are finished
    cleared: tuple[str, ...] = ()  # damaged intents that had nothing left to do
    completions: tuple[str, ...] = ()  # damaged completions, written again from their intents


class RestoreService:
    """Mends what records prove."""

    def __init__(self, inspect: Inspect, memory: Memory) -> None:
        self._inspect, self._memory = inspect, memory

    def restore(self) -> Restored:
        """Restore every branch that needs it, then finish open transactions. Raises LockTimeout."""
        work = _Work(self._inspect, self._memory)
        for scope in self._inspect.snapshot().scopes:
            work.mend(scope)
        return Restored(
            branches=tuple(work.branches),
            copies=tuple(work.copies),
            refused=tuple(work.refused),
            finished=work.finished,
            cleared=tuple(work.cleared),
            completions=tuple(work.completions),
        )


class _Work:
    """One run: what was done so far."""

    def __init__(self, inspect: Inspect, memory: Memory) -> None:
        self._inspect, self._memory = inspect, memory
        self.branches: list[str] = []
        self.copies: list[str] = []
        self.refused: list[str] = []
        self.cleared: list[str] = []
        self.completions: list[str] = []
        self.finished = 0

    def mend(self, scope: str) -> None:
        """A scope under its lock. What was begun is finished after its branch is back, not before, since a
        lost or older branch would end it as a conflict.
        """
        try:
            with self._memory.hold(scope) as held:
                snapshot = self._inspect.snapshot()
                for name, branch_id in _broken_branches(snapshot):
                    if name == scope:
                        self._restore(held, snapshot.scopes[scope], branch_id)
                _settle(held, snapshot.scopes[scope])
                for transaction in _damaged_completions(snapshot, scope):
                    self._complete_again(held, scope, transaction)
                for transaction, why in self._finish(held):
                    self._clear(held, scope, transaction, why)
        except LockTimeout:
            raise
        except PerdureError as error:
            self.refused.append(f"{place(scope)}: {error.message}")

    def _complete_again(self, held: HeldMemory, scope: str, transaction: str) -> None:
        """A completion is derived, so that a damaged one is taken away and made again: by the rolling forward
        of an intent that is still whole, here for one that is a tombstone, of which the receipt says the end.
        """
        path = f"{place(scope)}/admissions/{transaction}.done"
        self._keep(path)
        held.withdraw(transaction)
        records = self._inspect.snapshot().scopes[scope]
        stone, ended = records.intents[transaction], records.receipts.get(transaction)
        if isinstance(stone, IntentTombstone):
            conflict = ended is not None and CONFLICT in ended.reasons
            held.complete(Completion(transaction, stone.intent_digest, conflict))
        self.completions.append(path)

    def _finish(self, held: HeldMemory) -> list[tuple[str, str]]:
        """Every open transaction that can be finished; the others, and why not."""
        stuck: list[tuple[str, str]] = []
        for transaction in held.begun():
            try:
                roll_forward(held, transaction)
                self.finished += 1
            except (Damaged, Conflict) as error:
                stuck.append((transaction, error.message))
        return stuck

    def _clear(self, held: HeldMemory, scope: str, transaction: str, why: str) -> None:
        stays = _may_still_act(self._inspect.snapshot(), scope, transaction)
        if stays is not None:
            self.refused.append(f"{why} {stays}".rstrip())
            return
        path = f"{place(scope)}/admissions/{transaction}"
        self._keep(path)
        held.discard(transaction)
        self.cleared.append(path)

    def _restore(self, held: HeldMemory, records: ScopeRecords, branch_id: str) -> None:
        path = f"{place(records.scope)}/branches/{branch_id}"
        standing, revisions = records.branches.get(branch_id), records.revisions.get(branch_id, {})
        if standing is not None and standing.seq > max(revisions, default=0):
            self.refused.append(f"{path}: it is newer than its last revision, so that it stays as it is.")
            return
        rebuilt, why = self._rebuilt(records, branch_id, path)
        if rebuilt is not None and _forgotten_since(held, records, rebuilt):
            rebuilt, why = None, "a text of it was forgotten after its last revision."
        if rebuilt is None:
            self.refused.append(f"{path}: {why}")
            return
        self._keep(path)
        held.put_branch(rebuilt)
        self.branches.append(path)

    def _keep(self, path: str) -> None:
        copy = self._inspect.copy_aside(path, "replaced by verify --restore")
        self.copies += [copy] if copy is not None else []

    def _rebuilt(self, scope: ScopeRecords, branch_id: str, path: str) -> tuple[Branch | None, str]:
        revisions = scope.revisions.get(branch_id, {})
        ordered = [revisions[seq] for seq in sorted(revisions)]
        if not ordered:
            return None, "it has no revisions."
        if list(revisions) and sorted(revisions) != list(range(1, len(ordered) + 1)):
            return None, "a revision is missing."
        if any(isinstance(revision, RevisionTombstone) for revision in ordered):
            return None, "a revision was purged, so that its entries are not known any more."
        for like in self._likes(scope, branch_id, path):
            states = replay(like, ordered)
            if _all_fit(states, ordered):
                return states[ordered[-1].seq], ""
        return None, "its revisions do not give the digests that they name, or its name is not known."

    def _likes(self, scope: ScopeRecords, branch_id: str, path: str) -> Iterator[Branch]:
        """What the branch may be called and come from; the digest decides whether it is so."""
        main = empty_main(scope.scope)
        if branch_id == main_branch_id(scope.scope):
            yield main
            return
        shown = self._inspect.salvage(path).get("name")
        names = [*_renamed_to(scope, branch_id), *([shown] if isinstance(shown, str) else [])]
        names += [name for name in (self._memory.selected(scope.scope),) if name is not None and name != MAIN]
        parents = [main.branch_id, *scope.branches, *scope.revisions]
        for name in dict.fromkeys(names):
            for parent in dict.fromkeys(parents):
                yield msgspec.structs.replace(main, branch_id=branch_id, name=name, parent=parent)


def _settle(held: HeldMemory, scope: ScopeRecords) -> None:
    """What a killed restore left is seen and not durable: read under the lock, it becomes so (rule 3)."""
    for branch_id in scope.branches:
        with contextlib.suppress(PerdureError):
            held.branch(branch_id)


def _forgotten_since(held: HeldMemory, scope: ScopeRecords, rebuilt: Branch) -> bool:
    """Whether something of the branch was forgotten after its last revision, and on no other branch: then its
    history is not all there, and would bring it back (M-12).
    """
    last = scope.revisions[rebuilt.branch_id][rebuilt.seq]
    for text in {entry.text for entry in rebuilt.entries}:
        at_ms = held.forgotten_ms(text)
        if at_ms is not None and at_ms > last.made_ms and not _forgotten_elsewhere(scope, text, at_ms):
            return True
    return False


def _forgotten_elsewhere(scope: ScopeRecords, text: str, at_ms: int) -> bool:
    """Whether a revision of the scope tells that forgetting."""
    revisions = (revision for history in scope.revisions.values() for revision in history.values())
    return any(
        change.before is not None and change.before.text == text and change.after is None
        for revision in revisions
        if isinstance(revision, Revision) and revision.made_ms >= at_ms - FORGETTING_MS
        for change in revision.changes
    )


def _damaged_completions(snapshot: Snapshot, scope: str) -> list[str]:
    """Transactions whose completion cannot be read though their intent can."""
    base = f"{place(scope)}/admissions/"
    ends = {one.path for one in snapshot.unread if not one.newer and one.path.startswith(base)}
    names = sorted(path.removeprefix(base).removesuffix(".done") for path in ends if path.endswith(".done"))
    return [name for name in names if name in snapshot.scopes[scope].intents]


def _renamed_to(scope: ScopeRecords, branch_id: str) -> Iterator[str]:
    """The name that the branch was given last, where it was ever renamed."""
    for _, revision in sorted(scope.revisions.get(branch_id, {}).items(), reverse=True):
        if isinstance(revision, Revision2) and revision.renamed is not None:
            yield revision.renamed.after
            return


def _may_still_act(snapshot: Snapshot, scope: str, transaction: str) -> str | None:
    """Why an intent that was not finished has to stay; None when it is damaged and has no effect left to
    finish: all branches are what their last revisions say, and a review did not take effect or is closed.
    """
    records, base = snapshot.scopes[scope], place(scope)
    unread = {one.path for one in snapshot.unread if not one.newer}
    if f"{base}/admissions/{transaction}" not in unread:
        return ""
    if any(path.startswith((f"{base}/branches/", f"{base}/revisions/")) for path in unread):
        return "It stays until the branches and revisions beside it can be read."
    standing = {*records.branches, *records.revisions} - {*records.removed}
    if any(not _agrees(records, branch_id) for branch_id in standing):
        return "It stays: a branch is not what its last revision says."
    took_effect = any(r.transaction == transaction for b in records.revisions.values() for r in b.values())
    if is_job_id(transaction) and took_effect and transaction not in records.outcomes:
        return "It stays: its review took effect and is not closed, and would be judged again."
    return None


def _agrees(records: ScopeRecords, branch_id: str) -> bool:
    branch, revisions = records.branches.get(branch_id), records.revisions.get(branch_id, {})
    if not revisions:
        return branch is None
    newest = revisions[max(revisions)]
    return branch is not None and (newest.seq, newest.result_digest) == (branch.seq, branch.digest)


def _all_fit(states: dict[int, Branch | None], ordered: list[Revision | RevisionTombstone]) -> bool:
    return len(states) == len(ordered) and all(
        state is not None and state.digest == revision.result_digest
        for state, revision in zip(states.values(), ordered, strict=True)
    )


def _broken_branches(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Scope and id of branches that are unreadable, missing, older than their history, or not what their
    last revision says.
    """
    codes = {"damaged": "branches", "branch-missing": "branches", "branch-digest": "branches"}
    codes["sequence"] = "revisions"
    found = {(v.path, codes[v.code]) for v in check_invariants(snapshot) if v.code in codes}
    return [
        (scope.scope, path.rpartition("/")[2])
        for scope in snapshot.scopes.values()
        for path, folder in sorted(found)
        if path.startswith(f"{place(scope.scope)}/{folder}/")
    ]
