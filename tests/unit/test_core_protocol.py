"""The next step of a job, whatever records exist, and the next step of a transaction."""

from __future__ import annotations

import msgspec
import pytest

from perdure.core.admission import completion, intent_tombstone, outcome, outcome_tombstone, receipt
from perdure.core.attempt import Attempt, Result
from perdure.core.job import successor
from perdure.core.judge import judge
from perdure.core.memory import empty_main
from perdure.core.proposal import AddOp
from perdure.core.protocol import (
    Admit,
    Announce,
    Begin,
    Cancel,
    Close,
    Continue,
    Decide,
    Dispatch,
    JobFacts,
    Lose,
    Policy,
    Rest,
    Stopped,
    Verdict,
    Wait,
    next_step,
    not_before,
)
from perdure.core.transaction import (
    Compact,
    Complete,
    Finished,
    PutBranch,
    PutReceipt,
    PutRevision,
    TransactionFacts,
    next_transaction_step,
)
from tests.core_values import NOW_MS, PROJECT, branch, decision, fate, job, reconciled, reserved, result

JOB = job()
POLICY = Policy()
LATE = NOW_MS + 10**9
ELECTED = decision(JOB, AddOp(text="We use pnpm here.", evidence=("e1",)))
INTENT = judge(ELECTED, empty_main(PROJECT), forgotten=lambda *_: False, now_ms=NOW_MS)
RECEIPT = receipt(INTENT, completion(INTENT))


def step(
    *, now_ms: int = LATE, me: str = "w1", ordinal: int = 1, job_id: str = JOB.job_id, **facts: object
) -> Verdict:
    """The verdict on these facts."""
    found = msgspec.structs.replace(JobFacts(job_id), **facts)
    return next_step(found, me=me, ordinal=ordinal, now_ms=now_ms, policy=POLICY)


def made(
    number: int, outcome_of: str | None = None, *, state: str = "", worker: str = "w1", **more: object
) -> Attempt:
    """An attempt in a state, or settled with an outcome."""
    own = reserved(JOB, number, worker=worker)
    attempt = Attempt(own, attempt_id=own.attempt_id)
    if state == "cancelled":
        return msgspec.structs.replace(attempt, fate=fate(own, "cancelled"))
    if state == "reserved":
        return attempt
    sent = msgspec.structs.replace(attempt, fate=fate(own, "dispatched"), unknown=state == "unknown")
    if outcome_of is None:
        return sent
    ended = msgspec.structs.replace(result(own), outcome=outcome_of, **more)
    return msgspec.structs.replace(sent, result=ended)


@pytest.mark.requirement("D-12", "Q-05", "F-01")
def test_a_closed_job_only_announces() -> None:
    """An outcome ends all other work, even beside damage; its event is made once; a tombstone is final."""
    ended = outcome(decision(JOB, kind="dropped", reason="user"), None)
    assert step(outcome=ended, damaged=("x",), job=JOB) == Announce(ended)
    assert step(outcome=ended, event_present=True, damaged=("x",), job=JOB) == Rest()
    assert step(outcome=outcome_tombstone(ended), damaged=("x",), job=JOB) == Rest()


@pytest.mark.requirement("M-13", "D-03")
def test_damage_stops_a_job_that_is_not_closed() -> None:
    """Nothing is done on records that cannot be read, and what they are is told."""
    assert step(damaged=("a", "b"), job=JOB, decision=ELECTED, receipt=RECEIPT) == Stopped(("a", "b"))


@pytest.mark.requirement("G-01")
def test_a_job_that_was_never_accepted_rests() -> None:
    """Without a job there is nothing to do."""
    assert step() == Rest()
    assert step(receipt=RECEIPT) == Rest()


@pytest.mark.requirement("D-12")
def test_a_receipt_leads_to_the_outcome() -> None:
    """The outcome follows from decision and receipt, whatever else is there."""
    assert step(job=JOB, decision=ELECTED, receipt=RECEIPT, attempts=(made(1),)) == Close(
        outcome(ELECTED, RECEIPT)
    )


@pytest.mark.requirement("D-03")
def test_a_receipt_of_another_decision_stops_the_job() -> None:
    """Records that do not belong together fail closed."""
    other = msgspec.structs.replace(RECEIPT, decision_digest="0" * 64)
    assert isinstance(step(decision=ELECTED, receipt=other), Stopped)


