"""The three lock domains: budget, coverage(project), project(project). One at a time (D-09)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from perdure.authority.filesystem.disk import Disk

WAIT_SECONDS = 10.0
_held = threading.local()


class NestedLock(Exception):
    """A second lock domain was entered while one is held."""


@contextlib.contextmanager
def hold(disk: Disk, folder: str, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold one lock domain. Raises NestedLock when this thread holds one, LockTimeout after the wait."""
    current: str | None = getattr(_held, "folder", None)
    if current is not None:
        msg = f"{folder} was asked for while {current} is held"
        raise NestedLock(msg)
    _held.folder = folder
    try:
        lock = disk.lock(folder, wait_seconds=wait_seconds)
        try:
            yield
        finally:
            lock.release()
    finally:
        _held.folder = None


def refuse_held(what: str) -> None:
    """Raise NestedLock when this thread holds a lock domain: some things never happen under one (S-02)."""
    current: str | None = getattr(_held, "folder", None)
    if current is not None:
        msg = f"{what} was asked for while {current} is held"
        raise NestedLock(msg)
