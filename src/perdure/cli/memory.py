"""remember, show, list, facts, replace, forget."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from perdure.authority.filesystem import projects
from perdure.cli.command import Answer, Command, Context, text_argument
from perdure.cli.paint import Paint
from perdure.cli.shapes import counted, date, one_line, table, written_text
from perdure.core.memory import BRANCH_CHARS_MAX, Branch, Entry
from perdure.errors import NotFound, UsageError
from perdure.hosts.documents import branch_json, entry_json, written_json

# For types alone.
if TYPE_CHECKING:
    from perdure.service.purge import Purged

_BOTH = frozenset({"branch", "user"})
_REFUSED = "3 the text may not enter memory, the branch is full, or it changed; nothing was changed"
_NONE = "4 no entry has that id, key or text"


def _remember_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help='what to remember, at most 800 characters; "-" reads it')
    _entry_options(parser, importance="normal")
    parser.add_argument("--if-new", action="store_true", help="refuse when the key has a value already")
    parser.add_argument("--relearn", action="store_true", help="store again what was forgotten")


def _entry_options(parser: argparse.ArgumentParser, importance: str | None) -> None:
    parser.add_argument("--key", metavar="KEY", help="a name; a later value takes the place of this one")
    parser.add_argument("--kind", metavar="KIND", help="project, user, agent or a word of yours")
    parser.add_argument("--importance", choices=("high", "normal", "low"), default=importance)


def remember(context: Context) -> Answer:
    """Add an entry, or a new value of a key."""
    options = context.options
    text = text_argument(options.text)
    context.begin_writing()
    written = context.memory.remember(
        text,
        kind=("user" if context.user_wide else "project") if options.kind is None else options.kind,
        key=options.key,
        importance=options.importance,
        branch=context.branch,
        if_new=options.if_new,
        relearn=options.relearn,
    )
    said = "Nothing changed: the memory says exactly that already."
    return Answer(written_json(written), written_text(written, context.paint, unchanged=said))


def show(context: Context) -> Answer:
    """The whole branch, as it is on disk now."""
    branch = context.memory.branch(context.branch)
    data = branch_json(branch) | {"entries": [entry_json(entry) for entry in branch.entries]}
    text = _shown(branch, context.paint)
    if not branch.entries and not context.user_wide:
        gone = [
            key
            for key, root in projects.known(context.app.records).items()
            if root and projects.is_gone(root)
        ]
        if gone:
            text += "\nA project was moved or deleted: perdure home show names it and says what can be done."
    return Answer(data, text)


def list_entries(context: Context) -> Answer:
    """One line for each entry."""
    branch = context.memory.branch(context.branch)
    rows = [(e.entry_id, e.kind, e.importance, e.key or "-", one_line(e.text)) for e in branch.entries]
    entries = [entry_json(entry) for entry in branch.entries]
    return Answer({"branch": branch.name, "digest": branch.digest, "entries": entries}, table(rows))


def facts(context: Context) -> Answer:
    """The entries that have a key."""
    branch = context.memory.branch(context.branch)
    keyed = [entry for entry in branch.entries if entry.key is not None]
    found = [
        {"key": e.key, "value": e.text, "kind": e.kind, "id": e.entry_id, "updated_ms": e.updated_ms}
        for e in keyed
    ]
    rows = [(e.key or "", one_line(e.text)) for e in keyed]
    return Answer({"branch": branch.name, "facts": found}, table(rows))


def replace(context: Context) -> Answer:
    """Change one entry."""
    options = context.options
    text = text_argument(options.text) if options.text is not None else None
    if text is None and options.kind is None and options.key is None and options.importance is None:
        msg = "nothing to change was given."
        raise UsageError(msg, advice="Give --text, --kind, --key or --importance.")
    app = context.begin_writing()
    written = context.memory.replace(
        options.which,
        text=text,
        kind=options.kind,
        key=options.key,
        importance=options.importance,
        expected=options.expected,
        branch=context.branch,
        relearn=options.relearn,
    )
    app.forget_derived(context.scope)
    said = "Nothing changed: the entry is exactly that already."
    return Answer(written_json(written), written_text(written, context.paint, unchanged=said))


def forget(context: Context) -> Answer:
    """Remove one entry, so that nothing brings it back."""
    options = context.options
    with context.app.retention().room():
        app = context.begin_writing()
        if options.everywhere:
            return _forget_everywhere(context)
        written = app.memory_service(context.scope).forget(
            options.which, expected=options.expected, branch=context.branch
        )
        app.forget_derived(context.scope)
    return Answer(written_json(written), written_text(written, context.paint, unchanged="Nothing changed."))


def _forget_everywhere(context: Context) -> Answer:
    """Also from history, evidence, results and copies, on every branch of the scope."""
    from perdure.cli.jobs import short_id

    options = context.options
    if context.branch is not None or options.expected is not None:
        msg = "--everywhere means every branch and every version."
        raise UsageError(msg, advice="Leave --branch and --expected out.")
    question = f"Remove what {options.which!r} names from every branch, history and copy, for good?"
    if not context.confirm(question):
        return Answer({"changed": False}, "Nothing was changed.")
    done = _purged(context, options.which)
    data = {"changed": True} | msgspec.to_builtins(done)
    cleared = ", ".join(
        (
            counted(len(done.entries), "entry", "entries"),
            counted(done.revisions, "revision"),
            counted(len(done.jobs), "job"),
            counted(done.results, "result"),
        )
    )
    lines = [f"Cleared: {cleared}, {counted(done.copies, 'copy', 'copies')}."]
    lines += [context.paint("yellow", f"dropped: job {short_id(name)} held it") for name in done.dropped]
    lines += [context.paint("yellow", f"left: {what}") for what in done.left]
    lines += [context.paint("yellow", f"also in: {scope}, which was left alone") for scope in done.elsewhere]
    return Answer(data, "\n".join(lines), 1 if done.left else 0)


def _purged(context: Context, which: str) -> Purged:
    """An entry by name; what is no entry any more is looked for as a text in history and copies."""
    service = context.app.purge_service()
    try:
        return service.forget_everywhere(context.scope, which)
    except NotFound:
        done = service.forget_everywhere(context.scope, text=which)
        if not (done.entries or done.revisions or done.jobs or done.results or done.copies or done.left):
            raise
        return done


def _shown(branch: Branch, paint: Paint) -> str:
    head = f"branch {branch.name}, revision {branch.seq}, {branch.chars:,} of {BRANCH_CHARS_MAX:,} characters"
    lines = [paint("bold", head), paint("dim", f"digest {branch.digest}")]
    if not branch.entries:
        lines += ["", "Nothing is remembered here yet: perdure remember TEXT."]
    for kind in dict.fromkeys(entry.kind for entry in branch.entries):
        lines += ["", paint("bold", kind)]
        lines += [_bullet(entry, paint) for entry in branch.entries if entry.kind == kind]
    return "\n".join(lines)


def _bullet(entry: Entry, paint: Paint) -> str:
    mark = "" if entry.importance == "normal" else f"({entry.importance}) "
    key = f"{paint('bold', entry.key)}: " if entry.key is not None else ""
    text = entry.text.replace("\n", "\n    ")
    tail = paint("dim", f"{entry.entry_id}  {entry.origin}  {date(entry.updated_ms)}")
    return f"  - {mark}{key}{text}\n    {tail}"


def _which(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("which", metavar="WHICH", help="an id or its beginning, a key, or a part of the text")
    parser.add_argument("--expected", metavar="DIGEST", help="refuse unless the entry has this digest")


def _replace_arguments(parser: argparse.ArgumentParser) -> None:
    _which(parser)
    parser.add_argument("--text", metavar="TEXT", help='the new text; "-" reads it from standard input')
    _entry_options(parser, importance=None)
    parser.add_argument("--relearn", action="store_true", help="take a text that was forgotten")


def _forget_arguments(parser: argparse.ArgumentParser) -> None:
    _which(parser)
    parser.add_argument("--everywhere", action="store_true", help="also from history, evidence and copies")


COMMANDS = (
    Command(
        "remember",
        "store a fact or a preference, for good before it returns",
        remember,
        _remember_arguments,
        _BOTH,
        examples=(
            'perdure remember "Use pnpm check before pnpm test." --importance high',
            'perdure remember "make ship" --key "deploy command"',
            "git log -1 --format=%B | perdure remember - --user",
        ),
        statuses=("3 the text may not enter memory, was forgotten, or finds no room; nothing was changed",),
    ),
    Command(
        "show",
        "show the active branch with all that it holds",
        show,
        takes=_BOTH,
        examples=("perdure show", "perdure show --branch experiment --json"),
        statuses=("4 there is no such branch",),
    ),
    Command(
        "list",
        "list the entries, one a line: id, kind, importance, key, text",
        list_entries,
        takes=_BOTH,
        examples=("perdure list", "perdure list --user | head -5"),
        statuses=("4 there is no such branch",),
    ),
    Command(
        "facts",
        "list the entries that have a key, as key and value",
        facts,
        takes=_BOTH,
        examples=("perdure facts", "perdure facts --json"),
        statuses=("4 there is no such branch",),
    ),
    Command(
        "replace",
        "change the text, kind, key or importance of one entry",
        replace,
        _replace_arguments,
        _BOTH,
        examples=(
            'perdure replace "deploy command" --text "make release"',
            "perdure replace 3f9c --importance low",
        ),
        statuses=(_REFUSED, _NONE),
    ),
    Command(
        "forget",
        "remove one entry, and keep it from coming back",
        forget,
        _forget_arguments,
        _BOTH | {"yes"},
        examples=('perdure forget "deploy command"', "perdure forget 3f9c1a2b --everywhere"),
        statuses=(
            "1 with --everywhere: something still holds the text, and is named",
            "2 with --everywhere: nobody could answer the question; add --yes",
            "3 several entries match, or it changed; nothing was changed",
            _NONE,
        ),
    ),
)