@pytest.mark.requirement("Q-11")
def test_a_stale_end_is_continued_before_it_is_closed() -> None:
    """The successor is durable before the outcome that names it; after two stale ends there is none."""
    stale = judge(ELECTED, branch(), forgotten=lambda *_: False, now_ms=NOW_MS)
    ended = receipt(stale, completion(stale))
    following = successor(JOB, stale=True)
    assert ended.successor == following.job_id
    assert step(decision=ELECTED, receipt=ended) == Continue(following)
    assert step(decision=ELECTED, receipt=ended, successor_present=True) == Close(outcome(ELECTED, ended))
    forged = msgspec.structs.replace(ended, successor="f" * 76)
    assert isinstance(step(decision=ELECTED, receipt=forged), Stopped)
    third = successor(following, stale=True)
    last = decision(third)
    forged = msgspec.structs.replace(
        receipt(judge(last, branch(), forgotten=lambda *_: False, now_ms=1), completion(stale)),
        successor="f" * 76,
    )
    assert isinstance(step(decision=last, receipt=forged), Stopped)


@pytest.mark.requirement("D-02", "D-12")
def test_each_decision_has_its_own_way_on() -> None:
    """Elected goes to admission, superseded to its successor first, the others to their outcome."""
    assert step(job=JOB, decision=ELECTED) == Admit(ELECTED)
    for kind in ("dead", "dropped"):
        ended = decision(JOB, kind=kind, reason="user")
        assert step(decision=ended) == Close(outcome(ended, None))
    superseded = decision(JOB, kind="superseded")
    assert step(decision=superseded) == Continue(successor(JOB, stale=False))
    assert step(decision=superseded, successor_present=True) == Close(outcome(superseded, None))


@pytest.mark.requirement("S-01")
def test_an_observed_job_is_never_admitted() -> None:
    """Its elected proposal ends as a no-op, whatever the mode is by now (rule 9)."""
    watched = decision(job(mode="observe"), AddOp(text="We use pnpm here.", evidence=("e1",)))
    verdict = step(decision=watched)
    assert isinstance(verdict, Close)
    ended = verdict.outcome
    assert (ended.state, ended.reason, ended.receipt_digest) == (
        "no-op",
        "observed",
        None,
    )


@pytest.mark.requirement("A-02", "A-03", "Q-03")
def test_an_open_attempt_is_sent_settled_or_waited_for() -> None:
    """Ours is sent; ours that was sent before is lost; an orphan is settled; a living owner's is not."""
    corrected = made(1, "invalid", correction="say more")
    own = made(2, state="reserved")
    assert step(job=JOB, attempts=(corrected, own)) == Dispatch(own, "say more")
    sent = made(2)
    assert step(job=JOB, attempts=(sent,)) == Lose(sent.attempt_id)
    theirs, sent_by_them = made(1, state="reserved", worker="w2"), made(1, worker="w2")
    gone = frozenset({"w2"})
    assert step(job=JOB, attempts=(theirs,), owners_gone=gone) == Cancel(theirs.attempt_id, "owner gone")
    assert step(job=JOB, attempts=(sent_by_them,), owners_gone=gone) == Lose(sent_by_them.attempt_id)
    for attempt in (theirs, sent_by_them):
        waits = step(job=JOB, attempts=(attempt,))
        assert isinstance(waits, Wait)
        assert (waits.until_ms, waits.blocks_lane) == (LATE + 1000, True)


@pytest.mark.requirement("A-03")
def test_an_open_attempt_whose_owner_cannot_be_read_is_waited_for() -> None:
    """Nobody's death is proved, so nothing is settled."""
    assert isinstance(step(job=JOB, attempts=(Attempt(None, attempt_id="x"),)), Wait)


@pytest.mark.requirement("D-02", "Q-14")
def test_only_a_proposal_or_nothing_is_elected_and_the_first_wins() -> None:
    """Failed and invalid attempts never win; an answer that came late may, while nothing is decided."""
    wins = made(2, "proposal")
    late = msgspec.structs.replace(wins, unknown=True)
    for winner in (wins, late, made(2, "nothing")):
        found = step(job=JOB, attempts=(made(1, "invalid"), winner, made(3, "proposal")))
        assert found == Decide("elected", "", winner)
    for outcome_of in ("invalid", "availability", "configuration"):
        assert not isinstance(step(job=JOB, attempts=(made(1, outcome_of),)), Decide)


