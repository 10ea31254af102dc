"""Retention: what expires, what never does, in which order, and what every crash in it leaves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.retain import FileRetain
from perdure.config import Retention as RetentionRules
from perdure.core.admission import Intent, OutcomeTombstone
from perdure.core.job import make_job
from perdure.core.record import seal
from perdure.core.windows import windows
from perdure.ports.provider import Lost, Reply, ReviewRequest
from perdure.ports.retain import DayTotals, ProviderTotal
from perdure.service.retention import DAY_MS, JUMP_MS_MAX
from tests.fakes import (
    MAIN_BRANCH,
    NOON_MS,
    PROJECT,
    SESSION,
    ManualClock,
    Rig,
    ScriptedProvider,
    SequentialIds,
    turns,
)
from tests.services import broken, budget_service, ledger, open_app, retention, snapshot
from tests.simulated_disk import Crashed, SimulatedDisk

PREFER = "Prefer small commits in this project."
SCOPE = f"projects/{PROJECT}"


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def reviewed(*script: object) -> Rig:
    """A rig with one applied review."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider(list(script)))  # type: ignore[arg-type] # scripts
    rig.prepare()
    rig.capture(turns(PREFER))
    rig.drain()
    return rig


def live_on(rig: Rig, days: float) -> None:
    """Let days go by as a worker does that runs: one look an hour."""
    for _ in range(max(1, round(days))):
        rig.clock.advance(min(days, 1) * 86_400)
        retention(rig).run()


def job_files(rig: Rig) -> set[str]:
    """The folders in which a record of any job stands."""
    assert isinstance(rig.disk, SimulatedDisk)
    return {
        path.rpartition("/")[0]
        for path in rig.disk.files()
        if path.startswith(("spool/jobs", "spool/decisions", SCOPE)) and "branches" not in path
    }


@pytest.mark.requirement("E-05")
def test_evidence_expires_after_its_time_and_leaves_a_tombstone() -> None:
    """Until then all of it stands; then the outcome's tombstone, the branch, its history and its news."""
    rig = reviewed()
    (job_id,) = rig.queue.queued()
    live_on(rig, 13)
    assert rig.queue.queued() == [job_id]
    live_on(rig, 2)
    assert rig.queue.queued() == []
    assert isinstance(rig.queue.outcome(job_id), OutcomeTombstone)
    assert job_files(rig) == {f"{SCOPE}/outcomes", f"{SCOPE}/mailbox", f"{SCOPE}/revisions/{MAIN_BRANCH}"}
    assert rig.memory_service().branch().entries[0].text == PREFER
    assert broken(rig) == ()


@pytest.mark.requirement("E-05", "Q-01", "G-03")
def test_expired_evidence_is_never_reviewed_again() -> None:
    """Its turns stay covered, and even the very same job handed in again is a duplicate."""
    rig = reviewed()
    live_on(rig, 16)
    again = rig.capture(turns(PREFER))
    assert (again.accepted, again.duplicates) == (0, 1)
    (evidence,) = windows("pi", SESSION, turns(PREFER), {}).evidence
    job = make_job(project=PROJECT, branch_id=MAIN_BRANCH, evidence=evidence, accepted_ms=1, release="1")
    assert not rig.queue.accept(job).new
    assert rig.queue.queued() == []


@pytest.mark.requirement("G-01", "Q-12")
def test_an_open_job_does_not_expire() -> None:
    """However long an outage lasts, its evidence stays."""
    rig = reviewed(lost)
    assert rig.drain().waiting != {} or rig.queue.queued()
    live_on(rig, 40)
    assert len(rig.queue.queued()) == 1
    rig.drain()
    assert len(rig.memory_service().branch().entries) == 1


@pytest.mark.requirement("B-03", "B-06", "E-05")
def test_an_unresolved_attempt_keeps_its_day() -> None:
    """A day with doubt stays; once reconciled it goes, with durable totals."""
    rig = reviewed(lost)
    rig.clock.advance(60)
    rig.drain()
    live_on(rig, 20)
    assert len(rig.attempts.all()) == 2
    unknown = next(attempt for attempt in rig.attempts.all() if attempt.state == "unknown")
    budget_service(rig).reconcile(unknown.attempt_id, reason="No such call.")
    live_on(rig, 1)
    assert rig.attempts.all() == ()
    assert rig.disk.names(layout.ATTEMPTS) == []
    (totals,) = ledger(rig).totals()
    assert (totals.providers[0].attempts, totals.providers[0].calls) == (2, 2)


