"""The one immutable election per job (D-02). Every end of a job is first its decision (rule 2)."""

from __future__ import annotations

from typing import Literal

from perdure.core.job import Job
from perdure.core.record import Record

DecisionKind = Literal["elected", "dead", "dropped", "superseded"]


class Decision(Record, frozen=True, forbid_unknown_fields=True):
    """Elected by first creation; embeds the job and the elected proposal, so that nothing else is needed."""

    KIND = "decision"

    job_id: str
    kind: DecisionKind
    reason: str  # for dead and dropped: a code such as "invalid-output", "permanent", "user"
    job: Job
    attempt_id: str | None
    result_digest: str | None
    base_digest: str | None  # the branch that the elected proposal was made on
    proposal: str | None  # canonical JSON
    attempts: int  # how many were made, over all states
    decided_ms: int
