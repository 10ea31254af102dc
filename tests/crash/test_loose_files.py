"""What is left out of an exploration because nothing can tell it apart, and what is not."""

from __future__ import annotations

import pytest

from tests.simulated_disk import Model, SimulatedDisk
from tests.simulated_media import BLOCK_BYTES

DATA = b"a" * BLOCK_BYTES + b"b"


def _disk(model: Model) -> SimulatedDisk:
    disk = SimulatedDisk(model)
    disk.make_folder("tmp")
    disk.make_folder("jobs")
    disk.reboot("kept")
    return disk


def _contents(disk: SimulatedDisk, path: str) -> set[bytes | None]:
    found = disk.surviving_states(settle_loose=True)
    return {state.files().get(path) for state in found}


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
def test_a_temporary_alone_is_there_as_written_or_not_at_all(model: Model) -> None:
    """Its bytes make no state of their own; they are kept, so that text which may be nowhere is found."""
    disk = _disk(model)
    with disk.temporary(DATA):
        (path,) = (path for path in disk.files() if path.startswith("tmp/"))
        assert _contents(disk, path) == {None, DATA}
        assert disk.surviving_states(settle_loose=True).combinations == 2
        assert disk.surviving_states().combinations > 2


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
def test_a_named_file_comes_back_in_every_way(model: Model) -> None:
    """A name without a sync of the bytes: lost, empty, torn between blocks, or whole."""
    disk = _disk(model)
    with disk.temporary(DATA) as temporary:
        temporary.link("jobs/one")
    assert _contents(disk, "jobs/one") == {None, b"", DATA[:BLOCK_BYTES], DATA}
    states = disk.surviving_states(settle_loose=True)
    assert sum(1 for _ in states) >= states.torn > 0


@pytest.mark.requirement("X-05")
def test_a_file_that_is_opened_by_its_name_in_tmp_is_noticed() -> None:
    """An exploration fails where a reader could tell apart what it takes as one."""
    disk = _disk("posix-weak")
    with disk.temporary(DATA) as temporary:
        temporary.link("jobs/one")
        disk.read("jobs/one", bytes_max=len(DATA))
        assert not disk.opened_temporary
        (path,) = (path for path in disk.files() if path.startswith("tmp/"))
        disk.read(path, bytes_max=len(DATA))
    assert disk.opened_temporary
