"""capture, inject."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from perdure.cli.command import Answer, Command, Context, text_argument, use_one_thread
from perdure.cli.shapes import counted, date
from perdure.core.evidence import Evidence, Skipped
from perdure.hosts.sessions import SessionRead, read_session
from perdure.service.capture import Captured

CONFIRM_TURNS = 200
"""A capture by hand of more turns than this asks first (K-04)."""

SUMS = ("accepted", "duplicates", "windows", "turns_accepted")


def capture(context: Context) -> Answer:
    """Sanitise the unreviewed settled turns of session files and accept review jobs."""
    options = context.options
    read = [(path, read_session(path)) for path in options.sessions]
    if not options.dry_run:
        context.begin_writing()
    branch_id = context.app.branch_id(context.project.key, context.branch)
    planned = [_captured(context, session, branch_id, dry_run=True) for _, session in read]
    turns = len(_turns(planned))
    done = planned
    if not options.dry_run:
        question = f"{turns:,} turns would be taken in, more than {CONFIRM_TURNS}. Go on?"
        if turns > CONFIRM_TURNS and not context.confirm(question):
            return Answer({"accepted": 0, "declined": True}, "Nothing was taken in.")
        done = [_captured(context, session, branch_id, dry_run=False) for _, session in read]
    sessions = [
        _session_json(path, session, found) for (path, session), found in zip(read, done, strict=True)
    ]
    parts = [
        _session_text(context, path, session, found)
        for (path, session), found in zip(read, done, strict=True)
    ]
    status = 5 if any(found.problems for found in done) else 0
    return Answer(_summed(sessions), "\n\n".join(parts), status)


def inject(context: Context) -> Answer:
    """The block that a host would inject now; with a session it counts as exposure (I-04). What can be read
    is injected, and what cannot is named: a failure only when nothing is left to show.
    """
    app, budget = context.app, context.app.config.injection
    project = context.project.key
    branch_id = app.branch_id(project, context.branch) if context.branch is not None else None
    service, session = app.inject_service(), context.options.session
    given = context.options.prompt
    prompt = text_argument(given) if given is not None else None
    if prompt is not None:
        use_one_thread()
    if session is None:
        block = service.block(project, branch_id, prompt=prompt)
    else:
        block = service.turn_start(project, session=session, branch_id=branch_id, prompt=prompt)
    return Answer(
        {
            "text": block.text,
            "characters": block.chars,
            "characters_max": budget.characters,
            "tokens": block.tokens,
            "tokens_max": budget.tokens,
            "included": block.included,
            "left_out": block.left_out,
            "session": session,
            "problem": block.problem or None,
        },
        block.text,
        5 if block.problem and not block.text else 0,
        block.problem,
    )


def _turns(planned: list[Captured]) -> set[str]:
    """The turns that would be taken in; forks of one session share theirs."""
    return {turn.turn_id for found in planned for evidence in found.evidence for turn in evidence.turns}


def _captured(context: Context, session: SessionRead, branch_id: str, *, dry_run: bool) -> Captured:
    return context.app.capture_service().capture(
        host=session.host,
        session=session.session,
        turns=session.turns,
        project=context.project.key,
        branch_id=branch_id,
        mode="observe" if context.app.config.mode == "shadow" else "admit",
        dry_run=dry_run,
    )


def _session_json(path: str, session: SessionRead, found: Captured) -> dict[str, Any]:
    document: dict[str, Any] = {
        "file": path,
        "host": session.host,
        "format": session.format,
        "session": session.session,
        "accepted": found.accepted,
        "duplicates": found.duplicates,
        "windows": found.windows,
        "turns_accepted": found.turns_accepted,
        "skipped_turns": [_turn_json(turn) for turn in found.skipped_turns],
        "uncovered_turns": [_turn_json(turn) for turn in found.uncovered_turns],
        "jobs": list(found.jobs),
        "problems": [{"line": problem.line, "reason": problem.reason} for problem in session.problems],
        "failures": list(found.problems),
        "dry_run": found.dry_run,
    }
    if found.dry_run:
        document["evidence"] = [msgspec.to_builtins(evidence) for evidence in found.evidence]
    return document


def _turn_json(turn: Skipped) -> dict[str, Any]:
    return {"turn": turn.turn_id, "position": turn.position, "reason": turn.reason}


def _summed(sessions: list[dict[str, Any]]) -> dict[str, Any]:
    """One session as it is; several as a list, with sums and joined lists on top."""
    if len(sessions) == 1:
        return sessions[0]
    document: dict[str, Any] = {name: sum(session[name] for session in sessions) for name in SUMS}
    for name in ("skipped_turns", "uncovered_turns", "jobs", "problems", "failures"):
        document[name] = [
            item | {"file": session["file"]} if isinstance(item, dict) else item
            for session in sessions
            for item in session[name]
        ]
    return document | {"dry_run": sessions[0]["dry_run"], "sessions": sessions}


def _session_text(context: Context, path: str, session: SessionRead, found: Captured) -> str:
    paint = context.paint
    verb = "would be taken in" if found.dry_run else "taken in"
    jobs = len(found.evidence) if found.dry_run else found.accepted
    earlier = f"{found.duplicates:,} {'holds' if found.duplicates == 1 else 'hold'} earlier ones"
    lines = [
        paint("bold", f"{path} ({session.format}, {counted(len(session.turns), 'turn')})"),
        f"{counted(found.turns_accepted, 'turn')} {verb} as {counted(jobs, 'review job')}; {earlier}.",
    ]
    lines += _counted("not evidence", found.skipped_turns)
    lines += _counted("cannot be evidence", found.uncovered_turns)
    lines += [paint("yellow", f"line {problem.line}: {problem.reason}") for problem in session.problems]
    lines += [paint("red", problem) for problem in found.problems]
    if session.cwd is not None and not _within(session.cwd, context.project.root):
        lines.append(paint("yellow", f"note: this session ran in {session.cwd}, not in this project."))
    if found.dry_run:
        lines += [_evidence_text(evidence) for evidence in found.evidence]
    elif found.accepted:
        lines.append("Next: perdure review --once.")
    return "\n".join(lines)


def _counted(what: str, turns: tuple[Skipped, ...]) -> list[str]:
    """How many turns for each reason."""
    reasons: dict[str, int] = {}
    for turn in turns:
        reasons[turn.reason] = reasons.get(turn.reason, 0) + 1
    return [
        f"{counted(count, 'turn')} {'is' if count == 1 else 'are'} {what}: {reason}"
        for reason, count in sorted(reasons.items())
    ]


def _within(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(f"{root.rstrip('/')}/")


def _evidence_text(evidence: Evidence) -> str:
    lines = [f"\n--- window of {counted(len(evidence.turns), 'turn')}"]
    for turn in evidence.turns:
        lines.append(f"turn {turn.turn_id[:12]}  {date(turn.settled_ms)}{'  (cut)' if turn.cut else ''}")
        said = [f"  {line.line_id} {line.role}: {line.text}" for line in turn.lines]
        lines += [line.replace("\n", "\n      ") for line in said]
    return "\n".join(lines)


def _capture_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sessions", metavar="SESSION.jsonl", nargs="+", help="of Pi, Claude Code or Codex")
    parser.add_argument("--dry-run", action="store_true", help="show exactly what would be stored")


def _inject_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--session", metavar="ID", help="the session that asks: counts what is shown as exposure in it"
    )
    parser.add_argument(
        "--prompt", metavar="TEXT", help='what the turn is about: what bears on it goes first; "-" reads it'
    )


COMMANDS = (
    Command(
        "capture",
        "take the unreviewed settled turns of sessions in as review jobs",
        capture,
        _capture_arguments,
        frozenset({"branch", "yes"}),
        examples=("perdure capture session.jsonl --dry-run", "perdure capture *.jsonl --yes --json"),
        statuses=(
            f"2 a file is no session, or more than {CONFIRM_TURNS} turns need --yes; nothing was stored",
            "4 there is no such file",
            "5 some jobs could not be stored; the others were",
        ),
    ),
    Command(
        "inject",
        "print the block that a host would inject now",
        inject,
        _inject_arguments,
        frozenset({"branch"}),
        examples=(
            "perdure inject",
            "perdure inject --json --project ~/shop",
            'perdure inject --prompt "deploy the shop to staging"',
        ),
        statuses=(
            "0 also when there is nothing to inject: nothing is printed",
            "5 a branch is damaged and nothing else is left to inject; a warning when something is",
        ),
    ),
)
