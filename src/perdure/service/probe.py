"""One announced, budgeted call to see whether the reviewer answers (A-02, B-02).

It is an attempt like any other, of a job that does not exist: its lane is all zeros, so that no project and
no worker ever has to do with it.
"""

from __future__ import annotations

import msgspec

from perdure.core.attempt import Fate, Reserved, Result, ResultClass, Usage, attempt_id
from perdure.core.budget import Limits, OverBudget
from perdure.core.canonical import digest
from perdure.core.evidence import EvidenceLine
from perdure.core.job import JOB_ID_DIGITS
from perdure.core.proposal import OPERATIONS_MAX, Malformed, parse_proposal
from perdure.errors import ProviderUnavailable
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock, Ids
from perdure.ports.provider import Answered, Failed, Hold, Lost, Provider, Reply, ReviewRequest
from perdure.service.curate import utc_day

TAKEN_BACK = "another process took the reservation back; nothing was sent"
_SAID = "From now on, always run the formatter before you commit in this project."
_IDENTITY_DIGITS = 32
_NO_LANE = "0" * (JOB_ID_DIGITS - _IDENTITY_DIGITS)


def is_probe(job_id: str) -> bool:
    """Whether a job id belongs to an attempt that no job stands behind."""
    return job_id.startswith(_NO_LANE)


def no_job(ids: Ids) -> str:
    """A fresh id for attempts that belong to no job."""
    return _NO_LANE + ids.token(_IDENTITY_DIGITS)


class Probe(msgspec.Struct, frozen=True):
    """What will be sent, before it is sent. `hold` bounds what it can cost."""

    job_id: str
    day: str
    request: ReviewRequest
    hold: Hold


class Probed(msgspec.Struct, frozen=True):
    """How the call ended. `usage` is None where the provider did not report it."""

    attempt_id: str
    answered: bool
    outcome: str  # a result's class, "unknown", or "cancelled" when nothing was sent
    detail: str
    usage: Usage | None


class ProbeService:
    """Tests one reviewer."""

    def __init__(
        self,
        *,
        attempts: Attempts,
        claims: Claims,
        clock: Clock,
        ids: Ids,
        provider: Provider,
        limits: Limits | None,
        timeout_seconds: float,
    ) -> None:
        self._attempts, self._claims, self._clock, self._ids = attempts, claims, clock, ids
        self._provider, self._limits, self._timeout_seconds = provider, limits, timeout_seconds

    def prepare(self) -> Probe:
        """What one test call would send and hold. Raises ProviderUnavailable when something is missing."""
        missing = self._provider.ready()
        if missing is not None:
            raise ProviderUnavailable(missing)
        job_id = no_job(self._ids)
        day = utc_day(self._clock.now_ms())
        request = ReviewRequest(
            attempt_id=attempt_id(day, job_id, 1),
            evidence=(EvidenceLine("e1", "user", _SAID),),
            memory=(),
            room_chars=800,
            operations_max=OPERATIONS_MAX,
            correction=None,
        )
        return Probe(job_id, day, request, self._provider.quote(request))

    def send(self, probe: Probe) -> Probed:
        """Reserve, dispatch and settle the one call. Raises ProviderUnavailable when it is over budget."""
        worker = self._claims.register()
        try:
            self._reserve(probe, worker)
            name = probe.request.attempt_id
            sent = Fate(attempt_id=name, fate="dispatched", worker=worker, reason="")
            with self._attempts.room():
                if not self._attempts.decide_fate(sent):
                    return Probed(name, answered=False, outcome="cancelled", detail=TAKEN_BACK, usage=None)
                try:
                    reply = self._provider.review(probe.request, timeout_seconds=self._timeout_seconds)
                except Exception as error:  # noqa: BLE001 - whatever an adapter does, the call may have run
                    reply = Lost(type(error).__name__)
            return self._settle(probe, reply)
        finally:
            self._claims.retire(worker)

    def _reserve(self, probe: Probe, worker: str) -> None:
        hold = probe.hold
        draft = Reserved(
            attempt_id=probe.request.attempt_id,
            job_id=probe.job_id,
            day=probe.day,
            number=1,
            worker=worker,
            claim_ordinal=0,
            claim_token="",
            provider=self._provider.name,
            model=self._provider.model,
            prompt_version=self._provider.prompt_version,
            prices=digest([hold.input_tokens, hold.output_tokens, hold.cost_nanodollars])[:16],
            base_digest=digest([]),
            request_digest=digest(probe.request),
            hold=Usage(hold.input_tokens, hold.output_tokens, hold.cost_nanodollars),
            reserved_ms=self._clock.now_ms(),
            calls=1,
        )
        reserved = self._attempts.reserve(draft, self._limits if self._provider.paid else None)
        if isinstance(reserved, OverBudget):
            msg = f"the call does not fit into today's limit of {reserved.limit:,} {reserved.what}."
            raise ProviderUnavailable(msg, advice="perdure budget show says what was spent.")

    def _settle(self, probe: Probe, reply: Reply) -> Probed:
        """The answer is judged and counted; its text is not kept."""
        name = probe.request.attempt_id
        if isinstance(reply, Lost):
            self._attempts.lose(name)
            return Probed(name, answered=False, outcome="unknown", detail=reply.detail, usage=None)
        outcome, detail = _judged(reply)
        used, usage = reply.usage, None
        if used is not None:
            usage = Usage(used.input_tokens, used.output_tokens, used.cost_nanodollars)
        self._attempts.settle(
            Result(
                attempt_id=name,
                job_id=probe.job_id,
                outcome=outcome,
                detail=detail,
                proposal=None,
                proposal_digest=None,
                correction=None,
                usage=usage,
                retry_after_seconds=reply.retry_after_seconds if isinstance(reply, Failed) else None,
                provider_request_id=reply.provider_request_id if isinstance(reply, Answered) else None,
                settled_ms=self._clock.now_ms(),
            )
        )
        answered = isinstance(reply, Answered)
        return Probed(name, answered=answered, outcome=outcome, detail=detail, usage=usage)


def _judged(reply: Answered | Failed) -> tuple[ResultClass, str]:
    """A good answer is kept as "nothing": a test proposes nothing to anybody."""
    if isinstance(reply, Failed):
        return reply.failure, reply.detail
    parsed = parse_proposal(reply.text, evidence_ids={"e1"}, entry_ids=())
    if isinstance(parsed, Malformed):
        return "invalid", "the output is not a proposal"
    return "nothing", f"test call, {len(parsed.proposal.operations)} operations"
