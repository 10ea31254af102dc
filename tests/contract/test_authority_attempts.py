"""The Attempts port's contract: fates, limits under contention, orphans, late results, reconciling."""

from __future__ import annotations

import pytest

from perdure.core.attempt import Usage
from perdure.core.budget import Amount, Exposure, Limits, OverBudget
from perdure.core.job import Lane
from perdure.errors import Conflict, NotFound, Refused
from tests.contract.authorities import LARGEST_HOLD, Ports, Site, together
from tests.core_values import (
    DAY,
    HOLD,
    MAIN_ID,
    NOW_MS,
    PROJECT,
    evidence,
    fate,
    job,
    reconciled,
    reserved,
    result,
)

LANE = Lane(PROJECT, MAIN_ID)
LIMITS = Limits(calls_per_day=3)


# -- attempts and budget


@pytest.mark.requirement("A-01", "A-02", "B-01", "B-03")
def test_an_attempt_moves_from_held_to_actual(one: Ports, two: Ports) -> None:
    """Reserved and dispatched hold the bound; settling charges what was used, for every process."""
    draft = reserved(job(), worker=one.claims.register())
    held = Exposure(held=Amount(1, HOLD.tokens, HOLD.cost_nanodollars))
    assert one.attempts.reserve(draft, LIMITS) == draft
    assert two.attempts.charge("model", DAY) == held
    assert one.attempts.decide_fate(fate(draft, "dispatched"))
    assert two.attempts.charge("model", DAY) == held
    one.attempts.settle(result(draft, usage=Usage(7, 5, 99)))
    (seen,) = two.attempts.of_job(draft.job_id)
    assert (seen.state, seen.reserved) == ("settled", draft)
    assert two.attempts.charge("model", DAY) == Exposure(actual=Amount(1, 12, 99))
    assert two.attempts.charge("other", DAY) == Exposure()
    assert two.attempts.all() == one.attempts.all()


@pytest.mark.requirement("A-03", "A-04")
def test_the_fate_is_elected_once_and_only_its_creator_may_send(one: Ports, two: Ports) -> None:
    """Dispatched and cancelled share one name: the second is told no, and a repetition too."""
    first, second = (reserved(job(), n, worker=one.claims.register()) for n in (1, 2))
    one.attempts.reserve(first, None)
    assert one.attempts.decide_fate(fate(first, "dispatched"))
    assert not two.attempts.decide_fate(fate(first, "cancelled", worker="other"))
    assert not one.attempts.decide_fate(fate(first, "dispatched"))
    assert [a.state for a in two.attempts.of_job(first.job_id)] == ["dispatched"]
    one.attempts.reserve(second, None)
    assert two.attempts.decide_fate(fate(second, "cancelled"))
    assert not one.attempts.decide_fate(fate(second, "dispatched"))
    assert [a.state for a in one.attempts.of_job(first.job_id)] == ["dispatched", "cancelled"]


@pytest.mark.requirement("A-04")
def test_a_contended_fate_has_one_creator(threaded_site: Site) -> None:
    """Threads of several processes decide at once: one is told that it may send."""
    processes, won = [threaded_site.process() for _ in range(6)], []
    draft = reserved(job(), worker=processes[0].claims.register())
    processes[0].attempts.reserve(draft, None)
    marks = [fate(draft, "dispatched", worker=str(n)) for n in range(6)]
    together(
        *(
            lambda p=p, f=f: won.append(p.attempts.decide_fate(f))
            for p, f in zip(processes, marks, strict=True)
        )
    )
    assert sorted(won) == [False] * 5 + [True]


@pytest.mark.requirement("A-01")
def test_a_number_is_reserved_once_and_never_after_a_later_one(one: Ports, two: Ports) -> None:
    """A second reservation of the number, or of an earlier one, is refused without a word."""
    worker, of = one.claims.register(), job()
    assert one.attempts.reserve(reserved(of, 1, worker=worker), None) is not None
    assert one.attempts.reserve(reserved(of, 2, worker=worker), None) is not None
    assert two.attempts.reserve(reserved(of, 2, worker="other"), None) is None
    assert two.attempts.reserve(reserved(of, 1, worker="other"), None) is None
    assert two.attempts.reserve(reserved(of, 2, worker="other", day="20260302"), None) is None
    assert len(two.attempts.of_job(of.job_id)) == 2
    assert two.attempts.reserve(reserved(of, 3, worker=worker, day="20260302"), None) is not None
    assert [a.attempt_id[-4:] for a in one.attempts.of_job(of.job_id)] == ["0001", "0002", "0003"]


