"""jobs list|show|retry|drop."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import counted, date, exposure_json, table, until
from perdure.core.attempt import Attempt
from perdure.core.budget import exposure
from perdure.core.exchange import diff
from perdure.hosts.documents import change_json, job_json
from perdure.service.jobs import IDENTITY_DIGITS, SHORT_DIGITS, JobDetail, JobRow

DEAD = "dead-lettered"
NO_ROOM = (
    "Not all that was found has room in memory: perdure forget or shorten what matters less, then\n"
    "perdure jobs retry ID (perdure jobs lists the rejected ones; perdure receipts ID says what did not fit)."
)


def short_id(job_id: str) -> str:
    """The beginning of a job's own part of its id; enough for every command."""
    return job_id[-IDENTITY_DIGITS:][:SHORT_DIGITS]


def jobs_list(context: Context) -> Answer:
    """The jobs of this project, or of all, in the order in which their turns settled."""
    rows = context.app.jobs_service().list(_scope(context), open_only=context.options.open)
    lines = [
        (
            row.short,
            date(row.settled_ms),
            row.state,
            row.branch,
            counted(row.turns, "turn") if row.turns is not None else "-",
            _why(row),
        )
        for row in rows
    ]
    text = table(lines) or "There are no jobs."
    dead = [row for row in rows if row.state == DEAD]
    if dead:
        text += f"\nNext: {next_for(dead[0].short)}."
    return Answer({"jobs": [job_json(row) for row in rows]}, text)


def next_for(short: str) -> str:
    """What can be done about a dead letter."""
    return f"perdure jobs show {short} says why; perdure jobs retry {short} reviews its evidence again"


def _why(row: JobRow) -> str:
    """The reason of a state, and until when a job waits."""
    waits = f"until {until(row.until_ms)}" if row.until_ms else ""
    return ": ".join(part for part in (waits, row.reason) if part)


def jobs_show(context: Context) -> Answer:
    """Everything that is kept of one job."""
    detail = context.app.jobs_service().show(context.options.id, _scope(context))
    return Answer(_detail_json(detail), _detail_text(context, detail))


def jobs_retry(context: Context) -> Answer:
    """Review the same evidence again."""
    app = context.begin_writing()
    done = app.jobs_service().retry(context.options.id, _scope(context))
    data = {"job": done.job_id, "successor": done.successor, "generation": done.generation}
    said = f"Job {short_id(done.successor)} is generation {done.generation} of the same evidence."
    return Answer(data, f"{said} Next: perdure review --once.")


def jobs_drop(context: Context) -> Answer:
    """End an open job for good."""
    app = context.begin_writing()
    service = app.jobs_service()
    job_id = service.resolve(context.options.id, _scope(context))
    question = f"Drop job {short_id(job_id)}? Its turns will not be reviewed."
    if not context.confirm(question):
        return Answer({"job": job_id, "dropped": False}, "Nothing was changed.")
    ended = service.drop(job_id, _scope(context))
    return Answer(
        {"job": ended.job_id, "dropped": True, "state": ended.state, "turns": list(ended.turns)},
        f"Job {short_id(ended.job_id)} is dropped; {counted(len(ended.turns), 'turn')} of it stay covered.",
    )


def _attempt_json(attempt: Attempt) -> dict[str, Any]:
    reserved, result = attempt.reserved, attempt.result
    return {
        "attempt": attempt.attempt_id,
        "state": attempt.state,
        "provider": reserved.provider if reserved is not None else None,
        "model": reserved.model if reserved is not None else None,
        "outcome": result.outcome if result is not None else None,
        "detail": result.detail if result is not None else attempt.damaged,
        "guidance": result.correction if result is not None else None,
        "exposure": exposure_json(exposure(attempt)),
    }


