"""One behavioural suite for every authority: queue, claims, coverage and locks."""

from __future__ import annotations

import msgspec
import pytest

from perdure.authority.filesystem.locks import NestedLock
from perdure.core.admission import event, outcome, outcome_tombstone
from perdure.core.budget import Limits
from perdure.core.claim import Claim
from perdure.core.job import JOB_BYTES_MAX, Lane, successor
from perdure.errors import Conflict, Damaged, Refused
from perdure.ports.coverage import Uncovered
from tests.contract.authorities import OTHER_PROJECT, Ports, Site, together
from tests.core_values import (
    MAIN_ID,
    PROJECT,
    decision,
    evidence,
    job,
    reserved,
)

LANE = Lane(PROJECT, MAIN_ID)
LIMITS = Limits(calls_per_day=3)


# -- the queue


@pytest.mark.requirement("Q-01", "Q-02")
def test_an_accepted_job_is_there_for_every_process(one: Ports, two: Ports) -> None:
    """A job that was accepted is found by another process, whole."""
    wanted = job()
    assert one.queue.accept(wanted).new
    assert two.queue.queued() == [wanted.job_id]
    assert two.queue.job(wanted.job_id) == wanted
    assert two.queue.job(successor(wanted, stale=False).job_id) is None


@pytest.mark.requirement("Q-01")
def test_the_same_evidence_again_is_a_duplicate_and_the_first_job_stands(one: Ports, two: Ports) -> None:
    """Release and time of acceptance may differ: the first accepted job stands."""
    first, again = job(), job(accepted_ms=9, release="2")
    assert one.queue.accept(first).new
    accepted = two.queue.accept(again)
    assert (accepted.new, accepted.job_id) == (False, first.job_id)
    assert two.queue.job(first.job_id) == first


@pytest.mark.requirement("Q-01", "D-03")
def test_the_same_id_with_other_evidence_is_quarantined_and_the_first_stands(site: Site, one: Ports) -> None:
    """Other content under an accepted id is refused loudly, kept aside, and changes nothing."""
    first = job()
    forged = msgspec.structs.replace(job(evidence("Other.")), job_id=first.job_id)
    one.queue.accept(first)
    with pytest.raises(Conflict):
        one.queue.accept(forged)
    assert one.queue.job(first.job_id) == first
    assert site.aside() == 1


@pytest.mark.requirement("Q-01")
def test_a_job_whose_content_is_not_what_its_id_says_is_damaged(one: Ports) -> None:
    """A job under a wrong name is never worked on."""
    forged = msgspec.structs.replace(job(), job_id=job(evidence("Other.")).job_id)
    one.queue.accept(forged)
    with pytest.raises(Damaged):
        one.queue.job(forged.job_id)


@pytest.mark.requirement("Q-01", "E-09")
def test_a_job_over_its_bound_is_refused(one: Ports) -> None:
    """128 KiB is the bound of a job; nothing is stored of a larger one."""
    with pytest.raises(Refused):
        one.queue.accept(job(evidence("x" * JOB_BYTES_MAX)))
    assert one.queue.queued() == []


@pytest.mark.requirement("Q-10")
def test_jobs_are_listed_oldest_first(one: Ports) -> None:
    """Names sort by settled time, whatever the order of acceptance."""
    jobs = [job(evidence(f"Fact {n}.", turn=f"a{n}", settled_ms=n * 1000)) for n in (3, 1, 2)]
    for each in jobs:
        one.queue.accept(each)
    assert one.queue.queued() == [jobs[1].job_id, jobs[2].job_id, jobs[0].job_id]


@pytest.mark.requirement("Q-07", "Q-13", "M-13")
def test_a_damaged_job_is_named_and_set_aside_and_the_rest_go_on(site: Site, one: Ports, two: Ports) -> None:
    """Damage stops one job; setting it aside keeps a copy and leaves the others."""
    bad, good = job(), job(evidence("Other.", turn="b1"))
    one.queue.accept(bad)
    one.queue.accept(good)
    site.damage("job", bad.job_id)
    with pytest.raises(Damaged):
        two.queue.job(bad.job_id)
    kept = two.queue.set_aside(bad.job_id, "damaged")
    assert kept.reason == "damaged"
    assert site.aside() == 1
    assert site.process().queue.queued() == [good.job_id]
    assert two.queue.job(good.job_id) == good


@pytest.mark.requirement("D-02")
def test_the_first_decision_stands_and_is_what_the_loser_gets(one: Ports, two: Ports) -> None:
    """An election has one winner; whoever comes later adopts its bytes."""
    of = job()
    first, later = decision(of), decision(of, kind="dropped", reason="user", decided_ms=9)
    assert one.queue.decision(of.job_id) is None
    assert one.queue.decide(first) == first
    assert two.queue.decide(later) == first
    assert one.queue.decide(later) == first
    assert two.queue.decision(of.job_id) == first


