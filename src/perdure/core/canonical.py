"""RFC 8785 bytes and SHA-256 digests (M-04).

Records hold only strings, integers within 2^53, booleans, null, lists and objects with ASCII names.
For such values, msgspec's sorted JSON is RFC 8785 byte for byte (a property test compares it with the
reference library), at a fraction of the time.
"""

from __future__ import annotations

import hashlib
import hmac

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a record or of plain JSON values without floats.

    Raises UnicodeEncodeError for a lone surrogate.
    """
    return _encoder.encode(value)


def digest_bytes(data: bytes) -> str:
    """SHA-256 as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """SHA-256 over the RFC 8785 bytes of a value."""
    return digest_bytes(canonical(value))


def keyed_digest(key: bytes, text: str) -> str:
    """HMAC-SHA-256 under the home's key: what a tombstone keeps of a text (rule 13)."""
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
