"""Foreground memory: remember, replace, forget, undo, branches, history (G-04, M-05, M-09, M-12).

Every change is planned and applied under the scope's lock against the current branch, so that none is
lost, and is durable when the call returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from perdure.core.admission import Cause, Revision, RevisionTombstone
from perdure.core.duplicates import near_duplicates
from perdure.core.exchange import shown
from perdure.core.memory import (
    MAIN,
    Add,
    Branch,
    Change,
    Edit,
    EditRefused,
    Entry,
    Importance,
    Origin,
    Planned,
    Remove,
    Replace,
    check_capacity,
    find_entry,
    find_key,
    invert,
    main_branch_id,
    plan,
)
from perdure.core.proposal import check_kind
from perdure.core.structural import Revision2
from perdure.core.text import check_entry_text, check_key, normalize_key
from perdure.errors import Ambiguous, CapacityRefused, NotFound, Refused, StaleBranch, TextRefused, UsageError
from perdure.ports.clock import Clock, Ids
from perdure.ports.memory import BranchName, HeldMemory, Memory, Tombstone
from perdure.service.facts import present, present_branch, row_named
from perdure.service.transact import commit, locked

_ID = re.compile(r"[0-9a-fA-F]{16}")
BRANCH_NAME_CHARS_MAX = 60
PREFIX_DIGITS_MIN = 4


class Written(msgspec.Struct, frozen=True):
    """What a foreground change did. `changed` is False for a no-op. `similar` are near duplicates or likely
    contradictions that stand beside the entry (M-08).
    """

    changed: bool
    branch: str
    seq: int
    digest: str
    changes: tuple[Change, ...]
    similar: tuple[Entry, ...] = ()

    @property
    def entry(self) -> Entry | None:
        """The entry that the change left, if any."""
        return self.changes[0].after if self.changes else None


class MemoryService:
    """Foreground use cases on one scope."""

    def __init__(self, memory: Memory, scope: str, *, clock: Clock, ids: Ids) -> None:
        self._memory, self._scope, self._clock, self._ids = memory, scope, clock, ids

    # -- reading

    def branch(self, name: str | None = None) -> Branch:
        """The named branch as it is on disk now; without a name the selected one. Raises NotFound."""
        row = self._row(name)
        return present_branch(self._memory, self._scope, row.branch_id)

    def branches(self) -> tuple[BranchName, ...]:
        """All branches, main first; one that cannot be read is listed with its problem."""
        return self._memory.branches(self._scope)

    def selected(self) -> str:
        """The name of the branch in use."""
        return self._memory.selected(self._scope) or MAIN

    def history(self, name: str | None = None) -> tuple[Revision | RevisionTombstone, ...]:
        """The revisions of a branch, newest first; of a purged one only the tombstone is left."""
        row = self._row(name)
        seqs = reversed(self._memory.revisions(self._scope, row.branch_id))
        found = (self._memory.revision(self._scope, row.branch_id, seq) for seq in seqs)
        return tuple(revision for revision in found if revision is not None)

    def find(self, which: str, branch: Branch) -> Entry:
        """The entry meant by an id, an id's beginning, a key or a unique part of a text."""
        return find_one(which, branch)

    # -- writing

    def remember(
        self,
        text: str,
        *,
        kind: str = "project",
        key: str | None = None,
        importance: Importance = "normal",
        origin: Origin = "tool",
        branch: str | None = None,
        if_new: bool = False,
        relearn: bool = False,
    ) -> Written:
        """Add an entry; an existing key is superseded unless `if_new` (M-15). `relearn` stores again what was
        forgotten. Raises TextRefused, CapacityRefused, Refused.
        """
        clean = check_entry_text(text)
        named = check_key(key) if key is not None else None
        _check_kind(kind)
        entry_id = self._ids.token(16)

        def edits(held: HeldMemory, now: Branch) -> tuple[Edit, ...]:
            if if_new and named is not None and find_key(now, named) is not None:
                msg = f"key {named!r} is taken."
                raise Refused(msg, advice="Leave --if-new out to supersede its value.")
            if not relearn and held.buried(clean, None, 0):
                msg = "this was forgotten on purpose."
                raise Refused(msg, advice="To store it again, repeat with --relearn.")
            return (Add(clean, kind, named, importance, origin, entry_id),)

        written = self._change("remember", branch, edits)
        if not written.changed:
            return written
        now = self.branch(branch)
        others = [entry for entry in now.entries if entry.entry_id != written.changes[0].entry_id]
        return msgspec.structs.replace(written, similar=near_duplicates(clean, others, threshold=0.5))

    def replace(
        self,
        which: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        key: str | None = None,
        importance: Importance | None = None,
        expected: str | None = None,
        branch: str | None = None,
        relearn: bool = False,
    ) -> Written:
        """Change one entry, found by id, key or unique text; `expected` is its digest (M-05). `relearn` takes
        a text that was forgotten.
        """
        if text is None and kind is None and key is None and importance is None:
            msg = "nothing to change was given."
            raise UsageError(msg, advice="Give a new text, --kind, --key or --importance.")
        clean = check_entry_text(text) if text is not None else None
        named = check_key(key) if key is not None else None
        if kind is not None:
            _check_kind(kind)

        def edits(held: HeldMemory, now: Branch) -> tuple[Edit, ...]:
            change = Replace(find_one(which, now).entry_id, clean, kind, named, importance, "tool", expected)
            if not relearn:
                _plan(now, (change,), self._clock.now_ms())
                refuse_forgotten(held, (change,))
            return (change,)

        return self._change("replace", branch, edits)

    def forget(self, which: str, *, expected: str | None = None, branch: str | None = None) -> Written:
        """Remove one entry and leave a tombstone that keeps it from coming back (M-12). The tombstone is
        durable before the branch changes.
        """

        def edits(held: HeldMemory, now: Branch) -> tuple[Edit, ...]:
            entry = find_one(which, now)
            remove = Remove(entry.entry_id, expected)
            _plan(now, (remove,), self._clock.now_ms())
            when = self._clock.now_ms()
            stones = [Tombstone("text", entry.text, when), Tombstone("entry", entry.entry_id, when)]
            if entry.key is not None:
                stones.append(Tombstone("key", normalize_key(entry.key), when))
            held.bury(tuple(stones))
            return (remove,)

        return self._change("forget", branch, edits)

    def edit(
        self,
        edits: tuple[Edit, ...],
        *,
        planned_on: str,
        cause: Cause = "edit",
        branch: str | None = None,
        relearn: bool = False,
    ) -> Written:
        """Apply a plan that was made on the branch digest `planned_on` (M-05).

        Raises StaleBranch, and Refused when it would bring back what was forgotten, unless `relearn`.
        """

        def check(held: HeldMemory, now: Branch) -> tuple[Edit, ...]:
            if now.digest != planned_on:
                msg = f"branch {now.name!r}: planned on {planned_on[:12]}, found {now.digest[:12]}."
                raise StaleBranch(msg, advice="Nothing was changed. Read it again and retry.")
            if not relearn:
                _plan(now, edits, self._clock.now_ms())
                refuse_forgotten(held, edits)
            return edits

        return self._change(cause, branch, check)

    def undo(self, seq: int | None = None, *, branch: str | None = None) -> Written:
        """Invert one revision, by default the newest (M-09). Unrelated later writes survive.

        Raises Refused when that would bring back what was forgotten since (M-12).
        """
        row = self._row(branch)
        with locked(self._memory, self._scope) as held:
            now = present(held.branch(row.branch_id), self._scope, row.branch_id)
            revision = self._undoable(row, seq)
            now_ms = self._clock.now_ms()
            try:
                planned = invert(now, revision.changes, now_ms=now_ms)
                check_capacity(now, planned.branch)
            except EditRefused as refused:
                msg = f"revision {revision.seq} cannot be undone: {refused.message}."
                raise Refused(msg, advice="perdure history shows what came after it.") from refused
            _refuse_undoing(held, revision.seq, planned.changes)
            return self._commit(held, "undo", now, planned, now_ms, undoes=revision.seq)

    def fork(self, name: str, *, source: str | None = None) -> BranchName:
        """Make an independent copy of a branch under a new name (M-02)."""
        check_branch_name(name)
        origin = self._row(source)
        with locked(self._memory, self._scope) as held:
            if any(row.name == name for row in self._memory.branches(self._scope)):
                msg = f"a branch {name!r} exists already."
                raise Refused(msg, advice=f"perdure branch use {name} switches to it.")
            base = present(held.branch(origin.branch_id), self._scope, origin.branch_id)
            now_ms = self._clock.now_ms()
            copy = msgspec.structs.replace(
                base,
                branch_id=self._ids.token(16),
                name=name,
                parent=base.branch_id,
                seq=1,
                changed_ms=now_ms,
            )
            changes = tuple(Change(place, None, entry) for place, entry in enumerate(copy.entries))
            commit(
                held,
                transaction=self._ids.token(32),
                cause="fork",
                base=None,
                after=copy,
                changes=changes,
                now_ms=now_ms,
            )
        return BranchName(copy.branch_id, name, copy.parent, len(copy.entries), copy.seq)

    def use(self, name: str) -> None:
        """Choose the branch that later commands work on; under the lock, lest it is removed meanwhile."""
        with self._memory.hold(self._scope):
            self._memory.select(self._scope, name)

    # -- inside

    def _change(
        self, cause: Cause, branch: str | None, make: Callable[[HeldMemory, Branch], tuple[Edit, ...]]
    ) -> Written:
        row = self._row(branch)
        with locked(self._memory, self._scope) as held:
            now = present(held.branch(row.branch_id), self._scope, row.branch_id)
            now_ms = self._clock.now_ms()
            planned = _plan(now, make(held, now), now_ms)
            return self._commit(held, cause, now, planned, now_ms)

    def _commit(
        self,
        held: HeldMemory,
        cause: Cause,
        now: Branch,
        planned: Planned,
        now_ms: int,
        *,
        undoes: int | None = None,
    ) -> Written:
        if planned.changes:
            commit(
                held,
                transaction=self._ids.token(32),
                cause=cause,
                base=now,
                after=planned.branch,
                changes=planned.changes,
                undoes=undoes,
                now_ms=now_ms,
            )
        after = planned.branch
        return Written(bool(planned.changes), after.name, after.seq, after.digest, planned.changes)

    def _undoable(self, row: BranchName, seq: int | None) -> Revision:
        seqs = self._memory.revisions(self._scope, row.branch_id)
        if not seqs:
            msg = f"branch {row.name!r} has no history to undo."
            raise NotFound(msg)
        wanted = seqs[-1] if seq is None else seq
        revision = self._memory.revision(self._scope, row.branch_id, wanted) if wanted in seqs else None
        if revision is None:
            msg = f"branch {row.name!r} has no revision {wanted}."
            raise NotFound(msg, advice="perdure history lists them.")
        if isinstance(revision, RevisionTombstone):
            msg = f"revision {wanted} was purged: its text is gone for good."
            raise Refused(msg)
        if revision.cause == "forget":
            msg = f"revision {wanted} forgot something on purpose; that is not undone."
            raise Refused(msg, advice="To store it again, use perdure remember --relearn.")
        if isinstance(revision, Revision2):
            what = "renamed the branch" if revision.renamed is not None else "moved entries between memories"
            msg = f"revision {revision.seq} {what}; that is not undone."
            raise Refused(msg, advice="perdure branch rename and perdure move take it back.")
        if revision.cause == "fork":
            msg = f"revision {wanted} made the branch; that is not undone."
            raise Refused(msg)
        return revision

    def _row(self, name: str | None) -> BranchName:
        wanted = name or self.selected()
        if wanted == MAIN:
            return BranchName(main_branch_id(self._scope), MAIN, None, 0, 0)
        return row_named(self._memory.branches(self._scope), wanted)


