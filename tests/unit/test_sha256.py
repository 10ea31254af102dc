"""The digest without OpenSSL."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.canonical import digest_bytes
from perdure.core.sha256 import sha256_hex


@pytest.mark.requirement("M-04")
@given(data=st.binary(max_size=300))
def test_the_quick_digest_is_the_digest(data: bytes) -> None:
    """Both ways give the 64 digits that OpenSSL gives."""
    assert sha256_hex(data) == digest_bytes(data) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [32 * 1024, 32 * 1024 + 1, 200_000])
def test_large_data_has_the_same_digest(size: int) -> None:
    """On both sides of the size from which OpenSSL is loaded."""
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    assert digest_bytes(data) == sha256_hex(data) == hashlib.sha256(data).hexdigest()
