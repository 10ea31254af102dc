"""branch list|fork|use|rename|remove, history, undo."""

from __future__ import annotations

import argparse
import shlex

import msgspec

from perdure.app import USER_SCOPE
from perdure.cli import values
from perdure.cli.command import Answer, Command, Context
from perdure.cli.jobs import short_id
from perdure.cli.paint import Paint
from perdure.cli.shapes import counted, date, one_line, table, written_text
from perdure.core.admission import Revision, RevisionTombstone
from perdure.core.exchange import diff
from perdure.core.structural import Revision2, what_it_did
from perdure.hosts.documents import change_json, written_json

_BOTH = frozenset({"branch", "user"})


def branch_list(context: Context) -> Answer:
    """All branches, the selected one marked."""
    memory = context.memory
    selected, rows = memory.selected(), memory.branches()
    names = {row.branch_id: row.name for row in rows}
    data = {
        "selected": selected,
        "branches": [
            {
                "branch": row.name,
                "branch_id": row.branch_id,
                "parent": row.parent,
                "entries": row.entries,
                "seq": row.seq,
                "selected": row.name == selected,
                "problem": row.problem or None,
            }
            for row in rows
        ],
    }
    lines = [
        (
            "*" if row.name == selected else " ",
            row.name,
            counted(row.entries, "entry", "entries")
            if not row.problem
            else one_line(f"damaged: {row.problem}"),
            f"from {names.get(row.parent, 'a branch that is gone')}" if row.parent else "",
        )
        for row in rows
    ]
    return Answer(data, table(lines))


def branch_fork(context: Context) -> Answer:
    """A copy under a new name."""
    context.begin_writing()
    row = context.memory.fork(context.options.name, source=context.branch)
    data = {"branch": row.name, "branch_id": row.branch_id, "parent": row.parent, "entries": row.entries}
    holds = counted(row.entries, "entry", "entries")
    use = f"perdure branch use {shlex.quote(row.name)}"
    return Answer(data, f"Branch {row.name} holds a copy of {holds}. Next: {use}.")


def branch_use(context: Context) -> Answer:
    """Choose the branch for what follows."""
    context.begin_writing()
    context.memory.use(context.options.name)
    return Answer({"selected": context.options.name}, f"Branch {context.options.name} is in use.")


def branch_rename(context: Context) -> Answer:
    """The same branch under another name."""
    app, options = context.begin_writing(), context.options
    row = app.branch_service(context.scope).rename_branch(options.name, options.new)
    data = {"branch": row.name, "branch_id": row.branch_id, "before": options.name, "seq": row.seq}
    return Answer(data, f"Branch {options.name} is called {row.name} now.")


def branch_remove(context: Context) -> Answer:
    """A branch and its history, for good."""
    name = context.options.name
    with context.app.retention().room():
        app = context.begin_writing()
        service = app.branch_service(context.scope)
        row, waiting = service.open_jobs(name)
        holds = f"{counted(row.entries, 'entry', 'entries')} and {counted(len(waiting), 'open job')}"
        question = f"Remove branch {row.name} with {holds} for good? Export it first to keep a copy."
        if (row.entries or waiting) and not context.confirm(question):
            return Answer({"removed": False, "branch": row.name}, "Nothing was changed.")
        done = service.remove(name)
        app.forget_derived(context.scope)
    data = {
        "removed": True,
        "branch": done.name,
        "branch_id": done.branch_id,
        "entries": done.entries,
        "dropped": list(done.dropped),
        "left": list(done.left),
        "selected": context.memory.selected(),
    }
    lines = [f"Branch {done.name} is removed with {counted(done.entries, 'entry', 'entries')}."]
    if done.was_selected:
        lines.append("It was in use; main is in use now.")
    lines += [f"dropped: job {short_id(job_id)}" for job_id in done.dropped]
    lines += [f"left: job {short_id(job_id)} cannot be read: perdure verify" for job_id in done.left]
    return Answer(data, "\n".join(lines))


def history(context: Context) -> Answer:
    """The revisions, newest first."""
    revisions = context.memory.history(context.branch)
    limit = context.options.limit
    shown = revisions if limit is None else revisions[:limit]
    paint = context.paint
    parts = []
    for revision in shown:
        if isinstance(revision, RevisionTombstone):
            parts.append(paint("dim", f"revision {revision.seq}  purged"))
            continue
        undoes = f" of revision {revision.undoes}" if revision.undoes is not None else ""
        head = f"revision {revision.seq}  {date(revision.made_ms)}  {what_it_did(revision)}{undoes}"
        parts.append(paint("bold", head))
        if revision.job_id is not None:
            parts.append(paint("dim", f"job {revision.job_id[-32:][:12]}"))
        parts += _explained(revision, paint)
    return Answer({"revisions": [_revision_json(revision) for revision in shown]}, "\n".join(parts))


