r"""The FeatureIndex port: an unsynced file for each part under `index/`, told good by its own digest.

    "perdure recall 2\n" | SHA-256 of the rest | MessagePack {encoder, source, features}

`source` and the names of `features`, one for each document's version, are digests under the home's key. A
file is written beside and put in place whole, so that readers need no lock; of two writers the last one
stands, and what it lacks is made again. A power loss may leave anything: what does not agree with its digest
counts as missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.records import Records
from perdure.core.canonical import digest_bytes
from perdure.core.job import is_job_id, lane_of
from perdure.errors import StorageError
from perdure.ports.index import BranchPart, Kept, Part, Standing

MAGIC = b"perdure recall 2\n"
PART_BYTES_MAX = 64 * 1024 * 1024
_PREFIX = "recall-"
_DIGEST_BYTES = 32
_NAME_BYTES = 16
_BRANCH_DIGITS = 16


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a file."""

    encoder: str
    source: bytes
    features: dict[bytes, bytes]


class FileIndex:
    """See `perdure.ports.index.FeatureIndex`. `key` is the home's HMAC key: a version's plain digest would
    tell whoever guesses a text that it stood here.
    """

    def __init__(self, records: Records, key: bytes) -> None:
        self._disk: Disk = records.disk
        self._records, self._key = records, key

    def load(self, part: Part, versions: frozenset[str], *, source: str, encoder: str) -> Kept | None:
        """See `FeatureIndex.load`."""
        stored = self._read(part)
        if stored is None or stored.encoder != encoder:
            return None
        named = {self._name(version): version for version in versions}
        found = {named[name]: packed for name, packed in stored.features.items() if name in named}
        whole = len(found) == len(stored.features) == len(versions)
        return Kept(found, current=whole and stored.source == self._name(source))

    def save(self, part: Part, features: Mapping[str, bytes], *, source: str, encoder: str) -> bool:
        """See `FeatureIndex.save`."""
        named = {self._name(version): data for version, data in features.items()}
        return self._write(part, _Stored(encoder, self._name(source), named))

    def lent(self, part: BranchPart, versions: frozenset[str], *, encoder: str) -> Mapping[str, bytes]:
        """See `FeatureIndex.lent`."""
        wanted = {self._name(version): version for version in versions}
        found: dict[str, bytes] = {}
        for other in self.branches(part.scope):
            if not wanted:
                break
            stored = self._read(other) if other != part else None
            if stored is None or stored.encoder != encoder:
                continue
            for name in wanted.keys() & stored.features.keys():
                found[wanted.pop(name)] = stored.features[name]
        return found

    def branches(self, scope: str) -> tuple[BranchPart, ...]:
        """See `FeatureIndex.branches`."""
        with contextlib.suppress(StorageError):
            tails = [path.rpartition("-")[2] for path in paths_of_scope(self._disk, scope)]
            return tuple(BranchPart(scope, tail) for tail in tails if len(tail) == _BRANCH_DIGITS)
        return ()

    def keep_only(self, part: Part, versions: frozenset[str]) -> bool:
        """See `FeatureIndex.keep_only`. What cannot be read or written anew is removed."""
        path = path_of(part)
        with contextlib.suppress(StorageError):
            if self._disk.info(path) is None:
                return False
            stored = self._read(part)
            names = {self._name(version) for version in versions}
            if stored is not None and stored.features.keys() <= names:
                return False
            kept = {name: data for name, data in stored.features.items() if name in names} if stored else {}
            if not kept or stored is None or not self._write(part, _Stored(stored.encoder, b"", kept)):
                return self._disk.remove(path)
            return True
        return False

    def standing(self) -> Standing:
        """See `FeatureIndex.standing`."""
        paths = [
            f"{layout.INDEX}/{n}" for n in sorted(self._disk.names(layout.INDEX)) if n.startswith(_PREFIX)
        ]
        stored = {path: self._read_file(path) for path in paths}
        return Standing(
            parts=len(paths),
            entries=sum(len(each.features) for each in stored.values() if each is not None),
            damaged=tuple(path for path, each in stored.items() if each is None),
        )

    def _read(self, part: Part) -> _Stored | None:
        return self._read_file(path_of(part))

    def _read_file(self, path: str) -> _Stored | None:
        try:
            data = self._disk.read(path, bytes_max=PART_BYTES_MAX)
        except StorageError:
            return None
        start = len(MAGIC) + _DIGEST_BYTES
        if data is None or not data.startswith(MAGIC):
            return None
        body = data[start:]
        if _digest(body) != data[len(MAGIC) : start]:
            return None
        try:
            return msgspec.msgpack.decode(body, type=_Stored)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def _write(self, part: Part, stored: _Stored) -> bool:
        """Unsynced. Nothing is written while a failed sync stops all writing."""
        body = msgspec.msgpack.encode(stored)
        data = MAGIC + _digest(body) + body
        try:
            if len(data) > PART_BYTES_MAX or self._records.stops.standing():
                return False
            self._records.ensure_folders(layout.INDEX)
            with self._disk.temporary(data) as temporary:
                temporary.replace(path_of(part))
        except StorageError:
            return False
        return True

    def _name(self, digest: str) -> bytes:
        import hmac

        return hmac.digest(self._key, b"recall\0" + digest.encode(), "sha256")[:_NAME_BYTES]


def _digest(body: bytes) -> bytes:
    return bytes.fromhex(digest_bytes(body))


def path_of(part: Part) -> str:
    """A part's file."""
    if isinstance(part, BranchPart):
        return f"{layout.INDEX}/{_PREFIX}{part.scope}-{part.branch_id}"
    return f"{layout.INDEX}/{_PREFIX}{part.job_id}"


def paths_of_scope(disk: Disk, scope: str) -> tuple[str, ...]:
    """The files of all parts of a scope that stand now. Raises Inaccessible."""
    return tuple(
        f"{layout.INDEX}/{name}"
        for name in sorted(disk.names(layout.INDEX))
        if name.startswith(_PREFIX) and _scope_of(name.removeprefix(_PREFIX)) == scope
    )


def _scope_of(name: str) -> str:
    return lane_of(name).project if is_job_id(name) else name.rpartition("-")[0]
