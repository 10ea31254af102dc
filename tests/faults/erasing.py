"""Faults in what is taken away: retention, forgetting, purges; and in how a home knows itself."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from perdure.authority.filesystem import home, layout
from perdure.authority.filesystem import memory as file_memory
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.retain import FileRetain
from perdure.core.admission import Outcome, outcome_tombstone
from perdure.core.canonical import digest_bytes
from perdure.core.memory import Branch
from perdure.service import curate
from perdure.service.purge import PurgeService
from tests.faults import homes, removals
from tests.faults.instruments import Check
from tests.faults.row import Fault


def outcome_expires(patch: pytest.MonkeyPatch) -> None:
    """Let retention take the outcome away too, with the turns that it covers."""
    real = FileRetain.remove_rest

    def remove_rest(self: FileRetain, project: str, job_ids: tuple[str, ...]) -> int:
        gone = real(self, project, job_ids)
        return gone + self._records.remove(*(layout.outcome(job_id) for job_id in job_ids))

    patch.setattr(FileRetain, "remove_rest", remove_rest)


def _outcome_goes_first(patch: pytest.MonkeyPatch) -> None:
    """The outcome is removed, and its tombstone published in its place."""

    def entomb(self: FileRetain, job_id: str) -> None:
        path = layout.outcome(job_id)
        ended = Records.read(self._records, path, Outcome)
        if ended is not None:
            self._records.remove(path)
            self._records.create(path, outcome_tombstone(ended))

    patch.setattr(FileRetain, "entomb", entomb)


def _records_go_first(patch: pytest.MonkeyPatch) -> None:
    real = FileRetain.entomb

    def entomb(self: FileRetain, job_id: str) -> None:
        self._records.remove(layout.job(job_id), layout.decision(job_id))
        real(self, job_id)

    patch.setattr(FileRetain, "entomb", entomb)


def no_tombstone(patch: pytest.MonkeyPatch) -> None:
    """Forget without a tombstone."""
    patch.setattr(file_memory._Held, "bury", lambda _self, _stones: None)


def _branch_before_tombstone(patch: pytest.MonkeyPatch) -> None:
    bury, put_branch = file_memory._Held.bury, file_memory._Held.put_branch
    waiting: list[Any] = []

    def late(self: Any, branch: Branch) -> None:
        put_branch(self, branch)
        while waiting:
            bury(self, waiting.pop())

    patch.setattr(file_memory._Held, "bury", lambda _self, stones: waiting.append(stones))
    patch.setattr(file_memory._Held, "put_branch", late)


def _tombstones_unread(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(file_memory._Held, "buried", lambda *_: False)


def _one_sweep(patch: pytest.MonkeyPatch) -> None:
    """A purge looks for the text once, when it begins."""
    real = PurgeService._sweep

    def sweep(self: PurgeService, *rest: Any) -> None:
        look, looks = self._erase.places, itertools.count()
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(self._erase, "places", lambda *what: () if next(looks) else look(*what))
            real(self, *rest)

    patch.setattr(PurgeService, "_sweep", sweep)


def _text_for_the_closed(patch: pytest.MonkeyPatch) -> None:
    real = curate.make_result

    def make_result(*what: Any, closed: bool, now_ms: int) -> Any:
        del closed
        return real(*what, closed=False, now_ms=now_ms)

    patch.setattr(curate, "make_result", make_result)


def _unkeyed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(file_memory, "keyed_digest", lambda _key, text: digest_bytes(text.encode()))


def _number_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(home, "_highest", lambda _names: 0)


def _identity_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(home, "_check_identity", lambda _path, _found: None)


ROWS = (
    Fault(
        "let-outcomes-expire",
        "4",
        "retention takes the outcome away too, with the turns that it covers",
        outcome_expires,
        Check(removals.captured_again_when_old),
        "G-01 an accepted turn stays covered",
    ),
    Fault(
        "remove-an-outcome-before-its-records",
        "4",
        "an outcome is removed, and then published again as a tombstone",
        _outcome_goes_first,
        Check(removals.retention_crashed),
        "Q-05 an outcome is never absent again",
    ),
    Fault(
        "remove-records-before-the-tombstone",
        "4",
        "a job's records go while its outcome still stands whole",
        _records_go_first,
        Check(removals.retention_crashed),
        "V-08",
    ),
    Fault(
        "forget-without-a-tombstone",
        "13",
        "nothing keeps what was forgotten away",
        no_tombstone,
        Check(removals.forgetting_crashed),
        "M-12 what is forgotten has its tombstone",
    ),
    Fault(
        "change-the-branch-before-the-tombstone",
        "13",
        "an entry goes before what keeps it away is durable",
        _branch_before_tombstone,
        Check(removals.forgetting_crashed),
        "M-12 what is forgotten has its tombstone",
    ),
    Fault(
        "admit-without-a-look-at-the-tombstones",
        "13",
        "an admission does not ask whether its text was forgotten",
        _tombstones_unread,
        Check(removals.said_again_after_forgetting),
        "M-12 no forgotten text comes back",
    ),
    Fault(
        "purge-without-another-sweep",
        "13",
        "a purge looks for the text once, and not again when it has taken it away",
        _one_sweep,
        Check(removals.captured_during_a_purge),
        "M-12 a purge that leaves nothing stays right",
    ),
    Fault(
        "store-text-for-a-closed-job",
        "13",
        "a sender stores the whole answer for a job that was purged during its call",
        _text_for_the_closed,
        Check(removals.purged_in_its_call),
        "M-12 only usage is stored for a closed job",
    ),
    Fault(
        "tombstones-without-a-key",
        "13",
        "whoever guesses a forgotten text can tell that it was forgotten",
        _unkeyed,
        Check(removals.two_homes_forget_the_same),
        "M-12 a tombstone tells nothing without the home's key",
    ),
    Fault(
        "let-a-restored-home-write",
        "14",
        "the number outside the home is not compared with the one inside",
        _number_not_compared,
        Check(homes.restored),
        "S-08 a restored home writes nothing",
    ),
    Fault(
        "let-a-copied-home-write",
        "14",
        "machine and inode of a home are not compared",
        _identity_not_compared,
        Check(homes.copied),
        "S-08 a copied home writes nothing",
    ),
)
