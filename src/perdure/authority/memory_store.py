"""What the reference authority's processes share: records by name, who lives, and the locks."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TypeVar

from perdure.authority.filesystem.locks import NestedLock
from perdure.core.claim import Claim
from perdure.core.record import Record
from perdure.errors import Conflict, Damaged, LockTimeout

R = TypeVar("R", bound=Record)
_domain = threading.local()


class Store:
    """Records by name, what of them is damaged, claims, beats, tombstones, and one lock per domain."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.damaged: set[str] = set()
        self.set_aside: dict[str, str] = {}
        self.beats: dict[str, float] = {}
        self.living: set[str] = set()
        self.claims: dict[str, list[Claim]] = {}
        self.released: set[tuple[str, int]] = set()
        self.stones: dict[tuple[str, str, str], int] = {}
        self.selected: dict[str, str] = {}
        self.one_step = threading.RLock()
        self._locks: dict[str, threading.Lock] = {}

    @contextlib.contextmanager
    def hold(self, domain: str, *, wait_seconds: float = 10.0) -> Iterator[None]:
        """Hold one domain; a thread holds one at a time (D-09)."""
        held = getattr(_domain, "name", None)
        if held is not None:
            raise NestedLock(f"{domain} was asked for while {held} is held")
        with self.one_step:
            lock = self._locks.setdefault(domain, threading.Lock())
        if not lock.acquire(timeout=wait_seconds):
            raise LockTimeout(f"{domain} is held by another.")
        _domain.name = domain
        try:
            yield
        finally:
            _domain.name = None
            lock.release()

    def names(self, prefix: str) -> list[str]:
        """What follows a prefix, in the order of names."""
        with self.one_step:
            return sorted(name.removeprefix(prefix) for name in self.records if name.startswith(prefix))

    def read(self, name: str, record_type: type[R]) -> R | None:
        """The record of a name; Damaged when it cannot be read as that."""
        found = self.records.get(name)
        if found is None:
            return None
        if name in self.damaged or not isinstance(found, record_type):
            raise Damaged(name, "damaged")
        return found

    def elect(self, name: str, record: Record) -> bool:
        """The first creation stands; True when it was this one."""
        with self.one_step:
            return self.records.setdefault(name, record) is record

    def create(self, name: str, record: Record) -> None:
        """Publish once; the same again is success, anything else a Conflict."""
        if not self.elect(name, record) and self.records[name] != record:
            raise Conflict(f"{name}: other content stands at an immutable place.")
