"""What a copied or restored home may have spent without knowing (rule 14)."""

from __future__ import annotations

from perdure.core.attempt import Fate, Reserved, Usage, attempt_id
from perdure.core.budget import Limits, calls_since, month_cost
from perdure.core.canonical import digest
from perdure.ports.attempts import Attempts
from perdure.ports.clock import Clock, Ids
from perdure.service.budget import HOUR_MS
from perdure.service.curate import utc_day
from perdure.service.probe import no_job

NOBODY = "0" * 32
"""A worker that never lived."""


def charge_rest_of_day(
    attempts: Attempts, *, provider: str, model: str, limits: Limits, clock: Clock, ids: Ids
) -> str | None:
    """Count what is left of the limits as unknown: the other copy may have spent it.

    A limit of a longer or shorter time counts where no daily one is set. Calls are one attempt of many calls.

    It is an attempt of no job, whose owner is gone, so that `budget reconcile` can settle it. Returns its id,
    or None when nothing was left. Run again after it was cut off, it finishes what it had begun.
    """
    for begun in attempts.all():
        if begun.open and begun.reserved is not None and begun.reserved.worker == NOBODY:
            _count(attempts, begun.attempt_id)
    now_ms = clock.now_ms()
    day = utc_day(now_ms)
    used = attempts.charge(provider, day).total
    made = attempts.all()
    month = month_cost(made, provider=provider, day=day)
    hour = calls_since(made, provider=provider, since_ms=now_ms - HOUR_MS)
    tokens = _left(limits.tokens_per_day, used.tokens)
    cost = _left(limits.cost_nanodollars_per_day, used.cost_nanodollars)
    if limits.cost_nanodollars_per_day is None:
        cost = _left(limits.cost_nanodollars_per_month, month)
    calls = _left(limits.calls_per_day, used.calls)
    if limits.calls_per_day is None:
        calls = _left(limits.calls_per_hour, hour)
    if not tokens and not cost and not calls:
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
            calls=max(1, calls),
            reserved_ms=now_ms,
        ),
        None,
    )
    _count(attempts, name)
    return name


def _count(attempts: Attempts, name: str) -> None:
    """As unknown, for good: a reservation alone would be taken for an orphan that never sent anything."""
    attempts.decide_fate(
        Fate(attempt_id=name, fate="dispatched", worker=NOBODY, reason="the home was adopted")
    )
    attempts.lose(name)


def _left(limit: int | None, used: int) -> int:
    """No limit is nothing to count."""
    return max(0, (limit or 0) - used)
