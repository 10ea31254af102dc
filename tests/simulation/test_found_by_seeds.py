"""What seeds found out, each as the shortest test that shows it."""

from __future__ import annotations

import msgspec
import pytest

from perdure.authority.filesystem.inspect import load_snapshot
from perdure.authority.filesystem.queue import FileQueue
from perdure.core.decision import Decision
from perdure.service.invariants import check_invariants
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, SequentialIds, turns
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Crashed
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


class _Dying(FileQueue):
    """The queue of a process that dies right after it has published a decision."""

    def _withdraw(self, job_id: str, path: str) -> None:
        del job_id, path
        raise Crashed


@pytest.mark.requirement("E-05", "Q-05", "D-12")
def test_a_decision_that_came_after_the_tombstone_is_no_damage_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An owner who slept until its job had expired decides and dies: verify holds, retention removes it.

    Found by seed 4685: verify reported the decision as another than the outcome's.
    """
    decided: list[Decision] = []
    decide = FileQueue.decide

    def kept(self: FileQueue, decision: Decision) -> Decision:
        decided.append(decision)
        return decide(self, decision)

    monkeypatch.setattr(FileQueue, "decide", kept)
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns("Use pnpm here."))
    rig.drain()
    for _ in range(12):
        rig.clock.advance(2 * 86_400)
        rig.retention().run()
    job_id = decided[0].job_id
    assert rig.queue.decision(job_id) is None
    late = msgspec.structs.replace(decided[0], decided_ms=decided[0].decided_ms + 1)
    with pytest.raises(Crashed):
        _Dying(rig.records).decide(late)
    assert rig.queue.decision(job_id) == late
    assert not check_invariants(load_snapshot(rig.records))
    rig.clock.advance(2 * 86_400)
    rig.retention().run()
    assert rig.queue.decision(job_id) is None
