"""Forget everywhere: nothing of a text is left, nothing else is lost, and a crash in it is finished."""

from __future__ import annotations

import contextlib
import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.authority.filesystem.erase import FileErase
from perdure.authority.filesystem.exposure import FileExposures
from perdure.core.admission import OutcomeTombstone, RevisionTombstone
from perdure.core.memory import entry_digest
from perdure.errors import NotFound, Refused, UsageError
from perdure.ports.memory import HeldMemory
from perdure.ports.provider import Answered, Lost, Reply, ReviewRequest
from perdure.service.curate import make_result
from perdure.service.needle import Needle
from perdure.service.purge import REVISIONS_BATCH, Purged
from tests.fakes import (
    MAIN_BRANCH,
    PROJECT,
    USED,
    ManualClock,
    Rig,
    ScriptedProvider,
    SequentialIds,
    finding_nothing,
    turns,
)
from tests.services import broken, budget_service, jobs_service, open_app, purge_service, restore_service
from tests.simulated_disk import Crashed, SimulatedDisk

TEXT = 'Call the "Zürich" office before noon.'
OTHER = "Prefer small commits in this project."


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def too_long(request: ReviewRequest) -> Reply:
    """A proposal that quotes the evidence and is invalid: no entry may be so long."""
    line = request.evidence[0]
    operation = {"op": "add", "text": line.text * 30, "evidence": [line.line_id]}
    return Answered(json.dumps({"operations": [operation]}), USED, None)


def planted() -> Rig:
    """The text on two branches, in history, in applied, dead and open jobs, in results and in copies."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider())
    rig.prepare()
    memory = rig.memory_service()
    memory.remember(OTHER)
    rig.capture(turns(TEXT))
    rig.drain()
    memory.fork("side")
    entry = memory.find(TEXT, memory.branch())
    memory.replace(entry.entry_id, text="Call the office.")
    memory.undo()
    rig.provider._otherwise = too_long
    rig.capture(turns(f"By the way: {TEXT} Thank you.", first=1))
    rig.drain()
    rig.provider._otherwise = lost
    rig.capture(turns(f"remember that {TEXT.lower()}", first=2))
    rig.drain()
    disk = disk_of(rig)
    disk.put("quarantine/job.0123", json.dumps({"body": json.dumps(TEXT)}).encode())
    disk.put("quarantine/job.0123.reason", b"{}")
    disk.put("index/words", TEXT.upper().encode())
    disk.put("tmp/" + "ab" * 16, TEXT.encode())
    return rig


def disk_of(rig: Rig) -> SimulatedDisk:
    """The rig's disk."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk


def holders(rig: Rig) -> list[str]:
    """Every file of the home that holds the text, found by a search that is not the product's."""
    found = []
    for path, data in disk_of(rig).files().items():
        plain = data.decode("utf-8", "replace")
        for _ in range(4):
            if "zürich" in plain.lower():
                found.append(path)
                break
            plain = plain.replace("\\\\", "\\").replace("\\u00fc", "ü").replace('\\"', '"')
    return sorted(found)


@pytest.mark.requirement("M-12")
def test_nothing_of_the_text_is_left_anywhere() -> None:
    """Branches, history, evidence, decisions, results, events, copies and temporaries are clean."""
    rig = planted()
    folders = {path.rpartition("/")[0].split("/")[-1] for path in holders(rig)}
    assert {"jobs", "decisions", "branches", "mailbox", "quarantine", "index", "tmp", MAIN_BRANCH} <= folders
    done = purge_service(rig).forget_everywhere(PROJECT, TEXT)
    assert holders(rig) == []
    assert done.left == []
    assert len(done.jobs) == 3
    assert len(done.dropped) == 1
    assert done.copies == 2
    assert broken(rig) == ()


