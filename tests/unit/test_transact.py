"""What a failing disk leaves of a change, and what the user is told of it (D-06, X-05, rule 5)."""

from __future__ import annotations

import contextlib

import pytest

from perdure.errors import DiskFull, StorageError
from tests.fakes import Rig, SequentialIds
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation

TEXT = "Release on Thursdays."


@pytest.mark.requirement("D-06", "X-05", "G-04")
@pytest.mark.parametrize("error", [DiskFull, StorageError])
@pytest.mark.parametrize("operation", ["write", "link", "replace", "remove"])
def test_what_is_said_is_what_stands(error: type[StorageError], operation: Operation) -> None:
    """Each failing step in turn: what is called recorded is finished by the next command, what is refused
    was never begun, and a change of which only the tidying failed is stored.
    """
    for nth in range(1, 9):
        disk = SimulatedDisk()
        rig = Rig(disk)
        rig.prepare()
        rig.memory_service().remember("Before.")
        disk.fail(operation, nth=nth, error=error)
        said = ""
        try:
            rig.memory_service().remember(TEXT)
        except StorageError as failed:
            said = failed.message
        later = Rig(disk, ids=SequentialIds("later"))
        for number in range(nth):  # a step that is not reached above fails here
            with contextlib.suppress(StorageError):
                later.memory_service().remember(f"After {number}.")
        later.memory_service().remember("After all.")
        stands = TEXT in [entry.text for entry in later.memory_service().branch().entries]
        assert stands == (not said or said.startswith("the change is recorded; ")), (nth, said)
        if operation == "remove":  # tidying alone
            assert not said
        assert not (stands and "nothing was changed" in said)
        if error is DiskFull and said and not stands:
            assert said.endswith("; nothing was changed."), said


@pytest.mark.requirement("D-06", "X-05")
def test_a_recorded_change_is_told_with_what_to_do() -> None:
    """Space ends after the intent: the error says that the change stands and not to repeat it; so does that
    of a later command that finds no space either, and that did nothing itself.
    """
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    disk.fail("write", nth=2, error=DiskFull, forever=True)
    with pytest.raises(DiskFull, match="the change is recorded; finishing it failed") as first:
        rig.memory_service().remember(TEXT)
    assert "Do not repeat the change" in first.value.advice
    assert "nothing was changed" not in first.value.message
    with pytest.raises(DiskFull, match="an earlier change is recorded, and this command did nothing"):
        Rig(disk, ids=SequentialIds("later")).memory_service().remember("Another.")
