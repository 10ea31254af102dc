"""What reviewing has cost, in three certainties, and how doubt is resolved (B-01, B-06, B-07, A-06)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from perdure.core.attempt import Attempt, Reconciled, Usage, day_of
from perdure.core.budget import Amount, Exposure, Limits, calls_since, exposure, month_cost, unresolved
from perdure.core.text import check_entry_text
from perdure.errors import Ambiguous, NotFound, UsageError
from perdure.ports.attempts import Attempts
from perdure.ports.clock import Clock
from perdure.ports.retain import UNREADABLE, Ledger

REASON_CHARS_MAX = 200
PREFIX_DIGITS_MIN = 4
HOUR_MS = 3_600_000
_DAY_DIGITS = 8
_MONTH_DIGITS = 6


class DayRow(msgspec.Struct, frozen=True):
    """One provider's UTC day. `closed` says that its attempts are resolved and gone: only totals are left.

    A day has two rows where attempts appeared after it was closed.
    """

    day: str  # YYYYMMDD
    provider: str
    exposure: Exposure
    attempts: int
    closed: bool


class Unresolved(msgspec.Struct, frozen=True):
    """An attempt that still holds or may have spent something."""

    attempt_id: str
    provider: str
    state: str
    day: str
    age_ms: int
    exposure: Exposure
    job_id: str | None


class ProviderNow(msgspec.Struct, frozen=True):
    """What counts against a provider's limits now (B-06, B-08).

    `counted` is the day: its attempts and all unresolved ones; the month and the last hour stand beside it.
    """

    provider: str
    counted: Exposure
    month_cost_nanodollars: int
    hour_calls: int
    limits: Limits | None  # None: free of charge, or not the configured provider
    left: Limits | None  # in the same units; None is no limit


class BudgetReport(msgspec.Struct, frozen=True):
    """The whole budget. Days are newest first; unresolved attempts oldest first."""

    today: str
    providers: tuple[ProviderNow, ...]
    days: tuple[DayRow, ...]
    unresolved: tuple[Unresolved, ...]
    alerts: tuple[str, ...] = ()  # limits of which a large share is used up (B-08)


class BudgetService:
    """Reports and reconciles. `limits` hold for `provider`, the configured one; None when it is free."""

    def __init__(
        self,
        attempts: Attempts,
        ledger: Ledger,
        *,
        clock: Clock,
        provider: str,
        limits: Limits | None,
        largest_hold: Usage,
        alert_share: float = 1.0,
    ) -> None:
        """From `alert_share` of a limit on, the report says so."""
        self._alert_share = alert_share
        self._attempts, self._ledger, self._clock = attempts, ledger, clock
        self._provider, self._limits, self._largest_hold = provider, limits, largest_hold

    def report(self) -> BudgetReport:
        """Fold all attempt records and the totals of closed days (B-01)."""
        now_ms = self._clock.now_ms()
        today = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d")
        counted = {name for totals in self._ledger.totals() for name in totals.removing}
        attempts = tuple(a for a in self._attempts.all() if a.attempt_id not in counted)
        days = self._days(attempts)
        names = sorted({self._provider, *(row.provider for row in days)} - {UNREADABLE})
        providers = tuple(self._now(name, attempts, now_ms, today) for name in names)
        return BudgetReport(
            today=today,
            providers=providers,
            days=tuple(sorted(days, key=lambda row: (row.day, row.provider), reverse=True)),
            unresolved=tuple(self._unresolved(a, now_ms) for a in attempts if unresolved(a)),
            alerts=tuple(line for now in providers for line in _alerts(now, self._alert_share)),
        )

    def reconcile(self, which: str, *, reason: str, usage: Usage | None = None) -> Attempt:
        """Close an unknown or unreported amount by the user's word; without `usage` the full hold is charged.

        Raises NotFound, Ambiguous, UsageError, and Refused while the attempt's owner lives or when nothing is
        open about it. Returns the attempt as it stands now: a reservation that was never sent is cancelled
        instead and costs nothing.
        """
        said = check_entry_text(reason)
        if len(said) > REASON_CHARS_MAX:
            msg = f"a reason has at most {REASON_CHARS_MAX} characters, this one has {len(said)}."
            raise UsageError(msg)
        attempt = self._find(which)
        if usage is not None and min(usage.input_tokens, usage.output_tokens, usage.cost_nanodollars) < 0:
            msg = "tokens and cost are not negative."
            raise UsageError(msg)
        hold = attempt.reserved.hold if attempt.reserved is not None else self._largest_hold
        self._attempts.reconcile(
            Reconciled(
                attempt_id=attempt.attempt_id,
                reason=said,
                usage=usage or hold,
                reconciled_ms=self._clock.now_ms(),
            )
        )
        return self._find(attempt.attempt_id)

    def _find(self, which: str) -> Attempt:
        """By id, by its beginning, or by the beginning of the part after the day."""
        wanted = which.strip().lower()
        if len(wanted) < PREFIX_DIGITS_MIN:
            msg = f"{which!r} is too short to name an attempt; {PREFIX_DIGITS_MIN} digits are needed."
            raise UsageError(msg, advice="perdure budget show lists them.")
        attempts = self._attempts.all()
        matches = [a for a in attempts if a.attempt_id.startswith(wanted)] or [
            a for a in attempts if a.attempt_id[_DAY_DIGITS + 1 :].startswith(wanted)
        ]
        if not matches:
            msg = f"there is no attempt {which!r}."
            raise NotFound(msg, advice="perdure budget show lists them.")
        if len(matches) > 1:
            listed = ", ".join(attempt.attempt_id for attempt in matches[:5])
            msg = f"{len(matches)} attempts begin with {which!r}: {listed}."
            raise Ambiguous(msg, advice="Give more digits.")
        return matches[0]

    def _closed_days(self) -> list[DayRow]:
        return [
            DayRow(totals.day, total.provider, Exposure(actual=total.amount), total.attempts, closed=True)
            for totals in self._ledger.totals()
            for total in totals.providers
        ]

    def _days(self, attempts: Iterable[Attempt]) -> list[DayRow]:
        closed = self._closed_days()
        rows: dict[tuple[str, str], DayRow] = {}
        for attempt in attempts:
            key = (day_of(attempt.attempt_id), _provider(attempt))
            before = rows.get(key) or DayRow(*key, Exposure(), 0, closed=False)
            total = before.exposure + exposure(attempt, self._largest_hold)
            rows[key] = DayRow(*key, total, before.attempts + 1, closed=False)
        return [*closed, *rows.values()]

    def _now(self, provider: str, attempts: tuple[Attempt, ...], now_ms: int, today: str) -> ProviderNow:
        counted = self._attempts.charge(provider, today)
        month = month_cost(attempts, provider=provider, day=today, largest_hold=self._largest_hold)
        month += sum(
            row.exposure.actual.cost_nanodollars
            for row in self._closed_days()
            if row.provider in {provider, UNREADABLE} and row.day[:_MONTH_DIGITS] >= today[:_MONTH_DIGITS]
        )
        calls = calls_since(attempts, provider=provider, since_ms=now_ms - HOUR_MS)
        limits = self._limits if provider == self._provider else None
        left = _left(limits, counted.total, month, calls) if limits is not None else None
        return ProviderNow(provider, counted, month, calls, limits, left)

    def _unresolved(self, attempt: Attempt, now_ms: int) -> Unresolved:
        reserved = attempt.reserved
        begun_ms = reserved.reserved_ms if reserved is not None else _midnight_ms(day_of(attempt.attempt_id))
        return Unresolved(
            attempt_id=attempt.attempt_id,
            provider=_provider(attempt),
            state="unreadable" if attempt.damaged is not None else attempt.state,
            day=day_of(attempt.attempt_id),
            age_ms=max(0, now_ms - begun_ms),
            exposure=exposure(attempt, self._largest_hold),
            job_id=reserved.job_id if reserved is not None else None,
        )


def _provider(attempt: Attempt) -> str:
    return attempt.reserved.provider if attempt.reserved is not None else UNREADABLE


_NAMES = {
    "calls_per_day": "today's calls",
    "tokens_per_day": "today's tokens",
    "cost_nanodollars_per_day": "today's cost",
    "cost_nanodollars_per_month": "this month's cost",
    "calls_per_hour": "this hour's calls",
}


def _alerts(now: ProviderNow, share: float) -> Iterator[str]:
    """Every limit of which at least that share is spent, held or unknown."""
    if now.limits is None or now.left is None:
        return
    for field, name in _NAMES.items():
        limit, left = getattr(now.limits, field), getattr(now.left, field)
        if limit and (limit - left) >= share * limit:
            yield f"{now.provider}: {(limit - left) * 100 // limit}% of {name} are used up"


def _left(limits: Limits, used: Amount, month_cost_nanodollars: int, hour_calls: int) -> Limits:
    def rest(limit: int | None, have: int) -> int | None:
        return None if limit is None else max(0, limit - have)

    return Limits(
        calls_per_day=rest(limits.calls_per_day, used.calls),
        tokens_per_day=rest(limits.tokens_per_day, used.tokens),
        cost_nanodollars_per_day=rest(limits.cost_nanodollars_per_day, used.cost_nanodollars),
        cost_nanodollars_per_month=rest(limits.cost_nanodollars_per_month, month_cost_nanodollars),
        calls_per_hour=rest(limits.calls_per_hour, hour_calls),
    )


def _midnight_ms(day: str) -> int:
    try:
        return int(datetime.strptime(day, "%Y%m%d").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return 0