@pytest.mark.requirement("E-05")
def test_a_jump_of_the_clock_moves_one_run_by_two_days_at_most() -> None:
    """A clock that is a year ahead does not take everything away at once."""
    rig = reviewed()
    retention(rig).run()
    rig.clock.advance(7_200)
    done = retention(rig).run(rig.clock.now_ms() + 365 * DAY_MS)
    assert (done.jobs, done.days) == (0, 0)
    mark = FileRetain(rig.records, rig.claims).mark()
    assert mark is not None
    assert mark.believed_ms <= rig.clock.now_ms() + JUMP_MS_MAX
    for _ in range(50):
        assert retention(rig).run(rig.clock.now_ms() + 365 * DAY_MS).jobs == 0


@pytest.mark.requirement("E-05")
def test_a_first_run_under_a_wrong_clock_expires_nothing() -> None:
    """Without an earlier run, time is believed two days past the newest evidence."""
    rig = reviewed()
    assert retention(rig).run(NOON_MS + 365 * DAY_MS).jobs == 0
    assert len(rig.queue.queued()) == 1


@pytest.mark.requirement("E-05", "G-01", "X-05")
def test_a_crash_anywhere_in_retention_is_finished_by_the_next_run() -> None:
    """No state that a power loss leaves breaks a rule, uncovers a turn, or charges an attempt again."""
    steps = 0
    for crash_at in range(1, 200):
        rig = reviewed()
        rig.clock.advance(86_400)
        retention(rig).run()
        disk = rig.disk
        assert isinstance(disk, SimulatedDisk)
        for _ in range(8):
            rig.clock.advance(2 * 86_400)
        later = retention(rig)
        before = FileRetain(rig.records, rig.claims).mark()
        assert before is not None
        FileRetain(rig.records, rig.claims).set_mark(
            type(before)(rig.clock.now_ms(), before.boot_id, rig.clock.boot_seconds() - 7_200)
        )
        disk.crash_at(len(disk.operations) + crash_at)
        try:
            later.run()
        except Crashed:
            steps += 1
        else:
            break
        for state in disk.surviving_states(limit=6, seed=crash_at):
            _check_and_finish(state, rig.clock)
    assert steps > 20


def _check_and_finish(state: SimulatedDisk, clock: ManualClock) -> None:
    rig = Rig(state, clock=clock)
    assert broken(rig) == ()
    assert rig.capture(turns(PREFER)).accepted == 0
    assert budget_service(rig).report().unresolved == ()
    retain = FileRetain(rig.records, rig.claims)
    mark = retain.mark()
    if mark is not None:
        retain.set_mark(type(mark)(clock.now_ms(), mark.boot_id, clock.boot_seconds() - 7_200))
    live_on(rig, 16)
    assert rig.queue.queued() == []
    assert rig.attempts.all() == ()
    assert job_files(rig) == {f"{SCOPE}/outcomes", f"{SCOPE}/mailbox", f"{SCOPE}/revisions/{MAIN_BRANCH}"}


@pytest.mark.requirement("D-07")
def test_an_intent_that_a_crash_left_whole_is_compacted() -> None:
    """The receipt was durable, the tombstone was not: the next run puts it in place."""
    rig = reviewed()
    (job_id,) = rig.queue.queued()
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    rig.capture(turns(PREFER))
    operations = _operations_until_receipt(rig)
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(PREFER))
    disk = rig.disk  # type: ignore[assignment] # what was just made
    disk.crash_at(operations)
    with pytest.raises(Crashed):
        rig.drain()
    disk.reboot("kept")
    rig = Rig(disk, clock=rig.clock)
    assert isinstance(snapshot(rig).scopes[PROJECT].intents[job_id], Intent)
    assert retention(rig).run().compacted == 1
    assert not isinstance(snapshot(rig).scopes[PROJECT].intents[job_id], Intent)
    assert broken(rig) == ()


def _operations_until_receipt(rig: Rig) -> int:
    """The number of the first operation after the receipt is durable."""
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    rig.drain()
    receipt = next(
        number
        for number, (operation, path) in enumerate(disk.operations)
        if operation == "link" and "/receipts/" in path
    )
    return next(
        number
        for number, (_, path) in enumerate(disk.operations[receipt + 2 :], receipt + 3)
        if path.startswith("tmp")
    )