@pytest.mark.requirement("B-02", "X-04")
@pytest.mark.parametrize(
    ("limits", "what", "never"),
    [
        (Limits(calls_per_day=1), "calls", False),
        (Limits(tokens_per_day=HOLD.tokens * 2 - 1), "tokens", False),
        (Limits(cost_nanodollars_per_day=HOLD.cost_nanodollars * 2 - 1), "cost", False),
    ],
)
def test_a_reservation_that_does_not_fit_is_refused_with_its_reason(
    one: Ports, limits: Limits, what: str, never: bool
) -> None:
    """Held amounts count; the refusal names limit, need and what is used, and stores nothing."""
    worker, of = one.claims.register(), job()
    assert one.attempts.reserve(reserved(of, worker=worker), limits) is not None
    over = one.attempts.reserve(reserved(of, 2, worker=worker), limits)
    assert isinstance(over, OverBudget)
    assert (over.what, over.never) == (what, never)
    assert len(one.attempts.all()) == 1
    assert one.attempts.reserve(reserved(of, 2, worker=worker, provider="other"), limits) is not None


@pytest.mark.requirement("B-08")
@pytest.mark.parametrize(
    ("limits", "day", "later_ms", "what"),
    [
        (Limits(cost_nanodollars_per_month=HOLD.cost_nanodollars), "20260330", 10**9, "cost this month"),
        (Limits(calls_per_hour=1), "20260302", 3_600_000, "calls this hour"),
    ],
)
def test_monthly_caps_and_the_runaway_guard_pause(
    one: Ports, limits: Limits, day: str, later_ms: int, what: str
) -> None:
    """The month's cost and the last hour's calls count over days; past them there is room again."""
    worker, of = one.claims.register(), job()
    assert one.attempts.reserve(reserved(of, worker=worker), limits) is not None
    one.attempts.decide_fate(fate(reserved(of, worker=worker), "dispatched"))
    one.attempts.settle(result(reserved(of, worker=worker)))
    over = one.attempts.reserve(
        reserved(of, 2, worker=worker, day=day, reserved_ms=NOW_MS + later_ms), limits
    )
    assert isinstance(over, OverBudget)
    assert over.what == what
    fits = reserved(of, 2, worker=worker, day="20260401", reserved_ms=NOW_MS + later_ms + 1)
    assert one.attempts.reserve(fits, limits) is not None


@pytest.mark.requirement("B-02")
def test_a_hold_that_can_never_fit_says_so(one: Ports) -> None:
    """Even an empty day would not take it."""
    over = one.attempts.reserve(reserved(job(), worker=one.claims.register()), Limits(tokens_per_day=999))
    assert isinstance(over, OverBudget)
    assert over.never


@pytest.mark.requirement("B-02", "X-04")
def test_contention_never_passes_the_limit(threaded_site: Site) -> None:
    """Eight processes reserve at once under a limit of three calls: three get in."""
    processes = [threaded_site.process() for _ in range(8)]
    drafts = [
        reserved(job(evidence(f"Fact {n}.")), worker=p.claims.register()) for n, p in enumerate(processes)
    ]
    got: list[object] = []
    together(
        *(
            lambda p=p, d=d: got.append(p.attempts.reserve(d, LIMITS))
            for p, d in zip(processes, drafts, strict=True)
        )
    )
    assert len([each for each in got if isinstance(each, OverBudget)]) == 5
    assert threaded_site.process().attempts.charge("model", DAY).total.calls == 3


@pytest.mark.requirement("A-03", "B-03")
def test_orphans_are_settled_before_the_check(site: Site, one: Ports, two: Ports) -> None:
    """A dead owner's reserved attempt is freed, its dispatched one becomes unknown; a living owner's stay."""
    dead, living = one.claims.register(), two.claims.register()
    only_reserved, sent = reserved(job(), worker=dead), reserved(job(evidence("B.")), worker=dead)
    alive = reserved(job(evidence("C.")), worker=living)
    for draft in (only_reserved, sent, alive):
        assert one.attempts.reserve(draft, LIMITS) is not None
    one.attempts.decide_fate(fate(sent, "dispatched"))
    assert isinstance(two.attempts.reserve(reserved(job(evidence("D.")), worker=living), LIMITS), OverBudget)
    site.kill(one, dead)
    assert two.attempts.reserve(reserved(job(evidence("D.")), worker=living), LIMITS) is not None
    states = {a.attempt_id: a.state for a in two.attempts.all()}
    assert (states[only_reserved.attempt_id], states[sent.attempt_id]) == ("cancelled", "unknown")
    assert states[alive.attempt_id] == "reserved"
    assert not one.attempts.decide_fate(fate(only_reserved, "dispatched"))


