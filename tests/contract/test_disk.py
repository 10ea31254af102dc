"""The Disk contract: the same promises on a real folder and on the simulated disk of the crash tests."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Disk, Lock, RealDisk
from perdure.errors import Damaged, LockTimeout, StorageError
from tests.simulated_disk import Model, SimulatedDisk


class Bench(Protocol):
    """A disk under test, and what an outsider can do to it."""

    disk: Disk

    def other(self) -> Disk:
        """Open the same home as another process does."""
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write a file past the disk."""
        ...

    def symlink(self, path: str, target: str) -> None:
        """Make a symlink past the disk."""
        ...

    def fifo(self, path: str) -> None:
        """Make a FIFO past the disk."""
        ...

    def folder(self, path: str) -> None:
        """Make a folder past the disk."""
        ...

    def hard_link(self, path: str, target: str) -> None:
        """Give a file a second name past the disk."""
        ...


class RealBench:
    """The contract's subject in a folder of the test."""

    def __init__(self, home: Path, stack: contextlib.ExitStack) -> None:
        self.home, self._stack = home, stack
        self.disk: Disk = self.other()

    def other(self) -> Disk:
        """See `Bench.other`."""
        disk = RealDisk(str(self.home))
        self._stack.callback(disk.close)
        return disk

    def put(self, path: str, data: bytes) -> None:
        """See `Bench.put`."""
        (self.home / path).write_bytes(data)

    def symlink(self, path: str, target: str) -> None:
        """See `Bench.symlink`."""
        (self.home / path).symlink_to(self.home / target)

    def fifo(self, path: str) -> None:
        """See `Bench.fifo`."""
        os.mkfifo(self.home / path)

    def folder(self, path: str) -> None:
        """See `Bench.folder`."""
        (self.home / path).mkdir()

    def hard_link(self, path: str, target: str) -> None:
        """See `Bench.hard_link`."""
        (self.home / path).hardlink_to(self.home / target)


class SimulatedBench:
    """The contract's subject in memory."""

    def __init__(self, model: Model) -> None:
        self._simulated = SimulatedDisk(model)
        self.disk: Disk = self._simulated
        self._others = 0

    def other(self) -> Disk:
        """See `Bench.other`."""
        self._others += 1
        return self._simulated.process(f"other {self._others}")

    def put(self, path: str, data: bytes) -> None:
        """See `Bench.put`."""
        self._simulated.put(path, data)

    def symlink(self, path: str, target: str) -> None:
        """See `Bench.symlink`."""
        self._simulated.put(path, target.encode(), kind="symlink")

    def fifo(self, path: str) -> None:
        """See `Bench.fifo`."""
        self._simulated.put(path, kind="other")

    def folder(self, path: str) -> None:
        """See `Bench.folder`."""
        self._simulated.put(path, kind="folder")

    def hard_link(self, path: str, target: str) -> None:
        """See `Bench.hard_link`."""
        self._simulated.put_hard_link(path, target)


