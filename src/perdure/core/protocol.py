"""The protocol of a review: `next_step(facts)` is normal work and recovery alike.

Facts are the records of one job that exist. A verdict names the one durable step that comes next; a
worker takes it and reads the facts again. What stands left in

    job -> claim -> reserved -> fate -> (the request) -> result -> decision
        -> intent -> branch -> revision -> completion -> receipt -> outcome -> event

is durable before anything to its right starts. Facts are judged from right to left.
"""

from __future__ import annotations

import msgspec

from perdure.core.admission import Outcome, OutcomeTombstone, Receipt, outcome, stale_successor
from perdure.core.attempt import Attempt, Result
from perdure.core.decision import Decision, DecisionKind
from perdure.core.job import STALE_ENDS_MAX, Job, successor
from perdure.core.record import record_digest

BRANCH_GONE = "branch-gone"
"""Why a job ends whose branch was removed."""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of retrying. Only invalid output counts against a limit; an outage never ends a job (Q-12)."""

    invalid_attempts_max: int = 3
    backoff_seconds_first: int = 20
    backoff_seconds_max: int = 900
    configuration_seconds: int = 600
    unknown_seconds_first: int = 1
    quiet_branch_seconds: int = 60


class JobFacts(msgspec.Struct, frozen=True):
    """What exists of one job. `owners_gone` are the workers of open attempts whose death is proved;
    `branch_removed` says that its branch's tombstone stands.
    """

    job_id: str
    job: Job | None = None
    attempts: tuple[Attempt, ...] = ()  # oldest first
    decision: Decision | None = None
    receipt: Receipt | None = None
    outcome: Outcome | OutcomeTombstone | None = None
    successor_present: bool = False
    event_present: bool = False
    branch_changed_ms: int = 0
    branch_removed: bool = False
    owners_gone: frozenset[str] = frozenset()
    damaged: tuple[str, ...] = ()


class Rest(msgspec.Struct, frozen=True):
    """Nothing is left to do: the job is closed, or was never accepted."""


class Stopped(msgspec.Struct, frozen=True):
    """A record of this job is damaged; all its evidence is kept and nothing is done."""

    paths: tuple[str, ...]


BRANCH_CHANGES = "the branch keeps changing"
NOT_CONFIGURED = "the provider refused the credentials or configuration"
"""Why a job waits for something else than its next try."""


class Wait(msgspec.Struct, frozen=True):
    """Nothing may be done before a time. `blocks_lane` says that younger jobs of the lane wait too."""

    until_ms: int
    reason: str
    blocks_lane: bool


class Announce(msgspec.Struct, frozen=True):
    """Publish the event of an outcome."""

    outcome: Outcome


class Close(msgspec.Struct, frozen=True):
    """Publish the outcome."""

    outcome: Outcome


class Continue(msgspec.Struct, frozen=True):
    """Publish the next generation before the outcome that names it."""

    job: Job


class Admit(msgspec.Struct, frozen=True):
    """Take the project's lock and admit, or finish admitting, the elected proposal."""

    decision: Decision


class Decide(msgspec.Struct, frozen=True):
    """Elect this end."""

    kind: DecisionKind
    reason: str
    winner: Attempt | None


class Cancel(msgspec.Struct, frozen=True):
    """Elect `cancelled` for a reserved attempt that will not be sent."""

    attempt_id: str
    reason: str


class Lose(msgspec.Struct, frozen=True):
    """Record that a dispatched attempt's end is unknown."""

    attempt_id: str


class Begin(msgspec.Struct, frozen=True):
    """Reserve attempt `number`, showing the current branch; `correction` guides a corrective retry."""

    number: int
    correction: str | None


class Dispatch(msgspec.Struct, frozen=True):
    """Elect `dispatched` for the own reserved attempt and send its one request."""

    attempt: Attempt
    correction: str | None


Verdict = (
    Rest | Stopped | Wait | Announce | Close | Continue | Admit | Decide | Cancel | Lose | Begin | Dispatch
)


def next_step(facts: JobFacts, *, me: str, now_ms: int, policy: Policy, ordinal: int = 0) -> Verdict:
    """The one next durable step for a job, whatever happened before. Pure and total.

    `me` is a worker and `ordinal` the number of its claim of the job's lane; 0 is no claim at all.
    """
    if facts.outcome is not None:
        return _after_outcome(facts, facts.outcome)
    if facts.damaged:
        return Stopped(facts.damaged)
    if facts.receipt is not None and facts.decision is not None:
        return _after_receipt(facts, facts.decision, facts.receipt)
    if facts.decision is not None:
        return _after_decision(facts, facts.decision)
    if facts.job is None:
        return Rest()
    for attempt in facts.attempts:
        if attempt.open:
            return _own_or_orphan(facts, attempt, me=me, ordinal=ordinal, now_ms=now_ms)
    return _between_attempts(facts, facts.job, now_ms=now_ms, policy=policy)


def _after_outcome(facts: JobFacts, ended: Outcome | OutcomeTombstone) -> Verdict:
    """Repair looks only at outcomes that are not yet compacted (rule 17)."""
    if isinstance(ended, Outcome) and not facts.event_present:
        return Announce(ended)
    return Rest()


