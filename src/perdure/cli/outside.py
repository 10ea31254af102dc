"""Files of the user's, outside the home: read what they name, and write where they say."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from perdure.cli.command import decoded
from perdure.errors import NotFound, StorageError, UsageError
from perdure.hosts.install_files import write_whole

FILE_BYTES_MAX = 8_000_000
_PRIVATE = 0o600
_NOT_ON_DISK = ("/dev/", "/proc/")
"""Names below these stand for open streams, whatever they lead to."""


def read_text(path: str) -> str:
    """The UTF-8 text of a regular file. Raises NotFound and UsageError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        msg = f"{path}: there is no such file."
        raise NotFound(msg) from error
    except (OSError, ValueError) as error:
        msg = f"{path}: it cannot be read: {getattr(error, 'strerror', None) or error}."
        raise UsageError(msg) from error
    try:
        data = _read(path, descriptor)
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES_MAX:
        msg = f"{path}: more than {FILE_BYTES_MAX:,} bytes."
        raise UsageError(msg)
    return decoded(data, path)


def write_text(path: str, text: str) -> None:
    """Write a new file, or take the place of an older one whole, beside it and in one step.

    A symbolic link stays: what it leads to is written. A device or pipe is written to and stays what it is.
    Raises UsageError and StorageError.
    """
    data = text.encode()
    try:
        found = _target(path)
        if found is None or (stat.S_ISREG(found.st_mode) and not path.startswith(_NOT_ON_DISK)):
            mode = stat.S_IMODE(found.st_mode) if found is not None else _PRIVATE
            write_whole(Path(os.path.realpath(path)), data, mode)
        elif stat.S_ISDIR(found.st_mode):
            msg = f"{path}: this is a folder."
            raise UsageError(msg, advice="Name a file.")
        else:
            _pour(path, data)
    except ValueError as error:
        msg = f"{path}: no file can have that name."
        raise UsageError(msg) from error
    except OSError as error:
        msg = f"{path}: it cannot be written: {error.strerror}."
        raise StorageError(msg, advice="Check that disk, or name another file.") from error


def _target(path: str) -> os.stat_result | None:
    """What stands there, links followed; None for a new file. Raises UsageError for a name of a folder."""
    if not path or path.endswith("/"):
        msg = f"{path!r} is not the name of a file."
        raise UsageError(msg, advice="Name a file.")
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _pour(path: str, data: bytes) -> None:
    """Write to what is no regular file; a pipe that nobody reads fails instead of waiting."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        os.set_blocking(descriptor, True)
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def _read(path: str, descriptor: int) -> bytes:
    """All bytes, and one more where there are too many."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        msg = f"{path}: not a regular file."
        raise UsageError(msg)
    chunks: list[bytes] = []
    left = FILE_BYTES_MAX + 1
    while left and (chunk := os.read(descriptor, left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
