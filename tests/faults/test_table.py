"""The table of faults is whole, and the page in the documentation is this table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults import table
from tests.faults.page import page
from tests.faults.row import Fault, Found
from tests.faults.table import RULES, TABLE

ROOT = Path(__file__).resolve().parents[2]
FAULTS_MIN = 40

DEMANDED = frozenset(
    {
        "drop-the-file-sync",
        "drop-the-folder-sync-of-jobs",
        "write-in-place",
        "publish-the-branch-before-the-intent",
        "decide-by-overwrite",
        "free-the-budget-of-a-dispatched-orphan",
        "skip-the-cas",
        "retry-a-failed-sync",
        "cancel-a-dispatched-attempt",
        "accept-the-outcome-of-a-stale-claim",
        "act-on-a-found-record-without-syncing-its-folder",
        "cancel-and-dispatch-under-different-names",
        "remove-an-outcome-before-its-records",
        "put-a-clock-into-a-receipt",
        "put-a-worker-into-a-receipt",
        "move-a-damaged-dispatched-away",
        "keep-a-cached-sum-for-an-open-day",
        "reconcile-while-the-owner-lives",
    }
)
"""Faults that any table of them has to hold."""


@pytest.mark.requirement("X-05")
def test_every_rule_is_broken_at_least_once() -> None:
    """Each of the 17 rules of the protocol has a fault that breaks it, and so has the rest."""
    assert {str(number) for number in range(1, 18)} <= RULES.keys()
    assert {fault.rule for fault in TABLE} == RULES.keys()
    assert len(TABLE) >= FAULTS_MIN


def test_names_are_unique_and_none_of_the_demanded_is_missing() -> None:
    """A figure is named by its fault."""
    names = Counter(fault.name for fault in TABLE)
    assert set(names.values()) == {1}
    assert names.keys() >= DEMANDED


def test_the_page_is_the_table() -> None:
    """What the documentation says of the faults is what is tested; `python -m tests.faults --page`."""
    standing = (ROOT / "docs/explanation/faults.md").read_text(encoding="utf-8")
    assert standing == page(standing)


class _Telling:
    """An instrument that reports what it is told to, with a fault and without."""

    words = "a telling"

    def __init__(self, *reports: str | None) -> None:
        self._reports = list(reports)

    def report(self) -> str | None:
        """See `Instrument.report`."""
        return self._reports.pop(0)


@pytest.mark.parametrize(
    ("with_fault", "without", "caught"),
    [
        ("Broken: G-04 it is gone", None, 1),
        ("Broken: D-02 another", None, 0),
        (None, None, 0),
        ("Broken: G-04 it is gone", "Broken: G-04 it is gone", 0),
    ],
)
def test_a_figure_tells_whether_the_named_check_alone_reported_it(
    with_fault: str | None, without: str | None, caught: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another check's report is none, nor is that of an instrument which reports a sound product."""
    fault = Fault("odd", "1", "nothing", lambda _patch: None, _Telling(with_fault, without), "G-04")
    monkeypatch.setattr(table, "TABLE", (fault,))
    (figure,) = table.figures()
    assert (figure.name, figure.value, figure.holds) == ("fault:odd", caught, bool(caught))


def test_a_report_is_looked_at_word_for_word() -> None:
    """Signs in the name of a check mean themselves."""
    fault = Fault("odd", "1", "nothing", lambda _patch: None, _Telling(), "what (and why)")
    assert Found(fault, "Broken: what (and why): x", 0.0).caught
    assert not Found(fault, "Broken: what and why", 0.0).caught
