"""Copies of what is damaged, each with its reason beside it (rule 6). Nothing that counts is moved away."""

from __future__ import annotations

import contextlib

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import split
from perdure.authority.filesystem.records import Records
from perdure.core.canonical import digest_bytes
from perdure.errors import StorageError

_COPY_BYTES_MAX = 4 * 1024 * 1024


def copy_aside(records: Records, path: str, reason: str) -> str:
    """Copy a damaged file into quarantine, once per content. Returns the copy's path; never raises for the
    damaged file itself: what is too large or not a file is described instead of copied.
    """
    disk = records.disk
    try:
        data = disk.read(path, bytes_max=_COPY_BYTES_MAX)
    except StorageError as error:
        data, reason = None, f"{reason}; not copied: {error}"
    mark = digest_bytes(path.encode() + b"\0" + (data or reason.encode("utf-8", "replace")))[:32]
    kept = f"{layout.QUARANTINE}/{split(path)[1][:80]}.{mark}"
    note = msgspec.json.encode({"path": path, "reason": reason})
    for target, content in ((kept, data), (f"{kept}.reason", note)):
        if content is None or disk.info(target) is not None:
            continue
        with disk.temporary(content) as temporary:
            temporary.sync()
            with contextlib.suppress(StorageError):
                temporary.link(target)
    disk.sync_folder(layout.QUARANTINE)
    return kept
