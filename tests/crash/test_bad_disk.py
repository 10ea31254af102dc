"""A disk that fails, fills up or goes read-only: what is acknowledged is there, and no call is forgotten."""

from __future__ import annotations

import contextlib

import pytest

from perdure.authority.filesystem import layout
from perdure.errors import DiskFailed, DiskFull, StorageError
from perdure.ports.provider import ReviewRequest
from tests.crash.checks import check
from tests.crash.world import World
from tests.fakes import PROJECT, ManualClock, Rig, SequentialIds, turns
from tests.simulated_disk import Model, SimulatedDisk
from tests.simulated_machine import Operation

MODELS = ("posix-weak", "ext4")


def home(model: Model) -> SimulatedDisk:
    """A durable home with one entry and one job."""
    disk = SimulatedDisk(model)
    rig = Rig(disk)
    rig.prepare()
    rig.memory_service().remember("The tests run with make.")
    rig.capture(turns("The port of the service is 4100."))
    disk.reboot("kept")
    return disk


def texts(disk: SimulatedDisk) -> list[str]:
    """The entries that a new process sees."""
    return [entry.text for entry in Rig(disk).memory_service().branch().entries]


@pytest.mark.requirement("X-05", "Q-02")
@pytest.mark.parametrize("model", MODELS)
def test_a_failed_file_sync_is_not_acknowledged_and_stops_all_writers(model: Model) -> None:
    """EIO on a file's sync: the call fails, every process of the home refuses to write, reading goes on."""
    disk = home(model)
    disk.fail("sync_file")
    with pytest.raises(DiskFailed):
        Rig(disk).memory_service().remember("This is not stored.")
    other = Rig(disk.process("other"), ids=SequentialIds("other"))
    with pytest.raises(DiskFailed, match="resume"):
        other.memory_service().remember("Neither is this.")
    with pytest.raises(DiskFailed):
        other.capture(turns("Nor this.", first=5))
    assert texts(disk) == ["The tests run with make."]


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("model", MODELS)
def test_resume_lets_writing_go_on(model: Model) -> None:
    """Once the record has been written again and confirmed, all processes write as before."""
    disk = home(model)
    disk.fail("sync_file")
    rig = Rig(disk)
    with pytest.raises(DiskFailed):
        rig.memory_service().remember("This is not stored.")
    assert rig.records.resume() is not None
    assert Rig(disk, ids=SequentialIds("later")).memory_service().remember("This is stored.").changed
    disk.reboot("lost")
    assert texts(disk) == ["The tests run with make.", "This is stored."]


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("model", MODELS)
def test_another_boot_clears_the_stop(model: Model) -> None:
    """After a restart the disk tells what it has; the marker of the boot before means nothing any more."""
    disk = home(model)
    disk.fail("sync_file")
    with pytest.raises(DiskFailed):
        Rig(disk).memory_service().remember("This is not stored.")
    disk.reboot("kept")
    later = Rig(disk, clock=ManualClock(boot="boot-2"), ids=SequentialIds("later"))
    assert later.memory_service().remember("This is stored.").changed


@pytest.mark.requirement("X-05", "G-04", "D-06")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("nth", range(1, 8))
@pytest.mark.parametrize("operation", ["sync_file", "sync_folder"])
def test_any_failed_sync_of_a_write_leaves_a_home_that_recovers(
    model: Model, nth: int, operation: Operation
) -> None:
    """EIO at any sync of a remember, then a power loss: the write is there as a whole or not at all."""
    disk = home(model)
    disk.fail(operation, nth=nth)
    world = World()
    actor = world.start(disk)
    with contextlib.suppress(StorageError):
        actor.remember("Use pnpm check before pnpm test.")
    for state in disk.surviving_states(limit=64):
        _recovers(state, world.copy())


@pytest.mark.requirement("X-05", "G-01", "A-03", "D-06")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("operation", ["sync_file", "sync_folder", "write", "link", "replace"])
def test_any_failed_operation_of_a_review_leaves_a_home_that_recovers(
    model: Model, operation: Operation
) -> None:
    """EIO anywhere in a review: the worker stops writing; after a power loss the job ends exactly once."""
    for nth in range(1, 14):
        disk = home(model)
        disk.fail(operation, nth=nth)
        world = World()
        with contextlib.suppress(StorageError):
            world.start(disk).drain()
        for state in disk.surviving_states(limit=8):
            _recovers(state, world.copy())


def _recovers(disk: SimulatedDisk, world: World) -> None:
    actor = world.start(disk)
    actor.drain(times=2)
    actor.remember("Written after the disk was mended.")
    check(world.start(disk).rig, world)


@pytest.mark.requirement("X-05", "G-04")
@pytest.mark.parametrize("model", MODELS)
def test_a_full_disk_refuses_and_changes_nothing(model: Model) -> None:
    """ENOSPC in mid-publication: the temporary is gone, the call is refused, the next one works."""
    disk = home(model)
    used = sum(len(data) for data in disk.files().values())
    before = texts(disk)
    for room in range(0, 2_400, 150):
        disk.limit(bytes_max=used + room)
        rig = Rig(disk, ids=SequentialIds(f"room {room}"))
        try:
            rig.memory_service().remember(f"This needs {room} bytes of room.")
        except DiskFull:
            continue
        else:
            break
    disk.limit()
    assert not [path for path in disk.files() if path.startswith("tmp/")]
    after = Rig(disk, ids=SequentialIds("after"))
    assert after.memory_service().remember("Now there is room again.").changed
    assert texts(disk)[: len(before)] == before
    assert after.drain().ended == {"applied": 1}


