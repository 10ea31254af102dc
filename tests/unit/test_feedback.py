"""What reviews did is told once, for as long as it is of use, and what they do now is derived."""

from __future__ import annotations

import contextlib

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.core.admission import Event, OutcomeTombstone
from perdure.core.mailbox import Shown
from perdure.errors import StorageError
from perdure.ports.provider import Failed, Reply, ReviewRequest
from perdure.service.feedback import CARDS_MAX
from perdure.service.retention import UNSEEN_DAYS
from tests.fakes import (
    EVIDENCE_DAYS,
    PROJECT,
    ManualClock,
    Rig,
    ScriptedProvider,
    SequentialIds,
    finding_nothing,
    proposing,
    turns,
)
from tests.services import broken, feedback_service, jobs_service, purge_service, retention
from tests.simulated_disk import Crashed, SimulatedDisk

PORT = "The port of the service is 4100."


def refusing(_request: ReviewRequest) -> Reply:
    """A request that will never be served."""
    return Failed("permanent", "http 400", None, None)


def unavailable(_request: ReviewRequest) -> Reply:
    """An outage."""
    return Failed("availability", "http 503", None, None)


def misconfigured(_request: ReviewRequest) -> Reply:
    """A refused credential."""
    return Failed("configuration", "http 401", None, None)


def reviewed(*script: object, texts: tuple[str, ...] = (PORT,)) -> Rig:
    """A rig in which each text's review has ended, with these answers and then proposals."""
    provider = ScriptedProvider(list(script), otherwise=proposing)  # type: ignore[arg-type] # scripts
    rig = Rig(SimulatedDisk(), provider=provider)
    rig.prepare()
    for number, text in enumerate(texts):
        rig.capture(turns(text, first=number))
        rig.drain()
    return rig


def disk_of(rig: Rig) -> SimulatedDisk:
    """The rig's disk."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk


def another(rig: Rig, process: str) -> Rig:
    """Another process in the same home."""
    return Rig(disk_of(rig).process(process), clock=rig.clock, ids=SequentialIds(process))


def let_days_pass(rig: Rig, days: int) -> None:
    """One look of retention a day."""
    for _ in range(days):
        rig.clock.advance(86_400)
        retention(rig).run()


def mailbox_of(rig: Rig) -> list[str]:
    """The endings of the mailbox's files, "" for an event."""
    names = disk_of(rig).files()
    found = [name.rpartition("/")[2] for name in names if "/mailbox/" in name]
    return sorted(name.partition(".")[2] for name in found)


@pytest.mark.requirement("F-01")
def test_a_change_is_told_with_its_diff_and_the_way_back() -> None:
    """The card holds what the review really changed, and the command that takes it back does."""
    rig = reviewed()
    (card,) = feedback_service(rig).take(PROJECT, host="pi", session="s")
    (entry,) = rig.memory_service().branch().entries
    assert (card.state, card.branch, card.revision) == ("applied", "main", 1)
    assert [change.after for change in card.changes] == [entry]
    assert [(line.sign, PORT in line.text) for line in card.diff] == [("+", True)]
    assert (card.undo, card.retry, card.news, card.seen) == ("perdure undo 1", "", True, False)
    rig.memory_service().undo(int(card.undo.rpartition(" ")[2]))
    assert rig.memory_service().branch().entries == ()


@pytest.mark.requirement("F-01", "M-02")
def test_the_way_back_names_a_branch_that_is_not_in_use() -> None:
    """What was reviewed for main is undone on main, whichever branch is in use by then."""
    rig = reviewed()
    rig.memory_service().fork("trial")
    rig.memory_service().use("trial")
    (card,) = feedback_service(rig).peek(PROJECT)
    assert card.undo == "perdure undo 1 --branch main"


@pytest.mark.requirement("F-04", "Q-06")
def test_a_failure_offers_a_retry_that_keeps_the_evidence() -> None:
    """The card of a dead letter names the command; the next generation reviews the same turns and is told."""
    rig = reviewed(refusing)
    (card,) = feedback_service(rig).take(PROJECT, host="pi", session="s")
    assert (card.state, card.undo, card.retry) == ("dead-lettered", "", f"perdure jobs retry {card.short}")
    retried = jobs_service(rig).retry(card.retry.rpartition(" ")[2], PROJECT)
    assert retried.generation == 2
    rig.drain()
    (again,) = feedback_service(rig).take(PROJECT, host="pi", session="s")
    assert (again.job_id, again.state) == (retried.successor, "applied")


