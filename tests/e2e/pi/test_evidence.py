"""Evidence and reviews in the real Pi: what is captured, when Pi or a child is killed, and how it is told."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from tests.e2e.pi.conftest import Begin
from tests.e2e.pi.driver import PiUser
from tests.e2e.pi.model import says, system_text
from tests.e2e.pi.rpc import Rpc
from tests.loopback import Answer, LoopbackServer

WISH = "Please always use tabs in this project."
LEARNED = "tabs"
WAIT_SECONDS = 30.0


def test_a_settled_turn_becomes_memory_of_the_next_session(begin: Begin) -> None:
    """In embedded mode the child reviews after settling: a card tells it, the next session is given it."""
    user, server = begin(says("I will."))
    with Rpc(user) as pi:
        pi.prompt(WISH)
        card = _card(pi)
        assert LEARNED in card
        assert "Undo" in card
    assert any(LEARNED in text for text in user.texts())
    user.say("hi")
    assert LEARNED in system_text(server.requests[-1])


@pytest.mark.requirement("F-03")
def test_a_card_is_shown_once_across_sessions(begin: Begin) -> None:
    """Two sessions are open, and more are started: one of them shows what a review did, the others do not."""
    user, _server = begin(says("I will."))
    with Rpc(user) as first, Rpc(user) as second:
        first.prompt(WISH)
        _until(lambda: not _jobs(user, "--open") and bool(_jobs(user)))
        for pi in (first, second):
            pi.prompt("more")
            pi.prompt("and more")
    with Rpc(user) as third:
        third.prompt("later")
        cards = [text for pi in (first, second, third) for text in pi.notified() if "Undo" in text]
    assert len(cards) == 1


@pytest.mark.requirement("K-04")
def test_a_killed_pi_loses_no_settled_turn(begin: Begin) -> None:
    """SIGKILL of Pi and of a child that captured nothing: the session's next start captures the turn."""
    user, _server = begin(says("I will."), mode="external")
    with Rpc(user) as pi:
        assert pi.memory("status")  # greeted, and so enrolled
        child = pi.child()
        os.kill(child, signal.SIGSTOP)
        pi.prompt(WISH)
        pi.process.kill()
        pi.process.wait()
    os.kill(child, signal.SIGKILL)
    assert _jobs(user) == []
    with Rpc(user, "--continue") as pi:
        assert pi.memory("status")
        _until(lambda: len(_jobs(user)) == 1)


def test_a_run_that_was_aborted_is_no_evidence(begin: Begin) -> None:
    """A turn that the user stopped is not handed over; the turn after it is."""
    slow = Answer(
        body=says("Never heard.").body, headers={"content-type": "text/event-stream"}, wait_seconds=20
    )
    user, server = begin(slow, says("Done."))
    notes = user.use_fake_child()
    with Rpc(user) as pi:
        start = len(pi.events)
        pi.send(type="prompt", message=WISH)
        _until(lambda: len(server.requests) == 1)
        pi.send(type="abort")
        pi.wait(lambda event: event.get("type") == "agent_settled", start=start)
        pi.memory("status")
        assert notes.asked("settled") == []
        pi.prompt("again")
        pi.memory("status")
    assert len(notes.asked("settled")) == 1


def test_print_mode_hands_its_turn_over(begin: Begin) -> None:
    """`pi -p` is over at once, and its turn is a job all the same; /memory review reviews it, and waits."""
    user, _server = begin(says("I will."), mode="external")
    user.say(WISH)
    _until(lambda: bool(_jobs(user)))
    (job,) = _jobs(user, "--open")
    ran = user.say("/memory review")
    assert _jobs(user, "--open") == [], f"{job}\n{ran}"
    assert any(LEARNED in text for text in user.texts())


def test_capture_can_be_paused(begin: Begin) -> None:
    """Between pause and resume no turn is captured; the one after is."""
    user, _server = begin(says("One."), says("Two."), mode="external")
    with Rpc(user) as pi:
        assert "pause" in pi.memory("pause").lower()
        pi.prompt(WISH)
        pi.memory("status")
        assert _jobs(user) == []
        pi.memory("resume")
        pi.prompt("Please always run the tests before a commit.")
        _until(lambda: bool(_jobs(user)))
    _until(lambda: bool(_jobs(user)))


def test_shadow_mode_observes(begin: Begin) -> None:
    """In shadow mode turns are captured, and nothing changes memory."""
    user, _server = begin(says("I will."), mode="shadow")
    with Rpc(user) as pi:
        pi.prompt(WISH)
        _until(lambda: bool(_jobs(user)))
    user.perdure("review", "--once")
    assert user.texts() == []


def test_external_mode_says_when_no_worker_is_alive(begin: Begin) -> None:
    """In external mode a job waits for the worker, and the status says that there is none."""
    user, _server = begin(says("I will."), mode="external")
    with Rpc(user) as pi:
        pi.prompt(WISH)
        _until(lambda: bool(_jobs(user, "--open")))
        assert "worker" in pi.memory("status")


@pytest.mark.requirement("F-04")
def test_a_review_that_failed_is_retried_from_pi(begin: Begin) -> None:
    """A failure's card names the command that reviews the same evidence again, and the command does so."""
    user, _server = begin(says("I will."))
    config = user.home / "config.toml"
    user.env["REVIEWER_KEY"] = "none"
    with LoopbackServer([Answer(status=400)] * 9) as reviewer, ExitStack() as stack:
        config.write_text(
            f'[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "{reviewer.url}/v1"\n'
            'credential = "REVIEWER_KEY"\n'
            "price = { input_usd_per_million = 1.0, output_usd_per_million = 2.0 }\n"
        )
        pi = stack.enter_context(Rpc(user))
        pi.prompt(WISH)
        card = pi.wait(lambda event: "A review failed" in event.get("message", ""), start=0)["message"]
        assert len(reviewer.requests) == 1
        retry = card.splitlines()[-1].removeprefix("Retry: /memory ")
        assert retry.startswith("review retry ")
        assert user.texts() == []
        pi.wait(lambda event: event.get("method") == "setStatus" and not event.get("statusText"))
        config.write_text("")  # a review that still ran would go by the settings that it began with
        pi.memory(retry)
        assert LEARNED in _card(pi)
    assert any(LEARNED in text for text in user.texts())


def _jobs(user: PiUser, *words: str) -> list[dict[str, Any]]:
    found = json.loads(user.perdure("jobs", "list", "--json", *words))["jobs"]
    assert isinstance(found, list)
    return found


def _card(pi: Rpc) -> str:
    wanted = pi.wait(lambda event: event.get("method") == "notify" and "Undo" in event["message"], start=0)
    return str(wanted["message"])


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)
