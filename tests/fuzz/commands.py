"""Targets: command lines, values of options, names of files, and the quick turn-start reader."""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.attempts import PARTS, is_part
from perdure.authority.filesystem.disk_port import check_path, split
from perdure.cli import values
from perdure.cli.main import main
from perdure.cli.quick_inject import quick_inject
from perdure.cli.run import STATUSES, _resolve, parser_of, run
from perdure.cli.shapes import date
from perdure.cli.table import MODULES, load
from perdure.core.job import JOB_ID_DIGITS, is_job_id, lane_of
from perdure.core.memory import Branch, empty_main, main_branch_id
from perdure.core.record import seal
from perdure.errors import StorageError, UsageError
from tests.core_values import branch, entry
from tests.fuzz.decoders import body_of, change_body, sealed
from tests.fuzz.mutation import change_bytes
from tests.fuzz.target import Target, text_of, tried, workspace

DOCUMENTED = {int(status.split()[0]) for status in STATUSES} - {70, 130}
"""Exit statuses that are no fault of ours and no interruption."""

_NEVER = {"edit", "export", "import", "init"}
"""They start an editor, or read and write files that a word names."""

_USER_BRANCH = f"user/branches/{main_branch_id('user')}"


# -- words


def words_of(data: bytes) -> list[str]:
    """The words of a command line: pieces between NULs, as the system hands them over."""
    return [piece.decode("utf-8", "surrogateescape") for piece in data.split(b"\0") if piece]


def check_arguments(data: bytes) -> None:
    """Any words are parsed into options or refused with advice; the parser never ends the process."""
    words = words_of(data)
    if not words:
        return
    found = tried(lambda: _parse(words), UsageError)
    assert found is None or found.message


def _parse(words: list[str]) -> None:
    name, rest = _resolve(words, [])
    if name in MODULES and not {"-h", "--help"} & set(rest):
        parser_of(load(name)).parse_args(rest)


def check_values(data: bytes) -> None:
    """A number in an option is within its bounds or refused; a date is shown whatever the number is."""
    text = text_of(data)
    for least, most, read in ((0, 10**12, values.tokens), (1, values.REVISION_MAX, values.revision)):
        with contextlib.suppress(argparse.ArgumentTypeError):
            assert least <= read(text) <= most
    with contextlib.suppress(argparse.ArgumentTypeError):
        assert 0 <= values.dollars(text) <= 1_000_000
    number = int.from_bytes(data[:12], "big", signed=True)
    assert date(number)
    assert len(values.shown(text)) <= 40 * 10 + 2


def check_command(data: bytes) -> None:
    """A command line on a new home ends with a documented status and one message, whatever its words."""
    words = words_of(data)
    if not words or not _harmless(words):
        return
    with new_home(), said() as (out, err):
        status = main(words)
    assert status in DOCUMENTED, err.getvalue()
    assert status or not err.getvalue().startswith(b"perdure: a fault")
    assert b"Traceback" not in out.getvalue() + err.getvalue()


def _harmless(words: list[str]) -> bool:
    """Whether no word can make the command read or write a file outside its home, or start a program."""
    short = any(word.startswith("-") and not word.startswith("--") and "o" in word for word in words)
    return not short and not _NEVER & set(words) and not any(word.startswith("--output") for word in words)


