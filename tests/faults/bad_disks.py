"""Cases of disks that fail or are full (rule 7)."""

from __future__ import annotations

import contextlib

from perdure.authority.filesystem import layout
from perdure.errors import DiskFailed, DiskFull, StorageError
from tests.crash.checks import need
from tests.fakes import EVIDENCE_DAYS, PROJECT, Rig, turns
from tests.faults.stages import DAY_SECONDS, PORT, RELEASES, RULE, before_operation, home, next_boot, process
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation

_ROOM_BYTES = 40
_MARKER_BYTES = 400
"""Room for a marker, and for no record."""


def failed_sync_of_a_file() -> None:
    """What a call acknowledges although the sync of a file failed is there after a power loss."""
    _failed_sync("sync_file")


def failed_sync_of_a_folder() -> None:
    """The same for the sync of a folder."""
    _failed_sync("sync_folder")


def _failed_sync(operation: Operation) -> None:
    for nth in range(1, 8):
        disk = home()
        disk.fail(operation, nth=nth)
        told = False
        with contextlib.suppress(DiskFailed):
            process(disk, "writer").memory_service().remember(RULE)
            told = True
        try:
            texts = [entry.text for entry in next_boot(disk).memory_service().branch().entries]
        except StorageError as error:
            texts = [error.message]
        need(
            "X-05 a failed sync is never acknowledged", holds=not told or texts == [RULE], found=(nth, texts)
        )


def failed_sync_elsewhere() -> None:
    """After a failed sync every process refuses to write until it has been made good."""
    disk = home()
    disk.fail("sync_file")
    with contextlib.suppress(DiskFailed):
        process(disk, "writer").memory_service().remember(RULE)
    stopped = False
    try:
        process(disk, "other").capture(turns(PORT))
    except DiskFailed:
        stopped = True
    need("X-05 a failed sync stops every writer", holds=stopped)


def failed_sync_of_a_worker() -> None:
    """A sync fails in the middle of a review."""
    disk = home()
    process(disk, "host").capture(turns(PORT))
    worker = process(disk, "worker")
    worker.provider.before_review = lambda _request: disk.fail("sync_file")
    ended = False
    try:
        worker.drain()
    except DiskFailed:
        ended = True
    need("X-05 a worker whose disk failed ends", holds=ended)


def resumed_writing() -> None:
    """A job whose folder could not be synced, and which is found after a resume, survives a power loss."""
    disk = home()
    before_operation(disk, "sync_folder", layout.SPOOL_JOBS, lambda: disk.fail("sync_folder"))
    with contextlib.suppress(DiskFailed):
        process(disk, "host").capture(turns(PORT))
    process(disk, "operator").records.resume()
    told = process(disk, "later").capture(turns(PORT)).duplicates
    queued = len(next_boot(disk).queue.queued())
    need("X-05 what is found after a resume is durable", holds=told <= queued, found=(told, queued))


def full_disk() -> None:
    """Once a full disk has room again, everybody writes as before, in the same boot."""
    disk = home()
    disk.limit(bytes_max=sum(map(len, disk.files().values())) + _MARKER_BYTES)
    refused = False
    try:
        process(disk, "writer").memory_service().remember(RULE)
    except DiskFull:
        refused = True
    disk.limit()
    try:
        written = process(disk, "later").memory_service().remember(RELEASES).changed
    except DiskFailed:
        written = False
    need("X-05 a full disk only refuses", holds=refused and written, found=(refused, written))


def forgetting_on_a_full_disk() -> None:
    """Retention and forgetting find the room that was kept back for them."""
    disk = home()
    rig = Rig(disk)
    rig.capture(turns(PORT))
    rig.drain()
    rig.retention().run()
    rig.clock.advance(DAY_SECONDS * EVIDENCE_DAYS)
    need("X-05 a full disk lets the user forget", holds=_forgets(disk, rig))


def _forgets(disk: SimulatedDisk, rig: Rig) -> bool:
    disk.limit(bytes_max=sum(map(len, disk.files().values())) + _ROOM_BYTES)
    (entry,) = rig.memory_service().branch().entries
    with contextlib.suppress(DiskFull), rig.retention().room():
        return rig.purge_service().forget_everywhere(PROJECT, entry.entry_id).left == []
    return False
