"""Write a missing or damaged branch again from its revisions, and finish what was begun (M-13, rule 5).

Only a complete chain is trusted: every revision from the first, linked by digests, none purged. What stood
at the branch's place is copied to quarantine first.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perdure.core.admission import Revision, RevisionTombstone
from perdure.core.memory import MAIN, Branch, empty_main, main_branch_id
from perdure.errors import PerdureError
from perdure.ports.inspect import Inspect, ScopeRecords, Snapshot
from perdure.ports.memory import HeldMemory, Memory
from perdure.service.chain import replay
from perdure.service.invariants import check_invariants
from perdure.service.transact import locked
from perdure.service.violation import place


class Restored(msgspec.Struct, frozen=True):
    """Branch files that were written again, copies of what stood there, and what stays broken, with why."""

    branches: tuple[str, ...]
    copies: tuple[str, ...]
    refused: tuple[str, ...]
    finished: int  # transactions that were open and are finished


class RestoreService:
    """Mends what records prove."""

    def __init__(self, inspect: Inspect, memory: Memory) -> None:
        self._inspect, self._memory = inspect, memory

    def restore(self) -> Restored:
        """Restore every branch that needs it, then finish open transactions. Raises LockTimeout."""
        branches: list[str] = []
        copies: list[str] = []
        refused: list[str] = []
        for scope in sorted({name for name, _ in _broken_branches(self._inspect.snapshot())}):
            with self._memory.hold(scope) as held:
                self._restore_scope(held, scope, branches, copies, refused)
        finished = sum(self._finish(scope, refused) for scope in self._inspect.snapshot().scopes)
        return Restored(tuple(branches), tuple(copies), tuple(refused), finished)

    def _restore_scope(
        self, held: HeldMemory, scope: str, branches: list[str], copies: list[str], refused: list[str]
    ) -> None:
        """Look again under the lock, so that nobody's write is undone."""
        snapshot = self._inspect.snapshot()
        records = snapshot.scopes[scope]
        for name, branch_id in _broken_branches(snapshot):
            if name != scope:
                continue
            path = f"{place(scope)}/branches/{branch_id}"
            rebuilt, why = self._rebuilt(records, branch_id, path)
            if rebuilt is None:
                refused.append(f"{path}: {why}")
                continue
            copy = self._inspect.copy_aside(path, "replaced by verify --restore")
            copies += [copy] if copy is not None else []
            held.put_branch(rebuilt)
            branches.append(path)

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
        names = [shown] if isinstance(shown, str) else []
        names += [name for name in (self._memory.selected(scope.scope),) if name is not None and name != MAIN]
        parents = [main.branch_id, *scope.branches, *scope.revisions]
        for name in dict.fromkeys(names):
            for parent in dict.fromkeys(parents):
                yield msgspec.structs.replace(main, branch_id=branch_id, name=name, parent=parent)

    def _finish(self, scope: str, refused: list[str]) -> int:
        """Taking the lock finishes every open intent."""
        try:
            with self._memory.hold(scope) as held:
                begun = len(held.begun())
            if begun:
                with locked(self._memory, scope):
                    return begun
        except PerdureError as error:
            refused.append(f"{place(scope)}: {error.message}")
        return 0


def _all_fit(states: dict[int, Branch | None], ordered: list[Revision | RevisionTombstone]) -> bool:
    return len(states) == len(ordered) and all(
        state is not None and state.digest == revision.result_digest
        for state, revision in zip(states.values(), ordered, strict=True)
    )


def _broken_branches(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Scope and id of branches that are unreadable, missing, or not what their last revision says."""
    codes = {"damaged", "branch-missing", "branch-digest"}
    paths = {violation.path for violation in check_invariants(snapshot) if violation.code in codes}
    return [
        (scope.scope, path.rpartition("/")[2])
        for scope in snapshot.scopes.values()
        for path in sorted(paths)
        if path.startswith(f"{place(scope.scope)}/branches/")
    ]
