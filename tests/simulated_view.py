"""One process's view of a simulated machine: the Disk port, behaving as `RealDisk` does.

Every mutating call is one numbered operation, at which the machine or the process can end.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Info, Lock, Temporary, check_path, split
from perdure.errors import Damaged, LockTimeout, StorageError
from tests.simulated_machine import Crashed, Fault, HeldLock, Machine, Operation, Plan
from tests.simulated_media import ROOT, FileNode, Media

T = TypeVar("T")
_TEMPORARIES = f"{TEMPORARY_FOLDER}/"

# Millions of calls on a few hundred paths: what was found right once stays right.
_parts_of = functools.lru_cache(maxsize=8_192)(lambda path: tuple(check_path(path).split("/")))
_split = functools.lru_cache(maxsize=8_192)(split)
_checked = functools.lru_cache(maxsize=8_192)(check_path)


class DiskView:
    """The Disk port on a machine, as the process of that name; it is dead once a newer life began."""

    def __init__(self, machine: Machine, process: str) -> None:
        self._machine = machine
        self._begin_life(process)

    def _begin_life(self, process: str) -> None:
        self._process = process
        self._life = self._machine.begin_life(process)
        self._calls = 0
        self._plan: Plan | None = None

    # -- reading

    def read(self, path: str, *, bytes_max: int) -> bytes | None:
        """See `Disk.read`."""
        self._check_alive()
        inode = self._find(path)
        if inode is None:
            return None
        if path.startswith(_TEMPORARIES):
            self._machine.opened_temporary = True
        media = self._machine.media
        node = media.files.get(inode)
        if node is None or node.kind == "other":
            raise Damaged(path, "not a regular file")
        if node.kind == "symlink":
            raise Damaged(path, os.strerror(errno.ELOOP))
        if len(node.data) > bytes_max:
            raise Damaged(path, f"{len(node.data)} bytes, at most {bytes_max} allowed")
        twin = media.links[inode] == 2 and inode in self._names(TEMPORARY_FOLDER).values()
        if media.links[inode] > 1 and not twin:
            raise Damaged(path, "has another hard link")
        return node.data

    def names(self, folder: str) -> list[str]:
        """See `Disk.names`."""
        self._check_alive()
        return [name for name in self._names(folder) if _can_be_given(name)]

    def info(self, path: str) -> Info | None:
        """See `Disk.info`. Times are counts of operations; the owner is who runs the test."""
        self._check_alive()
        inode = self._find(path)
        if inode is None:
            return None
        media = self._machine.media
        node = media.files.get(inode)
        return Info(
            kind="folder" if node is None else node.kind,
            size_bytes=4096 if node is None else len(node.data),
            mode=0o700 if node is None else node.mode,
            links=2 if node is None else media.links[inode],
            inode=inode,
            owner=os.geteuid(),
            device=1,
            changed_ns=0 if node is None else node.changed,
        )

    # -- writing

    def make_folder(self, path: str) -> bool:
        """See `Disk.make_folder`."""

        def make() -> bool:
            parent, name = self._need_parent(path)
            media = self._machine.media
            there = media.folders[parent].get(name)
            if there is not None:
                self._folder(path)
                return False
            self._machine.check_room(path, bytes_more=0, inodes_more=1)
            media.rename((parent, name, self._new_folder()))
            return True

        return self._perform("make_folder", _checked(path), make)

    @contextlib.contextmanager
    def temporary(self, data: bytes) -> Iterator[Temporary]:
        """See `Disk.temporary`. A crash inside the context leaves the temporary name."""
        media = self._machine.media
        inode = media.new_inode()
        name = f"{inode:032x}"
        path = f"{TEMPORARY_FOLDER}/{name}"

        def write() -> HeldLock | None:
            folder = self._need(TEMPORARY_FOLDER)
            self._machine.check_room(path, bytes_more=len(data), inodes_more=1)
            media.files[inode] = FileNode(data, (b"",) if data else (), changed=len(self._machine.log))
            media.rename((folder, name, inode))
            return self._machine.hold(inode, self._process, shared=False)

        lock = self._perform("write", path, write)
        life = self._life
        try:
            yield _SimulatedTemporary(self, life, inode, name)
        finally:
            if self._lives(life):
                with contextlib.suppress(StorageError):
                    self._perform("drop", path, lambda: self._drop(name))
                if lock is not None:
                    lock.release()

    def _drop(self, name: str) -> None:
        media = self._machine.media
        folder = self._need(TEMPORARY_FOLDER)
        if name in media.folders[folder]:
            media.rename((folder, name, None))
        media.finish_temporary(folder, name, keep=self._machine.stale_temporaries)

    def remove(self, path: str) -> bool:
        """See `Disk.remove`."""

        def unlink() -> bool:
            parent, name = self._parent(path)
            media = self._machine.media
            inode = None if parent is None else media.folders[parent].get(name)
            if parent is None or inode is None:
                return False
            if inode in media.folders:
                raise _refused(path, errno.EISDIR)
            media.rename((parent, name, None))
            return True

        return self._perform("remove", _checked(path), unlink)

    def remove_folder(self, path: str) -> bool:
        """See `Disk.remove_folder`."""

        def remove() -> bool:
            parent, name = self._parent(path)
            media = self._machine.media
            inode = None if parent is None else media.folders[parent].get(name)
            if parent is None or inode is None:
                return False
            if inode not in media.folders:
                raise _refused(path, errno.ENOTDIR)
            if media.folders[inode]:
                return False
            media.rename((parent, name, None))
            return True

        return self._perform("remove_folder", _checked(path), remove)

    def sync_folder(self, path: str) -> None:
        """See `Disk.sync_folder`."""
        media = self._machine.media

        def spoil() -> None:
            if media.model == "ext4":
                self._machine.read_only = True
            media.spoil_folder(self._need(path))

        self._sync("sync_folder", path, lambda: media.sync_folder(self._need(path)), spoil)

    def note(self, path: str, data: bytes) -> None:
        """See `Disk.note`."""

        def write() -> None:
            parent, name = self._need_parent(path)
            media, machine = self._machine.media, self._machine
            inode = media.folders[parent].get(name)
            if inode is None:
                machine.check_room(path, bytes_more=len(data), inodes_more=1)
                inode = media.new_inode()
                media.files[inode] = FileNode(b"")
                media.rename((parent, name, inode))
            elif (node := media.files.get(inode)) is None:
                raise _refused(path, errno.EISDIR)
            elif node.kind != "file":
                raise _refused(path, errno.ELOOP if node.kind == "symlink" else errno.ENXIO)
            else:
                machine.check_room(path, bytes_more=len(data) - len(node.data), inodes_more=0)
            media.write(inode, data, changed=len(machine.log))

        self._perform("note", _checked(path), write)

    # -- locks

    def lock(self, path: str, *, wait_seconds: float, shared: bool = False) -> Lock:
        """See `Disk.lock`, but without waiting: who holds it could not release it meanwhile."""
        held = self.try_lock(path, shared=shared)
        if held is None:
            others = self._machine.holders(self._must_find(path))
            names = ", ".join(sorted({lock.process for lock in others}))
            msg = f"{path} is locked by process {names}; waited {wait_seconds:g} s."
            raise LockTimeout(msg, advice="Nothing was changed. Try again, or stop that process.")
        return held

    def try_lock(self, path: str, *, shared: bool = False) -> Lock | None:
        """See `Disk.try_lock`."""
        self._check_alive()
        inode = self._must_find(path)
        node = self._machine.media.files.get(inode)
        if node is not None and node.kind == "symlink":
            raise Damaged(path, os.strerror(errno.ELOOP))
        return self._machine.hold(inode, self._process, shared=shared)

    def sweep_temporaries(self) -> int:
        """See `Disk.sweep_temporaries`."""
        self._check_alive()
        machine = self._machine
        free = [
            name
            for name, inode in self._names(TEMPORARY_FOLDER).items()
            if _can_be_given(name)
            and inode in machine.media.files
            and machine.media.files[inode].kind != "symlink"
            and not machine.holders(inode)
        ]
        return sum(self.remove(f"{TEMPORARY_FOLDER}/{name}") for name in free)

    # -- parts

    def _lives(self, life: int) -> bool:
        machine = self._machine
        return not machine.crashed and machine.lives.get(self._process) == life == self._life

    def _check_alive(self) -> None:
        if not self._lives(self._life):
            raise Crashed

    def _begin(self, operation: Operation, path: str) -> Fault | None:
        self._check_alive()
        self._machine.watcher(operation, path)
        self._machine.log.append((operation, path))
        self._calls += 1
        self._crash_if_due(after=False)
        return self._machine.due_fault(operation)

    def _perform(self, operation: Operation, path: str, effect: Callable[[], T]) -> T:
        fault = self._begin(operation, path)
        if fault is not None and fault.error is not None:
            raise fault.error
        if self._machine.read_only:
            raise _refused(path, errno.EROFS)
        result = effect()
        self._crash_if_due(after=True)
        return result

    def _sync(
        self, operation: Operation, path: str, effect: Callable[[], None], spoil: Callable[[], None]
    ) -> None:
        fault = self._begin(operation, path)
        if fault is None:
            effect()
        elif fault.error is not None:
            spoil()
            raise fault.error
        self._crash_if_due(after=True)

    def _crash_if_due(self, *, after: bool) -> None:
        machine = self._machine
        if machine.plan is not None and machine.plan == Plan(len(machine.log), after):
            machine.crashed = True
            raise Crashed
        if self._plan is not None and self._plan == Plan(self._calls, after):
            machine.begin_life(self._process)
            raise Crashed

    def _new_folder(self) -> int:
        media = self._machine.media
        inode = media.new_inode()
        media.add_folder(inode)
        return inode

    def _folder(self, path: str) -> int | None:
        """The inode of a folder, None when it is not there; raises Damaged for anything else."""
        media = self._machine.media
        known = media.walked.get(path)
        if known is not None:
            return known
        here = ROOT
        walked: list[str] = []
        for name in _parts_of(path) if path else ():
            walked.append(name)
            found = media.folders[here].get(name)
            if found is None:
                return None
            if found not in media.folders:
                raise Damaged("/".join(walked), "not a folder of ours")
            here = found
        media.walked[path] = here
        return here

    def _need(self, path: str) -> int:
        folder = self._folder(path)
        if folder is None:
            raise StorageError(f"{path}: the folder is gone.")
        return folder

    def _parent(self, path: str) -> tuple[int | None, str]:
        folder, name = _split(path)
        return self._folder(folder), name

    def _need_parent(self, path: str) -> tuple[int, str]:
        folder, name = _split(path)
        return self._need(folder), name

    def _names(self, folder: str) -> dict[str, int]:
        inode = self._folder(folder)
        return {} if inode is None else self._machine.media.folders[inode]

    def _find(self, path: str) -> int | None:
        parent, name = self._parent(path)
        return None if parent is None else self._machine.media.folders[parent].get(name)

    def _must_find(self, path: str) -> int:
        parent, name = self._need_parent(path)
        inode = self._machine.media.folders[parent].get(name)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return inode


class _SimulatedTemporary:
    def __init__(self, disk: DiskView, life: int, inode: int, name: str) -> None:
        self._disk, self._life, self._inode, self._name = disk, life, inode, name
        self._path = f"{TEMPORARY_FOLDER}/{name}"

    def sync(self) -> None:
        media = self._media()
        self._disk._sync(
            "sync_file",
            self._path,
            lambda: media.sync_file(self._inode),
            lambda: media.spoil_file(self._inode),
        )

    def link(self, target: str) -> bool:
        media = self._media()

        def effect() -> bool:
            self._need_name(target)
            parent, name = self._disk._need_parent(target)
            if name in media.folders[parent]:
                return False
            media.rename((parent, name, self._inode))
            return True

        return self._disk._perform("link", _checked(target), effect)

    def replace(self, target: str) -> None:
        media = self._media()

        def effect() -> None:
            source = self._need_name(target)
            parent, name = self._disk._need_parent(target)
            there = media.folders[parent].get(name)
            if there in media.folders:
                raise _refused(target, errno.EISDIR)
            if there != self._inode:  # POSIX: two names of one file are left alone
                media.rename((source, self._name, None), (parent, name, self._inode))

        self._disk._perform("replace", _checked(target), effect)

    def _media(self) -> Media:
        if not self._disk._lives(self._life):
            raise Crashed
        return self._disk._machine.media

    def _need_name(self, target: str) -> int:
        folder = self._disk._need(TEMPORARY_FOLDER)
        if self._disk._machine.media.folders[folder].get(self._name) != self._inode:
            raise _refused(target, errno.ENOENT)
        return folder


def _can_be_given(name: str) -> bool:
    try:
        return name.isprintable() and _checked(name) == name
    except StorageError:
        return False


def _refused(path: str, reason: int) -> StorageError:
    return StorageError(
        f"{path}: {os.strerror(reason)}.", advice="Check the permissions and the disk of the Perdure home."
    )