def refuse_forgotten(held: HeldMemory, edits: tuple[Edit, ...]) -> None:
    """Raise Refused, naming all of them, when edits bring back texts that were forgotten (M-12)."""
    texts = [edit.text for edit in edits if isinstance(edit, Add | Replace) and edit.text is not None]
    back = [text for text in texts if held.buried(text, None, 0)]
    if back:
        listed = "; ".join(repr(shown(text)) for text in back)
        msg = f"{len(back)} texts were forgotten on purpose: {listed}."
        raise Refused(msg, advice="Nothing was changed. To store them again, repeat with --relearn.")


def _refuse_undoing(held: HeldMemory, seq: int, changes: tuple[Change, ...]) -> None:
    texts = [c.after.text for c in changes if c.after is not None and c.after.text != _text(c.before)]
    back = [text for text in texts if held.buried(text, None, 0)]
    if back:
        listed = "; ".join(repr(shown(text)) for text in back)
        msg = f"undoing revision {seq} would bring back what was forgotten on purpose: {listed}."
        raise Refused(msg, advice="To store it again, use perdure remember --relearn.")


def _text(entry: Entry | None) -> str | None:
    return entry.text if entry is not None else None


def find_one(which: str, branch: Branch) -> Entry:
    """By id, key, beginning of an id, or a unique part of a text. Raises NotFound, Ambiguous."""
    if not which.strip():
        msg = "no entry was named."
        raise UsageError(msg, advice="Give an id, a key or part of the text.")
    exact = find_entry(branch, which) or find_key(branch, which)
    if exact is not None:
        return exact
    folded = normalize_key(which)
    begins = [e for e in branch.entries if len(which) >= PREFIX_DIGITS_MIN and e.entry_id.startswith(which)]
    matches = begins or [entry for entry in branch.entries if folded in normalize_key(entry.text)]
    if not matches:
        msg = f"no entry on branch {branch.name!r} has the id, key or text {which!r}."
        raise NotFound(msg, advice="perdure list shows the ids.")
    whole = [entry for entry in matches if normalize_key(entry.text) == folded]
    if len(matches) > 1 and len(whole) != 1:
        listed = ", ".join(entry.entry_id for entry in matches[:5])
        msg = f"{len(matches)} entries match {which!r}: {listed}."
        raise Ambiguous(msg, advice="Name one by its id.")
    return whole[0] if len(whole) == 1 else matches[0]


