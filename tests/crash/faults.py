"""Deliberate mistakes: each breaks one rule of the protocol, and a crash scenario has to notice.

A fault patches the product from outside; nothing in the product knows of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem import memory as file_memory
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.disk import split
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.core import admission, budget, judge, transaction
from perdure.core.admission import Completion, Intent, Receipt
from perdure.core.attempt import Attempt, Fate
from perdure.core.budget import Exposure
from perdure.core.decision import Decision
from perdure.core.record import record_digest, seal
from perdure.service import publish
from tests.simulated_view import DiskView

Patch = Callable[[pytest.MonkeyPatch], None]


class Fault(msgspec.Struct, frozen=True):
    """A mistake, and the scenario that finds it out."""

    name: str
    caught_by: str
    patch: Patch


@contextlib.contextmanager
def made(fault: Fault) -> Iterator[None]:
    """Make the mistake for as long as the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        fault.patch(patch)
        yield


def _no_file_sync(patch: pytest.MonkeyPatch) -> None:
    real = DiskView._sync

    def sync(self: DiskView, operation: Any, path: str, *effects: Any) -> None:
        if operation != "sync_file":
            real(self, operation, path, *effects)

    patch.setattr(DiskView, "_sync", sync)


def _no_folder_sync(part: str) -> Patch:
    def make(patch: pytest.MonkeyPatch) -> None:
        real = DiskView.sync_folder

        def sync(self: DiskView, path: str) -> None:
            if part not in f"{path}/":
                real(self, path)

        patch.setattr(DiskView, "sync_folder", sync)

    return make


def _branch_before_intent(patch: pytest.MonkeyPatch) -> None:
    real = file_memory._Held.begin

    def begin(self: Any, intent: Intent) -> Any:
        if intent.branch is not None:
            self.put_branch(intent.branch)
        return real(self, intent)

    patch.setattr(file_memory._Held, "begin", begin)


def _decide_by_overwrite(patch: pytest.MonkeyPatch) -> None:
    def decide(self: FileQueue, decision: Decision) -> Decision:
        self._records.replace(layout.decision(decision.job_id), decision)
        return decision

    patch.setattr(FileQueue, "decide", decide)


def _free_orphans(patch: pytest.MonkeyPatch) -> None:
    real = budget.exposure

    def exposure(attempt: Attempt, *rest: Any) -> Exposure:
        return Exposure() if attempt.state == "unknown" else real(attempt, *rest)

    patch.setattr(budget, "exposure", exposure)


def _no_cas(patch: pytest.MonkeyPatch) -> None:
    real = judge.judge

    def careless(decision: Decision, branch: Any, **others: Any) -> Intent:
        shown = decision.base_digest
        based = branch.digest if branch is not None else shown
        intent = real(msgspec.structs.replace(decision, base_digest=based), branch, **others)
        return msgspec.structs.replace(intent, decision_digest=record_digest(decision))

    patch.setattr(publish, "judge", careless)


def _cancel_dispatched(patch: pytest.MonkeyPatch) -> None:
    def lose(self: FileAttempts, attempt_id: str) -> None:
        cancelled = Fate(attempt_id=attempt_id, fate="cancelled", worker="", reason="owner gone")
        self._records.replace(layout.attempt(attempt_id, "fate"), cancelled)
        known = self._known.get(attempt_id)
        if known is not None:
            self._known[attempt_id] = msgspec.structs.replace(known, fate=cancelled)

    patch.setattr(FileAttempts, "lose", lose)


def _found_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Records, "settle", lambda _self, _path: None)
    patch.setattr(Records, "settle_all", lambda _self, _folder, _names: None)
    patch.setattr(Records, "settle_content", lambda _self, _path, _data: None)


