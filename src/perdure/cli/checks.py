"""verify, shadow rebuild."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import counted
from perdure.errors import Damaged
from perdure.service.restore import Restored
from perdure.service.verify import Finding, Verified, unopened

FOUND_STATUS = 1
_STYLES = {"fault": "red", "warning": "yellow", "note": "dim"}


def verify(context: Context) -> Answer:
    """Every digest and every derived state again, from the records."""
    try:
        app = context.app
    except Damaged as damaged:
        return _answer(context, unopened(damaged), {}, [])
    restored = None
    if context.options.restore:
        app.begin_writing()
        restored = app.restore_service().restore()
    found = app.verify_service().verify()
    if restored is None:
        return _answer(context, found, {}, [])
    return _answer(context, found, {"restored": msgspec.to_builtins(restored)}, _restored_lines(restored))


def _answer(context: Context, found: Verified, more: dict[str, Any], first: list[str]) -> Answer:
    data: dict[str, Any] = {"ok": found.ok} | msgspec.to_builtins(found) | more
    lines = [*first, *(_finding_text(context, finding) for finding in found.findings)]
    return Answer(data, "\n".join([*lines, _summary(context, found)]), 0 if found.ok else FOUND_STATUS)


def shadow_rebuild(context: Context) -> Answer:
    """The observing database again, from the records."""
    context.app.begin_writing()
    counts = context.app.shadow().rebuild()
    data = msgspec.to_builtins(counts)
    rows = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in data.items())
    return Answer(data, f"The shadow was built again: {rows}.")


def _finding_text(context: Context, finding: Finding) -> str:
    head = context.paint(_STYLES[finding.severity], finding.severity)
    said = f"{finding.path}: {finding.code}: found {finding.found}; expected {finding.expected}."
    return f"{head}  {said}\n    {finding.advice}"


def _restored_lines(restored: Restored) -> list[str]:
    lines = [f"written again: {path}" for path in restored.branches]
    lines += [f"derived again: {path}" for path in restored.completions]
    lines += [f"copied aside: {path}" for path in restored.copies]
    lines += [f"damaged, with nothing left to do, and taken away: {path}" for path in restored.cleared]
    lines += [f"not mended: {why}" for why in restored.refused]
    if restored.finished:
        lines.append(f"finished: {counted(restored.finished, 'transaction')}")
    return lines


def _summary(context: Context, found: Verified) -> str:
    faults = sum(finding.severity == "fault" for finding in found.findings)
    looked = (
        f"{counted(found.branches, 'branch', 'branches')}, {counted(found.revisions, 'revision')}, "
        f"{counted(found.jobs, 'job')}, {counted(found.attempts, 'attempt')}, "
        f"{counted(found.files, 'file')}, {_index_text(found)}"
    )
    if found.ok:
        return context.paint("green", f"In order: {looked}.")
    return context.paint("red", f"{counted(faults, 'fault')} in {looked}.")


def _index_text(found: Verified) -> str:
    """What recall keeps between runs; it is made by the first recall with an encoder."""
    standing = found.index
    if not standing.parts:
        return "no recall index"
    damaged = f", {len(standing.damaged):,} to be made again" if standing.damaged else ""
    parts = counted(standing.parts, "recall index", "recall indexes")
    return f"{parts} of {counted(standing.entries, 'text')}{damaged}"


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--restore", action="store_true", help="first write damaged branches again from their revisions"
    )


COMMANDS = (
    Command(
        "verify",
        "recompute every digest and derived state of the home, and report differences",
        verify,
        _verify_arguments,
        examples=("perdure verify", "perdure verify --restore"),
        statuses=("0 in order; notes and warnings may be there", "1 there is a fault"),
    ),
    Command(
        "shadow rebuild",
        "build the observing database again from the records",
        shadow_rebuild,
        examples=("perdure shadow rebuild",),
    ),
)
