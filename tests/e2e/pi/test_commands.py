"""Every /memory command, in a Pi that a program drives."""

from __future__ import annotations

import json

import pytest

from tests.e2e.pi.conftest import Begin
from tests.e2e.pi.model import says
from tests.e2e.pi.rpc import Rpc


def test_commands_that_write_and_look(begin: Begin) -> None:
    """Remember, show, recall, why, undo and forget change and show the memory that the command line shows."""
    user, _server = begin(says("Hello."))
    with Rpc(user) as pi:
        assert "Remembered" in pi.memory("remember Deploy with make ship.")
        assert user.texts() == ["Deploy with make ship."]
        assert "Deploy with make ship." in pi.memory("show")
        assert "Deploy with make ship." in pi.memory("recall how do we deploy?")
        assert "Nothing was injected" in pi.memory("why")
        pi.prompt("hi")
        assert "Injected 1 entries" in pi.memory("why")
        assert "Undone" in pi.memory("undo")
        assert user.texts() == []
        pi.memory("remember Deploy by hand.")
        assert "Forgotten" in pi.memory("forget Deploy by hand")
        assert user.texts() == []


@pytest.mark.requirement("M-02")
def test_commands_about_branches(begin: Begin) -> None:
    """Fork and use choose this session's branch, and branches marks it; the selected one stays."""
    user, _server = begin()
    with Rpc(user) as pi:
        pi.memory("remember In both.")
        pi.memory("fork trial")
        pi.memory("remember In the trial.")
        marks = {line[2:].split()[0]: line[0] for line in pi.memory("branches").splitlines()}
        assert marks == {"main": " ", "trial": "*"}
        assert "main" in pi.memory("use main")
        assert "In the trial." not in pi.memory("show")
        assert "nowhere" in pi.memory("use nowhere")
        assert "In both." in pi.memory("show")
    assert user.texts() == ["In both."]


def test_commands_about_the_session(begin: Begin) -> None:
    """Status says project, branch and reviews; help and mistakes say what there is."""
    user, _server = begin()
    with Rpc(user) as pi:
        status = pi.memory("status")
        assert str(user.project) in status
        assert "main" in status
        assert pi.memory("") == status
        assert pi.memory("help").startswith("/memory status")
        assert "There is no /memory sing." in pi.memory("sing")
        assert "Say how the copy is to be called" in pi.memory("fork")
        for command in ("reviews", "inbox"):
            assert pi.memory(command)


def test_a_refused_command_says_why(begin: Begin) -> None:
    """What Perdure refuses reaches the user with its advice, and changes nothing."""
    user, _server = begin()
    with Rpc(user) as pi:
        assert "password" in pi.memory("remember The database password is hunter2-Xk39!fq.").lower()
        assert pi.memory("undo 99")
        assert pi.memory("review retry nothing")
    assert user.texts() == []
    assert json.loads(user.perdure("history", "--json"))["revisions"] == []
