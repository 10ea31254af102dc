"""What lies beside, around and under Perdure's own files: links, devices, foreign names, moved projects."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure
from tests.e2e.planted import run_quietly
from tests.session_files import PiSession

# -- export -o


@pytest.mark.requirement("M-14", "G-07")
def test_export_writes_through_a_link_and_keeps_it(perdure: Perdure, tmp_path: Path) -> None:
    """The link stays a link, and the file that it leads to is new as a whole; with its mode as before."""
    perdure("remember", "Tea.")
    (tmp_path / "notes").mkdir()
    target, link = tmp_path / "notes" / "target.md", tmp_path / "link.md"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(Path("notes", "target.md"))
    perdure("export", "-o", str(link))
    assert link.is_symlink()
    assert "Tea." in target.read_text()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["target.md"]
    new = tmp_path / "new.md"
    dangling = tmp_path / "dangling.md"
    dangling.symlink_to(new)
    perdure("export", "-o", str(dangling))
    assert dangling.is_symlink()
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


@pytest.mark.requirement("M-14", "G-07")
def test_export_to_devices_and_pipes_leaves_them_what_they_are(perdure: Perdure, tmp_path: Path) -> None:
    """A device, a link to one and a pipe with a reader are written to; a pipe without one, a full device, a
    folder and a loop of links are errors. None of them is replaced.
    """
    perdure("remember", "Tea.")
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    for name in ("/dev/null", str(link)):
        perdure("export", "-o", name)
        assert stat.S_ISCHR(Path(name).stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run_quietly(perdure, "export", "-o", str(pipe)).status == 5
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    while run_quietly(perdure, "export", "-o", str(pipe)).status == 5:
        pass
    listener.join()
    assert "Tea." in heard[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    if Path("/dev/full").exists():
        assert run_quietly(perdure, "export", "-o", "/dev/full").status == 5
        assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for name, status in ((str(tmp_path), 2), ("", 2), ("a\0b", 2), (f"{tmp_path}/", 2), (str(loop), 5)):
        assert run_quietly(perdure, "export", "-o", name).status == status, name


# -- names that are not ours


@pytest.mark.requirement("Q-13", "X-03")
def test_strange_names_among_the_projects_stop_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """A link, a file, a pipe and folders, also with the form of a key: every command that goes through all
    projects works, and verify names each without a fault.
    """
    perdure("remember", "Tea at four.")
    base = perdure.home / "projects"
    (base / ("a" * 16)).symlink_to(tmp_path)
    (base / ("b" * 16)).write_text("x")
    os.mkfifo(base / ("c" * 16))
    (base / ("A" * 16)).mkdir(mode=0o755)
    (base / "notes.txt").write_text("x")
    (base / "notes.txt").chmod(0o644)
    session = PiSession(session_id="one")
    session.turn("Please always use tabs here.", "Good.")
    perdure("capture", str(session.write(tmp_path, "one.jsonl")))
    for words in (
        ("review", "--once", "--all"),
        ("jobs", "list", "--all"),
        ("home", "show"),
        ("shadow", "rebuild"),
        ("status",),
        ("init",),
        ("budget",),
        ("verify", "--restore"),
        ("forget", "Tea at four.", "--everywhere", "--yes"),
    ):
        said = run_quietly(perdure, *words)
        assert said.status == 0, (words, said.out, said.err)
    found = perdure.json("verify")
    assert found["ok"]
    named = {one["path"] for one in found["findings"] if one["code"] == "foreign"}
    assert {f"projects/{name * 16}" for name in "abcA"} | {"projects/notes.txt"} <= named
    assert len(perdure.json("home", "show")["projects"]) == 1


@pytest.mark.requirement("Q-13", "X-03")
def test_a_foreign_file_of_any_mode_is_a_note(perdure: Perdure) -> None:
    """Whoever put it there chose its mode: in the home, in a project's folder, and below a foreign folder."""
    (project,) = (perdure.home / "projects").iterdir()
    for folder in (perdure.home, project, project / "branches"):
        (folder / "notes.md").write_text("x")
        (folder / "notes.md").chmod(0o644)
        (folder / "mine").mkdir(mode=0o755)
        (folder / "mine" / "below").write_text("x")
    found = perdure.json("verify")
    assert found["ok"]
    assert {one["severity"] for one in found["findings"]} == {"note"}
    (project / "branches").chmod(0o755)
    assert not perdure.json("verify", status=1)["ok"]


@pytest.mark.requirement("X-03", "M-01")
def test_an_identity_of_another_project_is_a_fault(perdure: Perdure, tmp_path: Path) -> None:
    """A project.json that was copied between projects is whole, but not this one's; the way on is said, and
    works.
    """
    (tmp_path / "other" / ".git").mkdir(parents=True)
    perdure("init", "--project", str(tmp_path / "other"))
    here, there = (perdure.json("status", "--project", str(p))["memory"] for p in (".", tmp_path / "other"))
    shutil.copy(Path(there, "project.json"), Path(here, "project.json"))
    (found,) = perdure.json("verify", status=1)["findings"]
    assert found["path"].endswith("/project.json")
    assert "perdure init" in found["advice"]
    Path(here, "project.json").unlink()
    perdure("init")
    perdure("verify")


