"""Jobs: their derived states, showing one, retrying one and dropping one."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from perdure.core.job import successor
from perdure.core.protocol import Decide, Policy
from perdure.core.record import seal
from perdure.errors import Ambiguous, NotFound, Refused, UsageError
from perdure.ports.memory import HeldMemory
from perdure.ports.provider import Answered, Failed, Reply, ReviewRequest
from perdure.service.jobs import JobRow
from perdure.service.publish import Publisher
from tests.fakes import (
    MAIN_BRANCH,
    PROJECT,
    USED,
    Rig,
    ScriptedProvider,
    SequentialIds,
    finding_nothing,
    turns,
)
from tests.services import broken, jobs_service, purge_service, retention
from tests.simulated_disk import SimulatedDisk

PREFER = "Prefer small commits in this project."


def rig_with(*script: object, otherwise: object = None) -> Rig:
    """A rig whose reviewer answers so."""
    provider = ScriptedProvider(list(script), otherwise=otherwise or finding_nothing)  # type: ignore[arg-type] # scripts
    rig = Rig(SimulatedDisk(), provider=provider)
    rig.prepare()
    return rig


def unavailable(_request: ReviewRequest) -> Reply:
    """An outage."""
    return Failed("availability", "http 503", None, None)


def garbage(_request: ReviewRequest) -> Reply:
    """No proposal at all."""
    return Answered("I would remember this.", USED, None)


def forbidden(_request: ReviewRequest) -> Reply:
    """A request that will never be served."""
    return Failed("permanent", "http 400", None, None)


def row(rig: Rig) -> JobRow:
    """The only job of the rig."""
    (found,) = jobs_service(rig).list(PROJECT)
    return found


@pytest.mark.requirement("F-02", "Q-12")
def test_states_follow_from_the_records() -> None:
    """A job is queued, waits for an outage to end, and has its outcome's state; nothing is stored for it."""
    rig = rig_with(unavailable)
    rig.capture(turns(PREFER))
    assert (row(rig).state, row(rig).generation, row(rig).turns, row(rig).branch) == ("queued", 1, 1, "main")
    rig.drain()
    assert row(rig).state == "waiting"
    assert "not available" in row(rig).reason
    assert row(rig).until_ms > rig.clock.now_ms()
    rig.clock.advance(3_600)
    assert row(rig).state == "queued"
    rig.drain()
    assert (row(rig).state, row(rig).attempts) == ("no-op", 2)


@pytest.mark.requirement("F-02")
def test_a_call_that_runs_is_in_flight() -> None:
    """While the request is out, the job says so."""
    rig = rig_with()
    seen: list[str] = []
    rig.provider.before_review = lambda _request: seen.append(row(rig).state)
    rig.capture(turns(PREFER))
    rig.drain()
    assert seen == ["in flight"]


def test_a_damaged_job_is_stopped_and_the_others_are_listed() -> None:
    """One unreadable record never hides the rest (Q-13)."""
    rig = rig_with()
    rig.capture(turns("One thing to know here."))
    rig.capture(turns("Another thing to know.", first=1))
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    disk.put(f"spool/jobs/{rig.queue.queued()[0]}", b"{}")
    assert [found.state for found in jobs_service(rig).list()] == ["stopped", "queued"]


def test_a_job_is_found_by_the_beginning_of_its_id() -> None:
    """The short form of a list is enough; what is too short, unknown or ambiguous says so."""
    rig = rig_with()
    rig.capture(turns(*(f"Fact number {number} of this project." for number in range(30))))
    service = jobs_service(rig)
    rows = service.list()
    assert len(rows) == 3
    assert [service.resolve(found.short) for found in rows] == [found.job_id for found in rows]
    assert service.resolve(rows[0].job_id) == rows[0].job_id
    with pytest.raises(Ambiguous):
        service.resolve(rows[0].job_id[:6])
    with pytest.raises(NotFound):
        service.resolve("0123456789abcdef0123")
    with pytest.raises(UsageError):
        service.resolve("0")


