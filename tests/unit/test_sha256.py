"""The digest of the turn-start path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.canonical import digest_bytes
from perdure.core.sha256 import sha256_hex


@pytest.mark.requirement("M-04")
@given(data=st.binary(max_size=300))
def test_the_quick_digest_is_the_digest(data: bytes) -> None:
    """Both ways give the same 64 digits."""
    assert sha256_hex(data) == digest_bytes(data)
