"""The Disk port: every file access of the authority, and the paths it takes.

Every path is POSIX, relative to the home, of plain names: no `..`, no absolute path. A write is durable
only after `Temporary.sync` and then `Disk.sync_folder` of the folder that holds its name. Tests make a disk
fail, forget or fill by implementing this port.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from perdure.errors import StorageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

TEMPORARY_FOLDER = "tmp"
_NAME_BYTES_MAX = 200

EntryKind = Literal["file", "folder", "symlink", "other"]


class Info(msgspec.Struct, frozen=True):
    """What stands at a path, the link itself when it is one."""

    kind: EntryKind
    size_bytes: int
    mode: int
    links: int
    inode: int
    owner: int
    device: int
    changed_ns: int


class Lock(Protocol):
    """A held flock; released by `release`, or by the kernel when the process dies."""

    def release(self) -> None:
        """Let it go; a second call does nothing."""
        ...


class Temporary(Protocol):
    """A new file under `tmp/` with all its bytes written, not yet synced, not yet named."""

    def sync(self) -> None:
        """Make the bytes durable. Raises DiskFailed; never call it again after that."""
        ...

    def link(self, target: str) -> bool:
        """Give it its final name unless something stands there: False. Durable with the folder's sync."""
        ...

    def replace(self, target: str) -> None:
        """Give it its final name in place of what stands there. Not durable until the folder is synced."""
        ...


class Disk(Protocol):
    """Every file access of the authority. The one port through which tests make a disk fail."""

    def read(self, path: str, *, bytes_max: int) -> bytes | None:
        """All bytes of a regular file, or None when nothing has that name.

        Raises Damaged for what is larger, not a regular file or a symlink; Inaccessible, a Damaged too,
        for what cannot be opened or read now.
        """
        ...

    def names(self, folder: str) -> list[str]:
        """The names in a folder, in no order; [] when there is no such folder. Raises Inaccessible."""
        ...

    def info(self, path: str) -> Info | None:
        """What stands at a path, or None."""
        ...

    def make_folder(self, path: str) -> bool:
        """Make one folder (its parent exists); False when it is there already. Not synced."""
        ...

    def temporary(self, data: bytes) -> AbstractContextManager[Temporary]:
        """Write a new file; its temporary name is gone when the context ends."""
        ...

    def remove(self, path: str) -> bool:
        """Remove a file's name; False when it was not there. Not durable until the folder is synced."""
        ...

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder; False when it was not there or holds something."""
        ...

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder durable. Raises DiskFailed."""
        ...

    def note(self, path: str, data: bytes) -> None:
        """Overwrite a small file in place, never synced: for what may be lost or torn (hints, heartbeats)."""
        ...

    def lock(self, path: str, *, wait_seconds: float, shared: bool = False) -> Lock:
        """Hold an flock on a folder or an existing file; LockTimeout, naming the holder, after the wait."""
        ...

    def try_lock(self, path: str, *, shared: bool = False) -> Lock | None:
        """The same without waiting; None when it is held by another. Raises FileNotFoundError when absent."""
        ...

    def sweep_temporaries(self) -> int:
        """Remove temporary names whose writers are gone; returns how many."""
        ...


def check_path(path: str) -> str:
    """Return the path if it is relative and of plain names; raises StorageError."""
    parts = path.split("/")
    if path.startswith("/") or not all(is_plain(part) for part in parts):
        msg = f"{path!r}: not a path inside the home."
        raise StorageError(msg)
    return path


def is_plain(part: str) -> bool:
    """Whether a name can be part of a path of ours."""
    if part.isascii() and part.isprintable():
        return part not in {"", ".", ".."} and len(part) <= _NAME_BYTES_MAX
    try:
        size = len(os.fsencode(part))
    except UnicodeEncodeError:
        return False
    return "\0" not in part and size <= _NAME_BYTES_MAX


@functools.lru_cache(maxsize=8192)
def split(path: str) -> tuple[str, str]:
    """Split into folder ("" for the home itself) and name."""
    folder, _, name = check_path(path).rpartition("/")
    return folder, name
