"""Paid calls never vanish and are never made in vain: closed days, late results, damage, probes, adoption."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from perdure.authority.filesystem import layout, retain
from perdure.authority.filesystem.home import start_writing
from perdure.core.attempt import Fate, Reserved, attempt_id
from perdure.core.budget import Amount, Limits, OverBudget
from perdure.errors import DiskFull, Refused
from perdure.ports.provider import Answered, Lost, Reply, ReviewRequest, Usage
from perdure.service.adoption import charge_rest_of_day
from perdure.service.curate import utc_day
from perdure.service.probe import ProbeService
from tests.fakes import HOLD, LARGEST, USED, ManualClock, Rig, ScriptedProvider, SequentialIds, turns
from tests.services import broken, budget_service, ledger, open_app, retention, snapshot
from tests.simulated_disk import Crashed, SimulatedDisk

DAY = "20270115"
LIMITS = Limits(calls_per_day=100)


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def another(rig: Rig, series: str) -> Rig:
    """Another process on the same disk."""
    return Rig(rig.disk, clock=rig.clock, ids=SequentialIds(series), limits=LIMITS)


def reviewed(*texts: str) -> Rig:
    """A rig with one applied review per text."""
    rig = Rig(SimulatedDisk(), limits=LIMITS)
    rig.prepare()
    for number, text in enumerate(texts):
        rig.capture(turns(text, first=number))
    rig.drain()
    return rig


def pass_days(rig: Rig, days: int) -> None:
    """Retention every hour of a believed day."""
    for _ in range(days):
        rig.clock.advance(86_400)
        retention(rig).run()


def files(rig: Rig) -> dict[str, bytes]:
    """All files of the home."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk.files()


def total(rig: Rig) -> Amount:
    """All that the report lists, over all days."""
    rows = budget_service(rig, LIMITS).report().days
    return sum((row.exposure.total for row in rows), Amount())


@pytest.mark.requirement("B-01", "B-03", "Q-12")
def test_calls_on_a_day_that_was_closed_too_early_count_on_top() -> None:
    """The clock was ahead, the day was closed, the clock was set right: its new calls are not lost."""
    rig = reviewed("The port of the service is 4100.")
    rig.clock.jump(30 * 86_400)
    for _ in range(8):
        rig.clock.advance(3_601)
        retention(rig).run()
    assert rig.disk.names(layout.ATTEMPTS) == []
    rig.clock.jump(-30 * 86_400 - 8 * 3_601)
    assert rig.attempts.charge("scripted", DAY).total.calls == 1
    rig.capture(turns("Releases go out on Thursdays.", first=5))
    assert rig.drain().ended == {"applied": 1}
    assert rig.attempts.charge("scripted", DAY).total.calls == 2
    before = total(rig)
    pass_days(rig, 12)
    assert rig.disk.names(layout.ATTEMPTS) == []
    assert total(another(rig, "b")) == before == Amount(2, 2 * 790, 2 * USED.cost_nanodollars)


@pytest.mark.requirement("B-02", "B-03")
def test_an_unresolved_call_on_a_closed_day_keeps_its_records() -> None:
    """It is listed and counts against every later day, whatever the day's totals say."""
    rig = reviewed("The port of the service is 4100.")
    pass_days(rig, 10)
    late = another(rig, "late")
    name = attempt_id(DAY, "0" * 76, 7)
    late.attempts.reserve(_draft(name), None)
    late.attempts.decide_fate(Fate(attempt_id=name, fate="dispatched", worker="f" * 32, reason=""))
    late.attempts.lose(name)
    pass_days(rig, 3)
    assert [a.attempt_id for a in rig.attempts.all()] == [name]
    assert rig.attempts.charge("scripted", "20270201").unknown.calls == 1


