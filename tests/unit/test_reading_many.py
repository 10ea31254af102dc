"""What a new process has to read and sync: one sync for a folder, however much history stands in it."""

from __future__ import annotations

import pytest

from perdure.authority.filesystem import layout
from perdure.core.admission import OutcomeTombstone
from perdure.core.canonical import digest_bytes
from perdure.core.job import Job
from perdure.core.record import Unreadable, seal, unseal
from tests.fakes import MAIN_BRANCH, NOON_MS, PROJECT, Rig, SequentialIds, turns
from tests.simulated_disk import SimulatedDisk

PORT = "The port of the service is 4100."
SYNCS_MAX = 6


def with_history(ended: int) -> SimulatedDisk:
    """A home with so many expired jobs."""
    disk = SimulatedDisk("posix-weak")
    Rig(disk).prepare()
    for number in range(ended):
        job_id = f"{NOON_MS - 10**9 + number:012x}{PROJECT}{MAIN_BRANCH}{number:032x}"
        stone = OutcomeTombstone(
            job_id=job_id,
            state="applied",
            evidence_digest="0" * 64,
            turns=(f"{number:032x}",),
            decision_digest="0" * 64,
            outcome_digest="0" * 64,
        )
        disk.put(layout.outcome(job_id), seal(stone))
    disk.reboot("kept")
    return disk


def syncs(disk: SimulatedDisk) -> int:
    """Syncs of folders since the boot."""
    return sum(operation == "sync_folder" for operation, _ in disk.operations)


@pytest.mark.requirement("Q-02", "Q-07")
def test_a_capture_of_a_new_process_syncs_no_more_with_a_long_history() -> None:
    """Coverage reads all outcomes; the folder is made durable once."""
    disk = with_history(200)
    assert Rig(disk, ids=SequentialIds("new")).capture(turns(PORT)).accepted == 1
    assert syncs(disk) <= SYNCS_MAX


@pytest.mark.requirement("Q-06", "Q-07")
def test_a_list_of_jobs_syncs_no_more_with_a_long_history() -> None:
    """All outcomes are shown; the folder is made durable once."""
    disk = with_history(200)
    assert len(Rig(disk, ids=SequentialIds("new")).jobs_service().list()) == 200
    assert syncs(disk) <= SYNCS_MAX


SECRETIVE = "The launch code name is Bluebird"


def resealed(data: bytes, before: bytes, after: bytes) -> bytes:
    """A job's file with other bytes in its body, and the digest of those."""
    begin, end = len(b'{"body":'), data.rindex(b',"digest"')
    body = data[begin:end].replace(before, after, 1)
    digest = digest_bytes(body).encode()
    return b'{"body":' + body + b',"digest":"' + digest + b'","kind":"job","version":1}'


@pytest.mark.requirement("E-06", "M-13")
@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (b'"role":"user"', b'"role":"%b"', "not allowed at $.evidence.turns[0].lines[0].role"),
        (b'"role":"user"', b'"role":"user","%b":1', "unknown field"),
        (b'"role":"user"', b'"role":"user","%b - at `$.x`":1', "unknown field"),
        (b'"role":"user"', b'"%b":"user"', "field"),
        (b'"generation":', b'"generation":"%b","generation":', "generation"),
    ],
)
def test_why_a_record_cannot_be_read_never_quotes_it(before: bytes, after: bytes, says: str) -> None:
    """The reason names the field and what is wrong in kind; so do the log, the report and the quarantine."""
    disk, log = SimulatedDisk("posix-weak"), list[tuple[str, str, str]]()
    rig = Rig(disk, log=lambda *row: log.append(row))
    rig.prepare()
    (job_id,) = rig.capture(turns(PORT)).jobs
    good = disk.files()[layout.job(job_id)]
    bad = resealed(good, before, after.replace(b"%b", SECRETIVE.encode()))
    assert bad != good
    with pytest.raises(Unreadable) as raised:
        unseal(bad, Job)
    assert says in raised.value.reason
    disk.put(layout.job(job_id), bad)
    report = Rig(disk, ids=SequentialIds("new"), log=lambda *row: log.append(row)).drain()
    reasons = [data for path, data in disk.files().items() if path.endswith(".reason")]
    assert reasons
    for said in (raised.value.reason, repr(log), repr(report), repr(reasons)):
        assert "Bluebird" not in said
        assert "$.x" not in said
