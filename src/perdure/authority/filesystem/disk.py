"""The Disk port and the only module that writes to disk.

Every path is POSIX, relative to the home, of plain names: no `..`, no absolute path. Nothing here
follows a symlink (E-04): folders are opened part by part and kept open, files are opened with
O_NOFOLLOW relative to them. Files are 0600 and folders 0700 from the first byte, whatever the umask.

A write is durable only after `Temporary.sync` and then `Disk.sync_folder` of the folder that holds its
name. A failed sync is never tried again: `DiskFailed` (see `records.py` for what follows from it).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import threading
import time
from typing import TYPE_CHECKING, Self

from perdure.authority.filesystem.disk_port import (
    TEMPORARY_FOLDER,
    Disk,
    EntryKind,
    Info,
    Lock,
    Temporary,
    check_path,
    is_plain,
    split,
)
from perdure.errors import Damaged, DiskFailed, DiskFull, Inaccessible, LockTimeout, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["TEMPORARY_FOLDER", "Disk", "Info", "Lock", "RealDisk", "Temporary", "check_path", "split"]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STRANGE = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV}
"""What opening says of something that is not the file or folder of ours; all else may pass."""
_FOLDERS_MAX = 128
_TWINS = 2


class RealDisk:
    """The Disk port on a real folder. Safe for threads; do not fork without exec while it is open."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._root = os.open(home, _FOLDER_FLAGS)
        self._local = threading.local()

    @property
    def home(self) -> str:
        """The absolute path of the home."""
        return self._home

    def close(self) -> None:
        """Close this thread's folders; the disk cannot be used afterwards."""
        self._open_folders().clear()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    @staticmethod
    def make_outside_folder(path: str) -> None:
        """Make one private folder by absolute path, for homes themselves, and sync its parent.

        One that stands there is synced too: whoever made it may have been killed before that. One whose sync
        failed is taken away, so that it is made anew.
        """
        try:
            new = _make_private(path)
            parent = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _write_error(path, error) from error
        try:
            _sync(parent, path)
        except DiskFailed:
            if new:
                with contextlib.suppress(OSError):
                    os.rmdir(path)
            raise
        finally:
            os.close(parent)

    # -- reading

    def read(self, path: str, *, bytes_max: int) -> bytes | None:
        """See `Disk.read`."""
        folder, name = split(path)
        parent = self._folder(folder)
        if parent is None:
            return None
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unopened(path, error) from error
        try:
            return self._read_open(path, descriptor, bytes_max)
        except OSError as error:
            raise Inaccessible(path, _why(error)) from error
        finally:
            os.close(descriptor)

    def _read_open(self, path: str, descriptor: int, bytes_max: int) -> bytes:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Damaged(path, "not a regular file")
        if found.st_size > bytes_max:
            raise Damaged(path, f"{found.st_size} bytes, at most {bytes_max} allowed")
        if found.st_nlink > 1 and not self._is_alone(descriptor, found):
            raise Damaged(path, "has another hard link")
        chunks: list[bytes] = []
        left = bytes_max + 1
        while left and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        data = b"".join(chunks)
        if len(data) > bytes_max:
            raise Damaged(path, f"more than {bytes_max} bytes")
        return data

    def _is_alone(self, descriptor: int, found: os.stat_result) -> bool:
        """Whether a second link is only the writer's temporary name, which may go while it is looked for."""
        if found.st_nlink != _TWINS:
            return False
        return self._is_twin(found.st_ino) or os.fstat(descriptor).st_nlink == 1

    def _is_twin(self, inode: int) -> bool:
        temporaries = (self.info(f"{TEMPORARY_FOLDER}/{name}") for name in self.names(TEMPORARY_FOLDER))
        return any(found is not None and found.inode == inode for found in temporaries)

    def names(self, folder: str) -> list[str]:
        """See `Disk.names`."""
        descriptor = self._folder(folder)
        if descriptor is None:
            return []
        try:
            names = os.listdir(descriptor)
        except OSError as error:
            raise Inaccessible(folder, _why(error)) from error
        return [name for name in names if name.isprintable() and is_plain(name)]

    def info(self, path: str) -> Info | None:
        """See `Disk.info`."""
        folder, name = split(path)
        parent = self._folder(folder)
        if parent is None:
            return None
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Inaccessible(path, _why(error)) from error
        return Info(
            kind=_kind(found.st_mode),
            size_bytes=found.st_size,
            mode=stat.S_IMODE(found.st_mode),
            links=found.st_nlink,
            inode=found.st_ino,
            owner=found.st_uid,
            device=found.st_dev,
            changed_ns=found.st_mtime_ns,
        )

    # -- writing

    def make_folder(self, path: str) -> bool:
        """See `Disk.make_folder`."""
        folder, name = split(path)
        parent = self._need(folder)
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            os.chmod(name, 0o700, dir_fd=parent)
        except FileExistsError:
            self._need(path)
            return False
        except OSError as error:
            raise _write_error(path, error) from error
        return True

    @contextlib.contextmanager
    def temporary(self, data: bytes) -> Iterator[Temporary]:
        """See `Disk.temporary`. An flock marks the file as owned while its writer lives."""
        parent = self._need(TEMPORARY_FOLDER)
        descriptor, name = self._new_temporary(parent)
        try:
            try:
                _write_all(descriptor, data)
            except OSError as error:
                raise _write_error(f"{TEMPORARY_FOLDER}/{name}", error) from error
            yield _RealTemporary(self, descriptor, name)
        finally:
            with contextlib.suppress(OSError, StorageError):
                os.unlink(name, dir_fd=self._need(TEMPORARY_FOLDER))
            os.close(descriptor)

    def _new_temporary(self, parent: int) -> tuple[int, str]:
        """An empty locked file. A sweep may come between its making and its locking: then another one."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            name = os.urandom(16).hex()
            try:
                descriptor = os.open(name, flags, 0o600, dir_fd=parent)
            except OSError as error:
                raise _write_error(f"{TEMPORARY_FOLDER}/{name}", error) from error
            try:
                os.fchmod(descriptor, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_nlink:
                    return descriptor, name
            except BlockingIOError:
                pass
            except OSError as error:
                os.close(descriptor)
                raise _write_error(f"{TEMPORARY_FOLDER}/{name}", error) from error
            os.close(descriptor)

    def remove(self, path: str) -> bool:
        """See `Disk.remove`."""
        folder, name = split(path)
        parent = self._folder(folder)
        if parent is None:
            return False
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _write_error(path, error) from error
        return True

    def remove_folder(self, path: str) -> bool:
        """See `Disk.remove_folder`."""
        folder, name = split(path)
        parent = self._folder(folder)
        if parent is None:
            return False
        try:
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                return False
            raise _write_error(path, error) from error
        self._open_folders().drop(path)
        return True

    def sync_folder(self, path: str) -> None:
        """See `Disk.sync_folder`."""
        _sync(self._need(path), path or self._home)

    def note(self, path: str, data: bytes) -> None:
        """See `Disk.note`."""
        folder, name = split(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=self._need(folder))
            try:
                os.fchmod(descriptor, 0o600)
                _write_all(descriptor, data)
                os.ftruncate(descriptor, len(data))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _write_error(path, error) from error

    # -- locks

    def lock(self, path: str, *, wait_seconds: float, shared: bool = False) -> Lock:
        """See `Disk.lock`."""
        until = time.monotonic() + wait_seconds
        pause = 0.001
        while (held := self.try_lock(path, shared=shared)) is None:
            left = until - time.monotonic()
            if left <= 0:
                msg = f"{path} is locked by {self._holder(path)}; waited {wait_seconds:g} s."
                raise LockTimeout(msg, advice="Nothing was changed. Try again, or stop that process.")
            time.sleep(min(pause, left))
            pause = min(pause * 2, 0.01)
        return held

    def try_lock(self, path: str, *, shared: bool = False) -> Lock | None:
        """See `Disk.try_lock`. The inode is compared afterwards: a name that was replaced is not held."""
        folder, name = split(path)
        parent = self._need(folder)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=parent)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _unopened(path, error) from error
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            here = os.stat(name, dir_fd=parent, follow_symlinks=False)
            mine = os.fstat(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        if (here.st_ino, here.st_dev) != (mine.st_ino, mine.st_dev):
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "replaced while locking", path)
        return _RealLock(descriptor)

    def _holder(self, path: str) -> str:
        found = self.info(path)
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open("/proc/locks", encoding="ascii") as table:
                rows = [line.split() for line in table]
            pids = {
                row[4] for row in rows if found and row[5].endswith(f":{found.inode}") and row[1] == "FLOCK"
            }
            for pid in pids:
                with open(f"/proc/{int(pid)}/cmdline", "rb") as command:
                    words = command.read(400).split(b"\0")
                text = b" ".join(words).decode("utf-8", "replace").strip()
                return f"process {pid} ({text[:120]})"
        return "another process"

    def sweep_temporaries(self) -> int:
        """See `Disk.sweep_temporaries`."""
        swept = 0
        for name in self.names(TEMPORARY_FOLDER):
            path = f"{TEMPORARY_FOLDER}/{name}"
            with contextlib.suppress(OSError, StorageError):
                held = self.try_lock(path)
                if held is not None:
                    try:
                        swept += self.remove(path)
                    finally:
                        held.release()
        return swept

    # -- folders

    def _open_folders(self) -> _Folders:
        """The open folders of this thread: no other thread closes or reuses their descriptors."""
        mine: _Folders | None = getattr(self._local, "folders", None)
        if mine is None:
            mine = self._local.folders = _Folders()
        return mine

    def _folder(self, path: str) -> int | None:
        if not path:
            return self._root
        mine = self._open_folders()
        known = mine.get(path)
        if known is not None:
            return known
        folder, name = split(path)
        parent = self._folder(folder)
        if parent is None:
            return None
        try:
            return mine.add(path, os.open(name, _FOLDER_FLAGS, dir_fd=parent))
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise Damaged(path, "not a folder of ours") from error
            raise Inaccessible(path, _why(error)) from error

    def _need(self, path: str) -> int:
        descriptor = self._folder(path)
        if descriptor is None:
            msg = f"{path or self._home}: the folder is gone."
            raise StorageError(
                msg,
                advice="Something removed it while Perdure was running; check the disk and run perdure init.",
            )
        return descriptor


class _Folders:
    """Open folders of one thread by path: the longest unused are closed, the removed ones forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def get(self, path: str) -> int | None:
        """The descriptor, unless the folder was removed since."""
        descriptor = self._open.get(path)
        if descriptor is not None and not os.fstat(descriptor).st_nlink:
            self.drop(path)
            return None
        if descriptor is not None:
            self._open[path] = self._open.pop(path)
        return descriptor

    def add(self, path: str, descriptor: int) -> int:
        """Keep a descriptor; returns it."""
        self._open[path] = descriptor
        if len(self._open) > _FOLDERS_MAX:
            self.drop(next(iter(self._open)))
        return descriptor

    def drop(self, path: str) -> None:
        """Close one."""
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def clear(self) -> None:
        """Close all."""
        for path in tuple(self._open):
            self.drop(path)

    def __del__(self) -> None:
        """A thread has ended."""
        with contextlib.suppress(OSError):
            self.clear()