def _after_receipt(facts: JobFacts, decision: Decision, ended: Receipt) -> Verdict:
    if ended.decision_digest != record_digest(decision):
        return Stopped((f"receipt of {facts.job_id}: it names another decision",))
    if ended.successor is not None and not facts.successor_present:
        following = stale_successor(decision.job)
        if following is None or following.job_id != ended.successor:
            return Stopped((f"receipt of {facts.job_id}: its successor is not derivable",))
        return Continue(following)
    return Close(outcome(decision, ended))


def _after_decision(facts: JobFacts, decision: Decision) -> Verdict:
    if decision.kind == "elected" and decision.job.mode == "admit":
        return Admit(decision)
    if decision.kind == "superseded" and not facts.successor_present:
        return Continue(successor(decision.job, stale=False))
    return Close(outcome(decision, None))


def _between_attempts(facts: JobFacts, job: Job, *, now_ms: int, policy: Policy) -> Verdict:
    """A removed branch ends its jobs (rule 15); else the next attempt, or what the last one decides."""
    if facts.branch_removed:
        return Decide("dropped", BRANCH_GONE, None)
    winner = next((a for a in facts.attempts if _elects(a.result)), None)
    if winner is not None:
        return Decide("elected", "", winner)
    results = [attempt.result for attempt in facts.attempts if attempt.result is not None]
    refused = next((result for result in results if result.outcome == "permanent"), None)
    if refused is not None:
        return Decide("dead", "permanent", None)
    invalid = sum(result.outcome == "invalid" for result in results)
    if invalid >= policy.invalid_attempts_max:
        return Decide("dead", "invalid-output", None)
    ready_ms, why = not_before(facts.attempts, policy, now_ms)
    if now_ms < ready_ms:
        return Wait(ready_ms, why, blocks_lane=True)
    changed_ms = facts.branch_changed_ms
    quiet_ms = changed_ms + policy.quiet_branch_seconds * 1000
    if job.stale_ends >= STALE_ENDS_MAX and changed_ms <= now_ms < quiet_ms:
        return Wait(quiet_ms, BRANCH_CHANGES, blocks_lane=False)
    return Begin(number=len(facts.attempts) + 1, correction=_correction(facts.attempts))


def _own_or_orphan(facts: JobFacts, attempt: Attempt, *, me: str, ordinal: int, now_ms: int) -> Verdict:
    """An open attempt: ours to send, an orphan to settle (A-03), or another's to wait for.

    Whoever holds a newer claim of the lane takes back what an older one reserved and did not send: should
    that owner wake, its `dispatched` loses to the fate that stands (rule 12).
    """
    owner = attempt.reserved.worker if attempt.reserved is not None else ""
    dispatched = attempt.state == "dispatched"
    if owner == me and not dispatched and facts.branch_removed:
        return Cancel(attempt.attempt_id, "the branch was removed")
    if owner == me and not dispatched:
        return Dispatch(attempt, _correction(facts.attempts))
    if owner == me or owner in facts.owners_gone:
        return Lose(attempt.attempt_id) if dispatched else Cancel(attempt.attempt_id, "owner gone")
    if not dispatched and attempt.reserved is not None and attempt.reserved.claim_ordinal < ordinal:
        return Cancel(attempt.attempt_id, "the lane was taken over")
    return Wait(now_ms + 1000, "another worker has an attempt in flight", blocks_lane=True)


def not_before(attempts: tuple[Attempt, ...], policy: Policy, now_ms: int) -> tuple[int, str]:
    """When the next attempt may start, in UTC milliseconds, and why not earlier.

    Consecutive failures of the newest attempts double the pause up to the bound; invalid output is
    corrected at once. A record dated after now was written before the clock was set back: how long ago is
    not known, so it holds nothing up, and the next attempt is dated by the clock of today.
    """
    streak = 0
    for attempt in reversed(attempts):
        if attempt.state == "cancelled":
            continue
        if attempt.result is not None and attempt.result.outcome in {"proposal", "nothing", "invalid"}:
            break
        streak += 1
    if not streak:
        return 0, ""
    newest = next(attempt for attempt in reversed(attempts) if attempt.state != "cancelled")
    recorded_ms, seconds, why = _pause(newest, streak, policy)
    return (recorded_ms + seconds * 1000, why) if recorded_ms <= now_ms else (0, "")


def _pause(newest: Attempt, streak: int, policy: Policy) -> tuple[int, int, str]:
    """From which time, in UTC milliseconds, how many seconds, and why."""
    doubled = 1 << min(streak - 1, 20)
    if newest.result is None:
        seconds = min(policy.unknown_seconds_first * doubled, policy.backoff_seconds_max)
        begun_ms = newest.reserved.reserved_ms if newest.reserved is not None else 0
        return begun_ms, seconds, "the last attempt's end is unknown"
    if newest.result.outcome == "configuration":
        return newest.result.settled_ms, policy.configuration_seconds, NOT_CONFIGURED
    seconds = min(policy.backoff_seconds_first * doubled, policy.backoff_seconds_max)
    seconds = max(seconds, newest.result.retry_after_seconds or 0)
    return newest.result.settled_ms, seconds, "the provider is not available"


def _elects(result: Result | None) -> bool:
    return result is not None and result.outcome in {"proposal", "nothing"}


def _correction(attempts: tuple[Attempt, ...]) -> str | None:
    results = [attempt.result for attempt in attempts if attempt.result is not None]
    return results[-1].correction if results else None
