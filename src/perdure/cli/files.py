"""export, edit, import."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, Literal

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.cli.command import Answer, Command, Context
from perdure.cli.outside import read_text, write_text
from perdure.cli.shapes import counted, written_text
from perdure.core.exchange import diff, shown
from perdure.core.secrets import find_secrets
from perdure.errors import PerdureError, UsageError
from perdure.hosts.documents import change_json, written_json
from perdure.service.exchange import FilePlan, Format

_BOTH = frozenset({"branch", "user"})
_ENDINGS: dict[str, Format] = {".md": "markdown", ".txt": "markdown", ".json": "json"}


def export(context: Context) -> Answer:
    """The branch as Markdown or JSON."""
    options = context.options
    form: Format = options.format or _form_of(options.output, "markdown")
    branch = context.memory.branch(context.branch)
    text = context.app.exchange_service(context.scope).export(form, branch)
    data: dict[str, Any] = {
        "branch": branch.name,
        "base_digest": branch.digest,
        "format": form,
        "entries": len(branch.entries),
    }
    if options.output is None:
        return Answer(data | {"text": text}, text.removesuffix("\n"))
    write_text(options.output, text)
    said = f"{counted(len(branch.entries), 'entry', 'entries')} of branch {branch.name}: {options.output}."
    return Answer(data | {"file": options.output}, said)


def edit(context: Context) -> Answer:
    """The branch as Markdown in the user's editor, applied by compare-and-swap."""
    app = context.begin_writing()
    service = app.exchange_service(context.scope)
    branch = service.to_edit(context.branch)
    name = f"{layout.DRAFTS}/{branch.name.encode().hex()[:24]}-{app.ids.token(8)}.md"
    app.records.ensure_folders(layout.DRAFTS)
    before = service.export("markdown", branch)
    app.records.disk.note(name, before.encode())
    path = str(Path(app.home.path, name))
    try:
        _open_editor(path)
        text = read_text(path)
        if text == before:
            app.records.disk.remove(name)
            return Answer(_no_change(branch.name, branch.digest), "Nothing was edited.")
        plan = service.plan(
            text,
            form="markdown",
            branch=branch.name,
            base_digest=branch.digest,
            relearn=context.options.relearn,
        )
        answer = _apply(context, plan, "edit")
    except PerdureError as error:
        kept = _kept(app, name, path, before)
        error.advice = f"{error.advice} {kept}".strip()
        raise
    if answer.data.get("declined"):
        return Answer(
            answer.data | {"kept": path}, f"{answer.text} {_kept(app, name, path, before)}".rstrip()
        )
    app.records.disk.remove(name)
    return answer


def _kept(app: App, name: str, path: str, before: str) -> str:
    """Keep what was edited, and say where: but neither an unchanged text nor one with a secret (E-03)."""
    try:
        text = read_text(path)
        found = find_secrets(text) if text != before else ()
    except PerdureError:  # not text any more: it cannot be looked through, so it is not kept, either
        app.records.disk.remove(name)
        return "Your file is not kept, since it cannot be read."
    if text != before and not found:
        return f"Your text is kept in {path}."
    app.records.disk.remove(name)
    if found:
        return f"Your text is not kept, since it has what looks like a secret ({found[0].kind})."
    return ""


def import_file(context: Context) -> Answer:
    """A file into the branch: the whole branch when it names its base, else additions only."""
    options = context.options
    text = read_text(options.file)
    looks: Format = "json" if text.lstrip()[:1] == "{" else "markdown"
    form: Format = options.format or _form_of(options.file, looks)
    app = context.begin_writing()
    plan = app.exchange_service(context.scope).plan(
        text, form=form, branch=context.branch, relearn=options.relearn, add=options.add
    )
    return _apply(context, plan, "import")


