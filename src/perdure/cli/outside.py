"""Files of the user's, outside the home: read what they name, and write where they say."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from perdure.cli.command import decoded
from perdure.errors import NotFound, StorageError, UsageError

FILE_BYTES_MAX = 8_000_000


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
    """Write a new file, or take the place of an older one whole. Raises UsageError and StorageError."""
    target = Path(path)
    if target.is_dir() or not target.name:
        msg = f"{path}: this is a folder."
        raise UsageError(msg, advice="Name a file.")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            draft.touch(0o600, exist_ok=False)
            draft.write_bytes(text.encode())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        msg = f"{path}: it cannot be written: {error.strerror}."
        raise StorageError(msg) from error


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