@pytest.mark.requirement("D-02")
def test_a_decision_under_contention_has_one_winner(threaded_site: Site) -> None:
    """Threads of several processes elect at once: all are told the same decision."""
    of, told = job(), []
    offers = [decision(of, decided_ms=n) for n in range(6)]
    processes = [threaded_site.process() for _ in offers]
    together(
        *(lambda p=p, d=d: told.append(p.queue.decide(d)) for p, d in zip(processes, offers, strict=True))
    )
    assert len(told) == len(offers)
    assert set(told) == {threaded_site.process().queue.decision(of.job_id)}


@pytest.mark.requirement("Q-05", "D-12", "D-03")
def test_an_outcome_is_derived_and_other_bytes_fail_closed(one: Ports, two: Ports) -> None:
    """The same outcome again is success; another one is refused and changes nothing."""
    ended = outcome(decision(job(), kind="dropped", reason="user"), None)
    one.queue.close(ended)
    two.queue.close(ended)
    with pytest.raises(Conflict):
        two.queue.close(msgspec.structs.replace(ended, state="dead-lettered"))
    assert two.queue.outcome(ended.job_id) == ended
    assert two.queue.closed(PROJECT) == {ended.job_id}
    assert two.queue.closed(OTHER_PROJECT) == frozenset()


@pytest.mark.requirement("Q-05", "E-05")
def test_a_closed_job_stays_closed_after_expiry(site: Site, one: Ports) -> None:
    """A late close of the same decision finds the tombstone and is success; another decision's is refused."""
    ended = outcome(decision(job(), kind="dropped", reason="user"), None)
    one.queue.close(ended)
    site.expire(outcome_tombstone(ended))
    late = site.process()
    late.queue.close(ended)
    assert late.queue.outcome(ended.job_id) == outcome_tombstone(ended)
    with pytest.raises(Conflict):
        late.queue.close(msgspec.structs.replace(ended, decision_digest="0" * 64))


@pytest.mark.requirement("F-01")
def test_an_event_is_made_once(one: Ports, two: Ports) -> None:
    """Announcing again is success, and other bytes fail closed."""
    ended = outcome(decision(job(), kind="dropped", reason="user"), None)
    assert not one.queue.event_present(ended.job_id)
    one.queue.announce(event(ended, None))
    two.queue.announce(event(ended, None))
    assert two.queue.event_present(ended.job_id)
    assert two.queue.announced(PROJECT) == {ended.job_id}
    with pytest.raises(Conflict):
        two.queue.announce(event(msgspec.structs.replace(ended, reason="other"), None))


# -- claims


@pytest.mark.requirement("Q-03")
def test_a_lane_has_one_owner_while_the_owner_lives(one: Ports, two: Ports) -> None:
    """Another worker gets nothing, and neither does the owner again; other lanes are free."""
    first, second = one.claims.register(), two.claims.register()
    mine = one.claims.claim(LANE, first)
    assert mine is not None
    assert one.claims.holds(mine)
    assert two.claims.claim(LANE, second) is None
    assert one.claims.claim(LANE, first) is None
    assert two.claims.claim(Lane(OTHER_PROJECT, MAIN_ID), second) is not None


@pytest.mark.requirement("Q-03", "Q-09")
def test_a_released_lane_is_taken_with_the_next_ordinal(one: Ports, two: Ports) -> None:
    """A clean stop hands over at once; the old claim is not current any more."""
    mine = _claimed(one)
    one.claims.release(mine)
    theirs = two.claims.claim(LANE, two.claims.register())
    assert theirs is not None
    assert theirs.ordinal > mine.ordinal
    assert not one.claims.holds(mine)
    assert two.claims.holds(theirs)


@pytest.mark.requirement("Q-03")
def test_a_release_counts_for_the_current_claim_only(one: Ports, two: Ports, site: Site) -> None:
    """A superseded owner's late release does not free its successor's lane."""
    mine = _claimed(one)
    site.kill(one, mine.worker)
    theirs = two.claims.claim(LANE, two.claims.register())
    assert theirs is not None
    one.claims.release(mine)
    third = site.process()
    assert third.claims.claim(LANE, third.claims.register()) is None
    assert two.claims.holds(theirs)


@pytest.mark.requirement("Q-03", "Q-09", "A-03")
def test_a_dead_owner_is_proved_gone_and_its_lane_is_taken(site: Site, one: Ports, two: Ports) -> None:
    """Death is seen at once, by proof of life and by no clock."""
    mine = _claimed(one)
    assert not two.claims.gone(mine.worker)
    assert not one.claims.gone(mine.worker)
    site.kill(one, mine.worker)
    assert two.claims.gone(mine.worker)
    assert two.claims.claim(LANE, two.claims.register()) is not None


@pytest.mark.requirement("Q-03", "A-03")
def test_a_stuck_owner_loses_its_lane_but_is_not_held_for_dead(site: Site, one: Ports, two: Ports) -> None:
    """Past the lease without a beat the lane can be taken; the worker is still not proved gone."""
    mine = _claimed(one)
    second = two.claims.register()
    site.clock.seconds += site.lease_seconds
    assert two.claims.claim(LANE, second) is None
    site.clock.seconds += 1
    two.claims.beat(second)
    assert two.claims.claim(LANE, second) is not None
    assert not two.claims.gone(mine.worker)
    assert not one.claims.holds(mine)