@contextlib.contextmanager
def said() -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Catch what is printed, as bytes."""
    out, err = io.BytesIO(), io.BytesIO()
    stdout, stderr = io.TextIOWrapper(out, "utf-8"), io.TextIOWrapper(err, "utf-8")
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        yield out, err
        stdout.flush()
        stderr.flush()
    stdout.detach()
    stderr.detach()


@contextlib.contextmanager
def new_home() -> Iterator[Path]:
    """A home and a project of their own, and a user to whom both belong, for as long as the block runs."""
    with tempfile.TemporaryDirectory(dir=workspace()) as folder, pytest.MonkeyPatch.context() as patch:
        project = Path(folder, "project")
        (project / ".git").mkdir(parents=True)
        patch.chdir(project)
        patch.setattr("sys.stdin", None)
        for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, folder)
        patch.setenv("GIT_CEILING_DIRECTORIES", folder)
        home = Path(folder, "home")
        patch.setenv("PERDURE_HOME", str(home))
        with said():
            assert main(["init"]) == 0
        yield home


def _argument_seeds() -> Mapping[str, bytes]:
    lines = (
        "show",
        "--json list --user",
        "remember Use\xa0pnpm. --key packages --kind project --importance high --if-new",
        "replace packages --text Other. --expected abc --key k --relearn",
        "forget packages --everywhere --dry-run --yes",
        "branch fork side",
        "branch use main",
        "history --limit 5",
        "undo 3 -y",
        "capture session.jsonl --dry-run",
        "inject --session s --branch main",
        "jobs list --all --open",
        "jobs show 0123456789ab",
        "jobs retry 0123 --yes",
        "jobs drop 0123 --yes",
        "budget show",
        "budget reconcile 20260101-00 --reason why --dollars 0.5 --tokens 7",
        "provider test",
        "receipts 01",
        "worker --once",
        "review --all",
        "verify --json",
        "shadow rebuild",
        "home show --json",
        "home adopt --yes",
        "facts --user",
        "status",
        "--help",
        "-- show",
        "sohw",
        "branch nothing",
    )
    made = {line: line.replace(" ", "\0").encode() for line in lines}
    made["bytes that are no text"] = b"remember\0\xff\xfe\0--key\0\xed\xa0\x80"
    made["a huge number"] = b"history\0--limit\0" + b"9" * 5_000
    made["digits of another script"] = "history\0--limit\0\u0663".encode()
    made["a key of only spaces"] = b"remember\0a\0--key\0  "
    made["a long branch name"] = b"branch\0fork\0" + b"n" * 300
    made["a name that leaves"] = b"branch\0use\0../../x"
    return made


def change_words(data: bytes, chance: random.Random) -> bytes:
    """Drop, double, swap or exchange words; now and then change bytes."""
    words = data.split(b"\0")
    others = list(_argument_seeds().values())
    match chance.randrange(5):
        case 0:
            words.insert(chance.randrange(len(words) + 1), chance.choice(chance.choice(others).split(b"\0")))
        case 1:
            del words[chance.randrange(len(words))]
        case 2:
            chance.shuffle(words)
        case 3:
            place = chance.randrange(len(words))
            words[place] = change_bytes(words[place], chance).replace(b"\0", b"")
        case _:
            words += chance.choice(others).split(b"\0")
    return b"\0".join(words)


# -- names


def check_names(data: bytes) -> None:
    """A name is ours only in exactly our form; a path leaves the home in no way."""
    name = text_of(data)
    if is_job_id(name):
        assert len(name) == JOB_ID_DIGITS
        assert len(lane_of(name).name) == 32
        assert check_path(layout.outcome(name)).endswith(name)
    if is_part(name):
        assert name.rpartition(".")[2] in PARTS
    try:
        folder, last = split(name)
    except StorageError:
        return
    assert "/".join(filter(None, (folder, last))) == name
    assert not {"", ".", ".."} & set(name.split("/"))
    assert "\0" not in name


def _name_seeds() -> Mapping[str, bytes]:
    job, attempt = b"0a" * 38, b"20260101-" + b"0a" * 16 + b"-0001"
    return {
        "a job": job,
        "a job in another script": "\u0660".encode() * 76,
        **{f"the {part} of an attempt": attempt + b"." + part.encode() for part in PARTS},
        "an attempt without a day": b"2026010x-" + b"0a" * 16 + b"-0001.fate",
        "digits of another script": "\u0662".encode() * 8 + attempt[8:] + b".fate",
        "a path": b"projects/0123456789abcdef/branches/0123456789abcdef",
        "a path with a dot": b"projects/./x",
    }


# -- the quick reader


def check_quick(data: bytes) -> None:
    """The quick turn-start reader says what the full one says of a branch, or leaves the answer to it."""
    body = data.partition(b"\n")[2]
    home, project = _standing_home()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        patch.setenv("PERDURE_HOME", str(home))
        path = home / _USER_BRANCH
        path.write_bytes(sealed("branch", body))
        path.chmod(0o600)
        quick = quick_inject(["inject"])
        if quick is None:
            return
        with said() as (out, _):
            assert run(["inject"]) == 0
    assert (
        out.getvalue().decode("utf-8", "surrogatepass").removesuffix("\n")
        == quick.encode("utf-8", "backslashreplace").decode()
    )


def _standing_home() -> tuple[Path, Path]:
    home, project = workspace() / "quick-home", workspace() / "quick-project"
    if not home.exists():
        (project / ".git").mkdir(parents=True)
        with pytest.MonkeyPatch.context() as patch, said():
            patch.chdir(project)
            patch.setenv("PERDURE_HOME", str(home))
            assert main(["init"]) == 0
    return home, project


def _quick_seeds() -> Mapping[str, bytes]:
    held = branch([entry("Use pnpm.", key="packages"), entry("A < b\nand c.", entry_id="d" * 16)])
    own = empty_main("user")
    made = Branch(own.branch_id, "user", "main", None, 1, 5, held.entries)
    whole = body_of(seal(made))
    return {
        "a branch": b"branch\n" + whole,
        "an entry that is no object": b"branch\n" + whole.replace(b'"entries":[', b'"entries":["x",'),
        "entries 100,000 levels deep": b"branch\n"
        + whole.replace(b'"entries":[', b'"entries":[' + b"[" * 100_000),
        "a number of 5,000 digits": b"branch\n" + whole.replace(b'"seq":1', b'"seq":' + b"9" * 5_000),
        "a name twice": b"branch\n" + whole.replace(b'"seq":1', b'"seq":1,"seq":1'),
    }


TARGETS = (
    Target("arguments", check_arguments, _argument_seeds, change_words, examples=100, bytes_max=512),
    Target(
        "values", check_values, lambda: {"money": b"0.25", "exponent": b"1e5", "date": b"\x01" + bytes(6)}
    ),
    Target("command", check_command, _argument_seeds, change_words, examples=30, bytes_max=512),
    Target("names", check_names, _name_seeds, examples=100, bytes_max=512),
    Target("quick", check_quick, _quick_seeds, change_body, examples=60),
)
