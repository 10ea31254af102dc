"""Between the plan of a file and its application, memory may change: then nothing is applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.app import App
from perdure.errors import Refused, StaleBranch
from perdure.service.exchange import ExchangeService
from perdure.service.remember import MemoryService


@pytest.fixture
def services(tmp_path: Path, perdure_home: Path) -> Iterator[tuple[MemoryService, ExchangeService]]:
    """Give the services of one project in a fresh home."""
    app = App.open(create=True)
    assert perdure_home.is_dir()
    app.begin_writing()
    project = app.project(str(tmp_path))
    app.ensure_project(project)
    yield app.memory_service(project.key), app.exchange_service(project.key)
    app.close()


@pytest.mark.requirement("M-05", "M-14")
def test_a_plan_is_not_applied_to_another_branch_than_it_was_made_for(
    services: tuple[MemoryService, ExchangeService],
) -> None:
    """One write in between makes the plan stale, for whole files and for additions alike."""
    memory, exchange = services
    memory.remember("Use npm.")
    whole = exchange.export("markdown", memory.branch()).replace("npm", "pnpm")
    plans = [exchange.plan(text, form="markdown") for text in (whole, "- New.\n")]
    memory.remember("Meanwhile.")
    for plan in plans:
        with pytest.raises(StaleBranch):
            exchange.apply(plan, cause="edit")
    assert [entry.text for entry in memory.branch().entries] == ["Use npm.", "Meanwhile."]


@pytest.mark.requirement("M-12", "M-14")
def test_what_is_forgotten_between_plan_and_application_stays_forgotten(
    services: tuple[MemoryService, ExchangeService],
) -> None:
    """A forget on another branch does not make the plan stale; its tombstone stops it all the same."""
    memory, exchange = services
    memory.fork("other")
    memory.remember("Secretly blue.", branch="other")
    plan = exchange.plan("- Secretly blue.\n", form="markdown")
    memory.forget("blue", branch="other")
    with pytest.raises(Refused, match="forgotten on purpose"):
        exchange.apply(plan, cause="import")
    with pytest.raises(Refused, match="forgotten on purpose"):
        exchange.plan("- Secretly blue.\n", form="markdown")
    assert exchange.apply(plan, cause="import", relearn=True).changed
