"""A disk of memory that can be made as small as what it holds: tmpfs, where the system lets us mount one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOMY_BYTES = 64 * 1024 * 1024
ROOMY_INODES = 20_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Room(msgspec.Struct, frozen=True):
    """What is free: bytes in whole pages, and inodes, of which a hard link takes one, too."""

    pages: int
    inodes: int

    def __str__(self) -> str:
        return f"{self.pages} pages and {self.inodes} inodes free"


class SmallDisk:
    """A mounted disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def left(self, room: Room) -> Iterator[None]:
        """Only this is free meanwhile."""
        try:
            self._leave(room)
            yield
        finally:
            self._remount(ROOMY_BYTES, ROOMY_INODES)

    def _leave(self, room: Room) -> None:
        """Make it so small that only this is free; one page at least, since no size at all means no limit."""
        found = os.statvfs(self.path)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        self._remount(
            max(PAGE_BYTES, used + room.pages * PAGE_BYTES), found.f_files - found.f_ffree + room.inodes
        )

    def _remount(self, size: int, inodes: int) -> None:
        options = f"remount,size={size},nr_inodes={inodes}"
        subprocess.run(["mount", "-o", options, str(self.path)], check=True)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount one on a folder; it is gone with all that it holds afterwards."""
    folder.mkdir()
    options = f"size={ROOMY_BYTES},nr_inodes={ROOMY_INODES},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def cannot_mount() -> str | None:
    """Why no disk can be mounted here, or None."""
    if os.geteuid() != 0:
        return "only root may mount a tmpfs"
    if shutil.which("mount") is None or shutil.which("umount") is None:
        return "mount is not installed"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, text=True, check=False
        )
        if tried.returncode != 0:
            return f"a tmpfs cannot be mounted here: {tried.stderr.strip()}"
        subprocess.run(["umount", folder], check=True)
    return None
