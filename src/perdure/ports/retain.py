"""Retention: what may go, when, and what stays of it (E-05, rules 4 and 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from perdure.core.budget import Amount
from perdure.core.record import Record

REMOVING_MAX = 1_000
"""Attempts that are counted and removed at a time: it bounds the record."""
UNREADABLE = "unreadable"
"""The provider of an attempt whose reservation cannot be read; it counts against every provider (rule 6)."""


class ProviderTotal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one provider's attempts of a day came to, for certain."""

    provider: str
    attempts: int
    calls: int
    tokens: int
    cost_nanodollars: int

    @property
    def amount(self) -> Amount:
        """In the units of the budget."""
        return Amount(self.calls, self.tokens, self.cost_nanodollars)


class DayTotals(Record, frozen=True, forbid_unknown_fields=True):
    """A UTC day's budget once all its attempts are resolved; durable before they go, kept for ever.

    Attempts are added a bounded batch at a time: what stands in the day's folder and is not in `removing` is
    not counted here, whether it came before or after.
    """

    KIND = "day-totals"

    day: str
    providers: tuple[ProviderTotal, ...]
    removing: tuple[str, ...]  # attempts counted here whose records may still stand in their folder


class Mark(msgspec.Struct, frozen=True):
    """How far retention believed the clock at its last run; unsynced."""

    believed_ms: int
    boot_id: str
    boot_seconds: float


class Ledger(Protocol):
    """Totals of days whose attempts are gone."""

    def totals(self) -> tuple[DayTotals, ...]:
        """All of them, oldest first."""
        ...

    def days(self) -> tuple[str, ...]:
        """The days that still have attempts, oldest first."""
        ...

    def close_day(self, day: str) -> DayTotals | None:
        """Add a day's attempts to its totals and remove them, under the budget's lock. None when the day has
        an unresolved attempt or one whose job is open: then nothing more is removed. Attempts that appear in
        a day that was closed are counted on top by the next call.
        """
        ...

    def strip_results(self, expired: Callable[[str], bool]) -> int:
        """Take the text out of the results of expired jobs, keeping digests and usage; returns how many.

        `expired` is asked with a job id. It does not wait for the day to be resolved (E-05).
        """
        ...


class Retain(Protocol):
    """Taking away what has expired. Every method is idempotent and finishes what a crash left."""

    def projects(self) -> tuple[str, ...]:
        """All scopes of jobs."""
        ...

    def candidates(self, project: str) -> tuple[str, ...]:
        """Jobs that have an outcome and any other record, oldest first: by name alone."""
        ...

    def newest_settled_ms(self) -> int:
        """The newest settled time of any job that has ended; 0 when there is none."""
        ...

    def entomb(self, job_id: str) -> None:
        """Put the outcome's tombstone in its place, durably."""
        ...

    def entombed(self, job_id: str) -> bool:
        """Whether the outcome is a tombstone already, perhaps not durably: for choosing what to look at."""
        ...

    def remove_rest(self, project: str, job_ids: tuple[str, ...]) -> int:
        """Remove every record but the tombstone of jobs whose outcome is one. Under the project's lock."""
        ...

    def uncompacted(self, project: str) -> tuple[str, ...]:
        """Reviews whose receipt stands there and whose intent is not yet a tombstone."""
        ...

    def compacted(self, project: str, job_id: str) -> bool:
        """Whether a review has no intent, or only the tombstone of one."""
        ...

    def sweep_scope(self, scope: str) -> int:
        """Remove completions without an intent. Under the scope's lock."""
        ...

    def sweep_home(self) -> int:
        """Remove temporaries and workers of the dead and claims below a lane's highest."""
        ...

    def sweep_quarantine(self, before_ms: int) -> int:
        """Remove older copies of what was damaged, and the oldest of too many; their reasons stay."""
        ...

    def give_up_ballast(self) -> bool:
        """When the disk is full, free what is kept back for removals (rule 7); returns whether it was."""
        ...

    def stock_ballast(self) -> None:
        """Keep room back again, as far as there is any."""
        ...

    def mark(self) -> Mark | None:
        """The last run's mark."""
        ...

    def set_mark(self, mark: Mark) -> None:
        """Note this run."""
        ...
