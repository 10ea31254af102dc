"""Jobs, their decisions and their ends."""

from __future__ import annotations

from typing import Protocol

import msgspec

from perdure.core.admission import Event, Outcome, OutcomeTombstone
from perdure.core.decision import Decision
from perdure.core.job import Job


class Accepted(msgspec.Struct, frozen=True):
    """The job is durable. `new` is False when the same review stood there already (Q-01)."""

    job_id: str
    new: bool


class Quarantined(msgspec.Struct, frozen=True):
    """Something that is not what its name says: set aside at `path`, or, not `moved`, left there."""

    path: str
    reason: str
    moved: bool = True


class Queue(Protocol):
    """The durable queue. Every record is created once; reading one makes sure that it is durable (rule 3)."""

    def accept(self, job: Job) -> Accepted:
        """Publish a job. Raises Conflict when its id stands for other evidence."""
        ...

    def queued(self) -> list[str]:
        """The ids of all jobs that have a file, oldest first. Foreign names are left out."""
        ...

    def closed(self, project: str, *, durable: bool = False) -> frozenset[str]:
        """The ids of all jobs of a project that have an outcome; `durable`: all made so, for reading many."""
        ...

    def announced(self, project: str) -> frozenset[str]:
        """The ids of all jobs of a project that have an event."""
        ...

    def job(self, job_id: str) -> Job | None:
        """The job; Damaged when it cannot be read."""
        ...

    def decision(self, job_id: str) -> Decision | None:
        """The decision that stands."""
        ...

    def decide(self, decision: Decision) -> Decision:
        """Elect: the first decision stands and is returned, whoever made it.

        For a job that has been compacted nothing is left standing.
        """
        ...

    def outcome(self, job_id: str) -> Outcome | OutcomeTombstone | None:
        """How the job ended."""
        ...

    def close(self, outcome: Outcome) -> None:
        """Publish the outcome; other bytes at its place fail closed."""
        ...

    def event_present(self, job_id: str) -> bool:
        """Whether the event was made."""
        ...

    def announce(self, event: Event) -> None:
        """Publish the event; for a job that has been compacted nothing is left standing."""
        ...

    def set_aside(self, job_id: str, reason: str) -> Quarantined:
        """Move a damaged job that nobody has claimed to quarantine, with the reason (rule 6).

        It goes only when its bytes are wrong, not when they cannot be read now, and a durable copy stands.
        """
        ...
