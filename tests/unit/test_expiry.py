"""What expires although something else stays, and how a full disk is no reason to keep anything."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from perdure.authority.filesystem import ballast, layout
from perdure.authority.filesystem.disk import RealDisk
from perdure.authority.filesystem.home import make_home
from perdure.authority.filesystem.quarantine import copy_aside
from perdure.authority.filesystem.retain import FileRetain
from perdure.core.admission import OutcomeTombstone
from perdure.ports.provider import Lost, Reply, ReviewRequest
from tests.fakes import EVIDENCE_DAYS, Rig, ScriptedProvider, SequentialIds, turns
from tests.services import broken, retention
from tests.simulated_disk import Crashed, SimulatedDisk

SECRETISH = "The launch code name is Bluebird."


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def disk_of(rig: Rig) -> SimulatedDisk:
    """The rig's disk."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk


def pass_days(rig: Rig, days: int) -> None:
    """One look a day."""
    for _ in range(days):
        rig.clock.advance(86_400)
        retention(rig).run()


@pytest.mark.requirement("E-05", "B-06")
def test_a_results_text_expires_while_a_call_of_its_day_is_in_doubt() -> None:
    """The doubt keeps the records and what they cost, not what the reviewer wrote."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([lost]))
    rig.prepare()
    rig.capture(turns(SECRETISH))
    rig.drain()
    rig.clock.advance(900)
    assert rig.drain().ended == {"applied": 1}
    results = [path for path in disk_of(rig).files() if path.endswith(".result")]
    charged = rig.attempts.charge("scripted", "20270115")
    pass_days(rig, EVIDENCE_DAYS - 1)
    assert all(b"Bluebird" in disk_of(rig).files()[path] for path in results)
    pass_days(rig, 3)
    (path,) = results
    assert b"Bluebird" not in disk_of(rig).files()[path]
    for process in (rig, Rig(rig.disk, clock=rig.clock)):
        (expired,) = (a.result for a in process.attempts.all() if a.result is not None)
        assert (expired.detail, expired.proposal, expired.outcome) == ("expired", None, "proposal")
        assert expired.proposal_digest is not None
        assert process.attempts.charge("scripted", "20270115") == charged
    assert broken(rig) == ()
    before = disk_of(rig).files()[path]
    pass_days(rig, 1)
    assert disk_of(rig).files()[path] == before


@pytest.mark.requirement("E-05", "F-01")
def test_an_end_that_was_never_told_is_told_before_it_expires() -> None:
    """A crash before the mailbox: the next run tells it, the one after takes it away."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    (job_id,) = rig.capture(turns(SECRETISH)).jobs
    probe = disk.fork()
    Rig(probe, ids=SequentialIds("v")).drain()
    told = next(
        n for n, (kind, path) in enumerate(probe.operations, 1) if kind == "link" and "mailbox" in path
    )
    with contextlib.suppress(Crashed):
        Rig(disk.process("victim", crash_at=told), ids=SequentialIds("v")).drain()
    assert not rig.queue.event_present(job_id)
    announced = 0
    for _ in range(EVIDENCE_DAYS + 4):
        rig.clock.advance(86_400)
        retention(rig).run()
        announced += rig.queue.event_present(job_id)
        if not announced:
            assert not isinstance(rig.queue.outcome(job_id), OutcomeTombstone)
    assert announced == 1
    assert isinstance(rig.queue.outcome(job_id), OutcomeTombstone)


@pytest.mark.requirement("E-05")
def test_copies_of_what_was_damaged_expire_and_their_reasons_stay(tmp_path: Path) -> None:
    """A copy may hold evidence."""
    tmp_path.chmod(0o700)
    rig = Rig(RealDisk(str(tmp_path)))
    rig.prepare()
    (tmp_path / "spool/jobs/odd").write_bytes(SECRETISH.encode())
    (tmp_path / "spool/jobs/odd").chmod(0o600)
    copy_aside(rig.records, "spool/jobs/odd", "a test")
    retain = FileRetain(rig.records, rig.claims)
    (kept,) = (path for path in (tmp_path / "quarantine").iterdir() if path.suffix != ".reason")
    made_ms = kept.stat().st_mtime_ns // 1_000_000
    assert retain.sweep_quarantine(made_ms) == 0
    assert retain.sweep_quarantine(made_ms + 1) == 1
    (left,) = (tmp_path / "quarantine").iterdir()
    assert left.suffix == ".reason"
    assert SECRETISH not in left.read_text()


def expired_home() -> tuple[Rig, str]:
    """A home full to the last byte in which one review has expired."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(SECRETISH))
    rig.drain()
    retention(rig).run()
    rig.clock.advance(86_400 * (EVIDENCE_DAYS + 1))
    mark = FileRetain(rig.records, rig.claims).mark()
    assert mark is not None
    later = type(mark)(rig.clock.now_ms(), rig.clock.boot_id(), rig.clock.boot_seconds() - 3_600)
    FileRetain(rig.records, rig.claims).set_mark(later)
    disk_of(rig).limit(bytes_max=sum(map(len, disk_of(rig).files().values())) + 40)
    return rig, rig.memory_service().branch().entries[0].entry_id


@pytest.mark.requirement("E-05", "X-05")
def test_retention_works_on_a_full_disk() -> None:
    """It uses what is kept back for it, frees more, and keeps it back again."""
    rig, _ = expired_home()
    assert len(disk_of(rig).names(layout.BALLAST)) == ballast.FILES
    assert retention(rig).run().jobs == 1
    disk_of(rig).limit()
    retention(rig).run()
    assert len(disk_of(rig).names(layout.BALLAST)) == ballast.FILES


@pytest.mark.requirement("M-12", "X-05")
def test_the_user_can_forget_on_a_full_disk() -> None:
    """Deleting needs a little room: it is there."""
    rig, entry = expired_home()
    with retention(rig).room():
        assert rig.memory_service().forget(entry).changed
    assert rig.memory_service().branch().entries == ()
    rig, entry = expired_home()
    with retention(rig).room():
        assert rig.purge_service().forget_everywhere("0123456789abcdef", entry).left == []
    assert not [path for path, data in disk_of(rig).files().items() if b"Bluebird" in data]


@pytest.mark.requirement("X-05")
def test_a_disk_with_room_keeps_its_ballast(tmp_path: Path) -> None:
    """A new home has it, and it is not given up for nothing."""
    home = make_home(str(tmp_path / "home"))
    assert len(home.disk.names(layout.BALLAST)) == ballast.FILES
    assert not ballast.give_up(home.records)
    assert len(home.disk.names(layout.BALLAST)) == ballast.FILES
    home.close()