@pytest.mark.requirement("Q-03")
def test_a_beat_keeps_the_lane(site: Site, one: Ports, two: Ports) -> None:
    """An owner that makes progress is never stuck, however long it takes."""
    mine = _claimed(one)
    for _ in range(3):
        site.clock.seconds += site.lease_seconds - 1
        one.claims.beat(mine.worker)
    assert two.claims.claim(LANE, two.claims.register()) is None


@pytest.mark.requirement("Q-09")
def test_a_retired_worker_is_gone_and_not_listed(one: Ports, two: Ports) -> None:
    """After a clean stop the worker is gone for everyone."""
    worker, other = one.claims.register(), two.claims.register()
    assert two.claims.workers() == tuple(sorted((worker, other)))
    one.claims.retire(worker)
    assert two.claims.gone(worker)
    assert one.claims.gone(worker)
    assert two.claims.workers() == (other,)


@pytest.mark.requirement("Q-03")
def test_a_claim_under_contention_has_one_winner(threaded_site: Site) -> None:
    """Threads of several processes claim at once: exactly one owns the lane."""
    processes = [threaded_site.process() for _ in range(6)]
    names, won = [p.claims.register() for p in processes], []
    together(
        *(lambda p=p, n=n: won.append(p.claims.claim(LANE, n)) for p, n in zip(processes, names, strict=True))
    )
    assert len([claim for claim in won if claim is not None]) == 1


def _claimed(ports: Ports) -> Claim:
    claim = ports.claims.claim(LANE, ports.claims.register())
    assert claim is not None
    return claim


# -- coverage


@pytest.mark.requirement("E-01", "Q-01", "G-05")
def test_coverage_is_a_fold_over_jobs_ends_and_what_was_left_out(site: Site, one: Ports, two: Ports) -> None:
    """Turns of open, closed and expired jobs and of uncovered records count; other projects' do not."""
    open_one, closed, expired = (job(evidence("F.", turn=f"{letter}1")) for letter in "abc")
    with one.coverage.hold(PROJECT) as held:
        for each in (open_one, closed, expired):
            assert held.accept(each).new
        held.note_uncovered(Uncovered(project=PROJECT, turns=("d1",), reason="secret", noted_ms=1))
    with one.coverage.hold(OTHER_PROJECT) as held:
        held.accept(job(evidence("G.", turn="e1"), project=OTHER_PROJECT))
    for each in (closed, expired):
        two.queue.close(outcome(decision(each, kind="dropped", reason="user"), None))
    site.expire(outcome_tombstone(outcome(decision(expired, kind="dropped", reason="user"), None)))
    taken = dict(site.process().coverage.covered(PROJECT))
    assert taken == {"a1": open_one.job_id, "b1": closed.job_id, "c1": expired.job_id, "d1": "uncovered"}
    assert set(two.coverage.covered(OTHER_PROJECT)) == {"e1"}


@pytest.mark.requirement("E-01")
def test_a_second_capturer_sees_what_the_first_took(one: Ports, two: Ports) -> None:
    """Each commit shows at the other's next hold, in both directions, though both keep their own fold."""
    seen = []
    for turn, taker in zip("abcd", (one, two, one, two), strict=True):
        with taker.coverage.hold(PROJECT) as held:
            seen.append(sorted(held.covered()))
            held.accept(job(evidence("F.", turn=f"{turn}1")))
    assert seen == [[], ["a1"], ["a1", "b1"], ["a1", "b1", "c1"]]


@pytest.mark.requirement("E-01", "M-11")
def test_two_capturers_at_once_take_no_turn_twice(threaded_site: Site) -> None:
    """Planned freely and committed under the lock, every turn goes to one job."""
    taken: list[str] = []

    def capture(ports: Ports) -> None:
        for turn in ("a1", "b1", "c1", "d1"):
            with ports.coverage.hold(PROJECT) as held:
                if turn not in held.covered():
                    held.accept(job(evidence("F.", turn=turn)))
                    taken.append(turn)

    together(
        *(
            lambda p=p: capture(p)
            for p in (threaded_site.process(), threaded_site.process(), threaded_site.process())
        )
    )
    assert sorted(taken) == ["a1", "b1", "c1", "d1"]
    assert len(threaded_site.process().queue.queued()) == 4


# -- lock domains


@pytest.mark.requirement("D-09")
def test_one_lock_domain_at_a_time(one: Ports, two: Ports) -> None:
    """Taking a second domain while one is held is refused at once, and the first goes on."""
    with one.memory.hold(PROJECT):
        with pytest.raises(NestedLock), two.coverage.hold(PROJECT):
            pass
        with pytest.raises(NestedLock):
            one.attempts.reserve(reserved(job()), None)
    with one.coverage.hold(PROJECT), pytest.raises(NestedLock), one.memory.hold(PROJECT):
        pass
    with two.memory.hold(PROJECT) as held:
        assert held.begun() == []
