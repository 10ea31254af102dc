"""What a failed sync was about is in doubt for every process, until it has been done anew and confirmed."""

from __future__ import annotations

import pytest

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.home import start_writing
from perdure.core.claim import Released
from perdure.errors import DiskFailed
from tests.fakes import PROJECT, ManualClock, Rig, SequentialIds, turns
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation

PORT = "The port of the service is 4100."
RULE = "Use pnpm here."
BRANCHES = f"projects/{PROJECT}/branches"


def home() -> SimulatedDisk:
    """A durable home that holds nothing yet."""
    disk = SimulatedDisk("posix-weak")
    Rig(disk).prepare()
    disk.reboot("kept")
    return disk


def another(disk: SimulatedDisk, name: str) -> Rig:
    """Another process of the same boot."""
    return Rig(disk.process(name), ids=SequentialIds(name))


def next_boot(disk: SimulatedDisk) -> Rig:
    """The first process after a power loss that took whatever was pending."""
    disk.reboot("lost")
    return Rig(disk, clock=ManualClock(boot="boot-2"), ids=SequentialIds("next"))


def fail_in(disk: SimulatedDisk, folder: str) -> None:
    """Let the next sync of that folder fail, once."""

    def watch(operation: Operation, path: str) -> None:
        if operation == "sync_folder" and path == folder:
            disk.watch(lambda *_: None)
            disk.fail("sync_folder")

    disk.watch(watch)


@pytest.mark.requirement("X-05", "Q-02", "D-01")
def test_another_process_does_not_acknowledge_a_job_that_a_failed_sync_left() -> None:
    """The same capture again is refused, not called a duplicate: after a power loss the job may be gone."""
    disk = home()
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        Rig(disk).capture(turns(PORT))
    with pytest.raises(DiskFailed, match="resume"):
        another(disk, "other").capture(turns(PORT))


@pytest.mark.requirement("X-05", "M-02")
def test_another_process_does_not_acknowledge_an_entry_that_a_failed_sync_left() -> None:
    """Remembering the same again is refused, not called unchanged."""
    disk = home()
    fail_in(disk, BRANCHES)
    with pytest.raises(DiskFailed):
        Rig(disk).memory_service().remember(RULE)
    with pytest.raises(DiskFailed, match="resume"):
        another(disk, "other").memory_service().remember(RULE)


@pytest.mark.requirement("X-05")
def test_of_two_failures_both_are_kept_and_both_are_made_good() -> None:
    """Two processes fail before either sees the other's marker; resume makes both records durable."""
    disk = home()
    first, second = Rig(disk), another(disk, "second")
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        first.capture(turns(PORT))
    hidden = {path: data for path, data in disk.files().items() if path.startswith(layout.STOP)}
    for path in hidden:
        disk.remove(path)
    fail_in(disk, BRANCHES)
    with pytest.raises(DiskFailed):
        second.memory_service().remember(RULE)
    for path, data in hidden.items():
        disk.put(path, data)
    said = another(disk, "operator").records.resume()
    assert said is not None
    assert {layout.SPOOL_JOBS, BRANCHES} <= set(said.split(", "))
    assert another(disk, "later").capture(turns(PORT)).duplicates == 1
    another(disk, "later").memory_service().remember(RULE)
    after = next_boot(disk)
    assert len(after.queue.queued()) == 1
    assert [entry.text for entry in after.memory_service().branch().entries] == [RULE]


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("nth", range(1, 9))
def test_resume_makes_good_whatever_sync_of_a_review_failed(nth: int) -> None:
    """Of a record, of a folder: writing goes on, and the review ends as if nothing had been."""
    disk = home()
    Rig(disk).capture(turns(PORT))
    disk.fail("sync_folder", nth=nth)
    with pytest.raises(DiskFailed):
        another(disk, "worker").drain()
    assert another(disk, "operator").records.resume() is not None
    assert another(disk, "operator").records.resume() is None
    later = another(disk, "later")
    later.clock.advance(7_200)
    later.drain()
    jobs = set(later.queue.queued())
    assert later.queue.closed(PROJECT) == jobs
    assert next_boot(disk).queue.closed(PROJECT) == jobs


@pytest.mark.requirement("X-05", "M-13")
def test_a_failed_sync_in_quarantine_stops_writing_too() -> None:
    """Copying something damaged aside is a write like any other."""
    disk = home()
    (job_id,) = Rig(disk).capture(turns(PORT)).jobs
    disk.put(layout.job(job_id), b"x")
    fail_in(disk, layout.QUARANTINE)
    with pytest.raises(DiskFailed):
        another(disk, "worker").drain()
    with pytest.raises(DiskFailed, match="resume"):
        another(disk, "other").memory_service().remember(RULE)
    assert disk.info(layout.job(job_id)) is not None


