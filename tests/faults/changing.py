"""Faults in how memory changes: the order of a transaction, the compare-and-swap, the lock, who finishes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from perdure.authority.filesystem import coverage, layout
from perdure.authority.filesystem import memory as file_memory
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.records import Records
from perdure.core import admission, judge, transaction
from perdure.core import windows as windows_module
from perdure.core.admission import Intent
from perdure.core.record import record_digest
from perdure.core.transaction import PutBranch, Step, TransactionFacts
from perdure.service import capture, publish
from tests.faults import captures
from tests.faults.instruments import Check, Crash, Seeds
from tests.faults.row import Fault


def branch_before_intent(patch: pytest.MonkeyPatch) -> None:
    """Publish the branch before the intent."""
    real = file_memory._Held.begin

    def begin(self: Any, intent: Intent) -> Any:
        if intent.branch is not None:
            self.put_branch(intent.branch)
        return real(self, intent)

    patch.setattr(file_memory._Held, "begin", begin)


def _no_cas(patch: pytest.MonkeyPatch) -> None:
    real = judge.judge

    def careless(decision: Any, branch: Any, **others: Any) -> Intent:
        shown = decision.base_digest
        based = branch.digest if branch is not None else shown
        intent = real(msgspec.structs.replace(decision, base_digest=based), branch, **others)
        return msgspec.structs.replace(intent, decision_digest=record_digest(decision))

    patch.setattr(publish, "judge", careless)


def leave_begun(patch: pytest.MonkeyPatch) -> None:
    """Let whoever takes the lock leave what others began."""
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


def _foreign_overwritten(patch: pytest.MonkeyPatch) -> None:
    real = transaction._toward_completion

    def toward(facts: TransactionFacts, intent: Intent) -> Step:
        known = facts.branch_digest in {intent.base_digest, intent.result_digest}
        if intent.branch is None or known:
            return real(facts, intent)
        return PutBranch(intent.branch)

    patch.setattr(transaction, "_toward_completion", toward)


def without_lock(patch: pytest.MonkeyPatch) -> None:
    """Change memory without the lock of the project."""

    @contextlib.contextmanager
    def free(_disk: Disk, _folder: str, **_waits: float) -> Iterator[None]:
        yield

    patch.setattr(file_memory, "locks", SimpleNamespace(hold=free))


def _cursor(patch: pytest.MonkeyPatch) -> None:
    """What stands before the newest covered turn of a session is taken for covered."""
    real = windows_module.windows

    def windows(host: str, session: str, turns: Any, covered: Any) -> Any:
        reached = max((turn.position for turn in turns if turn.turn_id in covered), default=-1)
        return real(host, session, [turn for turn in turns if turn.position > reached], covered)

    patch.setattr(capture, "windows", windows)


def _planned_once(patch: pytest.MonkeyPatch) -> None:
    """What was planned before the lock is committed, whatever was taken meanwhile."""
    patch.setattr(coverage._Held, "covered", lambda _self: {})


ROWS = (
    Fault(
        "publish-the-branch-before-the-intent",
        "order",
        "the branch changes before the intent that explains it",
        branch_before_intent,
        Crash("remember"),
        "M-09",
    ),
    Fault(
        "skip-the-cas",
        "order",
        "the branch that a proposal was made on is not compared",
        _no_cas,
        Crash("stale", survivors=2),
        "D-05",
    ),
    Fault(
        "complete-before-the-branch",
        "order",
        "a transaction is called complete before its branch and revision stand",
        _completion_first,
        Crash("remember"),
        "M-09",
    ),
    Fault(
        "leave-a-begun-transaction-to-others",
        "5",
        "whoever takes the project's lock leaves what others began",
        leave_begun,
        Crash("remember"),
        "D-07",
    ),
    Fault(
        "overwrite-a-branch-that-is-neither-base-nor-result",
        "5",
        "a begun transaction is finished over what somebody else has put there",
        _foreign_overwritten,
        Check(captures.foreign_branch),
        "G-04 what another wrote stays",
    ),
    Fault(
        "change-memory-without-the-lock",
        "5",
        "the project's lock is not taken",
        without_lock,
        Seeds(0, 3),
        "another transaction's revision stands at the number",
    ),
    Fault(
        "coverage-as-a-cursor",
        "8",
        "all turns before the newest covered one are taken for covered",
        _cursor,
        Check(captures.turns_out_of_order),
        "G-01 an accepted turn is covered",
    ),
    Fault(
        "commit-without-planning-again",
        "8",
        "what a capture planned is committed though turns were taken meanwhile",
        _planned_once,
        Check(captures.two_hosts_at_once),
        "Q-01 no turn is reviewed as two jobs",
    ),
)
