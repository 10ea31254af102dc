"""Deliberate mistakes that some seed has to find out; most show only when several processes interleave.

A fault patches the product from outside; nothing in the product knows of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem import memory as file_memory
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.retain import FileRetain
from perdure.core.attempt import Fate
from perdure.core.job import Job
from perdure.core.record import seal
from perdure.ports.queue import Accepted
from tests.crash import faults as crash_faults
from tests.crash.faults import Fault, Patch

SEEDS_MAX = 300
"""Each mistake is found out within so many seeds, counted from 0."""


class Mistake(msgspec.Struct, frozen=True):
    """A mistake, and a seed that finds it out: it is tried first."""

    name: str
    seed: int
    patch: Patch


@contextlib.contextmanager
def made(mistake: Mistake) -> Iterator[None]:
    """Make the mistake for as long as the context lasts."""
    with crash_faults.made(Fault(mistake.name, "", mistake.patch)):
        yield


def _without_lock(module: Any) -> Patch:
    @contextlib.contextmanager
    def hold(_disk: Disk, _folder: str, **_waits: float) -> Iterator[None]:
        yield

    return lambda patch: patch.setattr(module, "locks", SimpleNamespace(hold=hold))


def _everybody_sends(patch: pytest.MonkeyPatch) -> None:
    real = FileAttempts.decide_fate

    def decide_fate(self: FileAttempts, fate: Fate) -> bool:
        real(self, fate)
        return True

    patch.setattr(FileAttempts, "decide_fate", decide_fate)


def _no_tombstone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(file_memory._Held, "bury", lambda _self, _stones: None)


def _outcome_expires(patch: pytest.MonkeyPatch) -> None:
    """Retention takes the outcome away too, with the turns it covers."""
    real = FileRetain.remove_rest

    def remove_rest(self: FileRetain, project: str, job_ids: tuple[str, ...]) -> int:
        gone = real(self, project, job_ids)
        return gone + self._records.remove(*(layout.outcome(job_id) for job_id in job_ids))

    patch.setattr(FileRetain, "remove_rest", remove_rest)


def _lazy_accept(patch: pytest.MonkeyPatch) -> None:
    """A job is acknowledged before the folder that holds its name is synced."""

    def accept(self: FileQueue, job: Job) -> Accepted:
        path = layout.job(job.job_id)
        with self._records.disk.temporary(seal(job)) as temporary:
            temporary.sync()
            return Accepted(job.job_id, temporary.link(path))

    patch.setattr(FileQueue, "accept", accept)


def _from(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return next(fault.patch for fault in crash_faults.FAULTS if fault.name == name)


MISTAKES = (
    Mistake("change memory without the lock of the project", 0, _without_lock(file_memory)),
    Mistake("send whoever decided the fate", 22, _everybody_sends),
    Mistake("forget without a tombstone", 17, _no_tombstone),
    Mistake("let outcomes expire", 0, _outcome_expires),
    Mistake("acknowledge a job before its folder is synced", 36, _lazy_accept),
    Mistake("drop the file sync", 0, _from("drop the file sync")),
    Mistake("free the budget of an orphan", 0, _from("free the budget of an orphan that was dispatched")),
    Mistake("cancel a dispatched attempt", 0, _from("cancel a dispatched attempt")),
    Mistake("leave a begun transaction to others", 1, _from("leave a begun transaction to others")),
    Mistake("publish the branch before the intent", 2, _from("publish the branch before the intent")),
    Mistake("send before the fate is durable", 0, _from("send before the fate is durable")),
    Mistake("overwrite a branch in place", 3, _from("overwrite a branch in place")),
)
"""Every one is caught; see `test_simulation`."""
