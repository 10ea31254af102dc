"""Verify: compute every digest and every derived state again from the records, and report differences (X-03).

A *fault* breaks a promise and makes the exit status 1; a *warning* weakens one; a *note* is worth knowing.
Findings hold paths, ids and digests, never the text of memory or evidence (E-06).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from perdure.core.admission import Revision
from perdure.core.attempt import day_of
from perdure.core.memory import Change, Entry
from perdure.core.secrets import find_secrets
from perdure.errors import Damaged
from perdure.ports.claims import Claims
from perdure.ports.index import FeatureIndex, Standing
from perdure.ports.inspect import Found, Inspect, ScopeRecords, Snapshot
from perdure.service.invariants import check_invariants, check_rest, rule_text
from perdure.service.violation import place

Severity = Literal["fault", "warning", "note"]

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_WORKER_DIGITS = 32
_HEX = frozenset("0123456789abcdef")

_ADVICE = {
    "damaged": "perdure verify --restore mends branches; any other damaged record stops its own item only.",
    "newer": "It was written by a newer Perdure and is left untouched; use that version.",
    "branch-missing": "perdure verify --restore writes it again from its revisions.",
    "branch-digest": "Perdure did not write that. perdure verify --restore writes it from its revisions.",
    "selected": "perdure branch use main chooses one that is there.",
    "forgotten": "Forget it again with perdure forget, and please report this.",
    "second-effect": "Undo one of the two with perdure undo, and please report this.",
}
_IDENTITY_ADVICE = "Move that file away, then run perdure init in the project: it is written again."
_OTHERWISE = "Nothing was changed. Keep the folder as it is and please report this."


class Finding(msgspec.Struct, frozen=True):
    """One difference: where, what was found, what was expected, what to do."""

    severity: Severity
    code: str
    path: str
    found: str
    expected: str
    advice: str


class Verified(msgspec.Struct, frozen=True):
    """What was looked at, and what was found; `ok` is False when there is a fault."""

    findings: tuple[Finding, ...]
    branches: int
    revisions: int
    jobs: int
    attempts: int
    files: int
    workers: tuple[str, ...]
    index: Standing
    """Of recall; derived, so that damage to it is a note."""

    @property
    def ok(self) -> bool:
        """Whether every promise that records can prove is kept."""
        return all(finding.severity != "fault" for finding in self.findings)


def unopened(damaged: Damaged) -> Verified:
    """What can be said of a home whose own file, `format` or `key`, cannot be read."""
    finding = Finding(
        severity="fault",
        code="damaged",
        path=damaged.path,
        found=damaged.reason,
        expected="the home's own record, without which nothing else is opened",
        advice=f"Put {damaged.path} back from a copy of the home; nothing else was touched. Without a copy "
        "keep the folder, set PERDURE_HOME to a new one, and run perdure init.",
    )
    nothing = Standing(parts=0, entries=0)
    return Verified(
        (finding,), branches=0, revisions=0, jobs=0, attempts=0, files=0, workers=(), index=nothing
    )


class VerifyService:
    """Looks at all of a home without changing anything and without a lock."""

    def __init__(self, inspect: Inspect, claims: Claims, index: FeatureIndex) -> None:
        self._inspect, self._claims, self._index = inspect, claims, index

    def verify(self) -> Verified:
        """Check everything. A record that was published while the look was taken may be reported as out of
        order; a second look then finds it in order.
        """
        snapshot = self._settled()
        files = self._inspect.files()
        gone = {worker: self._claims.gone(worker) for worker in _workers(files)}
        index = self._index.standing()
        findings = (
            *_broken(snapshot),
            *_unfinished(snapshot, gone),
            *_files(files, set(snapshot.foreign)),
            *_foreign(snapshot),
            *_texts(snapshot),
            *_still_there(snapshot),
            *_unusable(index),
            *_home(self._inspect.stopped(), self._inspect.temporaries(), gone),
        )
        return Verified(
            findings=tuple(
                sorted(findings, key=lambda one: ("fault warning note".find(one.severity), one.path))
            ),
            branches=sum(len(scope.branches) for scope in snapshot.scopes.values()),
            revisions=sum(len(r) for scope in snapshot.scopes.values() for r in scope.revisions.values()),
            jobs=len(snapshot.jobs),
            attempts=len(snapshot.attempts),
            files=len(files),
            workers=tuple(sorted(worker for worker, dead in gone.items() if not dead)),
            index=index,
        )

    def _settled(self) -> Snapshot:
        """A look that finds something broken is taken once more: a writer may have been in between."""
        snapshot = self._inspect.snapshot()
        return self._inspect.snapshot() if check_invariants(snapshot) else snapshot


def _broken(snapshot: Snapshot) -> Iterator[Finding]:
    for violation in check_invariants(snapshot):
        yield Finding(
            severity="warning" if violation.code == "newer" else "fault",
            code=violation.code,
            path=violation.path,
            found=violation.found,
            expected=f"{violation.expected} ({violation.invariant}: {rule_text(violation.invariant)})",
            advice=_IDENTITY_ADVICE
            if violation.code == "damaged" and violation.path.endswith("/project.json")
            else _ADVICE.get(violation.code, _OTHERWISE),
        )


def _unfinished(snapshot: Snapshot, gone: dict[str, bool]) -> Iterator[Finding]:
    """Open jobs are normal. What a crash left half done is finished by the next command of its kind."""
    owners = {
        f"attempts/{day_of(attempt.attempt_id)}/{attempt.attempt_id}": attempt.reserved.worker
        for attempt in snapshot.attempts
        if attempt.reserved is not None
    }
    for left in check_rest(snapshot):
        if left.code == "open-job" or not gone.get(owners.get(left.path, ""), True):
            continue
        advice = "perdure review --once finishes it."
        if left.code == "open-move":
            advice = "The next command that writes to that memory finishes it."
        yield Finding("note", left.code, left.path, left.found, left.expected, advice)


def _files(files: tuple[Found, ...], foreign: set[str]) -> Iterator[Finding]:
    """Private from the first byte (E-04). Links are never followed, and named to be removed.

    The modes of what Perdure did not write, and ignores, are their owner's.
    """
    for one in files:
        if one.kind in {"file", "folder"} and _is_foreign(one.path, foreign):
            continue
        wanted = FOLDER_MODE if one.kind == "folder" else FILE_MODE
        if one.kind == "symlink":
            advice = "Perdure does not follow it. Remove it, or move the whole home instead."
            yield Finding("warning", "symlink", one.path, "a symbolic link", "a file or folder", advice)
        elif one.kind == "other":
            advice = "Perdure does not read it. Remove it."
            yield Finding("note", "special-file", one.path, "neither file nor folder", "a file", advice)
        elif one.mode != wanted:
            open_to_others = bool(one.mode & 0o077) and one.path != "config.toml"  # the user's, no secrets
            advice = f"Run: chmod {wanted:o} on it."
            yield Finding(
                "fault" if open_to_others else "warning",
                "permissions",
                one.path,
                f"mode {one.mode:04o}",
                f"mode {wanted:04o}",
                advice,
            )
        elif one.kind == "file" and one.links > 1 and not one.path.startswith("tmp/"):
            advice = "Remove the other name; Perdure does not read a record with two names."
            yield Finding("warning", "hard-link", one.path, f"{one.links} names", "one name", advice)


def _is_foreign(path: str, foreign: set[str]) -> bool:
    """Whether a name, or a folder that it stands in, is that of no record."""
    parts = path.split("/")
    return any("/".join(parts[:count]) in foreign for count in range(1, len(parts) + 1))


def _foreign(snapshot: Snapshot) -> Iterator[Finding]:
    """Q-13: a foreign file is named and otherwise ignored."""
    for path in snapshot.foreign:
        advice = "Perdure ignores it; remove it if it is yours."
        yield Finding("note", "foreign", path, "a name that no record has", "records only", advice)


def _texts(snapshot: Snapshot) -> Iterator[Finding]:
    """E-03: no text that is kept holds a secret. Each text is looked at once."""
    known: dict[str, str | None] = {}
    for path, text in _kept(snapshot):
        if text not in known:
            found = find_secrets(text)
            known[text] = found[0].kind if found else None
        kind = known[text]
        if kind is not None:
            advice = "Change that credential, then remove it with perdure forget --everywhere."
            yield Finding("fault", "secret", path, f"what looks like a secret ({kind})", "none", advice)


def _kept(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Every text of memory and evidence, with the path of its record."""
    for job_id, job in snapshot.jobs.items():
        for turn in job.evidence.turns:
            for line in turn.lines:
                yield f"spool/jobs/{job_id}", line.text
    for job_id, decision in snapshot.decisions.items():
        if decision.proposal is not None:
            yield f"spool/decisions/{job_id}", decision.proposal
    for scope in snapshot.scopes.values():
        yield from _kept_in(scope)


