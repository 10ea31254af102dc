"""A block device's image that keeps every write and every flush in order: a FUSE file system of one file.

    python -m tests.machine.blocklog FOLDER IMAGE LOG

Shows IMAGE as FOLDER/disk until FOLDER is unmounted. What is written to it goes into IMAGE and, as one record
after another, into LOG: a header of offset and length, then the bytes; a flush is a record without bytes.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import stat
import struct
import sys
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import msgspec

DISK = "disk"
_HEADER = struct.Struct("<QQ")
_FLUSH = (1 << 64) - 1


class Write(msgspec.Struct, frozen=True):
    """Bytes that went to the disk; `end` is the length of the log behind it."""

    offset: int
    data: bytes
    end: int


class Flush(msgspec.Struct, frozen=True):
    """The disk was told to make everything before it durable."""

    end: int


def missing() -> str | None:
    """What this machine lacks to run it, or None."""
    if importlib.util.find_spec("mfusepy") is None:
        return "the Python package mfusepy is missing"
    if find_library("fuse") is None and find_library("fuse3") is None:
        return "libfuse is missing"
    return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "/dev/fuse cannot be opened"


def read_log(log: bytes) -> list[Write | Flush]:
    """Every record of a log, in order."""
    found: list[Write | Flush] = []
    at = 0
    while at < len(log):
        offset, length = _HEADER.unpack_from(log, at)
        at += _HEADER.size
        if offset == _FLUSH:
            found.append(Flush(at))
            continue
        found.append(Write(offset, log[at : at + length], at + length))
        at += length
    return found


class LoggedDisk:
    """The file system's operations, by the names under which mfusepy looks for them."""

    use_ns = True

    def __init__(self, image: Path, log: Path) -> None:
        self._image = os.open(image, os.O_RDWR | os.O_CLOEXEC)
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:  # noqa: ARG002 - the library's
        """Describe the folder, or its one file."""
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
        if path != f"/{DISK}":
            raise OSError(errno.ENOENT, path)
        size = os.fstat(self._image).st_size
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": size}

    def readdir(self, path: str, fh: int) -> list[str]:  # noqa: ARG002 - the library's
        """List the one file."""
        return [".", "..", DISK]

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:  # noqa: ARG002 - the library's
        """Read from the image."""
        return os.pread(self._image, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:  # noqa: ARG002 - the library's
        """Write to the image and to the log."""
        os.write(self._log, _HEADER.pack(offset, len(data)) + data)
        return os.pwrite(self._image, data, offset)

    def fsync(self, path: str, datasync: int, fh: int) -> int:  # noqa: ARG002 - the library's
        """Note a flush."""
        os.write(self._log, _HEADER.pack(_FLUSH, 0))
        return 0


def main(folder: str, image: str, log: str) -> None:
    """Serve until unmounted; one request after another, so that the log's order is the disk's."""
    fuse: Any = importlib.import_module("mfusepy")
    operations = type("Operations", (LoggedDisk, fuse.Operations), {})
    fuse.FUSE(operations(Path(image), Path(log)), folder, foreground=True, nothreads=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
