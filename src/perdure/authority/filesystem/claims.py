"""The Claims port on files and flocks.

An owner is dead exactly when a shared lock on its file can be taken, or the file is gone: no clock, no
process id. A beat that is older than the lease on the boot-time clock finds owners that are stuck though
alive: their lane can be taken over, their dispatched attempts cannot be settled for them.
"""

from __future__ import annotations

import contextlib

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import Lock
from perdure.authority.filesystem.records import Records
from perdure.core.claim import Claim, Released
from perdure.core.job import Lane
from perdure.core.record import Record
from perdure.errors import StorageError
from perdure.ports.clock import Clock, Ids

LEASE_SECONDS = 900.0
_ORDINAL_DIGITS = 8
_WORKER_DIGITS = 32


class WorkerFile(Record, frozen=True, forbid_unknown_fields=True):
    """The file whose lock is a worker's life."""

    KIND = "worker"

    worker: str
    started_ms: int


class Beat(msgspec.Struct, frozen=True):
    """A worker's last sign of progress, unsynced: who it is (E-07), and when on the boot-time clock."""

    boot_id: str
    boot_seconds: float
    release: str = ""
    policy: int = 0
    process: int = 0
    project_root: str | None = None  # None: it works for all projects


class FileClaims:
    """See `perdure.ports.claims.Claims`."""

    def __init__(self, records: Records, clock: Clock, ids: Ids, *, about: Beat | None = None) -> None:
        """`about` is what this process's heartbeats say of it; its times do not matter."""
        self._records, self._clock, self._ids = records, clock, ids
        self._about = about or Beat("", 0.0)
        self._lives: dict[str, Lock] = {}

    def register(self) -> str:
        """See `Claims.register`. Durable before it returns, and locked before any record names it."""
        while True:
            worker = self._ids.token(_WORKER_DIGITS)
            path = f"{layout.WORKERS}/{worker}"
            self._records.create(path, WorkerFile(worker=worker, started_ms=self._clock.now_ms()))
            with contextlib.suppress(FileNotFoundError):
                lock = self._records.disk.try_lock(path)
                if lock is not None:
                    self._lives[worker] = lock
                    self.beat(worker)
                    return worker

    def renew(self, worker: str) -> str:
        """See `Claims.renew`."""
        if not self._own_life_lost(worker):
            return worker
        self.retire(worker)
        return self.register()

    def retire(self, worker: str) -> None:
        """See `Claims.retire`."""
        lock = self._lives.pop(worker, None)
        if lock is not None:
            with contextlib.suppress(StorageError):
                self._records.disk.remove(f"{layout.BEATS}/{worker}")
                self._records.disk.remove(f"{layout.WORKERS}/{worker}")
            lock.release()

    def gone(self, worker: str) -> bool:
        """See `Claims.gone`."""
        if worker in self._lives:
            return False
        try:
            lock = self._records.disk.try_lock(f"{layout.WORKERS}/{worker}", shared=True)
        except FileNotFoundError:
            return True
        if lock is None:
            return False
        lock.release()
        return True

    def beat(self, worker: str) -> None:
        """See `Claims.beat`."""
        mark = msgspec.structs.replace(
            self._about, boot_id=self._clock.boot_id(), boot_seconds=self._clock.boot_seconds()
        )
        with contextlib.suppress(StorageError):
            self._records.disk.note(f"{layout.BEATS}/{worker}", msgspec.json.encode(mark))

    def claim(self, lane: Lane, worker: str) -> Claim | None:
        """See `Claims.claim`."""
        ordinals = self._ordinals(lane)
        highest = max(ordinals, default=0)
        if highest and not self._free(lane, highest, worker):
            return None
        mine = Claim(lane=lane.name, ordinal=highest + 1, worker=worker, token=self._ids.token(32))
        standing, created = self._records.elect(layout.claim(lane.name, highest + 1), mine)
        if (not created and standing != mine) or max(self._ordinals(lane), default=0) > highest + 1:
            return None
        self._sweep(lane, below=highest + 1)
        return mine

    def holds(self, claim: Claim) -> bool:
        """See `Claims.holds`."""
        lane = Lane(project=claim.lane[:16], branch_id=claim.lane[16:])
        return max(self._ordinals(lane), default=0) == claim.ordinal and not self._own_life_lost(claim.worker)

    def release(self, claim: Claim) -> None:
        """See `Claims.release`."""
        path = f"{layout.claim(claim.lane, claim.ordinal)}.released"
        self._records.create(path, Released(lane=claim.lane, ordinal=claim.ordinal, token=claim.token))

    def workers(self) -> tuple[str, ...]:
        """See `Claims.workers`. Files of the dead are removed on the way."""
        names = sorted(name for name in self._records.disk.names(layout.WORKERS) if is_worker(name))
        return tuple(worker for worker in names if not self._remove_dead(worker))

    def _remove_dead(self, worker: str) -> bool:
        """The file goes while its lock is held: whoever registers under that name meanwhile notices."""
        try:
            lock = self._records.disk.try_lock(f"{layout.WORKERS}/{worker}")
        except FileNotFoundError:
            return True
        if lock is None:
            return False
        self._records.disk.remove(f"{layout.WORKERS}/{worker}")
        self._records.disk.remove(f"{layout.BEATS}/{worker}")
        lock.release()
        return True

    def _free(self, lane: Lane, ordinal: int, worker: str) -> bool:
        path = layout.claim(lane.name, ordinal)
        if self._records.disk.info(f"{path}.released") is not None:
            self._records.settle(f"{path}.released")
            return True
        standing = self._records.found(path, Claim)
        return standing is None or self.gone(standing.worker) or self._stuck(standing.worker, worker)

    def _stuck(self, worker: str, me: str) -> bool:
        if worker == me:
            return False
        data = None
        with contextlib.suppress(StorageError):
            data = self._records.disk.read(f"{layout.BEATS}/{worker}", bytes_max=4096)
        if data is None:
            return False
        try:
            mark = msgspec.json.decode(data, type=Beat)
        except msgspec.MsgspecError:
            return False
        return (
            mark.boot_id == self._clock.boot_id()
            and self._clock.boot_seconds() - mark.boot_seconds > LEASE_SECONDS
        )

    def _own_life_lost(self, worker: str) -> bool:
        """An owner re-checks its own file: once it was removed, others hold this worker for dead."""
        return worker in self._lives and self._records.disk.info(f"{layout.WORKERS}/{worker}") is None

    def _ordinals(self, lane: Lane) -> list[int]:
        prefix = f"{lane.name}."
        names = self._records.disk.names(layout.SPOOL_LANES)
        tails = [name[len(prefix) :] for name in names if name.startswith(prefix)]
        return [int(tail) for tail in tails if len(tail) == _ORDINAL_DIGITS and tail.isdigit()]

    def _sweep(self, lane: Lane, *, below: int) -> None:
        """Lower ordinals mean nothing any more; the highest is never removed."""
        for ordinal in self._ordinals(lane):
            if ordinal < below:
                path = layout.claim(lane.name, ordinal)
                self._records.disk.remove(path)
                self._records.disk.remove(f"{path}.released")


def is_worker(name: str) -> bool:
    """Whether a name can be a worker's."""
    return len(name) == _WORKER_DIGITS and set(name) <= set("0123456789abcdef")
