"""RFC 8785 bytes and SHA-256 digests (M-04).

Records hold only strings, integers within 2^53, booleans, null, lists and objects with ASCII names.
For such values, msgspec's sorted JSON is RFC 8785 byte for byte (a property test compares it with the
reference library), at a fraction of the time.
"""

from __future__ import annotations

import msgspec

from perdure.core.sha256 import sha256_hex

_PLAIN_BYTES_MAX = 32 * 1024
_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a record or of plain JSON values without floats.

    Raises UnicodeEncodeError for a lone surrogate.
    """
    return _encoder.encode(value)


def digest_bytes(data: bytes) -> str:
    """SHA-256 as 64 lower-case hex digits."""
    if len(data) <= _PLAIN_BYTES_MAX:
        return sha256_hex(data)
    import hashlib  # OpenSSL's is several times as fast, and is worth loading for what is large

    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    """SHA-256 over the RFC 8785 bytes of a value."""
    return digest_bytes(canonical(value))


def keyed_digest(key: bytes, text: str) -> str:
    """HMAC-SHA-256 under the home's key: what a tombstone keeps of a text (rule 13)."""
    import hmac

    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()