@pytest.mark.requirement("F-03")
def test_open_hosts_and_later_sessions_show_it_once_in_all() -> None:
    """Two hosts that listed the same news: the second has nothing left, nor has any later session."""
    rig = reviewed(proposing, refusing, texts=(PORT, "Releases go out on Thursdays."))
    first, second = another(rig, "pi"), another(rig, "codex")
    mine = feedback_service(first).take(PROJECT, host="pi", session="s", most=1)
    theirs = feedback_service(second).take(PROJECT, host="codex", session="t")
    assert [card.state for card in (*mine, *theirs)] == ["applied", "dead-lettered"]
    for process in (first, second, another(rig, "later")):
        assert feedback_service(process).take(PROJECT, host="pi", session="s") == ()
        assert [card.seen for card in feedback_service(process).all(PROJECT)] == [True, True]
    assert broken(rig) == ()


@pytest.mark.requirement("F-03")
def test_hosts_that_interleave_at_any_operation_show_it_once() -> None:
    """Whenever the other host comes in between, exactly one of the two has the card."""
    length = _operations_of_a_take()
    assert length > 3
    winners = set()
    for at in range(1, length + 1):
        rig = reviewed()
        host, other = another(rig, "host"), another(rig, "other")
        taken: list[str] = []
        disk = disk_of(rig)
        begun = len(disk.operations)

        def come_in(
            _operation: str,
            _path: str,
            *,
            disk: SimulatedDisk = disk,
            when: int = begun + at,
            other: Rig = other,
            taken: list[str] = taken,
        ) -> None:
            if len(disk.operations) >= when:
                disk.watch(lambda *_: None)
                taken.extend(["other"] * len(feedback_service(other).take(PROJECT, host="o", session="t")))

        disk.watch(come_in)
        taken.extend(["host"] * len(feedback_service(host).take(PROJECT, host="h", session="s")))
        assert len(taken) == 1, (at, taken)
        winners.update(taken)
    assert winners == {"host", "other"}


@pytest.mark.requirement("F-03", "E-05")
def test_a_host_that_sleeps_until_the_news_has_expired_stays_silent() -> None:
    """Whenever the other shows it and it expires in between: it is shown once at most; nothing is left."""
    for at in range(1, _operations_of_a_take() + 1):
        rig = reviewed()
        host, other = another(rig, "host"), another(rig, "other")
        taken: list[str] = []
        disk = disk_of(rig)

        def sleep(
            _operation: str,
            _path: str,
            *,
            disk: SimulatedDisk = disk,
            when: int = len(disk.operations) + at,
            other: Rig = other,
            taken: list[str] = taken,
        ) -> None:
            if len(disk.operations) >= when:
                disk.watch(lambda *_: None)
                taken.extend(["other"] * len(feedback_service(other).take(PROJECT, host="o", session="t")))
                retention(other).expire(PROJECT, tuple(other.queue.queued()))

        disk.watch(sleep)
        taken.extend(["host"] * len(feedback_service(host).take(PROJECT, host="h", session="s")))
        assert len(taken) <= 1, (at, taken)
        assert mailbox_of(rig) == [], at
        assert broken(rig) == ()


def _operations_of_a_take() -> int:
    rig = reviewed()
    before = len(disk_of(rig).operations)
    feedback_service(rig).take(PROJECT, host="h", session="s")
    return len(disk_of(rig).operations) - before


@pytest.mark.requirement("F-03")
def test_a_crash_between_electing_and_displaying_shows_it_never_again() -> None:
    """At most once: whoever died with the news in hand keeps it, and the whole list still has it."""
    rig = reviewed()
    feedback_service(another(rig, "victim")).take(PROJECT, host="pi", session="s")
    disk_of(rig).reboot("lost")
    later = Rig(rig.disk, clock=rig.clock)
    assert feedback_service(later).take(PROJECT, host="pi", session="t") == ()
    (card,) = feedback_service(later).all(PROJECT)
    assert (card.seen, card.state) == (True, "applied")


@pytest.mark.requirement("F-03")
def test_nothing_is_displayed_before_it_is_durable_who_does() -> None:
    """A crash at any operation of a take, or a disk that fails then, gives no card that comes again."""
    for at in range(1, _operations_of_a_take() + 1):
        rig = reviewed()
        mine: list[str] = []
        with contextlib.suppress(Crashed, StorageError):
            victim = Rig(disk_of(rig).process("victim", crash_at=at), clock=rig.clock)
            mine += [card.job_id for card in feedback_service(victim).take(PROJECT, host="pi", session="s")]
        for state in disk_of(rig).surviving_states(limit=6, seed=at):
            after = Rig(state, clock=rig.clock)
            again = [c.job_id for c in feedback_service(after).take(PROJECT, host="pi", session="t")]
            assert len(mine + again) <= 1, at
            assert broken(after) == ()


@pytest.mark.requirement("F-01")
def test_reviews_that_found_nothing_interrupt_nobody() -> None:
    """They are in the list of everything, and no session shows them."""
    rig = reviewed(finding_nothing)
    assert feedback_service(rig).take(PROJECT, host="pi", session="s") == ()
    (card,) = feedback_service(rig).all(PROJECT)
    assert (card.state, card.news, card.seen) == ("no-op", False, False)


