"""branch rename, branch remove, move and merge, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.app import App
from perdure.core.memory import main_branch_id
from perdure.core.move import Move
from tests.e2e.command_line import Perdure
from tests.fakes import turns


def other_project(tmp_path: Path, name: str = "other shop") -> Path:
    """Another project's folder."""
    other = tmp_path / name
    (other / ".git").mkdir(parents=True)
    return other


def capture_on(branch: str, project: Path) -> None:
    """Take a turn in as a job of a branch."""
    app = App.open()
    try:
        app.begin_writing()
        key = app.project(str(project)).key
        branch_id = app.branch_id(key, branch)
        app.capture_service().capture(
            host="pi", session="5e" * 16, turns=turns("Port 4100."), project=key, branch_id=branch_id
        )
    finally:
        app.close()


@pytest.mark.requirement("M-02", "M-09")
def test_a_branch_is_renamed(perdure: Perdure) -> None:
    """The new name answers, the old one does not, the branch in use stays in use, and history says so."""
    perdure("remember", "Use pnpm.")
    perdure("branch", "fork", "trial")
    perdure("branch", "use", "trial")
    assert (
        perdure("branch", "rename", "trial", "pnpm trial").out == "Branch trial is called pnpm trial now.\n"
    )
    assert perdure.json("branch")["selected"] == "pnpm trial"
    assert perdure.texts() == ["Use pnpm."]
    newest = perdure.json("history")["revisions"][0]
    assert (newest["cause"], newest["renamed"]) == ("rename", {"before": "trial", "after": "pnpm trial"})
    assert "trial is called pnpm trial" in perdure("history").out
    perdure("show", "--branch", "trial", status=4)
    perdure("branch", "rename", "main", "x", status=3)
    perdure("undo", status=3)
    assert perdure.json("branch", "rename", "pnpm trial", "trial")["before"] == "pnpm trial"
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("M-02", "G-01")
def test_a_branch_is_removed_after_a_question(perdure: Perdure) -> None:
    """Nobody can answer here: nothing happens without --yes; jobs are dropped and named, main is in use."""
    perdure("branch", "fork", "empty")
    assert perdure("branch", "remove", "empty").out == "Branch empty is removed with 0 entries.\n"
    perdure("remember", "Use pnpm.")
    perdure("branch", "fork", "trial")
    perdure("branch", "use", "trial")
    capture_on("trial", perdure.project)
    assert "1 entry and 1 open job" in perdure("branch", "remove", "trial", status=2).err
    said = perdure("branch", "remove", "trial", "--yes").out
    assert said.startswith(
        "Branch trial is removed with 1 entry.\nIt was in use; main is in use now.\ndropped: job "
    )
    (job,) = perdure.json("jobs")["jobs"]
    assert (job["state"], job["reason"]) == ("dropped", "branch-gone")
    perdure("branch", "remove", "trial", "--yes", status=4)
    perdure("branch", "remove", "main", "--yes", status=3)
    perdure("branch", "fork", "trial")
    done = perdure.json("branch", "remove", "trial", "--yes")
    assert (done["removed"], done["selected"], done["dropped"]) == (True, "main", [])
    assert "Use pnpm." in perdure("inject").out
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("G-05")
def test_an_entry_moves_to_the_user_and_back_and_to_another_project(perdure: Perdure, tmp_path: Path) -> None:
    """It keeps its id, is in one memory at a time, and the answer and the history say where it went."""
    other = other_project(tmp_path)
    entry = perdure.json("remember", "Answer briefly.")["entry"]
    moved = perdure.json("move", "Answer", "--to", "user")
    assert (moved["to"], moved["moved"][0]) == ("user", entry)
    assert perdure.texts() == []
    assert perdure.json("list", "--user")["entries"] == [entry]
    assert "to the user-wide memory" in perdure("history").out
    back = perdure("move", entry["id"], "--user", "--to", ".").out
    assert back.startswith("Moved to project ")
    assert perdure.texts() == ["Answer briefly."]
    perdure("move", entry["id"], "--to", ".", status=2)
    perdure("move", entry["id"], "--to", str(other))
    assert perdure.json("list", "--project", str(other))["entries"] == [entry]
    perdure("move", entry["id"], "--to", "user", status=4)
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("M-12", "M-15")
def test_a_move_that_would_collide_changes_no_file(perdure: Perdure) -> None:
    """Another value of the key there: status 3, and both memories are byte for byte as they were."""
    perdure("remember", "4100", "--key", "dev port")
    perdure("remember", "4200", "--key", "dev port", "--user")
    before = perdure.files()
    assert "dev port" in perdure("move", "dev port", "--to", "user", status=3).err
    assert perdure.files() == before


@pytest.mark.requirement("G-04")
def test_the_memory_of_a_moved_project_is_merged_by_its_key(perdure: Perdure, tmp_path: Path) -> None:
    """The old folder is gone: its key still names what it held; branches and jobs left behind are told."""
    other = other_project(tmp_path)
    perdure("init", "--project", str(other))
    perdure("remember", "Deploy with make ship.", "--project", str(other))
    perdure("branch", "fork", "trial", "--project", str(other))
    capture_on("main", other)
    key = perdure.json("status", "--project", str(other))["key"]
    other.rename(tmp_path / "elsewhere")
    assert "1 entry" in perdure("merge", key, status=2).err
    done = perdure.json("merge", key, "--yes")
    assert [entry["text"] for entry in done["moved"]] == ["Deploy with make ship."]
    assert (done["branches_left"], len(done["jobs_left"])) == (["trial"], 1)
    assert perdure.texts() == ["Deploy with make ship."]
    said = perdure("merge", key, "--yes").out
    assert "0 entries" in said
    assert "branch trial" in said
    assert "1 open job" in said
    perdure("merge", str(other_project(tmp_path, "never seen")), status=4)
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("D-06", "X-03")
def test_status_and_verify_name_an_open_move_and_the_next_write_finishes_it(perdure: Perdure) -> None:
    """Cut off after its note, a move is told until somebody writes to its source."""
    perdure("remember", "Answer briefly.")
    app = App.open()
    try:
        app.begin_writing()
        key = app.project(str(perdure.project)).key
        branch = app.memory_service(key).branch()
        there = main_branch_id("user")
        move = Move("ab" * 16, key, branch.branch_id, "user", there, branch.entries, app.clock.now_ms())
        with app.memory.hold(key) as held:
            held.moves.begin(move)
    finally:
        app.close()
    assert perdure.json("status")["moves_open"] == ["ab" * 16]
    assert "is half done" in perdure("status").out
    found = perdure.json("verify")
    assert [one["code"] for one in found["findings"]] == ["open-move"]
    assert found["ok"]
    perdure("remember", "Written next.")
    assert perdure.json("status")["moves_open"] == []
    assert perdure.texts() == ["Written next."]
    assert perdure.json("verify")["findings"] == []
