"""Whatever becomes of the child, Pi goes on: it answers, says once what is missing, and ends."""

from __future__ import annotations

import os
import shlex
import signal

import pytest

from tests.e2e.pi.conftest import Begin
from tests.e2e.pi.fake_child import SECTION
from tests.e2e.pi.model import calls, remembers, says, system_text, tool_texts
from tests.e2e.pi.rpc import Rpc


@pytest.mark.requirement("I-01")
def test_a_section_reaches_the_model(begin: Begin) -> None:
    """What the child gives for a turn stands in the system prompt of that turn's request."""
    user, server = begin(says("Hello."), initialised=False)
    user.use_fake_child()
    ran = user.say("hi")
    assert ran.out == "Hello.\n"
    assert ran.err == ""
    assert SECTION in system_text(server.requests[0])


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("hello-hang", "it did not answer within 5 s"),
        ("hello-exit", "it ended with status 3: the fake child gave up"),
        ("hello-flood", "it sent a line of more than 4194304 bytes"),
        ("hello-refuse", "The home is newer. Update Perdure"),
        ("turn-hang", "it did not answer within 1 s"),
        ("turn-exit", "it ended with status 3: the fake child gave up"),
    ],
)
def test_a_child_in_trouble_is_said_once(begin: Begin, behaviour: str, why: str) -> None:
    """Two turns go on without memory, and one sentence says why."""
    user, server = begin(says("One."), says("Two."), initialised=False)
    user.use_fake_child(behaviour)
    ran = user.say("first", "second")
    assert ran.out == "Two.\n"
    assert ran.err.count("memory is not available") == 1
    assert why in ran.err
    assert len(server.requests) == 2
    assert all("perdure-memory" not in system_text(request) for request in server.requests)


@pytest.mark.parametrize("behaviour", ["hello-garbage", "turn-garbage", "settled-hang", "settled-exit"])
def test_a_child_with_other_faults_costs_no_turn(begin: Begin, behaviour: str) -> None:
    """Lines that are no message are left alone; a child that fails after a turn is not missed by it."""
    user, server = begin(says("Hello."), initialised=False)
    user.use_fake_child(behaviour)
    ran = user.say("hi")
    assert ran.out == "Hello.\n"
    assert SECTION in system_text(server.requests[0])


def test_pi_does_not_wait_for_the_end_of_its_child(begin: Begin) -> None:
    """Pi has ended while a child that is stuck at its end still lives."""
    user, _server = begin(says("Hello."), initialised=False)
    notes = user.use_fake_child("end-hang")
    assert user.say("hi").out == "Hello.\n"
    (pid,) = notes.pids()
    os.kill(pid, signal.SIGKILL)  # raises if it is gone already


def test_a_missing_python_is_said_and_pi_goes_on(begin: Begin) -> None:
    """Perdure was removed and its extension left: Pi answers, and names the missing program."""
    user, _server = begin(says("Hello."), initialised=False)
    user.use_python("/nowhere/python")
    ran = user.say("hi")
    assert ran.out == "Hello.\n"
    assert "there is no /nowhere/python: run `perdure install pi` again" in ran.err


@pytest.mark.parametrize("content", [None, '{"python": 1, "release": "1"}'])
def test_a_damaged_installation_is_said_and_pi_goes_on(begin: Begin, content: str | None) -> None:
    """Without what the installer wrote, Pi answers, and the advice is to install again."""
    user, _server = begin(says("Hello."), initialised=False)
    written = user.extension / "perdure.json"
    if content is None:
        written.unlink()
    else:
        written.write_text(content)
    ran = user.say("hi")
    assert ran.out == "Hello.\n"
    assert ran.err.count("run `perdure install pi` again") == 1


def test_a_killed_child_is_replaced_for_the_next_turn(begin: Begin) -> None:
    """SIGKILL of the child between two turns costs neither of them its memory, and is said once."""
    user, server = begin(says("One."), says("Two."), initialised=False)
    notes = user.use_fake_child()
    with Rpc(user) as pi:
        pi.prompt("first")
        os.kill(notes.pids()[0], signal.SIGKILL)
        pi.wait(lambda event: event.get("method") == "notify", start=0)
        pi.prompt("second")
        assert [said for said in pi.notified() if "it was ended by SIGKILL" in said] == pi.notified()
        assert len(pi.notified()) == 1
    assert len(notes.pids()) == 2
    assert all(SECTION in system_text(request) for request in server.requests)