@pytest.mark.requirement("F-03")
def test_one_call_tells_a_bounded_number() -> None:
    """The oldest first; what is left is told by the next call."""
    texts = tuple(f"Shelf {number} holds the drawings." for number in range(CARDS_MAX + 1))
    rig = reviewed(texts=texts)
    first = feedback_service(rig).take(PROJECT, host="pi", session="s")
    second = feedback_service(rig).take(PROJECT, host="pi", session="s")
    assert (len(first), len(second)) == (CARDS_MAX, 1)
    told = [change.after.text for card in (*first, *second) for change in card.changes if change.after]
    assert told == list(texts)


# -- what stays, and for how long


@pytest.mark.requirement("F-03", "E-05")
def test_news_that_nobody_saw_outlives_the_evidence_and_is_shown_then() -> None:
    """The evidence goes in time; what came of it stays for the user who comes back later."""
    rig = reviewed()
    (job_id,) = rig.queue.queued()
    let_days_pass(rig, EVIDENCE_DAYS + 3)
    assert rig.queue.queued() == []
    assert isinstance(rig.queue.outcome(job_id), OutcomeTombstone)
    assert mailbox_of(rig) == ["kept"]
    (card,) = feedback_service(rig).take(PROJECT, host="pi", session="s")
    assert (card.job_id, card.undo, card.retry) == (job_id, "perdure undo 1", "")
    assert feedback_service(rig).take(PROJECT, host="pi", session="s") == ()
    assert mailbox_of(rig) == ["kept", "shown"]
    assert broken(rig) == ()
    let_days_pass(rig, 13)
    assert [card.seen for card in feedback_service(rig).all(PROJECT)] == [True]
    let_days_pass(rig, 2)
    assert mailbox_of(rig) == []
    assert feedback_service(rig).all(PROJECT) == ()


@pytest.mark.requirement("F-03", "E-05")
def test_news_that_was_shown_late_stays_as_long_as_any() -> None:
    """Shown on the last day of its job, it is still in the whole list for the time that evidence has."""
    rig = reviewed()
    let_days_pass(rig, 13)
    feedback_service(rig).take(PROJECT, host="pi", session="s")
    let_days_pass(rig, 3)
    assert rig.queue.queued() == []
    assert [card.seen for card in feedback_service(rig).all(PROJECT)] == [True]
    let_days_pass(rig, 13)
    assert mailbox_of(rig) == []


@pytest.mark.requirement("F-03", "E-05")
def test_what_is_shown_at_once_goes_with_its_job() -> None:
    """Event and record of showing go together, and nothing is kept of what is no news."""
    rig = reviewed(finding_nothing, proposing, texts=(PORT, "Releases go out on Thursdays."))
    feedback_service(rig).take(PROJECT, host="pi", session="s")
    assert mailbox_of(rig) == ["", "", "shown"]
    let_days_pass(rig, EVIDENCE_DAYS + 4)
    assert mailbox_of(rig) == []


@pytest.mark.requirement("F-03", "E-05")
def test_news_that_nobody_ever_sees_goes_in_the_end() -> None:
    """After 180 days, and never while it is younger."""
    rig = reviewed()
    let_days_pass(rig, UNSEEN_DAYS - 1)
    assert mailbox_of(rig) == ["kept"]
    let_days_pass(rig, 3)
    assert mailbox_of(rig) == []


@pytest.mark.requirement("F-03")
def test_a_host_whose_clock_runs_ahead_does_not_keep_news_for_ever() -> None:
    """A showing that is dated in the far future counts as one at the end of the time for unseen news."""
    rig = reviewed()
    ahead = ManualClock()
    ahead.advance(10_000 * 86_400)
    feedback_service(Rig(rig.disk, clock=ahead)).take(PROJECT, host="pi", session="s")
    let_days_pass(rig, UNSEEN_DAYS + EVIDENCE_DAYS - 1)
    assert mailbox_of(rig) == ["kept", "shown"]
    let_days_pass(rig, 3)
    assert mailbox_of(rig) == []


@pytest.mark.requirement("M-12", "F-03")
def test_a_purge_takes_kept_news_and_its_showing() -> None:
    """What is forgotten everywhere is in no mailbox, whether its job has expired or not."""
    for days in (0, EVIDENCE_DAYS + 3):
        rig = reviewed()
        let_days_pass(rig, days)
        feedback_service(rig).take(PROJECT, host="pi", session="s")
        assert any(PORT.encode() in data for data in disk_of(rig).files().values())
        done = purge_service(rig).forget_everywhere(PROJECT, text=PORT)
        assert done.left == []
        assert mailbox_of(rig) == []
        assert not any(PORT.encode() in data for data in disk_of(rig).files().values())
        assert broken(rig) == ()