def test_showing_a_job_shows_all_that_is_kept_of_it() -> None:
    """Evidence, attempts with usage, decision, receipt, outcome and the actual change."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(PREFER))
    rig.drain()
    detail = jobs_service(rig).show(row(rig).short)
    assert detail.evidence is not None
    assert detail.evidence.turns[0].lines[0].text == PREFER
    assert detail.attempts[0].state == "settled"
    assert detail.receipt is not None
    assert detail.receipt.verdict == "applied"
    assert detail.changes[0].after is not None
    assert detail.changes[0].after.text == PREFER
    assert detail.row.state == "applied"


@pytest.mark.requirement("Q-06", "F-04", "Q-14")
def test_a_dead_letter_is_retried_as_the_next_generation() -> None:
    """Its evidence is reviewed again, and that may be applied; a second retry of it makes nothing more."""
    rig = rig_with(garbage, garbage, garbage)
    rig.capture(turns(PREFER))
    rig.drain()
    assert row(rig).state == "dead-lettered"
    service = jobs_service(rig)
    retried = service.retry(row(rig).short)
    assert retried.generation == 2
    with pytest.raises(Refused, match="reviewed again already"):
        service.retry(retried.job_id)
    rig.drain()
    states = {found.generation: found.state for found in service.list()}
    assert states == {1: "dead-lettered", 2: "no-op"}
    assert broken(rig) == ()


@pytest.mark.requirement("G-03")
def test_what_was_applied_is_not_retried() -> None:
    """One effect per window: an applied job is refused, with the way to take it back."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(PREFER))
    rig.drain()
    with pytest.raises(Refused, match="applied") as refused:
        jobs_service(rig).retry(row(rig).short)
    assert "undo" in refused.value.advice
    rig.memory_service().undo()
    with pytest.raises(Refused, match="applied"):
        jobs_service(rig).retry(row(rig).short)


@pytest.mark.requirement("Q-06", "F-04")
def test_a_waiting_job_is_retried_at_once() -> None:
    """It ends as superseded, and its next generation is ready now; the old one has no further call."""
    rig = rig_with(unavailable)
    rig.capture(turns(PREFER))
    rig.drain()
    service = jobs_service(rig)
    waiting = row(rig)
    retried = service.retry(waiting.short)
    states = {found.job_id: found.state for found in service.list()}
    assert states == {waiting.job_id: "superseded", retried.successor: "queued"}
    rig.drain()
    assert service.show(retried.successor).row.state == "no-op"
    assert len(rig.provider.sends) == 2
    assert broken(rig) == ()


def test_a_queued_job_and_one_in_flight_need_no_retry() -> None:
    """Both are refused, and say what to do instead."""
    rig = rig_with()
    rig.capture(turns(PREFER))
    with pytest.raises(Refused, match="queued"):
        jobs_service(rig).retry(row(rig).short)
    refusals: list[str] = []

    def retry(_request: ReviewRequest) -> None:
        with pytest.raises(Refused) as refused:
            jobs_service(rig).retry(row(rig).short)
        refusals.append(refused.value.message)

    rig.provider.before_review = retry
    rig.drain()
    assert len(refusals) == 1
    assert "right now" in refusals[0]


@pytest.mark.requirement("G-01", "D-12")
def test_dropping_ends_an_open_job_for_good() -> None:
    """The outcome is `dropped` by the user, its turns stay covered, and no call follows."""
    rig = rig_with()
    rig.capture(turns(PREFER))
    ended = jobs_service(rig).drop(row(rig).short)
    assert (ended.state, ended.reason) == ("dropped", "user")
    rig.drain()
    assert rig.provider.sends == {}
    assert rig.capture(turns(PREFER)).accepted == 0
    assert broken(rig) == ()
    with pytest.raises(Refused, match="dropped"):
        jobs_service(rig).drop(row(rig).short)


