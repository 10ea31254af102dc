"""review, worker, receipts."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from perdure.app import App
from perdure.cli.command import Answer, Command, Context
from perdure.cli.jobs import DEAD, NO_ROOM, short_id
from perdure.cli.output import complain, say
from perdure.cli.shapes import counted, date, table, until
from perdure.core.admission import Receipt
from perdure.errors import DiskFull, NotFound, OutputFailed
from perdure.service.work import Report

UNAVAILABLE_STATUS = 6


def _begin(context: Context, begin: Callable[[], object]) -> None:
    """Begin to write. On a full disk what has expired goes first: no worker could start there and do it."""
    retention = context.app.retention()
    with retention.room() as full:
        begin()
        if full:
            with contextlib.suppress(DiskFull):  # then there is no room for reviews either, which says so
                retention.run()


@contextlib.contextmanager
def _until_told(*signals: int) -> Iterator[Callable[[], bool]]:
    """Whether one of the signals came. A call that is under way then is paid for, and is finished."""
    stopping: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        stopping.append(number)

    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield lambda: bool(stopping)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def review(context: Context) -> Answer:
    """Review what is ready and end; what has to wait stays queued. SIGTERM ends it after the job in hand."""
    _begin(context, context.begin_writing)
    app = context.app
    only = None if context.options.all else context.project.key
    with _until_told(signal.SIGTERM) as told:
        report = app.worker(only_project=only).drain(stop=told)
    return Answer(_report_json(report), _report_text(context, report), _status(app, report))


def worker(context: Context) -> Answer:
    """Review until told to stop."""

    def log(event: str, name: str, detail: str) -> None:
        line = f"{event} {name} {detail}".rstrip()
        if context.options.json:
            complain(line)
            return
        with contextlib.suppress(OutputFailed):  # a lost line of the log stops no review
            say(line)

    with _until_told(signal.SIGTERM, signal.SIGINT) as told:
        context.log = log
        app = context.app
        _begin(context, app.begin_writing)
        log("started", str(app.home.path), "")
        report = app.worker().run(stop=told)
    log("stopped", str(app.home.path), "")
    return Answer(_report_json(report), _report_text(context, report))


def receipts(context: Context) -> Answer:
    """How admissions ended: all of them, or one in full."""
    memory, project = context.app.memory, context.project.key
    names = memory.receipts(project)
    if context.options.id is not None:
        name = context.app.jobs_service().resolve(context.options.id, project)
        found = memory.receipt(project, name)
        if found is None:
            msg = f"job {short_id(name)} has no receipt."
            raise NotFound(msg, advice=f"perdure jobs show {short_id(name)}")
        return Answer(_receipt_json(found), _receipt_text(context, found))
    listed = [found for name in names if (found := memory.receipt(project, name)) is not None]
    rows = [
        (
            short_id(receipt.job_id),
            date(receipt.ended_ms),
            receipt.verdict,
            f"revision {receipt.revision_seq}" if receipt.revision_seq is not None else "",
            ", ".join(dict.fromkeys(reason.code for reason in receipt.reasons)),
        )
        for receipt in listed
    ]
    return Answer({"receipts": [_receipt_json(receipt) for receipt in listed]}, table(rows))


def _status(app: App, report: Report) -> int:
    """6 when nothing at all could be reviewed for want of the provider or its budget.

    What waits and blocks its lane waits for them, unless another worker that is alive holds the lane.
    """
    if report.ended or report.stopped or not report.waiting or app.claims.workers():
        return 0
    held_up = all(waiting.blocks_lane for waiting in report.waiting.values())
    return UNAVAILABLE_STATUS if held_up else 0


def _report_json(report: Report) -> dict[str, Any]:
    return {
        "ended": report.ended,
        "reasons": report.reasons,
        "waiting": [
            {"job": name, "reason": waiting.reason, "until_ms": waiting.until_ms}
            for name, waiting in report.waiting.items()
        ],
        "stopped": [{"job": name, "reason": reason} for name, reason in report.stopped.items()],
    }


def _report_text(context: Context, report: Report) -> str:
    paint = context.paint
    ended = sorted(report.ended.items())
    lines = [f"{counted(count, 'job')} {state}" for state, count in ended]
    lines += [f"  {count} {why}" for why, count in sorted(report.reasons.items())]
    if any(why.endswith(": capacity") for why in report.reasons):
        lines.append(paint("yellow", NO_ROOM))
    reasons: dict[str, list[int]] = {}
    for waiting in report.waiting.values():
        reasons.setdefault(waiting.reason, []).append(waiting.until_ms or 0)
    lines += [paint("yellow", _waiting(reason, times)) for reason, times in reasons.items()]
    lines += [paint("red", f"{short_id(name)} stopped: {reason}") for name, reason in report.stopped.items()]
    if not lines:
        return "Nothing was waiting for a review."
    if report.ended.get(DEAD):
        lines.append(
            "perdure jobs lists them; perdure jobs show ID says why, perdure jobs retry ID reviews again."
        )
    if report.ended.get("applied"):
        lines.append("perdure history shows what changed; perdure undo takes the newest change back.")
    return "\n".join(lines)


def _waiting(reason: str, times: list[int]) -> str:
    """How many wait for one reason, and when the first of them is tried again."""
    soonest = min((ms for ms in times if ms), default=None)
    again = f"; tried again from {until(soonest)}" if soonest is not None else ""
    return f"{len(times)} waiting: {reason}{again}"


def _receipt_json(receipt: Receipt) -> dict[str, Any]:
    return {
        "job": receipt.job_id,
        "verdict": receipt.verdict,
        "reasons": [
            {"operation": reason.operation, "code": reason.code, "message": reason.message}
            for reason in receipt.reasons
        ],
        "assessments": [
            {"id": found.entry_id, "verdict": found.verdict, "evidence": list(found.evidence)}
            for found in receipt.assessments
        ],
        "branch_id": receipt.branch_id,
        "base_digest": receipt.base_digest,
        "result_digest": receipt.result_digest,
        "revision": receipt.revision_seq,
        "successor": receipt.successor,
        "ended_ms": receipt.ended_ms,
    }


def _receipt_text(context: Context, receipt: Receipt) -> str:
    rows = [
        ("job", receipt.job_id),
        ("ended", date(receipt.ended_ms)),
        ("verdict", receipt.verdict),
        ("revision", str(receipt.revision_seq) if receipt.revision_seq is not None else "-"),
        ("base", receipt.base_digest or "-"),
        ("result", receipt.result_digest or "-"),
        ("successor", receipt.successor or "-"),
    ]
    reasons = [
        f"  {f'operation {reason.operation}' if reason.operation else 'all'}: {reason.code}: {reason.message}"
        for reason in receipt.reasons
    ]
    return "\n".join([context.paint("bold", f"receipt {short_id(receipt.job_id)}"), table(rows), *reasons])


def _review_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="end when nothing more is ready; always so")
    parser.add_argument("--all", action="store_true", help="the jobs of every project, not of this one alone")


def _receipt_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a job's id, or the beginning of its short form")


COMMANDS = (
    Command(
        "review",
        "review what was captured, and end",
        review,
        _review_arguments,
        examples=("perdure review --once", "perdure review --once --all --json"),
        statuses=(
            "0 also when jobs still wait; they are listed with the reason",
            "6 no job could be reviewed, for want of the provider or its budget; all of them stay queued",
        ),
    ),
    Command(
        "worker",
        "review the jobs of all projects until stopped by SIGTERM or Ctrl-C",
        worker,
        examples=("perdure worker",),
        statuses=("0 stopped as asked, after the step in hand", "5 the disk failed"),
    ),
    Command(
        "receipts",
        "list how reviews ended, or show one receipt in full",
        receipts,
        _receipt_arguments,
        examples=("perdure receipts", "perdure receipts 3f9c1a2b --json"),
        statuses=("3 several receipts begin like that", "4 there is no such receipt"),
    ),
)
