"""The Queue port on files."""

from __future__ import annotations

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.quarantine import copy_aside
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Event, Outcome, OutcomeTombstone
from perdure.core.decision import Decision
from perdure.core.job import JOB_BYTES_MAX, Job, check_identity, is_job_id
from perdure.core.record import Record, seal
from perdure.errors import Conflict, Damaged, Inaccessible, Refused
from perdure.ports.queue import Accepted, Quarantined


class FileQueue:
    """See `perdure.ports.queue.Queue`."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def accept(self, job: Job) -> Accepted:
        """See `Queue.accept`: two syncs for a new job. A review that has ended is never taken in again, even
        when its job has expired (E-05).
        """
        data = seal(job)
        if len(data) > JOB_BYTES_MAX:
            msg = f"the job would take more than {JOB_BYTES_MAX} bytes."
            raise Refused(msg)
        path = layout.job(job.job_id)
        if self._records.disk.info(layout.outcome(job.job_id)) is not None and self.outcome(job.job_id):
            return Accepted(job.job_id, new=False)
        standing, new = self._records.elect(path, job, data=data)
        if not new and standing.evidence_digest != job.evidence_digest:
            copy_aside(self._records, path, "the same job id stands for other evidence")
            msg = f"{path}: the same job id stands for other evidence."
            raise Conflict(msg, advice="A copy is in quarantine. Run perdure verify.")
        return Accepted(job.job_id, new)

    def queued(self) -> list[str]:
        """See `Queue.queued`. One listing and one sync; no file is opened."""
        names = [name for name in self._records.disk.names(layout.SPOOL_JOBS) if is_job_id(name)]
        self._records.settle_all(layout.SPOOL_JOBS, names)
        names.sort()
        return names

    def closed(self, project: str, *, durable: bool = False) -> frozenset[str]:
        """See `Queue.closed`."""
        folder = f"{layout.scope_folder(project)}/outcomes"
        names = [name for name in self._records.disk.names(folder) if is_job_id(name)]
        if durable:
            self._records.settle_all(folder, names)
        return frozenset(names)

    def announced(self, project: str) -> frozenset[str]:
        """See `Queue.announced`."""
        folder = f"{layout.scope_folder(project)}/mailbox"
        return frozenset(name for name in self._records.disk.names(folder) if is_job_id(name))

    def job(self, job_id: str) -> Job | None:
        """See `Queue.job`."""
        path = layout.job(job_id)
        found = self._records.found(path, Job)
        if found is None:
            return None
        if found.job_id != job_id:
            raise Damaged(path, "its name is not its job id")
        wrong = check_identity(found)
        if wrong:
            raise Damaged(path, wrong)
        return found

    def decision(self, job_id: str) -> Decision | None:
        """See `Queue.decision`."""
        path = layout.decision(job_id)
        found = self._records.found(path, Decision)
        if found is not None and found.job_id != job_id:
            raise Damaged(path, "its name is not its job id")
        return found

    def decide(self, decision: Decision) -> Decision:
        """See `Queue.decide`."""
        path = layout.decision(decision.job_id)
        standing, created = self._records.elect(path, decision)
        if created:
            self._withdraw(decision.job_id, path)
        return standing

    def outcome(self, job_id: str) -> Outcome | OutcomeTombstone | None:
        """See `Queue.outcome`."""
        found: Record | None = self._records.found(layout.outcome(job_id), Outcome, OutcomeTombstone)
        if found is None:
            return None
        assert isinstance(found, Outcome | OutcomeTombstone)  # noqa: S101 - the two types asked for
        if found.job_id != job_id:
            raise Damaged(layout.outcome(job_id), "its name is not its job id")
        return found

    def close(self, outcome: Outcome) -> None:
        """See `Queue.close`. A tombstone of the same outcome is success."""
        path = layout.outcome(outcome.job_id)
        try:
            self._records.derive(path, outcome)
        except Conflict:
            standing = self.outcome(outcome.job_id)
            if (
                not isinstance(standing, OutcomeTombstone)
                or standing.decision_digest != outcome.decision_digest
            ):
                raise

    def event_present(self, job_id: str) -> bool:
        """See `Queue.event_present`."""
        return self._records.disk.info(layout.event(job_id)) is not None

    def announce(self, event: Event) -> None:
        """See `Queue.announce`."""
        path = layout.event(event.job_id)
        self._records.derive(path, event)
        self._withdraw(event.job_id, path)

    def _withdraw(self, job_id: str, path: str) -> None:
        """Take a record away again whose job was compacted while its writer stalled (rules 4 and 13).

        Whoever compacts puts the tombstone first and removes the others then; whoever is late publishes
        first and looks for the tombstone then: one of the two sees the other.
        """
        there = self._records.disk.info(layout.outcome(job_id)) is not None
        if there and isinstance(self.outcome(job_id), OutcomeTombstone):
            self._records.remove(path)

    def set_aside(self, job_id: str, reason: str) -> Quarantined:
        """See `Queue.set_aside`. Bytes are read again first: a failure of the moment proves nothing."""
        path = layout.job(job_id)
        if not self._is_wrong(job_id):
            return Quarantined(path=path, reason=reason, moved=False)
        kept = copy_aside(self._records, path, reason)
        found = self._records.disk.info(path)
        moved = found is not None and (kept.stands or found.kind in {"symlink", "other"})
        if moved:  # a folder is left where it is: it may hold anything
            self._records.remove(path)
        return Quarantined(path=kept.path if kept.stands else path, reason=reason, moved=moved)

    def _is_wrong(self, job_id: str) -> bool:
        try:
            self.job(job_id)
        except Inaccessible:
            return False
        except Damaged:
            return True
        return False
