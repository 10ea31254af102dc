"""Caps and guards of spending: they pause work and say why, and never end a job (B-08)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.project import Project
from perdure.config import Config, SpendingLimits
from perdure.core.attempt import Attempt, Fate, Reserved, Usage
from perdure.core.budget import Exposure, Limits, admit, calls_since, month_cost
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import make_job
from perdure.core.memory import main_branch_id
from perdure.ports import provider as port
from perdure.ports.provider import Answered, Hold, Reply, ReviewRequest
from perdure.ports.retain import DayTotals, ProviderTotal
from perdure.provider.replay import ReplayProvider

CENT = 10_000_000


class Paid(ReplayProvider):
    """Costs one cent a call and answers that there is nothing to remember."""

    def __init__(self) -> None:
        super().__init__([Answered('{"operations":[]}', port.Usage(100, 10, CENT), None)])
        self.calls = 0

    @property
    def paid(self) -> bool:
        """It costs."""
        return True

    def quote(self, request: ReviewRequest) -> Hold:
        """One cent at most."""
        assert request.attempt_id
        return Hold(100, 10, CENT)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
        """Count the call."""
        assert request.evidence
        assert timeout_seconds > 0
        self.calls += 1
        return Answered('{"operations":[]}', port.Usage(100, 10, CENT), None)


@pytest.fixture
def app(perdure_home: Path, tmp_path: Path) -> Iterator[App]:
    """An open home with five jobs of one project, and a budget of a dollar a day."""
    assert not perdure_home.exists()
    made = App.open(create=True)
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    project = made.project(str(folder))
    made.ensure_project(project)
    for number in range(5):
        _accept(made, project, number)
    yield made
    made.close()


def _accept(app: App, project: Project, number: int) -> None:
    line = EvidenceLine("e1", "user", f"turn {number}")
    turn = EvidenceTurn(turn_id=f"{number:032x}", settled_ms=1_000 + number, cut=False, lines=(line,))
    evidence = Evidence(host="pi", session="0" * 32, turns=(turn,))
    app.queue.accept(
        make_job(
            project=project.key,
            branch_id=main_branch_id(project.key),
            evidence=evidence,
            accepted_ms=1_000,
            release="test",
        )
    )


def _limited(app: App, limits: SpendingLimits) -> None:
    app.config = msgspec.structs.replace(Config(), limits=limits)


@pytest.mark.requirement("B-08")
def test_the_guard_against_a_runaway_pauses_and_says_why(app: App) -> None:
    """More calls in an hour than allowed pause the rest; the message names the setting; no job ends."""
    _limited(app, SpendingLimits(calls_per_hour=2))
    provider = Paid()
    report = app.worker(provider=provider).drain()
    assert provider.calls == 2
    assert report.ended == {"no-op": 2}
    (waiting,) = report.waiting.values()
    assert "limits.calls_per_hour" in waiting.reason
    now_ms = app.clock.now_ms()
    app.clock.now_ms = lambda: now_ms + 3_700_000  # type: ignore[method-assign] # an hour later
    assert app.worker(provider=provider).drain().ended == {"no-op": 2}


@pytest.mark.requirement("B-08")
def test_the_monthly_cap_counts_days_whose_attempts_are_gone(app: App) -> None:
    """What closed days of this month cost counts, what another month cost does not."""
    _limited(app, SpendingLimits(usd_per_month=0.05))
    today = _today(app)
    gone = f"{today[:6]}{'01' if today[6:] != '01' else '02'}"
    for day, cents in ((gone, 3), ("20200101", 100)):
        row = ProviderTotal("replay", cents, cents, 100, cents * CENT)
        app.records.create(f"{layout.BUDGETS}/{day}", DayTotals(day=day, providers=(row,), removing=()))
    provider = Paid()
    report = app.worker(provider=provider).drain()
    assert provider.calls == 2
    (waiting,) = report.waiting.values()
    assert "limits.usd_per_month" in waiting.reason


def _today(app: App) -> str:
    from perdure.service.curate import utc_day

    return utc_day(app.clock.now_ms())


def _attempt(day: str, number: int, *, cost: int, reserved_ms: int, cancelled: bool = False) -> Attempt:
    name = f"{day}-{'0' * 32}-{number:04d}"
    reserved = Reserved(
        attempt_id=name,
        job_id="0" * 76,
        day=day,
        number=number,
        worker="w",
        claim_ordinal=1,
        claim_token="0" * 32,
        provider="anthropic",
        model="m",
        prompt_version="review-1",
        prices="p",
        base_digest="0" * 64,
        request_digest="0" * 64,
        hold=Usage(0, 0, cost),
        reserved_ms=reserved_ms,
        calls=1,
    )
    fate = Fate(attempt_id=name, fate="cancelled", worker="w", reason="") if cancelled else None
    return Attempt(reserved=reserved, fate=fate, attempt_id=name)


@pytest.mark.requirement("B-08", "B-06")
def test_a_month_counts_its_own_days_and_what_is_unresolved() -> None:
    """An open attempt of an earlier month counts against this one; a cancelled one counts nothing."""
    made = [
        _attempt("20261031", 1, cost=1, reserved_ms=0),
        _attempt("20261101", 2, cost=10, reserved_ms=0),
        _attempt("20261102", 3, cost=100, reserved_ms=0, cancelled=True),
    ]
    assert month_cost(made, provider="anthropic", day="20261103") == 11
    assert month_cost(made, provider="gemini", day="20261103") == 0


@pytest.mark.requirement("B-08")
def test_calls_of_the_last_hour_are_those_that_may_have_run() -> None:
    """Cancelled ones and older ones are left out."""
    made = [
        _attempt("20261101", 1, cost=1, reserved_ms=999),
        _attempt("20261101", 2, cost=1, reserved_ms=1_000),
        _attempt("20261101", 3, cost=1, reserved_ms=2_000, cancelled=True),
    ]
    assert calls_since(made, provider="anthropic", since_ms=1_000) == 1
    assert calls_since(made, provider="gemini", since_ms=0) == 0


@pytest.mark.requirement("B-08", "B-02")
def test_every_limit_is_named_when_it_is_the_one_that_is_passed() -> None:
    """The first limit that a hold would pass is returned, and whether it can ever fit."""
    month = admit(Exposure(), Usage(0, 0, 5), Limits(cost_nanodollars_per_month=9), month_cost_nanodollars=5)
    hour = admit(Exposure(), Usage(0, 0, 5), Limits(calls_per_hour=1), hour_calls=1)
    assert month is not None
    assert hour is not None
    assert (month.what, month.never, hour.what, hour.never) == (
        "cost this month",
        False,
        "calls this hour",
        False,
    )
    assert admit(Exposure(), Usage(0, 0, 5), Limits(cost_nanodollars_per_month=9)) is None