def test_a_tool_call_has_an_answer_when_the_child_dies(begin: Begin) -> None:
    """The model reads that memory gave no answer, and the run goes on."""
    user, server = begin(remembers("Use tabs."), says("Then not."), initialised=False)
    user.use_fake_child("remember-exit")
    assert user.say("hi").out == "Then not.\n"
    (said,) = tool_texts(server.requests[1])
    assert said.startswith("Memory gave no answer: it ended with status 3: the fake child gave up.")


def test_a_tool_call_that_hangs_ends_by_its_deadline(begin: Begin) -> None:
    """After ten seconds the model reads that it is not known whether the call was done."""
    user, server = begin(remembers("Use tabs."), says("Then not."), initialised=False)
    user.use_fake_child("remember-hang")
    assert user.say("hi").out == "Then not.\n"
    (said,) = tool_texts(server.requests[1])
    assert "it did not answer within 10 s. Whether it was done is not known" in said


def test_a_stopped_run_does_not_wait_for_the_child(begin: Begin) -> None:
    """Stopping a run in the middle of a call to memory ends the call, and says that its end is not known."""
    user, _server = begin(remembers("Use tabs."), says("Never."), initialised=False)
    notes = user.use_fake_child("remember-hang")
    with Rpc(user) as pi:
        pi.send(type="prompt", message="hi")
        pi.wait(lambda event: event.get("type") == "tool_execution_start", start=0)
        assert pi.send(type="abort")["success"]
        pi.wait(lambda event: event.get("type") == "agent_settled", start=0)
        ended = next(event for event in pi.events if event.get("type") == "tool_execution_end")
    assert ended["result"]["content"][0]["text"].startswith("Stopped by the user.")
    assert notes.asked("settled") == []


def test_a_wrong_call_is_explained_to_the_model(begin: Begin) -> None:
    """A call without what its action needs never reaches the child, and its answer says what is missing."""
    user, server = begin(
        calls("memory", {"action": "replace", "text": "x"}), says("I see."), initialised=False
    )
    notes = user.use_fake_child()
    user.say("hi")
    assert tool_texts(server.requests[1]) == ["memory with action replace needs which."]
    assert notes.asked("replace") == []


@pytest.mark.requirement("K-04")
def test_a_session_that_is_not_saved_says_so_and_is_no_evidence(begin: Begin) -> None:
    """Without a session file nothing is captured, and the user is told."""
    user, _server = begin(says("Hello."), initialised=False)
    notes = user.use_fake_child()
    with Rpc(user, "--no-session") as pi:
        pi.prompt("hi")
        assert pi.notified() == ["Perdure: this session is not saved, so its turns are not captured."]
    assert [hello["sessionFile"] for hello in notes.asked("hello")] == [None]
    assert notes.asked("settled") == []


@pytest.mark.requirement("K-04")
def test_an_agent_that_an_agent_started_is_no_evidence(begin: Begin) -> None:
    """A Pi that the model of a session runs reads memory, and neither enrols its session nor captures it."""
    user, server = begin(says("placeholder"), initialised=False)
    inner = shlex.join(user.command("-p", "inner task"))
    server.play(calls("bash", {"command": inner}), says("Inner."), says("Outer."))
    notes = user.use_fake_child()
    assert user.say("outer task").out == "Outer.\n"
    outer_hello, inner_hello = notes.asked("hello")
    assert outer_hello["sessionFile"] is not None
    assert inner_hello["sessionFile"] is None
    assert len(notes.asked("turn")) == 2
    assert [asked["sessionFile"] for asked in notes.asked("settled")] == [outer_hello["sessionFile"]]


def test_events_of_the_child_reach_the_user_and_never_the_model(begin: Begin) -> None:
    """Progress stands in the status line, cards and notices are shown, and no request holds any of it."""
    user, server = begin(says("One."), says("Two."), initialised=False)
    user.use_fake_child("settled-events")
    with Rpc(user) as pi:
        pi.prompt("first")
        pi.wait(lambda event: event.get("method") == "notify" and "No worker" in event["message"], start=0)
        pi.prompt("second")
        assert pi.statuses()[:2] == ["memory: reviewing 1 turn", None]
        changed, failed, notice = pi.notified()[:3]
    assert changed.splitlines() == [
        "A review changed memory",
        "- Deploy by hand.",
        "+ Deploy with make ship.",
        "Undo: /memory undo 4",
    ]
    assert failed.splitlines() == ["A review failed", "Retry: /memory review retry J1"]
    assert notice == "Perdure: No worker is alive."
    kept = [entry for entry in user.session() if entry.get("customType") == "perdure-card"]
    assert len(kept) >= 2
    assert b"make ship" not in server.requests[1].body