@pytest.mark.requirement("M-12", "M-09", "B-01")
def test_nothing_else_is_lost() -> None:
    """The other entry, the numbers of the history, the budget and the covered turns are what they were."""
    rig = planted()
    before = budget_service(rig).report()
    length = len(rig.memory.revisions(PROJECT, MAIN_BRANCH))
    done = purge_service(rig).forget_everywhere(PROJECT, TEXT)
    memory = rig.memory_service()
    assert [entry.text for entry in memory.branch().entries] == [OTHER]
    assert [entry.text for entry in memory.branch("side").entries] == [OTHER]
    assert len(rig.memory.revisions(PROJECT, MAIN_BRANCH)) == length + 1
    assert budget_service(rig).report().days == before.days
    assert rig.capture(turns(TEXT)).accepted == 0
    assert "quarantine/job.0123.reason" in disk_of(rig).files()
    for job_id in done.jobs:
        assert isinstance(rig.queue.outcome(job_id), OutcomeTombstone)
    assert sorted(row.state for row in jobs_service(rig).list()) == ["applied", "dead-lettered", "dropped"]


@pytest.mark.requirement("M-12", "M-09")
def test_history_shows_the_gap_and_does_not_undo_it() -> None:
    """A purged revision keeps its place, cause and entry ids; undoing it is refused and says why."""
    rig = planted()
    purge_service(rig).forget_everywhere(PROJECT, TEXT)
    history = rig.memory_service().history()
    purged = [revision for revision in history if isinstance(revision, RevisionTombstone)]
    assert [revision.cause for revision in purged] == ["forget", "undo", "replace", "review"]
    assert all(revision.entry_ids and revision.changes == () for revision in purged)
    with pytest.raises(Refused, match="purged"):
        rig.memory_service().undo(purged[0].seq)
    rig.memory_service().remember("Life goes on.")
    rig.memory_service().undo()
    assert broken(rig) == ()


@pytest.mark.requirement("M-12")
def test_the_text_does_not_come_back_by_itself() -> None:
    """A review that says it again is refused by the tombstone; the user may learn it again on purpose."""
    rig = planted()
    purge_service(rig).forget_everywhere(PROJECT, TEXT)
    rig.provider = ScriptedProvider()
    rig.capture(turns(TEXT, first=7))
    rig.drain()
    assert [entry.text for entry in rig.memory_service().branch().entries] == [OTHER]
    with pytest.raises(Refused, match="forgotten"):
        rig.memory_service().remember(TEXT)
    assert rig.memory_service().remember(TEXT, relearn=True).changed


@pytest.mark.requirement("M-12", "X-05")
def test_a_crash_anywhere_is_finished_by_running_again() -> None:
    """In every state that a power loss leaves no rule is broken; the same command, by id, ends clean."""
    steps = 0
    for crash_at in range(1, 2_000, 5):
        rig = planted()
        entry = rig.memory_service().find(TEXT, rig.memory_service().branch())
        disk = disk_of(rig)
        disk.crash_at(len(disk.operations) + crash_at)
        try:
            purge_service(rig).forget_everywhere(PROJECT, entry.entry_id)
        except Crashed:
            steps += 1
        else:
            break
        for state in disk.surviving_states(limit=3, seed=crash_at):
            again = Rig(state, clock=rig.clock, ids=SequentialIds("again"))
            assert broken(again) == (), crash_at
            with contextlib.suppress(NotFound):  # there is neither the entry nor a plan: it was done
                purge_service(again).forget_everywhere(PROJECT, entry.entry_id)
            assert broken(again) == (), crash_at
            assert holders(again) == [], crash_at
    assert steps > 20


@pytest.mark.requirement("M-12")
def test_a_plan_is_finished_without_the_text() -> None:
    """A purge that was cut after its plan is finished by the ids in it alone."""
    rig, disk = planted(), SimulatedDisk()
    for crash_at in range(1, 400):
        rig = planted()
        disk = disk_of(rig)
        disk.crash_at(len(disk.operations) + crash_at)
        with pytest.raises(Crashed):
            purge_service(rig).forget_everywhere(PROJECT, TEXT)
        disk.reboot("kept")
        rig = Rig(disk, clock=rig.clock, ids=SequentialIds("again"))
        if any(plan.jobs for plan in FileErase(rig.records).plans(PROJECT)):
            break
    assert holders(rig) != []
    done = purge_service(rig).resume(PROJECT)
    assert done.left == []
    assert holders(rig) == []
    assert [path for path in disk.files() if "/purges/" in path] == []
    assert broken(rig) == ()


