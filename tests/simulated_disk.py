"""A Disk in memory that crashes at any operation, fails on request and knows what a power loss may leave.

    disk = SimulatedDisk("posix-weak", crash_at=17)
    with contextlib.suppress(Crashed):
        work(disk)
    for state in disk.surviving_states():
        work(state)         # recover: each state is a fresh disk of its own
        check(state)

It behaves as `RealDisk` does; `tests/contract/test_disk.py` runs the same suite on both. Use it from one
thread at a time. Times are a count of operations, so that every run is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

from perdure.authority.filesystem.disk_port import EntryKind
from perdure.errors import DiskFailed, StorageError
from tests.simulated_machine import SYNCS, Crashed, Fault, Machine, Operation, Plan
from tests.simulated_media import ROOT, FileNode, Media, Model
from tests.simulated_survivors import Survivors
from tests.simulated_view import DiskView

__all__ = ["Crashed", "Model", "Operation", "SimulatedDisk", "States"]


class SimulatedDisk(DiskView):
    """The Disk port in memory; see the module for how to crash it.

    This object is the view of the process "main"; `process` gives others that share its files.
    `crash_at` counts every mutating call from 1, in the order of `operations`. `stale_temporaries` is
    how many names of finished temporaries may come back after a power loss on posix-weak.
    """

    def __init__(
        self,
        model: Model = "posix-weak",
        *,
        crash_at: int | None = None,
        crash_after: bool = False,
        stale_temporaries: int = 1,
    ) -> None:
        super().__init__(Machine(Media(model), stale_temporaries=stale_temporaries), "main")
        if crash_at is not None:
            self.crash_at(crash_at, after=crash_after)

    @classmethod
    def _of(cls, media: Media, like: Machine) -> SimulatedDisk:
        machine = Machine(media, stale_temporaries=like.stale_temporaries)
        machine.bytes_max, machine.inodes_max = like.bytes_max, like.inodes_max
        disk = cls.__new__(cls)
        DiskView.__init__(disk, machine, "main")
        return disk

    # -- crashes, processes, states

    @property
    def operations(self) -> list[tuple[Operation, str]]:
        """Every mutating call since the last boot, of all processes, with its path; number n is at n - 1."""
        return list(self._machine.log)

    @property
    def model(self) -> Model:
        """Which promises the disk keeps."""
        return self._machine.media.model

    @property
    def opened_temporary(self) -> bool:
        """Whether anything ever read a file by its name in tmp/; see `Survivors.settle_loose`."""
        return self._machine.opened_temporary

    def crash_at(self, number: int, *, after: bool = False) -> None:
        """Lose power at that operation, counted from the last boot, before or after its effect."""
        self._machine.plan = Plan(number, after)

    def watch(self, watcher: Callable[[Operation, str], None]) -> None:
        """Have `watcher` called before every mutating call, of all processes, until the reboot.

        A `fork` made there is what a crash at that operation leaves, without running anything twice.
        """
        self._machine.watcher = watcher

    def surviving_states(self, *, limit: int = 20_000, seed: int = 0, settle_loose: bool = False) -> States:
        """All distinct disks that a power loss may leave now; at most `limit`, then a sample.

        With `settle_loose`, files without a name outside tmp/ keep their bytes; see `Survivors`.
        """
        made = Survivors(self._machine.media, limit=limit, seed=seed, settle_loose=settle_loose)
        return States(self, made)

    def reboot(self, choice: Literal["lost", "kept"] | SimulatedDisk = "lost") -> None:
        """Go on from one state: nothing pending survived, all of it did, or the given one.

        Locks, faults and all other processes are gone; this view is the new process "main".
        """
        if isinstance(choice, SimulatedDisk):
            media = choice._machine.media.fork()
        else:
            survivors = Survivors(self._machine.media, limit=0, seed=0)
            media = survivors.extreme(kept=choice == "kept")
        self._machine.media = media
        self._machine.restart()
        self._machine.read_only = False
        self._begin_life("main")

    def process_crash(self) -> None:
        """Every process dies, the machine lives on: all that was written is seen, locks are free."""
        self._machine.restart()
        self._begin_life("main")

    def process(self, name: str, *, crash_at: int | None = None, crash_after: bool = False) -> DiskView:
        """A new process on the same disk, with locks of its own; one of that name dies first.

        `crash_at` kills it, and it alone, at its own operation of that number.
        """
        view = DiskView(self._machine, name)
        view._plan = None if crash_at is None else Plan(crash_at, crash_after)
        return view

    def kill(self, name: str) -> None:
        """The process of that name dies: locks are free, temporaries stay, its calls raise Crashed."""
        self._machine.begin_life(name)

    def fork(self) -> SimulatedDisk:
        """A separate machine with the same files and pending changes; no locks, faults or crash plan."""
        return SimulatedDisk._of(self._machine.media.fork(), self._machine)

    # -- faults and outsiders

    def fail(
        self,
        operation: Operation,
        *,
        nth: int = 1,
        error: type[StorageError] | StorageError | None = DiskFailed,
        forever: bool = False,
    ) -> None:
        """Let the nth such operation from now raise `error` without effect; `forever`: all later ones too.

        A file whose sync failed, or a folder's pending names, are not saved by a later sync either. On
        ext4 a failed folder sync makes the disk read-only until the reboot, as an aborted journal does.
        With None the disk lies: the sync is reported as done and is not.
        """
        if error is None and operation not in SYNCS:
            raise ValueError(f"only a sync can lie, not {operation}")
        made = error(f"{operation} failed.") if isinstance(error, type) else error
        self._machine.faults.append(Fault(operation, nth, made, forever))

    def limit(self, *, bytes_max: int | None = None, inodes_max: int | None = None) -> None:
        """Set the capacity: bytes of all files, number of files and folders in the home; None: no limit."""
        self._machine.bytes_max, self._machine.inodes_max = bytes_max, inodes_max

    def set_read_only(self, *, read_only: bool = True) -> None:
        """Refuse every change with StorageError, as a disk that was remounted read-only."""
        self._machine.read_only = read_only

    def put(self, path: str, data: bytes = b"", *, mode: int = 0o600, kind: EntryKind = "file") -> None:
        """Place something from outside, durable at once, in place of what stands there; parents exist."""
        media = self._machine.media
        inode = self._new_folder() if kind == "folder" else media.new_inode()
        if kind != "folder":
            media.files[inode] = FileNode(data, mode=mode, kind=kind)
        parent, name = self._outside(path)
        media.rename((parent, name, inode), durable=True)

    def put_hard_link(self, path: str, target: str) -> None:
        """Give the file at `target` a second name from outside, durable at once."""
        parent, name = self._outside(path)
        self._machine.media.rename((parent, name, self._must_find(target)), durable=True)

    def files(self) -> dict[str, bytes]:
        """Path to bytes of every file that the running machine sees, `tmp/` included."""
        media = self._machine.media
        found: dict[str, bytes] = {}
        todo = [("", ROOT)]
        while todo:
            prefix, folder = todo.pop()
            for name, inode in media.folders[folder].items():
                if inode in media.folders:
                    todo.append((f"{prefix}{name}/", inode))
                else:
                    found[prefix + name] = media.files[inode].data
        return found

    def key(self) -> tuple[object, ...]:
        """What `digest` is made of, hashable."""
        return self._machine.media.key()

    def digest(self) -> str:
        """SHA-256, in hex, of all that a reader can tell apart; names in `tmp/` and times do not count."""
        return self._machine.media.digest()

    def _outside(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._need(folder), name


class States:
    """An iterator of the disks that a power loss may leave; see `Survivors` for its counts."""

    def __init__(self, disk: SimulatedDisk, survivors: Survivors) -> None:
        self._disk, self._survivors = disk, survivors

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SimulatedDisk:
        return SimulatedDisk._of(next(self._survivors), self._disk._machine)

    @property
    def exhaustive(self) -> bool:
        """Whether every combination of what may survive is tried, or a sample."""
        return self._survivors.exhaustive

    @property
    def combinations(self) -> int:
        """How many combinations there are, an upper bound, before equal states are taken as one."""
        return self._survivors.combinations

    @property
    def tried(self) -> int:
        """How many combinations the iteration has tried so far."""
        return self._survivors.tried

    @property
    def distinct(self) -> int:
        """How many different states it has given so far."""
        return self._survivors.distinct

    @property
    def torn(self) -> int:
        """How many of those hold a file in which some blocks are new and others are not."""
        return self._survivors.torn
