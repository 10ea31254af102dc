"""Memory in the real Pi: written in one session, given to the next, at every turn and in every mode."""

from __future__ import annotations

import json

import pytest

from tests.e2e.pi.conftest import Begin
from tests.e2e.pi.model import Model, calls, messages, remembers, says, system_text, tool_texts
from tests.e2e.pi.rpc import Rpc

FACT = "Releases are cut on Thursdays."


@pytest.mark.requirement("G-04", "I-01")
def test_what_one_session_remembers_the_next_is_given(begin: Begin) -> None:
    """A fact is durable before the tool answers, and stands in the next session's provider request."""
    user, server = begin(remembers(FACT, key="release day"), says("Noted."), says("On Thursdays."))
    user.say("Remember when we release.")
    assert user.texts() == [FACT]
    assert FACT not in system_text(server.requests[0])
    (told,) = tool_texts(server.requests[1])
    assert told.startswith("Remembered on branch main, revision 1:")
    assert "undo 1" in told
    assert user.say("When do we release?").out == "On Thursdays.\n"
    assert f"release day: {FACT}" in system_text(server.requests[2])


def test_memory_is_made_afresh_for_every_turn(begin: Begin) -> None:
    """What others write between two turns of a session is in the second, and what they forget is not."""
    user, server = begin(says("One."), says("Two."), says("Three."))
    with Rpc(user) as pi:
        pi.prompt("first")
        user.perdure("remember", FACT)
        pi.prompt("second")
        user.perdure("forget", FACT)
        pi.prompt("third")
    assert [FACT in _given(server, place) for place in range(3)] == [False, True, False]


def test_memory_is_no_part_of_the_conversation(begin: Begin) -> None:
    """The section stands with the system's words only, in no message of user, model or tool."""
    user, server = begin(says("One."), says("Two."))
    user.perdure("remember", FACT)
    with Rpc(user) as pi:
        pi.prompt("first")
        pi.prompt("second")
    for request in server.requests:
        spoken = [each for each in messages(request) if each["role"] not in {"system", "developer"}]
        assert FACT not in json.dumps(spoken)


def test_the_five_actions_of_the_tool(begin: Begin) -> None:
    """Remember, recall, replace, list and forget answer the model with what is stored and what changed."""
    user, server = begin(
        remembers("Node is version 20.", key="node version"),
        calls("memory", {"action": "recall", "question": "Which version of Node?"}),
        calls("memory", {"action": "replace", "which": "node version", "text": "Node is version 24."}),
        calls("memory", {"action": "list"}),
        calls("memory", {"action": "forget", "which": "node version"}),
        calls("memory", {"action": "forget", "which": "node version"}),
        says("Done."),
    )
    assert user.say("go").out == "Done.\n"
    told = tool_texts(server.requests[-1])
    assert "+ " in told[0]
    assert "Node is version 20." in told[1]
    assert "Node is version 24." in told[2]
    assert "node version: Node is version 24." in told[3]
    assert told[4].startswith("Forgotten")
    assert "node version" in told[5]
    results = [
        entry["message"]
        for entry in user.session()
        if entry["type"] == "message" and entry["message"]["role"] == "toolResult"
    ]
    assert [result["isError"] for result in results] == [False] * 5 + [True]
    assert user.texts() == []


@pytest.mark.requirement("M-02", "L-05")
def test_the_branch_of_a_session_is_its_own(begin: Begin) -> None:
    """A fork is used by this session alone, and by it again after a reload and a resume."""
    user, server = begin()
    user.perdure("remember", FACT)
    with Rpc(user) as pi:
        pi.prompt("first")
        assert "trial" in pi.memory("fork trial")
        pi.memory("remember Only in the trial.")
        pi.prompt("second")
        pi.send(type="prompt", message="/reload-all")
        pi.prompt("third")
    with Rpc(user, "--continue") as pi:
        pi.prompt("fourth")
    with Rpc(user) as pi:
        pi.prompt("another session")
    assert [_given(server, place).count("Only in the trial.") for place in range(5)] == [0, 1, 1, 1, 0]
    assert all(FACT in _given(server, place) for place in range(5))
    assert user.texts() == [FACT]