def _outcome_before_receipt(patch: pytest.MonkeyPatch) -> None:
    real = file_memory._Held.put_receipt

    def put_receipt(self: Any, receipt: Receipt) -> None:
        decision = Records.read(self._records, layout.decision(receipt.job_id), Decision)
        if decision is not None:
            FileQueue(self._records).close(admission.outcome(decision, receipt))
        real(self, receipt)

    patch.setattr(file_memory._Held, "put_receipt", put_receipt)


def _clock_in_receipt(patch: pytest.MonkeyPatch) -> None:
    real = admission.receipt

    def receipt(intent: Intent, done: Completion) -> Receipt:
        _ticks[0] += 1
        return msgspec.structs.replace(real(intent, done), ended_ms=_ticks[0])

    patch.setattr(transaction, "receipt", receipt)


_ticks = [0]


def _send_before_fate(patch: pytest.MonkeyPatch) -> None:
    def decide_fate(self: FileAttempts, fate: Fate) -> bool:
        path = layout.attempt(fate.attempt_id, "fate")
        with self._records.disk.temporary(seal(fate)) as temporary:
            temporary.sync()
            return temporary.link(path)

    patch.setattr(FileAttempts, "decide_fate", decide_fate)


def _no_settled_intent(patch: pytest.MonkeyPatch) -> None:
    """Whoever takes the lock does not finish what others began."""
    patch.setattr(file_memory._Held, "begun", lambda _self: [])


def _completion_first(patch: pytest.MonkeyPatch) -> None:
    real = file_memory._Held.put_branch

    def put_branch(self: Any, branch: Any) -> None:
        folder = f"{layout.scope_folder(self._scope)}/admissions"
        for name in self._records.disk.names(folder):
            intent = (
                None
                if name.endswith(".done")
                else Records.read(self._records, f"{folder}/{name}", Intent, admission.IntentTombstone)
            )
            if isinstance(intent, Intent) and intent.branch == branch:
                self.complete(admission.completion(intent))
        real(self, branch)

    patch.setattr(file_memory._Held, "put_branch", put_branch)


def _replace_in_place(patch: pytest.MonkeyPatch) -> None:
    """A record is overwritten where it stands instead of being replaced by a synced file."""

    def replace(self: Records, path: str, record: Any) -> None:
        self.disk.note(path, seal(record))
        self.disk.sync_folder(split(path)[0])

    patch.setattr(Records, "replace", replace)


FAULTS = (
    Fault("drop the file sync", "remember", _no_file_sync),
    Fault("drop the folder sync of jobs", "capture", _no_folder_sync("spool/jobs/")),
    Fault("drop the folder sync of attempts", "review", _no_folder_sync("attempts/2")),
    Fault("drop the folder sync of decisions", "review", _no_folder_sync("spool/decisions/")),
    Fault("drop the folder sync of branches", "remember", _no_folder_sync("/branches/")),
    Fault("drop the folder sync of revisions", "remember", _no_folder_sync("/revisions/")),
    Fault("drop the folder sync of admissions", "remember", _no_folder_sync("/admissions/")),
    Fault("drop the folder sync of receipts", "review", _no_folder_sync("/receipts/")),
    Fault("drop the folder sync of outcomes", "review", _no_folder_sync("/outcomes/")),
    Fault("publish the branch before the intent", "remember", _branch_before_intent),
    Fault("decide by overwrite", "overtaken", _decide_by_overwrite),
    Fault("free the budget of an orphan that was dispatched", "unknown", _free_orphans),
    Fault("skip the compare-and-swap", "stale", _no_cas),
    Fault("cancel a dispatched attempt", "unknown", _cancel_dispatched),
    Fault("take what was found for durable", "review", _found_is_durable),
    Fault("publish the outcome before the receipt", "review", _outcome_before_receipt),
    Fault("put a clock into a receipt", "review", _clock_in_receipt),
    Fault("send before the fate is durable", "review", _send_before_fate),
    Fault("leave a begun transaction to others", "remember", _no_settled_intent),
    Fault("complete before the branch is put", "remember", _completion_first),
    Fault("overwrite a branch in place", "remember", _replace_in_place),
)
