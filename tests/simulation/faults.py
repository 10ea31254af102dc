"""Which of the deliberate faults some seed has to find out too: many show only when processes interleave.

The faults themselves stand in the one table, see `tests.faults.table`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import msgspec

from tests.faults import row
from tests.faults.table import TABLE

SEEDS_MAX = 300
"""Each mistake is found out within so many seeds, counted from 0."""

_PATCHES = {fault.name: fault.patch for fault in TABLE}


class Mistake(msgspec.Struct, frozen=True):
    """A fault of the table by its name, and a seed that finds it out: it is tried first."""

    name: str
    seed: int


def made(mistake: Mistake) -> AbstractContextManager[None]:
    """Make the mistake for as long as the context lasts."""
    return row.made(_PATCHES[mistake.name])


MISTAKES = (
    Mistake("change-memory-without-the-lock", 0),
    Mistake("send-whoever-decided-the-fate", 1),
    Mistake("forget-without-a-tombstone", 59),
    Mistake("let-outcomes-expire", 0),
    Mistake("acknowledge-before-the-folder-sync", 14),
    Mistake("drop-the-file-sync", 0),
    Mistake("free-the-budget-of-a-dispatched-orphan", 0),
    Mistake("cancel-a-dispatched-attempt", 0),
    Mistake("leave-a-begun-transaction-to-others", 2),
    Mistake("publish-the-branch-before-the-intent", 7),
    Mistake("send-before-the-fate-is-durable", 0),
    Mistake("write-in-place", 3),
    Mistake("act-on-a-found-record-without-syncing-its-folder", 85),
    Mistake("decide-by-overwrite", 0),
    Mistake("skip-the-cas", 1),
    Mistake("reconcile-while-the-owner-lives", 0),
    Mistake("keep-a-cached-sum-for-an-open-day", 1),
)
"""Every one is caught; see `test_simulation`."""