@pytest.mark.requirement("B-01", "D-01")
def test_a_late_result_of_a_closed_day_counts_alone() -> None:
    """Its sender slept until all its records had gone: the result is stored, and what it cost is counted."""
    rig = Rig(SimulatedDisk(), limits=LIMITS)
    rig.prepare()
    rig.capture(turns("The port of the service is 4100."))
    assert isinstance(rig.disk, SimulatedDisk)
    disk = rig.disk

    def late(request: ReviewRequest) -> Reply:
        for name in disk.names(layout.WORKERS):
            disk.remove(f"{layout.WORKERS}/{name}")
        user = Rig(disk.process("user"), ids=SequentialIds("u"), clock=rig.clock)
        user.clock.advance(900)
        user.drain()
        budget_service(user).reconcile(request.attempt_id, reason="It never came back.")
        pass_days(user, 12)
        assert disk.names(layout.ATTEMPTS) == []
        return Answered('{"operations": []}', Usage(900_000, 9, 10**9), None)

    rig.provider = ScriptedProvider([late])
    rig.drain()
    assert total(another(rig, "b")).cost_nanodollars == 10**9 + HOLD.cost_nanodollars + USED.cost_nanodollars
    pass_days(rig, 2)
    after = another(rig, "c")
    assert after.disk.names(layout.ATTEMPTS) == []
    assert total(after).cost_nanodollars == 10**9 + HOLD.cost_nanodollars + USED.cost_nanodollars
    assert after.attempts.charge("scripted", DAY).total.cost_nanodollars >= 10**9


@pytest.mark.requirement("A-03", "A-04")
def test_an_attempt_whose_reservation_expired_is_never_sent() -> None:
    """Its day was opened again by another: who reserved it long ago still may not send."""
    rig = reviewed("The port of the service is 4100.")
    rig.disk.make_folder(f"{layout.ATTEMPTS}/20270101")
    name = attempt_id("20270101", "0" * 76, 1)
    assert not rig.attempts.decide_fate(Fate(attempt_id=name, fate="dispatched", worker="f" * 32, reason=""))
    rig.attempts.lose(name)
    assert rig.disk.names(f"{layout.ATTEMPTS}/20270101") == []


@pytest.mark.requirement("B-03", "X-05")
def test_a_crash_anywhere_in_closing_a_day_counts_each_attempt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts are added and removed in batches; whatever dies in between, the sum stays the same."""
    monkeypatch.setattr(retain, "REMOVING_MAX", 2)
    rig = reviewed("The first port is 4100.", "The second port is 4200.", "The third port is 4300.")
    whole, clock_ms = total(rig), rig.clock.now_ms()
    assert whole.calls == 3
    base = rig.disk
    assert isinstance(base, SimulatedDisk)
    probe = base.fork()
    ledger(Rig(probe, clock=ManualClock(clock_ms))).close_day(DAY)
    for crash in range(1, len(probe.operations) + 1):
        disk = base.fork()
        with contextlib.suppress(Crashed):
            ledger(Rig(disk.process("victim", crash_at=crash), clock=ManualClock(clock_ms))).close_day(DAY)
        seen = Rig(disk, clock=ManualClock(clock_ms), ids=SequentialIds("z"))
        assert total(seen) == whole
        assert seen.attempts.charge("scripted", DAY).total == whole
        ledger(seen).close_day(DAY)
        assert disk.names(layout.ATTEMPTS) == []
        assert total(seen) == whole
        (totals,) = ledger(seen).totals()
        assert totals.removing == ()
        assert broken(seen) == ()


@pytest.mark.requirement("Q-13", "B-02")
@pytest.mark.parametrize("part", ["fate", "unknown"])
def test_a_damaged_attempt_stops_its_own_job_alone(part: str) -> None:
    """Rule 6: paid reviews of other jobs go on, and the user can close the attempt."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    rig.capture(turns("The port of the service is 4100."))
    victim = Rig(disk.process("victim"), ids=SequentialIds("v"), limits=LIMITS)
    victim.provider.before_review = lambda _request: disk.kill("victim")
    with pytest.raises(Crashed):
        victim.drain()
    (found,) = Rig(disk).attempts.all()
    disk.put(f"attempts/{DAY}/{found.attempt_id}.{part}", b"\0" * 40)
    other = Rig(disk, ids=SequentialIds("o"), limits=LIMITS)
    draft = _draft(attempt_id(DAY, "1" * 76, 1))
    assert other.attempts.reserve(draft, LIMITS) == draft
    service = budget_service(other, LIMITS)
    assert service.reconcile(found.attempt_id, reason="Seen on the invoice.").state == "settled"
    assert {v.code for v in broken(other)} <= {"damaged"}
    other.clock.advance(3_600)
    assert other.drain().ended == {"applied": 1}
    assert len(other.provider.sends) == 1


