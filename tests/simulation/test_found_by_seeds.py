"""What seeds found out, each as the shortest test that shows it."""

from __future__ import annotations

import pytest

from tests.fakes import MAIN_BRANCH, PROJECT, Rig, SequentialIds
from tests.simulated_disk import SimulatedDisk
from tests.simulated_view import DiskView


class _Overtaken(DiskView):
    """A reader's view: after so many looks at the disk somebody else writes the first entry."""

    writer: Rig
    looks_left = 0

    def read(self, path: str, *, bytes_max: int) -> bytes | None:
        """See `Disk.read`."""
        data = super().read(path, bytes_max=bytes_max)
        self._look()
        return data

    def names(self, folder: str) -> list[str]:
        """See `Disk.names`."""
        found = super().names(folder)
        self._look()
        return found

    def _look(self) -> None:
        self.looks_left -= 1
        if self.looks_left == 0:
            self.writer.memory_service().remember("Use pnpm here.")


@pytest.mark.parametrize("looks", range(1, 7))
@pytest.mark.requirement("Q-13", "G-04")
def test_a_first_entry_is_not_taken_for_a_lost_branch(looks: int) -> None:
    """Whoever reads while the very first revision is written sees no damage, whenever it comes."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    view = _Overtaken(disk._machine, "reader")
    view.writer = Rig(disk.process("writer"), ids=SequentialIds("writer"))
    view.looks_left = looks
    seen = Rig(view).memory.branch(PROJECT, MAIN_BRANCH)
    assert seen is not None
    assert [entry.text for entry in seen.entries] in ([], ["Use pnpm here."])