@pytest.mark.requirement("A-06", "A-07")
def test_late_evidence_closes_an_unknown_attempt(one: Ports, two: Ports) -> None:
    """Unknown holds the full bound until the sender's result comes after all."""
    draft = reserved(job(), worker=one.claims.register())
    one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    two.attempts.lose(draft.attempt_id)
    two.attempts.lose(draft.attempt_id)
    assert two.attempts.charge("model", DAY).unknown == Amount(1, HOLD.tokens, HOLD.cost_nanodollars)
    one.attempts.settle(result(draft, usage=Usage(1, 1, 1)))
    (seen,) = two.attempts.of_job(draft.job_id)
    assert seen.state == "settled"
    assert two.attempts.charge("model", DAY) == Exposure(actual=Amount(1, 2, 1))


@pytest.mark.requirement("D-01", "D-03")
def test_another_result_at_an_attempt_fails_closed(one: Ports, two: Ports) -> None:
    """A result is immutable: the same again is success, other content is refused."""
    draft = reserved(job(), worker=one.claims.register())
    one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    one.attempts.settle(result(draft))
    two.attempts.settle(result(draft))
    with pytest.raises(Conflict):
        two.attempts.settle(result(draft, "invalid"))
    (seen,) = two.attempts.of_job(draft.job_id)
    assert seen.result == result(draft)


@pytest.mark.requirement("A-06", "B-06", "B-07")
def test_reconciling_needs_a_dead_owner_and_something_open(site: Site, one: Ports, two: Ports) -> None:
    """While the owner lives it is refused; afterwards the user's word counts, and only once."""
    worker = one.claims.register()
    draft = reserved(job(), worker=worker)
    one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    with pytest.raises(NotFound):
        two.attempts.reconcile(reconciled(reserved(job(), 9)))
    with pytest.raises(Refused):
        two.attempts.reconcile(reconciled(draft))
    site.kill(one, worker)
    two.attempts.reconcile(reconciled(draft, Usage(3, 0, 4)))
    assert two.attempts.charge("model", DAY) == Exposure(actual=Amount(1, 3, 4))
    with pytest.raises(Refused):
        two.attempts.reconcile(reconciled(draft, Usage(9, 9, 9)))


@pytest.mark.requirement("A-06", "B-02")
def test_a_late_result_beside_a_reconciliation_charges_the_larger(site: Site, one: Ports) -> None:
    """Neither the user's word nor a late bill can make the other smaller."""
    worker = one.claims.register()
    draft = reserved(job(), worker=worker)
    one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    site.kill(one, worker)
    site.process().attempts.reconcile(reconciled(draft, Usage(1, 1, 50)))
    one.attempts.settle(result(draft, usage=Usage(9, 9, 5)))
    assert site.process().attempts.charge("model", DAY) == Exposure(actual=Amount(1, 18, 50))


@pytest.mark.requirement("A-03", "A-06")
def test_reconciling_what_was_never_sent_cancels_it(site: Site, one: Ports, two: Ports) -> None:
    """An orphan that was only reserved costs nothing, whatever the user says."""
    worker = one.claims.register()
    draft = reserved(job(), worker=worker)
    one.attempts.reserve(draft, None)
    site.kill(one, worker)
    two.attempts.reconcile(reconciled(draft))
    (seen,) = two.attempts.of_job(draft.job_id)
    assert (seen.state, seen.reconciled) == ("cancelled", None)


@pytest.mark.requirement("B-07")
def test_unreported_usage_stays_held_until_it_is_reconciled(site: Site, one: Ports, two: Ports) -> None:
    """The call is actual, its tokens and cost are held."""
    worker = one.claims.register()
    draft = reserved(job(), worker=worker)
    one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    one.attempts.settle(result(draft, usage=None))
    held = Amount(0, HOLD.tokens, HOLD.cost_nanodollars)
    assert two.attempts.charge("model", DAY) == Exposure(actual=Amount(calls=1), held=held)
    site.kill(one, worker)
    two.attempts.reconcile(reconciled(draft, Usage(2, 0, 1)))
    assert two.attempts.charge("model", DAY) == Exposure(actual=Amount(1, 2, 1))


