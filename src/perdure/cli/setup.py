"""init, status, home show|adopt|resume."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from perdure.app import App, home_path
from perdure.authority.filesystem import projects
from perdure.authority.filesystem.home import adopt, open_home
from perdure.authority.filesystem.project import Project
from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import date, dollars, exposure_json, table
from perdure.core.job import lane_of
from perdure.core.memory import BRANCH_CHARS_MAX

_KINDS = {"git": "Git repository", "worktree": "linked worktree; memory of", "folder": "folder without Git"}
_MODES = {
    "embedded": "embedded: reviews run in the host's own process, or by perdure review",
    "shadow": "shadow: embedded reviews decide, a service runs beside them and changes nothing",
    "external": "external: only perdure worker reviews",
}


def init(context: Context) -> Answer:
    """Make the home and the project's memory, or find them there."""
    app = context.app = App.open(create=True, allow_filesystem=context.options.allow_filesystem)
    app.begin_writing()
    project = context.project
    new = app.ensure_project(project)
    data = _identity(app, project) | {"new": new}
    rows = [
        ("project", f"{project.root} ({_KINDS[project.kind]})"),
        ("key", project.key),
        ("memory", data["memory"]),
        ("mode", _MODES[app.config.mode]),
        ("reviewer", _reviewer_text(app)),
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
    alerts = app.budget_service().report().alerts
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
    }
    total = spent.total
    room = f"{branch.chars:,} of {BRANCH_CHARS_MAX:,}"
    rows = [
        ("project", f"{project.root} ({_KINDS[project.kind]})"),
        ("memory", data["memory"]),
        ("branch", f"{branch.name}: {len(branch.entries)} entries, {room} characters"),
        ("jobs", f"{waiting} open, {len(closed)} closed"),
        ("workers", f"{data['workers']} running"),
        ("mode", _MODES[app.config.mode]),
        ("reviewer", f"{_reviewer_text(app)}{f'; {missing}' if missing else ''}"),
        ("today", f"at most {total.calls} calls, {total.tokens:,} tokens, {dollars(total.cost_nanodollars)}"),
        *(("warning", alert) for alert in alerts),
    ]
    return Answer(data, table(rows))


def home_show(context: Context) -> Answer:
    """Where everything lives."""
    app = context.app
    found = app.home.format
    keys = projects.keys(app.records)
    roots = {key: _root_of(app, key) for key in keys}
    data = {
        "home": app.home.path,
        "home_id": found.home_id,
        "layout": found.layout,
        "filesystem": found.filesystem,
        "filesystem_allowed": found.filesystem_allowed,
        "made_ms": found.made_ms,
        "projects": [{"key": key, "root": root} for key, root in roots.items()],
    }
    forced = " (allowed by you)" if found.filesystem_allowed else ""
    rows = [
        ("home", app.home.path),
        ("id", found.home_id),
        ("made", date(found.made_ms)),
        ("filesystem", f"{found.filesystem}{forced}"),
    ]
    listed = [(f"  {key}", root or "unknown") for key, root in roots.items()]
    return Answer(data, "\n".join([table(rows), f"projects    {len(keys)}", table(listed)]).rstrip())


def home_adopt(context: Context) -> Answer:
    """Make a restored or copied home this machine's own."""
    path = home_path()
    question = f"Make {path} the home of this machine? Stop using every other copy of it first."
    if not context.confirm(question):
        return Answer({"adopted": False, "home": path}, "Nothing was changed.")
    home = open_home(path, adopting=True)
    try:
        found = adopt(home)
    finally:
        home.close()
    charged = context.app.charge_adoption()
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


def _root_of(app: App, key: str) -> str | None:
    bound = projects.bound(app.records, key)
    return bound.root if bound is not None else None


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
        statuses=("3 the home would lie on a file system outside the guarantee, or is open to others",),
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