def _kept_in(scope: ScopeRecords) -> Iterator[tuple[str, str]]:
    base = place(scope.scope)
    for branch_id, branch in scope.branches.items():
        for entry in branch.entries:
            yield f"{base}/branches/{branch_id}", _words(entry)
    for branch_id, revisions in scope.revisions.items():
        for seq, revision in revisions.items():
            if isinstance(revision, Revision):
                path = f"{base}/revisions/{branch_id}/{seq:08d}"
                yield from ((path, text) for change in revision.changes for text in _changed(change))


def _changed(change: Change) -> Iterator[str]:
    for entry in (change.before, change.after):
        if entry is not None:
            yield _words(entry)


def _words(entry: Entry) -> str:
    return f"{entry.key}: {entry.text}" if entry.key is not None else entry.text


def _still_there(snapshot: Snapshot) -> Iterator[Finding]:
    """A text that was forgotten on one branch and stands on another; relearned ones are newer than that."""
    for scope in snapshot.scopes.values():
        for buried in scope.buried:
            branch = scope.branches[buried.branch_id]
            entry = next(entry for entry in branch.entries if entry.entry_id == buried.entry_id)
            if entry.updated_ms <= buried.forgotten_ms:
                path = f"{place(scope.scope)}/branches/{buried.branch_id}"
                advice = f"perdure forget {entry.entry_id} --everywhere removes it there, too."
                found = f"entry {entry.entry_id}, forgotten on another branch"
                yield Finding(
                    "note", "forgotten-elsewhere", path, found, "nothing, or a choice of yours", advice
                )


