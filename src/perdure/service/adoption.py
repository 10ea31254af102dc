"""What a copied or restored home may have spent without knowing (rule 14)."""

from __future__ import annotations

from perdure.core.attempt import Fate, Reserved, Usage, attempt_id
from perdure.core.budget import Limits
from perdure.core.canonical import digest
from perdure.ports.attempts import Attempts
from perdure.ports.clock import Clock, Ids
from perdure.service.curate import utc_day
from perdure.service.probe import no_job

NOBODY = "0" * 32
"""A worker that never lived."""


def charge_rest_of_day(
    attempts: Attempts, *, provider: str, model: str, limits: Limits, clock: Clock, ids: Ids
) -> str | None:
    """Count what is left of today's limits as unknown: the other copy may have spent it.

    It is an attempt of no job, whose owner is gone, so that `budget reconcile` can settle it. Returns its id,
    or None when nothing was left.
    """
    now_ms = clock.now_ms()
    day = utc_day(now_ms)
    used = attempts.charge(provider, day).total
    tokens = max(0, (limits.tokens_per_day or 0) - used.tokens)
    cost = max(0, (limits.cost_nanodollars_per_day or 0) - used.cost_nanodollars)
    if not tokens and not cost:
        return None
    job_id = no_job(ids)
    name = attempt_id(day, job_id, 1)
    attempts.reserve(
        Reserved(
            attempt_id=name,
            job_id=job_id,
            day=day,
            number=1,
            worker=NOBODY,
            claim_ordinal=0,
            claim_token="",
            provider=provider,
            model=model,
            prompt_version="adoption",
            prices="",
            base_digest=digest([]),
            request_digest=digest([]),
            hold=Usage(tokens, 0, cost),
            reserved_ms=now_ms,
        ),
        None,
    )
    attempts.decide_fate(
        Fate(attempt_id=name, fate="dispatched", worker=NOBODY, reason="the home was adopted")
    )
    attempts.lose(name)
    return name