def _explained(revision: Revision, paint: Paint) -> list[str]:
    """Each change with the reason that its entry's note gives, right below it."""
    reasons = {note.entry_id: note.rationale for note in revision.notes if note.rationale}
    lines = _about(revision)
    for change in revision.changes:
        lines.append(paint.diff(diff((change,))))
        reason = reasons.pop(change.entry_id, None)
        if reason is not None:
            lines.append(f"    why: {one_line(reason)}")
    lines += [f"  why {entry_id}: {one_line(reason)}" for entry_id, reason in reasons.items()]
    return lines


def _about(revision: Revision) -> list[str]:
    """What a revision did beside its entries."""
    if not isinstance(revision, Revision2):
        return []
    if revision.renamed is not None:
        return [f"    {revision.renamed.before} is called {revision.renamed.after}"]
    if revision.moved is not None:
        where = "from" if revision.moved.direction == "in" else "to"
        return [f"    {where} {_memory_of(revision.moved.scope)}"]
    return []


def _memory_of(scope: str) -> str:
    return "the user-wide memory" if scope == USER_SCOPE else f"project {scope}"


def undo(context: Context) -> Answer:
    """Take one revision back; later changes of other entries stay."""
    app = context.begin_writing()
    written = context.memory.undo(context.options.revision, branch=context.branch)
    app.forget_derived(context.scope)
    return Answer(written_json(written), written_text(written, context.paint, unchanged="Nothing changed."))


def _revision_json(revision: Revision | RevisionTombstone) -> dict[str, object]:
    if isinstance(revision, RevisionTombstone):
        return {"seq": revision.seq, "cause": None, "purged": True}
    return {
        "seq": revision.seq,
        "cause": what_it_did(revision),
        "purged": False,
        "renamed": _builtins(revision.renamed) if isinstance(revision, Revision2) else None,
        "moved": _builtins(revision.moved) if isinstance(revision, Revision2) else None,
        "job": revision.job_id,
        "undoes": revision.undoes,
        "base_digest": revision.base_digest,
        "result_digest": revision.result_digest,
        "made_ms": revision.made_ms,
        "changes": [change_json(change) for change in revision.changes],
        "notes": [
            {"id": note.entry_id, "evidence": list(note.evidence), "rationale": note.rationale}
            for note in revision.notes
        ],
    }


def _builtins(found: msgspec.Struct | None) -> dict[str, object] | None:
    return msgspec.structs.asdict(found) if found is not None else None


def _names(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("new", metavar="NEW", help="what it is to be called")


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the branch's name")


def _revision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "revision",
        metavar="REVISION",
        nargs="?",
        type=values.revision,
        help="its number; default: the newest",
    )


def _limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--limit", metavar="N", type=values.rows, help="show at most so many revisions")


COMMANDS = (
    Command(
        "branch list",
        "list the branches, the one in use marked",
        branch_list,
        takes=frozenset({"user"}),
        examples=("perdure branch",),
    ),
    Command(
        "branch fork",
        "copy a branch under a new name",
        branch_fork,
        _name,
        _BOTH,
        examples=("perdure branch fork experiment", "perdure branch fork again --branch experiment"),
        statuses=("3 the name is taken", "4 there is no branch to copy"),
    ),
    Command(
        "branch use",
        "choose the branch that commands and new sessions work on",
        branch_use,
        _name,
        frozenset({"user"}),
        examples=("perdure branch use experiment", "perdure branch use main"),
        statuses=("4 there is no such branch",),
    ),
    Command(
        "branch rename",
        "give a branch another name; its entries, history and jobs stay with it",
        branch_rename,
        _names,
        frozenset({"user"}),
        examples=("perdure branch rename experiment pnpm-trial",),
        statuses=(
            "3 the name is taken, or the branch is main; nothing was changed",
            "4 there is no such branch",
        ),
    ),
    Command(
        "branch remove",
        "remove a branch with its history for good; its open jobs are dropped",
        branch_remove,
        _name,
        frozenset({"user", "yes"}),
        examples=("perdure branch remove experiment", "perdure branch remove experiment --yes --json"),
        statuses=(
            "2 nobody could answer the question: add --yes",
            "3 the branch is main; nothing was changed",
            "4 there is no such branch",
        ),
    ),
    Command(
        "history",
        "show what changed a branch, newest first",
        history,
        _limit,
        _BOTH,
        examples=("perdure history", "perdure history -n 3 --json"),
        statuses=("4 there is no such branch",),
    ),
    Command(
        "undo",
        "take one revision back; later changes of other entries stay",
        undo,
        _revision,
        _BOTH,
        examples=("perdure undo", "perdure undo 7"),
        statuses=(
            "3 an entry of that revision changed later, or it forgot something; nothing was changed",
            "4 there is no such revision",
        ),
    ),
)
