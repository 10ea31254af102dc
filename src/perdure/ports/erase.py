"""Finding and taking away every copy of a text (M-12, rule 13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from perdure.core.record import Record

PlaceKind = Literal["branch", "revision", "job", "result", "copy", "other"]

Holds = Callable[[bytes], bool]
"""Whether the bytes of a file hold what is purged."""


class Place(msgspec.Struct, frozen=True):
    """One file that holds the text. A "job" is any record that goes with a job; "copy" is a quarantined or
    indexed copy; "other" cannot be taken away by itself.
    """

    kind: PlaceKind
    path: str
    name: str = ""  # branch id, job id or attempt id
    seq: int = 0


class PurgePlan(Record, frozen=True, forbid_unknown_fields=True):
    """What is being purged, by ids alone, so that a crash in the middle is finished without the text."""

    KIND = "purge-plan"

    plan_id: str
    scope: str
    entries: tuple[str, ...]
    revisions: tuple[tuple[str, int], ...]  # branch id and sequence number
    jobs: tuple[str, ...]
    results: tuple[str, ...]  # attempt ids: those whose results hold it, and those that may have shown it
    copies: tuple[str, ...]  # paths below quarantine and index
    begun_ms: int


class Erase(Protocol):
    """Every file that may hold a text, and how it is taken out of each."""

    def places(self, scope: str, holds: Holds) -> tuple[Place, ...]:
        """Every file of a scope that holds it: its own, its jobs', and copies of either."""
        ...

    def other_scopes(self, scope: str, holds: Holds) -> tuple[str, ...]:
        """The other scopes whose branches or jobs hold it; they are left alone (G-05)."""
        ...

    def redact_revision(self, scope: str, branch_id: str, seq: int) -> bool:
        """Put the tombstone in a revision's place; False when it stood there. Under the scope's lock."""
        ...

    def redact_result(self, attempt_id: str) -> bool:
        """Leave only usage and state of a result; False when there is none with text."""
        ...

    def remove_copies(self, paths: tuple[str, ...]) -> int:
        """Remove quarantined and indexed copies, and temporaries whose writers are gone."""
        ...

    def remove_exposures(self, scope: str) -> None:
        """Remove the counts of what was shown, which name versions of entries by digests without a key, and
        what recall derived from texts.
        """
        ...

    def settle(self, scope: str) -> None:
        """Make durable that what `places` did not find is gone."""
        ...

    def plans(self, scope: str) -> tuple[PurgePlan, ...]:
        """Purges that have begun and not ended."""
        ...

    def put_plan(self, plan: PurgePlan) -> None:
        """Make a plan durable, in place of an earlier form of it."""
        ...

    def drop_plan(self, plan: PurgePlan) -> None:
        """The purge is done."""
        ...