def _detail_json(detail: JobDetail) -> dict[str, Any]:
    decision, receipt = detail.decision, detail.receipt
    return job_json(detail.row) | {
        "evidence": msgspec.to_builtins(detail.evidence) if detail.evidence is not None else None,
        "made": [_attempt_json(attempt) for attempt in detail.attempts],
        "decision": decision.kind if decision is not None else None,
        "proposal": decision.proposal if decision is not None else None,
        "receipt": receipt.verdict if receipt is not None else None,
        "reasons": [
            {"operation": reason.operation, "code": reason.code, "message": reason.message}
            for reason in (receipt.reasons if receipt is not None else ())
        ],
        "outcome": detail.outcome.state if detail.outcome is not None else None,
        "successor": detail.successor,
        "changes": [change_json(change) for change in detail.changes],
    }


def _detail_text(context: Context, detail: JobDetail) -> str:
    paint, row = context.paint, detail.row
    rows = [
        ("job", row.job_id),
        ("state", ": ".join(part for part in (row.state, _why(row)) if part)),
        ("branch", row.branch),
        ("settled", date(row.settled_ms)),
        ("generation", str(row.generation) if row.generation is not None else "-"),
        ("decision", detail.decision.kind if detail.decision is not None else "-"),
        ("receipt", detail.receipt.verdict if detail.receipt is not None else "-"),
        ("successor", short_id(detail.successor) if detail.successor is not None else "-"),
    ]
    if row.state == DEAD:
        rows.append(("next", f"perdure jobs retry {row.short}, or leave it: it does no harm"))
    parts = [paint("bold", f"job {row.short}"), table(rows)]
    for attempt in detail.attempts:
        result = attempt.result
        ended = f"{result.outcome} {result.detail}".strip() if result is not None else ""
        parts.append(f"attempt {attempt.attempt_id}  {attempt.state}  {ended}".rstrip())
        if result is not None and result.correction:
            parts.append(f"    {result.correction}")
    parts += _reasons_text(context, detail)
    if detail.changes:
        parts.append(paint.diff(diff(detail.changes)))
    if detail.evidence is None:
        parts.append(paint("dim", "The evidence has expired."))
    else:
        lines = [line for turn in detail.evidence.turns for line in turn.lines]
        parts += [f"{line.line_id} {line.role}: {line.text}".replace("\n", "\n    ") for line in lines]
    return "\n".join(parts)


def _reasons_text(context: Context, detail: JobDetail) -> list[str]:
    """What admission refused of the proposal and why, and what the user can do."""
    reasons = detail.receipt.reasons if detail.receipt is not None else ()
    lines = [
        f"{f'operation {reason.operation}' if reason.operation else 'all'}: {reason.code}: {reason.message}"
        for reason in reasons
    ]
    if any(reason.code == "capacity" for reason in reasons):
        lines.append(context.paint("yellow", NO_ROOM))
    return lines


def _scope(context: Context) -> str | None:
    """The project whose jobs can be named; None for those of all."""
    return None if context.options.all else context.project.key


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a job's id, or the beginning of its short form")
    parser.add_argument("--all", action="store_true", help="look among the jobs of every project")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="the jobs of every project")
    parser.add_argument("--open", action="store_true", help="only jobs that have not ended")


_AMBIGUOUS = "3 several jobs begin like that, or the job's state does not allow it; nothing was changed"
_NONE = "4 there is no such job"
COMMANDS = (
    Command(
        "jobs list",
        "list the review jobs with their states",
        jobs_list,
        _list_arguments,
        examples=("perdure jobs", "perdure jobs list --open --all --json"),
    ),
    Command(
        "jobs show",
        "show one job: evidence, attempts, decision, receipt, changes",
        jobs_show,
        _id,
        examples=("perdure jobs show 3f9c1a2b",),
        statuses=("3 several jobs begin like that", _NONE),
    ),
    Command(
        "jobs retry",
        "review the same evidence again, against the memory of now",
        jobs_retry,
        _id,
        examples=("perdure jobs retry 3f9c1a2b",),
        statuses=(_AMBIGUOUS, _NONE),
    ),
    Command(
        "jobs drop",
        "end an open job for good; its turns will not be reviewed",
        jobs_drop,
        _id,
        frozenset({"yes"}),
        examples=("perdure jobs drop 3f9c1a2b --yes",),
        statuses=(_AMBIGUOUS, _NONE),
    ),
)
