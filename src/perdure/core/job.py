"""Jobs: durable, deterministic requests to review one window of evidence (Q-01).

A job id is 76 hex digits: settled time (12), project (16), branch (16), identity (32). It sorts in the
order of acceptance within a lane, and its lane can be read off without opening the file.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.core.canonical import digest
from perdure.core.evidence import Evidence
from perdure.core.record import Record

JOB_BYTES_MAX = 128 * 1024
STALE_ENDS_MAX = 2
JOB_ID_DIGITS = 76
_HEX = frozenset("0123456789abcdef")


class Job(Record, frozen=True, forbid_unknown_fields=True):
    """One accepted review. `mode` is fixed at birth: an observe job never changes memory (rule 9)."""

    KIND = "job"

    job_id: str
    project: str
    branch_id: str
    mode: Literal["admit", "observe"]
    generation: int  # 1 for the first review of this evidence
    stale_ends: int  # how many generations of it ended stale
    settled_ms: int
    evidence_digest: str
    evidence: Evidence
    accepted_ms: int
    release: str


class Lane(msgspec.Struct, frozen=True):
    """A project's branch: one attempt in flight, oldest job first (rule 11)."""

    project: str
    branch_id: str

    @property
    def name(self) -> str:
        """32 hex digits."""
        return self.project + self.branch_id


def is_job_id(name: str) -> bool:
    """Whether a name can be a job's: anything else in the spool is foreign."""
    return len(name) == JOB_ID_DIGITS and _HEX.issuperset(name)


def lane_of(job_id: str) -> Lane:
    """The lane that a job id names."""
    return Lane(project=job_id[12:28], branch_id=job_id[28:44])


def make_job(
    *,
    project: str,
    branch_id: str,
    evidence: Evidence,
    accepted_ms: int,
    release: str,
    mode: Literal["admit", "observe"] = "admit",
) -> Job:
    """The first generation of a review."""
    return _make(
        project=project,
        branch_id=branch_id,
        evidence=evidence,
        evidence_digest=digest(evidence),
        accepted_ms=accepted_ms,
        release=release,
        mode=mode,
        generation=1,
        stale_ends=0,
    )


def successor(job: Job, *, stale: bool) -> Job:
    """The next generation of the same evidence: derived, so that everyone publishes the same bytes."""
    return _make(
        project=job.project,
        branch_id=job.branch_id,
        evidence=job.evidence,
        evidence_digest=job.evidence_digest,
        accepted_ms=job.accepted_ms,
        release=job.release,
        mode=job.mode,
        generation=job.generation + 1,
        stale_ends=job.stale_ends + 1 if stale else 0,
    )


def check_identity(job: Job) -> str | None:
    """Why a job's content is not what its id says, or None."""
    if digest(job.evidence) != job.evidence_digest:
        return "the evidence is not what its digest says"
    if job.job_id != _identity(job.project, job.branch_id, job.evidence, job.evidence_digest, job.generation):
        return "the content is not what the job id says"
    return None


def turn_ids(job: Job) -> tuple[str, ...]:
    """The turns that the job covers, oldest first."""
    return tuple(turn.turn_id for turn in job.evidence.turns)


def _identity(project: str, branch_id: str, evidence: Evidence, evidence_digest: str, generation: int) -> str:
    settled_ms = evidence.turns[-1].settled_ms
    rest = digest([project, evidence.session, branch_id, evidence_digest, evidence.frontier, generation])
    return f"{max(0, settled_ms) & 0xFFFFFFFFFFFF:012x}{project}{branch_id}{rest[:32]}"


def _make(
    *,
    project: str,
    branch_id: str,
    evidence: Evidence,
    evidence_digest: str,
    accepted_ms: int,
    release: str,
    mode: Literal["admit", "observe"],
    generation: int,
    stale_ends: int,
) -> Job:
    return Job(
        job_id=_identity(project, branch_id, evidence, evidence_digest, generation),
        project=project,
        branch_id=branch_id,
        mode=mode,
        generation=generation,
        stale_ends=stale_ends,
        settled_ms=evidence.turns[-1].settled_ms,
        evidence_digest=evidence_digest,
        evidence=evidence,
        accepted_ms=accepted_ms,
        release=release,
    )