class _RealTemporary:
    def __init__(self, disk: RealDisk, descriptor: int, name: str) -> None:
        self._disk, self._descriptor, self._name = disk, descriptor, name

    def sync(self) -> None:
        _sync(self._descriptor, f"{TEMPORARY_FOLDER}/{self._name}")

    def link(self, target: str) -> bool:
        folder, name = split(target)
        source, parent = self._disk._need(TEMPORARY_FOLDER), self._disk._need(folder)  # noqa: SLF001 - one unit
        try:
            os.link(self._name, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            raise _write_error(target, error) from error
        return True

    def replace(self, target: str) -> None:
        folder, name = split(target)
        source, parent = self._disk._need(TEMPORARY_FOLDER), self._disk._need(folder)  # noqa: SLF001 - one unit
        try:
            os.rename(self._name, name, src_dir_fd=source, dst_dir_fd=parent)
        except OSError as error:
            raise _write_error(target, error) from error


class _RealLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _make_private(path: str) -> bool:
    """Whether it is new."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    os.chmod(path, 0o700)
    return True


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    if os.fstat(descriptor).st_size < len(data):
        raise OSError(errno.EIO, "short file")


def _sync(descriptor: int, path: str) -> None:
    try:
        if hasattr(fcntl, "F_FULLFSYNC"):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    except OSError as error:
        msg = f"{path}: the disk did not confirm a write ({_why(error)})."
        raise DiskFailed(
            msg, advice="Perdure has stopped writing. Check the disk, then run perdure home resume."
        ) from error


def _write_error(path: str, error: OSError) -> StorageError:
    if error.errno in _FULL:
        return DiskFull(f"{path}: {_why(error)}.", advice="Free some space and try again.")
    return StorageError(
        f"{path}: {_why(error)}.", advice="Check the permissions and the disk of the Perdure home."
    )


def _unopened(path: str, error: OSError) -> Damaged:
    kind = Damaged if error.errno in _STRANGE else Inaccessible
    return kind(path, _why(error))


def _why(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symlink" if stat.S_ISLNK(mode) else "other"
