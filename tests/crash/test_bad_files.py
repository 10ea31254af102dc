"""Files that are not what their names say: set aside, held or refused, and the others always go on."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk_port import EntryKind
from perdure.core.job import make_job
from perdure.core.record import RECORD_BYTES_MAX, seal
from perdure.errors import Conflict, Damaged, NewerVersion
from perdure.service.work import Report
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, turns
from tests.simulated_disk import SimulatedDisk

Spoil = Callable[[bytes], bytes]

DAMAGE: dict[str, Spoil] = {
    "zero length": lambda _data: b"",
    "truncated": lambda data: data[:-40],
    "trailing data": lambda data: data + b"\n{}",
    "zeros": lambda data: bytes(len(data)),
    "digest mismatch": lambda data: data.replace(b"Releases", b"releases"),
    "duplicate keys": lambda data: data.replace(b'"generation":1', b'"generation":1,"generation":1'),
    "NaN": lambda data: data.replace(b'"generation":1', b'"generation":NaN'),
    "a 5,000-digit integer": lambda data: data.replace(b'"generation":1', b'"generation":' + b"9" * 5_000),
    "100,000 levels of nesting": lambda _data: b"[" * 100_000 + b"]" * 100_000,
    "a lone surrogate": lambda data: data.replace(b"Releases", b"\\ud800eases"),
    "not UTF-8": lambda data: data.replace(b"Releases", b"\xff\xfeleases"),
    "a giant": lambda data: data + bytes(RECORD_BYTES_MAX),
}


@pytest.fixture
def rig() -> Rig:
    """Three jobs in one lane, and the disk they are on."""
    found = Rig(SimulatedDisk("posix-weak"))
    found.prepare()
    texts = ("The port of the service is 4100.", "Releases go out on Thursdays.", "The tests run with make.")
    for last in range(1, len(texts) + 1):
        found.capture(turns(*texts[:last]))
    return found


def spoilt(rig: Rig, spoil: Spoil, *, path: str | None = None) -> str:
    """Damage a file, by default the middle job; gives its path."""
    where = path or layout.job(rig.queue.queued()[1])
    disk(rig).put(where, spoil(disk(rig).files()[where]))
    return where


def disk(rig: Rig) -> SimulatedDisk:
    """The disk as a test sees it."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk


def drain_anew(rig: Rig) -> Report:
    """A new process drains: it remembers nothing of what the old one has read."""
    return Rig(rig.disk, clock=rig.clock, ids=rig.ids, provider=rig.provider).drain()


def kept_reasons(rig: Rig) -> list[str]:
    """The reasons beside what is in quarantine."""
    files = disk(rig).files()
    notes = [
        data for path, data in files.items() if path.startswith("quarantine/") and path.endswith(".reason")
    ]
    return [msgspec.json.decode(note)["reason"] for note in notes]


@pytest.mark.requirement("M-13", "Q-07", "Q-13")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_job_is_set_aside_and_the_others_go_on(rig: Rig, damage: str) -> None:
    """A job file that cannot be read is named, kept in quarantine with its reason, and stops nothing else."""
    path = spoilt(rig, DAMAGE[damage])
    before = disk(rig).files()[path]
    report = drain_anew(rig)
    assert report.ended == {"applied": 2}
    assert len(report.stopped) == 1
    (why,) = report.stopped.values()
    assert path in why
    assert kept_reasons(rig)
    assert path not in disk(rig).files()
    if damage != "a giant":
        kept = [data for name, data in disk(rig).files().items() if name.startswith("quarantine/")]
        assert before in kept


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize("kind", ["folder", "symlink", "other"])
def test_what_is_no_file_stops_only_its_item(rig: Rig, kind: EntryKind) -> None:
    """A folder, a symlink or a FIFO in a job's place blocks nobody, and the other jobs end."""
    job_id = rig.queue.queued()[1]
    disk(rig).put(layout.job(job_id), b"/etc/hostname", kind=kind)
    report = drain_anew(rig)
    assert report.ended == {"applied": 2}
    assert list(report.stopped) == [job_id]


@pytest.mark.requirement("Q-01", "D-03")
def test_a_file_whose_name_is_not_its_id_is_set_aside(rig: Rig) -> None:
    """A whole job under another job's name is not taken for that job."""
    first, second, _ = rig.queue.queued()
    disk(rig).put(layout.job(second), disk(rig).files()[layout.job(first)])
    report = drain_anew(rig)
    assert list(report.stopped) == [second]
    assert report.ended == {"applied": 2}


@pytest.mark.requirement("M-13")
def test_a_record_of_a_newer_version_is_held_untouched(rig: Rig) -> None:
    """What a newer Perdure wrote is neither read, moved nor rewritten; the others go on."""
    path = spoilt(rig, lambda data: data.replace(b'"version":1}', b'"version":2}'))
    before = disk(rig).files()[path]
    report = drain_anew(rig)
    assert report.ended == {"applied": 2}
    assert disk(rig).files()[path] == before
    with pytest.raises(NewerVersion):
        rig.queue.job(path.rpartition("/")[2])


