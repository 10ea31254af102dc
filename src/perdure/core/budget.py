"""The budget: a fold over attempt records, in three certainties (B-01 to B-07). Never a counter."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.core.attempt import Attempt, Usage, day_of

ZERO = Usage(0, 0, 0)
_MONTH_DIGITS = 6


class Amount(msgspec.Struct, frozen=True):
    """Calls, tokens and integer nano-dollars."""

    calls: int = 0
    tokens: int = 0
    cost_nanodollars: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost_nanodollars + other.cost_nanodollars,
        )


class Exposure(msgspec.Struct, frozen=True):
    """What was spent for certain, what is held, and what may have been spent."""

    actual: Amount = Amount()
    held: Amount = Amount()
    unknown: Amount = Amount()

    def __add__(self, other: Exposure) -> Exposure:
        return Exposure(self.actual + other.actual, self.held + other.held, self.unknown + other.unknown)

    @property
    def total(self) -> Amount:
        """The most that may have been spent."""
        return self.actual + self.held + self.unknown


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one provider; None is no limit. The hourly one is the guard against a runaway (B-08)."""

    calls_per_day: int | None = None
    tokens_per_day: int | None = None
    cost_nanodollars_per_day: int | None = None
    cost_nanodollars_per_month: int | None = None
    calls_per_hour: int | None = None


class OverBudget(msgspec.Struct, frozen=True):
    """Why a reservation is not admitted. `never` says that even an empty day would not fit it (B-02)."""

    what: str  # "calls", "tokens", "cost", "cost this month" or "calls this hour"
    needed: int
    used: int
    limit: int
    never: bool


def exposure(attempt: Attempt, largest_hold: Usage = ZERO) -> Exposure:
    """What one attempt counts. An unreadable one costs its hold, or else the largest allowed (rule 6)."""
    hold = attempt.reserved.hold if attempt.reserved is not None else largest_hold
    calls = attempt.reserved.calls if attempt.reserved is not None else 1
    if attempt.state == "cancelled":
        return Exposure()
    if attempt.result is not None or attempt.reconciled is not None:
        return _settled(attempt, hold, calls)
    doubt = Amount(calls, hold.tokens, hold.cost_nanodollars)
    return Exposure(unknown=doubt) if attempt.state == "unknown" else Exposure(held=doubt)


def _settled(attempt: Attempt, hold: Usage, calls: int) -> Exposure:
    reported = [
        usage
        for usage in (
            attempt.result.usage if attempt.result is not None else None,
            attempt.reconciled.usage if attempt.reconciled is not None else None,
        )
        if usage is not None
    ]
    if not reported:
        return Exposure(actual=Amount(calls), held=Amount(0, hold.tokens, hold.cost_nanodollars))
    tokens = max(usage.tokens for usage in reported)
    cost = max(usage.cost_nanodollars for usage in reported)
    return Exposure(actual=Amount(calls, tokens, cost))


def unresolved(attempt: Attempt) -> bool:
    """Whether the attempt still holds or doubts anything: it then counts against every later day (B-06)."""
    counted = exposure(attempt)
    damaged = attempt.damaged is not None and attempt.reconciled is None
    return counted.held != Amount() or counted.unknown != Amount() or damaged


def charge(attempts: Iterable[Attempt], *, provider: str, day: str, largest_hold: Usage = ZERO) -> Exposure:
    """What counts against a day: attempts dated that day or later, and all unresolved ones (rule 12)."""
    total = Exposure()
    for attempt in attempts:
        owner = attempt.reserved.provider if attempt.reserved is not None else provider
        if owner == provider and (day_of(attempt.attempt_id) >= day or unresolved(attempt)):
            total += exposure(attempt, largest_hold)
    return total


def month_cost(attempts: Iterable[Attempt], *, provider: str, day: str, largest_hold: Usage = ZERO) -> int:
    """What counts against a day's month, in nano-dollars, of days that still have their attempts (B-08)."""
    month = day[:_MONTH_DIGITS]
    total = 0
    for attempt in attempts:
        owner = attempt.reserved.provider if attempt.reserved is not None else provider
        here = day_of(attempt.attempt_id)[:_MONTH_DIGITS] >= month
        if owner == provider and (here or unresolved(attempt)):
            total += exposure(attempt, largest_hold).total.cost_nanodollars
    return total


def calls_since(attempts: Iterable[Attempt], *, provider: str, since_ms: int) -> int:
    """How many calls were reserved since then and not cancelled."""
    return sum(
        attempt.reserved.calls
        for attempt in attempts
        if attempt.reserved is not None
        and attempt.reserved.provider == provider
        and attempt.reserved.reserved_ms >= since_ms
        and attempt.state != "cancelled"
    )


def admit(
    current: Exposure,
    hold: Usage,
    limits: Limits,
    *,
    month_cost_nanodollars: int = 0,
    hour_calls: int = 0,
) -> OverBudget | None:
    """None when the hold fits into what is left, else the first limit that it would pass (B-02, B-08)."""
    used = current.total
    cost = hold.cost_nanodollars
    wanted = (
        ("calls", used.calls, 1, limits.calls_per_day),
        ("tokens", used.tokens, hold.tokens, limits.tokens_per_day),
        ("cost", used.cost_nanodollars, cost, limits.cost_nanodollars_per_day),
        ("cost this month", month_cost_nanodollars, cost, limits.cost_nanodollars_per_month),
        ("calls this hour", hour_calls, 1, limits.calls_per_hour),
    )
    for what, have, need, limit in wanted:
        if limit is not None and have + need > limit:
            return OverBudget(what=what, needed=need, used=have, limit=limit, never=need > limit)
    return None
