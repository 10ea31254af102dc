"""What attempts cost, and what fits: the fold in three certainties."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.attempt import TRANSITIONS, Attempt, State, Usage, attempt_id, day_of
from perdure.core.budget import (
    Amount,
    Exposure,
    Limits,
    OverBudget,
    admit,
    calls_since,
    charge,
    exposure,
    month_cost,
    unresolved,
)
from tests.core_values import DAY, HOLD, NOW_MS, fate, job, reconciled, reserved, result

MADE = reserved(job())
DOUBT = Amount(1, HOLD.tokens, HOLD.cost_nanodollars)
LATER = "20260302"
PARTS = {
    "reserved": MADE,
    "fate": fate(MADE, "dispatched"),
    "result": result(MADE, usage=Usage(7, 5, 99)),
    "unknown": True,
    "reconciled": reconciled(MADE, Usage(3, 0, 4)),
}


def attempt(*parts: str, **changed: object) -> Attempt:
    """An attempt of which these records exist."""
    fields: dict[str, object] = {"reserved": None, "attempt_id": MADE.attempt_id}
    fields.update({part: PARTS[part] for part in parts})
    return msgspec.convert({}, Attempt) if not fields else Attempt(**{**fields, **changed})  # type: ignore[arg-type]  # by name


def step(state: State, event: str) -> State:
    """One row of the product's own table; an event that is not there changes nothing."""
    return {str(name): after for name, after in TRANSITIONS[state].items()}.get(event, state)


@pytest.mark.requirement("A-01", "A-05", "A-07")
@pytest.mark.parametrize(
    "parts",
    [c for n in range(5) for c in itertools.combinations(("fate", "result", "unknown", "reconciled"), n)],
)
@pytest.mark.parametrize("which", ["dispatched", "cancelled"])
def test_the_state_of_any_records_is_what_the_table_leads_to(parts: tuple[str, ...], which: str) -> None:
    """The records that exist, taken as events in order, lead through the table to the state they mean."""
    wanted: State = "reserved"
    if "fate" in parts:
        wanted = step(wanted, "dispatch" if which == "dispatched" else "cancel")
    elif parts:
        wanted = step(wanted, "dispatch")  # a later record proves the dispatch, though its own is lost
    if "unknown" in parts or "reconciled" in parts:
        wanted = step(wanted, "lose")
    wanted = step(wanted, "settle" if "result" in parts else "reconcile" if "reconciled" in parts else "")
    chosen = {"fate": fate(MADE, "cancelled")} if "fate" in parts and which == "cancelled" else {}
    made = attempt("reserved", *parts, **chosen)
    assert made.state == wanted
    assert made.open == (wanted in {"reserved", "dispatched"})


@pytest.mark.requirement("A-01")
def test_states_only_move_forward() -> None:
    """No event leads back, and settled and cancelled are final."""
    order: dict[State, int] = {"reserved": 0, "dispatched": 1, "unknown": 2, "settled": 3, "cancelled": 3}
    for state, events in TRANSITIONS.items():
        assert all(order[after] > order[state] for after in events.values())
    assert TRANSITIONS["settled"] == TRANSITIONS["cancelled"] == {}
    assert set(TRANSITIONS) == set(order)


@pytest.mark.requirement("A-03", "A-05")
def test_an_attempt_without_a_readable_reservation_may_have_been_sent() -> None:
    """Doubt is on the side of the call having happened."""
    assert attempt().state == "dispatched"
    assert attempt("unknown").state == "unknown"


def test_an_attempt_id_carries_day_job_and_number() -> None:
    """Ids sort by day and number, and the day can be read off."""
    made = attempt_id(DAY, job().job_id, 7)
    assert (day_of(made), made[-4:]) == (DAY, "0007")
    assert made[9:41] == job().job_id[-32:]