@pytest.mark.requirement("Q-04", "Q-14")
def test_permanent_refusal_and_the_limit_of_invalid_output_dead_letter() -> None:
    """Invalid output is retried with guidance up to the limit, and then ends as such."""
    assert step(job=JOB, attempts=(made(1, "permanent"),)) == Decide("dead", "permanent", None)
    invalid = tuple(made(n, "invalid", correction=f"try {n}") for n in range(1, 4))
    assert step(job=JOB, attempts=invalid) == Decide("dead", "invalid-output", None)
    assert step(job=JOB, attempts=invalid[:2], now_ms=0) == Begin(3, "try 2")
    assert step(job=JOB) == Begin(1, None)


@pytest.mark.requirement("G-01", "Q-12")
def test_an_outage_never_ends_a_job() -> None:
    """However often the provider fails, the next attempt comes after a pause."""
    for outcome_of in ("availability", "configuration"):
        attempts = tuple(made(n, outcome_of) for n in range(1, 60))
        assert isinstance(step(job=JOB, attempts=attempts, now_ms=NOW_MS), Wait)
        assert step(job=JOB, attempts=attempts) == Begin(60, None)
    lost = tuple(made(n, state="unknown") for n in range(1, 60))
    assert step(job=JOB, attempts=lost) == Begin(60, None)


@pytest.mark.requirement("A-03", "Q-03")
def test_a_newer_claim_takes_back_what_an_older_one_did_not_send() -> None:
    """A reservation of an owner that lives and does nothing is cancelled; what was sent is waited for."""
    stuck = made(1, state="reserved", worker="other")
    cancelled = step(job=JOB, attempts=(stuck,), ordinal=2)
    assert cancelled == Cancel(stuck.attempt_id, "the lane was taken over")
    assert isinstance(step(job=JOB, attempts=(stuck,), ordinal=1), Wait)
    assert isinstance(step(job=JOB, attempts=(stuck,), ordinal=0), Wait)
    assert isinstance(step(job=JOB, attempts=(made(1, worker="other"),), ordinal=2), Wait)


YEAR_MS = 365 * 86_400_000


@pytest.mark.requirement("Q-04", "Q-12")
@pytest.mark.parametrize("ended", ["availability", "configuration", None])
def test_a_clock_that_was_ahead_holds_nothing_up(ended: str | None) -> None:
    """Records dated a year after now say nothing of how long ago they were made: the next attempt begins,
    and the pause after it is counted by the clock of today.
    """
    ahead = made(1, ended, settled_ms=NOW_MS) if ended else made(1, None, state="unknown")
    assert step(job=JOB, attempts=(ahead,), now_ms=NOW_MS - YEAR_MS) == Begin(2, None)
    own = reserved(JOB, 2)
    today = result(own, outcome="availability", settled_ms=NOW_MS - YEAR_MS)
    after = Attempt(own, fate=fate(own, "dispatched"), result=today, attempt_id=own.attempt_id)
    waits = step(job=JOB, attempts=(ahead, after), now_ms=NOW_MS - YEAR_MS)
    assert isinstance(waits, Wait)
    assert waits.until_ms == NOW_MS - YEAR_MS + 40_000


@pytest.mark.requirement("Q-11")
def test_a_branch_changed_by_a_clock_that_was_ahead_counts_as_quiet() -> None:
    """The wait for a quiet branch is never longer than its one minute."""
    twice = successor(successor(JOB, stale=True), stale=True)
    assert step(job=twice, branch_changed_ms=LATE + YEAR_MS) == Begin(1, None)


@pytest.mark.requirement("Q-11")
def test_after_two_stale_ends_a_job_waits_for_a_quiet_branch() -> None:
    """Younger jobs go on meanwhile (rule 11)."""
    twice = successor(successor(JOB, stale=True), stale=True)
    changed_ms = LATE - 1
    waits = step(job=twice, branch_changed_ms=changed_ms)
    assert isinstance(waits, Wait)
    assert (waits.until_ms, waits.blocks_lane) == (changed_ms + 60_000, False)
    assert step(job=twice, branch_changed_ms=changed_ms, now_ms=changed_ms + 60_000) == Begin(1, None)
    once = successor(JOB, stale=True)
    assert step(job=once, branch_changed_ms=changed_ms) == Begin(1, None)


def pause(*attempts: Attempt) -> int:
    """Seconds after the newest record until the next attempt may start."""
    return (not_before(attempts, POLICY, LATE)[0] - NOW_MS) // 1000


