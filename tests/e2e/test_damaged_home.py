"""Records that were damaged, and files that are none of ours, in a home: each stops only its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure
from tests.e2e.planted import run_quietly
from tests.session_files import PiSession

DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}


DAMAGES: dict[str, bytes | None] = {
    "empty": b"",
    "truncated": None,
    "binary": bytes(range(256)) * 8,
    "nested": b"[" * 100_000,
    "digits": b'{"a":' + b"9" * 5_000 + b"}",
    "nan": b'{"a":NaN}',
    "surrogate": b'{"a":"\\ud800"}',
    "huge": b"x" * 2_000_000,
}

COMMANDS = (
    "show", "list", "facts", "history", "branch", "jobs", "receipts", "budget", "status", "export", "inject",
    "verify", "home", "review --once", "shadow rebuild", "remember More.",
)  # fmt: skip


def filled(perdure: Perdure, tmp_path: Path) -> Path:
    """Fill the home with a record of every kind, in this project and in another; returns the other."""
    session = PiSession()
    session.turn("We always deploy with make ship.", "Good.")
    perdure("remember", "Use tabs.", "--key", "indent")
    perdure("forget", "indent")
    perdure("remember", "The shop sells tea.")
    perdure("capture", str(session.write(tmp_path)))
    perdure("review", "--once")
    session.turn("Prefer small commits in this project.", "Good.")
    perdure("capture", str(session.write(tmp_path)))
    other = tmp_path / "library"
    (other / ".git").mkdir(parents=True)
    perdure("remember", "The library is quiet.", "--project", str(other))
    return other


def record_kinds(home: Path, key: str) -> dict[str, Path]:
    """One file of each kind of record."""
    found: dict[str, Path] = {}
    for path in sorted(home.rglob("*")):
        parts = path.relative_to(home).parts
        if not path.is_file() or parts[0] in {
            "run",
            "index",
            "tmp",
            "epoch",
            "key",
            "format",
            "user",
            "ballast",
        }:
            continue
        if parts[0] == "projects" and parts[1] != key:
            continue
        kind = (
            parts[2] if parts[0] == "projects" else "/".join(parts[:2]) if parts[0] == "spool" else parts[0]
        )
        found.setdefault(f"{kind}{path.suffix if parts[0] == 'attempts' else ''}", path)
    return found


@pytest.mark.requirement("M-13", "Q-13", "Q-07", "G-05")
@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_damaged_records_end_in_clear_words_and_stop_only_their_own(
    perdure: Perdure, tmp_path: Path, damage: str
) -> None:
    """Each kind of record in turn is damaged: every command ends with a documented status and without a fault
    of Perdure's own, the other project goes on, and the bytes are never overwritten in silence.
    """
    other = filled(perdure, tmp_path)
    kinds = record_kinds(perdure.home, perdure.json("init")["key"])
    assert len(kinds) >= 12, sorted(kinds)
    for kind, path in kinds.items():
        if not path.exists():  # a claim that a later one took the place of
            continue
        whole = path.read_bytes()
        hurt = DAMAGES[damage]
        path.write_bytes(whole[: len(whole) // 2] if hurt is None else hurt)
        for command in COMMANDS:
            found = run_quietly(perdure, *command.split(" ", 1))
            assert found.status in DOCUMENTED, (kind, command, found.status, found.err)
            assert "Traceback" not in found.err
        assert run_quietly(perdure, "verify").status == 1, kind
        listed = perdure.json("list", "--project", str(other))["entries"]
        assert [entry["text"] for entry in listed] == ["The library is quiet."], kind
        perdure("inject", "--project", str(other))
        if path.exists():
            path.write_bytes(whole)
    assert perdure.json("list", "--project", str(other))["entries"]


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize("name", ["key", "format"])
@pytest.mark.parametrize("damage", [b"", b"{}", bytes(range(256)), b"[" * 100_000])
def test_a_home_whose_own_records_are_damaged_is_left_alone(
    perdure: Perdure, tmp_path: Path, name: str, damage: bytes
) -> None:
    """Without a readable key or format nothing is read or written: status 5, the name, no new bytes; verify
    says what can be done. A turn's block needs no key, and is still there without it.
    """
    filled(perdure, tmp_path)
    (perdure.home / name).write_bytes(damage)
    before = perdure.files()
    for command in COMMANDS:
        found = run_quietly(perdure, *command.split(" ", 1))
        if (name, command) == ("key", "inject"):
            assert "The shop sells tea." in found.out
            continue
        if command == "verify":
            assert (found.status, name in found.out) == (1, True)
            continue
        assert found.status == 5, (command, found.out, found.err)
        assert name in found.err
    assert run_quietly(perdure, "init").status == 5
    assert perdure.files() == before


@pytest.mark.requirement("Q-13", "M-13")
def test_foreign_files_stop_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """Folder-view files, editor backups, a folder, a FIFO, a link and names of other bytes in every folder of
    the home: all commands work, a review too, and verify names them (peers: a .DS_Store stopped a worker).
    """
    filled(perdure, tmp_path)
    folders = [path for path in perdure.home.rglob("*") if path.is_dir()]
    for folder in folders:
        (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        (folder / "notes.txt~").write_text("mine")
        (folder / "a folder").mkdir()
        os.mkfifo(folder / "fifo")
        (folder / "link").symlink_to("/etc/hostname")
        (folder / os.fsdecode(b"latin-\xe9")).touch()
    session = PiSession(session_id="another")
    session.turn("Please always use tabs here.", "Good.")
    path = session.write(tmp_path, "another.jsonl")
    for command in (f"capture {path}", *COMMANDS, "forget tea", "remember Again.", "undo"):
        found = run_quietly(perdure, *command.split(" ", 1))
        wanted = {0, 1} if command == "verify" else {0}
        assert found.status in wanted, (command, found.status, found.err)
    assert "Prefer small commits in this project." in perdure.texts()
    assert ".DS_Store" in run_quietly(perdure, "verify").out
