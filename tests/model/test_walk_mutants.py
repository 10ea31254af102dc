"""The walk finds deliberate faults: each breaks one rule of the product or one promise of its ports."""

from __future__ import annotations

from collections.abc import Callable

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
from tests.model import moves
from tests.model.calls import clock
from tests.model.moves import Moves
from tests.model.walk import walk
from tests.model.world import NOW_MS, Bounds, Records, State

Patch = pytest.MonkeyPatch

# -- faults of the ports


class SplitFates(Moves):
    """Cancelled and dispatched are two names (against rule 1)."""

    def fate_path(self, attempt_id: str, fate: str, records: Records) -> str:
        """A name for each."""
        either = f"fate-cancelled/{attempt_id}"
        return (
            (either if either in self.names(records) else f"fate-dispatched/{attempt_id}")
            if fate == "any"
            else (f"fate-{fate}/{attempt_id}")
        )


class Overwriting(Moves):
    """The last decision stands."""

    def elect_decision(self, records: Records, job: str, number: int) -> tuple[Records, bool]:
        """Replace what stands there."""
        return self.replace(records, f"decision/{job}", number), True


class LosersSend(Moves):
    """Who finds the fate decided sends all the same."""

    def elect_fate(self, records: Records, name: str, fate: str, worker: str) -> tuple[Records, bool]:
        """Claim to be the creator."""
        return super().elect_fate(records, name, fate, worker)[0], True


class SendsFirst(Moves):
    """The request goes out before its dispatched record is durable."""

    def elect_fate(self, records: Records, name: str, fate: str, worker: str) -> tuple[Records, bool]:
        """Publish nothing for a dispatch."""
        return (records, True) if fate == "dispatched" else super().elect_fate(records, name, fate, worker)


class Unlimited(Moves):
    """The hold is not checked against the limits."""

    def fits(self, records: Records, day: int) -> bool:
        """Let everything pass."""
        del records, day
        return True


class AnyNumber(Moves):
    """A reservation does not look for another of its number."""

    def number_free(self, taken: list[int], number: int) -> bool:
        """Take it."""
        del taken, number
        return True


class Unfinished(Moves):
    """The writer leaves begun transactions alone (against rule 5)."""

    def open_transactions(self, records: Records) -> list[str]:
        """See none."""
        del records
        return []


class Lockless(Moves):
    """The project's lock keeps nobody out."""

    def free(self, state: State) -> bool:
        """Enter."""
        del state
        return True


class Clocked(Moves):
    """The outcome is dated by whoever publishes it (against rule 2)."""

    def verdict(self, facts: JobFacts, me: str, ordinal: int) -> Verdict:
        """Put the own clock into the outcome."""
        found = super().verdict(facts, me, ordinal)
        if isinstance(found, Close):
            return Close(msgspec.structs.replace(found.outcome, ended_ms=clock(me)))
        return found


# -- faults of the core


def _own_or_orphan(patch: Patch, otherwise: Callable[[JobFacts, Attempt, str], Verdict]) -> None:
    def step(facts: JobFacts, attempt: Attempt, *, me: str, ordinal: int, now_ms: int) -> Verdict:
        del ordinal, now_ms
        owner = attempt.reserved.worker if attempt.reserved is not None else ""
        if owner == me and attempt.state == "reserved":
            return Dispatch(attempt, None)
        return otherwise(facts, attempt, owner if owner != me else "")

    patch.setattr(protocol, "_own_or_orphan", step)


def living_orphans(patch: Patch) -> None:
    """Another's attempt is an orphan though its owner lives (against A-03)."""

    def found(_: JobFacts, attempt: Attempt, owner: str) -> Verdict:
        del owner
        name = attempt.attempt_id
        return Lose(name) if attempt.state == "dispatched" else Cancel(name, "")

    _own_or_orphan(patch, found)


def dispatched_cancelled(patch: Patch) -> None:
    """A dispatched orphan is cancelled, not lost."""
    _own_or_orphan(
        patch,
        lambda facts, attempt, owner: (
            Cancel(attempt.attempt_id, "")
            if not owner or owner in facts.owners_gone
            else Wait(0, "", blocks_lane=True)
        ),
    )


def orphans_kept(patch: Patch) -> None:
    """Nobody settles what a dead owner left."""
    _own_or_orphan(patch, lambda *_: Wait(0, "", blocks_lane=True))


def unknown_freed(patch: Patch) -> None:
    """An attempt whose end is unknown costs nothing."""
    real = budget.exposure

    def exposure(attempt: Attempt, largest_hold: Usage = budget.ZERO) -> budget.Exposure:
        return budget.Exposure() if attempt.state == "unknown" else real(attempt, largest_hold)

    patch.setattr(budget, "exposure", exposure)


def unreported_free(patch: Patch) -> None:
    """A response without usage is taken for one that cost nothing (against B-07)."""
    real = budget.exposure

    def exposure(attempt: Attempt, largest_hold: Usage = budget.ZERO) -> budget.Exposure:
        found = real(attempt, largest_hold)
        return msgspec.structs.replace(found, held=budget.Amount()) if attempt.result is not None else found

    patch.setattr(budget, "exposure", exposure)


def midnight_erases(patch: Patch) -> None:
    """Unresolved exposure of earlier days is forgotten (against B-03, B-06)."""
    patch.setattr(budget, "unresolved", lambda _: False)


def stale_applied(patch: Patch) -> None:
    """The branch that a proposal was made on is not compared (against D-05)."""

    def rebased(decision: Decision, branch: Branch, **rest: object) -> Intent:
        moved = msgspec.structs.replace(decision, base_digest=branch.digest)
        intent = judge(moved, branch, forgotten=lambda *_: False, now_ms=NOW_MS)
        del rest
        return msgspec.structs.replace(intent, decision_digest=record_digest(decision))

    patch.setattr(moves, "judge", rebased)


