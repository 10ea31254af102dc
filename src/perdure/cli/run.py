"""From arguments to an exit status: finds the command, runs it, prints its answer or its error."""

from __future__ import annotations

import argparse
import functools
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from perdure import __version__
from perdure.cli.command import Answer, Command, Context
from perdure.cli.output import complain, say
from perdure.cli.paint import Paint, legible
from perdure.cli.table import DEFAULTS, HINTS, MODULES, groups, load, load_all, members
from perdure.errors import ConfigError, Damaged, Inaccessible, OutputFailed, PerdureError, UsageError

INTERNAL_STATUS = 70
INTERRUPTED_STATUS = 130
STATUSES = (
    "0 done",
    "1 a check found something",
    "2 wrong use or configuration",
    "3 refused, nothing changed",
    "4 nothing found",
    "5 storage is damaged or failing",
    "6 no provider or budget",
    "70 a fault in Perdure",
    "130 interrupted",
)
_REPAIR = "pip install perdure, in the same environment, puts back what is missing."
_VALUED = ("--project", "--branch")
_UNSHOWN = functools.partial(argparse.RawDescriptionHelpFormatter, width=80)
"""For a parser that only parses: of its width, argparse would ask the terminal, and load a lot for that."""


class _Parser(argparse.ArgumentParser):
    """Raises instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}.", advice=f"{self.prog} --help shows how.")


def run(argv: list[str]) -> int:
    """Run one command line; returns the exit status."""
    _use_utf8()
    as_json = "--json" in _options(argv)
    try:
        return _run(argv)
    except PerdureError as error:
        advice = error.advice or _next_step(error)
        return _fail(error.code, error.message, advice, error.exit_status, as_json=as_json)
    except BrokenPipeError:
        return 0  # whoever read the output has seen enough
    except KeyboardInterrupt:
        return _fail("interrupted", "interrupted.", "", INTERRUPTED_STATUS, as_json=as_json)
    except Exception as error:
        if os.environ.get("PERDURE_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("perdure"):
            missing = f"this installation lacks the library {error.name.partition('.')[0]!r}."
            return _fail(ConfigError.code, missing, _REPAIR, ConfigError.exit_status, as_json=as_json)
        advice = "Please report it; PERDURE_DEBUG=1 shows where it happened."
        found = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail("internal", f"a fault in Perdure: {found}.", advice, INTERNAL_STATUS, as_json=as_json)


def _next_step(error: PerdureError) -> str:
    """What to do about a damaged file, where nobody knew better."""
    if isinstance(error, Inaccessible):
        return "Check its permissions and the disk; perdure verify names all that is wrong."
    if isinstance(error, Damaged):
        return "perdure verify names all that is damaged; perdure verify --restore mends branches."
    return ""


def _run(argv: list[str]) -> int:
    shared, rest = _leading(argv)
    if not rest or rest[0] in {"--help", "-h", "help"}:
        named = [word for word in rest[1:] if not word.startswith("-")]
        say(_help_for(named) if named else overview())
        return 0 if rest else UsageError.exit_status
    if rest[0] in {"--version", "-V"}:
        say(f"perdure {__version__}")
        return 0
    name, rest = _resolve(rest, shared)
    if name in groups():
        say(group_help(name))
        return 0
    command = load(name)
    if {"-h", "--help"} & set(_options(rest)):
        say(help_of(command), end="")
        return 0
    options = parser_of(command).parse_args([*shared, *rest])
    paint = Paint.for_stream(sys.stdout)
    context = Context(options, paint)
    try:
        answer = command.run(context)
    finally:
        context.close()
    _print(answer, as_json=options.json, colours=paint.on)
    return answer.status


def parser_of(command: Command) -> argparse.ArgumentParser:
    """The parser of one command."""
    parser = _Parser(
        prog=f"perdure {command.name}",
        description=command.summary[0].upper() + command.summary[1:] + ".",
        formatter_class=_UNSHOWN,
        allow_abbrev=False,
    )
    command.arguments(parser)
    shared = parser.add_argument_group("shared options")
    shared.add_argument("--project", metavar="DIR", default=".", help="a folder in it; default: here")
    shared.add_argument("--json", action="store_true", help="print one JSON document")
    if "branch" in command.takes:
        shared.add_argument("--branch", metavar="NAME", help="a branch; default: the selected one")
    if "user" in command.takes:
        shared.add_argument("--user", action="store_true", help="the user-wide memory, not the project's")
    if "yes" in command.takes:
        shared.add_argument("--yes", "-y", action="store_true", help="answer yes to every question")
    return parser


def help_of(command: Command) -> str:
    """The help of one command, as wide as the terminal, with examples and exit statuses."""
    import textwrap

    statuses = [*command.statuses, "every status: " + "; ".join(STATUSES)]
    parts = []
    if command.examples:
        parts.append("examples:\n" + "\n".join(f"  {example}" for example in command.examples))
    filled = [textwrap.fill(s, 96, initial_indent="  ", subsequent_indent="    ") for s in statuses]
    parts.append("\n".join(["exit statuses:", *filled]))
    parser = parser_of(command)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n\n".join(parts)
    return parser.format_help()


def overview() -> str:
    """The help of `perdure` itself."""
    rows = [f"  {command.name:<17}{command.summary}" for command in load_all()]
    return "\n".join(
        [
            "Perdure: durable, local-first memory for coding agents.",
            "",
            "usage: perdure COMMAND [--project DIR] [--json] …",
            "",
            *rows,
            "",
            "perdure COMMAND --help shows a command's options, examples and exit statuses.",
            "PERDURE_HOME names the folder of all memory; NO_COLOR takes the colour away.",
        ]
    )


def group_help(group: str) -> str:
    """The help of a group of commands."""
    rows = [f"  perdure {name:<17}{load(name).summary}" for name in MODULES if name.split()[0] == group]
    tail = []
    if group in DEFAULTS:
        tail = ["", f"Without more, perdure {group} is perdure {group} {DEFAULTS[group]}."]
    return "\n".join([f"usage: perdure {group} COMMAND …", "", *rows, *tail])


def _help_for(words: list[str]) -> str:
    name, _ = _resolve([*words, "--help"], [])
    return group_help(name) if name in groups() else help_of(load(name))


def _options(words: list[str]) -> list[str]:
    """The words in which options may stand: up to "--"."""
    return words[: words.index("--")] if "--" in words else words


def _leading(words: list[str]) -> tuple[list[str], list[str]]:
    """Split off the shared options before the next word."""
    place = 0
    while place < len(words):
        word = words[place]
        if word in _VALUED and place + 1 < len(words):
            place += 2
        elif word in {"--json", "--user", "--yes", "-y"} or word.startswith(tuple(f"{v}=" for v in _VALUED)):
            place += 1
        else:
            break
    return words[:place], words[place:]


def _resolve(words: list[str], shared: list[str]) -> tuple[str, list[str]]:
    """The command's name and what follows it; shared options on the way go to `shared`."""
    first, rest = words[0], words[1:]
    if first in MODULES:
        return first, rest
    if first not in groups():
        raise _unknown(first)
    more, rest = _leading(rest)
    shared += more
    if rest and rest[0] in members(first):
        return f"{first} {rest[0]}", rest[1:]
    if rest and rest[0] in {"--help", "-h"}:
        return first, []
    if rest and not rest[0].startswith("-"):
        near = _near(rest[0], members(first))[:1]
        hint = (
            f"Did you mean perdure {first} {near[0]}?" if near else f"There are: {', '.join(members(first))}."
        )
        raise UsageError(f"perdure {first} has no command {rest[0]!r}.", advice=hint)
    if first not in DEFAULTS:
        raise UsageError(f"perdure {first} needs one of: {', '.join(members(first))}.")
    return f"{first} {DEFAULTS[first]}", rest


