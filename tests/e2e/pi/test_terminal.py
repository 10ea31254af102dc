"""What a user of Pi's terminal sees: screens as text, compared with those in tests/data/pi-screens."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from tests.e2e.pi.conftest import Begin
from tests.e2e.pi.model import calls, remembers, says, system_text
from tests.e2e.pi.terminal import Terminal, check_screen

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="tmux is missing: no terminal to draw in"
)

READY = "scripted"
"""The model's name in Pi's last line: it has started."""


def test_a_tool_call_shows_what_changed(begin: Begin) -> None:
    """A write shows its diff, a long answer is folded, and opens with Pi's key for it."""
    recall = calls("memory", {"action": "recall", "question": "which facts?"}, call="call_2")
    user, _server = begin(remembers("Use tabs.", key="indent"), recall, says("All done."), initialised=False)
    user.use_fake_child()
    with Terminal(user) as pi:
        pi.until(READY)
        pi.enter("use memory")
        check_screen("tool", pi.until("All done."))
        pi.press("C-o")
        check_screen("tool-open", pi.until("Fact number 8."))


def test_commands_are_completed(begin: Begin) -> None:
    """Behind /memory stand its commands, and behind /memory use the branches."""
    user, _server = begin(initialised=False)
    user.use_fake_child()
    with Terminal(user) as pi:
        pi.until(READY)
        pi.type("/memory re")
        pi.until("take a change back", gone=True)
        check_screen("complete", pi.until("what became of the reviews"))
        pi.press("Escape")
        pi.until("store a fact", gone=True)
        pi.press("C-c")
        pi.until("/memory re", gone=True)
        pi.type("/memory use ")
        check_screen("complete-branch", pi.until("trial"))


def test_the_status_is_a_panel_that_lives(begin: Begin) -> None:
    """/memory status opens a panel, which is asked again while it is open, and closes with a key."""
    user, _server = begin(initialised=False)
    notes = user.use_fake_child()
    with Terminal(user) as pi:
        pi.until(READY)
        pi.enter("/memory status ")
        check_screen("status", pi.until("closes this panel"))
        while len(notes.asked("status")) < 3:
            pi.until("reviews  none open")
        pi.press("Escape")
        pi.until("closes this panel", gone=True)


def test_reviews_are_told_by_cards(begin: Begin) -> None:
    """A card shows what changed and how to undo it, another how to retry; the next start shows both."""
    user, server = begin(says("Settled."), says("Again."), initialised=False)
    user.use_fake_child("settled-events")
    with Terminal(user) as pi:
        pi.until(READY)
        pi.enter("work")
        check_screen("cards", pi.until("No worker is alive."))
        pi.enter("more")
        pi.until("Again.")
    assert "make ship" not in system_text(server.requests[1])
    user.use_fake_child()
    with Terminal(user, "--continue") as pi:
        pi.until("/memory review retry J1")


def test_what_is_missing_is_said_once(begin: Begin) -> None:
    """Without Python the first screen says so, and the conversation goes on."""
    user, _server = begin(says("Still here."), initialised=False)
    user.use_python("/nowhere/python")
    with Terminal(user) as pi:
        pi.until("memory is not available")
        pi.enter("hello")
        check_screen("missing", pi.until("Still here."))


def test_a_killed_child_is_said_and_replaced(begin: Begin) -> None:
    """SIGKILL of the child shows one line; the next turn has memory again."""
    user, server = begin(says("One."), says("Two."), initialised=False)
    notes = user.use_fake_child()
    with Terminal(user) as pi:
        pi.until(READY)
        pi.enter("first")
        pi.until("One.")
        os.kill(notes.pids()[0], signal.SIGKILL)
        pi.until("it was ended by SIGKILL")
        pi.enter("second")
        pi.until("Two.")
    assert "from the fake child" in system_text(server.requests[1])
