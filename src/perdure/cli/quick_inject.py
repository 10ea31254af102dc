"""`perdure inject` at little more than the cost of the interpreter: only `os`, two small C modules and ours.

It answers only what is plain: a healthy home, readable records of this version, no settings that bear on
the block. For anything else it gives None, and the full command answers or says what is wrong. What it
prints is what the full command prints.
"""

from __future__ import annotations

import os
import stat
import sys

from perdure.authority.filesystem.project import Project, find_project
from perdure.cli.quick_json import canonical_text, parsed_object, quoted
from perdure.core.inject import CHARS_MAX, HEADINGS, TOKENS_MAX, Block, Item, render
from perdure.core.sha256 import sha256_hex
from perdure.errors import PerdureError

MAIN = "main"
USER = "user"
LAYOUT = 1
POLICY = 1
OUTPUT_STATUS = 5
_BYTES_MAX = 512 * 1024
_ID_DIGITS = 16
_HEAD = b'{"body":'
_BRANCH_FIELDS = {"branch_id", "changed_ms", "entries", "name", "parent", "project", "seq"}
_ENTRY_FIELDS = {"created_ms", "entry_id", "importance", "key", "kind", "origin", "text", "updated_ms"}
_FORMAT_FIELDS = {
    "filesystem",
    "filesystem_allowed",
    "home_id",
    "inode",
    "layout",
    "machine",
    "made_ms",
    "policy",
}
_TEXT_FIELDS = ("entry_id", "text", "kind", "importance", "origin")
_IMPORTANCES = {"high", "normal", "low"}
_ORIGINS = {"tool", "review", "capture", "import", "edit"}
_SETTINGS = (b"injection", b"project", b"\\")


class _Unusual(Exception):
    """Something that the full command has to judge."""


_UNUSUAL = (
    _Unusual,
    PerdureError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    ImportError,
    RecursionError,
)


def quick_inject(words: list[str]) -> str | None:
    """What `perdure inject` prints for these arguments, or None when the full command has to run."""
    try:
        options = _options(words)
        block = _read_block(options["--project"], options["--branch"])
        return _document(block) if options["--json"] else _legible(block.text)
    except _UNUSUAL:
        return None


def quick_block(folder: str) -> Block | None:
    """The block for the selected branch of a folder's project, or None when the full way has to judge."""
    try:
        return _read_block(folder, "")
    except _UNUSUAL:
        return None


def quick_home() -> str | None:
    """The path of the home, "" when it is not there; None when the full command has to find it."""
    try:
        home = _home()
    except _UNUSUAL:
        return None
    return home if os.path.isdir(home) else ""


def _read_block(folder: str, branch: str) -> Block:
    home = _home()
    _check_settings(home)
    root = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _check_home(root)
        return _block(root, find_project(folder), branch)
    finally:
        os.close(root)


def put(text: str) -> int:
    """Print the text as UTF-8, whatever the locale; returns the exit status."""
    if text:
        sys.stdout.flush()
        try:
            sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            sys.stdout = None  # the reader has gone; nothing is left to flush
        except OSError as error:
            sys.stdout = None
            from perdure.cli.output import complain

            complain(f"perdure: standard output cannot be written: {error.strerror}.")
            return OUTPUT_STATUS
    return 0


def _options(words: list[str]) -> dict[str, str]:
    found = {"--project": ".", "--branch": "", "--json": ""}
    seen, place = False, 0
    while place < len(words):
        word = words[place]
        name, equals, value = word.partition("=")
        if word == "inject" and not seen:
            seen = True
        elif word == "--json":
            found[word] = "yes"
        elif name not in found or name == "--json":
            raise _Unusual
        elif equals:
            found[name] = value
        else:
            place += 1
            found[name] = words[place] if place < len(words) else ""
        if name in found and name != "--json" and (not found[name] or found[name].startswith("-")):
            raise _Unusual
        place += 1
    if not seen:
        raise _Unusual
    return found


def _home() -> str:
    named = os.environ.get("PERDURE_HOME")
    if named:
        return os.path.abspath(named)
    data = os.environ.get("XDG_DATA_HOME")
    if sys.platform != "linux" or not os.environ.get("HOME"):
        raise _Unusual
    if data:
        if not os.path.isabs(data):
            raise _Unusual
        return os.path.join(data, "perdure")
    return os.path.join(os.path.expanduser("~"), ".local", "share", "perdure")


