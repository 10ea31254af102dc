"""What the disk did not confirm: markers that stop all writing, and what makes each of them good (rule 7).

A failed sync leaves one marker per thing in doubt, a file `run/stop.{boot}.{mark}`. It is unsynced, since the
disk is in doubt, and counts in the boot it names alone: after a restart the disk tells what it has. A marker
whose bytes were lost still tells its boot, and puts the whole home in doubt.

Nothing in doubt is synced again. It is done anew: a file written again under its name, a folder made again, a
name that was removed given once more and removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Disk, split
from perdure.authority.filesystem.locks import WAIT_SECONDS
from perdure.core.canonical import digest
from perdure.errors import Damaged, DiskFailed, Inaccessible, LockTimeout, StorageError
from perdure.ports.clock import Clock

Doubt = Literal["file", "removed", "made", "folder", "home"]
"""The file of that path; its removal; the making of that folder; the names in it; everything."""

_COPIED_BYTES_MAX = 8 * 1024 * 1024
_SCOPE_PARTS = 2
_UNCOUNTED = frozenset({TEMPORARY_FOLDER, layout.RUN})
"""What stands there need not survive a restart, and a worker's file must keep its lock."""


class Stop(msgspec.Struct, frozen=True):
    """One marker. `path` is relative to the home and empty for the home itself."""

    boot_id: str
    doubt: Doubt
    path: str

    @property
    def what(self) -> str:
        """What is in doubt, for people."""
        return self.path if self.path and self.doubt != "home" else "the home"


class Stops:
    """The markers of a home."""

    def __init__(self, disk: Disk, clock: Clock) -> None:
        self._disk, self._clock = disk, clock

    def note(self, doubt: Doubt, path: str) -> str:
        """Tell every process of this home to stop writing; returns the marker's path. Never raises."""
        boot = self._clock.boot_id()
        where = f"{self._begin()}{digest([doubt, path])[:32]}"
        with contextlib.suppress(StorageError):
            self._disk.note(where, msgspec.json.encode(Stop(boot, doubt, path)))
        return where

    def standing(self) -> tuple[Stop, ...]:
        """What is in doubt in this boot; markers of other boots are removed on the way."""
        begin = split(layout.STOP)[1]
        names = [name for name in self._disk.names(layout.RUN) if name.startswith(begin)]
        return tuple(self._read(f"{layout.RUN}/{name}") for name in sorted(names) if self._is_ours(name))

    def make_good(self) -> list[str]:
        """Do anew what is in doubt, and take each marker away once that is confirmed; returns the paths.

        Raises DiskFailed, with the marker left, when the disk does not confirm it now either.
        """
        done: list[str] = []
        for stop in self.standing():
            self._do(stop)
            self._disk.remove(self._where(stop))
            done.append(stop.what)
        return done

    # -- markers

    def _begin(self) -> str:
        return f"{layout.STOP}.{digest(self._clock.boot_id())[:16]}."

    def _is_ours(self, name: str) -> bool:
        path = f"{layout.RUN}/{name}"
        if path.startswith(self._begin()):
            return True
        with contextlib.suppress(StorageError):
            self._disk.remove(path)
        return False

    def _read(self, path: str) -> Stop:
        boot = self._clock.boot_id()
        with contextlib.suppress(StorageError, msgspec.MsgspecError):
            stop = msgspec.json.decode(self._disk.read(path, bytes_max=4096) or b"", type=Stop)
            if stop.boot_id == boot and self._where(stop) == path:
                return stop
        return Stop(boot, "home", path)

    def _where(self, stop: Stop) -> str:
        """A marker that tells nothing has its own path in place of what is in doubt."""
        if stop.doubt == "home":
            return stop.path
        return f"{self._begin()}{digest([stop.doubt, stop.path])[:32]}"

    # -- making good

    def _do(self, stop: Stop) -> None:
        match stop.doubt:
            case "home":
                for folder in self._folders(""):
                    self._folder_again(folder)
            case "folder":
                self._folder_again(stop.path)
            case "made":
                if self._disk.remove_folder(stop.path):
                    self._disk.make_folder(stop.path)
                self._sync(split(stop.path)[0])
            case "file":
                self._file_again(stop.path)
                self._sync(split(stop.path)[0])
            case "removed":
                self._remove_again(stop.path)
                self._sync(split(stop.path)[0])

    def _folders(self, folder: str) -> Iterator[str]:
        yield folder
        for path in self._inside(folder):
            found = self._disk.info(path)
            if found is not None and found.kind == "folder":
                yield from self._folders(path)

    def _inside(self, folder: str) -> list[str]:
        if folder.partition("/")[0] in _UNCOUNTED:
            return []
        return sorted(f"{folder}/{name}" if folder else name for name in self._disk.names(folder))

    def _folder_again(self, folder: str) -> None:
        for path in self._inside(folder):
            self._file_again(path)
        self._sync(folder)

    def _file_again(self, path: str) -> None:
        """The same bytes as a new file; what is no readable file of ours is left as it is."""
        found = self._disk.info(path)
        if found is None or found.kind != "file" or path.partition("/")[0] in _UNCOUNTED:
            return
        with self._scope_held(path):
            try:
                data = self._disk.read(path, bytes_max=_COPIED_BYTES_MAX)
            except Inaccessible:
                raise
            except Damaged:
                return
            if data is not None:
                with self._disk.temporary(data) as temporary:
                    temporary.sync()
                    temporary.replace(path)

    def _remove_again(self, path: str) -> None:
        if self._disk.info(path) is not None:
            self._file_again(path)
            return
        if self._disk.info(split(path)[0]) is not None:
            with self._disk.temporary(b"") as temporary:
                temporary.link(path)
            self._disk.remove(path)

    def _sync(self, folder: str) -> None:
        """Sync a folder; where it is gone, the one that held it."""
        while folder and self._disk.info(folder) is None:
            folder = split(folder)[0]
        self._disk.sync_folder(folder)

    @contextlib.contextmanager
    def _scope_held(self, path: str) -> Iterator[None]:
        """A branch is replaced under its scope's lock: what a writer is about to put there stays."""
        parts = path.split("/")
        scope = "/".join(parts[:_SCOPE_PARTS]) if parts[0] == layout.PROJECTS else parts[0]
        if scope == path or parts[0] not in {layout.PROJECTS, layout.USER_SCOPE}:
            yield
            return
        try:
            lock = self._disk.lock(scope, wait_seconds=WAIT_SECONDS)
        except LockTimeout as held:
            msg = f"{path} is in doubt and is being written: {held.message}"
            raise DiskFailed(msg, advice="Let that process end, then run perdure home resume.") from held
        try:
            yield
        finally:
            lock.release()