@pytest.mark.requirement("M-12", "D-02")
def test_a_call_in_flight_is_waited_for_and_said() -> None:
    """Its answer might hold the text: what cannot be awaited is named, and the answer keeps only usage."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider(otherwise=finding_nothing))
    rig.prepare()
    rig.capture(turns(TEXT))
    said: list[Purged] = []

    def purge(_request: ReviewRequest) -> None:
        said.append(purge_service(rig).forget_everywhere(PROJECT, text=TEXT, wait_seconds=1))

    rig.provider.before_review = purge
    rig.provider._otherwise = too_long
    rig.drain()
    assert len(said) == 1
    assert any("in flight" in left for left in said[0].left)
    assert rig.attempts.all()[0].state == "settled"
    assert holders(rig) == []
    rig.provider.before_review = lambda _request: None
    assert purge_service(rig).forget_everywhere(PROJECT, text=TEXT).left == []
    assert [path for path in disk_of(rig).files() if "/purges/" in path] == []
    assert broken(rig) == ()


def quoting(request: ReviewRequest) -> Answered:
    """Answer by working the entry that was shown into what the evidence says."""
    shown, line = request.memory[0], request.evidence[0]
    operation = {
        "op": "replace",
        "entry": shown.entry_id,
        "text": f"{shown.text} {line.text}",
        "evidence": [line.line_id],
        "rationale": "",
    }
    return Answered(json.dumps({"operations": [operation]}), USED, None)


@pytest.mark.requirement("M-12", "D-02", "B-01")
def test_a_call_for_other_evidence_that_was_shown_the_text_brings_nothing_back() -> None:
    """The purge names the call; its answer keeps only usage, and the evidence is reviewed once more."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([quoting]))
    rig.prepare()
    entry = rig.memory_service().remember(TEXT).entry
    assert entry is not None
    rig.capture(turns("Releases go out on Thursdays."))
    said: list[Purged] = []

    def purge(_request: ReviewRequest) -> None:
        rig.provider.before_review = lambda _: None
        said.append(purge_service(rig).forget_everywhere(PROJECT, entry.entry_id, wait_seconds=1))

    rig.provider.before_review = purge
    rig.drain()
    assert [left.partition(":")[0] for left in said[0].left] == [rig.attempts.all()[0].attempt_id]
    assert rig.attempts.all()[0].state == "settled"
    assert holders(rig) == []
    assert [entry.text for entry in rig.memory_service().branch().entries] == [
        "Releases go out on Thursdays."
    ]
    assert sorted(row.state for row in jobs_service(rig).list()) == ["applied", "superseded"]
    assert purge_service(rig).resume(PROJECT).left == []
    assert [path for path in disk_of(rig).files() if "/purges/" in path] == []
    assert broken(rig) == ()


