"""The README and the tutorial as a newcomer follows them: commands, their output, and links.

A fenced block marked `console` is a terminal: a line that begins with "$ " is a command, the lines below it
are what it prints. "..." on a line of its own stands for any number of lines; ids and times may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "src" / "perdure" / "data" / "demo_session.jsonl"
ANYTHING = "..."
TIMEOUT_SECONDS = 60
PAGES = ("README.md", "docs/tutorial/index.md")
LINKED = (*PAGES, "docs/index.md", "docs/explanation/index.md")


class Command(NamedTuple):
    """One command of a page and the lines that it is said to print."""

    line: str
    printed: list[str]


def blocks(text: str, language: str) -> list[list[str]]:
    """Give the lines of each fenced block in that language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in found]


def commands(page: str) -> list[Command]:
    """Give the commands of all `console` blocks of a page, in order."""
    found = []
    for block in blocks((ROOT / page).read_text(encoding="utf-8"), "console"):
        for place, line in enumerate(block):
            if line.startswith("$ "):
                printed = takewhile(lambda each: not each.startswith("$ "), block[place + 1 :])
                found.append(Command(line[2:], list(printed)))
    return found


def masked(line: str) -> str:
    """Make ids, digests and times alike in all runs."""
    line = re.sub(r"\b[0-9a-f]{8,}\b", "#", line.rstrip())
    return re.sub(r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?", "#", line)


def agrees(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the printed lines are the shown ones, "..." standing for any number of lines."""
    if not shown:
        return not printed
    if shown[0] == ANYTHING:
        return any(agrees(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and agrees(shown[1:], printed[1:])


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (["a"], ["a"], True),
        (["a"], ["b"], False),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["...", "b"], ["a", "b", "c"], False),
        ([], ["a"], False),
    ],
)
def test_shown_lines_are_compared_with_printed_ones(
    shown: list[str], printed: list[str], expected: bool
) -> None:
    """Lines have to be the same, in the same order, and "..." is any number of them."""
    assert agrees(shown, printed) is expected


@pytest.mark.parametrize("page", PAGES)
def test_every_command_works_as_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a page, one after the other in a new project, succeed and print what is shown."""
    project = tmp_path / "my-project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("session", str(SESSION))
    found = commands(page)
    assert len(found) > 5
    for command in found:
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        printed = [masked(line) for line in done.stdout.splitlines()]
        assert (done.returncode, done.stderr) == (0, ""), command.line
        assert agrees([masked(line) for line in command.printed], printed), f"{command.line}\n{done.stdout}"
    assert [path.name for path in project.iterdir()] == [".git"]


@pytest.mark.parametrize("page", LINKED)
def test_every_link_leads_somewhere(page: str) -> None:
    """A relative link names a file of the repository."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert links or page.startswith("docs/")
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


def test_the_commands_of_make_that_are_shown_exist() -> None:
    """What the README tells people to type after `make` is a target of the Makefile."""
    shown = set(re.findall(r"^make ([a-z]+)", _readme(), re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test", "env"} <= shown <= targets


@pytest.mark.requirement("G-02")
def test_what_is_not_promised_is_said() -> None:
    """The README says each thing that is not promised, under a heading of its own."""
    section = _readme().split("## What is not\n")[1].split("\n## ")[0].lower()
    for words in ("never reported", "killed before", "model proposes may be wrong", "bill", "old sessions"):
        assert words in section
    assert "transcripts, summaries and markdown" in section


def _readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")
