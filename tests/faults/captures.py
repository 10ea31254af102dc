"""Cases of captures that meet, and of a branch that somebody else has replaced (rules 5 and 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.coverage import FileCoverage
from perdure.errors import PerdureError
from perdure.ports.coverage import HeldCoverage
from tests.crash.checks import need
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, turns
from tests.faults.stages import PORT, RELEASES, RULE, before_operation, home, process
from tests.simulated_disk import Crashed

_ASIDE = "The linter is ruff."


def turns_out_of_order() -> None:
    """A session is captured from its second turn on, and then from its first."""
    disk = home()
    found = turns(PORT, RELEASES)
    process(disk, "fork").capture(found[1:])
    rig = process(disk, "host")
    rig.capture(found)
    left = {turn.turn_id for turn in found} - rig.coverage.covered(PROJECT).keys()
    need("G-01 an accepted turn is covered", holds=not left, found=left)


class _Slow(FileCoverage):
    """The coverage of a host that stalls between its plan and the lock."""

    def __init__(self, rig: Rig, other: Rig) -> None:
        super().__init__(rig.records, rig.queue, rig.ids)
        self._others = [other]

    @contextmanager
    def hold(self, project: str) -> Iterator[HeldCoverage]:
        """Let the other host capture first."""
        while self._others:
            self._others.pop().capture(turns(PORT))
        with super().hold(project) as held:
            yield held


def two_hosts_at_once() -> None:
    """Two hosts capture overlapping turns; one plans before, and commits after the other."""
    disk = home()
    slow, fast = process(disk, "slow"), process(disk, "fast")
    slow.coverage = _Slow(slow, fast)
    slow.capture(turns(PORT, RELEASES))
    reader = process(disk, "reader")
    jobs = [job for name in reader.queue.queued() if (job := reader.queue.job(name)) is not None]
    held = Counter(turn.turn_id for job in jobs for turn in job.evidence.turns)
    twice = [turn for turn, count in held.items() if count > 1]
    need("Q-01 no turn is reviewed as two jobs", holds=not twice and len(held) == 2, found=held)


def foreign_branch() -> None:
    """A writer dies with its intent durable; then somebody puts an older branch file there."""
    disk, path = home(), layout.branch(PROJECT, MAIN_BRANCH)
    victim = process(disk, "victim")
    victim.memory_service().remember(PORT)
    older = disk.files()[path]
    victim.memory_service().remember(RULE)
    before_operation(disk, "replace", "/branches/", lambda: disk.kill("victim"))
    with suppress(Crashed):
        victim.memory_service().remember(_ASIDE)
    disk.put(path, older)
    with suppress(PerdureError):
        process(disk, "later").memory_service().remember(RELEASES)
    stands = disk.files()[path]
    need("G-04 what another wrote stays", holds=_ASIDE.encode() not in stands, found=stands)
