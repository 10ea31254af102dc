"""A file that cannot be read now is not a file with wrong bytes: nothing accepted is ever lost over it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import RealDisk, Temporary
from perdure.core.job import Lane
from perdure.errors import Damaged, DiskFull, Inaccessible
from perdure.service.work import STOPPED_SECONDS
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, SequentialIds, turns
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation

PORT = "The port of the service is 4100."


class Failing:
    """Lets the reads of one path fail for a while."""

    def __init__(self, disk: SimulatedDisk, path: str, *, times: int = 1_000_000) -> None:
        self._real, self._path, self.left = disk.read, path, times
        disk.read = self.read  # type: ignore[method-assign] # a failing stand-in for one method

    def read(self, path: str, *, bytes_max: int) -> bytes | None:
        """Fail as a disk does without permission or descriptors."""
        if path == self._path and self.left > 0:
            self.left -= 1
            raise Inaccessible(path, "Permission denied")
        return self._real(path, bytes_max=bytes_max)


def two_jobs() -> tuple[SimulatedDisk, str, str]:
    """A durable home with two jobs, oldest first."""
    disk = SimulatedDisk("posix-weak")
    rig = Rig(disk)
    rig.prepare()
    rig.capture(turns(PORT))
    rig.capture(turns("", "Releases go out on Thursdays.")[1:], session="6f" * 16)
    first, second = rig.queue.queued()
    disk.reboot("kept")
    return disk, first, second


@pytest.mark.requirement("G-01", "Q-01", "Q-07", "M-13")
@pytest.mark.parametrize("times", [1, 2, 3, 1_000_000])
def test_a_job_that_cannot_be_read_stays_and_is_reviewed_later(times: int) -> None:
    """However often reading fails: the file stays, the other job ends, and later this one does."""
    disk, first, _ = two_jobs()
    failing = Failing(disk, layout.job(first), times=times)
    rig = Rig(disk, ids=SequentialIds("worker"))
    worker = rig.worker()
    report = worker.drain()
    assert disk.info(layout.job(first)) is not None
    assert sum(report.ended.values()) >= 1
    failing.left = 0
    rig.clock.advance(int(STOPPED_SECONDS) - 1)
    if first in report.stopped:
        assert first in worker.drain().stopped
    rig.clock.advance(2)
    assert worker.drain().ended == {"applied": 2}
    assert worker.report.stopped == {}


@pytest.mark.requirement("Q-07", "Q-10")
def test_a_worker_looks_at_a_stopped_job_again_and_does_not_hold_its_lane_up() -> None:
    """A damaged branch, put right by hand, is found by the worker that stopped at it."""
    disk, first, second = two_jobs()
    good = disk.files()[layout.job(first)]
    disk.put(layout.job(first), kind="folder")
    rig = Rig(disk, ids=SequentialIds("worker"))
    worker = rig.worker()
    assert list(worker.drain().stopped) == [first]
    assert rig.queue.closed(PROJECT) == {second}
    disk.remove_folder(layout.job(first))
    disk.put(layout.job(first), good)
    rig.clock.advance(int(STOPPED_SECONDS) + 1)
    assert worker.drain().ended == {"applied": 2}


@pytest.mark.requirement("G-01", "M-13", "X-05")
def test_a_damaged_job_stays_while_its_copy_does_not_stand() -> None:
    """No room for the copy's name: the original is not removed."""
    disk, first, _ = two_jobs()
    disk.put(layout.job(first), disk.files()[layout.job(first)][:-5])
    view = disk.process("worker")
    real = view.temporary

    class Full:
        def __init__(self, temporary: Temporary) -> None:
            self.sync, self.replace, self._link = temporary.sync, temporary.replace, temporary.link

        def link(self, target: str) -> bool:
            if target.startswith(layout.QUARANTINE):
                raise DiskFull("there is no room for a name.")
            return self._link(target)

    @contextlib.contextmanager
    def temporary(data: bytes) -> Iterator[Temporary]:
        with real(data) as made:
            yield Full(made)

    view.temporary = temporary  # type: ignore[method-assign] # a failing stand-in for one method
    report = Rig(view, ids=SequentialIds("worker")).drain()
    assert "left where it is" in report.stopped[first]
    assert disk.info(layout.job(first)) is not None
    assert Rig(disk, ids=SequentialIds("later")).drain().stopped.keys() == {first}
    assert disk.info(layout.job(first)) is None


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealDisk]:
    """A real disk with one file."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "file").write_bytes(b"bytes")
    disk = RealDisk(str(tmp_path))
    yield disk
    disk.close()


@pytest.mark.requirement("M-13", "Q-13")
@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EINTR])
@pytest.mark.parametrize("call", ["open", "read", "fstat"])
def test_what_the_system_refuses_now_is_not_taken_for_wrong_bytes(
    real: RealDisk, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    """Opening and reading may fail for a reason that passes."""

    def refuse(*_: object, **__: object) -> object:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(Inaccessible):
            real.read("file", bytes_max=100)
    assert real.read("file", bytes_max=100) == b"bytes"


@pytest.mark.requirement("M-13", "E-04")
def test_what_is_no_file_of_ours_is_damaged_and_not_out_of_reach(real: RealDisk) -> None:
    """A symlink does not pass."""
    Path(real.home, "link").symlink_to("file")
    with pytest.raises(Damaged) as raised:
        real.read("link", bytes_max=100)
    assert not isinstance(raised.value, Inaccessible)


@pytest.mark.requirement("M-13", "Q-03")
def test_a_record_is_whole_though_its_writer_takes_the_other_name_away_just_now(
    real: RealDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two links when it is opened, no twin in tmp when that is looked for: one link is left."""
    twin = Path(real.home, "tmp", "twin")
    twin.hardlink_to(Path(real.home, "file"))
    names = real.names

    def late(folder: str) -> list[str]:
        twin.unlink(missing_ok=True)
        return names(folder)

    monkeypatch.setattr(real, "names", late)
    assert real.read("file", bytes_max=100) == b"bytes"
    Path(real.home, "another").hardlink_to(Path(real.home, "file"))
    with pytest.raises(Damaged, match="another hard link"):
        real.read("file", bytes_max=100)


@pytest.mark.requirement("Q-03", "Q-09")
def test_a_claim_that_is_swept_while_it_is_read_is_another_s_lane() -> None:
    """The worker neither dies nor takes the lane: a higher claim stands."""
    disk, _, _ = two_jobs()
    worker, other = Rig(disk, ids=SequentialIds("worker")), Rig(disk.process("other"), ids=SequentialIds("o"))
    lane, reading = Lane(PROJECT, MAIN_BRANCH), disk.read

    def overtake(operation: Operation, path: str) -> None:
        if operation == "link" and path.startswith(layout.SPOOL_LANES):
            disk.watch(lambda *_: None)
            first = other.claims.claim(lane, other.claims.register())
            assert first is not None

            def swept(path: str, *, bytes_max: int) -> bytes | None:
                if path == layout.claim(lane.name, 1):
                    disk.read = reading  # type: ignore[method-assign] # the stand-in ends
                    other.claims.release(first)
                    assert other.claims.claim(lane, other.claims.register()) is not None
                return reading(path, bytes_max=bytes_max)

            disk.read = swept  # type: ignore[method-assign] # a stand-in for one method

    disk.watch(overtake)
    assert worker.drain().ended == {}
    assert other.queue.closed(PROJECT) == frozenset()
