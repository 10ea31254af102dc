"""What is computed once per version of a document, by an encoder, and can be stored beside an index."""

from __future__ import annotations

import msgspec

from perdure.recall.encoder import Encoder
from perdure.recall.found import Document

FORMAT = 2
"""Raise it when views, quantisation or layout change: stored features are then computed again."""

_Packed = tuple[int, int, bytes, int, bytes]


class Features(msgspec.Struct, frozen=True):
    """Vectors of one document version; no text and no word of it.

    Only directions count, so that no number tells a length. `vector` is int8, `dimensions` long. `states` are
    word pieces in their context, four bits a number, rows of `state_dimensions`; see `semantic`. Empty: none.
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
    """Give bytes to store. Who stores them says beside them which encoder made them, and proves them whole:
    both stand once for many documents.
    """
    packed: _Packed = (FORMAT, found.dimensions, found.vector, found.state_dimensions, found.states)
    return msgspec.msgpack.encode(packed)


def unpack(data: bytes, fingerprint: str) -> Features | None:
    """Read what `pack` gave of this encoder's features; None if it is of another version, or does not fit
    itself.
    """
    try:
        version, dimensions, vector, rows, states = msgspec.msgpack.decode(data, type=_Packed)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # of another version as a whole
        return None
    found = Features(fingerprint, dimensions, vector, rows, states)
    return found if version == FORMAT and _fits(found) else None


def row_bytes(dimensions: int) -> int:
    """Bytes of a row of states: two numbers in each."""
    return (dimensions + 1) // 2


def _fits(found: Features) -> bool:
    rows = found.state_dimensions
    return (
        found.dimensions > 0
        and len(found.vector) == found.dimensions
        and (len(found.states) % row_bytes(rows) == 0 if rows > 0 else not found.states)
    )