@pytest.mark.requirement("F-03")
def test_a_showing_that_came_too_late_is_swept() -> None:
    """Its host died before it could take it away again; nothing was displayed."""
    rig = reviewed()
    (job_id,) = rig.queue.queued()
    feedback_service(rig).take(PROJECT, host="pi", session="s")
    let_days_pass(rig, EVIDENCE_DAYS + 4)
    rig.records.create(layout.shown(job_id), Shown(job_id, "codex", "ab" * 16, rig.clock.now_ms()))
    assert broken(rig) == ()
    let_days_pass(rig, 1)
    assert mailbox_of(rig) == []


# -- verify


@pytest.mark.requirement("F-03", "D-03")
def test_verify_names_what_no_host_and_no_expiry_can_leave() -> None:
    """V-18: a showing of another job or of nothing, and a kept event that is not the job's."""
    rig = reviewed()
    (job_id,) = rig.queue.queued()
    event = rig.records.read(layout.event(job_id), Event)
    assert event is not None
    shown = Shown(job_id, "pi", "ab" * 16, 1)
    elsewhere = job_id[:-1] + ("0" if job_id[-1] != "0" else "1")
    for path, record, code in (
        (layout.shown(job_id), msgspec.structs.replace(shown, job_id=elsewhere), "name"),
        (layout.shown(elsewhere), msgspec.structs.replace(shown, job_id=elsewhere), "order"),
        (layout.kept(job_id), msgspec.structs.replace(event, job_id=elsewhere), "name"),
        (layout.kept(elsewhere), msgspec.structs.replace(event, job_id=elsewhere), "order"),
        (layout.kept(job_id), msgspec.structs.replace(event, reason="other"), "derived"),
    ):
        rig.records.create(path, record)
        found = [(each.invariant, each.code, each.path) for each in broken(rig)]
        assert found == [("V-18", code, path)]
        rig.records.remove(path)
    assert broken(rig) == ()


# -- what goes on


@pytest.mark.requirement("F-02", "F-01")
def test_progress_is_derived_from_the_queue() -> None:
    """An accepted job is on the list before anybody reviews it; then each state has its word."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([unavailable]))
    rig.prepare()
    (job_id,) = rig.capture(turns(PORT)).jobs
    (queued,) = feedback_service(rig).progress(PROJECT)
    assert (queued.job_id, queued.doing, queued.turns) == (job_id, "queued", 1)
    seen: list[str] = []
    rig.provider.before_review = lambda _request: seen.extend(
        row.doing for row in feedback_service(another(rig, "host")).progress(PROJECT)
    )
    rig.drain()
    (retrying,) = feedback_service(rig).progress(PROJECT)
    assert seen == ["reviewing"]
    assert retrying.doing == "retrying"
    assert retrying.until_ms > rig.clock.now_ms()
    rig.clock.advance(3_600)
    (due,) = feedback_service(rig).progress(PROJECT)
    assert (due.doing, due.until_ms) == ("retrying", 0)
    rig.drain()
    assert feedback_service(rig).progress(PROJECT) == ()
    assert [card.job_id for card in feedback_service(rig).peek(PROJECT)] == [job_id]


@pytest.mark.requirement("F-02")
def test_what_waits_for_the_user_is_paused() -> None:
    """A refused credential or a damaged record is told as a pause with its reason, not as a retry."""
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider([misconfigured]))
    rig.prepare()
    (job_id,) = rig.capture(turns(PORT)).jobs
    rig.drain()
    (paused,) = feedback_service(rig).progress(PROJECT)
    assert paused.doing == "paused"
    assert "credentials" in paused.reason
    disk_of(rig).put(layout.decision(job_id), b"{}")
    (stopped,) = feedback_service(Rig(rig.disk, clock=rig.clock)).progress(PROJECT)
    assert (stopped.doing, layout.decision(job_id) in stopped.reason) == ("paused", True)


@pytest.mark.requirement("F-02")
def test_a_decided_job_is_applying() -> None:
    """Cut off between its decision and its outcome."""
    probe = reviewed()
    (place,) = (
        number
        for number, (kind, path) in enumerate(disk_of(probe).operations, 1)
        if kind == "link" and "/outcomes/" in path
    )
    rig = Rig(SimulatedDisk(), provider=ScriptedProvider(otherwise=proposing))
    rig.prepare()
    rig.capture(turns(PORT))
    disk_of(rig).crash_at(place)
    with contextlib.suppress(Crashed):
        rig.drain()
    disk_of(rig).reboot("kept")
    (row,) = feedback_service(Rig(rig.disk, clock=rig.clock)).progress(PROJECT)
    assert row.doing == "applying"
