"""The services around the queue, wired on a test's rig; and an App on a home of the test's own."""

from __future__ import annotations

from pathlib import Path

from perdure.app import App
from perdure.authority.filesystem.erase import FileErase
from perdure.authority.filesystem.index import FileIndex
from perdure.authority.filesystem.inspect import FileInspect, load_snapshot
from perdure.authority.filesystem.mailbox import FileMailbox
from perdure.authority.filesystem.retain import FileLedger, FileRetain
from perdure.core.attempt import Usage
from perdure.core.budget import Limits
from perdure.core.protocol import Policy
from perdure.ports.inspect import Snapshot
from perdure.service.branches import BranchService
from perdure.service.budget import BudgetService
from perdure.service.feedback import FeedbackService
from perdure.service.invariants import check_invariants
from perdure.service.jobs import JobsService
from perdure.service.purge import PurgeService
from perdure.service.restore import RestoreService
from perdure.service.retention import Retention
from perdure.service.verify import VerifyService
from perdure.service.violation import Violation
from tests.fakes import HOLD, PROJECT, Rig

LIMITS = Limits(calls_per_day=10, tokens_per_day=50_000, cost_nanodollars_per_day=1_000_000)
LARGEST = Usage(HOLD.input_tokens, HOLD.output_tokens, HOLD.cost_nanodollars)


def jobs_service(rig: Rig, policy: Policy | None = None) -> JobsService:
    """Jobs of the rig."""
    return JobsService(
        queue=rig.queue,
        attempts=rig.attempts,
        memory=rig.memory,
        claims=rig.claims,
        clock=rig.clock,
        policy=policy or Policy(),
        projects=lambda: (PROJECT,),
    )


def ledger(rig: Rig) -> FileLedger:
    """Totals of the rig's days."""
    return FileLedger(rig.records, rig.attempts, lambda job_id: rig.queue.outcome(job_id) is not None)


def budget_service(rig: Rig, limits: Limits | None = LIMITS) -> BudgetService:
    """The rig's budget, for its scripted provider."""
    return BudgetService(
        rig.attempts,
        ledger(rig),
        clock=rig.clock,
        provider=rig.provider.name,
        limits=limits,
        largest_hold=LARGEST,
    )


def retention(rig: Rig, *, evidence_days: int = 14) -> Retention:
    """Retention on the rig."""
    return Retention(
        retain=FileRetain(rig.records, rig.claims),
        ledger=ledger(rig),
        queue=rig.queue,
        mailbox=FileMailbox(rig.records),
        memory=rig.memory,
        clock=rig.clock,
        evidence_days=evidence_days,
    )


def feedback_service(rig: Rig) -> FeedbackService:
    """News of the rig's reviews."""
    return FeedbackService(
        mailbox=FileMailbox(rig.records), memory=rig.memory, jobs=jobs_service(rig), clock=rig.clock
    )


def branch_service(rig: Rig, scope: str = PROJECT) -> BranchService:
    """Names and removals of branches, on the rig."""
    return BranchService(
        queue=rig.queue,
        attempts=rig.attempts,
        memory=rig.memory,
        claims=rig.claims,
        scope=scope,
        clock=rig.clock,
        ids=rig.ids,
    )


def purge_service(rig: Rig) -> PurgeService:
    """Forget everywhere, on the rig."""
    return PurgeService(
        erase=FileErase(rig.records),
        queue=rig.queue,
        attempts=rig.attempts,
        memory=rig.memory,
        claims=rig.claims,
        clock=rig.clock,
        ids=rig.ids,
        retention=retention(rig),
    )


def verify_service(rig: Rig) -> VerifyService:
    """Verify, on the rig."""
    return VerifyService(FileInspect(rig.records), rig.claims, FileIndex(rig.records, b"k" * 32))


def restore_service(rig: Rig) -> RestoreService:
    """Restore, on the rig."""
    return RestoreService(FileInspect(rig.records), rig.memory)


def snapshot(rig: Rig) -> Snapshot:
    """Every record of the rig's disk."""
    return load_snapshot(rig.records)


def broken(rig: Rig) -> tuple[Violation, ...]:
    """What is broken on the rig's disk."""
    return check_invariants(snapshot(rig))


def open_app(tmp_path: Path) -> tuple[App, str]:
    """An App on a new home, and the key of a project in it."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    app = App.open(create=True)
    project = app.project(str(folder))
    app.ensure_project(project)
    app.begin_writing()
    return app, project.key
