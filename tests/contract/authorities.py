"""The authorities under contract, and what an outsider can do to each: kill, damage, look aside."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.claims import LEASE_SECONDS, FileClaims
from perdure.authority.filesystem.coverage import FileCoverage
from perdure.authority.filesystem.disk import Disk, RealDisk
from perdure.authority.filesystem.mailbox import FileMailbox
from perdure.authority.filesystem.memory import FileMemory
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.authority.memory import LEASE_SECONDS as REFERENCE_LEASE_SECONDS
from perdure.authority.memory import Reference
from perdure.authority.memory_store import Store
from perdure.core.admission import OutcomeTombstone
from perdure.core.attempt import Usage
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.coverage import Coverage
from perdure.ports.mailbox import Mailbox
from perdure.ports.memory import Memory
from perdure.ports.queue import Queue
from tests.core_values import PROJECT, Counting, Hand
from tests.simulated_disk import SimulatedDisk

OTHER_PROJECT = "cd" * 8
LARGEST_HOLD = Usage(7_000, 0, 90_000)
"""What an attempt costs whose reservation cannot be read."""

KEY = b"k" * 32


class Ports(Protocol):
    """The ports of one process."""

    queue: Queue
    mailbox: Mailbox
    claims: Claims
    attempts: Attempts
    memory: Memory
    coverage: Coverage


class FilePorts:
    """The ports of one process on a disk."""

    def __init__(self, disk: Disk, clock: Hand, ids: Counting) -> None:
        self.disk = disk
        self.records = Records(disk, clock)
        self.queue: Queue = FileQueue(self.records)
        self.mailbox: Mailbox = FileMailbox(self.records)
        self.own_claims = FileClaims(self.records, clock, ids)
        self.claims: Claims = self.own_claims
        self.attempts: Attempts = FileAttempts(self.records, self.own_claims, largest_hold=LARGEST_HOLD)
        self.memory: Memory = FileMemory(self.records, KEY)
        self.coverage: Coverage = FileCoverage(self.records, FileQueue(self.records), ids)


class ReferencePorts:
    """The ports of one process of the reference."""

    def __init__(self, store: Store, clock: Hand, ids: Counting) -> None:
        made = Reference(store, clock, ids, largest_hold=LARGEST_HOLD)
        self.queue: Queue = made.queue
        self.mailbox: Mailbox = made.mailbox
        self.claims: Claims = made.claims
        self.attempts: Attempts = made.attempts
        self.memory: Memory = made.memory
        self.coverage: Coverage = made.coverage


class Site(Protocol):
    """One authority under test."""

    clock: Hand
    lease_seconds: float

    def process(self) -> Ports:
        """Give the ports of another process."""
        ...

    def kill(self, ports: Ports, worker: str) -> None:
        """End a worker without a word."""
        ...

    def damage(self, what: str, name: str) -> None:
        """Make a record (a job, branch, event, shown, or part of an attempt) unreadable; its name stays."""
        ...

    def expire(self, tombstone: OutcomeTombstone) -> None:
        """Put an outcome's tombstone in its place, as retention does."""
        ...

    def aside(self) -> int:
        """Count what was set aside."""
        ...


class FileSite:
    """Files on a disk that every process opens for itself."""

    lease_seconds = LEASE_SECONDS

    def __init__(self, stack: contextlib.ExitStack, home: Path | None) -> None:
        self.clock, self._ids, self._stack, self._home = Hand(), Counting(), stack, home
        self._simulated = SimulatedDisk() if home is None else None
        self._processes = 0
        self._outsider = self._open()
        self._outsider.make_folder("tmp")
        records = Records(self._outsider, self.clock)
        folders = list(layout.HOME_FOLDERS)
        for scope in (
            layout.USER_SCOPE,
            f"{layout.PROJECTS}/{PROJECT}",
            f"{layout.PROJECTS}/{OTHER_PROJECT}",
        ):
            folders += [scope, *(f"{scope}/{name}" for name in layout.SCOPE_FOLDERS)]
        records.ensure_folders(*folders)
        self._records = records

    def _open(self) -> Disk:
        self._processes += 1
        if self._simulated is not None:
            return self._simulated.process(f"p{self._processes}")
        disk = RealDisk(str(self._home))
        self._stack.callback(disk.close)
        return disk

    def process(self) -> Ports:
        """See `Site.process`."""
        return FilePorts(self._open(), self.clock, self._ids)

    def kill(self, ports: Ports, worker: str) -> None:
        """See `Site.kill`: the kernel lets the lock of a dead process go, and nothing else happens."""
        assert isinstance(ports, FilePorts)
        ports.own_claims._lives.pop(worker).release()

    def damage(self, what: str, name: str) -> None:
        """See `Site.damage`."""
        places: dict[str, Callable[[str], str]] = {
            "job": layout.job,
            "event": layout.event,
            "shown": layout.shown,
            "branch": functools.partial(layout.branch, PROJECT),
        }
        path = places[what](name) if what in places else layout.attempt(name, what)
        with self._outsider.temporary(b"{}") as temporary:
            temporary.sync()
            temporary.replace(path)

    def expire(self, tombstone: OutcomeTombstone) -> None:
        """See `Site.expire`."""
        self._records.replace(layout.outcome(tombstone.job_id), tombstone)

    def aside(self) -> int:
        """See `Site.aside`."""
        return len([n for n in self._outsider.names(layout.QUARANTINE) if not n.endswith(".reason")])


class ReferenceSite:
    """The reference's shared store."""

    lease_seconds = REFERENCE_LEASE_SECONDS

    def __init__(self) -> None:
        self.clock, self._ids, self._store = Hand(), Counting(), Store()

    def process(self) -> Ports:
        """See `Site.process`."""
        return ReferencePorts(self._store, self.clock, self._ids)

    def kill(self, ports: Ports, worker: str) -> None:
        """See `Site.kill`."""
        del ports
        self._store.living.discard(worker)

    def damage(self, what: str, name: str) -> None:
        """See `Site.damage`."""
        places = {kind: f"{kind}/{name}" for kind in ("job", "event", "shown")}
        places["branch"] = f"branch/{PROJECT}/{name}"
        self._store.damaged.add(places.get(what, f"attempt/{name}.{what}"))

    def expire(self, tombstone: OutcomeTombstone) -> None:
        """See `Site.expire`."""
        self._store.records[f"outcome/{tombstone.job_id}"] = tombstone

    def aside(self) -> int:
        """See `Site.aside`."""
        return len(self._store.set_aside)


@contextlib.contextmanager
def open_site(kind: str, folder: Path) -> Iterator[Site]:
    """One authority: "reference", "files" in a folder, or "simulated" on the disk of the crash tests."""
    if kind == "reference":
        yield ReferenceSite()
        return
    home = folder / "home"
    with contextlib.ExitStack() as stack:
        if kind == "files":
            home.mkdir(mode=0o700)
        yield FileSite(stack, home if kind == "files" else None)


def together(*actions: Callable[[], object]) -> None:
    """Run actions in threads that start at the same moment."""
    ready = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        ready.wait()
        action()

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
