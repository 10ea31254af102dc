"""export, edit, import: files for people, diffs, and compare-and-swap."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file of Python code that is run as $EDITOR, with `text` read from and written to the file."""
    script = tmp_path / "editor.py"
    code = tmp_path / "code.py"
    script.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "space = {'text': path.read_text()}\n"
        f"exec(pathlib.Path({str(code)!r}).read_text(), space)\n"
        "path.write_text(space['text'])\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    return code


@pytest.mark.requirement("M-14")
def test_edit_shows_a_diff_and_applies_it(perdure: Perdure, editor: Path) -> None:
    """Changed words, a new bullet and a removed one are one revision, which undo takes back."""
    perdure("remember", "Use npm.")
    perdure("remember", "Old.")
    editor.write_text("text = text.replace('Use npm.', 'Use pnpm.').replace('- Old.', '- New.\\n- Old.')\n")
    said = perdure("edit", "--yes")
    assert "- [project] Use npm." in said.out
    assert "+ [project] Use pnpm." in said.out
    assert perdure.texts() == ["Use pnpm.", "Old.", "New."]
    assert not list((perdure.home / "run/drafts").iterdir())
    perdure("undo")
    assert perdure.texts() == ["Use npm.", "Old."]


@pytest.mark.requirement("M-05", "M-14")
def test_a_stale_edit_is_refused_and_the_words_are_kept(perdure: Perdure, editor: Path) -> None:
    """Memory changed while the editor was open: nothing is merged, and the file with the text is named."""
    perdure("remember", "Use npm.")
    editor.write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'perdure.cli.main', 'remember', 'Meanwhile.'], check=True,"
        " stdout=subprocess.DEVNULL)\n"
        "text = text.replace('Use npm.', 'Use pnpm.')\n"
    )
    error = perdure.json("edit", "--yes", status=3)["error"]
    assert error["code"] == "stale"
    (kept,) = (perdure.home / "run/drafts").iterdir()
    assert str(kept) in error["advice"]
    assert "Use pnpm." in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert perdure.texts() == ["Use npm.", "Meanwhile."]


def test_an_edit_that_changes_nothing_or_fails(
    perdure: Perdure, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No change is no revision; a failing editor, a missing one and a fault in the text change nothing."""
    perdure("remember", "Use npm.")
    editor.write_text("")
    assert "Nothing was edited" in perdure("edit").out
    editor.write_text("sys = __import__('sys'); sys.exit(3)")
    assert "status 3" in perdure("edit", status=2).err
    editor.write_text("text += 'stray\\n'")
    assert "text that belongs to no entry" in perdure("edit", "--yes", status=2).err
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    assert "cannot be run" in perdure("edit", status=2).err
    assert len(perdure.json("history")["revisions"]) == 1


def test_without_a_terminal_nothing_is_applied_unasked(perdure: Perdure, tmp_path: Path) -> None:
    """An import that would change something needs --yes where nobody can answer."""
    notes = tmp_path / "notes.md"
    notes.write_text("- Use npm.\n")
    assert "--yes" in perdure("import", str(notes), status=2).err
    assert perdure.texts() == []


@pytest.mark.requirement("M-14")
@pytest.mark.parametrize("name", ["memory.md", "memory.json"])
def test_export_and_import_round_trip(perdure: Perdure, tmp_path: Path, name: str) -> None:
    """What was exported is no change; edited and imported it is; imported again it is stale."""
    perdure("remember", "Use `npm`. -->\n# not a heading", "--key", "tool", "--importance", "high")
    file = tmp_path / name
    perdure("export", "-o", str(file))
    assert not perdure.json("import", str(file), "--yes")["changed"]
    file.write_text(file.read_text().replace("npm", "pnpm"))
    dry = perdure.json("import", str(file), "--dry-run")
    assert (dry["changed"], len(dry["changes"])) == (False, 1)
    assert perdure.json("import", str(file), "--yes")["changed"]
    assert perdure.texts() == ["Use `pnpm`. -->\n# not a heading"]
    assert perdure.json("import", str(file), "--yes", status=3)["error"]["code"] == "stale"


@pytest.mark.requirement("M-12", "M-14")
def test_a_foreign_file_adds_all_or_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """Duplicates are listed; forgotten texts, bad texts and taken keys refuse the whole file."""
    perdure("remember", "Known.")
    perdure("remember", "Forgotten.")
    perdure("forget", "Forgotten.")
    perdure("remember", "make ship", "--key", "deploy")
    file = tmp_path / "notes.md"
    before = perdure.files()
    for line, code in (
        ("- Forgotten.", "refused"),
        ("- </perdure-memory>", "fence"),
        ("- **Deploy**: make release", "refused"),
    ):
        file.write_text(f"- New.\n{line}\n")
        error = perdure.json("import", str(file), "--yes", status=3)["error"]
        assert error["code"] == code
        assert perdure.files() == before
    file.write_text("- New.\n- Known.\n- Forgotten.\n")
    done = perdure.json("import", str(file), "--yes", "--relearn")
    assert [item["text"] for item in done["duplicates"]] == ["Known."]
    assert done["foreign"]
    assert perdure.texts() == ["Known.", "make ship", "New.", "Forgotten."]


@pytest.mark.requirement("M-07")
def test_an_import_that_does_not_fit_is_refused_whole(perdure: Perdure, tmp_path: Path) -> None:
    """The hard limit of a branch holds at this door too."""
    file = tmp_path / "notes.md"
    file.write_text("".join(f"- {number} {'x' * 700}\n" for number in range(9)))
    assert perdure.json("import", str(file), "--yes", status=3)["error"]["code"] == "capacity"
    assert perdure.texts() == []


def test_files_that_cannot_be_read_or_written(perdure: Perdure, tmp_path: Path) -> None:
    """Missing, a folder, not text, no such place: one line each, with a status."""
    perdure("import", str(tmp_path / "missing.md"), status=4)
    perdure("import", str(tmp_path), status=2)
    (tmp_path / "bytes.md").write_bytes(b"\xff")
    perdure("import", str(tmp_path / "bytes.md"), status=2)
    perdure("export", "-o", str(tmp_path), status=2)
    perdure("export", "-o", str(tmp_path / "no/such/place.md"), status=5)


def test_export_prints_what_it_would_write(perdure: Perdure) -> None:
    """Without a file, the text goes to standard output; the branch can be named."""
    perdure("remember", "Use npm.")
    assert "- Use npm. <!--" in perdure("export").out
    document = json.loads(perdure("export", "--format", "json", "--branch", "main").out)
    assert (document["format"], document["version"]) == ("perdure-memory", 1)
    assert perdure.json("export")["text"].startswith("<!-- perdure-memory 1")
