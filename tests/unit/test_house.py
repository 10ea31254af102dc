"""The house's own rules, read off the source: who may write to disk, and that nothing is unfinished."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "perdure"

THE_WRITER = "authority/filesystem/disk.py"
THE_EXPORT = "cli/outside.py"
"""Writes the one file outside the home that its user names: `perdure export -o FILE`."""
THE_INSTALL = "hosts/install_files.py"
"""Writes settings of hosts, which lie outside every home."""
THE_WIRES = ("hosts/pi_child.py", "hosts/hook.py")
"""Write to pipes: standard streams, and what leads to the other half of a hook."""
THE_REVIEW = "hosts/pi_reviews.py"
"""Takes a review's report, ids and reasons, through a temporary file without a name."""
THE_DEMO = "demo/scene.py"
"""Makes a toy project in a temporary folder first, as its user would, and then only runs commands."""

OS_WRITERS = frozenset(
    (
        "chmod chown fchmod fchown lchown link linkat makedirs mkdir mkdirat mkfifo mknod open "
        "pwrite pwritev remove removedirs rename renames replace rmdir setxattr symlink truncate "
        "ftruncate unlink utime write writev fdopen posix_fallocate sendfile copy_file_range"
    ).split()
)
READ_FLAGS = frozenset(
    {"O_RDONLY", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "O_PATH"}
)
PATH_WRITERS = frozenset({"write_text", "write_bytes", "symlink_to", "hardlink_to", "touch", "lchmod"})
PATH_OR_DISK = frozenset({"mkdir", "rmdir", "unlink", "rename", "chmod"})
"""Methods of pathlib.Path whose names a Disk may have too."""
MODULE_WRITERS = frozenset({"shutil", "tempfile"})


def writes(source: str) -> list[str]:
    """Find the calls in a module that can change the file system, as "line: code"."""
    return [
        f"{node.lineno}: {ast.unparse(node)[:90]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _writes(node)
    ]


def _writes(call: ast.Call) -> bool:
    match call.func:
        case ast.Name("open"):
            return _opens_for_writing(call, mode_position=1)
        case ast.Attribute(ast.Name("os"), name):
            return name in OS_WRITERS and not (name == "open" and _reads_only(call))
        case ast.Attribute(ast.Name("io" | "codecs"), "open"):
            return _opens_for_writing(call, mode_position=1)
        case ast.Attribute(ast.Name(module), name) if module in MODULE_WRITERS:
            return name != "which"
        case ast.Attribute(_, "open"):
            return _opens_for_writing(call, mode_position=0)
        case ast.Attribute(_, name) if name in PATH_WRITERS:
            return True
        case ast.Attribute(receiver, name) if name in PATH_OR_DISK:
            return "disk" not in ast.unparse(receiver).lower()
        case _:
            return False


def _opens_for_writing(call: ast.Call, mode_position: int) -> bool:
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[mode_position : mode_position + 1]
    return any(
        not isinstance(mode, ast.Constant) or (isinstance(mode.value, str) and set(mode.value) & set("wax+"))
        for mode in modes
    )


def _reads_only(call: ast.Call) -> bool:
    if len(call.args) < 2:
        return False
    flags = {node.attr for node in ast.walk(call.args[1]) if isinstance(node, ast.Attribute)}
    others = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)} - {"os"}
    return "O_RDONLY" in flags and flags <= READ_FLAGS and not others


def modules() -> Iterator[tuple[str, str]]:
    """Give the path below `perdure` and the source of every module of the product."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "open('x', 'w')",
        "open('x', mode='ab')",
        "open('x', 'r+')",
        "open('x', mode)",
        "os.open(p, os.O_WRONLY)",
        "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.open(p, flags)",
        "os.open(p, os.O_RDONLY | flags)",
        "os.write(fd, b'')",
        "os.rename(a, b)",
        "os.replace(a, b)",
        "os.unlink(p)",
        "Path('x').open('w')",
        "path.write_text('')",
        "path.mkdir(parents=True)",
        "path.unlink()",
        "shutil.rmtree(p)",
        "tempfile.mkdtemp()",
    ],
)
def test_a_write_is_recognised(line: str) -> None:
    """The walk below sees each way of changing the file system."""
    assert len(writes(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "open('x')",
        "open('x', 'rb')",
        "Path('x').open('rb')",
        "os.open(p, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)",
        "self._disk.unlink('x')",
        "disk.mkdir('x')",
        "text.replace('a', 'b')",
        "os.read(fd, 1)",
        "shutil.which('pi')",
    ],
)
def test_a_read_is_not_taken_for_a_write(line: str) -> None:
    """Reading files, and calling the Disk, is allowed everywhere."""
    assert writes(line) == []


@pytest.mark.requirement("E-04")
def test_only_the_disk_writes() -> None:
    """No module but the disk creates, changes or removes files, so that modes and syncs hold everywhere."""
    allowed = {THE_WRITER, THE_EXPORT, THE_INSTALL, *THE_WIRES, THE_REVIEW, THE_DEMO}
    found = {name: writes(source) for name, source in modules() if name not in allowed}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_nothing_is_unfinished() -> None:
    """No part of the product raises NotImplementedError, or is left for later in a comment."""
    words = ("NotImplemented" + "Error", "TO" + "DO", "FIX" + "ME", "XX" + "X:")
    found = [(name, word) for name, source in modules() for word in words if word in source]
    assert found == []


def test_every_module_says_what_it_is_about() -> None:
    """Every module of the product begins with a docstring."""
    assert [name for name, source in modules() if not ast.get_docstring(ast.parse(source))] == []
