"""Adopting a restored or copied home, cut off: the other copy's share of the budget is counted anyway."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.app import App
from perdure.cli import setup
from perdure.cli.main import main
from perdure.core.attempt import Reserved
from perdure.errors import Refused, StorageError
from perdure.ports.provider import Answered, Usage
from perdure.provider.replay import ReplayProvider
from perdure.service.adoption import charge_rest_of_day
from perdure.service.curate import utc_day
from tests.crash.upkeep import LIMITS
from tests.fakes import Rig
from tests.simulated_disk import SimulatedDisk


@pytest.mark.requirement("S-08", "B-02")
def test_a_home_is_charged_before_it_is_this_machines(
    perdure_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off before its identity is written, the home asks to be adopted still, and counts the rest."""
    App.open(create=True).close()
    monkeypatch.setattr(App, "provider", ReplayProvider([Answered("{}", Usage(1, 1, 1), None)]))
    copy = tmp_path / "copy"
    perdure_home.rename(copy)
    perdure_home.mkdir(mode=0o700)
    for path in copy.iterdir():
        path.rename(perdure_home / path.name)

    def fails(*_: object) -> None:
        raise StorageError("the machine goes down here.")

    with monkeypatch.context() as patch:
        patch.setattr(setup, "adopt", fails)
        assert main(["home", "adopt", "--yes"]) != 0
    with pytest.raises(Refused, match="it is a copy"):
        App.open()
    app = App.open(adopting=True)
    day = utc_day(app.clock.now_ms())
    counted = app.attempts.charge("replay", day).unknown.cost_nanodollars
    assert counted == app.config.limits.limits().cost_nanodollars_per_day
    app.close()
    assert main(["home", "adopt", "--yes"]) == 0
    App.open().close()


@pytest.mark.requirement("S-08", "B-02", "A-03")
def test_a_charge_that_was_only_reserved_is_not_taken_for_an_orphan() -> None:
    """Reserved and cut off, it would be cancelled as never sent; adopting again makes it count for good."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    drafts: list[Reserved] = []

    def charge() -> str | None:
        return charge_rest_of_day(
            rig.attempts, provider="scripted", model="m", limits=LIMITS, clock=rig.clock, ids=rig.ids
        )

    with pytest.MonkeyPatch.context() as patch:
        real = rig.attempts.reserve

        def reserve(draft: Reserved, limits: None) -> None:
            drafts.append(draft)
            real(draft, limits)
            raise StorageError("the machine goes down here.")

        patch.setattr(rig.attempts, "reserve", reserve)
        with pytest.raises(StorageError):
            charge()
    assert charge() is None
    rig.attempts.sweep_orphans()
    (found,) = rig.attempts.of_job(drafts[0].job_id)
    assert found.state == "unknown"
    unknown = rig.attempts.charge("scripted", found.attempt_id[:8]).unknown
    assert (unknown.calls, unknown.tokens) == (LIMITS.calls_per_day, LIMITS.tokens_per_day)
