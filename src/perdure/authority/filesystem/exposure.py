"""The Exposures port: one small unsynced file per session, dropped when it is torn, the oldest removed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.records import Records
from perdure.core.canonical import digest
from perdure.errors import StorageError
from perdure.ports.exposure import Exposed

SESSIONS_MAX = 64
ENTRIES_MAX = 500
_FILE_BYTES_MAX = 256 * 1024


class FileExposures:
    """See `perdure.ports.exposure.Exposures`."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def record(self, project: str, session: str, entries: Mapping[str, str], *, now_ms: int) -> None:
        """See `Exposures.record`."""
        before = self.of_session(project, session)
        counted = dict(before)
        for entry_id, entry_digest in entries.items():
            known = before.get(entry_id)
            same = known is not None and known.entry_digest == entry_digest
            times = known.times + 1 if known is not None and same else 1
            counted[entry_id] = Exposed(entry_digest=entry_digest, times=times, last_ms=now_ms)
        newest = sorted(counted.items(), key=lambda pair: -pair[1].last_ms)[:ENTRIES_MAX]
        with contextlib.suppress(StorageError):
            if not before:
                self._make_room(project)
            self._records.disk.note(_path(project, session), msgspec.json.encode(dict(newest)))

    def of_session(self, project: str, session: str) -> Mapping[str, Exposed]:
        """See `Exposures.of_session`."""
        try:
            data = self._records.disk.read(_path(project, session), bytes_max=_FILE_BYTES_MAX)
            return msgspec.json.decode(data, type=dict[str, Exposed]) if data else {}
        except (StorageError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}

    def _make_room(self, project: str) -> None:
        """A new session's file: the folder exists, and the sessions longest unused make room."""
        folder = _folder(project)
        disk = self._records.disk
        disk.make_folder(folder)
        names = disk.names(folder)
        if len(names) < SESSIONS_MAX:
            return
        aged = sorted(
            names, key=lambda name: info.changed_ns if (info := disk.info(f"{folder}/{name}")) else 0
        )
        for name in aged[: len(names) - SESSIONS_MAX + 1]:
            disk.remove(f"{folder}/{name}")


def _folder(project: str) -> str:
    return f"{layout.scope_folder(project)}/exposure"


def _path(project: str, session: str) -> str:
    return f"{_folder(project)}/{digest(['session', session])[:32]}"
