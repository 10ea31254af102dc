"""inbox: what reviews did, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perdure.authority.filesystem import layout
from tests.e2e.command_line import Perdure, process
from tests.session_files import PiSession

SAID = "Please always run the formatter before you commit in this project."
ASKED = "What does the second function in that module do?"


def converse(perdure: Perdure, folder: Path, said: str) -> None:
    """Take one turn in."""
    session = PiSession(session_id=f"0192-{len(said)}", cwd=str(perdure.project))
    session.turn(said, "I will.")
    perdure("capture", str(session.write(folder, f"{len(said)}.jsonl")))


@pytest.mark.requirement("F-01", "F-03")
def test_news_is_printed_once_and_can_be_taken_back(perdure: Perdure, tmp_path: Path) -> None:
    """The diff and the way back are on the terminal once; the whole list still has them."""
    converse(perdure, tmp_path, SAID)
    perdure("review", "--once")
    said = perdure("inbox").out
    assert "+ [" in said
    assert "formatter" in said
    assert "perdure undo 1" in said
    assert "formatter" not in perdure("inbox").out
    (card,) = perdure.json("inbox", "--all")["events"]
    assert (card["state"], card["seen"], card["undo"]) == ("applied", True, "perdure undo 1")
    assert "(seen)" in perdure("inbox", "--all").out
    perdure(*card["undo"].split()[1:])
    assert perdure.texts() == []


@pytest.mark.requirement("F-02", "F-03")
def test_a_look_marks_and_writes_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """With --peek the news stays news; open reviews are told as what they do."""
    converse(perdure, tmp_path, SAID)
    perdure("review", "--once")
    converse(perdure, tmp_path, ASKED)
    before = perdure.files()
    first, again = perdure.json("inbox", "--peek"), perdure.json("inbox", "--peek", "--all")
    assert perdure.files() == before
    assert first == again
    assert [row["doing"] for row in first["reviews"]] == ["queued"]
    assert " queued" in perdure("inbox", "--peek").out
    taken = perdure.json("inbox")["events"]
    assert [event["seen"] for event in taken] == [False]
    perdure("review", "--once")
    listed = perdure.json("inbox", "--all")["events"]
    assert [(event["state"], event["news"]) for event in listed] == [("applied", True), ("no-op", False)]
    assert perdure.json("inbox") == {"events": [], "reviews": []}


@pytest.mark.requirement("F-03")
def test_the_whole_list_counts_as_a_showing_too(perdure: Perdure, tmp_path: Path) -> None:
    """News that --all printed is not printed again by itself."""
    converse(perdure, tmp_path, SAID)
    perdure("review", "--once")
    assert [event["seen"] for event in perdure.json("inbox", "--all")["events"]] == [False]
    assert perdure.json("inbox")["events"] == []


@pytest.mark.requirement("F-04")
def test_what_came_to_nothing_names_the_retry(perdure: Perdure, tmp_path: Path) -> None:
    """A rejected review is news, with the command that reviews it again."""
    for number in range(6):
        words = " ".join(f"part{number}x{place}" for place in range(90))
        perdure("remember", f"Note {number}: {words[:780]}")
    converse(perdure, tmp_path, SAID)
    perdure("review", "--once")
    (event,) = perdure.json("inbox", "--peek")["events"]
    assert (event["state"], event["reason"], event["undo"]) == ("rejected", "capacity", "")
    assert event["retry"] in perdure("inbox").out
    for number in range(3):
        perdure("forget", f"Note {number}:", "--yes")
    perdure(*event["retry"].split()[1:])
    perdure("review", "--once")
    (after,) = perdure.json("inbox")["events"]
    assert (after["state"], after["job"] != event["job"]) == ("applied", True)


@pytest.mark.requirement("F-03")
def test_of_two_terminals_at_once_one_prints_it(perdure: Perdure, tmp_path: Path) -> None:
    """Two processes that start together print the news once between them."""
    converse(perdure, tmp_path, SAID)
    perdure("review", "--once")
    both = [process("inbox", "--json", cwd=perdure.project) for _ in range(2)]
    answers = [json.loads(each.communicate()[0]) for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert sum(len(answer["events"]) for answer in answers) == 1
    assert perdure.json("verify")["ok"]


def test_a_project_without_memory_has_no_news(perdure: Perdure, tmp_path: Path) -> None:
    """Nothing is made for it."""
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)
    assert perdure.json("inbox", "--project", str(tmp_path / "elsewhere"))["events"] == []
    assert len(list((perdure.home / layout.PROJECTS).iterdir())) == 1
    assert "no news" in perdure("inbox").out