@pytest.mark.requirement("G-01", "D-02")
def test_a_job_dropped_during_its_call_is_not_applied() -> None:
    """The late answer is accounted for and has no effect; the dropped job can be retried."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(PREFER))

    def drop(_request: ReviewRequest) -> None:
        jobs_service(rig).drop(row(rig).short)

    rig.provider.before_review = drop
    rig.drain()
    rig.provider.before_review = lambda _request: None
    assert row(rig).state == "dropped"
    assert rig.attempts.all()[0].state == "settled"
    branch = rig.memory_service().branch()
    assert branch.entries == ()
    retried = jobs_service(rig).retry(row(rig).short)
    rig.drain()
    assert jobs_service(rig).show(retried.successor).row.state == "applied"
    assert broken(rig) == ()


def test_a_permanent_refusal_is_a_dead_letter_with_its_reason() -> None:
    """The list says why a job ended."""
    rig = rig_with(forbidden)
    rig.capture(turns(PREFER))
    rig.drain()
    assert (row(rig).state, row(rig).reason) == ("dead-lettered", "permanent")


def test_an_expired_job_says_that_its_evidence_is_gone() -> None:
    """Retrying what retention has taken is refused; the list still shows its end."""
    rig = rig_with(garbage, garbage, garbage)
    rig.capture(turns(PREFER))
    rig.drain()
    job_id = row(rig).job_id
    retention(rig).expire(PROJECT, (job_id,))
    assert (row(rig).state, row(rig).reason, row(rig).generation) == ("dead-lettered", "expired", None)
    with pytest.raises(Refused, match="expired"):
        jobs_service(rig, Policy()).retry(row(rig).short)


@pytest.mark.requirement("M-12", "G-03")
def test_a_retry_that_a_purge_overtook_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has read the evidence and has not made the next generation yet does not bring it back."""
    rig = rig_with(forbidden)
    job_id = rig.capture(turns(PREFER)).jobs[0]
    rig.drain()
    real = rig.memory.hold

    def hold(scope: str) -> AbstractContextManager[HeldMemory]:
        monkeypatch.setattr(rig.memory, "hold", real)
        assert purge_service(rig).forget_everywhere(PROJECT, text=PREFER).left == []
        return real(scope)

    monkeypatch.setattr(rig.memory, "hold", hold)
    with pytest.raises(Refused, match="expired"):
        jobs_service(rig).retry(job_id)
    assert rig.queue.queued() == []
    assert row(rig).state == "dead-lettered"


@pytest.mark.requirement("Q-13")
def test_a_job_of_a_newer_version_keeps_no_other_off_the_list() -> None:
    """Only what cannot be read is shown as stopped, also when it is the next generation of another."""
    rig = rig_with(forbidden)
    job_id = rig.capture(turns(PREFER)).jobs[0]
    job = rig.queue.job(job_id)
    assert job is not None
    rig.capture(turns(PREFER, "Tests run with make."))
    decide = Publisher(queue=rig.queue, attempts=rig.attempts, memory=rig.memory, clock=rig.clock).decide
    decide(job, Decide("superseded", "user", None), ())
    following = successor(job, stale=False)
    newer = seal(following).replace(b'"version":1}', b'"version":2}')
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    disk.put(f"spool/jobs/{following.job_id}", newer)
    again = Rig(disk, clock=rig.clock, ids=SequentialIds("again"))
    states = {row.job_id: row.state for row in jobs_service(again).list()}
    assert len(states) == 3
    assert states[following.job_id] == "stopped"
    assert "queued" in states.values()
    named = f"projects/{PROJECT}/branches/{MAIN_BRANCH}"
    again.memory_service().remember("Use spaces.")
    found = disk.read(named, bytes_max=100_000)
    assert found is not None
    disk.put(named, found.replace(b'"version":1}', b'"version":2}'))
    last = Rig(disk, clock=rig.clock, ids=SequentialIds("last"))
    assert len(jobs_service(last).list()) == 3
