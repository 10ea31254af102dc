"""init, status, home show|adopt|resume."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from perdure.app import USER_SCOPE, App
from perdure.authority.filesystem import projects
from perdure.authority.filesystem.filesystems import VANISHING
from perdure.authority.filesystem.home import adopt
from perdure.authority.filesystem.place import home_path
from perdure.authority.filesystem.project import Project, find_project, repository_around
from perdure.cli.command import Answer, Command, Context
from perdure.cli.jobs import NO_ROOM
from perdure.cli.shapes import amount_text, counted, date, exposure_json, table
from perdure.core.admission import Outcome
from perdure.core.job import lane_of, successor
from perdure.core.memory import BRANCH_CHARS_MAX
from perdure.errors import Refused

_KINDS = {
    "git": "Git repository",
    "worktree": "main repository of this linked worktree, whose memory it shares",
    "folder": "folder without Git",
    "key": "named by its key",
}
_MODES = {
    "embedded": "embedded: reviews run in the host's own process, or by perdure review",
    "shadow": "shadow: embedded reviews decide, a service runs beside them and changes nothing",
    "external": "external: perdure worker reviews, or perdure review by hand; no host does",
}
_MOVED = "If you moved it: docs/how-to, Move a project."
_FINISHING = "the next command that writes to its source finishes it."
_GONE_SHOWN = 3
_NEWEST = 20
"""So many of the newest reviews are looked at for what status tells of them."""


def init(context: Context) -> Answer:
    """Make the home and the project's memory, or find them there."""
    _check_places(home_path(), context.options.project)
    app = context.app = App.open(create=True, allow_filesystem=context.options.allow_filesystem)
    app.begin_writing()
    project = context.project
    new = app.ensure_project(project)
    gone = _gone(app)
    data = _identity(app, project) | {"new": new, "gone": gone}
    rows = [
        ("project", f"{project.root} ({_KINDS[project.kind]})"),
        ("key", project.key),
        ("memory", data["memory"]),
        ("mode", _MODES[app.config.mode]),
        ("reviewer", _reviewer_text(app)),
        *_notes(app, gone),
    ]
    said = "This project has a memory now." if new else "This project has a memory already; nothing changed."
    steps = [
        'perdure remember "…"                      store a fact or a preference',
        "perdure capture SESSION.jsonl --dry-run   see what a review would get to see",
        "perdure review --once                     review what was captured",
        "perdure inject                            see what an agent is told",
    ]
    text = [context.paint("bold", said), "", table(rows), "", "Next:", *(f"  {step}" for step in steps)]
    return Answer(data, "\n".join(text))


def _check_places(home: str, folder: str) -> None:
    """Memory lives outside what it is about (M-01). Raises Refused, and what `find_project` raises."""
    around = repository_around(home)
    if around is not None:
        msg = f"the home {home} would lie inside the Git repository {around}."
        raise Refused(msg, advice="Set PERDURE_HOME to a folder outside it: memory is not part of a project.")
    own, root = os.path.realpath(home), find_project(folder).root
    if root == own or root.startswith(f"{own}/"):
        msg = f"{root} is inside the home {home}, which cannot be a project."
        raise Refused(msg, advice="Run perdure init in your project, or name it with --project.")


def status(context: Context) -> Answer:
    """What this project's memory holds, what waits, and what was spent today."""
    app, project = context.app, context.project
    branch = context.memory.branch()
    closed = app.queue.closed(project.key)
    jobs = [name for name in app.queue.queued() if lane_of(name).project == project.key]
    waiting = sum(name not in closed for name in jobs)
    provider = app.config.reviewer.provider
    day = datetime.fromtimestamp(app.clock.now_ms() / 1000, UTC).strftime("%Y%m%d")
    spent = app.attempts.charge(provider, day)
    missing = app.provider.ready()
    alerts, gone = app.budget_service().report().alerts, _gone(app)
    crowded = _crowded(app, closed)
    moves = [name for scope in (project.key, USER_SCOPE) for name in app.memory.moves(scope)]
    data = _identity(app, project) | {
        "branch": branch.name,
        "entries": len(branch.entries),
        "characters": branch.chars,
        "characters_max": BRANCH_CHARS_MAX,
        "jobs_open": waiting,
        "jobs_closed": len(closed),
        "workers": len(app.claims.workers()),
        "reviewer_missing": missing,
        "today": exposure_json(spent),
        "alerts": list(alerts),
        "no_room": crowded,
        "gone": gone,
        "moves_open": moves,
    }
    total = spent.total
    room = f"{branch.chars:,} of {BRANCH_CHARS_MAX:,}"
    rows = [
        ("project", f"{project.root} ({_KINDS[project.kind]})"),
        ("memory", data["memory"]),
        ("branch", f"{branch.name}: {counted(len(branch.entries), 'entry', 'entries')}, {room} characters"),
        ("jobs", f"{waiting} open, {len(closed)} closed"),
        ("workers", f"{data['workers']} running"),
        ("mode", _MODES[app.config.mode]),
        ("reviewer", f"{_reviewer_text(app)}{f'; {missing}' if missing else ''}"),
        ("today", f"at most {amount_text(total)}"),
        *(("warning", alert) for alert in alerts),
        *(
            [("warning", f"{counted(crowded, 'review', 'reviews')} found more than fits. {NO_ROOM}")]
            * bool(crowded)
        ),
        *(("warning", f"move {name} is half done: {_FINISHING}") for name in moves),
        *_notes(app, gone),
    ]
    return Answer(data, table(rows))