@pytest.mark.requirement("M-12")
def test_a_purge_waits_for_a_call_that_ends_in_time() -> None:
    """A call that was shown the text and ends while the purge waits is not left over, nor is its answer."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([quoting]))
    rig.prepare()
    rig.memory_service().remember(TEXT)
    rig.capture(turns("Releases go out on Thursdays."))
    said: list[Purged] = []
    asked: list[ReviewRequest] = []

    class Waiting(ManualClock):
        """Time in which the call ends, as another process would go on."""

        def sleep(self, seconds: float) -> None:
            """See `Clock.sleep`."""
            super().sleep(seconds)
            attempt = rig.attempts.all()[0]
            if attempt.open and job is not None:
                late = make_result(
                    job, branch, asked[0], quoting(asked[0]), closed=False, now_ms=self.now_ms()
                )
                rig.attempts.settle(late)

    job = rig.queue.job(rig.queue.queued()[0])
    branch = rig.memory_service().branch()
    assert job is not None
    other = Rig(disk_of(rig).process("user"), clock=Waiting(), ids=SequentialIds("user"))

    def purge(request: ReviewRequest) -> None:
        rig.provider.before_review = lambda _: None
        asked.append(request)
        said.append(purge_service(other).forget_everywhere(PROJECT, text=TEXT))

    rig.provider.before_review = purge
    rig.drain()
    assert said[0].left == []
    assert said[0].results == 1
    assert holders(rig) == []


@pytest.mark.requirement("M-12", "E-12")
def test_what_a_purge_found_gone_is_gone_after_a_power_loss() -> None:
    """Another process removed a copy and died before that was durable: the purge makes it so."""
    rig = Rig(SimulatedDisk("posix-weak"))
    rig.prepare()
    rig.memory_service().remember(OTHER)
    disk = disk_of(rig)
    disk.put("quarantine/old", TEXT.encode())
    disk.put(f"projects/{PROJECT}/mailbox/old", TEXT.encode())
    for path in holders(rig):
        disk.process("dead").remove(path)
    assert purge_service(rig).forget_everywhere(PROJECT, text=TEXT).left == []
    disk.reboot("lost")
    assert holders(rig) == []


@pytest.mark.requirement("M-12")
def test_a_purge_takes_the_digests_of_what_was_shown_away() -> None:
    """Counts of exposure name versions of an entry by digests without a key: they go with the text."""
    rig = planted()
    entry = rig.memory_service().find(TEXT, rig.memory_service().branch())
    shown = FileExposures(rig.records)
    version = entry_digest(entry)
    shown.record(PROJECT, "one", {entry.entry_id: version}, now_ms=1)
    purge_service(rig).forget_everywhere(PROJECT, TEXT)
    assert [path for path, data in disk_of(rig).files().items() if version.encode() in data] == []
    assert shown.of_session(PROJECT, "one") == {}


@pytest.mark.requirement("M-12", "G-04")
def test_a_purge_holds_the_lock_for_a_few_revisions_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the history is, others get the lock in between."""
    rig = planted()
    memory = rig.memory_service()
    entry = memory.find(TEXT, memory.branch())
    for turn in range(3 * REVISIONS_BATCH):
        memory.replace(entry.entry_id, importance="high" if turn % 2 else "normal")
    lengths: list[int] = []
    erase = FileErase(rig.records)

    class Counting(FileErase):
        """Counts what goes under one hold of the lock."""

        def redact_revision(self, scope: str, branch_id: str, seq: int) -> bool:
            """See `Erase.redact_revision`."""
            lengths[-1] += 1
            return erase.redact_revision(scope, branch_id, seq)

    real = rig.memory.hold

    def hold(scope: str) -> AbstractContextManager[HeldMemory]:
        lengths.append(0)
        return real(scope)

    monkeypatch.setattr(rig.memory, "hold", hold)
    service = purge_service(rig)
    service._erase = Counting(rig.records)
    assert service.forget_everywhere(PROJECT, TEXT).left == []
    assert sum(lengths) > 3 * REVISIONS_BATCH
    assert max(lengths) <= REVISIONS_BATCH


@pytest.mark.requirement("G-05", "M-12")
def test_other_scopes_are_left_alone_and_named() -> None:
    """What another project or the user-wide scope holds is theirs; the user is told where."""
    rig = planted()
    other = "fedcba9876543210"
    rig.prepare(other)
    rig.memory_service(other).remember(TEXT)
    rig.memory_service("user").remember(TEXT, kind="user")
    done = purge_service(rig).forget_everywhere(PROJECT, TEXT)
    assert done.elsewhere == ("user", other)
    assert len(rig.memory_service(other).branch().entries) == 1