def _unusable(index: Standing) -> Iterator[Finding]:
    """R-09: what is torn, or of another version, is made again."""
    for path in index.damaged:
        found, expected = "what is torn or of another version", "an index that agrees with its digest"
        advice = "Nothing is lost: the next recall there makes it again, or remove the file."
        yield Finding("note", "index", path, found, expected, advice)


def _home(stopped: str | None, temporaries: int, gone: dict[str, bool]) -> Iterator[Finding]:
    if stopped is not None:
        advice = "Check the disk, then run perdure home resume."
        yield Finding("fault", "stopped", "run/stop", stopped, "a disk that confirms writes", advice)
    if temporaries:
        advice = "Those of dead processes go with the next run of a worker."
        yield Finding("note", "temporaries", "tmp", f"{temporaries} temporary files", "none at rest", advice)
    for worker, dead in gone.items():
        if dead:
            advice = "Its work is taken over by the next worker."
            yield Finding(
                "note", "dead-worker", f"run/workers/{worker}", "a dead worker's file", "none", advice
            )


def _workers(files: tuple[Found, ...]) -> list[str]:
    prefix = "run/workers/"
    found = [one for one in files if one.kind == "file" and one.path.startswith(prefix)]
    names = (one.path.removeprefix(prefix) for one in found)
    return [name for name in names if len(name) == _WORKER_DIGITS and _HEX.issuperset(name)]
