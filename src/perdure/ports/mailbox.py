"""The mailbox of a project: news of ended reviews, each shown by one host once (F-01, F-03, rule 17).

An event stands while its job does. When the job expires, an event that is news and has not had its time is
*kept*: its copy stands past the job, and what a late writer makes at the event's own place counts nothing.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from perdure.core.admission import Event
from perdure.core.mailbox import Shown


class Told(msgspec.Struct, frozen=True):
    """An event that stands. `seen` without `shown` means a record of it that cannot be read, which counts."""

    event: Event
    news: bool
    kept: bool
    seen: bool
    shown: Shown | None


class Mailbox(Protocol):
    """Events of a project's jobs. One that cannot be read is left out: verify names it."""

    def unseen(self, project: str) -> tuple[Told, ...]:
        """The news that nobody has shown, in the order in which reviews ended."""
        ...

    def all(self, project: str) -> tuple[Told, ...]:
        """Every event that stands, in the same order."""
        ...

    def told(self, job_id: str) -> Told | None:
        """One job's event; None when it has none, or no longer."""
        ...

    def show(self, shown: Shown) -> bool:
        """Elect who shows an event, durably. True for the one call whose caller shall display it.

        False when another has shown it, when it is gone, and when what stands there cannot be read.
        """
        ...

    def keep(self, job_id: str) -> bool:
        """Keep an event past its job, durably; False when none stands. Under the project's lock."""
        ...

    def kept(self, project: str) -> tuple[Told, ...]:
        """The events that stand past their jobs."""
        ...

    def remove(self, job_ids: tuple[str, ...]) -> int:
        """Remove kept events, and then who showed them; returns how many records went.

        The events of jobs that are not compacted stay. Under the project's lock.
        """
        ...

    def sweep(self, project: str) -> int:
        """Remove records of showing whose event is gone. Under the project's lock."""
        ...
