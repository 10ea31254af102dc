"""Which filesystems can keep the promises: an allow-list and probes (S-06)."""

from __future__ import annotations

import contextlib
import os

from perdure.authority.filesystem.disk import RealDisk
from perdure.errors import Refused, StorageError

LOCAL = frozenset(
    "apfs bcachefs btrfs ext2 ext3 ext4 f2fs hfs jfs overlay reiserfs rootfs tmpfs xfs zfs".split()
)

VANISHING = frozenset({"ramfs", "tmpfs"})
"""Kept in memory: allowed, but lost at a restart."""


def filesystem_of(path: str) -> str:
    """The type of the filesystem that a folder is on; "unknown" where the system does not say."""
    here = os.path.realpath(path)
    best, kind = "", "unknown"
    with (
        contextlib.suppress(OSError, ValueError),
        open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table,
    ):
        for line in table:
            left, _, right = line.partition(" - ")
            mount = left.split()[4].replace("\\040", " ")
            inside = here == mount or here.startswith(mount.rstrip("/") + "/")
            if inside and len(mount) >= len(best):
                best, kind = mount, right.split()[0]
    return kind


def check_filesystem(path: str, *, allowed: bool) -> str:
    """Refuse what cannot keep the promises, unless the user allowed it. Returns the type."""
    kind = filesystem_of(path)
    if kind not in LOCAL and kind != "unknown" and not allowed:
        msg = f"{path} is on {kind}: locks and flushes there do not keep Perdure's promises."
        raise Refused(
            msg,
            advice="Set PERDURE_HOME to a folder on a local disk, or accept the loss of the guarantee with "
            "perdure init --allow-filesystem.",
        )
    problem = _probe(path)
    if problem and not allowed:
        msg = f"{path}: {problem}."
        raise Refused(msg, advice="Set PERDURE_HOME to a folder on a local disk.")
    return kind


def _probe(path: str) -> str | None:
    """Try locks, links, folder syncs and case on the folder itself."""
    disk = RealDisk(path)
    try:
        disk.make_folder("tmp")
        with disk.temporary(b"probe") as temporary:
            temporary.sync()
            first = temporary.link("tmp/probe-a")
            twice = temporary.link("tmp/probe-a")
            upper = disk.info("tmp/PROBE-A") is not None
        disk.sync_folder("tmp")
        lock = disk.try_lock("tmp")
        second = disk.try_lock("tmp")
        if lock is not None:
            lock.release()
        disk.remove("tmp/probe-a")
    except (StorageError, OSError) as error:
        reason = error.message if isinstance(error, StorageError) else str(error)
        return f"a probe failed ({reason.rstrip('.')})"
    finally:
        disk.close()
    if lock is None or second is not None:
        return "locks do not exclude there"
    if first and twice:
        return "links replace what stands there"
    return "upper and lower case are the same there" if upper else None
