"""What makes exploring fast and repeatable without making it weaker.

Answers of pure functions are remembered: thousands of recoveries read the same bytes and check the same
texts. Only functions of immutable arguments are: what comes in decides what comes out, whatever the disk is.
What is wrapped is whatever stands at the name when exploration begins, a deliberate mistake too; an error is
never remembered, and nothing outlives the exploration.

The one thing that the product draws at random and does not take as an argument, the name under which it notes
who held a lock last, is counted instead: two runs of a scenario leave the same bytes, so that states which
are the same are seen to be.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from perdure.authority.filesystem import memory, records
from perdure.core import secrets, text_meaning

_BYTES_MAX = 16_384
_ENTRIES_MAX = 16_384
_GARBAGE = (20_000, 10, 10)
_PURE = ((text_meaning, "check_meaning"), (text_meaning, "find_secrets"), (secrets, "find_secrets"))


class Tokens:
    """Names for the holders of locks: no two the same between two calls of `begin` with different series."""

    def __init__(self) -> None:
        self._series, self._count = "", 0

    def begin(self, series: str) -> None:
        """Count on in a series of its own."""
        self._series, self._count = series, 0

    def urandom(self, size: int) -> bytes:
        """See `os.urandom`."""
        self._count += 1
        return hashlib.sha256(f"{self._series} {self._count}".encode()).digest()[:size]


TOKENS = Tokens()


@contextlib.contextmanager
def steady() -> Iterator[None]:
    """See the module. Cycles are looked for less often, too."""
    before = gc.get_threshold()
    gc.set_threshold(*_GARBAGE)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory, "os", SimpleNamespace(urandom=TOKENS.urandom))
            patch.setattr(records, "unseal", _remembering_small(getattr(records, "unseal")))  # noqa: B009
            for module, name in _PURE:
                known = functools.lru_cache(maxsize=_ENTRIES_MAX)(getattr(module, name))
                patch.setattr(module, name, known)
            yield
    finally:
        gc.set_threshold(*before)


def _remembering_small(unseal: Callable[[bytes, type], object]) -> Callable[[bytes, type], object]:
    known = functools.lru_cache(maxsize=_ENTRIES_MAX)(unseal)

    def read(data: bytes, record_type: type) -> object:
        return known(data, record_type) if len(data) <= _BYTES_MAX else unseal(data, record_type)

    return read
