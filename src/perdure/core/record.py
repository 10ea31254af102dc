"""The envelope of every record: `{"body":…,"digest":…,"kind":…,"version":…}` in RFC 8785 form.

The digest is SHA-256 of the body's bytes as they stand in the file, so that reading checks them without
encoding anything again. `unseal` then insists that the bytes are exactly what `seal` would write, which
refuses duplicate names, NaN, trailing data and foreign formatting in one comparison.
"""

from __future__ import annotations

import re
from typing import ClassVar, TypeVar

import msgspec

from perdure.core.canonical import canonical, digest_bytes

RECORD_BYTES_MAX = 512 * 1024
_HEAD = b'{"body":'
_PLACE = re.compile(r" - at `(\$[A-Za-z0-9_.\[\]]*)`\Z")
"""The path that msgspec puts last: names of fields and places in lists; it leaves keys of objects out."""
_MISFITS = (
    ("Expected", "a value of another type or size"),
    ("Invalid", "a value that is not allowed"),
    ("Object contains unknown field", "an unknown field"),
    ("Object missing required field", "a missing field"),
    ("JSON is malformed", "no JSON"),
    ("Input data was truncated", "no JSON"),
)
_TAIL_SIZE = len(b',"digest":""') + 64


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what stands on disk as a file of its own."""

    KIND: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1


class Unreadable(Exception):
    """Bytes that are not the record they should be. `reason` is a short phrase without content."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Newer(Unreadable):
    """A record of a version this program does not know: hold its item, never quarantine it."""

    def __init__(self, reason: str, version: int) -> None:
        super().__init__(reason)
        self.version = version


R = TypeVar("R", bound=Record)


def record_digest(record: Record) -> str:
    """The digest that `seal` writes."""
    return digest_bytes(canonical(record))


def seal(record: Record) -> bytes:
    """The bytes of the record's file."""
    body = canonical(record)
    kind, version = type(record).KIND, type(record).VERSION
    return b'%b%b,"digest":"%b","kind":"%b","version":%d}' % (
        _HEAD,
        body,
        digest_bytes(body).encode(),
        kind.encode(),
        version,
    )


def unseal(data: bytes, record_type: type[R]) -> R:
    """Read what `seal` wrote. Raises Unreadable with the reason, or Newer."""
    tail = b',"kind":"%b","version":%d}' % (record_type.KIND.encode(), record_type.VERSION)
    if not data.startswith(_HEAD) or not data.endswith(tail):
        raise _misfit(data, record_type)
    body = data[len(_HEAD) : -len(tail) - _TAIL_SIZE]
    digest_part = data[-len(tail) - _TAIL_SIZE : -len(tail)]
    if digest_part != b',"digest":"%b"' % digest_bytes(body).encode():
        reason = "digest mismatch"
        raise Unreadable(reason)
    try:
        record = msgspec.json.decode(body, type=record_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"schema: {_misfit_kind(str(error))}") from None  # the error quotes what it read
    if canonical(record) != body:
        reason = "not in canonical form"
        raise Unreadable(reason)
    return record


def _misfit_kind(said: str) -> str:
    """What is wrong in kind and in which field, from a decoder's message: never what stands there."""
    kind = next((plain for begin, plain in _MISFITS if said.startswith(begin)), "not of its form")
    place = _PLACE.search(said)
    return f"{kind} at {place.group(1)}" if place else kind


class _Envelope(msgspec.Struct):
    kind: str
    version: int


def _misfit(data: bytes, record_type: type[Record]) -> Unreadable:
    """Say why bytes are not a record of this type; only for the error path."""
    if not data.strip(b"\0 \r\n\t"):
        return Unreadable("empty")
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Unreadable("truncated, trailing or foreign data")
    if envelope.kind == record_type.KIND and envelope.version > record_type.VERSION:
        reason = f"version {envelope.version}, this Perdure knows {record_type.VERSION}"
        return Newer(reason, envelope.version)
    if envelope.kind != record_type.KIND:
        return Unreadable(f"another kind of record stands here, {record_type.KIND!r} expected")
    return Unreadable("not in canonical form")