def _apply(context: Context, plan: FilePlan, cause: Literal["edit", "import"]) -> Answer:
    """Show the diff, ask, apply."""
    paint, dry = context.paint, bool(getattr(context.options, "dry_run", False))
    duplicates = [{"where": item.where, "text": item.text} for item in plan.duplicates]
    notes = [paint("dim", f"{item.where}: is there already: {shown(item.text)}") for item in plan.duplicates]
    extra = {"duplicates": duplicates, "foreign": plan.foreign, "dry_run": dry}
    if not plan.planned.changes:
        data = _no_change(plan.base.name, plan.base.digest) | extra
        return Answer(data, "\n".join([*notes, "Nothing changed: the memory says exactly that already."]))
    lines = paint.diff(diff(plan.planned.changes))
    if dry:
        planned = {
            "changed": False,
            "branch": plan.base.name,
            "seq": plan.base.seq,
            "digest": plan.base.digest,
            "changes": [change_json(change) for change in plan.planned.changes],
        }
        return Answer(planned | extra, "\n".join([*notes, lines, "Nothing was changed: this was a dry run."]))
    question = f"Apply {counted(len(plan.planned.changes), 'change')} to branch {plan.base.name}?"
    if not context.confirm(question, [*notes, lines]):
        data = _no_change(plan.base.name, plan.base.digest) | extra
        return Answer(data | {"declined": True}, "Nothing was changed.")
    service = context.app.exchange_service(context.scope)
    written = service.apply(plan, cause=cause, relearn=context.options.relearn)
    said = written_text(written, paint, unchanged="Nothing changed.")
    return Answer(written_json(written) | extra, "\n".join([*notes, said]))


def _no_change(branch: str, digest: str) -> dict[str, Any]:
    return {"changed": False, "branch": branch, "digest": digest, "changes": []}


def _open_editor(path: str) -> None:
    """Run $VISUAL or $EDITOR on a file and wait. Raises UsageError when it cannot run or fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(command)
        done = subprocess.run([*words, path], check=False)  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as error:
        msg = f"the editor {command!r} cannot be run: {error}."
        raise UsageError(msg, advice="Set VISUAL or EDITOR to your editor.") from error
    if done.returncode != 0:
        msg = f"the editor {command!r} ended with status {done.returncode}; nothing was changed."
        raise UsageError(msg, advice="Run perdure edit again when the editor works.")


def _form_of(path: str | None, otherwise: Format) -> Format:
    return _ENDINGS.get(Path(path or "").suffix.lower(), otherwise)


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("markdown", "json"), help="default: by the file's name")


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    _format(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what perdure export wrote, or a file of bullets")
    _format(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    parser.add_argument("--add", action="store_true", help="only add, as from a file of another memory")
    _relearn(parser)


def _relearn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--relearn", action="store_true", help="store again what was forgotten")


_STALE = "3 the branch changed since the file was made, or a text may not enter memory; nothing was changed"
COMMANDS = (
    Command(
        "export",
        "write a branch as Markdown or JSON, to be read, edited and imported",
        export,
        _export_arguments,
        _BOTH,
        examples=("perdure export", "perdure export -o memory.json"),
        statuses=("4 there is no such branch", "5 the file cannot be written"),
    ),
    Command(
        "edit",
        "edit a branch in $VISUAL or $EDITOR, as Markdown",
        edit,
        _relearn,
        _BOTH | {"yes"},
        examples=("perdure edit", 'EDITOR="code --wait" perdure edit --branch experiment'),
        statuses=("2 the editor failed, or the text has a fault that is named by line", _STALE),
    ),
    Command(
        "import",
        "take a Markdown or JSON file into a branch, all of it or nothing",
        import_file,
        _import_arguments,
        _BOTH | {"yes"},
        examples=(
            "perdure import memory.md",
            "perdure import notes.md --dry-run",
            "perdure import old.md --add",
        ),
        statuses=("2 the file has a fault that is named by line", _STALE, "4 there is no such file"),
    ),
)
