"""Every record of a home at once, for checking and for observing; nothing decides from it.

    snapshot = load_snapshot(records)          # perdure.authority.filesystem.inspect
    violations = check_invariants(snapshot)    # perdure.service.invariants: empty in every reachable state
    leftovers = check_rest(snapshot)           # empty when all work is done, too

`load_snapshot` needs only a `Records` on any Disk, so that crash tests judge a simulated disk by the same
rules as `perdure verify` judges a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from perdure.core.admission import (
    Completion,
    Event,
    Intent,
    IntentTombstone,
    Outcome,
    OutcomeTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
)
from perdure.core.attempt import Attempt
from perdure.core.claim import Claim
from perdure.core.decision import Decision
from perdure.core.job import Job
from perdure.core.mailbox import Shown
from perdure.core.memory import Branch
from perdure.core.move import Arrival, Move
from perdure.core.structural import BranchTombstone
from perdure.ports.coverage import Uncovered
from perdure.ports.retain import DayTotals


class Unread(msgspec.Struct, frozen=True):
    """A record that cannot be read as what its place says. `newer` marks one of a later version."""

    path: str
    reason: str
    newer: bool


class Found(msgspec.Struct, frozen=True):
    """What stands at a path. `kind` is "file", "folder", "symlink" or "other"; `mode` the permission bits."""

    path: str
    kind: str
    mode: int
    links: int


class Buried(msgspec.Struct, frozen=True):
    """An entry on a branch whose text has a tombstone."""

    branch_id: str
    entry_id: str
    forgotten_ms: int


class ScopeRecords(msgspec.Struct, frozen=True):
    """The records of a project or of the user-wide scope, by the names of their files."""

    scope: str
    branches: Mapping[str, Branch]
    revisions: Mapping[str, Mapping[int, Revision | RevisionTombstone]]
    intents: Mapping[str, Intent | IntentTombstone]
    completions: Mapping[str, Completion]
    receipts: Mapping[str, Receipt]
    outcomes: Mapping[str, Outcome | OutcomeTombstone]
    events: Mapping[str, Event]
    kept: Mapping[str, Event]  # by the ids of their jobs, as `shown`
    shown: Mapping[str, Shown]
    uncovered: Mapping[str, Uncovered]
    buried: tuple[Buried, ...]
    removed: Mapping[str, BranchTombstone]
    moves: Mapping[str, Move]
    arrivals: Mapping[str, Arrival]
    selected: str | None = None  # the branch in use, by name or id; None: main


class Snapshot(msgspec.Struct, frozen=True):
    """All records. `claims` go by "lane.ordinal"; `foreign` are names that no record of ours can have."""

    scopes: Mapping[str, ScopeRecords]
    jobs: Mapping[str, Job]
    decisions: Mapping[str, Decision]
    claims: Mapping[str, Claim]
    attempts: tuple[Attempt, ...]
    totals: Mapping[str, DayTotals]
    unread: tuple[Unread, ...]
    foreign: tuple[str, ...]


class Inspect(Protocol):
    """Looking at all of a home."""

    def snapshot(self) -> Snapshot:
        """Every record, read now and without a lock."""
        ...

    def files(self) -> tuple[Found, ...]:
        """Every path in the home, the home's own temporaries included."""
        ...

    def temporaries(self) -> int:
        """How many temporary files stand there."""
        ...

    def stopped(self) -> str | None:
        """Why writing is stopped (rule 7), or None."""
        ...

    def copy_aside(self, path: str, reason: str) -> str | None:
        """Copy what stands at a path to quarantine; None when nothing stands there."""
        ...

    def salvage(self, path: str) -> Mapping[str, object]:
        """Whatever plain fields a damaged record still shows, to be believed only when a digest agrees."""
        ...