@pytest.mark.requirement("Q-13", "B-02")
@pytest.mark.parametrize(
    "name", ["a backup of the records that I made in May.result", f"{'9' * 50}.reserved"]
)
def test_a_file_of_somebody_else_among_attempts_costs_nothing(name: str) -> None:
    """Only what can be an attempt's record counts as one that cannot be read."""
    rig = reviewed("The port of the service is 4100.")
    before = another(rig, "a").attempts.charge("scripted", DAY)
    assert isinstance(rig.disk, SimulatedDisk)
    rig.disk.put(f"attempts/{DAY}/{name}", b"?")
    assert another(rig, "b").attempts.charge("scripted", DAY) == before
    assert f"attempts/{DAY}/{name}" in snapshot(rig).foreign


@pytest.mark.requirement("Q-13", "A-05")
def test_a_part_that_could_not_be_read_is_read_again() -> None:
    """A passing failure of the disk does not stop a job until the process ends."""
    rig = reviewed("The port of the service is 4100.")
    (whole,) = rig.attempts.all()
    assert isinstance(rig.disk, SimulatedDisk)
    path = f"attempts/{DAY}/{whole.attempt_id}.result"
    data = rig.disk.files()[path]
    rig.disk.put(path, b"")
    seen = another(rig, "b")
    assert seen.attempts.all()[0].damaged is not None
    rig.disk.put(path, data)
    assert seen.attempts.all() == (whole,)
    assert seen.attempts.of_job(whole.result.job_id if whole.result else "") == (whole,)


