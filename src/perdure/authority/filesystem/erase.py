"""The Erase port on files."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perdure.authority.filesystem import index, layout, projects
from perdure.authority.filesystem.inspect import walk
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Revision, RevisionTombstone, revision_tombstone
from perdure.core.attempt import Reserved, Result
from perdure.core.job import is_job_id, lane_of
from perdure.core.record import Record
from perdure.core.structural import Revision2
from perdure.errors import StorageError
from perdure.ports.erase import Holds, Place, PurgePlan

COPY_BYTES_MAX = 64 * 1024 * 1024
PURGED = "purged"
_PLAN_DIGITS = 32
_OF_JOBS = ("receipts", "outcomes", "mailbox", "admissions")
_SPOOLS = (layout.SPOOL_JOBS, layout.SPOOL_DECISIONS)
_COPIES = (layout.QUARANTINE, layout.INDEX, layout.DRAFTS)
_TEMPORARIES = "tmp"


class FileErase:
    """See `perdure.ports.erase.Erase`."""

    def __init__(self, records: Records) -> None:
        self._records, self._disk = records, records.disk

    def places(self, scope: str, holds: Holds) -> tuple[Place, ...]:
        """See `Erase.places`."""
        found = (*self._in_scope(scope), *self._in_spool(scope), *self._results(scope), *self._copies())
        return tuple(place for place in found if self._holds(place.path, holds))

    def other_scopes(self, scope: str, holds: Holds) -> tuple[str, ...]:
        """See `Erase.other_scopes`."""
        others = [other for other in (layout.USER_SCOPE, *projects.keys(self._records)) if other != scope]
        return tuple(
            other
            for other in others
            if any(self._holds(p.path, holds) for p in (*self._in_scope(other), *self._in_spool(other)))
        )

    def redact_revision(self, scope: str, branch_id: str, seq: int) -> bool:
        """See `Erase.redact_revision`."""
        path = layout.revision(scope, branch_id, seq)
        found: Record | None = self._records.found_changing(path, Revision, Revision2, RevisionTombstone)
        if not isinstance(found, Revision):
            return False
        self._records.replace(path, revision_tombstone(found))
        return True

    def redact_result(self, attempt_id: str) -> bool:
        """See `Erase.redact_result`."""
        path = layout.attempt(attempt_id, "result")
        found = self._records.found_changing(path, Result)
        if found is None or found.detail == PURGED:
            return False
        bare = msgspec.structs.replace(
            found,
            detail=PURGED,
            proposal=None,
            proposal_digest=None,
            correction=None,
            provider_request_id=None,
        )
        self._records.replace(path, bare)
        return True

    def remove_copies(self, paths: tuple[str, ...]) -> int:
        """See `Erase.remove_copies`."""
        self._disk.sweep_temporaries()
        self._records.sync_folders(_TEMPORARIES)
        return self._records.remove(*paths)

    def remove_exposures(self, scope: str) -> None:
        """See `Erase.remove_exposures`."""
        folder = f"{layout.scope_folder(scope)}/exposure"
        shown = [f"{folder}/{name}" for name in self._disk.names(folder)]
        self._records.remove(*shown, *index.paths_of_scope(self._disk, scope))

    def settle(self, scope: str) -> None:
        """See `Erase.settle`: one sync for each folder that was looked through."""
        base = layout.scope_folder(scope)
        days = [f"{layout.ATTEMPTS}/{day}" for day in self._disk.names(layout.ATTEMPTS)]
        folders = [_TEMPORARIES, *_SPOOLS, layout.ATTEMPTS, *days, base]
        folders += (found.path for found in walk(self._disk, base) if found.kind == "folder")
        for copies in _COPIES:
            folders.append(copies)
            folders += (found.path for found in walk(self._disk, copies) if found.kind == "folder")
        known = ((folder, self._disk.info(folder)) for folder in folders)
        self._records.sync_folders(*(f for f, info in known if info is not None and info.kind == "folder"))

    def plans(self, scope: str) -> tuple[PurgePlan, ...]:
        """See `Erase.plans`."""
        folder = _plans(scope)
        names = sorted(name for name in self._disk.names(folder) if len(name) == _PLAN_DIGITS)
        found = (self._records.found_changing(f"{folder}/{name}", PurgePlan) for name in names)
        return tuple(plan for plan in found if plan is not None)

    def put_plan(self, plan: PurgePlan) -> None:
        """See `Erase.put_plan`."""
        self._records.ensure_folders(_plans(plan.scope))
        self._records.replace(f"{_plans(plan.scope)}/{plan.plan_id}", plan)

    def drop_plan(self, plan: PurgePlan) -> None:
        """See `Erase.drop_plan`."""
        self._records.remove(f"{_plans(plan.scope)}/{plan.plan_id}")

    def _holds(self, path: str, holds: Holds) -> bool:
        """What vanished, or cannot be read at all, holds nothing here; verify names it."""
        try:
            data = self._disk.read(path, bytes_max=COPY_BYTES_MAX)
        except StorageError:
            return False
        return data is not None and holds(data)

    def _in_scope(self, scope: str) -> Iterator[Place]:
        base = layout.scope_folder(scope)
        for found in walk(self._disk, base):
            if found.kind != "file":
                continue
            folder, _, name = found.path.removeprefix(f"{base}/").rpartition("/")
            if folder == "branches":
                yield Place("branch", found.path, name)
            elif folder.startswith("revisions/") and name.isdigit():
                yield Place("revision", found.path, folder.removeprefix("revisions/"), int(name))
            elif folder in _OF_JOBS and is_job_id(name.partition(".")[0]):
                yield Place("job", found.path, name.partition(".")[0])
            else:
                yield Place("other", found.path, name)

    def _in_spool(self, scope: str) -> Iterator[Place]:
        for folder in _SPOOLS:
            for name in sorted(self._disk.names(folder)):
                if is_job_id(name) and lane_of(name).project == scope:
                    yield Place("job", f"{folder}/{name}", name)

    def _results(self, scope: str) -> Iterator[Place]:
        """Results of the scope's jobs; one whose job cannot be told is looked at too."""
        for day in sorted(self._disk.names(layout.ATTEMPTS)):
            for name in sorted(self._disk.names(f"{layout.ATTEMPTS}/{day}")):
                attempt, _, part = name.rpartition(".")
                if part == "result" and self._owner(attempt) in {scope, None}:
                    yield Place("result", f"{layout.ATTEMPTS}/{day}/{name}", attempt)

    def _owner(self, attempt: str) -> str | None:
        try:
            reserved = self._records.read(layout.attempt(attempt, "reserved"), Reserved)
        except StorageError:
            return None
        return lane_of(reserved.job_id).project if reserved is not None else None

    def _copies(self) -> Iterator[Place]:
        for folder in _COPIES:
            for found in walk(self._disk, folder):
                if found.kind == "file":
                    yield Place("copy", found.path)


def _plans(scope: str) -> str:
    return f"{layout.scope_folder(scope)}/purges"
