"""What is computed once per version of a document, by an encoder, and can be stored beside an index."""

from __future__ import annotations

import msgspec

from perdure.core.sha256 import sha256_hex
from perdure.recall.encoder import Encoder
from perdure.recall.found import Document

FORMAT = 1
"""Raise it when views, quantisation or layout change: stored features are then computed again."""

_HEAD = b"perdure-features\x00"
_CHECK_BYTES = 32  # hexadecimal digits of half a SHA-256


class Features(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Vectors of one document version; no text and no word of it.

    `vector` is a unit vector, float16 little-endian, `dimensions` long. `states` are word pieces in their
    context, int8, rows of `state_dimensions`; a row's direction counts and not its length. Empty: none.
    """

    fingerprint: str
    dimensions: int
    vector: bytes
    state_dimensions: int = 0
    states: bytes = b""


def features(document: Document, encoder: Encoder) -> Features:
    """Compute the features of a document. This is what costs; reading them back does not."""
    from perdure.recall.semantic import compute

    return compute(document, encoder)


def pack(found: Features) -> bytes:
    """Give bytes to store: a headline, a version, the features and a checksum."""
    body = msgspec.msgpack.encode((FORMAT, found))
    return _HEAD + _check(body) + body


def unpack(data: bytes, fingerprint: str) -> Features | None:
    """Read what `pack` gave; None if it is damaged, of another version, or of another encoder."""
    start = len(_HEAD) + _CHECK_BYTES
    body = data[start:]
    if data[: len(_HEAD)] != _HEAD or data[len(_HEAD) : start] != _check(body):
        return None
    try:
        version, found = msgspec.msgpack.decode(body, type=tuple[int, Features])
    except msgspec.MsgspecError:  # a whole file of another version
        return None
    whole = version == FORMAT and found.fingerprint == fingerprint and _fits(found)
    return found if whole else None


def _check(body: bytes) -> bytes:
    return sha256_hex(body)[:_CHECK_BYTES].encode()


def _fits(found: Features) -> bool:
    rows = found.state_dimensions
    return (
        found.dimensions > 0
        and len(found.vector) == 2 * found.dimensions
        and (len(found.states) % rows == 0 if rows > 0 else not found.states)
    )
