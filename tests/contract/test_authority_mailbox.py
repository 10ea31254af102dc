"""One behavioural suite for every authority: events are shown once, and news outlives its job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from perdure.core.admission import Event, Outcome, event, outcome, outcome_tombstone
from perdure.core.job import Job
from perdure.core.mailbox import Shown
from tests.contract.authorities import OTHER_PROJECT, Ports, Site, together
from tests.core_values import PROJECT, decision, evidence, job


def ended(of: Job, **changed: Any) -> Outcome:
    """A dead letter, or what is changed of it."""
    plain = outcome(decision(of, kind="dead", reason="refused"), None)
    return msgspec.structs.replace(plain, **changed)


def told(ports: Ports, of: Job, **changed: Any) -> Event:
    """A job that ended and whose event was made."""
    end = ended(of, **changed)
    ports.queue.close(end)
    made = event(end, None)
    ports.queue.announce(made)
    return made


def shown(job_id: str, host: str = "pi", *, shown_ms: int = 5) -> Shown:
    """A host's word that it shows an event."""
    return Shown(job_id=job_id, host=host, session="ab" * 16, shown_ms=shown_ms)


def other_job(text: str) -> Job:
    """A job over other evidence."""
    return job(evidence(text))


@pytest.mark.requirement("F-01", "F-03")
def test_news_is_listed_in_the_order_in_which_reviews_ended(one: Ports, two: Ports) -> None:
    """Oldest end first, whatever the ids are; another project's mailbox holds none of it."""
    late, early = told(one, job(), ended_ms=900), told(one, other_job("Another."), ended_ms=800)
    assert [found.event for found in two.mailbox.unseen(PROJECT)] == [early, late]
    assert two.mailbox.unseen(OTHER_PROJECT) == two.mailbox.all(OTHER_PROJECT) == ()


@pytest.mark.requirement("F-03")
def test_an_event_is_shown_by_the_first_who_asks_alone(site: Site, one: Ports, two: Ports) -> None:
    """Neither another host nor the same one again, nor one that starts later, may show it."""
    made = told(one, job())
    (listed,) = two.mailbox.unseen(PROJECT)
    assert one.mailbox.show(shown(made.job_id))
    assert not two.mailbox.show(shown(listed.event.job_id, "codex"))
    assert not one.mailbox.show(shown(made.job_id))
    for ports in (one, two, site.process()):
        assert ports.mailbox.unseen(PROJECT) == ()
        (all_of_it,) = ports.mailbox.all(PROJECT)
        assert (all_of_it.seen, all_of_it.shown) == (True, shown(made.job_id))


@pytest.mark.requirement("F-03")
def test_of_many_hosts_at_once_one_shows_it(threaded_site: Site) -> None:
    """However close they come."""
    made = told(threaded_site.process(), job())
    hosts = [threaded_site.process() for _ in range(6)]
    mine: list[str] = []

    def ask(place: int) -> None:
        if hosts[place].mailbox.show(shown(made.job_id, f"host-{place}")):
            mine.append(f"host-{place}")

    together(*(lambda place=place: ask(place) for place in range(len(hosts))))
    (standing,) = threaded_site.process().mailbox.all(PROJECT)
    assert standing.shown is not None
    assert mine == [standing.shown.host]


@pytest.mark.requirement("F-01")
@pytest.mark.parametrize(
    ("state", "successor", "news"),
    [
        ("applied", None, True),
        ("rejected", None, True),
        ("dead-lettered", None, True),
        ("stale", None, True),
        ("stale", "another", False),
        ("no-op", None, False),
        ("dropped", None, False),
        ("superseded", "another", False),
    ],
)
def test_what_changed_or_lost_something_is_news(
    one: Ports, state: str, successor: str | None, *, news: bool
) -> None:
    """What found nothing, goes on as another job, or was ended by the user interrupts nobody."""
    made = told(one, job(), state=state, successor=successor)
    assert [found.event for found in one.mailbox.unseen(PROJECT)] == ([made] if news else [])
    assert [found.news for found in one.mailbox.all(PROJECT)] == [news]


@pytest.mark.requirement("F-03", "E-05")
def test_news_that_is_kept_outlives_its_job(site: Site, one: Ports) -> None:
    """It is shown once beside the tombstone too, and what a late writer announces there is no news."""
    made = told(one, job())
    assert one.mailbox.kept(PROJECT) == ()
    assert one.mailbox.keep(made.job_id)
    site.expire(outcome_tombstone(ended(job())))
    late = site.process()
    (kept,) = late.mailbox.unseen(PROJECT)
    assert (kept.event, kept.kept) == (made, True)
    assert late.mailbox.keep(made.job_id)
    assert late.mailbox.show(shown(made.job_id))
    assert not one.mailbox.show(shown(made.job_id))
    assert [found.event for found in late.mailbox.kept(PROJECT)] == [made]
    assert late.mailbox.remove((made.job_id,)) == 2
    assert late.mailbox.all(PROJECT) == late.mailbox.kept(PROJECT) == ()


@pytest.mark.requirement("F-03")
def test_what_was_shown_and_has_expired_is_not_shown_again(site: Site, one: Ports, two: Ports) -> None:
    """A host that listed it before comes too late, and so does an event from a late writer (rule 17)."""
    made = told(one, job())
    (listed,) = two.mailbox.unseen(PROJECT)
    assert one.mailbox.show(shown(made.job_id))
    site.expire(outcome_tombstone(ended(job())))
    assert one.mailbox.remove((made.job_id,)) == 1
    assert not two.mailbox.show(shown(listed.event.job_id))
    assert two.mailbox.told(made.job_id) is None
    assert two.mailbox.unseen(PROJECT) == ()
    assert not two.mailbox.keep(made.job_id)


@pytest.mark.requirement("F-03")
def test_the_events_of_open_mailboxes_stay(one: Ports) -> None:
    """Removing takes nothing of a job that is not compacted, and sweeping nothing whose event stands."""
    made = told(one, job())
    one.mailbox.show(shown(made.job_id))
    assert one.mailbox.remove((made.job_id,)) == one.mailbox.sweep(PROJECT) == 0
    assert [found.seen for found in one.mailbox.all(PROJECT)] == [True]


@pytest.mark.requirement("F-03", "Q-13")
def test_a_damaged_showing_counts_and_a_damaged_event_stops_no_other(site: Site, one: Ports) -> None:
    """Its name stays: nobody shows the event again. An event that cannot be read is left to verify."""
    seen, lost = told(one, job(), ended_ms=1), told(one, other_job("Second."), ended_ms=2)
    last = told(one, other_job("Third."), ended_ms=3)
    one.mailbox.show(shown(seen.job_id))
    site.damage("shown", seen.job_id)
    site.damage("event", lost.job_id)
    other = site.process()
    assert [found.event for found in other.mailbox.unseen(PROJECT)] == [last]
    assert not other.mailbox.show(shown(seen.job_id))
    assert not other.mailbox.show(shown(lost.job_id))
    (first, second) = other.mailbox.all(PROJECT)
    assert (first.event, first.seen, first.shown) == (seen, True, None)
    assert second.event == last