@pytest.mark.requirement("Q-01", "D-03")
def test_the_same_id_with_other_evidence_is_refused(rig: Rig) -> None:
    """Another job's content under a taken id: refused, a copy kept, what stood there stays."""
    job_id = rig.queue.queued()[1]
    job = rig.queue.job(job_id)
    assert job is not None
    line = msgspec.structs.replace(job.evidence.turns[0].lines[0], text="Releases go out on Mondays.")
    turn = msgspec.structs.replace(job.evidence.turns[0], lines=(line,))
    evidence = msgspec.structs.replace(job.evidence, turns=(turn,))
    other = make_job(
        project=PROJECT, branch_id=MAIN_BRANCH, evidence=evidence, accepted_ms=job.accepted_ms, release="1"
    )
    before = disk(rig).files()[layout.job(job_id)]
    with pytest.raises(Conflict):
        rig.queue.accept(msgspec.structs.replace(other, job_id=job_id))
    assert disk(rig).files()[layout.job(job_id)] == before
    assert kept_reasons(rig)


@pytest.mark.requirement("Q-13")
@pytest.mark.parametrize(
    "folder", ["spool/jobs", "spool/decisions", "spool/lanes", "attempts", "run/workers"]
)
def test_foreign_files_are_left_alone(rig: Rig, folder: str) -> None:
    """.DS_Store, an editor's backup and a note of somebody's stop no worker and are not touched."""
    names = (".DS_Store", f"{rig.queue.queued()[0]}~", "notes.txt")
    for name in names:
        disk(rig).put(f"{folder}/{name}", b"not ours")
    assert drain_anew(rig).ended == {"applied": 3}
    if folder != "run/workers":
        assert all(disk(rig).files()[f"{folder}/{name}"] == b"not ours" for name in names)


@pytest.mark.requirement("Q-13", "Q-02")
def test_an_orphan_temporary_is_never_a_job(rig: Rig) -> None:
    """A whole job that was never given its name is no job, and is swept once its writer is gone."""
    whole = disk(rig).files()[layout.job(rig.queue.queued()[0])]
    disk(rig).put("tmp/0123456789abcdef0123456789abcdef", whole)
    assert drain_anew(rig).ended == {"applied": 3}
    assert disk(rig).sweep_temporaries() == 1


@pytest.mark.requirement("D-02", "M-13", "Q-13")
@pytest.mark.parametrize("damage", ["zero length", "truncated", "zeros"])
def test_a_damaged_decision_stops_its_job_and_keeps_all_evidence(rig: Rig, damage: str) -> None:
    """A decision counts: it stays in its place, its job stops, and the younger jobs of the lane go on."""
    job_id = rig.queue.queued()[0]
    path = layout.decision(job_id)
    disk(rig).put(path, DAMAGE[damage](b'{"body":{},"digest":"","kind":"decision","version":1}'))
    before = disk(rig).files()[path]
    report = drain_anew(rig)
    assert list(report.stopped) == [job_id]
    assert report.ended == {"applied": 2}
    assert disk(rig).files()[path] == before
    assert layout.job(job_id) in disk(rig).files()


@pytest.mark.requirement("M-13", "D-03")
def test_a_damaged_outcome_stops_its_job(rig: Rig) -> None:
    """An outcome that cannot be read is not made again: the job stops, nothing is overwritten."""
    job_id = rig.queue.queued()[0]
    disk(rig).put(layout.outcome(job_id), b"{")
    report = drain_anew(rig)
    assert report.ended == {"applied": 2}
    assert disk(rig).files()[layout.outcome(job_id)] == b"{"


@pytest.mark.requirement("D-03")
def test_another_outcome_fails_closed(rig: Rig) -> None:
    """An outcome that names a decision which is not there: nothing follows, the others end."""
    rig.drain()
    job_id = rig.queue.queued()[0]
    ended = rig.queue.outcome(job_id)
    assert ended is not None
    forged = msgspec.structs.replace(ended, decision_digest="0" * 64)
    disk(rig).put(layout.outcome(job_id), seal(forged))
    before = disk(rig).files()
    drain_anew(rig)
    after = disk(rig).files()
    assert {p: d for p, d in before.items() if not p.startswith("run/")} == {
        p: d for p, d in after.items() if not p.startswith("run/")
    }


@pytest.mark.requirement("M-13")
def test_a_damaged_branch_stops_reading_and_writing_of_that_branch_only(rig: Rig) -> None:
    """A branch file that cannot be read is reported by name, never overwritten; nothing is lost."""
    rig.memory_service().remember("The tests run with make.")
    path = layout.branch(PROJECT, MAIN_BRANCH)
    disk(rig).put(path, b"")
    fresh = Rig(rig.disk, clock=rig.clock, ids=rig.ids)
    with pytest.raises(Damaged, match="branches"):
        fresh.memory_service().branch()
    with pytest.raises(Damaged, match="branches"):
        fresh.memory_service().remember("Anything else.")
    assert disk(rig).files()[path] == b""
    assert set(drain_anew(rig).stopped) == set(rig.queue.queued())


@pytest.mark.requirement("B-02", "Q-13")
def test_a_damaged_reservation_costs_the_largest_hold(rig: Rig) -> None:
    """An attempt that cannot be read is not free, stops its job, and the others go on."""
    rig.provider.missing = "no key"
    rig.drain()
    rig.provider.missing = None
    job_id = rig.queue.queued()[0]
    disk(rig).make_folder("attempts/20270115")
    disk(rig).put(layout.attempt(f"20270115-{job_id[-32:]}-0001", "reserved"), b"{")
    rig.clock.advance(3_600)
    fresh = Rig(rig.disk, clock=rig.clock, ids=rig.ids, provider=rig.provider)
    report = fresh.drain()
    assert list(report.stopped) == [job_id]
    assert report.ended == {"applied": 2}
    assert fresh.attempts.charge("scripted", "20270115").held.tokens >= 1_200
