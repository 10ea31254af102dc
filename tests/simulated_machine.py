"""The machine around a simulated medium: its processes, locks, capacity, faults and its end.

Everything here is shared by all views of one `SimulatedDisk`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self

import msgspec

from perdure.errors import DiskFull, StorageError
from tests.simulated_media import ROOT, Media

Operation = Literal[
    "make_folder",
    "write",
    "sync_file",
    "link",
    "replace",
    "drop",
    "remove",
    "remove_folder",
    "sync_folder",
    "note",
]
SYNCS = frozenset({"sync_file", "sync_folder"})
_ADVICE = "Free some space and try again."


class Crashed(BaseException):
    """The machine lost power, or the process was killed; no `except Exception` may survive it."""


class Fault(msgspec.Struct):
    """Fails an operation once `left` of its kind have come; with no error it is reported as done instead."""

    operation: Operation
    left: int
    error: StorageError | None
    forever: bool


class Plan(msgspec.Struct, frozen=True):
    """End at this count of operations, before or after it takes effect."""

    at: int
    after: bool


class HeldLock:
    """A lock on an inode, owned by one process; a context manager as the real one is."""

    def __init__(self, machine: Machine, inode: int, process: str, *, shared: bool) -> None:
        self._machine, self._inode = machine, inode
        self.process, self.shared = process, shared

    def release(self) -> None:
        """Let it go; a second call does nothing, nor does one after the owner's death."""
        self._machine.release(self._inode, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Machine:
    """The state beside the medium. `lives` says which life of a process name is the present one."""

    def __init__(self, media: Media, *, stale_temporaries: int) -> None:
        self.media = media
        self.stale_temporaries = stale_temporaries
        self.bytes_max: int | None = None
        self.inodes_max: int | None = None
        self.read_only = False
        self.crashed = False
        self.opened_temporary = False
        self.plan: Plan | None = None
        self.faults: list[Fault] = []
        self.log: list[tuple[Operation, str]] = []
        self.watcher: Callable[[Operation, str], None] = lambda _operation, _path: None
        self.lives: dict[str, int] = {}
        self._locks: dict[int, list[HeldLock]] = {}
        self._life = 0

    # -- processes

    def begin_life(self, process: str) -> int:
        """End the process of that name, if it lives, with its locks; the number of its next life."""
        self._life += 1
        self.lives[process] = self._life
        for inode, held in list(self._locks.items()):
            for lock in held:
                if lock.process == process:
                    self.release(inode, lock)
        return self._life

    def restart(self) -> None:
        """End all processes; the medium stays as it is."""
        self.lives, self._locks = {}, {}
        self.crashed, self.plan = False, None
        self.faults, self.log = [], []

    # -- locks

    def holders(self, inode: int) -> list[HeldLock]:
        """The locks on an inode."""
        return self._locks.get(inode, [])

    def hold(self, inode: int, process: str, *, shared: bool) -> HeldLock | None:
        """Lock it, or None when another lock is in the way, of whichever process."""
        others = self.holders(inode)
        if others and not (shared and all(lock.shared for lock in others)):
            return None
        lock = HeldLock(self, inode, process, shared=shared)
        self._locks[inode] = [*others, lock]
        return lock

    def release(self, inode: int, lock: HeldLock) -> None:
        """Drop one lock, if it is held."""
        left = [other for other in self.holders(inode) if other is not lock]
        if left:
            self._locks[inode] = left
        else:
            self._locks.pop(inode, None)

    # -- faults

    def due_fault(self, operation: Operation) -> Fault | None:
        """Count the operation against every fault; the first that is due, if any."""
        due: Fault | None = None
        if not self.faults:
            return None
        for fault in [fault for fault in self.faults if fault.operation == operation]:
            fault.left -= 1
            if fault.left <= 0 and due is None:
                due = fault
                if not fault.forever:
                    self.faults.remove(fault)
        return due

    def check_room(self, path: str, *, bytes_more: int, inodes_more: int) -> None:
        """Raise DiskFull when that much more does not fit; the home's own folder is not counted."""
        if self.inodes_max is None and self.bytes_max is None:
            return
        alive = {inode for inode, count in self.media.links.items() if count > 0}
        if self.inodes_max is not None and len(alive - {ROOT}) + inodes_more > self.inodes_max:
            raise DiskFull(f"{path}: no inodes are left.", advice=_ADVICE)
        if self.bytes_max is not None:
            used = sum(len(node.data) for inode, node in self.media.files.items() if inode in alive)
            if used + bytes_more > self.bytes_max:
                raise DiskFull(f"{path}: no space is left.", advice=_ADVICE)