@pytest.mark.requirement("L-05")
def test_a_move_in_the_tree_takes_the_branch_of_that_place(begin: Begin) -> None:
    """Before the fork of memory the session has the branch it began with, and after it the fork."""
    user, server = begin()
    with Rpc(user) as pi:
        pi.prompt("first")
        begun = pi.send(type="get_entries")["data"]["entries"][-1]["id"]
        pi.memory("fork trial")
        pi.memory("remember Only in the trial.")
        pi.prompt("second")
        forked = pi.send(type="get_entries")["data"]["entries"][-1]["id"]
        for place in (begun, forked):
            pi.send(type="prompt", message=f"/tree-to {place}")
            pi.prompt("again")
        asked = pi.send(type="get_fork_messages")["data"]["messages"]
        pi.send(type="fork", entryId=asked[1]["entryId"])
        pi.prompt("in a fork of the session, after the fork of memory")
    assert [_given(server, place).count("Only in the trial.") for place in range(5)] == [0, 1, 0, 1, 1]


def test_compaction_leaves_memory_in_place(begin: Begin) -> None:
    """The turn after a compaction is given memory again, and the summary was not made from it."""
    long = "word " * 400
    user, server = begin(says(long), says(long), says("A summary."))
    user.perdure("remember", FACT)
    with Rpc(user) as pi:
        pi.prompt(long)
        pi.prompt(long)
        before = len(server.requests)
        assert pi.send(type="compact")["success"]
        summarised = server.requests[before:]
        pi.prompt("after")
    assert summarised
    assert all(FACT.encode() not in request.body for request in summarised)
    assert FACT in system_text(server.requests[-1])


def test_a_turn_of_a_megabyte(begin: Begin) -> None:
    """A prompt of one megabyte is answered, with memory."""
    user, server = begin(says("Read."), window=2_000_000)
    user.perdure("remember", FACT)
    with Rpc(user) as pi:
        pi.prompt("ä line of a log\n" * 65_536)
    assert FACT in system_text(server.requests[0])
    assert len(server.requests[0].body) > 1_000_000


@pytest.mark.requirement("I-01")
def test_two_sessions_of_one_project(begin: Begin) -> None:
    """What the model of one session stores, the other is given at its next turn."""
    user, server = begin(says("One."), remembers(FACT), says("Stored."), says("Two."))
    with Rpc(user) as first, Rpc(user) as second:
        first.prompt("first")
        second.prompt("store it")
        first.prompt("second")
    assert FACT not in _given(server, 0)
    assert FACT in _given(server, 3)


def test_a_project_cannot_stand_in_for_the_child(begin: Begin) -> None:
    """Files of the project with the names of Python's modules are not run by the child, and break nothing."""
    user, server = begin()
    user.perdure("remember", FACT)
    for name in ("json", "msgspec", "perdure"):
        (user.project / f"{name}.py").write_text(f"open({str(user.base / 'taken')!r}, 'w')\n")
    user.say("hi")
    assert FACT in system_text(server.requests[0])
    assert not (user.base / "taken").exists()


def test_a_project_without_memory_is_told_how_to_begin(begin: Begin) -> None:
    """Before `perdure init` the session says what to do once; from the turn after it on, memory is there."""
    user, server = begin(initialised=False)
    with Rpc(user) as pi:
        pi.prompt("hi")
        pi.prompt("and again")
        assert [said for said in pi.notified() if "perdure init" in said] == pi.notified()
        assert len(pi.notified()) == 1
        assert not user.home.exists()
        user.perdure("init")
        user.perdure("remember", FACT)
        pi.prompt("now?")
    assert [FACT in _given(server, place) for place in range(3)] == [False, False, True]


@pytest.mark.parametrize("mode", ["print", "json"])
def test_commands_answer_in_modes_without_a_screen(begin: Begin, mode: str) -> None:
    """Print mode has the answer on standard output, JSON mode in an event; mistakes are told."""
    user, server = begin()
    user.perdure("remember", FACT)
    if mode == "print":
        assert FACT in user.say("/memory show").out
        ran = user.say("/memory forgt x")
        assert ran.out == ""
        assert "There is no /memory forgt." in ran.err
    else:
        appended = [
            event["entry"] for event in user.run("--mode", "json", "/memory show").events if "entry" in event
        ]
        (answer,) = [entry["data"] for entry in appended if entry.get("customType") == "perdure-answer"]
        assert answer["ok"]
        assert FACT in answer["text"]
    assert len(server.requests) == 0


def _given(server: Model, place: int) -> str:
    return system_text(server.requests[place])
