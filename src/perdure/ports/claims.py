"""Ownership of lanes, and proof of life."""

from __future__ import annotations

from typing import Protocol

from perdure.core.claim import Claim
from perdure.core.job import Lane


class Claims(Protocol):
    """At most one current owner per lane (Q-03)."""

    def register(self) -> str:
        """Become a worker: a name whose lock is held until `retire` or death."""
        ...

    def renew(self, worker: str) -> str:
        """Go on as that worker, or as a newly registered one once others hold it for dead; the name.

        Only between two jobs: what the worker had open is settled as a dead one's.
        """
        ...

    def retire(self, worker: str) -> None:
        """Stop being that worker."""
        ...

    def gone(self, worker: str) -> bool:
        """Whether that worker is proved dead. A worker that is alive but stuck is not."""
        ...

    def beat(self, worker: str) -> None:
        """Note that the worker makes progress (unsynced)."""
        ...

    def claim(self, lane: Lane, worker: str) -> Claim | None:
        """Own the lane, or None while another owner lives and makes progress."""
        ...

    def holds(self, claim: Claim) -> bool:
        """Whether no higher ordinal exists."""
        ...

    def release(self, claim: Claim) -> None:
        """Let the lane go."""
        ...

    def workers(self) -> tuple[str, ...]:
        """The workers that are alive."""
        ...
