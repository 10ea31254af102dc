"""move, merge."""

from __future__ import annotations

import argparse

from perdure.app import USER_SCOPE
from perdure.authority.filesystem import layout
from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import counted, one_line
from perdure.errors import NotFound
from perdure.hosts.documents import entry_json
from perdure.service.moves import MovedEntries, holds_entries

_REFUSED = (
    "3 the target has no room, another value of a key, or forgot the text, or it is locked; nothing was moved"
)


def move(context: Context) -> Answer:
    """One entry to the user-wide memory, or to another project."""
    app, options = context.begin_writing(), context.options
    target = USER_SCOPE
    if options.to != USER_SCOPE:
        project = app.project(options.to)
        app.ensure_project(project)
        target = project.key
    done = app.move_service(context.scope).move(options.which, target, branch=context.branch)
    app.forget_derived(context.scope)
    (entry,) = done.entries
    return Answer(_json(done), f"Moved to {_called(target)}: {entry.entry_id} {one_line(entry.text)}")


def merge(context: Context) -> Answer:
    """All of another project's main branch into this project's."""
    app, source = context.app, context.app.project(context.options.source)
    if app.records.disk.info(layout.scope_folder(source.key)) is None:
        msg = f"{source.root} has no memory here."
        raise NotFound(msg, advice="perdure home show lists the projects that have one.")
    entries = len(app.memory_service(source.key).branch("main").entries)
    question = f"Move {counted(entries, 'entry', 'entries')} from {source.root} to {context.project.root}?"
    if entries and not context.confirm(question):
        return Answer({"moved": [], "declined": True}, "Nothing was moved.")
    context.begin_writing()
    done = app.move_service(source.key).merge(context.project.key)
    app.forget_derived(source.key)
    kept = holds_entries(app.memory, source.key)
    waiting = app.jobs_service().list(source.key, open_only=True)
    lines = [f"Moved to {_called(done.target)}: {counted(len(done.entries), 'entry', 'entries')}."]
    if kept:
        lines.append(f"left there: branch {', branch '.join(kept)}")
    if waiting:
        lines.append(f"left there: {counted(len(waiting), 'open job')}; what they find stays there.")
    data = _json(done) | {"branches_left": list(kept), "jobs_left": [row.job_id for row in waiting]}
    return Answer(data, "\n".join(lines))


def _json(done: MovedEntries) -> dict[str, object]:
    return {
        "move": done.move_id,
        "from": done.source,
        "branch": done.branch,
        "to": done.target,
        "moved": [entry_json(entry) for entry in done.entries],
    }


def _called(scope: str) -> str:
    return "the user-wide memory" if scope == USER_SCOPE else f"project {scope}"


def _move_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "which", metavar="ENTRY", help="an id, the beginning of one, a key, or part of a text"
    )
    parser.add_argument("--to", metavar="WHERE", required=True, help='"user", or a folder in another project')


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a folder in the other project, or its key")


COMMANDS = (
    Command(
        "move",
        "move an entry to the user-wide memory or to another project",
        move,
        _move_arguments,
        frozenset({"branch", "user"}),
        examples=(
            "perdure move 3f9c1a2b --to user",
            'perdure move "deploy command" --to ~/shop',
            "perdure move 3f9c1a2b --user --to .",
        ),
        statuses=("2 source and target are the same", _REFUSED, "4 no entry has that id, key or text"),
    ),
    Command(
        "merge",
        "move all that another project remembers into this one",
        merge,
        _merge_arguments,
        frozenset({"yes"}),
        examples=("perdure merge ~/old-shop", "perdure merge 9c1a2b3d4e5f6071 --project ~/shop --yes"),
        statuses=(
            "2 nobody could answer the question: add --yes",
            _REFUSED,
            "4 there is no such project",
        ),
    ),
)