@pytest.fixture(params=["real", "posix-weak", "ext4"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Give a home that holds the folders tmp and jobs, on each kind of disk."""
    with contextlib.ExitStack() as stack:
        made: Bench = RealBench(tmp_path, stack) if request.param == "real" else SimulatedBench(request.param)
        assert made.disk.make_folder(TEMPORARY_FOLDER)
        assert made.disk.make_folder("jobs")
        made.disk.sync_folder("")
        yield made


@pytest.fixture
def disk(bench: Bench) -> Disk:
    """Give the disk of the bench."""
    return bench.disk


def publish(disk: Disk, path: str, data: bytes) -> bool:
    """Publish as the authority does: write, sync, link, sync the folder."""
    with disk.temporary(data) as temporary:
        temporary.sync()
        created = temporary.link(path)
    disk.sync_folder(path.rpartition("/")[0])
    return created


# -- create, replace, remove


@pytest.mark.requirement("Q-02", "D-03")
def test_link_creates_once(disk: Disk) -> None:
    """The first creation of a name wins; the second reports it and changes nothing."""
    assert publish(disk, "jobs/a", b"first")
    assert not publish(disk, "jobs/a", b"second")
    assert disk.read("jobs/a", bytes_max=10) == b"first"


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
@pytest.mark.requirement("D-03", "E-04")
def test_link_takes_whatever_stands_there_as_present(bench: Bench, kind: str) -> None:
    """A dangling symlink, a FIFO or a folder in the place of a record is never written through or over."""
    place(bench, "jobs/a", kind)
    assert not publish(bench.disk, "jobs/a", b"record")
    found = bench.disk.info("jobs/a")
    assert found is not None
    assert found.kind != "file"
    assert bench.disk.names("") != ["target"]


def place(bench: Bench, path: str, kind: str) -> None:
    """Put a thing that is not ours at a path; the symlink dangles."""
    if kind == "symlink":
        bench.symlink(path, "target")
    elif kind == "fifo":
        bench.fifo(path)
    else:
        bench.folder(path)


def test_replace_takes_the_place(disk: Disk) -> None:
    """A replacement is there at once and whole, and its temporary name is gone."""
    publish(disk, "jobs/a", b"old")
    with disk.temporary(b"newer") as temporary:
        temporary.sync()
        temporary.replace("jobs/a")
        assert disk.read("jobs/a", bytes_max=10) == b"newer"
        assert disk.names(TEMPORARY_FOLDER) == []
    disk.sync_folder("jobs")
    assert disk.names("jobs") == ["a"]


def test_replace_makes_a_name_that_is_new(disk: Disk) -> None:
    """Replacing what is not there creates it."""
    with disk.temporary(b"x") as temporary:
        temporary.replace("jobs/a")
    assert disk.read("jobs/a", bytes_max=1) == b"x"


@pytest.mark.requirement("E-04")
def test_replace_takes_a_symlink_itself(bench: Bench) -> None:
    """A symlink in the place of a file is replaced; what it points at is untouched."""
    bench.put("victim", b"theirs")
    bench.symlink("jobs/a", "victim")
    with bench.disk.temporary(b"ours") as temporary:
        temporary.replace("jobs/a")
    assert bench.disk.read("jobs/a", bytes_max=10) == b"ours"
    assert bench.disk.read("victim", bytes_max=10) == b"theirs"


def test_replace_refuses_a_folder(bench: Bench) -> None:
    """A folder is not replaced by a file."""
    bench.folder("jobs/a")
    with bench.disk.temporary(b"x") as temporary, pytest.raises(StorageError):
        temporary.replace("jobs/a")
    assert bench.disk.names(TEMPORARY_FOLDER) == []


def test_a_temporary_is_renamed_once(disk: Disk) -> None:
    """After a replace the temporary has no name left that could be linked."""
    with disk.temporary(b"x") as temporary:
        temporary.replace("jobs/a")
        with pytest.raises(StorageError):
            temporary.link("jobs/b")
    assert disk.names("jobs") == ["a"]


def test_one_temporary_can_have_two_names(disk: Disk) -> None:
    """A file may be linked to several names; replacing a name by itself changes nothing."""
    with disk.temporary(b"x") as temporary:
        assert temporary.link("jobs/a")
        temporary.replace("jobs/a")
        assert disk.read("jobs/a", bytes_max=1) == b"x"
        assert temporary.link("jobs/b")
        disk.remove("jobs/b")
    assert disk.names(TEMPORARY_FOLDER) == []


def test_remove_says_whether_it_was_there(disk: Disk) -> None:
    """Removing is idempotent and reports what it found."""
    publish(disk, "jobs/a", b"x")
    assert disk.remove("jobs/a")
    assert not disk.remove("jobs/a")
    assert not disk.remove("nowhere/a")
    assert disk.read("jobs/a", bytes_max=1) is None


@pytest.mark.requirement("E-04")
def test_remove_takes_a_symlink_itself(bench: Bench) -> None:
    """Removing a symlink leaves its target."""
    bench.put("victim", b"theirs")
    bench.symlink("jobs/a", "victim")
    assert bench.disk.remove("jobs/a")
    assert bench.disk.read("victim", bytes_max=10) == b"theirs"


def test_remove_refuses_a_folder(bench: Bench) -> None:
    """A folder is not removed as a file, nor a file as a folder."""
    bench.folder("jobs/a")
    with pytest.raises(StorageError):
        bench.disk.remove("jobs/a")
    bench.put("jobs/b", b"")
    with pytest.raises(StorageError):
        bench.disk.remove_folder("jobs/b")
    assert sorted(bench.disk.names("jobs")) == ["a", "b"]


def test_folders_are_made_once_and_removed_when_empty(disk: Disk) -> None:
    """Making a folder reports whether it is new; one that holds something stays."""
    assert disk.make_folder("jobs/day")
    assert not disk.make_folder("jobs/day")
    publish(disk, "jobs/day/a", b"x")
    assert not disk.remove_folder("jobs/day")
    assert disk.remove("jobs/day/a")
    assert disk.remove_folder("jobs/day")
    assert not disk.remove_folder("jobs/day")
    assert not disk.remove_folder("nowhere/day")
    assert disk.names("jobs") == []


def test_a_folder_can_be_made_again(disk: Disk) -> None:
    """Nothing of a removed folder comes back with the next one of that name."""
    disk.make_folder("jobs/day")
    publish(disk, "jobs/day/a", b"x")
    disk.remove("jobs/day/a")
    disk.remove_folder("jobs/day")
    assert disk.make_folder("jobs/day")
    assert disk.names("jobs/day") == []
    assert publish(disk, "jobs/day/a", b"y")


def test_a_folder_that_another_process_made_again_is_seen(bench: Bench) -> None:
    """A long-lived reader sees the folder that stands there now, not one that was removed meanwhile."""
    other = bench.other()
    bench.disk.make_folder("jobs/day")
    publish(bench.disk, "jobs/day/a", b"x")
    assert other.names("jobs/day") == ["a"]
    bench.disk.remove("jobs/day/a")
    bench.disk.remove_folder("jobs/day")
    bench.disk.make_folder("jobs/day")
    publish(bench.disk, "jobs/day/b", b"y")
    assert other.names("jobs/day") == ["b"]
    assert other.read("jobs/day/b", bytes_max=1) == b"y"
    assert publish(other, "jobs/day/c", b"z")


def test_folders_need_their_parent(disk: Disk) -> None:
    """No call makes more than the one name it was asked for."""
    with pytest.raises(StorageError):
        disk.make_folder("nowhere/day")
    with disk.temporary(b"x") as temporary:
        with pytest.raises(StorageError):
            temporary.link("nowhere/a")
        with pytest.raises(StorageError):
            temporary.replace("nowhere/a")
    with pytest.raises(StorageError):
        disk.note("nowhere/a", b"x")
    with pytest.raises(StorageError):
        disk.sync_folder("nowhere")
    assert disk.names("nowhere") == []


@pytest.mark.parametrize("kind", ["symlink", "fifo"])
@pytest.mark.requirement("E-04")
def test_only_a_folder_is_walked_into(bench: Bench, kind: str) -> None:
    """No symlink leads out of the home, and what stands in a folder's place is reported by path."""
    bench.folder("victim")
    bench.put("victim/a", b"theirs")
    if kind == "symlink":
        bench.symlink("jobs/day", "victim")
    else:
        bench.fifo("jobs/day")
    calls: list[Callable[[], object]] = [
        lambda: bench.disk.read("jobs/day/a", bytes_max=10),
        lambda: bench.disk.names("jobs/day"),
        lambda: bench.disk.info("jobs/day/a"),
        lambda: bench.disk.make_folder("jobs/day"),
        lambda: bench.disk.make_folder("jobs/day/new"),
        lambda: bench.disk.remove("jobs/day/a"),
        lambda: bench.disk.note("jobs/day/a", b"ours"),
        lambda: publish(bench.disk, "jobs/day/b", b"ours"),
    ]
    for call in calls:
        with pytest.raises(Damaged, match="jobs/day"):
            call()
    assert bench.disk.names("victim") == ["a"]
    assert bench.disk.read("victim/a", bytes_max=10) == b"theirs"


# -- reading


def test_what_is_absent_reads_as_none(disk: Disk) -> None:
    """Absence is an answer, not an error, at any depth."""
    for path in ("jobs/a", "nowhere/a", "nowhere/deeper/a"):
        assert disk.read(path, bytes_max=10) is None
        assert disk.info(path) is None
    assert disk.names("nowhere/deeper") == []


@pytest.mark.requirement("M-13")
def test_reads_are_bounded(bench: Bench) -> None:
    """A file of exactly the bound is read whole; one byte more is damage, never a part of it."""
    bench.put("jobs/a", b"x" * 10)
    assert bench.disk.read("jobs/a", bytes_max=10) == b"x" * 10
    with pytest.raises(Damaged, match="jobs/a"):
        bench.disk.read("jobs/a", bytes_max=9)


def test_an_empty_file_is_not_absent(bench: Bench) -> None:
    """Zero length is content."""
    bench.put("jobs/a", b"")
    assert bench.disk.read("jobs/a", bytes_max=0) == b""
    assert publish(bench.disk, "jobs/b", b"")
    assert bench.disk.read("jobs/b", bytes_max=0) == b""


def test_a_file_of_many_blocks_comes_back_whole(disk: Disk) -> None:
    """Large content survives a write and a read byte for byte."""
    data = bytes(range(256)) * 10_001
    assert publish(disk, "jobs/a", data)
    assert disk.read("jobs/a", bytes_max=len(data)) == data


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
@pytest.mark.requirement("E-04", "Q-13")
def test_only_regular_files_are_read(bench: Bench, kind: str) -> None:
    """A symlink, FIFO or folder in a record's place is damage, found without following it or blocking."""
    place(bench, "jobs/a", kind)
    with pytest.raises(Damaged, match="jobs/a"):
        bench.disk.read("jobs/a", bytes_max=10)
    found = bench.disk.info("jobs/a")
    assert found is not None
    assert found.kind == {"symlink": "symlink", "fifo": "other", "folder": "folder"}[kind]


def test_only_our_own_temporary_may_be_a_hard_link(bench: Bench) -> None:
    """A twin in tmp/ is what a crash leaves of a publication; any other second name is damage."""
    with bench.disk.temporary(b"x") as temporary:
        temporary.link("jobs/a")
        assert bench.disk.read("jobs/a", bytes_max=1) == b"x"
    bench.hard_link("jobs/b", "jobs/a")
    for path in ("jobs/a", "jobs/b"):
        with pytest.raises(Damaged, match="hard link"):
            bench.disk.read(path, bytes_max=1)


def test_info_describes_what_stands_there(bench: Bench) -> None:
    """Kind, size and number of names are those of the file; a new file has another inode."""
    publish(bench.disk, "jobs/a", b"four")
    publish(bench.disk, "jobs/b", b"")
    first, second = bench.disk.info("jobs/a"), bench.disk.info("jobs/b")
    assert first is not None
    assert second is not None
    assert (first.kind, first.size_bytes, first.links) == ("file", 4, 1)
    assert (second.size_bytes, second.owner) == (0, os.geteuid())
    assert first.inode != second.inode
    assert first.device == second.device


def test_names_are_listed(bench: Bench) -> None:
    """A folder's names are its own; those that no call could be given are left out."""
    for name in ("a", ".DS_Store", "b~", "line\nbreak", "n" * 250):
        bench.put(f"jobs/{name}", b"")
    bench.folder("jobs/day")
    assert sorted(bench.disk.names("jobs")) == [".DS_Store", "a", "b~", "day"]
    assert sorted(bench.disk.names("")) == ["jobs", TEMPORARY_FOLDER]


# -- permissions


@pytest.mark.parametrize("umask", [0o777, 0o022, 0o000])
@pytest.mark.requirement("E-04")
def test_modes_do_not_depend_on_the_umask(disk: Disk, umask: int) -> None:
    """Files are 0600 and folders 0700 from the first byte, whatever the umask."""
    before = os.umask(umask)
    try:
        disk.make_folder("jobs/day")
        with disk.temporary(b"x") as temporary:
            (name,) = disk.names(TEMPORARY_FOLDER)
            temporary_mode = mode_of(disk, f"{TEMPORARY_FOLDER}/{name}")
            temporary.link("jobs/day/a")
        disk.note("jobs/day/b", b"x")
    finally:
        os.umask(before)
    assert temporary_mode == 0o600
    assert mode_of(disk, "jobs/day") == 0o700
    assert mode_of(disk, "jobs/day/a") == 0o600
    assert mode_of(disk, "jobs/day/b") == 0o600


def mode_of(disk: Disk, path: str) -> int:
    """Return the permission bits of what stands at a path."""
    found = disk.info(path)
    assert found is not None
    return stat.S_IMODE(found.mode)


# -- notes


def test_a_note_is_overwritten_in_place(disk: Disk) -> None:
    """A note keeps its inode, and a shorter one leaves nothing of the longer."""
    disk.note("jobs/beat", b"a long note")
    first = disk.info("jobs/beat")
    disk.note("jobs/beat", b"short")
    second = disk.info("jobs/beat")
    assert disk.read("jobs/beat", bytes_max=20) == b"short"
    assert first is not None
    assert second is not None
    assert first.inode == second.inode


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
@pytest.mark.requirement("E-04")
def test_a_note_goes_to_a_regular_file_only(bench: Bench, kind: str) -> None:
    """A symlink is not written through, and a FIFO without a reader does not block."""
    place(bench, "jobs/beat", kind)
    with pytest.raises(StorageError):
        bench.disk.note("jobs/beat", b"x")
    assert bench.disk.read("target", bytes_max=1) is None


# -- locks


def test_an_exclusive_lock_excludes(bench: Bench) -> None:
    """One holder at a time, in the same process or another, until it lets go."""
    other = bench.other()
    held = taken(bench.disk.try_lock("jobs"))
    for disk in (bench.disk, other):
        assert disk.try_lock("jobs") is None
        assert disk.try_lock("jobs", shared=True) is None
    held.release()
    held.release()
    taken(other.try_lock("jobs")).release()


def test_shared_locks_share(bench: Bench) -> None:
    """Readers share; a writer waits for the last of them."""
    other = bench.other()
    first = taken(bench.disk.try_lock("jobs", shared=True))
    second = taken(other.try_lock("jobs", shared=True))
    first.release()
    assert bench.disk.try_lock("jobs") is None
    second.release()
    taken(bench.disk.try_lock("jobs")).release()


def test_locks_are_of_one_path(bench: Bench) -> None:
    """A folder's lock says nothing about its files or its neighbours."""
    bench.put("jobs/a", b"")
    held = [taken(bench.disk.try_lock(path)) for path in ("jobs", "jobs/a", TEMPORARY_FOLDER)]
    for lock in held:
        lock.release()


def test_lock_times_out_and_names_the_path(bench: Bench) -> None:
    """A wait is bounded; what it says names the lock, and nothing was taken."""
    held = taken(bench.disk.try_lock("jobs"))
    with pytest.raises(LockTimeout, match=r"^jobs is locked by .*process"):
        bench.other().lock("jobs", wait_seconds=0.0)
    held.release()
    bench.other().lock("jobs", wait_seconds=0.0).release()


def test_locks_need_something_to_lock(bench: Bench) -> None:
    """Locking creates nothing: an absent path is FileNotFoundError, also for a shared lock."""
    for path in ("jobs/a", "absent"):
        with pytest.raises(FileNotFoundError):
            bench.disk.try_lock(path)
        with pytest.raises(FileNotFoundError):
            bench.disk.lock(path, wait_seconds=0.0, shared=True)
        assert bench.disk.info(path) is None


@pytest.mark.requirement("E-04")
def test_a_symlink_is_not_locked(bench: Bench) -> None:
    """A lock is never taken through a symlink."""
    bench.put("victim", b"")
    bench.symlink("jobs/a", "victim")
    with pytest.raises(Damaged, match=os.strerror(errno.ELOOP)):
        bench.disk.try_lock("jobs/a")
    taken(bench.disk.try_lock("victim")).release()


@pytest.mark.requirement("Q-03")
def test_a_replaced_name_has_a_lock_of_its_own(bench: Bench) -> None:
    """A lock belongs to the inode: who replaces the name does not inherit it, nor free it."""
    publish(bench.disk, "jobs/a", b"old")
    held = taken(bench.disk.try_lock("jobs/a"))
    with bench.disk.temporary(b"new") as temporary:
        temporary.replace("jobs/a")
    fresh = taken(bench.other().try_lock("jobs/a"))
    held.release()
    assert bench.disk.try_lock("jobs/a") is None
    fresh.release()


@pytest.mark.requirement("Q-03")
def test_a_name_replaced_while_locking_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the real disk: a file that lost its name between the open and the flock is never taken for held."""
    with contextlib.ExitStack() as stack:
        real = RealBench(tmp_path, stack)
        real.put("a", b"old")
        real.put("b", b"new")

        def slow_flock(descriptor: int, operation: int) -> None:
            (tmp_path / "b").replace(tmp_path / "a")
            flock(descriptor, operation)

        flock = fcntl.flock
        with monkeypatch.context() as patch:
            patch.setattr(fcntl, "flock", slow_flock)
            with pytest.raises(FileNotFoundError):
                real.disk.try_lock("a")
        taken(real.disk.try_lock("a")).release()


def taken(lock: Lock | None) -> Lock:
    """Return the lock, which must have been free."""
    assert lock is not None
    return lock


# -- temporaries


def test_a_temporary_is_gone_after_its_context(disk: Disk) -> None:
    """Linked, abandoned or failed: no temporary name outlives its writer's context."""
    publish(disk, "jobs/a", b"x")
    with disk.temporary(b"abandoned"):
        assert len(disk.names(TEMPORARY_FOLDER)) == 1
    with pytest.raises(KeyError), disk.temporary(b"failed"):
        raise KeyError
    assert disk.names(TEMPORARY_FOLDER) == []
    assert disk.names("jobs") == ["a"]


def test_temporaries_do_not_collide(bench: Bench) -> None:
    """Two writers hold temporaries at once, each its own."""
    with bench.disk.temporary(b"1") as first, bench.other().temporary(b"2") as second:
        assert second.link("jobs/b")
        assert first.link("jobs/a")
    assert bench.disk.read("jobs/a", bytes_max=1) == b"1"
    assert bench.disk.read("jobs/b", bytes_max=1) == b"2"


def test_a_temporary_needs_its_folder(disk: Disk) -> None:
    """Without tmp/ nothing is written."""
    assert disk.remove_folder(TEMPORARY_FOLDER)
    with pytest.raises(StorageError), disk.temporary(b"x"):
        pass


@pytest.mark.requirement("Q-13")
def test_the_sweep_takes_orphans_only(bench: Bench) -> None:
    """A temporary whose writer lives stays, one whose writer is gone goes, its published twin stays."""
    bench.put(f"{TEMPORARY_FOLDER}/orphan", b"half")
    publish(bench.disk, "jobs/a", b"whole")
    bench.hard_link(f"{TEMPORARY_FOLDER}/twin", "jobs/a")
    with bench.disk.temporary(b"mine") as temporary:
        assert bench.other().sweep_temporaries() == 2
        assert len(bench.disk.names(TEMPORARY_FOLDER)) == 1
        assert temporary.link("jobs/b")
    assert bench.disk.sweep_temporaries() == 0
    assert bench.disk.read("jobs/a", bytes_max=5) == b"whole"
    assert bench.disk.read("jobs/b", bytes_max=4) == b"mine"


@pytest.mark.requirement("Q-02")
def test_a_sweep_in_the_middle_of_a_write_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the real disk: a sweep between the open and the flock of a temporary does not fail its writer."""
    with contextlib.ExitStack() as stack:
        real = RealBench(tmp_path, stack)
        real.folder(TEMPORARY_FOLDER)
        real.folder("jobs")
        other = real.other()

        def slow_flock(descriptor: int, operation: int) -> None:
            monkeypatch.setattr(fcntl, "flock", flock)
            other.sweep_temporaries()
            flock(descriptor, operation)

        flock = fcntl.flock
        monkeypatch.setattr(fcntl, "flock", slow_flock)
        assert publish(real.disk, "jobs/a", b"x")
        assert real.disk.read("jobs/a", bytes_max=1) == b"x"


@pytest.mark.requirement("Q-13", "E-04")
def test_the_sweep_passes_over_what_is_not_a_file(bench: Bench) -> None:
    """A foreign folder or symlink in tmp/ stops neither the sweep nor the reading of a twin."""
    bench.folder(f"{TEMPORARY_FOLDER}/folder")
    bench.symlink(f"{TEMPORARY_FOLDER}/link", "jobs")
    bench.put(f"{TEMPORARY_FOLDER}/orphan", b"")
    assert bench.disk.sweep_temporaries() == 1
    assert sorted(bench.disk.names(TEMPORARY_FOLDER)) == ["folder", "link"]
    taken(bench.disk.try_lock(f"{TEMPORARY_FOLDER}/folder")).release()


@pytest.mark.requirement("Q-13")
def test_a_foreign_long_name_in_tmp_stops_nothing(bench: Bench) -> None:
    """A name longer than ours is never needed to sweep or to read a record that has a twin."""
    bench.put(f"{TEMPORARY_FOLDER}/{'n' * 250}", b"")
    with bench.disk.temporary(b"x") as temporary:
        temporary.link("jobs/a")
        assert bench.disk.read("jobs/a", bytes_max=1) == b"x"
    bench.disk.sweep_temporaries()


# -- paths

BAD_PATHS = [
    "",
    "/jobs/a",
    "jobs/../../a",
    "..",
    ".",
    "jobs/./a",
    "jobs//a",
    "jobs/",
    "jobs/a\0b",
    "jobs/" + "n" * 300,
    "jobs/" + "ä" * 150,
    "jobs/\ud800",
]


@pytest.mark.parametrize("path", BAD_PATHS, ids=lambda path: ascii(path)[:20])
@pytest.mark.requirement("E-04")
def test_only_plain_relative_paths_are_taken(disk: Disk, path: str) -> None:
    """`..`, absolute, empty, NUL, lone surrogate and over-long parts are refused by every call."""
    calls: list[Callable[[], object]] = [
        lambda: disk.read(path, bytes_max=1),
        lambda: disk.info(path),
        lambda: disk.make_folder(path),
        lambda: disk.remove(path),
        lambda: disk.remove_folder(path),
        lambda: disk.note(path, b"x"),
        lambda: disk.try_lock(path),
        lambda: disk.lock(path, wait_seconds=0.0),
    ]
    if path:  # the empty path is the home itself where a folder is meant
        calls += [lambda: disk.names(path), lambda: disk.sync_folder(path)]
    for call in calls:
        with pytest.raises(StorageError):
            call()
    with disk.temporary(b"x") as temporary:
        with pytest.raises(StorageError):
            temporary.link(path)
        with pytest.raises(StorageError):
            temporary.replace(path)
    assert sorted(disk.names("")) == ["jobs", TEMPORARY_FOLDER]
    assert disk.names("jobs") == []


def test_names_of_200_bytes_are_taken(disk: Disk) -> None:
    """The longest name that is promised works on every disk."""
    path = "jobs/" + "n" * 200
    assert publish(disk, path, b"x")
    assert disk.read(path, bytes_max=1) == b"x"
