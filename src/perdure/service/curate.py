"""Reviewing one job: read the facts, ask the core for the next step, take it, repeat.

This loop is normal work and recovery alike; embedded review, `review --once` and the worker all run it.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import msgspec

from perdure.core.admission import Outcome, OutcomeTombstone
from perdure.core.attempt import Fate, Reserved, Result, ResultClass, Usage, attempt_id
from perdure.core.budget import Limits, OverBudget
from perdure.core.canonical import canonical, digest, digest_bytes
from perdure.core.claim import Claim
from perdure.core.job import Job
from perdure.core.memory import REVIEW_CHARS_TARGET, Branch
from perdure.core.proposal import OPERATIONS_MAX, Malformed, parse_proposal
from perdure.core.protocol import (
    Begin,
    Dispatch,
    JobFacts,
    Policy,
    Rest,
    Stopped,
    Wait,
    next_step,
)
from perdure.errors import Damaged, Inaccessible, PerdureError, ProviderUnavailable, Removed
from perdure.ports import provider as calls
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock
from perdure.ports.memory import Memory
from perdure.ports.provider import MemoryView, Provider, ReviewRequest
from perdure.ports.queue import Queue
from perdure.service.facts import present_branch, read_facts
from perdure.service.publish import Log, Publisher

PROVIDER_WAIT_MS = 60_000
HOUR_GUARD_MS = 600_000
GUIDANCE_CHARS_MAX = 1000
FENCED = "another worker took the lane over"


class Advance(msgspec.Struct, frozen=True):
    """Where a job stands after it was advanced as far as it goes now."""

    job_id: str
    state: str  # an outcome's state, "waiting" or "stopped"
    reason: str = ""
    until_ms: int = 0
    blocks_lane: bool = False


class Profile(msgspec.Struct, frozen=True):
    """How the reviewer may be used."""

    policy: Policy
    limits: Limits | None  # None for a provider that is free of charge
    timeout_seconds: float = 120.0


class Curator:
    """Advances jobs. Holds no state of its own between steps: everything is in the records."""

    def __init__(
        self,
        *,
        queue: Queue,
        claims: Claims,
        attempts: Attempts,
        memory: Memory,
        clock: Clock,
        provider: Provider,
        profile: Profile,
        log: Log = lambda *_: None,
    ) -> None:
        self._queue, self._claims, self._attempts, self._memory = queue, claims, attempts, memory
        self._clock, self._provider, self._profile, self._log = clock, provider, profile, log
        self._publisher = Publisher(queue=queue, attempts=attempts, memory=memory, clock=clock, log=log)

    def advance(self, job_id: str, claim: Claim) -> Advance:
        """Take steps until the job is closed, has to wait, or is stopped by a damaged record."""
        begun = False
        while True:
            facts = read_facts(
                job_id,
                queue=self._queue,
                attempts=self._attempts,
                memory=self._memory,
                claims=self._claims,
            )
            now_ms = self._clock.now_ms()
            verdict = next_step(
                facts, me=claim.worker, ordinal=claim.ordinal, now_ms=now_ms, policy=self._profile.policy
            )
            self._claims.beat(claim.worker)
            match verdict:
                case Rest():
                    if begun:
                        self._publisher.cancel_unsent(self._attempts.of_job(job_id), "the job was closed")
                    return _ended(job_id, facts.outcome)
                case Stopped():
                    return self._stopped(job_id, "; ".join(verdict.paths))
                case Wait():
                    return Advance(job_id, "waiting", verdict.reason, verdict.until_ms, verdict.blocks_lane)
                case Begin() | Dispatch():
                    begun = begun or isinstance(verdict, Begin)
                    stay = self._attempt(facts, verdict, claim)
                case _:
                    self._publisher.publish(facts, verdict)
                    stay = None
            if stay is not None:
                return stay

    def _stopped(self, job_id: str, why: str) -> Advance:
        """A damaged record stops its job; only a job that nobody has claimed is moved away (rule 6), and only
        when its bytes are wrong: what cannot be read now is looked at again later.
        """
        self._log("stopped", job_id, why)
        try:
            self._queue.job(job_id)
        except Inaccessible:
            pass
        except Damaged as damaged:
            if not self._attempts.of_job(job_id) and self._queue.decision(job_id) is None:
                kept = self._queue.set_aside(job_id, damaged.reason)
                what = f"set aside as {kept.path}" if kept.moved else "left where it is"
                return Advance(job_id, "stopped", f"{why} It was {what}.")
        except PerdureError:
            pass
        return Advance(job_id, "stopped", why)

    # -- attempts

    def _attempt(self, facts: JobFacts, verdict: Begin | Dispatch, claim: Claim) -> Advance | None:
        """Reserve or send; a branch that was removed ends the job by the facts that are read next."""
        with contextlib.suppress(Removed):
            if isinstance(verdict, Begin):
                return self._begin(facts, verdict, claim)
            return self._dispatch(facts, verdict, claim)
        return None

    def _begin(self, facts: JobFacts, verdict: Begin, claim: Claim) -> Advance | None:
        job, now_ms = facts.job, self._clock.now_ms()
        missing = self._provider.ready()
        if missing is not None:
            return Advance(facts.job_id, "waiting", missing, now_ms + PROVIDER_WAIT_MS, blocks_lane=True)
        if job is None or not self._claims.holds(claim):
            return Advance(facts.job_id, "waiting", FENCED, now_ms, blocks_lane=True)
        branch = self._branch(job)
        day = utc_day(now_ms)
        name = attempt_id(day, job.job_id, verdict.number)
        request = make_request(job, branch, attempt=name, correction=verdict.correction)
        try:
            hold = self._provider.quote(request)
        except ProviderUnavailable as error:
            return Advance(facts.job_id, "waiting", str(error), now_ms + PROVIDER_WAIT_MS, blocks_lane=True)
        draft = Reserved(
            attempt_id=name,
            job_id=job.job_id,
            day=day,
            number=verdict.number,
            worker=claim.worker,
            claim_ordinal=claim.ordinal,
            claim_token=claim.token,
            provider=self._provider.name,
            model=self._provider.model,
            prompt_version=self._provider.prompt_version,
            prices=digest([hold.input_tokens, hold.output_tokens, hold.cost_nanodollars])[:16],
            base_digest=branch.digest,
            request_digest=digest(request),
            hold=Usage(hold.input_tokens, hold.output_tokens, hold.cost_nanodollars),
            reserved_ms=now_ms,
            calls=1,
        )
        reserved = self._attempts.reserve(draft, self._profile.limits if self._provider.paid else None)
        if isinstance(reserved, OverBudget):
            return over_budget(facts.job_id, reserved, self._provider.name, now_ms)
        self._log("reserved", name, f"{self._provider.name} {self._provider.model}".strip())
        return None

    def _dispatch(self, facts: JobFacts, verdict: Dispatch, claim: Claim) -> Advance | None:
        """Everything that would make the call pointless is checked before it is paid for (Q-11)."""
        job, reserved = facts.job, verdict.attempt.reserved
        if job is None or reserved is None:
            return None
        if self._queue.outcome(job.job_id) is not None or self._queue.decision(job.job_id) is not None:
            self._publisher.cancel(reserved.attempt_id, "the job was decided before the call", claim.worker)
            return None
        branch = self._branch(job)
        request = make_request(job, branch, attempt=reserved.attempt_id, correction=verdict.correction)
        if branch.digest != reserved.base_digest or digest(request) != reserved.request_digest:
            self._publisher.cancel(reserved.attempt_id, "memory changed before the call", claim.worker)
            return None
        if not self._claims.holds(claim):
            self._publisher.cancel(reserved.attempt_id, FENCED, claim.worker)
            return Advance(job.job_id, "waiting", FENCED, self._clock.now_ms(), blocks_lane=True)
        if self._provider.ready() is not None:
            self._publisher.cancel(reserved.attempt_id, "configuration is missing", claim.worker)
            return None
        mine = Fate(attempt_id=reserved.attempt_id, fate="dispatched", worker=claim.worker, reason="")
        with self._attempts.room() if self._provider.paid else contextlib.nullcontext():
            if not self._attempts.decide_fate(mine):
                return None
            self._log("dispatched", reserved.attempt_id, "")
            reply = self._send(request)
        self._settle(job, branch, request, reply)
        return None

    def _send(self, request: ReviewRequest) -> calls.Reply:
        """The one request."""
        try:
            return self._provider.review(request, timeout_seconds=self._profile.timeout_seconds)
        except Exception as error:  # noqa: BLE001 - whatever an adapter does, the call may have run
            return calls.Lost(type(error).__name__)

    def _settle(self, job: Job, branch: Branch, request: ReviewRequest, reply: calls.Reply) -> None:
        """Its result, durable before anything follows from it (D-01)."""
        if isinstance(reply, calls.Lost):
            self._attempts.lose(request.attempt_id)
            self._log("unknown", request.attempt_id, reply.detail)
            return
        closed = self._queue.outcome(job.job_id) is not None
        result = make_result(job, branch, request, reply, closed=closed, now_ms=self._clock.now_ms())
        self._attempts.settle(result)
        self._log("settled", request.attempt_id, f"{result.outcome} {result.detail}".strip())

    def _branch(self, job: Job) -> Branch:
        return present_branch(self._memory, job.project, job.branch_id)


def make_request(job: Job, branch: Branch, *, attempt: str, correction: str | None) -> ReviewRequest:
    """What the reviewer is shown: evidence and memory, nothing else."""
    return ReviewRequest(
        attempt_id=attempt,
        evidence=tuple(line for turn in job.evidence.turns for line in turn.lines),
        memory=tuple(
            MemoryView(entry.entry_id, entry.kind, entry.key, entry.importance, entry.text)
            for entry in branch.entries
        ),
        room_chars=max(0, REVIEW_CHARS_TARGET - branch.chars),
        operations_max=OPERATIONS_MAX,
        correction=correction,
    )


def make_result(
    job: Job,
    branch: Branch,
    request: ReviewRequest,
    reply: calls.Answered | calls.Failed,
    *,
    closed: bool,
    now_ms: int,
) -> Result:
    """Normalise a reply. For a job that has been closed only usage is kept (rule 13)."""
    outcome: ResultClass
    proposal = correction = None
    if isinstance(reply, calls.Failed):
        outcome, detail = reply.failure, reply.detail
    else:
        outcome, detail, proposal, correction = _read_answer(reply.text, branch, request)
    if closed:
        outcome, detail, proposal, correction = "nothing", "the job was closed meanwhile", None, None
    used = reply.usage
    return Result(
        attempt_id=request.attempt_id,
        job_id=job.job_id,
        outcome=outcome,
        detail=detail,
        proposal=proposal,
        proposal_digest=digest_bytes(proposal.encode()) if proposal is not None else None,
        correction=correction,
        usage=Usage(used.input_tokens, used.output_tokens, used.cost_nanodollars)
        if used is not None
        else None,
        retry_after_seconds=reply.retry_after_seconds if isinstance(reply, calls.Failed) else None,
        provider_request_id=reply.provider_request_id if isinstance(reply, calls.Answered) else None,
        settled_ms=now_ms,
    )


def _read_answer(
    text: str, branch: Branch, request: ReviewRequest
) -> tuple[ResultClass, str, str | None, str | None]:
    parsed = parse_proposal(
        text,
        evidence_ids={line.line_id for line in request.evidence},
        entry_ids={entry.entry_id for entry in branch.entries},
        operations_max=request.operations_max,
    )
    if isinstance(parsed, Malformed):
        return "invalid", "the output is not a proposal", None, parsed.guidance[:GUIDANCE_CHARS_MAX]
    kept, count = canonical(parsed.proposal).decode(), len(parsed.proposal.operations)
    if not count:
        return "nothing", "", kept, None
    detail = f"{count} operations"
    if not parsed.left_out:
        return "proposal", detail, kept, None
    detail = f"{detail}, {len(parsed.left_out)} left out"
    return "proposal", detail, kept, "; ".join(parsed.left_out)[:GUIDANCE_CHARS_MAX]


def utc_day(now_ms: int) -> str:
    """YYYYMMDD."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d")