def outcome_first(patch: Patch) -> None:
    """The outcome of an elected proposal comes before its receipt (against D-12)."""

    def after(_: JobFacts, decision: Decision) -> Verdict:
        watched = msgspec.structs.replace(decision, job=msgspec.structs.replace(decision.job, mode="observe"))
        early = outcome(watched, None)
        return Close(msgspec.structs.replace(early, decision_digest=record_digest(decision)))

    patch.setattr(protocol, "_after_decision", after)


def all_admitted(patch: Patch) -> None:
    """A decision that drops the job is admitted like one that elects."""
    patch.setattr(protocol, "_after_decision", lambda _, decision: Admit(decision))


def invalid_elected(patch: Patch) -> None:
    """Invalid output passes for a proposal (against Q-14)."""
    patch.setattr(protocol, "_elects", lambda result: isinstance(result, Result))


def successor_late(patch: Patch) -> None:
    """The outcome is published before the successor that it names (against rule 10)."""

    def after(_: JobFacts, decision: Decision, ended: Receipt) -> Verdict:
        return Close(outcome(decision, ended))

    patch.setattr(protocol, "_after_receipt", after)


def silent(patch: Patch) -> None:
    """The event is never made."""
    patch.setattr(protocol, "_after_outcome", lambda *_: Rest())


def sequence_recurs(patch: Patch) -> None:
    """Undo gives the branch its old sequence number back (against rule 4)."""
    real = memory.invert

    def invert(branch: Branch, changes: tuple[Change, ...], *, now_ms: int) -> Planned:
        planned = real(branch, changes, now_ms=now_ms)
        return Planned(msgspec.structs.replace(planned.branch, seq=branch.seq - 1), planned.changes)

    patch.setattr(memory, "invert", invert)


def unknown_is_final(patch: Patch) -> None:
    """A job whose last attempt is unknown is never tried again."""
    real = protocol.not_before
    late = 10**15

    def not_before(attempts: tuple[Attempt, ...], policy: protocol.Policy, now_ms: int) -> tuple[int, str]:
        lost = any(attempt.state == "unknown" for attempt in attempts)
        return (late, "") if lost else real(attempts, policy, now_ms)

    patch.setattr(protocol, "not_before", not_before)


PORTS: dict[type[Moves], tuple[Bounds, str]] = {
    SplitFates: (Bounds(evictions=1), "to cancelled|dispatched is cancelled"),
    Overwriting: (Bounds(evictions=1), "immutable record changed"),
    LosersSend: (Bounds(evictions=1), "did not create its dispatched record"),
    SendsFirst: (Bounds(), "did not create its dispatched record"),
    Unlimited: (Bounds(workers=1, calls_per_day=1, crashes=1, midnights=True), "daily limit"),
    AnyNumber: (Bounds(takeovers=1), "conflict: two writers derive different bytes for reserved"),
    Unfinished: (Bounds(edits=1, crashes=1), "conflict: the branch was neither|does not join"),
    Lockless: (Bounds(edits=1), "conflict|does not join"),
    Clocked: (Bounds(takeovers=1), "conflict: two writers derive different bytes for outcome"),
}

CORE: dict[Callable[[Patch], None], tuple[Bounds, str]] = {
    living_orphans: (Bounds(takeovers=1), "two requests of a lane are in flight"),
    dispatched_cancelled: (Bounds(crashes=1), "liveness"),
    orphans_kept: (Bounds(crashes=1), "liveness"),
    unknown_freed: (Bounds(crashes=1), "fewer calls"),
    unreported_free: (Bounds(faults=1, replies=("unreported",)), "fewer tokens"),
    midnight_erases: (Bounds(workers=1, calls_per_day=2, crashes=1, midnights=True), "fewer calls"),
    stale_applied: (Bounds(edits=1), "a stale proposal took effect"),
    outcome_first: (Bounds(), "an outcome before its receipt"),
    all_admitted: (Bounds(drops=1), "an intent without its elected decision"),
    invalid_elected: (Bounds(faults=1, replies=("invalid",)), "invalid or failed attempt was elected"),
    successor_late: (Bounds(edits=1), "an outcome before the successor"),
    silent: (Bounds(), "liveness"),
    sequence_recurs: (Bounds(undos=1), "does not join up"),
    unknown_is_final: (Bounds(crashes=1), "liveness"),
}


@pytest.mark.requirement("G-03", "A-02", "A-03", "B-02", "D-02", "D-11", "Q-03")
@pytest.mark.parametrize("broken", PORTS, ids=lambda broken: broken.__name__)
def test_a_broken_port_is_caught(broken: type[Moves]) -> None:
    """Each promise of the ports carries weight: without it the walk finds a broken law."""
    bounds, law = PORTS[broken]
    assert walk(Moves(bounds)).fault is None
    _expect(broken(bounds), law)


@pytest.mark.requirement("A-03", "B-03", "B-06", "B-07", "D-05", "D-12", "Q-14", "F-01")
@pytest.mark.parametrize("broken", CORE, ids=lambda broken: broken.__name__)
def test_a_broken_rule_of_the_core_is_caught(broken: Callable[[Patch], None], monkeypatch: Patch) -> None:
    """Each rule of the core carries weight: without it the walk finds a broken law, or a job with no end."""
    bounds, law = CORE[broken]
    broken(monkeypatch)
    _expect(Moves(bounds), law)


def _expect(world: Moves, law: str) -> None:
    fault = walk(world).fault
    assert fault is not None, "the fault was not found"
    assert any(part in fault.law for part in law.split("|")), fault
