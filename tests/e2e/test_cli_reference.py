"""docs/reference/commands.md says what the commands are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perdure.cli.run import STATUSES, parser_of
from perdure.cli.sessions import CONFIRM_TURNS
from perdure.cli.table import MODULES, load

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
SHARED = {"-h", "--help", "--project", "--json", "-y"}


def sections() -> dict[str, str]:
    """Give the sections of the reference by their headings; "## " within an example is none."""
    text = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    parts = re.split(r"(?m)^## (?!project$)", text)
    return {part.split("\n", 1)[0]: part for part in parts[1:]}


def test_every_command_has_its_section_in_order() -> None:
    """The reference lists the commands as help does, between what holds everywhere and the file forms."""
    assert list(sections()) == ["Everywhere", *MODULES, "The two forms of a file"]


@pytest.mark.parametrize("name", list(MODULES))
def test_a_section_has_every_option_example_and_status(name: str) -> None:
    """Nothing that the parser takes or the command promises is missing."""
    section, command = sections()[name], load(name)
    for action in parser_of(command)._actions:
        for option in set(action.option_strings) - SHARED:
            assert re.search(rf"{re.escape(option)}\b", section), option
        if not action.option_strings:
            assert f"`{action.metavar}`" in section
    for example in command.examples:
        assert example in section
    for status in command.statuses:
        number, meaning = status.split(" ", 1)
        assert f"- status {number}: {meaning}" in section
    assert "JSON" in section


def test_exit_statuses_are_the_same_in_help_and_reference() -> None:
    """Every status of the help is in the table of exit statuses, and no other."""
    table = (REFERENCE / "exit-statuses.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^\| (\d+) \|", table) == [status.split()[0] for status in STATUSES]


def test_the_bound_of_a_capture_is_the_documented_one() -> None:
    """The number in the prose is the number in the code."""
    assert f"More than {CONFIRM_TURNS} turns" in " ".join(sections()["capture"].split())