@pytest.mark.requirement("B-03", "B-04", "B-06")
def test_midnight_erases_nothing_that_is_unresolved(one: Ports) -> None:
    """An earlier day's open attempt counts today, its settled one does not; charged is the day reserved."""
    worker = one.claims.register()
    open_one, done = reserved(job(), worker=worker), reserved(job(evidence("B.")), worker=worker)
    for draft in (open_one, done):
        one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(done, "dispatched"))
    one.attempts.settle(result(done, usage=Usage(1, 0, 1)))
    assert one.attempts.charge("model", "20260302").total == Amount(1, HOLD.tokens, HOLD.cost_nanodollars)
    assert one.attempts.charge("model", DAY).actual == Amount(1, 1, 1)


@pytest.mark.requirement("M-13", "B-02")
def test_an_unreadable_attempt_costs_its_hold_or_the_largest_allowed(site: Site, one: Ports) -> None:
    """Damage never frees budget (rule 6): a torn fate keeps the hold, a torn reservation costs the most."""
    worker = one.claims.register()
    first, second = reserved(job(), worker=worker), reserved(job(evidence("B.")), worker=worker)
    for draft in (first, second):
        one.attempts.reserve(draft, None)
    one.attempts.decide_fate(fate(first, "dispatched"))
    site.damage("fate", first.attempt_id)
    site.damage("reserved", second.attempt_id)
    late = site.process()
    assert {a.attempt_id for a in late.attempts.all() if a.damaged} == {first.attempt_id, second.attempt_id}
    worst = Amount(
        2, HOLD.tokens + LARGEST_HOLD.tokens, HOLD.cost_nanodollars + LARGEST_HOLD.cost_nanodollars
    )
    assert late.attempts.charge("model", DAY).total == worst
    assert late.attempts.charge("model", "20260302").total == worst


@pytest.mark.requirement("A-06", "B-02", "Q-13")
@pytest.mark.parametrize("part", ["fate", "unknown"])
def test_a_damaged_attempt_of_a_dead_owner_stops_no_other(
    site: Site, one: Ports, two: Ports, part: str
) -> None:
    """It keeps its hold, others are reserved, and the user's word closes it, whatever it was."""
    dead = one.claims.register()
    draft = reserved(job(), worker=dead)
    one.attempts.reserve(draft, LIMITS)
    one.attempts.decide_fate(fate(draft, "dispatched"))
    one.attempts.lose(draft.attempt_id)
    site.damage(part, draft.attempt_id)
    site.kill(one, dead)
    other = reserved(job(evidence("B.")), worker=two.claims.register())
    late = site.process()
    assert late.attempts.reserve(other, LIMITS) == other
    assert late.attempts.charge("model", DAY).total.calls == 2
    late.attempts.reconcile(reconciled(draft, Usage(1, 1, 3)))
    (seen,) = late.attempts.of_job(draft.job_id)
    assert (seen.state, seen.damaged is None) == ("settled", False)
    assert late.attempts.charge("model", DAY).actual == Amount(1, 2, 3)


@pytest.mark.requirement("A-06", "B-02", "Q-13")
def test_an_attempt_of_nobody_known_is_closed_once_no_worker_lives(
    site: Site, one: Ports, two: Ports
) -> None:
    """Its reservation cannot be read, so that every worker may be its owner (rule 12)."""
    dead, other = one.claims.register(), two.claims.register()
    draft = reserved(job(), worker=dead)
    one.attempts.reserve(draft, LIMITS)
    site.damage("reserved", draft.attempt_id)
    site.kill(one, dead)
    late = site.process()
    with pytest.raises(Refused):
        late.attempts.reconcile(reconciled(draft, HOLD))
    two.claims.retire(other)
    late.attempts.reconcile(reconciled(draft, HOLD))
    (seen,) = late.attempts.of_job(draft.job_id)
    assert (seen.state, seen.open) == ("settled", False)


@pytest.mark.requirement("A-06", "X-04")
def test_of_two_users_who_reconcile_at_once_one_is_refused(threaded_site: Site) -> None:
    """The second is told that nothing is open any more; the first word stands."""
    owner = threaded_site.process()
    worker = owner.claims.register()
    draft = reserved(job(), worker=worker)
    owner.attempts.reserve(draft, None)
    owner.attempts.decide_fate(fate(draft, "dispatched"))
    threaded_site.kill(owner, worker)
    users, ends = [threaded_site.process() for _ in range(4)], []

    def say(user: Ports, cost: int) -> None:
        try:
            user.attempts.reconcile(reconciled(draft, Usage(0, 0, cost)))
            ends.append(cost)
        except Refused:
            ends.append(0)

    together(*(lambda u=user, c=cost: say(u, c) for cost, user in enumerate(users, 1)))
    (cost,) = (cost for cost in ends if cost)
    assert len(ends) == 4
    assert threaded_site.process().attempts.charge("model", DAY).total.cost_nanodollars == cost