def _plan(now: Branch, edits: tuple[Edit, ...], now_ms: int) -> Planned:
    try:
        planned = plan(now, edits, now_ms=now_ms)
        check_capacity(now, planned.branch)
    except EditRefused as refused:
        if refused.code == "changed":
            raise StaleBranch(f"{refused.message}.", advice="Read it again and retry.") from refused
        if refused.code in {"capacity", "too-long"}:
            advice = "Forget or shorten entries first: perdure list shows them."
            raise CapacityRefused(f"{refused.message}.", advice=advice) from refused
        raise refusal(refused) from refused
    return planned


def refusal(refused: EditRefused, *, advice: str = "") -> Refused:
    """The error of an edit that a rule forbids; a secret keeps its code."""
    if refused.code == "secret":
        return TextRefused(refused.code, f"{refused.message}.", advice="Say where it is kept instead.")
    return Refused(f"{refused.message}.", advice=advice)


def _check_kind(kind: str) -> None:
    fault = check_kind(kind)
    if fault:
        raise UsageError(f"{fault}.", advice="Use user, project, agent or a word of your own.")


def check_branch_name(name: str) -> None:
    """Raise when that cannot name a branch: UsageError, TextRefused."""
    if name.casefold() == MAIN:
        msg = f"{name!r} cannot name a new branch: every memory has {MAIN!r} from the start."
        raise UsageError(msg, advice="Choose another name.")
    plain = name.isprintable() and name == name.strip() and not name.startswith("-")
    strange = _like_a_path(name) or _ID.fullmatch(name) is not None
    if not plain or len(name) > BRANCH_NAME_CHARS_MAX or strange:
        msg = (
            f"{name[:BRANCH_NAME_CHARS_MAX]!r} cannot name a branch: a name has 1 to {BRANCH_NAME_CHARS_MAX} "
            'printable characters, begins with no "-", is no path, and not 16 hex digits as ids are.'
        )
        raise UsageError(msg, advice="Choose another name.")
    try:
        check_key(name)
    except TextRefused as refused:
        message = refused.message.replace("The key", "The branch name").replace("such keys", "such names")
        message = message.replace("a key", "a branch name")
        raise TextRefused(refused.code, message, advice="Choose another name.") from refused


def _like_a_path(name: str) -> bool:
    """Whether a name would lead elsewhere where somebody takes it for a path; "feature/tea" does not."""
    return "\\" in name or any(part in {"", ".", ".."} for part in name.split("/"))
