"""The chain of a branch's revisions: linked by digests, and replayed entry by entry (M-04, D-06).

From the first revision forward, and from the branch backward, every state is built again from the changes
alone and compared with the digest that the revision names. A purged revision keeps its digests, entry ids
and time: the chain stays linked over the gap, and replay goes up to it from both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

import msgspec

from perdure.core.admission import Completion, Intent, Revision, RevisionTombstone
from perdure.core.memory import Branch, Change, Entry, empty_main, main_branch_id
from perdure.core.structural import names
from perdure.ports.inspect import ScopeRecords
from perdure.service.violation import Violation

Revisions = Mapping[int, Revision | RevisionTombstone]


class Misfit(Exception):
    """A change does not fit the state it is applied to. Carries only the entry's id."""


def check_chain(scope: ScopeRecords, base: str, unread: Collection[str]) -> Iterator[Violation]:
    """The rule V-13 for every branch of a scope; what is unreadable is reported elsewhere, and so is what is
    left of a branch that was removed.
    """
    for branch_id in sorted({*scope.branches, *scope.revisions} - {*scope.removed}):
        folder = f"{base}/revisions/{branch_id}"
        path = f"{base}/branches/{branch_id}"
        revisions = scope.revisions.get(branch_id, {})
        if path in unread or any(one.startswith(f"{folder}/") for one in unread):
            continue
        branch = scope.branches.get(branch_id)
        open_one = _open_intent(scope, branch_id)
        if branch is None:
            begins = open_one is not None and not revisions and open_one.base_digest is None
            if revisions and not begins:
                yield Violation("V-13", "branch-missing", path, "revisions without a branch", "the branch")
            continue
        yield from _check_branch(branch, revisions, open_one, path, folder)


def _open_intent(scope: ScopeRecords, branch_id: str) -> Intent | None:
    """The one transaction that may be between its branch and its completion."""
    for name, intent in scope.intents.items():
        done: Completion | None = scope.completions.get(name)
        if isinstance(intent, Intent) and intent.branch_id == branch_id and done is None:
            return intent
    return None


def _check_branch(
    branch: Branch, revisions: Revisions, open_one: Intent | None, path: str, folder: str
) -> Iterator[Violation]:
    ahead = open_one is not None and branch.digest == open_one.result_digest
    chain: dict[int, Revision | RevisionTombstone] = dict(revisions)
    if ahead and open_one is not None and open_one.revision is not None:
        chain.setdefault(branch.seq, open_one.revision)
    missing = list(islice((seq for seq in range(1, branch.seq + 1) if seq not in chain), 3))
    beyond = [seq for seq in chain if seq > branch.seq]
    if missing or beyond:
        found = f"missing {missing}" if missing else f"beyond the branch: {sorted(beyond)[:3]}"
        yield Violation("V-13", "sequence", folder, found, f"revisions 1 to {branch.seq}")
        return
    if any(revision.seq != seq for seq, revision in chain.items()):
        return  # V-02 says so
    if not chain:
        if branch != empty_main(branch.project):
            yield Violation("V-13", "history", path, "a branch without history", "its revisions")
        return
    ordered = [chain[seq] for seq in sorted(chain)]
    broken = _broken_link(ordered, branch)
    if broken is not None:
        yield Violation(
            "V-13", "link", f"{folder}/{broken:08d}", "another base digest", "the one before's result"
        )
    if ordered[-1].result_digest != branch.digest:
        yield Violation("V-13", "branch-digest", path, branch.digest[:16], ordered[-1].result_digest[:16])
        return
    yield from _check_replay(branch, ordered, folder)


def _broken_link(ordered: list[Revision | RevisionTombstone], branch: Branch) -> int | None:
    main = branch.branch_id == main_branch_id(branch.project)
    before: str | None = empty_main(branch.project).digest if main else None
    for revision in ordered:
        if revision.base_digest != before:
            return revision.seq
        before = revision.result_digest
    return None


def _check_replay(
    branch: Branch, ordered: list[Revision | RevisionTombstone], folder: str
) -> Iterator[Violation]:
    forward = replay(branch, ordered)
    wrong = next(
        (seq for seq, state in forward.items() if state is None or state.digest != _result(ordered, seq)),
        None,
    )
    if wrong is None and len(forward) < len(ordered):
        wrong = _backward(branch, ordered)
    if wrong is not None:
        path = f"{folder}/{wrong:08d}"
        yield Violation("V-13", "replay", path, "its changes do not give its digest", "exactly that state")


def _result(ordered: list[Revision | RevisionTombstone], seq: int) -> str:
    return ordered[seq - 1].result_digest


def replay(like: Branch, ordered: list[Revision | RevisionTombstone]) -> dict[int, Branch | None]:
    """Build the branch after each revision, by sequence number, up to the first purged one.

    None stands where a change does not fit. Id, project and parent are those of `like`, and so is the last
    name; a state whose name a purge has hidden is left out.
    """
    called = names(like.name, ordered)
    states: dict[int, Branch | None] = {}
    entries: list[Entry] = []
    changed_ms = 0
    for revision in ordered:
        changed_ms = max(changed_ms, revision.made_ms)
        if isinstance(revision, RevisionTombstone):
            break
        try:
            for change in revision.changes:
                _apply(entries, change)
        except Misfit:
            states[revision.seq] = None
            break
        name = called[revision.seq]
        if name is not None:
            states[revision.seq] = msgspec.structs.replace(
                like, name=name, seq=revision.seq, changed_ms=changed_ms, entries=tuple(entries)
            )
    return states


def _backward(branch: Branch, ordered: list[Revision | RevisionTombstone]) -> int | None:
    """The newest revision after the last gap whose changes do not lead back to the state before it."""
    entries = list(branch.entries)
    called = names(branch.name, ordered)
    for place in range(len(ordered) - 1, 0, -1):
        revision = ordered[place]
        name = called[ordered[place - 1].seq]
        if isinstance(revision, RevisionTombstone) or name is None:
            return None
        try:
            for change in reversed(revision.changes):
                _apply(entries, Change(change.index, change.after, change.before))
        except Misfit:
            return revision.seq
        before = msgspec.structs.replace(
            branch,
            name=name,
            seq=revision.seq - 1,
            changed_ms=max(earlier.made_ms for earlier in ordered[:place]),
            entries=tuple(entries),
        )
        if before.digest != ordered[place - 1].result_digest:
            return revision.seq
    return None


def _apply(entries: list[Entry], change: Change) -> None:
    """One change, exactly as it was recorded."""
    at, before, after = change.index, change.before, change.after
    fits = 0 <= at <= len(entries) if before is None else 0 <= at < len(entries) and entries[at] == before
    if not fits:
        raise Misfit(change.entry_id)
    if before is None and after is not None:
        entries.insert(at, after)
    elif after is None:
        del entries[at]
    else:
        entries[at] = after