@pytest.mark.requirement("X-05")
def test_a_failed_sync_of_the_number_of_writers_stops_writing(perdure_home: object) -> None:
    """So does the first write of every process."""
    assert perdure_home
    app = App.open(create=True)
    real = app.home.disk.sync_folder

    def failing(path: str) -> None:
        if path == layout.EPOCH:
            raise DiskFailed("the sync failed.")
        real(path)

    app.home.disk.sync_folder = failing  # type: ignore[method-assign] # a failing stand-in for one method
    with pytest.raises(DiskFailed):
        start_writing(app.home)
    assert [(stop.doubt, stop.path) for stop in app.records.stops.standing()] == [("folder", layout.EPOCH)]
    app.close()


@pytest.mark.requirement("X-05", "E-12")
def test_resume_removes_again_what_a_failed_sync_may_bring_back() -> None:
    """A removal that was not confirmed is one after resume: the name stays gone after a power loss."""
    disk = home()
    rig = Rig(disk)
    path = layout.job("0" * 76)
    rig.records.create(path, Released(lane="a", ordinal=1, token=""))
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        rig.records.remove(path)
    another(disk, "operator").records.resume()
    assert next_boot(disk).disk.info(path) is None


@pytest.mark.requirement("X-05")
def test_resume_makes_a_folder_again_that_a_failed_sync_may_lose() -> None:
    """A folder that was not confirmed is there after resume and a power loss."""
    disk = home()
    fail_in(disk, layout.ATTEMPTS)
    with pytest.raises(DiskFailed):
        Rig(disk).records.ensure_folders("attempts/20270115")
    another(disk, "operator").records.resume()
    assert next_boot(disk).disk.info("attempts/20270115") is not None


@pytest.mark.requirement("X-05")
def test_resume_that_fails_keeps_its_marker() -> None:
    """The disk is no better yet: writing stays stopped, and a later resume makes it good."""
    disk = home()
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        Rig(disk).capture(turns(PORT))
    disk.fail("sync_folder")
    with pytest.raises(DiskFailed):
        another(disk, "operator").records.resume()
    with pytest.raises(DiskFailed, match="resume"):
        another(disk, "other").capture(turns(PORT))
    another(disk, "operator").records.resume()
    assert another(disk, "other").capture(turns(PORT)).duplicates == 1
    assert len(next_boot(disk).queue.queued()) == 1


@pytest.mark.requirement("X-05")
def test_a_marker_without_its_bytes_puts_the_whole_home_in_doubt() -> None:
    """It tells its boot by its name; resume then writes every record again."""
    disk = home()
    rig = Rig(disk)
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        rig.capture(turns(PORT))
    (marker,) = [path for path in disk.files() if path.startswith(layout.STOP)]
    disk.put(marker, b"")
    with pytest.raises(DiskFailed, match="the home"):
        another(disk, "other").capture(turns(PORT))
    another(disk, "operator").records.resume()
    assert another(disk, "other").capture(turns(PORT)).duplicates == 1
    disk.put(marker, b"")
    after = next_boot(disk)
    assert len(after.queue.queued()) == 1
    assert after.memory_service().remember(RULE).changed


@pytest.mark.requirement("X-05")
def test_a_process_that_only_shows_goes_on_while_writing_is_stopped() -> None:
    """Jobs are listed as they are seen; nothing of it is made durable or taken for durable."""
    disk = home()
    fail_in(disk, layout.SPOOL_JOBS)
    with pytest.raises(DiskFailed):
        Rig(disk).capture(turns(PORT))
    showing = another(disk, "showing")
    showing.records.acting = False
    before = len(disk.operations)
    assert [row.state for row in showing.jobs_service().list()] == ["queued"]
    assert len(disk.operations) == before
    showing.records.acting = True
    with pytest.raises(DiskFailed, match="resume"):
        showing.queue.queued()


@pytest.mark.requirement("E-12", "D-06")
def test_what_another_removed_and_did_not_sync_is_gone_for_good_once_removed_again() -> None:
    """The second remover acknowledges only what a power loss cannot bring back; so with temporaries."""
    disk = home()
    rig = Rig(disk)
    path = layout.job("0" * 76)
    rig.records.create(path, Released(lane="a", ordinal=1, token=""))
    disk.put("tmp/left", b"Bluebird")
    disk.remove(path)
    disk.remove("tmp/left")
    other = another(disk, "other")
    assert other.records.remove(path) == 0
    assert other.records.sweep_temporaries() == 0
    for state in disk.surviving_states():
        assert path not in state.files()
        assert "tmp/left" not in state.files()
