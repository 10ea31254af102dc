"""Room that is kept back for what frees room: a disk that is full must still let the user forget (rule 7).

A few files of bytes that no filesystem packs smaller, each an inode too. They are given up when a removal
finds the disk full, and made again as soon as they fit.
"""

from __future__ import annotations

import contextlib
import functools

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.records import Records
from perdure.errors import DiskFull, StorageError

FILES = 12
FILE_BYTES = 16 * 1024
NEEDED_FILES = 10
"""With fewer of them free, in bytes or in inodes, a removal does not begin on what is free alone."""


def give_up(records: Records) -> bool:
    """Let the ballast go if the disk is full; returns whether it went."""
    try:
        with contextlib.ExitStack() as held:
            for name in _names()[:NEEDED_FILES]:
                held.enter_context(records.disk.temporary(_filling(name)))
            return False
    except DiskFull:
        gone = [name for name in _names() if records.disk.remove(name)]
        return bool(gone)


def stock(records: Records) -> None:
    """Make what is missing of it; not an error when it does not fit, or when writing is stopped."""
    present = set(records.disk.names(layout.BALLAST))
    with contextlib.suppress(StorageError):
        records.ensure_folders(layout.BALLAST)
        for name in _names():
            if name.rpartition("/")[2] not in present:
                records.keep(name, _filling(name))


@functools.cache
def _filling(name: str) -> bytes:
    import hashlib

    return hashlib.shake_128(name.encode()).digest(FILE_BYTES)


def _names() -> list[str]:
    return [f"{layout.BALLAST}/{place}" for place in range(FILES)]