@pytest.mark.requirement("X-03")
@pytest.mark.parametrize("name", ["format", "key"])
def test_verify_reports_a_home_that_cannot_be_opened(perdure: Perdure, name: str) -> None:
    """Damage of the home's own files is a finding with a next step, not the end of verify."""
    path = perdure.home / name
    path.write_bytes(path.read_bytes()[:-4])
    found = perdure.json("verify", status=1)
    assert [one["path"] for one in found["findings"]] == [name]
    assert "from a copy" in found["findings"][0]["advice"]
    assert "perdure verify" in run_quietly(perdure, "show").err


# -- where a home may be


@pytest.mark.requirement("M-01", "E-04")
def test_a_home_is_made_in_a_folder_of_its_own(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not among other things, not in a repository, not around the project; nothing there is changed, and
    nobody is told to change the mode of what is no home.
    """
    docs = tmp_path / "docs"
    docs.mkdir(mode=0o755)
    (docs / "letter.txt").write_text("x")
    inside = perdure.project / "memory"
    for home, told in (
        (docs, "holds other things"),
        (Path("/"), "no"),
        (inside, "inside the Git repository"),
    ):
        monkeypatch.setenv("PERDURE_HOME", str(home))
        for words in (("init",), ("show",)):
            said = run_quietly(perdure, *words)
            assert said.status in {3, 4}, (home, words, said.err)
            assert "chmod" not in said.err
        assert told in run_quietly(perdure, "init").err
    assert [path.name for path in docs.iterdir()] == ["letter.txt"]
    assert not inside.exists()
    monkeypatch.setenv("PERDURE_HOME", str(perdure.home))
    said = run_quietly(perdure, "init", "--project", str(perdure.home / "projects"))
    assert (said.status, "inside the home" in said.err) == (3, True)
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o700)
    monkeypatch.setenv("PERDURE_HOME", str(empty))
    perdure("init")


# -- projects that were moved


@pytest.mark.requirement("M-01", "M-14")
def test_the_memory_of_a_moved_project_is_named_and_can_be_taken_over(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a move init, show, status and home show say which root is gone; what the how-to says brings
    every entry to the new place, and the old memory stays.
    """
    perdure("remember", "Tea at four.", "--key", "tea")
    perdure("remember", "Use tabs.")
    key = perdure.json("status")["key"]
    new = tmp_path / "store"
    perdure.project.rename(new)
    monkeypatch.chdir(new)
    for words in (("init",), ("show",), ("status",), ("home", "show")):
        said = perdure(*words)
        assert "not there any more" in said.out or "perdure home show" in said.out, words
    assert perdure.json("init")["gone"] == [{"key": key, "root": str(perdure.project)}]
    assert [one["gone"] for one in perdure.json("home", "show")["projects"] if one["key"] == key] == [True]
    old = str(tmp_path / "old.md")
    perdure("export", "--project", key, "-o", old)
    assert perdure("import", old, "--yes", status=3).err  # its base is another memory's
    perdure("import", old, "--add", "--yes")
    assert sorted(perdure.texts()) == ["Tea at four.", "Use tabs."]
    assert len(perdure.json("list", "--project", key)["entries"]) == 2
    assert "Tea at four." in perdure("inject", "--project", key).out
    perdure("verify")
    assert perdure.json("show", "--project", "0" * 16, status=4)["error"]["code"] == "not-found"


# -- drafts


@pytest.mark.requirement("E-03", "M-14")
def test_no_draft_keeps_a_secret_or_an_unchanged_text(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit that is refused for a secret leaves no draft and says so; one that was not changed leaves
    none, either; any other is kept where the message says.
    """
    perdure("remember", "Tea.")
    drafts = perdure.home / "run" / "drafts"
    editor = tmp_path / "editor"

    def edit(line: str) -> str:
        editor.write_text(f"#!/bin/sh\n{line}\n")
        editor.chmod(0o700)
        monkeypatch.setenv("VISUAL", str(editor))
        return run_quietly(perdure, "edit", "--yes").err

    secret = "ghp_" + os.urandom(30).hex()[:36]
    assert "not kept" in edit(f"""echo '- key {secret}' >> "$1" """)
    assert list(drafts.iterdir()) == []
    assert "kept" not in edit("exit 3")
    assert list(drafts.iterdir()) == []
    assert "Your text is kept in" in edit("""echo '- ' >> "$1"; exit 3""")
    (draft,) = drafts.iterdir()
    assert not any(secret.encode() in data for data in perdure.files().values())
    assert draft.read_text().endswith("- \n")


@pytest.mark.requirement("M-09")
def test_history_gives_each_reason_beside_its_entry(perdure: Perdure, tmp_path: Path) -> None:
    """Two changes of one review: each is followed by its own reason."""
    session = PiSession(session_id="one")
    session.turn("Please always use tabs here.", "Good.")
    session.turn("Never push to the release branch.", "Good.")
    perdure("capture", str(session.write(tmp_path, "one.jsonl")))
    perdure("review", "--once")
    lines = perdure("history", "-n", "1").out.splitlines()
    added = [place for place, line in enumerate(lines) if line.startswith("+ ")]
    assert len(added) == 2
    assert all(lines[place + 1].startswith("    why: ") for place in added)
