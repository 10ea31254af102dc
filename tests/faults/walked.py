"""Faults that a walk of the model finds: in what the ports promise, and in the core that the product uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from perdure.core import budget, memory, protocol
from perdure.core.admission import Intent, Receipt, outcome
from perdure.core.attempt import Attempt, Result, Usage
from perdure.core.decision import Decision
from perdure.core.judge import judge
from perdure.core.memory import Branch, Change, Planned
from perdure.core.protocol import Admit, Cancel, Close, Dispatch, JobFacts, Lose, Rest, Verdict, Wait
from perdure.core.record import record_digest
from tests.faults.instruments import Walk
from tests.faults.row import Fault, Patch
from tests.model import moves
from tests.model.calls import clock
from tests.model.moves import Moves
from tests.model.world import NOW_MS, Bounds, Records

_LATE_MS = 10**15

# -- promises of the ports


def _split_fates(patch: pytest.MonkeyPatch) -> None:
    def fate_path(self: Moves, attempt_id: str, fate: str, records: Records) -> str:
        either = f"fate-cancelled/{attempt_id}"
        if fate == "any":
            return either if either in self.names(records) else f"fate-dispatched/{attempt_id}"
        return f"fate-{fate}/{attempt_id}"

    patch.setattr(Moves, "fate_path", fate_path)


def _overwriting(patch: pytest.MonkeyPatch) -> None:
    def elect_decision(self: Moves, records: Records, job: str, number: int) -> tuple[Records, bool]:
        return self.replace(records, f"decision/{job}", number), True

    patch.setattr(Moves, "elect_decision", elect_decision)


def _losers_send(patch: pytest.MonkeyPatch) -> None:
    real = Moves.elect_fate

    def elect_fate(self: Moves, records: Records, *rest: str) -> tuple[Records, bool]:
        return real(self, records, *rest)[0], True

    patch.setattr(Moves, "elect_fate", elect_fate)


def _sends_first(patch: pytest.MonkeyPatch) -> None:
    real = Moves.elect_fate

    def elect_fate(self: Moves, records: Records, name: str, fate: str, worker: str) -> tuple[Records, bool]:
        return (records, True) if fate == "dispatched" else real(self, records, name, fate, worker)

    patch.setattr(Moves, "elect_fate", elect_fate)


def _clocked(patch: pytest.MonkeyPatch) -> None:
    real = Moves.verdict

    def verdict(self: Moves, facts: JobFacts, me: str, ordinal: int) -> Verdict:
        found = real(self, facts, me, ordinal)
        if isinstance(found, Close):
            return Close(msgspec.structs.replace(found.outcome, ended_ms=clock(me)))
        return found

    patch.setattr(Moves, "verdict", verdict)


def _always(name: str, value: object) -> Patch:
    """A port answers the same, whatever it is asked."""
    return lambda patch: patch.setattr(Moves, name, lambda *_: value)


# -- rules of the core


def _own_or_orphan(patch: pytest.MonkeyPatch, otherwise: Callable[[JobFacts, Attempt, str], Verdict]) -> None:
    def step(facts: JobFacts, attempt: Attempt, *, me: str, ordinal: int, now_ms: int) -> Verdict:
        del ordinal, now_ms
        owner = attempt.reserved.worker if attempt.reserved is not None else ""
        if owner == me and attempt.state == "reserved":
            return Dispatch(attempt, None)
        return otherwise(facts, attempt, owner if owner != me else "")

    patch.setattr(protocol, "_own_or_orphan", step)


def _living_orphans(patch: pytest.MonkeyPatch) -> None:
    def found(_facts: JobFacts, attempt: Attempt, _owner: str) -> Verdict:
        name = attempt.attempt_id
        return Lose(name) if attempt.state == "dispatched" else Cancel(name, "")

    _own_or_orphan(patch, found)


def _dispatched_cancelled(patch: pytest.MonkeyPatch) -> None:
    def found(facts: JobFacts, attempt: Attempt, owner: str) -> Verdict:
        gone = not owner or owner in facts.owners_gone
        return Cancel(attempt.attempt_id, "") if gone else Wait(0, "", blocks_lane=True)

    _own_or_orphan(patch, found)


def _orphans_kept(patch: pytest.MonkeyPatch) -> None:
    _own_or_orphan(patch, lambda *_: Wait(0, "", blocks_lane=True))


def _exposure(change: Callable[[Attempt, budget.Exposure], budget.Exposure]) -> Patch:
    def make(patch: pytest.MonkeyPatch) -> None:
        real = budget.exposure

        def exposure(attempt: Attempt, largest_hold: Usage = budget.ZERO) -> budget.Exposure:
            return change(attempt, real(attempt, largest_hold))

        patch.setattr(budget, "exposure", exposure)

    return make


def _unknown_freed(attempt: Attempt, counted: budget.Exposure) -> budget.Exposure:
    return budget.Exposure() if attempt.state == "unknown" else counted


def _unreported_free(attempt: Attempt, counted: budget.Exposure) -> budget.Exposure:
    return msgspec.structs.replace(counted, held=budget.Amount()) if attempt.result is not None else counted


def _midnight_erases(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(budget, "unresolved", lambda _: False)


def _stale_applied(patch: pytest.MonkeyPatch) -> None:
    def rebased(decision: Decision, branch: Branch, **_rest: Any) -> Intent:
        moved = msgspec.structs.replace(decision, base_digest=branch.digest)
        intent = judge(moved, branch, forgotten=lambda *_: False, now_ms=NOW_MS)
        return msgspec.structs.replace(intent, decision_digest=record_digest(decision))

    patch.setattr(moves, "judge", rebased)


def _outcome_first(patch: pytest.MonkeyPatch) -> None:
    def after(_facts: JobFacts, decision: Decision) -> Verdict:
        watched = msgspec.structs.replace(decision, job=msgspec.structs.replace(decision.job, mode="observe"))
        early = outcome(watched, None)
        return Close(msgspec.structs.replace(early, decision_digest=record_digest(decision)))

    patch.setattr(protocol, "_after_decision", after)


def _successor_late(patch: pytest.MonkeyPatch) -> None:
    def after(_facts: JobFacts, decision: Decision, ended: Receipt) -> Verdict:
        return Close(outcome(decision, ended))

    patch.setattr(protocol, "_after_receipt", after)


def _all_admitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "_after_decision", lambda _, decision: Admit(decision))


def _invalid_elected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "_elects", lambda result: isinstance(result, Result))


def _silent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "_after_outcome", lambda *_: Rest())


def _sequence_recurs(patch: pytest.MonkeyPatch) -> None:
    real = memory.invert

    def invert(branch: Branch, changes: tuple[Change, ...], *, now_ms: int) -> Planned:
        planned = real(branch, changes, now_ms=now_ms)
        return Planned(msgspec.structs.replace(planned.branch, seq=branch.seq - 1), planned.changes)

    patch.setattr(memory, "invert", invert)


def _unknown_is_final(patch: pytest.MonkeyPatch) -> None:
    real = protocol.not_before

    def not_before(attempts: tuple[Attempt, ...], policy: protocol.Policy, now_ms: int) -> tuple[int, str]:
        lost = any(attempt.state == "unknown" for attempt in attempts)
        return (_LATE_MS, "") if lost else real(attempts, policy, now_ms)

    patch.setattr(protocol, "not_before", not_before)


_DEATH = Bounds(crashes=1)
_EVICTION = Bounds(evictions=1)
_TAKEOVER = Bounds(takeovers=1)
_EDIT = Bounds(edits=1)

_WALKED: tuple[tuple[str, str, str, Patch, Bounds, str], ...] = (
    (
        "cancel-and-dispatch-under-different-names",
        "1",
        "cancelled and dispatched are two names, and both can be created",
        _split_fates,
        _EVICTION,
        "to cancelled",
    ),
    (
        "model-decide-by-overwrite",
        "1",
        "the last decision stands, not the first",
        _overwriting,
        _EVICTION,
        "an immutable record changed",
    ),
    (
        "model-losers-send",
        "1",
        "who finds the fate decided sends all the same",
        _losers_send,
        _EVICTION,
        "did not create its dispatched record",
    ),
    (
        "model-send-first",
        "order",
        "the request goes out without a dispatched record",
        _sends_first,
        Bounds(),
        "did not create its dispatched record",
    ),
    (
        "limits-are-not-checked",
        "12",
        "a hold is reserved though it does not fit the limits",
        _always("fits", value=True),
        Bounds(workers=1, calls_per_day=1, crashes=1, midnights=True),
        "the daily limit is passed",
    ),
    (
        "an-attempt-number-recurs",
        "1",
        "a reservation does not look for another of its number",
        _always("number_free", value=True),
        _TAKEOVER,
        "two writers derive different bytes for reserved",
    ),
    (
        "model-leave-what-was-begun",
        "5",
        "the writer leaves begun transactions alone",
        _always("open_transactions", value=[]),
        Bounds(edits=1, crashes=1),
        "the history does not join up",
    ),
    (
        "model-no-lock",
        "5",
        "the project's lock keeps nobody out",
        _always("free", value=True),
        _EDIT,
        "conflict",
    ),
    (
        "put-a-clock-into-an-outcome",
        "2",
        "an outcome holds the time of whoever publishes it",
        _clocked,
        _TAKEOVER,
        "two writers derive different bytes for outcome",
    ),
    (
        "two-calls-of-a-lane-in-flight",
        "11",
        "another's attempt is an orphan though its owner lives",
        _living_orphans,
        _TAKEOVER,
        "two requests of a lane are in flight",
    ),
    (
        "a-dispatched-orphan-is-cancelled",
        "liveness",
        "what a dead owner dispatched is to be cancelled, and never is",
        _dispatched_cancelled,
        _DEATH,
        "liveness",
    ),
    (
        "nobody-settles-orphans",
        "liveness",
        "what a dead owner left open stays so",
        _orphans_kept,
        _DEATH,
        "liveness",
    ),
    (
        "an-unknown-end-is-final",
        "liveness",
        "a job whose last attempt is unknown is never tried again",
        _unknown_is_final,
        _DEATH,
        "liveness",
    ),
    (
        "the-event-is-never-made",
        "liveness",
        "nobody is told how a review ended",
        _silent,
        Bounds(),
        "liveness",
    ),
    (
        "an-unknown-end-is-free",
        "12",
        "an attempt whose end is unknown costs nothing",
        _exposure(_unknown_freed),
        _DEATH,
        "fewer calls",
    ),
    (
        "an-unreported-cost-is-free",
        "12",
        "a response without usage is taken for one that cost nothing",
        _exposure(_unreported_free),
        Bounds(faults=1, replies=("unreported",)),
        "fewer tokens",
    ),
    (
        "midnight-erases-doubt",
        "12",
        "what earlier days left unresolved is forgotten",
        _midnight_erases,
        Bounds(workers=1, calls_per_day=2, crashes=1, midnights=True),
        "fewer calls",
    ),
    (
        "model-skip-the-cas",
        "order",
        "the branch that a proposal was made on is not compared",
        _stale_applied,
        _EDIT,
        "a stale proposal took effect",
    ),
    (
        "model-outcome-before-the-receipt",
        "order",
        "the outcome of an elected proposal comes before its receipt",
        _outcome_first,
        Bounds(),
        "an outcome before its receipt",
    ),
    (
        "admit-every-decision",
        "order",
        "a decision that drops the job is admitted like one that elects",
        _all_admitted,
        Bounds(drops=1),
        "an intent without its elected decision",
    ),
    (
        "elect-invalid-output",
        "order",
        "invalid output passes for a proposal",
        _invalid_elected,
        Bounds(faults=1, replies=("invalid",)),
        "an invalid or failed attempt was elected",
    ),
    (
        "model-outcome-before-the-successor",
        "10",
        "the outcome is published before the successor that it names",
        _successor_late,
        _EDIT,
        "an outcome before the successor",
    ),
    (
        "a-sequence-number-recurs",
        "4",
        "undo gives the branch its old sequence number back",
        _sequence_recurs,
        Bounds(undos=1),
        "does not join up",
    ),
)

ROWS = tuple(
    Fault(name, rule, does, patch, Walk(bounds), check) for name, rule, does, patch, bounds, check in _WALKED
)
