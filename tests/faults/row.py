"""What a row of the table of deliberate faults is, and how a fault is made.

A fault patches the product from outside, or what a port promises; nothing in the product knows of it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec
import pytest

Patch = Callable[[pytest.MonkeyPatch], None]


class Instrument(Protocol):
    """What looks for broken promises: see `instruments`. Hashable, so that a sound product is looked at once
    per instrument.
    """

    def __hash__(self) -> int: ...

    @property
    def words(self) -> str:
        """What it is, for people."""
        ...

    def report(self) -> str | None:
        """The first broken promise that it finds, or None."""
        ...


class Fault(msgspec.Struct, frozen=True):
    """One deliberate fault. `rule` is the protocol rule that it breaks: a key of `table.RULES`."""

    name: str
    rule: str
    does: str
    patch: Patch
    instrument: Instrument
    check: str  # the words that the report has to hold: the promise that reports the fault


class Found(msgspec.Struct, frozen=True):
    """What became of a fault: `report` is None when nothing was noticed."""

    fault: Fault
    report: str | None
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether the named check is the one that reported it."""
        return self.report is not None and re.search(re.escape(self.fault.check), self.report) is not None


@contextlib.contextmanager
def made(patch: Patch) -> Iterator[None]:
    """Make the fault for as long as the context lasts."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        patch(monkeypatch)
        yield