def test_what_is_named_wrongly_is_refused() -> None:
    """Neither nothing, nor two things, nor three letters, nor what is not there."""
    rig = planted()
    service = purge_service(rig)
    before = rig.disk.names(f"projects/{PROJECT}/revisions/{MAIN_BRANCH}")
    with pytest.raises(UsageError):
        service.forget_everywhere(PROJECT)
    with pytest.raises(UsageError):
        service.forget_everywhere(PROJECT, TEXT, text=TEXT)
    with pytest.raises(Refused):
        service.forget_everywhere(PROJECT, text="the")
    with pytest.raises(NotFound):
        service.forget_everywhere(PROJECT, "no such entry at all")
    assert rig.disk.names(f"projects/{PROJECT}/revisions/{MAIN_BRANCH}") == before


def test_what_cannot_be_cleaned_is_said() -> None:
    """A damaged record that holds the text stays, is named, and does not stop the rest."""
    rig = planted()
    job_id = rig.queue.queued()[-1]
    disk_of(rig).put(f"spool/jobs/{job_id}", TEXT.encode())
    done = purge_service(rig).forget_everywhere(PROJECT, TEXT)
    assert done.left == [f"spool/jobs/{job_id}"]
    assert holders(rig) == [f"spool/jobs/{job_id}"]


@pytest.mark.requirement("M-12", "Q-13")
def test_a_damaged_branch_keeps_no_other_from_being_cleaned() -> None:
    """What cannot be read is left and named; the text leaves everything else."""
    rig = planted()
    side = next(row for row in rig.memory.branches(PROJECT) if row.name == "side")
    path = f"projects/{PROJECT}/branches/{side.branch_id}"
    disk_of(rig).put(path, TEXT.encode())
    again = Rig(disk_of(rig), clock=rig.clock, ids=SequentialIds("again"))
    done = purge_service(again).forget_everywhere(PROJECT, TEXT)
    assert done.left == [path]
    assert holders(again) == [path]


def test_a_purged_branch_is_not_restored_from_its_history() -> None:
    """Verify does not make up what was purged."""
    rig = planted()
    purge_service(rig).forget_everywhere(PROJECT, TEXT)
    rig.disk.remove(f"projects/{PROJECT}/branches/{MAIN_BRANCH}")
    restored = restore_service(rig).restore()
    assert restored.branches == ()
    assert "purged" in restored.refused[0]


@pytest.mark.requirement("M-12", "E-04")
def test_a_grep_over_a_real_home_finds_nothing(tmp_path: Path, perdure_home: Path) -> None:
    """On a real disk, through the App: no file of the home holds the text in any form."""
    app, project = open_app(tmp_path)
    memory = app.memory_service(project)
    memory.remember(TEXT, key="office")
    app.capture_service().capture(
        host="pi", session="5e" * 16, turns=turns(TEXT), project=project, branch_id=app.branch_id(project)
    )
    app.worker(provider=ScriptedProvider()).drain()
    app.shadow().rebuild()
    done = app.purge_service().forget_everywhere(project, "office")
    assert done.left == []
    left = [path for path in perdure_home.rglob("*") if path.is_file() and b"rich" in path.read_bytes()]
    assert left == []
    assert app.verify_service().verify().findings == ()
    app.close()


@given(
    text=st.text(min_size=6, max_size=60).filter(lambda text: len(Needle(text).folded) >= 4),
    before=st.text(max_size=20),
    levels=st.integers(0, 3),
    ascii_only=st.booleans(),
)
def test_a_text_is_found_however_it_is_quoted(text: str, before: str, levels: int, ascii_only: bool) -> None:
    """Quoted as JSON up to three times, with or without escapes for other alphabets, it is still found."""
    quoted = f"{before} {text.encode('utf-8', 'ignore').decode()} end"
    needle = Needle(text.encode("utf-8", "ignore").decode())
    if len(needle.folded) < 4 or "\\" in quoted:
        return
    for _ in range(levels):
        quoted = json.dumps({"body": quoted}, ensure_ascii=ascii_only)
    assert needle.in_bytes(quoted.encode())