@pytest.mark.requirement("Q-09")
def test_what_the_dead_left_is_swept() -> None:
    """Files of dead workers, claims below the highest and completions without an intent go."""
    rig = reviewed()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    for _ in range(3):
        rig.claims.register()
    lane = f"{PROJECT}{MAIN_BRANCH}"
    standing = disk.files()[f"spool/lanes/{lane}.00000001"]
    disk.put(f"spool/lanes/{lane}.00000000", standing)
    disk.put(f"{SCOPE}/admissions/{'ab' * 16}.done", b"{}")
    disk.process_crash()
    rig = Rig(disk, clock=rig.clock)
    retention(rig).run()
    assert rig.disk.names(layout.WORKERS) == []
    names = [name for name in rig.disk.names(layout.SPOOL_LANES) if not name.endswith(".released")]
    assert names == [f"{lane}.00000001"]
    assert f"{SCOPE}/admissions/{'ab' * 16}.done" not in disk.files()


@pytest.mark.requirement("A-03", "B-03")
def test_a_call_of_a_dropped_job_does_not_keep_its_day_open_as_a_call() -> None:
    """Nobody reviews its job again, so that retention says how the call of a dead worker ended: unknown."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    (job_id,) = rig.capture(turns(PREFER)).jobs
    victim = Rig(disk.process("victim"), ids=SequentialIds("victim"))
    victim.provider.before_review = lambda _request: disk.kill("victim")
    with pytest.raises(Crashed):
        victim.drain()
    rig.jobs_service().drop(job_id)
    live_on(rig, 12)
    assert [attempt.state for attempt in rig.attempts.all()] == ["unknown"]


@pytest.mark.requirement("Q-13")
def test_a_damaged_outcome_does_not_keep_the_others() -> None:
    """It is named and left; the rest expires."""
    rig = reviewed()
    rig.capture(turns("Another thing to know.", first=1))
    rig.drain()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    first, second = rig.queue.queued()
    disk.put(layout.outcome(first), b"torn")
    live_on(rig, 17)
    assert rig.queue.queued() == [first]
    assert isinstance(rig.queue.outcome(second), OutcomeTombstone)
    rig.clock.advance(7_200)
    assert any(first in left for left in retention(rig).run().left)


@pytest.mark.requirement("E-05", "D-12")
def test_nothing_of_a_job_goes_before_its_tombstone() -> None:
    """Rule 4: while the outcome is whole, its decision, receipt and evidence stay, whoever asks."""
    rig = reviewed()
    before = job_files(rig)
    assert FileRetain(rig.records, rig.claims).remove_rest(PROJECT, tuple(rig.queue.queued())) == 0
    assert job_files(rig) == before


@pytest.mark.requirement("E-05", "Q-09")
def test_a_worker_runs_it_once_an_hour(tmp_path: Path) -> None:
    """Through the App: a drain takes expired records away, and the next one within the hour does not look."""
    app, project = open_app(tmp_path)
    app.capture_service().capture(
        host="pi",
        session=SESSION,
        turns=turns(PREFER),
        project=project,
        branch_id=app.branch_id(project),
    )
    app.worker(provider=ScriptedProvider()).drain()
    retain = FileRetain(app.records, app.claims)
    mark = retain.mark()
    assert mark is not None
    assert not app.retention().due()
    app.config = msgspec.structs.replace(app.config, retention=RetentionRules(evidence_days=1))
    retain.set_mark(type(mark)(NOON_MS + 3 * DAY_MS, mark.boot_id, mark.boot_seconds - 7_200))
    assert app.retention().due()
    app.retention().run(NOON_MS + 3 * DAY_MS)
    assert app.queue.queued() == []
    assert app.verify_service().verify().ok
    app.close()


@pytest.mark.requirement("B-03", "X-04")
def test_totals_that_leave_out_a_standing_call_are_found() -> None:
    """V-17: a day that was cut off while its attempts went counts every call whose records still stand."""
    rig = reviewed()
    (attempt,) = rig.attempts.all()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    name, day = attempt.attempt_id, attempt.attempt_id[:8]
    row = ProviderTotal("scripted", 1, 1, 790, 3_100)
    for calls in (1, 0):
        counted = DayTotals(day=day, providers=(replace(row, calls=calls),), removing=(name,))
        disk.put(f"{layout.BUDGETS}/{day}", seal(counted))
        assert [found.invariant for found in broken(rig)] == ([] if calls else ["V-17"])