@pytest.mark.requirement("B-01", "B-03", "B-07")
@pytest.mark.parametrize(
    ("made", "counted"),
    [
        (attempt("reserved"), Exposure(held=DOUBT)),
        (attempt("reserved", "fate"), Exposure(held=DOUBT)),
        (attempt("reserved", "fate", "unknown"), Exposure(unknown=DOUBT)),
        (attempt("reserved", "fate", "result"), Exposure(actual=Amount(1, 12, 99))),
        (attempt("reserved", fate=fate(MADE, "cancelled")), Exposure()),
        (attempt("reserved", "fate", "unknown", "result"), Exposure(actual=Amount(1, 12, 99))),
        (attempt("reserved", "fate", "unknown", "reconciled"), Exposure(actual=Amount(1, 3, 4))),
        (
            attempt("reserved", "fate", result=result(MADE, usage=None)),
            Exposure(actual=Amount(calls=1), held=Amount(0, HOLD.tokens, HOLD.cost_nanodollars)),
        ),
        (
            attempt("reserved", "fate", "reconciled", result=result(MADE, usage=None)),
            Exposure(actual=Amount(1, 3, 4)),
        ),
        (attempt(), Exposure(held=Amount(1, 70, 80))),
        (attempt("unknown"), Exposure(unknown=Amount(1, 70, 80))),
    ],
)
def test_each_state_counts_in_its_certainty(made: Attempt, counted: Exposure) -> None:
    """Held, unknown or actual; an unreadable reservation costs the largest hold allowed."""
    assert exposure(made, Usage(70, 0, 80)) == counted


@pytest.mark.requirement("B-02")
def test_usage_above_the_hold_is_charged_in_full() -> None:
    """The excess is not hidden by the bound."""
    above = Usage(HOLD.tokens * 2, 1, HOLD.cost_nanodollars * 3)
    made = attempt("reserved", "fate", result=result(MADE, usage=above))
    assert exposure(made).actual == Amount(1, HOLD.tokens * 2 + 1, HOLD.cost_nanodollars * 3)
    over = admit(exposure(made), HOLD, Limits(cost_nanodollars_per_day=HOLD.cost_nanodollars * 3))
    assert over is not None


@pytest.mark.requirement("A-06", "B-07")
@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_a_late_result_and_a_reconciliation_charge_the_larger(a: int, b: int, c: int, d: int) -> None:
    """Neither makes the other smaller, in tokens or in cost."""
    made = attempt(
        "reserved",
        "fate",
        "unknown",
        result=result(MADE, usage=Usage(a, 0, b)),
        reconciled=reconciled(MADE, Usage(c, 0, d)),
    )
    assert exposure(made) == Exposure(actual=Amount(1, max(a, c), max(b, d)))


@pytest.mark.requirement("B-06")
def test_what_is_unresolved() -> None:
    """Held, unknown, unreported and damaged attempts stay open until they are resolved."""
    open_ones = [
        attempt("reserved"),
        attempt("reserved", "fate"),
        attempt("reserved", "fate", "unknown"),
        attempt("reserved", "fate", result=result(MADE, usage=None)),
        attempt("reserved", "fate", "result", damaged="fate"),
        attempt("unknown"),
    ]
    done = [
        attempt("reserved", "fate", "result"),
        attempt("reserved", "fate", "unknown", "reconciled"),
        attempt("reserved", fate=fate(MADE, "cancelled")),
        attempt("reserved", "fate", "reconciled", damaged="result"),
    ]
    assert all(unresolved(each) for each in open_ones)
    assert not any(unresolved(each) for each in done)


def on(day: str, number: int, *parts: str, provider: str = "model", reserved_ms: int = NOW_MS) -> Attempt:
    """An attempt dated that day."""
    made = reserved(job(), number, day=day, provider=provider, reserved_ms=reserved_ms)
    return attempt(*parts, reserved=made, attempt_id=made.attempt_id)


@pytest.mark.requirement("B-03", "B-04", "B-06")
def test_a_day_is_charged_with_its_own_and_all_that_is_unresolved() -> None:
    """Midnight erases nothing open; a settled call counts on the day it was reserved."""
    made = [
        on("20260228", 1, "fate", "unknown"),
        on("20260228", 2, "fate", "result"),
        on(DAY, 3, "fate", "result"),
        on(LATER, 4),
        on(DAY, 5, "fate", provider="other"),
    ]
    assert charge(made, provider="model", day=DAY) == Exposure(
        actual=Amount(1, 12, 99), held=DOUBT, unknown=DOUBT
    )
    assert charge(made, provider="model", day=LATER) == Exposure(held=DOUBT, unknown=DOUBT)
    assert charge(made, provider="other", day=LATER) == Exposure(held=DOUBT)
    assert charge(made, provider="model", day="20260228").actual == Amount(2, 24, 198)


