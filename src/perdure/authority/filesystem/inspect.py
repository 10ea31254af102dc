"""The Inspect port on files: every record of a home, read through the Disk port alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import msgspec

from perdure.authority.filesystem import layout, projects
from perdure.authority.filesystem.attempts import PARTS, is_part, with_part
from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Disk
from perdure.authority.filesystem.home import HomeKey
from perdure.authority.filesystem.mailbox import KEPT, SHOWN
from perdure.authority.filesystem.memory import Buried as Stone
from perdure.authority.filesystem.memory import stone_name
from perdure.authority.filesystem.projects import ProjectFile
from perdure.authority.filesystem.quarantine import copy_aside
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.structural import Selected, is_move_id
from perdure.core.admission import (
    Completion,
    Event,
    Intent,
    IntentTombstone,
    Outcome,
    OutcomeTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
)
from perdure.core.attempt import Attempt
from perdure.core.claim import Claim
from perdure.core.decision import Decision
from perdure.core.job import Job, is_job_id
from perdure.core.mailbox import Shown
from perdure.core.memory import Branch
from perdure.core.move import Arrival, Move
from perdure.core.record import RECORD_BYTES_MAX, Record
from perdure.core.structural import BranchTombstone, Intent2, Revision2
from perdure.errors import Damaged, DiskFailed, NewerVersion, StorageError
from perdure.ports.coverage import Uncovered
from perdure.ports.inspect import Buried, Found, ScopeRecords, Snapshot, Unread
from perdure.ports.retain import DayTotals

R = TypeVar("R", bound=Record)

_HEX = frozenset("0123456789abcdef")
_CLAIM_NAME_DIGITS = 32 + 1 + 8
_DEPTH_MAX = 8
_HOME_NAMES = {
    *(folder.split("/")[0] for folder in layout.HOME_FOLDERS),
    layout.USER_SCOPE,
    layout.FORMAT,
    layout.KEY,
    layout.CONFIG,
}
_SCOPE_NAMES = {
    *layout.SCOPE_FOLDERS,
    "arrivals",
    "exposure",
    "moves",
    "project.json",
    "purges",
    "selected",
}


def load_snapshot(records: Records) -> Snapshot:
    """Read every record; what cannot be read is listed, never raised."""
    return _Loader(records).load()


class FileInspect:
    """See `perdure.ports.inspect.Inspect`."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def snapshot(self) -> Snapshot:
        """See `Inspect.snapshot`."""
        return load_snapshot(self._records)

    def files(self) -> tuple[Found, ...]:
        """See `Inspect.files`."""
        return tuple(walk(self._records.disk))

    def temporaries(self) -> int:
        """See `Inspect.temporaries`."""
        return len(self._records.disk.names(TEMPORARY_FOLDER))

    def stopped(self) -> str | None:
        """See `Inspect.stopped`."""
        try:
            self._records.check_writable()
        except DiskFailed as error:
            return error.message
        return None

    def copy_aside(self, path: str, reason: str) -> str | None:
        """See `Inspect.copy_aside`."""
        return copy_aside(self._records, path, reason).path if self._records.disk.info(path) else None

    def salvage(self, path: str) -> Mapping[str, object]:
        """See `Inspect.salvage`."""
        try:
            data = self._records.disk.read(path, bytes_max=RECORD_BYTES_MAX)
            loose = msgspec.json.decode(data or b"{}")
        except (StorageError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return {}
        body = loose.get("body") if isinstance(loose, dict) else None
        return body if isinstance(body, dict) else {}


def walk(disk: Disk, folder: str = "", depth: int = 0) -> Iterator[Found]:
    """Everything below a folder, in the order of names; links are named and not followed."""
    for name in sorted(disk.names(folder)):
        path = f"{folder}/{name}" if folder else name
        found = disk.info(path)
        if found is None:
            continue
        yield Found(path, found.kind, found.mode, found.links)
        if found.kind == "folder" and depth < _DEPTH_MAX:
            yield from walk(disk, path, depth + 1)


class _Loader:
    def __init__(self, records: Records) -> None:
        self._records, self._disk = records, records.disk
        self._unread: list[Unread] = []
        self._foreign: list[str] = []
        found = self._read(layout.KEY, HomeKey)
        self._key = bytes.fromhex(found.key) if found is not None else None

    def load(self) -> Snapshot:
        self._stray("", _HOME_NAMES)
        keys = projects.keys(self._records)
        names = sorted(self._disk.names(layout.PROJECTS))
        self._foreign += [f"{layout.PROJECTS}/{name}" for name in names if name not in keys]
        scopes = [layout.USER_SCOPE, *keys]
        return Snapshot(
            scopes={scope: self._scope(scope) for scope in scopes},
            jobs=self._each(layout.SPOOL_JOBS, is_job_id, Job),
            decisions=self._each(layout.SPOOL_DECISIONS, is_job_id, Decision),
            claims=self._claims(),
            attempts=self._attempts(),
            totals=self._each(layout.BUDGETS, _is_day, DayTotals),
            unread=tuple(self._unread),
            foreign=tuple(self._foreign),
        )

    def _scope(self, scope: str) -> ScopeRecords:
        base = layout.scope_folder(scope)
        self._stray(base, _SCOPE_NAMES)
        if scope != layout.USER_SCOPE:
            path = f"{base}/project.json"
            found = self._read(path, ProjectFile)
            if found is not None and found.key != scope:
                self._unread.append(Unread(path, f"it is the identity of {found.key}", newer=False))
        standing: dict[str, Record] = self._each(
            f"{base}/branches", lambda name: _is_hex(name, 16), Branch, BranchTombstone
        )
        branches = {name: record for name, record in standing.items() if isinstance(record, Branch)}
        intents: dict[str, Record] = self._each(
            f"{base}/admissions", _is_transaction, Intent, Intent2, IntentTombstone, others=_is_completion
        )
        done = self._each(
            f"{base}/admissions", _is_completion, Completion, others=_is_transaction, quiet=True
        )
        outcomes: dict[str, Record] = self._each(f"{base}/outcomes", is_job_id, Outcome, OutcomeTombstone)
        stones = self._each(f"{base}/tombstones", lambda name: _is_hex(name, 64), Stone)
        kept = self._each(f"{base}/mailbox", _is_kept, Event, quiet=True)
        shown = self._each(f"{base}/mailbox", _is_shown, Shown, quiet=True)
        chosen = self._read(layout.selected(scope), Selected)
        return ScopeRecords(
            scope=scope,
            branches=branches,
            revisions=self._revisions(f"{base}/revisions"),
            intents={n: r for n, r in intents.items() if isinstance(r, Intent | IntentTombstone)},
            completions={name.removesuffix(".done"): record for name, record in done.items()},
            receipts=self._each(f"{base}/receipts", is_job_id, Receipt),
            outcomes={n: r for n, r in outcomes.items() if isinstance(r, Outcome | OutcomeTombstone)},
            events=self._each(
                f"{base}/mailbox", is_job_id, Event, others=lambda name: _is_kept(name) or _is_shown(name)
            ),
            kept={name.removesuffix(KEPT): record for name, record in kept.items()},
            shown={name.removesuffix(SHOWN): record for name, record in shown.items()},
            uncovered=self._each(f"{base}/coverage", lambda name: _is_hex(name, 32), Uncovered),
            buried=tuple(self._buried(branches, stones)),
            removed={n: r for n, r in standing.items() if isinstance(r, BranchTombstone)},
            moves=self._each(layout.moves(scope), is_move_id, Move),
            arrivals=self._each(layout.arrivals(scope), is_move_id, Arrival),
            selected=chosen.name if chosen is not None else None,
        )

    def _stray(self, folder: str, ours: set[str]) -> None:
        """Note what else lies in a folder of folders."""
        names = sorted(self._disk.names(folder))
        self._foreign += [f"{folder}/{name}" if folder else name for name in names if name not in ours]

    def _revisions(self, base: str) -> dict[str, dict[int, Revision | RevisionTombstone]]:
        found: dict[str, dict[int, Revision | RevisionTombstone]] = {}
        for branch_id in sorted(self._disk.names(base)):
            if not _is_hex(branch_id, 16):
                self._foreign.append(f"{base}/{branch_id}")
                continue
            read: dict[str, Record] = self._each(
                f"{base}/{branch_id}", _is_seq, Revision, Revision2, RevisionTombstone
            )
            found[branch_id] = {
                int(name): record
                for name, record in read.items()
                if isinstance(record, Revision | RevisionTombstone)
            }
        return found

    def _claims(self) -> dict[str, Claim]:
        def is_claim(name: str) -> bool:
            return len(name) == _CLAIM_NAME_DIGITS and _is_hex(name[:32], 32) and _is_seq(name[33:])

        return self._each(
            layout.SPOOL_LANES, is_claim, Claim, others=lambda n: is_claim(n.removesuffix(".released"))
        )

    def _attempts(self) -> tuple[Attempt, ...]:
        known: dict[str, Attempt] = {}
        for day in sorted(self._disk.names(layout.ATTEMPTS)):
            folder = f"{layout.ATTEMPTS}/{day}"
            if not _is_day(day):
                self._foreign.append(folder)
                continue
            for name in sorted(self._disk.names(folder)):
                if not is_part(name):
                    self._foreign.append(f"{folder}/{name}")
                    continue
                attempt_id, _, part = name.rpartition(".")
                before = known.get(attempt_id) or Attempt(reserved=None, attempt_id=attempt_id)
                unread = len(self._unread)
                record = self._read(f"{folder}/{name}", PARTS[part])
                if record is not None:
                    known[attempt_id] = with_part(before, part, record)
                elif len(self._unread) > unread:
                    known[attempt_id] = msgspec.structs.replace(before, damaged=f"{folder}/{name}")
        return tuple(known[name] for name in sorted(known))

    def _buried(self, branches: Mapping[str, Branch], stones: Mapping[str, Stone]) -> Iterator[Buried]:
        if self._key is None:
            return
        for branch in branches.values():
            for entry in branch.entries:
                stone = stones.get(stone_name(self._key, "text", entry.text))
                if stone is not None:
                    yield Buried(branch.branch_id, entry.entry_id, stone.forgotten_ms)

    def _each(
        self,
        folder: str,
        fits: Callable[[str], bool],
        *types: type[R],
        others: Callable[[str], bool] = lambda _: False,
        quiet: bool = False,
    ) -> dict[str, R]:
        """All records of a folder by name; names that fit neither rule are foreign."""
        found: dict[str, R] = {}
        for name in sorted(self._disk.names(folder)):
            if not fits(name):
                if not quiet and not others(name):
                    self._foreign.append(f"{folder}/{name}")
                continue
            record = self._read(f"{folder}/{name}", *types)
            if record is not None:
                found[name] = record
        return found

    def _read(self, path: str, *types: type[R]) -> R | None:
        try:
            return self._records.read(path, *types)
        except Damaged as damaged:
            self._unread.append(Unread(path, damaged.reason, newer=False))
        except NewerVersion as newer:
            self._unread.append(Unread(path, newer.message, newer=True))
        return None


def _is_hex(name: str, digits: int) -> bool:
    return len(name) == digits and _HEX.issuperset(name)


def _is_seq(name: str) -> bool:
    return len(name) == len("00000000") and name.isascii() and name.isdigit()


_is_day = _is_seq


def _is_transaction(name: str) -> bool:
    return _is_hex(name, 32) or is_job_id(name)


def _is_completion(name: str) -> bool:
    return name.endswith(".done") and _is_transaction(name.removesuffix(".done"))


def _is_kept(name: str) -> bool:
    return name.endswith(KEPT) and is_job_id(name.removesuffix(KEPT))


def _is_shown(name: str) -> bool:
    return name.endswith(SHOWN) and is_job_id(name.removesuffix(SHOWN))
