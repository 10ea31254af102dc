"""Cases of what is taken away: retention, forgetting and purges (rules 4 and 13)."""

from __future__ import annotations

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.memory import stone_name
from perdure.ports.provider import ReviewRequest
from perdure.service.purge import Purged
from tests.crash.checks import check_by_the_book, need
from tests.fakes import EVIDENCE_DAYS, MAIN_BRANCH, PROJECT, turns
from tests.faults.stages import (
    DAY_SECONDS,
    PORT,
    RELEASES,
    as_another,
    attempts,
    before_operation,
    home,
    next_boot,
    process,
    snapshots,
)
from tests.simulated_disk import SimulatedDisk

NEEDLE = "4100"


def _reviewed() -> tuple[SimulatedDisk, list[str]]:
    """A home with a job that has ended, and its id."""
    disk = home()
    rig = process(disk, "worker")
    rig.capture(turns(PORT))
    job_ids = rig.queue.queued()
    rig.drain()
    disk.reboot("kept")
    return disk, job_ids


def captured_again_when_old() -> None:
    """A session is captured once more after its evidence has expired."""
    disk, _ = _reviewed()
    keeper = process(disk, "keeper")
    for _ in range(EVIDENCE_DAYS + 1):
        keeper.clock.advance(DAY_SECONDS)
        keeper.retention().run()
    accepted = process(disk, "host").capture(turns(PORT)).accepted
    need("G-01 an accepted turn stays covered", holds=not accepted, found=accepted)


def retention_crashed() -> None:
    """Retention of one job, crashed at every operation."""
    disk, job_ids = _reviewed()
    keeper = process(disk, "keeper")
    for snapshot in snapshots(disk, lambda: keeper.retention().expire(PROJECT, tuple(job_ids))):
        for state in snapshot.surviving_states(limit=8):
            there = state.info(layout.outcome(job_ids[0])) is not None
            need("Q-05 an outcome is never absent again", holds=there)
            check_by_the_book(next_boot(state), rest=False)


def forgetting_crashed() -> None:
    """Forgetting an entry, crashed at every operation: where it is gone, its tombstone stands."""
    disk = home()
    user = process(disk, "user")
    user.memory_service().remember(PORT)
    for snapshot in snapshots(disk, lambda: user.memory_service().forget(PORT)):
        for state in snapshot.surviving_states(limit=8):
            rig = next_boot(state)
            rig.memory_service().remember(RELEASES)
            with rig.memory.hold(PROJECT) as held:
                branch = held.branch(MAIN_BRANCH)
                stands = branch is not None and any(entry.text == PORT for entry in branch.entries)
                need("M-12 what is forgotten has its tombstone", holds=stands or held.buried(PORT, None, 0))


def said_again_after_forgetting() -> None:
    """The user forgets a text that evidence still holds, and the reviewer proposes it."""
    disk = home()
    rig = process(disk, "worker")
    rig.memory_service().remember(PORT)
    rig.memory_service().forget(PORT)
    rig.capture(turns(PORT))
    rig.drain()
    texts = [entry.text for entry in rig.memory_service().branch().entries]
    need("M-12 no forgotten text comes back", holds=PORT not in texts, found=texts)


def _purge(disk: SimulatedDisk, *, wait_seconds: float = 60) -> Purged:
    user = process(disk, "user").purge_service()
    return user.forget_everywhere(PROJECT, text=PORT, wait_seconds=wait_seconds)


def captured_during_a_purge() -> None:
    """A host captures a turn that holds the text, when a purge has just written its plan."""
    disk = home()
    process(disk, "writer").memory_service().remember(PORT)
    host = process(disk, "host")
    before_operation(disk, "replace", "/purges/", lambda: as_another(lambda: host.capture(turns(PORT))))
    done = _purge(disk)
    held = [path for path, data in disk.files().items() if NEEDLE.encode() in data]
    captured = bool(host.queue.closed(PROJECT))
    need(
        "M-12 a purge that leaves nothing stays right", holds=captured and not (done.left or held), found=held
    )


def purged_in_its_call() -> None:
    """A text is purged while the call about the evidence that holds it is in flight."""
    disk = home()
    rig = process(disk, "worker")
    rig.capture(turns(PORT))

    def purge(_request: ReviewRequest) -> None:
        _purge(disk, wait_seconds=0)

    rig.provider.before_review = purge
    rig.drain()
    files = disk.files()
    results = [files[path] for path in attempts(disk, ".result")]
    bare = [data for data in results if NEEDLE.encode() not in data]
    need("M-12 only usage is stored for a closed job", holds=len(bare) == len(results) == 1, found=results)


def two_homes_forget_the_same() -> None:
    """The same text has another tombstone in every home."""
    first, second = (stone_name(key * 32, "text", PORT) for key in (b"\x01", b"\x02"))
    need("M-12 a tombstone tells nothing without the home's key", holds=first != second, found=first)