@pytest.mark.requirement("B-02", "M-13")
def test_an_attempt_whose_provider_cannot_be_read_counts_for_every_provider() -> None:
    """Damage never frees budget anywhere."""
    made = [attempt(damaged="reserved")]
    worst = Exposure(held=Amount(1, 5, 6))
    for provider in ("model", "other"):
        assert charge(made, provider=provider, day="20270101", largest_hold=Usage(5, 0, 6)) == worst
        assert month_cost(made, provider=provider, day="20270101", largest_hold=Usage(5, 0, 6)) == 6
    assert calls_since(made, provider="model", since_ms=0) == 0


@pytest.mark.requirement("B-08")
def test_a_month_counts_its_own_days_and_all_that_is_unresolved() -> None:
    """Resolved calls of an earlier month are free again, open ones are not."""
    made = [on("20260228", 1, "fate", "result"), on("20260228", 2, "fate"), on(DAY, 3, "fate", "result")]
    cost = HOLD.cost_nanodollars
    assert month_cost(made, provider="model", day="20260305") == cost + 99
    assert month_cost(made, provider="model", day="20260227") == cost + 198
    assert month_cost(made, provider="other", day="20260305") == 0


@pytest.mark.requirement("B-08")
def test_the_hours_calls_are_those_reserved_since_and_not_cancelled() -> None:
    """Another provider's, earlier and cancelled ones do not count."""
    cancelled = on(DAY, 4)
    made = [
        on(DAY, 1, reserved_ms=NOW_MS - 1),
        on(DAY, 2),
        on(DAY, 3, provider="other"),
        msgspec.structs.replace(cancelled, fate=fate(MADE, "cancelled")),
    ]
    assert calls_since(made, provider="model", since_ms=NOW_MS) == 1
    assert calls_since(made, provider="model", since_ms=NOW_MS - 1) == 2


@pytest.mark.requirement("B-02", "B-08")
@pytest.mark.parametrize(
    ("field", "what", "need"),
    [
        ("calls_per_day", "calls", 1),
        ("tokens_per_day", "tokens", HOLD.tokens),
        ("cost_nanodollars_per_day", "cost", HOLD.cost_nanodollars),
        ("cost_nanodollars_per_month", "cost this month", HOLD.cost_nanodollars),
        ("calls_per_hour", "calls this hour", 1),
    ],
)
def test_a_limit_admits_up_to_itself_and_says_when_it_never_will(field: str, what: str, need: int) -> None:
    """Used plus needed may equal the limit and not pass it; a need above the limit never fits."""
    used = Exposure(actual=Amount(1, HOLD.tokens, HOLD.cost_nanodollars))

    def asked(limit: int) -> OverBudget | None:
        return admit(
            used,
            HOLD,
            msgspec.structs.replace(Limits(), **{field: limit}),
            month_cost_nanodollars=HOLD.cost_nanodollars,
            hour_calls=1,
        )

    assert asked(need * 2) is None
    assert asked(need * 2 - 1) == OverBudget(
        what, needed=need, used=need, limit=need * 2 - 1, never=need > need * 2 - 1
    )
    assert asked(need - 1) == OverBudget(what, needed=need, used=need, limit=need - 1, never=True)
    assert admit(used, HOLD, Limits()) is None


@pytest.mark.requirement("B-02", "X-04")
@given(st.lists(st.sampled_from(["held", "unknown", "actual"]), max_size=6), st.integers(1, 8))
def test_held_unknown_and_actual_all_count_against_the_limit(kinds: list[str], limit: int) -> None:
    """No certainty is cheaper than another."""
    total = Exposure()
    for kind in kinds:
        total += Exposure(**{kind: Amount(calls=1)})
    assert total.total.calls == len(kinds)
    assert (admit(total, HOLD, Limits(calls_per_day=limit)) is None) == (len(kinds) + 1 <= limit)
