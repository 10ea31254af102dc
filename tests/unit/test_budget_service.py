"""The budget's report in three certainties, and reconciling what is in doubt."""

from __future__ import annotations

import msgspec
import pytest

from perdure.core.attempt import Usage
from perdure.core.budget import Amount, Exposure
from perdure.errors import NotFound, Refused, TextRefused, UsageError
from perdure.ports.provider import Answered, Lost, Reply, ReviewRequest
from tests.fakes import HOLD, USED, Rig, ScriptedProvider, finding_nothing, turns
from tests.services import LIMITS, budget_service, retention
from tests.simulated_disk import SimulatedDisk

HELD = HOLD.input_tokens + HOLD.output_tokens
SPENT = Amount(1, USED.input_tokens + USED.output_tokens, USED.cost_nanodollars)


def lost(_request: ReviewRequest) -> Reply:
    """The answer never came."""
    return Lost("timeout")


def untold(_request: ReviewRequest) -> Reply:
    """An answer without usage."""
    return Answered('{"operations": []}', None, None)


def reviewed(*script: object, count: int = 1) -> Rig:
    """A rig that has reviewed so many windows."""
    rig = Rig(
        SimulatedDisk(),
        provider=ScriptedProvider(list(script), otherwise=finding_nothing),  # type: ignore[arg-type] # scripts
        limits=LIMITS,
    )
    rig.prepare()
    for number in range(count):
        rig.capture(turns(f"Fact number {number} to know.", first=number))
    rig.drain()
    return rig


@pytest.mark.requirement("B-01", "B-03")
def test_the_three_certainties_are_told_apart() -> None:
    """What was spent is actual, what may have been spent is unknown, and both are taken off the limits."""
    rig = reviewed(lost)
    rig.clock.advance(60)
    rig.drain()
    report = budget_service(rig).report()
    (today,) = report.days
    assert today.exposure == Exposure(actual=SPENT, unknown=Amount(1, HELD, HOLD.cost_nanodollars))
    (now,) = report.providers
    assert now.left is not None
    assert now.left.calls_per_day == 8
    assert now.left.tokens_per_day == 50_000 - HELD - SPENT.tokens
    assert now.left.cost_nanodollars_per_day == 1_000_000 - HOLD.cost_nanodollars - USED.cost_nanodollars
    assert [open_one.state for open_one in report.unresolved] == ["unknown"]


@pytest.mark.requirement("B-06", "B-03", "A-06")
def test_doubt_of_an_earlier_day_counts_today_until_it_is_reconciled() -> None:
    """It is listed with its age and resolved by command, by default at the full hold."""
    rig = reviewed(lost)
    rig.clock.advance(30 * 3_600)
    service = budget_service(rig)
    (open_one,) = service.report().unresolved
    assert open_one.age_ms >= 30 * 3_600_000
    assert open_one.day < service.report().today
    assert service.report().providers[0].counted.unknown.calls == 1
    settled = service.reconcile(open_one.attempt_id, reason="The provider's page shows no call.")
    assert settled.reconciled is not None
    assert settled.reconciled.usage == Usage(HOLD.input_tokens, HOLD.output_tokens, HOLD.cost_nanodollars)
    assert service.report().unresolved == ()
    assert service.report().providers[0].counted == Exposure()
    with pytest.raises(Refused):
        service.reconcile(open_one.attempt_id, reason="Once more.")


@pytest.mark.requirement("B-07", "A-06")
def test_a_call_without_usage_is_reconciled_with_an_amount() -> None:
    """The call is certain, its tokens and cost stay held until the user says what they were."""
    rig = reviewed(untold)
    service = budget_service(rig)
    (open_one,) = service.report().unresolved
    assert open_one.exposure == Exposure(actual=Amount(1), held=Amount(0, HELD, HOLD.cost_nanodollars))
    service.reconcile(open_one.attempt_id[9:20], reason="From the invoice.", usage=Usage(10, 5, 77))
    assert service.report().days[0].exposure == Exposure(actual=Amount(1, 15, 77))