@pytest.mark.requirement("A-06", "M-13")
def test_a_reconciliation_that_cannot_be_read_is_said_again() -> None:
    """The first word is kept in quarantine, the second counts."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([lost]))
    rig.prepare()
    rig.capture(turns("The port of the service is 4100."))
    rig.drain()
    service = budget_service(rig)
    (unknown,) = service.report().unresolved
    service.reconcile(unknown.attempt_id, reason="No such call.")
    assert isinstance(rig.disk, SimulatedDisk)
    rig.disk.put(f"attempts/{DAY}/{unknown.attempt_id}.reconciled", b"torn")
    later = another(rig, "b")
    assert budget_service(later).reconcile(unknown.attempt_id, reason="Again.").damaged is None
    assert budget_service(another(rig, "c")).report().unresolved == ()
    assert b"torn" in [data for path, data in files(rig).items() if path.startswith("quarantine/")]


@pytest.mark.requirement("A-03", "A-04")
def test_a_test_call_that_was_taken_back_is_not_sent() -> None:
    """Only the creator of `dispatched` may send, the probe too."""
    rig = reviewed()
    service = ProbeService(
        attempts=rig.attempts,
        claims=rig.claims,
        clock=rig.clock,
        ids=rig.ids,
        provider=rig.provider,
        limits=LIMITS,
        timeout_seconds=9,
    )
    probe = service.prepare()
    reserve = rig.attempts.reserve

    def reserve_and_lose(draft: Reserved, limits: Limits | None) -> Reserved | OverBudget | None:
        kept = reserve(draft, limits)
        name = draft.attempt_id
        rig.attempts.decide_fate(Fate(attempt_id=name, fate="cancelled", worker="", reason="owner gone"))
        return kept

    rig.attempts.reserve = reserve_and_lose  # type: ignore[method-assign] # another process comes between
    ended = service.send(probe)
    assert (ended.answered, ended.outcome, rig.provider.sends) == (False, "cancelled", {})


@pytest.mark.requirement("A-02", "A-07", "X-05")
def test_a_disk_without_room_for_the_result_refuses_before_the_call() -> None:
    """Nothing is paid for an answer that could not be kept; with room again the job ends."""
    rig = Rig(SimulatedDisk(), limits=LIMITS)
    rig.prepare()
    rig.capture(turns("The port of the service is 4100."))
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    disk.limit(bytes_max=sum(map(len, disk.files().values())) + 30_000)
    with pytest.raises(DiskFull):
        rig.drain()
    assert rig.provider.sends == {}
    disk.limit()
    later = another(rig, "b")
    assert later.drain().ended == {"applied": 1}


@pytest.mark.requirement("D-01", "X-05")
def test_a_disk_that_fills_during_the_call_still_takes_its_result() -> None:
    """Others may write all that is left meanwhile: the room was held."""
    rig = Rig(SimulatedDisk(), limits=LIMITS)
    rig.prepare()
    rig.capture(turns("The port of the service is 4100."))
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    rig.provider.before_review = lambda _: disk.limit(bytes_max=sum(map(len, disk.files().values())))
    rig.drain()
    (attempt,) = another(rig, "b").attempts.all()
    assert (attempt.state, rig.provider.sends) == ("settled", {attempt.attempt_id: 1})


@pytest.mark.requirement("B-08")
@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(calls_per_day=100), Amount(calls=100)),
        (Limits(calls_per_hour=9), Amount(calls=9)),
        (Limits(cost_nanodollars_per_month=10**9), Amount(1, 0, 10**9)),
        (Limits(tokens_per_day=7, cost_nanodollars_per_day=8), Amount(1, 7, 8)),
    ],
)
def test_adopting_a_home_charges_what_any_limit_leaves(limits: Limits, what: Amount) -> None:
    """The other copy may have spent it: no limit lets another call through until the user has a word."""
    rig = reviewed()
    name = charge_rest_of_day(
        rig.attempts, provider="scripted", model="m", limits=limits, clock=rig.clock, ids=rig.ids
    )
    assert rig.attempts.charge("scripted", DAY).unknown == what
    draft = _draft(attempt_id(DAY, "1" * 76, 1), reserved_ms=rig.clock.now_ms())
    assert isinstance(rig.attempts.reserve(draft, limits), OverBudget)
    assert name is not None
    assert name.startswith(DAY)
    assert (
        charge_rest_of_day(
            rig.attempts, provider="scripted", model="m", limits=Limits(), clock=rig.clock, ids=rig.ids
        )
        is None
    )


@pytest.mark.requirement("S-08", "B-02")
def test_a_copy_made_while_its_writer_ran_is_recognised_once_more_was_paid(tmp_path: Path) -> None:
    """Each paid reservation raises the home's number: what was spent after the copy is not unseen."""
    app, _ = open_app(tmp_path)
    home, backup = Path(app.home.path), tmp_path / "backup"
    shutil.copytree(home / layout.EPOCH, backup)
    day = utc_day(app.clock.now_ms())
    draft = _draft(attempt_id(day, "1" * 76, 1))
    assert app.attempts.reserve(draft, LIMITS) == draft
    shutil.rmtree(home / layout.EPOCH)
    shutil.copytree(backup, home / layout.EPOCH)
    with pytest.raises(Refused, match="restored from a copy"):
        app.attempts.reserve(_draft(attempt_id(day, "2" * 76, 1)), LIMITS)
    with pytest.raises(Refused, match="restored from a copy"):
        start_writing(app.home)
    app.close()


def _draft(name: str, *, reserved_ms: int = 0) -> Reserved:
    return Reserved(
        attempt_id=name,
        job_id="0" * 44 + name[9:41],
        day=name[:8],
        number=int(name[-4:]),
        worker="f" * 32,
        claim_ordinal=1,
        claim_token="",
        provider="scripted",
        model="m",
        prompt_version="1",
        prices="",
        base_digest="0" * 64,
        request_digest="0" * 64,
        hold=LARGEST,
        reserved_ms=reserved_ms,
        calls=1,
    )