@pytest.mark.requirement("A-02", "X-05")
def test_no_room_for_the_dispatched_record_means_no_call() -> None:
    """ENOSPC at the record that comes before sending: nothing is sent; with room again the job ends."""
    disk = home("posix-weak")
    rig = Rig(disk)

    def fill(_request: ReviewRequest) -> None:
        rig.provider.before_quote = lambda _request: None
        disk.fail("write", nth=2, error=DiskFull)

    rig.provider.before_quote = fill
    with pytest.raises(DiskFull):
        rig.drain()
    assert rig.provider.sends == {}
    rig.clock.advance(3_600)
    later = Rig(disk, clock=rig.clock, ids=SequentialIds("later"), provider=rig.provider)
    assert later.drain().ended == {"applied": 1}
    assert set(rig.provider.sends.values()) == {1}
    assert {attempt.state for attempt in later.attempts.all()} == {"cancelled", "settled"}


@pytest.mark.requirement("A-07", "B-03", "X-05")
def test_no_room_for_a_paid_result_is_unknown() -> None:
    """ENOSPC after a call: its result is lost, the attempt is unknown and its whole hold is charged."""
    disk = home("posix-weak")
    rig = Rig(disk)
    rig.provider.before_review = lambda _request: disk.fail("write", error=DiskFull)
    with pytest.raises(DiskFull):
        rig.drain()
    rig.provider.before_review = lambda _request: None
    rig.clock.advance(3_600)
    later = Rig(disk, clock=rig.clock, ids=SequentialIds("later"), provider=rig.provider)
    assert later.drain().ended == {"applied": 1}
    states = [attempt.state for attempt in later.attempts.all()]
    assert states == ["unknown", "settled"]
    assert later.attempts.charge("scripted", "20270115").unknown.tokens == 1_200


@pytest.mark.requirement("X-05")
def test_a_read_only_disk_stops_writing_and_not_reading() -> None:
    """A disk that was remounted read-only: memory is still read, every change is refused with the reason."""
    disk = home("posix-weak")
    disk.set_read_only()
    rig = Rig(disk)
    assert texts(disk) == ["The tests run with make."]
    with pytest.raises(StorageError):
        rig.memory_service().remember("This is not stored.")
    with pytest.raises(StorageError):
        rig.drain()
    disk.set_read_only(read_only=False)
    assert Rig(disk, ids=SequentialIds("later")).drain().ended == {"applied": 1}


@pytest.mark.requirement("Q-03", "Q-09", "A-03")
def test_a_worker_that_was_overtaken_does_no_harm() -> None:
    """Resumed after another took its lane over: no call is repeated, and one proposal takes effect."""
    disk = home("posix-weak")
    first = Rig(disk.process("first"), ids=SequentialIds("first"))
    second = Rig(disk.process("second"), ids=SequentialIds("second"), provider=first.provider)

    def overtake(_request: ReviewRequest) -> None:
        first.provider.before_quote = lambda _request: None
        second.clock.advance(2_000)
        second.drain()

    first.provider.before_quote = overtake
    first.drain()
    done = Rig(disk, ids=SequentialIds("third"), provider=first.provider)
    done.clock.advance(7_200)
    done.drain()
    assert set(first.provider.sends.values()) == {1}
    assert done.queue.closed(PROJECT) == set(done.queue.queued())
    revisions = done.memory.revisions(PROJECT, done.memory_service().branch().branch_id)
    assert len(revisions) == 2


@pytest.mark.requirement("Q-02", "Q-03")
def test_a_capture_while_a_worker_claims_is_never_refused() -> None:
    """Enqueueing takes no lock that a worker holds during its call."""
    disk = home("posix-weak")
    rig = Rig(disk.process("worker"), ids=SequentialIds("worker"))
    writer = Rig(disk.process("writer"), ids=SequentialIds("writer"))
    accepted: list[int] = []
    found = turns("The port of the service is 4100.", "Releases go out on Thursdays.")
    rig.provider.before_review = lambda _request: accepted.append(writer.capture(found).accepted)
    assert rig.drain().ended == {"applied": 2}
    assert accepted == [1, 0]


@pytest.mark.requirement("Q-03")
def test_a_life_file_that_was_removed_fences_its_worker() -> None:
    """A worker whose file is gone is held for dead by all, and sends nothing itself any more."""
    disk = home("posix-weak")
    rig = Rig(disk)

    def remove(_request: ReviewRequest) -> None:
        rig.provider.before_quote = lambda _request: None
        for name in disk.names(layout.WORKERS):
            disk.remove(f"{layout.WORKERS}/{name}")

    rig.provider.before_quote = remove
    rig.drain()
    assert rig.provider.sends == {}