def test_reconciling_is_refused_without_reason_target_or_sense() -> None:
    """An empty or secret reason, a negative amount and an unknown attempt change nothing."""
    rig = reviewed(lost)
    service = budget_service(rig)
    (open_one,) = service.report().unresolved
    with pytest.raises(TextRefused):
        service.reconcile(open_one.attempt_id, reason=" ")
    with pytest.raises(UsageError):
        service.reconcile(open_one.attempt_id, reason="x" * 300)
    with pytest.raises(UsageError):
        service.reconcile(open_one.attempt_id, reason="Refunded.", usage=Usage(0, 0, -1))
    with pytest.raises(NotFound):
        service.reconcile("20010101-00", reason="No such thing.")
    with pytest.raises(UsageError):
        service.reconcile("2", reason="Too short.")
    assert len(service.report().unresolved) == 1


@pytest.mark.requirement("A-06")
def test_a_living_owners_call_is_not_reconciled() -> None:
    """While its worker lives, an attempt may still be settled by the provider's own word."""
    rig = reviewed()
    refused: list[str] = []

    def reconcile(request: ReviewRequest) -> None:
        with pytest.raises(Refused) as caught:
            budget_service(rig).reconcile(request.attempt_id, reason="Too early.")
        refused.append(caught.value.message)

    rig.provider.before_review = reconcile
    rig.capture(turns("One more fact to know.", first=9))
    rig.drain()
    assert len(refused) == 1
    assert "alive" in refused[0]


@pytest.mark.requirement("B-01", "B-03")
def test_a_closed_day_keeps_its_totals() -> None:
    """After retention the day is still reported, from its totals, and counts against no later day."""
    rig = reviewed(count=3)
    before = budget_service(rig).report().days[0]
    rig.clock.advance(10 * 86_400)
    for _ in range(8):
        rig.clock.advance(3_600)
        retention(rig).run()
    report = budget_service(rig).report()
    assert rig.attempts.all() == ()
    (row,) = report.days
    assert (row.day, row.exposure, row.attempts, row.closed) == (before.day, before.exposure, 3, True)
    assert report.providers[0].counted == Exposure()


@pytest.mark.requirement("B-08")
def test_the_month_and_the_hour_are_counted_beside_the_day() -> None:
    """A closed day still counts against its month, by its totals; an hour later no call counts any more."""
    limits = msgspec.structs.replace(LIMITS, cost_nanodollars_per_month=100_000, calls_per_hour=5)
    rig = reviewed(count=2)
    (now,) = budget_service(rig, limits).report().providers
    assert (now.month_cost_nanodollars, now.hour_calls) == (2 * USED.cost_nanodollars, 2)
    assert now.left is not None
    assert now.left.cost_nanodollars_per_month == 100_000 - 2 * USED.cost_nanodollars
    assert now.left.calls_per_hour == 3
    rig.clock.advance(10 * 86_400)
    for _ in range(8):
        rig.clock.advance(3_600)
        retention(rig).run()
    assert rig.attempts.all() == ()
    (later,) = budget_service(rig, limits).report().providers
    assert (later.month_cost_nanodollars, later.hour_calls) == (2 * USED.cost_nanodollars, 0)


def test_a_free_provider_has_no_limits() -> None:
    """The report says so instead of a number."""
    rig = reviewed()
    (now,) = budget_service(rig, limits=None).report().providers
    assert (now.limits, now.left) == (None, None)


@pytest.mark.requirement("A-06")
def test_an_unreadable_attempt_costs_the_largest_hold_until_it_is_reconciled() -> None:
    """Rule 6: what cannot be read is held against every limit, and the user can close it."""
    rig = reviewed()
    attempt = rig.attempts.all()[0].attempt_id
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    disk.put(f"attempts/{attempt[:8]}/{attempt}.reserved", b"torn")
    rig = Rig(disk, clock=rig.clock)
    service = budget_service(rig)
    assert [open_one.state for open_one in service.report().unresolved] == ["unreadable"]
    service.reconcile(attempt, reason="The file is torn.")
    assert service.report().unresolved == ()