def _near(word: str, names: Sequence[str]) -> list[str]:
    """Up to two names that a mistyped word may mean."""
    import difflib  # only for who mistyped

    return difflib.get_close_matches(word, names, 2)


def _unknown(word: str) -> UsageError:
    if word.startswith("-"):
        msg = f"there is no option {word!r} before a command."
        return UsageError(msg, advice="perdure --help lists the commands.")
    names = sorted({name.split()[0] for name in MODULES})
    near = [HINTS[word]] if word in HINTS else _near(word, names)
    hint = f"Did you mean {' or '.join(f'perdure {name}' for name in near)}?" if near else ""
    return UsageError(f"there is no command {word!r}.", advice=hint or "perdure --help lists the commands.")


def _print(answer: Answer, *, as_json: bool, colours: bool) -> None:
    if as_json:
        import json

        say(json.dumps(answer.data, ensure_ascii=False))
    elif answer.text:
        say(legible(answer.text, colours=colours))
    if answer.warning and not as_json:
        complain(legible(f"perdure: {answer.warning}"))


def _fail(code: str, message: str, advice: str, status: int, *, as_json: bool) -> int:
    line = legible(f"perdure: {message} {advice}".rstrip()).replace("\n", " ")
    if not as_json or code == OutputFailed.code:
        complain(line)
        return status
    import json

    error = {"code": code, "message": message, "advice": advice}
    try:
        say(json.dumps({"error": error}, ensure_ascii=False))
    except BrokenPipeError:
        return status
    except OutputFailed:
        complain(line)
    return status


def _use_utf8() -> None:
    """UTF-8 whatever the locale; what cannot be written is shown escaped. Closed streams do no harm."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
