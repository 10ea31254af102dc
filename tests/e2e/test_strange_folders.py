"""Projects and homes in strange places, through the command line."""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure, process
from tests.session_files import PiSession

DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}


STRANGE_NAMES = [
    b"with space",
    b"new\nline",
    "tea 🍵".encode(),
    b"x" * 200,
    b"quote'\"$HOME`",
    b"-rf",
    b"latin-\xe9\xff",
    b"tab\tand\x1b[31m",
]


@pytest.mark.requirement("M-01", "G-05")
def test_projects_may_have_any_name(perdure: Perdure, tmp_path: Path) -> None:
    """Spaces, a line break, emoji, 200 bytes, quotes, bytes that are no UTF-8: remember, list, inject,
    capture, review and verify work, the memory is its own, and the terminal gets no control characters.
    """
    session = PiSession()
    session.turn("We always deploy with make ship.", "Good.")
    path = str(session.write(tmp_path))
    keys = set()
    for number, name in enumerate(STRANGE_NAMES):
        folder = tmp_path / "projects" / os.fsdecode(name)
        (folder / ".git").mkdir(parents=True)
        place = ("--project", str(folder))
        perdure("remember", f"Number {number}.", *place)
        found = perdure.json("init", *place)
        keys.add(found["key"])
        assert [entry["text"] for entry in perdure.json("list", *place)["entries"]] == [f"Number {number}."]
        assert f"Number {number}." in perdure("inject", *place).out
        assert perdure.json("capture", path, *place)["accepted"] == 1
        assert perdure.json("review", "--once", *place)["stopped"] == []
        said = perdure("status", *place).out + perdure("home", *place).out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", said)
    assert len(keys) == len(STRANGE_NAMES)
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("M-01", "G-05")
def test_folders_whose_names_are_twins_are_two_projects(perdure: Perdure, tmp_path: Path) -> None:
    """NFC and NFD spellings are two folders here, and so two memories."""
    for name in (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD")):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        perdure("remember", f"Bytes: {len(name)}.", "--project", str(folder))
    nfd = tmp_path / unicodedata.normalize("NFD", "Café")
    assert [entry["text"] for entry in perdure.json("list", "--project", str(nfd))["entries"]] == [
        "Bytes: 5."
    ]


@pytest.mark.requirement("M-01")
def test_home_and_root_are_no_projects(perdure: Perdure, tmp_path: Path) -> None:
    """$HOME, a link to it, a file of dots that leads there, and / are refused; a missing folder is named."""
    user = os.environ["HOME"]
    link = tmp_path / "link"
    link.symlink_to(user)
    for folder in (user, f"{user}/", str(link), "/", "//", "/../"):
        for command in (("init",), ("remember", "Tea."), ("inject",), ("review", "--once")):
            said = perdure(*command, "--project", folder, status=2)
            assert "cannot be a project" in said.err
    perdure("list", "--project", str(tmp_path / "nowhere"), status=4)
    perdure("list", "--project", str(tmp_path / "na\x00me"), status=4)


@pytest.mark.requirement("M-01", "G-05")
def test_worktrees_share_a_memory_and_submodules_do_not(perdure: Perdure, tmp_path: Path) -> None:
    """Made by Git itself: the worktree's memory is the repository's, or its own when configured so; a
    submodule and a nested clone have their own (peers 37, 38, 41).
    """

    def git(*words: str, cwd: Path) -> None:
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words], cwd=cwd, check=True, capture_output=True
        )

    parts = tmp_path / "parts"
    main = tmp_path / "main"
    for folder in (parts, main):
        folder.mkdir()
        git("init", "-q", cwd=folder)
        git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    git("submodule", "add", "-q", str(parts), "lib", cwd=main)
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=main)
    inner = tmp_path / "tree" / "inner"
    inner.mkdir()
    perdure("remember", "Said in main.", "--project", str(main))
    perdure("remember", "Said in lib.", "--project", str(main / "lib"))

    def texts(folder: Path) -> list[str]:
        return [entry["text"] for entry in perdure.json("list", "--project", str(folder))["entries"]]

    assert texts(tmp_path / "tree") == texts(inner) == texts(main) == ["Said in main."]
    assert texts(main / "lib") == ["Said in lib."]
    assert texts(parts) == []
    (perdure.home / "config.toml").write_text('[project]\nworktrees = "own"\n')
    assert texts(tmp_path / "tree") == []
    assert texts(main) == ["Said in main."]


@pytest.mark.requirement("M-01", "S-06")
def test_strange_homes_are_used_or_refused_in_clear_words(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PERDURE_HOME relative or below a missing parent works; a file, a link, a FIFO, a folder that others can
    enter, and one that cannot be written are refused.
    """
    monkeypatch.setenv("PERDURE_HOME", "../a relative/home")
    perdure("init")
    perdure("remember", "Tea.")
    assert (tmp_path / "a relative" / "home").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "a" / "b" / "c"))
    perdure("list", status=4)
    perdure("init")
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b" / "c")
    (tmp_path / "open").mkdir(mode=0o755)
    for name in ("file", "fifo", "link", "open", "file/below"):
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path / name))
        for command in (("init",), ("remember", "Tea."), ("list",), ("inject",)):
            status = perdure_status(perdure, *command)
            assert status in DOCUMENTED - {0}, (name, command, status)
    assert (tmp_path / "file").read_text() == "mine"
    assert not list((tmp_path / "open").iterdir())
    monkeypatch.setenv("PERDURE_HOME", "/proc/perdure-home")
    assert perdure_status(perdure, "init") in DOCUMENTED - {0}


def perdure_status(perdure: Perdure, *words: str) -> int:
    """Run a command as a process of its own; no traceback whatever happens."""
    child = process(*words, cwd=perdure.project, env={"PERDURE_DEBUG": ""})
    out, err = child.communicate(timeout=30)
    assert b"Traceback" not in err + out
    assert b"a fault in Perdure" not in err, err
    return child.returncode