def next_day_ms(now_ms: int) -> int:
    """The next UTC midnight."""
    here = datetime.fromtimestamp(now_ms / 1000, UTC)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return int(midnight.timestamp() * 1000)


_SETTINGS = {
    "calls": "calls",
    "tokens": "tokens",
    "cost": "usd",
    "cost this month": "usd_per_month",
    "calls this hour": "calls_per_hour",
}
_SPANS = {
    "calls": "today",
    "tokens": "today",
    "cost": "today",
    "cost this month": "this month",
    "calls this hour": "this hour",
}
_NANODOLLARS = 1_000_000_000


def over_budget(job_id: str, over: OverBudget, provider: str, now_ms: int) -> Advance:
    """Pause the lane and say why (B-08); limits never end a job."""
    setting = _SETTINGS[over.what]
    needed, used, limit = (_in_words(over.what, count) for count in (over.needed, over.used, over.limit))
    if over.never:
        reason = (
            f"one call may need {needed} and the limit is {limit}: it can never fit; "
            f"raise limits.{setting} in config.toml or lower reviewer.output_tokens_max"
        )
    else:
        reason = (
            f"the budget of {provider} for {_SPANS[over.what]} is used up: {used} of {limit} are spent, "
            f"held or unknown and one call may need {needed} (limits.{setting}); see perdure budget show"
        )
    until_ms = now_ms + HOUR_GUARD_MS if over.what == "calls this hour" else next_day_ms(now_ms)
    return Advance(job_id, "waiting", reason, until_ms, blocks_lane=True)


def _in_words(what: str, count: int) -> str:
    """An amount of a limit with its unit: dollars, tokens or calls."""
    if what.startswith("cost"):
        return f"${count / _NANODOLLARS:,.4f}"
    unit = "token" if what == "tokens" else "call"
    return f"{count:,} {unit if count == 1 else f'{unit}s'}"


def _ended(job_id: str, ended: Outcome | OutcomeTombstone | None) -> Advance:
    if ended is None:
        return Advance(job_id, "absent")
    return Advance(job_id, ended.state, ended.reason if isinstance(ended, Outcome) else "")
