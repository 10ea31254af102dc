"""Copies of what is damaged, each with its reason beside it (rule 6). Nothing that counts is moved away."""

from __future__ import annotations

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import split
from perdure.authority.filesystem.records import Records
from perdure.core.canonical import digest_bytes
from perdure.errors import StorageError

_COPY_BYTES_MAX = 4 * 1024 * 1024
_NS_PER_MS = 1_000_000
COPIES_MAX = 1_000


class Copied(msgspec.Struct, frozen=True):
    """Where a copy belongs, and whether it stands there durably: only then may the original go."""

    path: str
    stands: bool


def copy_aside(records: Records, path: str, reason: str) -> Copied:
    """Copy a damaged file into quarantine, once per content.

    What cannot be read, is too large or is not a file is described instead of copied. Raises DiskFailed.
    """
    data: bytes | None = None
    try:
        data = records.disk.read(path, bytes_max=_COPY_BYTES_MAX)
    except StorageError as error:
        reason = f"{reason}; not copied: {error}"
    mark = digest_bytes(path.encode() + b"\0" + (data or reason.encode("utf-8", "replace")))[:32]
    kept = f"{layout.QUARANTINE}/{split(path)[1][:80]}.{mark}"
    stands = data is not None and records.keep(kept, data)
    records.keep(f"{kept}.reason", msgspec.json.encode({"path": path, "reason": reason}))
    return Copied(kept, stands)


def sweep_copies(records: Records, before_ms: int) -> int:
    """Remove the copies that were made before a time, and the oldest of more than `COPIES_MAX`; their reasons
    stay, without what was copied. Returns how many.
    """
    made: list[tuple[int, str]] = []
    for name in records.disk.names(layout.QUARANTINE):
        path = f"{layout.QUARANTINE}/{name}"
        found = records.disk.info(path)
        if found is not None and found.kind == "file" and not name.endswith(".reason"):
            made.append((found.changed_ns // _NS_PER_MS, path))
    made.sort(reverse=True)
    old = [path for place, (ms, path) in enumerate(made) if place >= COPIES_MAX or ms < before_ms]
    return records.remove(*old)