def home_show(context: Context) -> Answer:
    """Where everything lives."""
    app = context.app
    found = app.home.format
    roots = projects.known(app.records)
    gone = {key for key, root in roots.items() if root is not None and projects.is_gone(root)}
    data = {
        "home": app.home.path,
        "home_id": found.home_id,
        "layout": found.layout,
        "filesystem": found.filesystem,
        "filesystem_allowed": found.filesystem_allowed,
        "made_ms": found.made_ms,
        "projects": [{"key": key, "root": root, "gone": key in gone} for key, root in roots.items()],
    }
    forced = " (allowed by you)" if found.filesystem_allowed else ""
    rows = [
        ("home", app.home.path),
        ("id", found.home_id),
        ("made", date(found.made_ms)),
        ("filesystem", f"{found.filesystem}{forced}"),
    ]
    listed = [
        (f"  {key}", f"{root or 'unknown: perdure verify says why'}{' (not there any more)' * (key in gone)}")
        for key, root in roots.items()
    ]
    lines = [table(rows), f"projects    {len(roots)}", table(listed)]
    if gone:
        lines.append(f"Its memory is still here: perdure show --project {min(gone)}. {_MOVED}")
    return Answer(data, "\n".join(lines).rstrip())


def home_adopt(context: Context) -> Answer:
    """Make a restored or copied home this machine's own."""
    path = home_path()
    question = f"Make {path} the home of this machine? Stop using every other copy of it first."
    if not context.confirm(question):
        return Answer({"adopted": False, "home": path}, "Nothing was changed.")
    app = App.open(adopting=True)
    try:
        charged = app.charge_adoption()  # first: once the home is this machine's, nobody asks for it again
        found = adopt(app.home)
    finally:
        app.close()
    data = {"adopted": True, "home": path, "home_id": found.home_id, "charged": charged}
    said = f"{path} belongs to this machine now. Run perdure verify."
    if charged is not None:
        said += (
            "\nThe other copy may have spent the rest of today's budget: it is counted as unknown."
            f"\nperdure budget reconcile {charged} settles it."
        )
    return Answer(data, said)


def home_resume(context: Context) -> Answer:
    """Write again what the disk did not confirm, and go on."""
    path = context.app.records.resume()
    said = "Nothing had stopped writing." if path is None else f"{path} is confirmed; writing goes on."
    return Answer({"resumed": path is not None, "path": path}, said)


def _identity(app: App, project: Project) -> dict[str, Any]:
    reviewer = app.config.reviewer
    return {
        "project": project.root,
        "kind": project.kind,
        "key": project.key,
        "home": app.home.path,
        "memory": f"{app.home.path}/projects/{project.key}",
        "mode": app.config.mode,
        "reviewer": reviewer.provider,
        "model": reviewer.model,
    }


def _reviewer_text(app: App) -> str:
    reviewer = app.config.reviewer
    if reviewer.provider == "rules":
        return "rules: offline, no account, no cost"
    return f"{reviewer.provider} {reviewer.model}".strip()


def _gone(app: App) -> list[dict[str, str]]:
    """The projects whose folder is not there any more: moved, renamed, or deleted."""
    roots = projects.known(app.records).items()
    return [{"key": key, "root": root} for key, root in roots if root and projects.is_gone(root)]


def _crowded(app: App, closed: Iterable[str]) -> int:
    """Of the newest reviews, how many were rejected because memory had no room, and not retried since."""
    known, count = set(closed) | set(app.queue.queued()), 0
    for name in sorted(closed)[-_NEWEST:]:
        ended = app.queue.outcome(name)
        if isinstance(ended, Outcome) and (ended.state, ended.reason) == ("rejected", "capacity"):
            job = app.queue.job(name)
            count += job is None or successor(job, stale=False).job_id not in known
    return count


def _notes(app: App, gone: list[dict[str, str]]) -> list[tuple[str, str]]:
    notes = [
        ("note", f"{one['root']}, project {one['key']}, is not there any more. {_MOVED}")
        for one in gone[:_GONE_SHOWN]
    ]
    if len(gone) > _GONE_SHOWN:
        notes.append(("note", f"{len(gone) - _GONE_SHOWN} more: perdure home show"))
    if app.home.format.filesystem in VANISHING:
        notes.append(
            (
                "warning",
                f"{app.home.path} is on {app.home.format.filesystem}: all of it is lost at a restart.",
            )
        )
    return notes


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-filesystem",
        action="store_true",
        help="keep the home on a file system outside the guarantee; this is recorded",
    )


COMMANDS = (
    Command(
        "init",
        "give this project a memory; says where it lives and what to do next",
        init,
        _init_arguments,
        examples=("perdure init", "PERDURE_HOME=~/memory perdure init --project ~/shop"),
        statuses=(
            "3 the home would be outside the guarantee, in a repository or among other things, or is open",
        ),
    ),
    Command("status", "say what is remembered, what waits, and what was spent today", status),
    Command("home show", "say where all memory lives, and whose it is", home_show),
    Command(
        "home adopt",
        "make a restored or copied home this machine's own",
        home_adopt,
        takes=frozenset({"yes"}),
        statuses=("2 nobody could answer the question: add --yes",),
    ),
    Command(
        "home resume",
        "go on after the disk failed to confirm a write",
        home_resume,
        statuses=("5 the disk fails again",),
    ),
)
