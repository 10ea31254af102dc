"""Publication of records: created once, elected, derived or replaced; and durable reading.

- *create*: the caller alone can write it; an identical record there already is success.
- *elect*: several may disagree; the first stands and is returned (rule 1).
- *derive*: everyone writes the same bytes; other bytes fail closed (rule 2).
- *replace*: one name, changing content, under a lock.

A publication is: temporary file written and synced, linked to its name, folder synced. `found` syncs the
folder of whatever this process did not itself make durable before it is acted on (rule 3).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import Disk, split
from perdure.core.canonical import digest
from perdure.core.record import RECORD_BYTES_MAX, Newer, Record, Unreadable, seal, unseal
from perdure.errors import Conflict, Damaged, DiskFailed, NewerVersion, StorageError
from perdure.ports.clock import Clock

R = TypeVar("R", bound=Record)
_KNOWN_MAX = 400_000
_PARSED_MAX = 32


class _Stop(msgspec.Struct, frozen=True):
    boot_id: str
    path: str


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
    """Records on a disk. One per process; safe for threads as far as the disk is."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self.disk = disk
        self._clock = clock
        self._durable = _Known()
        self._folders: set[str] = set()
        self._parsed: dict[str, tuple[tuple[int, int, int], Record]] = {}

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
        self._parsed.pop(path, None)
        self._parsed[path] = (same, record)
        if len(self._parsed) > _PARSED_MAX:
            del self._parsed[next(iter(self._parsed))]

    def settle(self, path: str) -> None:
        """Make the name of a record that was found durable, once per process."""
        if path not in self._durable:
            self._sync_folder(split(path)[0], path)
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
        if mark not in self._durable:
            self._sync_folder(split(path)[0], path)
            self._durable.add(mark)

    def settle_all(self, folder: str, names: list[str]) -> None:
        """Make all names of a listing durable with one sync."""
        new = self._durable.missing(folder, names)
        if new:
            self._sync_folder(folder, folder)
            self._durable.add_all(folder, new)

    def _parse(self, path: str, data: bytes, types: tuple[type[R], ...]) -> R:
        reason: Unreadable | None = None
        for record_type in types:
            try:
                return unseal(data, record_type)
            except Newer as newer:
                msg = f"{path}: {newer.reason}."
                raise NewerVersion(msg, advice="It is left untouched; use the newer Perdure.") from newer
            except Unreadable as unreadable:
                reason = reason or unreadable
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
        if self._publish(path, seal(record) if data is None else data):
            return record, True
        standing = self.found(path, type(record), *others)
        if standing is None:
            msg = f"{path}: it vanished while it was read."
            raise StorageError(msg, advice="Something else removes files in the Perdure home.")
        return standing, False

    def replace(self, path: str, record: Record) -> None:
        """Put a record in place of what stands there, durably."""
        self.check_writable()
        data = seal(record)
        try:
            with self.disk.temporary(data) as temporary:
                temporary.sync()
                temporary.replace(path)
            self.disk.sync_folder(split(path)[0])
        except DiskFailed:
            self._stop(path)
            raise
        self._durable.add(f"{path}\0{hash(data)}")

    def remove(self, *paths: str) -> int:
        """Remove names and sync their folders: a deletion counts only then (E-12). Returns how many."""
        self.check_writable()
        gone = [path for path in paths if self.disk.remove(path)]
        for folder in sorted({split(path)[0] for path in gone}):
            self._sync_folder(folder, folder)
        for path in gone:
            self._durable.drop(path)
        return len(gone)

    def ensure_folders(self, *paths: str) -> None:
        """Make folders and sync their parents, once per process (parents first)."""
        for path in paths:
            if path in self._folders:
                continue
            self.disk.make_folder(path)
            self._sync_folder(split(path)[0], path)
            self._folders.add(path)

    def _publish(self, path: str, data: bytes) -> bool:
        self.check_writable()
        try:
            with self.disk.temporary(data) as temporary:
                temporary.sync()
                created = temporary.link(path)
            if created:
                self.disk.sync_folder(split(path)[0])
        except DiskFailed:
            self._stop(path)
            raise
        if created:
            self._durable.add(path)
        return created

    def _sync_folder(self, folder: str, path: str) -> None:
        try:
            self.disk.sync_folder(folder)
        except DiskFailed:
            self._stop(path)
            raise

    # -- the stop marker (rule 7)

    def check_writable(self) -> None:
        """Raise DiskFailed while a failed sync of this boot has not been made good."""
        stop = self._standing_stop()
        if stop is not None:
            msg = f"writing is stopped: the disk did not confirm {stop.path}."
            raise DiskFailed(msg, advice="Check the disk, then run perdure home resume.")

    def resume(self) -> str | None:
        """Write what the failed sync was about to a new file; clears the marker when that is confirmed."""
        stop = self._standing_stop()
        if stop is None:
            return None
        data = self.disk.read(stop.path, bytes_max=RECORD_BYTES_MAX)
        folder = split(stop.path)[0]
        if data is not None:
            with self.disk.temporary(data) as temporary:
                temporary.sync()
                temporary.replace(stop.path)
        self.disk.sync_folder(folder)
        self._clear_stop()
        return stop.path

    def _standing_stop(self) -> _Stop | None:
        data = self.disk.read(layout.STOP, bytes_max=4096)
        if data is None:
            return None
        try:
            stop = msgspec.json.decode(data, type=_Stop)
        except msgspec.MsgspecError:
            torn_now = self.disk.info(self._stop_mark()) is not None
            stop = _Stop(self._clock.boot_id() if torn_now else "", layout.STOP)
        if stop.boot_id != self._clock.boot_id():
            self._clear_stop()
            return None
        return stop

    def _stop(self, path: str) -> None:
        """Tell every process of this home to stop writing; itself unsynced, since the disk is in doubt."""
        with contextlib.suppress(StorageError):
            self.disk.note(self._stop_mark(), b"")
        with contextlib.suppress(StorageError):
            self.disk.note(layout.STOP, msgspec.json.encode(_Stop(self._clock.boot_id(), path)))

    def _stop_mark(self) -> str:
        """An empty file that names this boot: a marker whose bytes a power loss took is not of this boot."""
        return f"{layout.STOP}.{digest(self._clock.boot_id())[:16]}"

    def _clear_stop(self) -> None:
        self.disk.remove(layout.STOP)
        for name in self.disk.names(layout.RUN):
            if f"{layout.RUN}/{name}".startswith(f"{layout.STOP}."):
                self.disk.remove(f"{layout.RUN}/{name}")
