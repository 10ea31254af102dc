"""SHA-256 without loading OpenSSL, which would cost a turn's start as much as the interpreter itself.

Only for small inputs on the turn-start path; everywhere else `perdure.core.canonical` gives the same digits.
"""

from __future__ import annotations

try:
    import _sha256 as _plain  # type: ignore[import-not-found] # until Python 3.11
except ImportError:  # pragma: no cover - depends on the interpreter
    try:
        import _sha2 as _plain  # type: ignore[import-not-found] # since Python 3.12
    except ImportError:
        import hashlib as _plain


def sha256_hex(data: bytes) -> str:
    """64 lower-case hex digits."""
    return str(_plain.sha256(data).hexdigest())
