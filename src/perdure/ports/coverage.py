"""Which turns have been taken in (rule 8)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from perdure.core.job import Job
from perdure.core.record import Record
from perdure.ports.queue import Accepted


class Uncovered(Record, frozen=True, forbid_unknown_fields=True):
    """Turns that could not become a job, with the reason (E-09). Counts as covered."""

    KIND = "uncovered"

    project: str
    turns: tuple[str, ...]
    reason: str
    noted_ms: int


class HeldCoverage(Protocol):
    """One project's coverage while its lock is held."""

    def covered(self) -> Mapping[str, str]:
        """Turn id to the job (or "uncovered") that took it: a fold over records, never a cursor."""
        ...

    def accept(self, job: Job) -> Accepted:
        """Publish a job of this project. The branch file that it names is made durable first, so that no
        power loss takes a branch from under its jobs; a damaged one stops its job later, not the capture.
        """
        ...

    def note_uncovered(self, uncovered: Uncovered) -> None:
        """Publish that turns are left out for good."""
        ...


class Coverage(Protocol):
    """Coverage of every project."""

    def hold(self, project: str) -> AbstractContextManager[HeldCoverage]:
        """Take the project's coverage lock."""
        ...

    def covered(self, project: str) -> Mapping[str, str]:
        """The same fold without the lock, for planning and for showing."""
        ...
