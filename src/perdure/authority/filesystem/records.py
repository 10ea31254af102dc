"""Publication of records: created once, elected, derived or replaced; and durable reading.

- *create*: the caller alone can write it; an identical record there already is success.
- *elect*: several may disagree; the first stands and is returned (rule 1).
- *derive*: everyone writes the same bytes; other bytes fail closed (rule 2).
- *replace*: one name, changing content, under a lock.

A publication is: temporary file written and synced, linked to its name, folder synced. `found` syncs the
folder of whatever this process did not itself make durable before it is acted on (rule 3).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TypeVar

from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Disk, Temporary, split
from perdure.authority.filesystem.locks import WAIT_SECONDS
from perdure.authority.filesystem.stops import Stops
from perdure.core.record import RECORD_BYTES_MAX, Newer, Record, Unreadable, seal, unseal
from perdure.errors import Conflict, Damaged, DiskFailed, NewerVersion, StorageError
from perdure.ports.clock import Clock

R = TypeVar("R", bound=Record)
_KNOWN_MAX = 400_000
_PARSED_MAX = 32
_TRIES_MAX = 5


class _Known:
    """Which names and contents this process knows to be durable, by folder so that listings share their
    strings. Forgetting one only costs another sync.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._count = 0

    def __contains__(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self._names.get(folder, ())

    def add(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self.add_all(folder, (name,))

    def add_all(self, folder: str, names: Iterable[str]) -> None:
        if self._count >= _KNOWN_MAX:
            self._names.clear()
            self._count = 0
        held = self._names.setdefault(folder, set())
        before = len(held)
        held.update(names)
        self._count += len(held) - before

    def missing(self, folder: str, names: list[str]) -> list[str]:
        held = self._names.get(folder, set())
        return [name for name in names if name not in held]

    def drop(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._names.get(folder, set()).discard(name)


class Records:
    """Records on a disk. One per process; safe for threads as far as the disk is.

    A process that only shows sets `acting` to False: while writing is stopped it still reads what it finds,
    and makes none of it durable. One that answers by a deadline waits for locks for a shorter time.
    """

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self.disk = disk
        self.acting = True
        self.lock_wait_seconds = WAIT_SECONDS
        self.stops = Stops(disk, clock)
        self._durable = _Known()
        self._folders: set[str] = set()
        self._parsed: dict[str, tuple[tuple[int, int, int], Record]] = {}
        self._keeping = threading.Lock()

    # -- reading

    def read(self, path: str, *types: type[R]) -> R | None:
        """The record as it is visible now, perhaps not durable: for showing, never for acting."""
        data = self.disk.read(path, bytes_max=RECORD_BYTES_MAX)
        return None if data is None else self._parse(path, data, types)

    def found(self, path: str, *types: type[R]) -> R | None:
        """The record, made durable before it is returned: for acting on, and for acknowledging."""
        there = self.disk.info(path)
        if there is None:
            return None
        same = (there.inode, there.size_bytes, there.changed_ns)
        known = self._parsed.get(path)
        if known is not None and known[0] == same and isinstance(known[1], types):
            return known[1]
        record = self.read(path, *types)
        if record is not None:
            self.settle(path)
            self._keep(path, same, record)
        return record

    def _keep(self, path: str, same: tuple[int, int, int], record: Record) -> None:
        """Remember a few parsed records: each step of a job reads the ones of the step before again."""
        with self._keeping:
            self._parsed.pop(path, None)
            self._parsed[path] = (same, record)
            if len(self._parsed) > _PARSED_MAX:
                del self._parsed[next(iter(self._parsed))]

    def settle(self, path: str) -> None:
        """Make the name of a record that was found durable, once per process.

        This and its kin raise DiskFailed while writing is stopped: what was found may be what failed.
        """
        if path not in self._durable and self._may_settle():
            self.sync_folder(split(path)[0])
            self._durable.add(path)

    def found_changing(self, path: str, *types: type[R]) -> R | None:
        """The same for a name whose content is replaced: synced whenever another process wrote it."""
        data = self.disk.read(path, bytes_max=RECORD_BYTES_MAX)
        if data is None:
            return None
        record = self._parse(path, data, types)
        self.settle_content(path, data)
        return record

    def settle_content(self, path: str, data: bytes) -> None:
        """Make durable that this content stands at a name, once per content and process."""
        mark = f"{path}\0{hash(data)}"
        if mark not in self._durable and self._may_settle():
            self.sync_folder(split(path)[0])
            self._durable.add(mark)

    def settle_all(self, folder: str, names: list[str]) -> None:
        """Make all names of a listing durable with one sync; reading each then costs no other."""
        new = self._durable.missing(folder, names)
        if new and self._may_settle():
            self.sync_folder(folder)
            self._durable.add_all(folder, new)

    def _may_settle(self) -> bool:
        if self.acting:
            self.check_writable()
            return True
        return not self.stops.standing()

    def _parse(self, path: str, data: bytes, types: tuple[type[R], ...]) -> R:
        reason: Unreadable | None = None
        newer: Newer | None = None
        for record_type in types:
            try:
                return unseal(data, record_type)
            except Newer as later:
                newer = later
            except Unreadable as unreadable:
                reason = reason or unreadable
        if newer is not None and newer.version > max(kind.VERSION for kind in types):
            msg = f"{path}: {newer.reason}."
            raise NewerVersion(msg, advice="It is left untouched; use the newer Perdure.") from newer
        raise Damaged(path, reason.reason if reason else "no type") from reason

    # -- writing

    def create(self, path: str, record: Record) -> bool:
        """Publish; False when the identical record stood there. Raises Conflict on other content."""
        data = seal(record)
        if self._publish(path, data):
            return True
        standing = self.disk.read(path, bytes_max=RECORD_BYTES_MAX)
        if standing != data:
            msg = f"{path}: other content stands at an immutable path."
            raise Conflict(msg, advice="Nothing was overwritten. Run perdure verify.")
        self.settle(path)
        return False

    derive = create

    def elect(self, path: str, record: R, *others: type[R], data: bytes | None = None) -> tuple[R, bool]:
        """Publish unless something stands there; returns what stands, durable, and whether it is ours.

        `data` are the record's sealed bytes, where the caller has them already.
        """
        data = seal(record) if data is None else data
        for _ in range(_TRIES_MAX):
            if self._publish(path, data):
                return record, True
            standing = self.found(path, type(record), *others)
            if standing is not None:
                return standing, False
        msg = f"{path}: it vanishes whenever it is read."
        raise StorageError(msg, advice="Something else removes files in the Perdure home.")

    def keep(self, path: str, data: bytes) -> bool:
        """Publish bytes that are no record, such as a copy of a damaged one.

        True when these bytes stand there now, durably; False when they cannot. Raises DiskFailed.
        """
        try:
            if self._publish(path, data):
                return True
            standing = self.disk.read(path, bytes_max=len(data))
        except DiskFailed:
            raise
        except StorageError:
            return False
        if standing != data:
            return False
        self.settle(path)
        return True

    def replace(self, path: str, record: Record) -> None:
        """Put a record in place of what stands there, durably."""
        self.check_writable()
        data = seal(record)
        with self.disk.temporary(data) as temporary:
            self._sync_file(temporary, path)
            temporary.replace(path)
        self.sync_folder(split(path)[0])
        self._durable.add(f"{path}\0{hash(data)}")

    def remove(self, *paths: str) -> int:
        """Remove names and sync their folders: a deletion counts only then (E-12). Returns how many.

        A name that is gone already may have been removed by another that did not get as far as the sync.
        """
        self.check_writable()
        gone = sum(self.disk.remove(path) for path in paths)
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(split(path)[0], []).append(path)
        for folder, names in sorted(folders.items()):
            self._sync_absence(folder, names)
        for path in paths:
            self._durable.drop(path)
        return gone

    def sweep_temporaries(self) -> int:
        """Remove what dead writers left in `tmp/`, durably whoever removed it. Returns how many."""
        self.check_writable()
        swept = self.disk.sweep_temporaries()
        self._sync_absence(TEMPORARY_FOLDER, [])
        return swept

    def _sync_absence(self, folder: str, names: list[str]) -> None:
        """Sync a folder that names are gone from; where it is gone itself, the one that held it."""
        while folder and self.disk.info(folder) is None:
            folder = split(folder)[0]
        try:
            self.sync_folder(folder)
        except DiskFailed:
            for name in names:
                self.stops.note("removed", name)
            raise

    def ensure_folders(self, *paths: str) -> None:
        """Make folders and sync their parents (parents first), once per process while they stand."""
        for path in paths:
            if path in self._folders and self.disk.info(path) is not None:
                continue
            self.check_writable()
            new = self.disk.make_folder(path)
            try:
                self.sync_folder(split(path)[0])
            except DiskFailed:
                if new:
                    self.stops.note("made", path)
                raise
            self._folders.add(path)

    def sync_folder(self, folder: str) -> None:
        """Make the names in a folder durable. Raises DiskFailed, and then all writing is stopped."""
        try:
            self.disk.sync_folder(folder)
        except DiskFailed:
            self.stops.note("folder", folder)
            raise

    def sync_folders(self, *folders: str) -> None:
        """Make durable that what was not found in folders is gone, whoever removed it (E-12)."""
        self.check_writable()
        for folder in dict.fromkeys(folders):
            self._sync_absence(folder, [])

    def _publish(self, path: str, data: bytes) -> bool:
        self.check_writable()
        with self.disk.temporary(data) as temporary:
            self._sync_file(temporary, path)
            created = temporary.link(path)
        if created:
            self.sync_folder(split(path)[0])
            self._durable.add(path)
        return created

    def _sync_file(self, temporary: Temporary, path: str) -> None:
        try:
            temporary.sync()
        except DiskFailed:
            self.stops.note("file", path)
            raise

    # -- the stop marker (rule 7)

    def check_writable(self) -> None:
        """Raise DiskFailed while a failed sync of this boot has not been made good."""
        stops = self.stops.standing()
        if stops:
            msg = f"writing is stopped: the disk did not confirm {stops[0].what}."
            raise DiskFailed(msg, advice="Check the disk, then run perdure home resume.")

    def resume(self) -> str | None:
        """Do anew what failed syncs were about; each marker goes when that is confirmed.

        Returns what was in doubt, for people, or None when nothing was.
        """
        return ", ".join(sorted(set(self.stops.make_good()))) or None