def _check_settings(home: str) -> None:
    """Settings that bear on the block are for the full command; a file that is no file at all, too."""
    try:
        descriptor = os.open(os.path.join(home, "config.toml"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        data = os.read(descriptor, _BYTES_MAX)
    finally:
        os.close(descriptor)
    if any(setting in data for setting in _SETTINGS):
        raise _Unusual


def _check_home(root: int) -> None:
    """The home is ours alone, of this layout, and belongs to this machine."""
    found = os.fstat(root)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise _Unusual
    form = _record(root, "format", "format")
    os.stat("key", dir_fd=root, follow_symlinks=False)
    if form is None or form.keys() != _FORMAT_FIELDS or (form["layout"], form["policy"]) != (LAYOUT, POLICY):
        raise _Unusual
    if (form["inode"], form["machine"]) != (found.st_ino, _machine()):
        raise _Unusual


def _machine() -> str:
    """See `perdure.authority.filesystem.system.machine_id`, but for its last resort."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            name = os.read(descriptor, 64).decode("ascii").strip()
        finally:
            os.close(descriptor)
        if name:
            return name
    raise _Unusual


def _block(root: int, project: Project, branch: str) -> Block:
    items = _items(USER, _branch(root, USER, USER, _main_id(USER)))
    scope = f"projects/{project.key}"
    name = branch or _selected(root, scope)
    branch_id = _main_id(project.key) if name == MAIN else _named(root, scope, project.key, name)
    items += _items("project", _branch(root, scope, project.key, branch_id))
    return render(items, chars_max=CHARS_MAX, tokens_max=TOKENS_MAX)


def _main_id(project: str) -> str:
    """See `perdure.core.memory.main_branch_id`."""
    return sha256_hex(b'["main-branch","%b"]' % project.encode())[:_ID_DIGITS]


def _selected(root: int, scope: str) -> str:
    chosen = _record(root, f"{scope}/selected", "selected")
    return MAIN if chosen is None else str(chosen["name"])


def _named(root: int, scope: str, project: str, name: str) -> str:
    found = []
    for branch_id in _names(root, f"{scope}/branches"):
        if len(branch_id) == _ID_DIGITS:
            branch = _branch(root, scope, project, branch_id)
            if branch is not None and branch["name"] == name:
                found.append(branch_id)
    if len(found) != 1:
        raise _Unusual
    return found[0]


def _branch(root: int, scope: str, project: str, branch_id: str) -> dict[str, object] | None:
    """The body of a branch; None for a main branch that nobody wrote to yet."""
    body = _record(root, f"{scope}/branches/{branch_id}", "branch")
    if body is None:
        if branch_id != _main_id(project) or _names(root, f"{scope}/revisions/{branch_id}"):
            raise _Unusual
        return None
    if body.keys() != _BRANCH_FIELDS or body["branch_id"] != branch_id or body["project"] != project:
        raise _Unusual
    if not (_is_text(body["name"]) and (body["parent"] is None or _is_text(body["parent"]))):
        raise _Unusual
    if not (_is_whole(body["seq"]) and _is_whole(body["changed_ms"])):
        raise _Unusual
    return body


def _items(heading: str, branch: dict[str, object] | None) -> list[Item]:
    items: list[Item] = []
    entries = [] if branch is None else branch["entries"]
    if not isinstance(entries, list):
        raise _Unusual
    for entry in entries:
        if not isinstance(entry, dict) or entry.keys() != _ENTRY_FIELDS:
            raise _Unusual
        _check_entry(entry)
        items.append(
            Item(
                HEADINGS[heading],
                entry["entry_id"],
                entry["text"],
                key=entry["key"],
                importance=entry["importance"],
                updated_ms=entry["updated_ms"],
            )
        )
    return items


def _check_entry(entry: dict[str, object]) -> None:
    """Its fields are of their types, or it is for the full command to say what is wrong."""
    texts = all(_is_text(entry[field]) for field in _TEXT_FIELDS)
    times = _is_whole(entry["created_ms"]) and _is_whole(entry["updated_ms"])
    if not (texts and times and (entry["key"] is None or _is_text(entry["key"]))):
        raise _Unusual
    if entry["importance"] not in _IMPORTANCES or entry["origin"] not in _ORIGINS:
        raise _Unusual


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_whole(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _record(root: int, path: str, kind: str) -> dict[str, object] | None:
    """The body of a record of version 1 whose digest is right; None when there is none."""
    data = _bytes(root, path)
    if data is None:
        return None
    tail = b'","kind":"%b","version":1}' % kind.encode()
    end = len(data) - len(tail) - 64
    body = data[len(_HEAD) : end - len(b',"digest":"')]
    digest = data[end : len(data) - len(tail)]
    if data != b'%b%b,"digest":"%b%b' % (_HEAD, body, digest, tail) or digest != sha256_hex(body).encode():
        raise _Unusual
    text = body.decode("utf-8")
    parsed = parsed_object(text)
    if canonical_text(parsed) != text:
        raise _Unusual
    return parsed


def _bytes(root: int, path: str) -> bytes | None:
    """All of a private regular file, no link followed on the way; None when nothing has that name."""
    folder, _, name = path.rpartition("/")
    parent = _folder(root, folder)
    if parent is None:
        return None
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError:
        return None
    finally:
        os.close(parent)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size > _BYTES_MAX:
            raise _Unusual
        data = os.read(descriptor, _BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(data) != found.st_size:
        raise _Unusual
    return data


def _names(root: int, path: str) -> list[str]:
    folder = _folder(root, path)
    if folder is None:
        return []
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _folder(root: int, path: str) -> int | None:
    """An open folder below the home, on its device; None when it is not there. Links are not followed."""
    here = os.dup(root)
    for part in path.split("/") if path else ():
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except FileNotFoundError:
            return None
        finally:
            os.close(here)
        here = below
    if os.fstat(here).st_dev != os.fstat(root).st_dev:
        os.close(here)
        raise _Unusual
    return here


def _legible(text: str) -> str:
    """The text, unless it holds control characters, which the full command shows as escapes."""
    for line in text.split("\n"):
        if not line.isprintable() and any(
            (char < " " and char != "\t") or "\x7f" <= char <= "\x9f" for char in line
        ):
            raise _Unusual
    return text


def _document(block: Block) -> str:
    """The JSON document of the full command, in its order of fields."""

    def listed(ids: list[str]) -> str:
        return f"[{', '.join(map(quoted, ids))}]"

    fields = {
        "text": quoted(block.text),
        "characters": str(block.chars),
        "characters_max": str(CHARS_MAX),
        "tokens": str(block.tokens),
        "tokens_max": str(TOKENS_MAX),
        "included": listed(block.included),
        "left_out": listed(block.left_out),
        "session": "null",
        "problem": "null",
    }
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"
