"""Faults in what calls cost: orphans, days, sums, the user's word, attempts that cannot be read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from perdure.authority.filesystem import queue
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.quarantine import Copied, copy_aside
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.retain import FileLedger
from perdure.core import budget
from perdure.core.attempt import Attempt, Reconciled, Usage
from perdure.core.budget import Exposure
from perdure.core.record import seal
from perdure.ports.retain import DayTotals
from perdure.service import adoption, retention
from perdure.service.curate import Advance, Curator
from tests.faults import bills
from tests.faults.instruments import Check, Crash
from tests.faults.row import Fault


def free_orphans(patch: pytest.MonkeyPatch) -> None:
    """Let a dispatched attempt whose end is unknown cost nothing."""
    real = budget.exposure

    def exposure(attempt: Attempt, *rest: Any) -> Exposure:
        return Exposure() if attempt.state == "unknown" else real(attempt, *rest)

    patch.setattr(budget, "exposure", exposure)


def _reconcile_the_living(patch: pytest.MonkeyPatch) -> None:
    real = FileAttempts._reconcile

    def reconcile(self: FileAttempts, reconciled: Reconciled) -> None:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(self._owners, "gone", lambda _worker: True)
            real(self, reconciled)

    patch.setattr(FileAttempts, "_reconcile", reconcile)


def _cached_sum(patch: pytest.MonkeyPatch) -> None:
    real = FileAttempts._charge
    sums: dict[tuple[int, str, str], Exposure] = {}

    def charge(self: FileAttempts, made: Any, closed: Any, provider: str, day: str) -> Exposure:
        key = (id(self), provider, day)
        if key not in sums:
            sums[key] = real(self, made, closed, provider, day)
        return sums[key]

    patch.setattr(FileAttempts, "_charge", charge)


def _orphans_hold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileAttempts, "sweep_orphans", lambda _self: None)


def _unsynced_totals(patch: pytest.MonkeyPatch) -> None:
    real = Records.replace

    def replace(self: Records, path: str, record: Any) -> None:
        if not isinstance(record, DayTotals):
            real(self, path, record)
            return
        with self.disk.temporary(seal(record)) as temporary:
            temporary.replace(path)

    patch.setattr(Records, "replace", replace)


def _unresolved_days_go(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileLedger, "_settled", lambda _self, _attempt: True)


def _believe_any_clock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(retention, "JUMP_MS_MAX", 10**15)


def _unreadable_is_free(patch: pytest.MonkeyPatch) -> None:
    real = budget.exposure

    def exposure(attempt: Attempt, largest_hold: Usage = budget.ZERO) -> Exposure:
        return Exposure() if attempt.reserved is None else real(attempt, largest_hold)

    patch.setattr(budget, "exposure", exposure)


def _damaged_moves_away(patch: pytest.MonkeyPatch) -> None:
    real = FileAttempts._learn

    def learn(self: FileAttempts, name: str) -> None:
        real(self, name)
        if name in self._damaged:
            attempt = name.rpartition(".")[0]
            path = self._damaged.pop(name).partition(":")[0]
            copy_aside(self._records, path, "damaged")
            self._records.disk.remove(path)
            self._seen.discard(name)
            self._known[attempt] = msgspec.structs.replace(self._known[attempt], damaged=None)

    patch.setattr(FileAttempts, "_learn", learn)


def _claimed_moves_away(patch: pytest.MonkeyPatch) -> None:
    def stopped(self: Curator, job_id: str, why: str) -> Advance:
        self._queue.set_aside(job_id, why)
        return Advance(job_id, "stopped", why)

    patch.setattr(Curator, "_stopped", stopped)


def _set_aside_without_a_copy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "copy_aside", lambda _records, path, _reason: Copied(path, stands=True))


def _adopted_for_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(adoption, "_left", lambda *_: 0)


ROWS = (
    Fault(
        "free-the-budget-of-a-dispatched-orphan",
        "12",
        "a call that was sent, and whose end nobody knows, costs nothing",
        free_orphans,
        Crash("unknown", survivors=2),
        "B-02",
    ),
    Fault(
        "reconcile-while-the-owner-lives",
        "12",
        "the user's word closes a call that may still be answered",
        _reconcile_the_living,
        Check(bills.word_during_a_call),
        "A-06 a call whose owner lives is not reconciled",
    ),
    Fault(
        "keep-a-cached-sum-for-an-open-day",
        "12",
        "what a day has cost is summed once, not folded from the records each time",
        _cached_sum,
        Check(bills.two_workers_and_one_call_left),
        "B-02 the limit of a day holds",
    ),
    Fault(
        "orphans-are-not-swept-before-the-budget-check",
        "12",
        "what a dead owner reserved and did not send is held for ever",
        _orphans_hold,
        Check(bills.dead_owner_held_the_last_call),
        "A-03 a proved non-call frees its budget",
    ),
    Fault(
        "totals-are-not-durable-before-the-removal",
        "12",
        "a day's attempts go before what they cost is durable",
        _unsynced_totals,
        Check(bills.day_is_closed),
        "B-03 no call is forgotten",
    ),
    Fault(
        "remove-a-day-with-unresolved-attempts",
        "12",
        "a day goes after eight days, whatever is open about it",
        _unresolved_days_go,
        Check(bills.doubt_grows_old),
        "B-06 doubt counts until it is resolved",
    ),
    Fault(
        "believe-a-clock-that-jumps",
        "12",
        "retention acts on whatever the wall clock says",
        _believe_any_clock,
        Check(bills.clock_jumps_a_year),
        "E-05 a jump of the clock takes no evidence",
    ),
    Fault(
        "an-unreadable-attempt-costs-nothing",
        "6",
        "an attempt whose reservation is damaged is left out of the budget",
        _unreadable_is_free,
        Check(bills.damaged_reservation),
        "B-03 an unreadable attempt costs the largest hold",
    ),
    Fault(
        "move-a-damaged-dispatched-away",
        "6",
        "a dispatched record that cannot be read goes to quarantine, and its name with it",
        _damaged_moves_away,
        Check(bills.damaged_fate),
        "B-02 the budget counts every call",
    ),
    Fault(
        "move-a-claimed-job-away",
        "6",
        "a damaged job is set aside though it has attempts",
        _claimed_moves_away,
        Check(bills.damaged_job),
        "Q-13 what counts keeps its name",
    ),
    Fault(
        "set-aside-without-a-copy",
        "6",
        "a damaged job that nobody has claimed is removed, and no copy of it is kept",
        _set_aside_without_a_copy,
        Check(bills.damaged_new_job),
        "Q-13 quarantine loses no bytes",
    ),
    Fault(
        "adopt-a-home-for-free",
        "14",
        "what the other copy of an adopted home may have spent today is not counted",
        _adopted_for_free,
        Check(bills.adopted_home),
        "B-06 an adopted home has spent its day",
    ),
)
