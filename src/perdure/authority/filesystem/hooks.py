"""What the hooks of hosts keep between two of their runs: one small unsynced file per session, and a log.

A file that is lost or torn costs little: the block is injected once more, and turns that ended before the
session is noted again are no evidence (K-04).
"""

from __future__ import annotations

import contextlib
from typing import Annotated

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.records import Records
from perdure.errors import StorageError

SESSIONS_MAX = 256
LOG_LINES_MAX = 100
LINE_CHARS_MAX = 300
_LOG = f"{layout.HOOKS}/log"
_FILE_BYTES_MAX = 16_384
_LOG_BYTES_MAX = 256 * 1024


class HookSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session of a hook host."""

    enrolled_ms: int
    """When its first hook ran: turns that settled before do not enter by themselves (K-04)."""
    root: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")]
    """The root of its project, as the hex digits of the path's bytes. It stays what it was at the first hook:
    an agent that works in another repository for a while takes no turn there.
    """
    shown: str = ""
    """A digest of the block that was injected last, "" for none; see `perdure.hosts.hook_work`."""
    file: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")] = ""
    """The session's file, as the hex digits of the path's bytes, where the host keeps one from the start."""
    size: int = 0
    """How long that file was when its turns were taken in last."""
    branch: str = ""
    """The memory branch that the session uses, "" for the selected one."""
    paused: bool = False
    """Whether the user wants no more turns of this session taken in."""


class FileHooks:
    """Sessions of hook hosts by name (32 hex digits)."""

    def __init__(self, records: Records) -> None:
        self._disk = records.disk

    def session(self, name: str) -> HookSession | None:
        """What is known of a session."""
        try:
            data = self._disk.read(f"{layout.HOOKS}/{name}", bytes_max=_FILE_BYTES_MAX)
            return msgspec.json.decode(data, type=HookSession) if data else None
        except (StorageError, msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def sessions(self) -> dict[str, HookSession]:
        """All that are known, by name."""
        try:
            names = self._disk.names(layout.HOOKS) if self._disk.info(layout.HOOKS) is not None else ()
        except StorageError:
            return {}
        found = ((name, self.session(name)) for name in names if f"{layout.HOOKS}/{name}" != _LOG)
        return {name: session for name, session in found if session is not None}

    def note(self, name: str, session: HookSession) -> None:
        """Keep a session; those that were not noted for longest make room. Raises StorageError."""
        self._disk.make_folder(layout.HOOKS)
        path = f"{layout.HOOKS}/{name}"
        if self._disk.info(path) is None:
            self._make_room()
        self._disk.note(path, msgspec.json.encode(session))

    def log(self, line: str) -> None:
        """Add a line to the log, which keeps the newest ones. Never raises for the disk."""
        with contextlib.suppress(StorageError):
            self._disk.make_folder(layout.HOOKS)
            before = self._disk.read(_LOG, bytes_max=_LOG_BYTES_MAX) or b""
            shown = " ".join(line.split())[:LINE_CHARS_MAX].encode("utf-8", "backslashreplace")
            kept = [*before.splitlines(), shown][-LOG_LINES_MAX:]
            self._disk.note(_LOG, b"\n".join(kept) + b"\n")

    def _make_room(self) -> None:
        names = [name for name in self._disk.names(layout.HOOKS) if f"{layout.HOOKS}/{name}" != _LOG]
        aged = sorted(names, key=self._changed_ns)
        for name in aged[: max(0, len(names) - SESSIONS_MAX + 1)]:
            self._disk.remove(f"{layout.HOOKS}/{name}")

    def _changed_ns(self, name: str) -> int:
        found = self._disk.info(f"{layout.HOOKS}/{name}")
        return found.changed_ns if found is not None else 0
