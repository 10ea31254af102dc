"""Provider attempts and the budget that is their fold."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from perdure.core.attempt import Attempt, Fate, Reconciled, Reserved, Result
from perdure.core.budget import Exposure, Limits, OverBudget


class Attempts(Protocol):
    """Attempt records; check and reservation are one step under contention (B-02)."""

    def of_job(self, job_id: str) -> tuple[Attempt, ...]:
        """The job's attempts, oldest first."""
        ...

    def all(self) -> tuple[Attempt, ...]:
        """Every attempt that still has records, oldest first."""
        ...

    def reserve(self, draft: Reserved, limits: Limits | None) -> Reserved | OverBudget | None:
        """Publish the reservation if it fits; None when the job already has that attempt or a later one.

        `limits` None means that the provider is free of charge; else orphans are settled first.
        """
        ...

    def room(self) -> AbstractContextManager[None]:
        """Hold room on the disk for one result; raises DiskFull before anything is paid (rule 7).

        Left once the reply is there, so that the result takes its place.
        """
        ...

    def decide_fate(self, fate: Fate) -> bool:
        """Elect dispatched or cancelled; True only for the creator, who alone may send."""
        ...

    def settle(self, result: Result) -> None:
        """Publish the result."""
        ...

    def lose(self, attempt_id: str) -> None:
        """Publish that the end is unknown."""
        ...

    def reconcile(self, reconciled: Reconciled) -> None:
        """Publish the user's word on an unknown amount (A-06).

        Refused while the owner lives and when nothing is open about it (any more). Of a damaged attempt
        nothing else is published: what it was cannot be told.
        """
        ...

    def charge(self, provider: str, day: str) -> Exposure:
        """What counts against that provider's day."""
        ...
