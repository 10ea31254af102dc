"""A sync that fails while a home is made or adopted, a disk without inodes: there is always a way on."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.authority.filesystem import ballast, layout
from perdure.authority.filesystem.disk import RealDisk
from perdure.authority.filesystem.home import adopt, make_home, open_home, start_writing
from perdure.errors import DiskFailed, DiskFull, Refused
from tests.fakes import Rig
from tests.services import retention
from tests.simulated_disk import SimulatedDisk


def fail_sync(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], bool]:
    """Let that sync fail with EIO, counted from now; says whether it came to it."""
    seen = 0
    real = os.fsync

    def sync(descriptor: int) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    return lambda: seen >= number


@pytest.mark.requirement("E-12", "X-05")
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9, 16, 18, 25, 29, 30, 31, 32])
def test_a_home_can_be_made_after_a_failed_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whichever sync of init fails before the home is whole: the next init makes good what was in doubt.
    Nothing of it was acknowledged, and home resume opens whole homes alone.
    """
    home = tmp_path / "home"
    failed = fail_sync(monkeypatch, number)
    with pytest.raises((DiskFailed, Refused)):
        make_home(str(home))
    assert failed()
    made = make_home(str(home))
    made.records.check_writable()
    start_writing(made)
    made.close()


@pytest.mark.requirement("E-12")
def test_a_home_whose_parent_was_not_synced_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder itself is taken away again, so that the next init does not find it and skip the sync."""
    fail_sync(monkeypatch, 1)
    with pytest.raises(DiskFailed):
        RealDisk.make_outside_folder(str(tmp_path / "home"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("S-08", "X-05")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_home_can_be_adopted_after_a_failed_sync(
    perdure_home: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whichever sync of adopting fails: home resume refuses the copy, so adopting again makes it good."""
    original = perdure_home.with_name("original")
    make_home(str(original)).close()
    shutil.copytree(original, perdure_home)
    copied = open_home(str(perdure_home), adopting=True)
    failed = fail_sync(monkeypatch, number)
    with pytest.raises(DiskFailed):
        adopt(copied)
    copied.close()
    assert failed()
    again = open_home(str(perdure_home), adopting=True)
    adopt(again)
    again.close()
    mine = open_home(str(perdure_home))
    mine.records.check_writable()
    mine.close()


@pytest.mark.requirement("M-12", "X-05")
@pytest.mark.parametrize("everywhere", [False, True])
def test_the_user_can_forget_without_a_free_inode(*, everywhere: bool) -> None:
    """What is kept back for removals is enough inodes, too."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    entry = rig.memory_service().remember("The Bluebird server is in the cellar.").changes[0].entry_id
    ballast.stock(rig.records)
    disk.limit(inodes_max=_inodes(disk))
    with pytest.raises(DiskFull):
        rig.memory_service().remember("This finds no inode.")
    with retention(rig).room():
        if everywhere:
            assert rig.purge_service().forget_everywhere("0123456789abcdef", entry).left == []
        else:
            assert rig.memory_service().forget(entry).changed
    assert rig.memory_service().branch().entries == ()


def _inodes(disk: SimulatedDisk) -> int:
    """As many as the home has files and folders."""
    folders = [""]
    count = 0
    while folders:
        folder = folders.pop()
        for name in disk.names(folder):
            path = f"{folder}/{name}" if folder else name
            count += 1
            found = disk.info(path)
            if found is not None and found.kind == "folder":
                folders.append(path)
    return count


@pytest.mark.requirement("X-05")
def test_a_few_free_inodes_do_not_keep_the_ballast_back() -> None:
    """A disk with fewer free inodes than a removal needs is full; one with enough is not."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    ballast.stock(rig.records)
    used = _inodes(disk)
    disk.limit(inodes_max=used + ballast.NEEDED_FILES)
    assert not ballast.give_up(rig.records)
    disk.limit(inodes_max=used + ballast.NEEDED_FILES - 1)
    assert ballast.give_up(rig.records)
    assert disk.names(layout.BALLAST) == []