@pytest.mark.requirement("Q-04", "Q-12")
def test_pauses_grow_to_their_bounds_per_class() -> None:
    """Availability doubles from 20 s to 15 min, unknown ends from 1 s; configuration waits 10 min."""
    failures = [made(n, "availability") for n in range(1, 40)]
    assert [pause(*failures[:n]) for n in (1, 2, 3, 6, 7, 39)] == [20, 40, 80, 640, 900, 900]
    lost = [made(n, state="unknown") for n in range(1, 40)]
    assert [pause(*lost[:n]) for n in (1, 2, 11, 39)] == [1, 2, 900, 900]
    assert pause(made(1, "configuration")) == 600
    assert pause(made(1, "availability", retry_after_seconds=70)) == 70
    assert pause(made(1, "availability", retry_after_seconds=2)) == 20
    assert pause(made(1, "availability", retry_after_seconds=5000)) == 5000


@pytest.mark.requirement("Q-04", "Q-12")
def test_the_streak_ends_at_an_answer_and_skips_cancelled_attempts() -> None:
    """Invalid output is corrected at once; a cancelled attempt neither counts nor ends a streak."""
    assert not_before((), POLICY, LATE) == (0, "")
    assert not_before((made(1, "availability"), made(2, "invalid")), POLICY, LATE) == (0, "")
    assert not_before((made(1, state="cancelled"),), POLICY, LATE) == (0, "")
    assert pause(made(1, "availability"), made(2, "invalid"), made(3, "availability")) == 20
    assert pause(made(1, "availability"), made(2, state="cancelled"), made(3, "availability")) == 40
    assert pause(made(1, "availability"), made(2, state="cancelled")) == 20
    word = msgspec.structs.replace(made(1, state="unknown"), reconciled=reconciled(reserved(JOB)))
    assert pause(word) == 1
    assert not_before((Attempt(None, unknown=True, attempt_id="x"),), POLICY, LATE)[0] == 1000


def after(intent: object = INTENT, **facts: object) -> object:
    """The next step of a transaction."""
    base = {
        "branch_digest": INTENT.base_digest,
        "revision_present": False,
        "completion": None,
        "receipt": None,
    }
    return next_transaction_step(TransactionFacts(intent, **{**base, **facts}))  # type: ignore[arg-type]  # by name


@pytest.mark.requirement("D-06", "D-07")
def test_a_transaction_goes_from_intent_to_tombstone_in_one_order() -> None:
    """Each step follows from what is there; matching artefacts are passed over."""
    done = completion(INTENT)
    assert INTENT.branch is not None
    assert after() == PutBranch(INTENT.branch)
    at_result = {"branch_digest": INTENT.result_digest}
    assert after(**at_result) == PutRevision(INTENT)
    assert after(**at_result, revision_present=True) == Complete(done)
    assert after(branch_digest="later", revision_present=True, completion=done) == PutReceipt(RECEIPT)
    assert after(branch_digest="later", completion=done, receipt=RECEIPT) == Compact(INTENT)
    assert after(intent_tombstone(INTENT)) == Finished()


@pytest.mark.requirement("D-06", "D-03")
def test_a_branch_that_is_neither_base_nor_result_is_a_conflict() -> None:
    """Nothing of memory is touched, and the receipt says so."""
    conflict = completion(INTENT, conflict=True)
    assert after(branch_digest="other") == Complete(conflict)
    assert after(branch_digest=None) == Complete(conflict)
    ended = receipt(INTENT, conflict)
    assert (ended.verdict, ended.reasons[-1].code, ended.result_digest, ended.revision_seq) == (
        "rejected",
        "conflict",
        None,
        None,
    )
    assert outcome(ELECTED, ended).reason == "conflict"


@pytest.mark.requirement("D-08", "D-10")
def test_what_changes_nothing_completes_at_once_and_foreground_writes_have_no_receipt() -> None:
    """A no-op goes straight to completion; without a job the intent is removed after it."""
    nothing = judge(decision(JOB), empty_main(PROJECT), forgotten=lambda *_: False, now_ms=NOW_MS)
    assert after(nothing) == Complete(completion(nothing))
    foreground = msgspec.structs.replace(INTENT, job_id=None, decision_digest=None)
    assert after(foreground, completion=completion(foreground)) == Compact(foreground)
    with pytest.raises(ValueError, match="review"):
        receipt(foreground, completion(foreground))


def test_results_used_here_are_of_the_classes_that_exist() -> None:
    """The builder of this file cannot invent an outcome."""
    for kind in ("proposal", "nothing", "invalid", "availability", "configuration", "permanent"):
        found = made(1, kind).result
        assert found is not None
        assert msgspec.convert(msgspec.to_builtins(found), Result) == found
