"""Where each record stands, relative to the home. See docs/format.md."""

from __future__ import annotations

from perdure.core.job import lane_of

USER_SCOPE = "user"
SPOOL_JOBS = "spool/jobs"
SPOOL_LANES = "spool/lanes"
SPOOL_DECISIONS = "spool/decisions"
ATTEMPTS = "attempts"
BUDGETS = "budgets"
INDEX = "index"
RUN = "run"
WORKERS = "run/workers"
BEATS = "run/beats"
HINTS = "run/hints"
DRAFTS = "run/drafts"
HOOKS = "run/hooks"
STOP = "run/stop"
QUARANTINE = "quarantine"
BALLAST = "ballast"
EPOCH = "epoch"
FORMAT = "format"
KEY = "key"
CONFIG = "config.toml"
PROJECTS = "projects"

HOME_FOLDERS = (
    "tmp",
    PROJECTS,
    "spool",
    SPOOL_JOBS,
    SPOOL_LANES,
    SPOOL_DECISIONS,
    ATTEMPTS,
    BUDGETS,
    INDEX,
    RUN,
    WORKERS,
    BEATS,
    HINTS,
    QUARANTINE,
    BALLAST,
    EPOCH,
)
SCOPE_FOLDERS = (
    "branches",
    "admissions",
    "revisions",
    "receipts",
    "outcomes",
    "mailbox",
    "coverage",
    "tombstones",
)


def scope_folder(scope: str) -> str:
    """A project's folder, or the user-wide one of the same shape."""
    return USER_SCOPE if scope == USER_SCOPE else f"{PROJECTS}/{scope}"


def job(job_id: str) -> str:
    """A job's file."""
    return f"{SPOOL_JOBS}/{job_id}"


def decision(job_id: str) -> str:
    """A decision's file."""
    return f"{SPOOL_DECISIONS}/{job_id}"


def outcome(job_id: str) -> str:
    """An outcome's file, or its tombstone's."""
    return f"{scope_folder(lane_of(job_id).project)}/outcomes/{job_id}"


def event(job_id: str) -> str:
    """A mailbox event's file."""
    return f"{scope_folder(lane_of(job_id).project)}/mailbox/{job_id}"


def kept(job_id: str) -> str:
    """The file of an event that stands past its job."""
    return f"{event(job_id)}.kept"


def shown(job_id: str) -> str:
    """The file of who showed an event."""
    return f"{event(job_id)}.shown"


def receipt(scope: str, job_id: str) -> str:
    """A receipt's file."""
    return f"{scope_folder(scope)}/receipts/{job_id}"


def intent(scope: str, transaction: str) -> str:
    """An intent's file, or its tombstone's."""
    return f"{scope_folder(scope)}/admissions/{transaction}"


def completion(scope: str, transaction: str) -> str:
    """A completion's file."""
    return f"{intent(scope, transaction)}.done"


def branch(scope: str, branch_id: str) -> str:
    """A branch's file."""
    return f"{scope_folder(scope)}/branches/{branch_id}"


def selected(scope: str) -> str:
    """The file of the branch in use."""
    return f"{scope_folder(scope)}/selected"


def revisions(scope: str, branch_id: str) -> str:
    """The folder of a branch's revisions."""
    return f"{scope_folder(scope)}/revisions/{branch_id}"


def revision(scope: str, branch_id: str, seq: int) -> str:
    """A revision's file."""
    return f"{revisions(scope, branch_id)}/{seq:08d}"


def tombstone(scope: str, keyed: str) -> str:
    """What is left of something forgotten."""
    return f"{scope_folder(scope)}/tombstones/{keyed}"


def moves(scope: str) -> str:
    """The folder of moves out of a scope."""
    return f"{scope_folder(scope)}/moves"


def move(scope: str, move_id: str) -> str:
    """A move's file, at its source."""
    return f"{moves(scope)}/{move_id}"


def arrivals(scope: str) -> str:
    """The folder of what became of moves into a scope."""
    return f"{scope_folder(scope)}/arrivals"


def arrival(scope: str, move_id: str) -> str:
    """What became of a move, at its target."""
    return f"{arrivals(scope)}/{move_id}"


def claim(lane: str, ordinal: int) -> str:
    """A claim's file."""
    return f"{SPOOL_LANES}/{lane}.{ordinal:08d}"


def attempt(attempt_id: str, part: str) -> str:
    """One record of an attempt: reserved, fate, result, unknown or reconciled."""
    return f"{ATTEMPTS}/{attempt_id[:8]}/{attempt_id}.{part}"
