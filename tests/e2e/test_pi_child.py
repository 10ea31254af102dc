"""A real child of Pi's extension: every request, and whatever goes wrong around it."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perdure.authority.filesystem.project import find_project
from perdure.hosts.pi_protocol import LINE_BYTES_MAX
from tests.e2e.command_line import Perdure
from tests.loopback import LoopbackServer, ok
from tests.pi_child import DEADLINE_SECONDS, PiChild
from tests.session_files import PiSession

WISH = "Please always use tabs in this project."
FACT = "Releases are cut on Thursdays."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the session's file is going to be."""
    return tmp_path / "session-1.jsonl"


def settled(path: Path, *wishes: str, session: str = "session-1", ago_ms: int = 0) -> None:
    """Write a session's file in which these turns have settled, the last one just now or `ago_ms` ago."""
    said = PiSession(session_id=session)
    for wish in wishes:
        settle(said, path, wish, ago_ms=ago_ms)


def settle(said: PiSession, path: Path, wish: str, *, ago_ms: int = 0) -> None:
    """One turn more has settled now, or `ago_ms` ago, and stands in the file."""
    settled_ms = int(time.time() * 1000) - ago_ms
    said.ms = settled_ms - 1_000  # an entry is a second later than the one before
    said.user(wish)
    said.ms = settled_ms - 1_000
    said.says("I will.")
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in said.entries), encoding="utf-8")


def jobs(perdure: Perdure, *words: str) -> list[dict[str, Any]]:
    """The review jobs of the project."""
    found = perdure.json("jobs", "list", *words)["jobs"]
    assert isinstance(found, list)
    return found


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@contextmanager
def held_lock(perdure: Perdure) -> Iterator[None]:
    """Hold the project's lock, as another process would."""
    key = find_project(str(perdure.project)).key
    descriptor = os.open(perdure.home / "projects" / key, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# -- what is asked


@pytest.mark.requirement("G-04", "I-01")
def test_a_session_reads_writes_and_is_given_its_memory(perdure: Perdure) -> None:
    """Hello says where it is; what is remembered is durable, in the next turn, and explained by why."""
    with PiChild(perdure.project) as pi:
        data = pi.hello["data"]
        assert (data["project"], data["branch"], data["capture"]) == (str(perdure.project), "main", False)
        assert pi.ask("turn", prompt="hi")["data"] == {"section": "", "included": 0, "branch": "main"}
        told = pi.ask("remember", text=FACT, key="release day")
        assert told["text"].startswith("Remembered on branch main, revision 1:")
        assert perdure.texts() == [FACT]
        turn = pi.ask("turn", prompt="When do we release?")["data"]
        assert f"- release day: {FACT}" in turn["section"]
        assert turn["included"] == 1
        assert FACT in pi.ask("why")["text"]
        assert FACT in pi.ask("recall", question="release day")["text"]
        assert pi.ask("recall", question="Which colour has the heron?")["data"]["entries"] == []
        assert "~" in pi.ask("replace", which="release day", text="On Mondays.")["text"]
        assert pi.ask("list")["data"]["count"] == 1
        assert "On Mondays." in pi.ask("show")["text"]
        assert "Undone" in pi.ask("undo")["text"]
        assert perdure.texts() == [FACT]
        assert "Forgotten" in pi.ask("forget", which="release day")["text"]
        assert perdure.texts() == []


@pytest.mark.requirement("I-01", "M-02")
def test_branches_belong_to_the_session(perdure: Perdure) -> None:
    """A fork is used by this session only; a session that comes back to it is given it again."""
    with PiChild(perdure.project) as pi, PiChild(perdure.project, session="other") as other:
        pi.ask("remember", text=FACT)
        assert pi.ask("fork", name="trial")["data"]["branch"] == "trial"
        pi.ask("remember", text="Only in the trial.")
        assert "Only in the trial." in pi.ask("turn", prompt="")["data"]["section"]
        section = other.ask("turn", prompt="")["data"]["section"]
        assert FACT in section
        assert "Only in the trial." not in section
        assert [row["used"] for row in pi.ask("branches")["data"]["branches"]] == [False, True]
        assert pi.ask("use", name="main")["ok"]
        assert pi.ask("use", name="nowhere")["error"]["code"] == "not-found"
        assert "Only in the trial." not in pi.ask("show")["text"]
    with PiChild(perdure.project, branch="trial") as again:
        assert again.hello["data"]["branch"] == "trial"
        assert again.ask("turn", prompt="")["data"]["branch"] == "trial"
    with PiChild(perdure.project, branch="nowhere") as lost:
        assert lost.hello["error"]["code"] == "not-found"


def test_what_changes_nothing_is_answered(perdure: Perdure) -> None:
    """Moves and compactions need nothing; lists of reviews may be empty; goodbye ends the child."""
    with PiChild(perdure.project) as pi:
        for op in ("moved", "compacted"):
            assert pi.ask(op) == {"id": pi._count, "ok": True, "text": "", "data": {}}
        assert pi.ask("reviews")["data"] == {"jobs": [], "count": 0}
        assert pi.ask("inbox")["data"] == {"cards": []}
        assert pi.ask("review")["data"] == {"jobs": 0}
        assert "capture  off" in pi.ask("status")["text"]
        assert pi.ask("bye")["ok"]
        assert pi.process.wait(DEADLINE_SECONDS) == 0
        assert pi.complaints() == ""


@pytest.mark.requirement("I-04")
def test_what_a_session_was_given_counts_as_exposure(perdure: Perdure) -> None:
    """It is noted once the answer is out."""
    with PiChild(perdure.project) as pi:
        pi.ask("remember", text=FACT)
        pi.ask("turn", prompt="hi")
        pi.ask("status")  # what comes after an answer is done before the next one
        noted = [path for path in perdure.home.glob("projects/*/exposure/*") if path.is_file()]
        assert len(noted) == 1


@pytest.mark.requirement("I-02")
def test_an_entry_that_a_prompt_is_about_finds_room(perdure: Perdure) -> None:
    """When not all has room, the prompt chooses."""
    (perdure.home / "config.toml").write_text("[injection]\ncharacters = 700\n")
    perdure(
        "remember", "Deploy the shop with make ship; staging first, production later.", "--importance", "low"
    )
    for number in range(12):
        perdure("remember", f"The module number {number} belongs to the team that wrote it.")
    with PiChild(perdure.project) as pi:
        assert "make ship" not in pi.ask("turn", prompt="")["data"]["section"]
        assert "make ship" in pi.ask("turn", prompt="Please deploy the shop.")["data"]["section"]
        assert "Without room" in pi.ask("why")["text"]


# -- evidence


@pytest.mark.requirement("K-04", "F-01", "F-03")
def test_a_settled_turn_is_captured_reviewed_and_told(perdure: Perdure, file: Path) -> None:
    """In embedded mode the review runs beside the session; a card tells what changed and how to undo it."""
    with PiChild(perdure.project, file=file) as pi:
        assert pi.hello["data"]["capture"] is True
        settled(file, WISH)
        assert pi.ask("settled", sessionFile=str(file))["data"] == {"jobs": 1, "turns": 1}
        assert pi.event("progress")["text"].startswith("reviewing")
        card = pi.event("card")["card"]
        assert card["state"] == "applied"
        assert any("tabs" in line["text"] for line in card["diff"])
        assert card["undo"] == f"/memory undo {card['revision']}"
        pi.event("progress", text="")
        assert pi.ask("settled", sessionFile=str(file))["data"] == {"jobs": 0, "turns": 0}
        assert "applied" in pi.ask("reviews")["text"]
        assert card["title"] in pi.ask("inbox")["text"]
    assert any("tabs" in text for text in perdure.texts())
    with PiChild(perdure.project, session="next", file=file.with_name("next.jsonl")) as pi:
        pi.ask("undo", revision=card["revision"])
        time.sleep(1)  # more than enough for a look, which has nothing to tell
        pi.ask("status")
        assert pi.cards() == []


@pytest.mark.requirement("F-03")
def test_news_that_nobody_has_seen_are_told_by_the_next_session(perdure: Perdure, file: Path) -> None:
    """What a review did while no session was open is told by the first one that somebody sees, and once."""
    (perdure.home / "config.toml").write_text('mode = "external"\n')
    with PiChild(perdure.project, file=file, mode="print") as pi:
        settled(file, WISH)
        assert pi.ask("settled", sessionFile=str(file))["data"]["jobs"] == 1
    perdure("review", "--once")
    with PiChild(perdure.project, session="a", file=file.with_name("a"), mode="print") as unseen:
        with PiChild(perdure.project, session="b", file=file.with_name("b"), mode="tui") as seen:
            assert seen.event("card")["card"]["state"] == "applied"
        unseen.ask("status")
        assert unseen.cards() == []


@pytest.mark.requirement("K-04")
def test_turns_from_before_the_enrolment_stay_out(perdure: Perdure, file: Path) -> None:
    """What was in the session's file before its first hello is taken in by backfill only."""
    settled(file, "Please always squash commits.", WISH, ago_ms=60_000)
    with PiChild(perdure.project, file=file) as pi:
        assert pi.ask("settled", sessionFile=str(file))["data"] == {"jobs": 0, "turns": 0}
    assert jobs(perdure) == []


@pytest.mark.requirement("K-04")
def test_what_a_killed_session_left_is_found_by_the_next(perdure: Perdure, file: Path) -> None:
    """SIGKILL before the turn was handed over: any later session of the project takes it in, once."""
    (perdure.home / "config.toml").write_text('mode = "external"\n')
    pi = PiChild(perdure.project, file=file)
    pi.process.send_signal(signal.SIGKILL)
    pi.close()
    settled(file, WISH)
    assert jobs(perdure) == []
    with (
        PiChild(perdure.project, session="two", file=file.with_name("two.jsonl")),
        PiChild(perdure.project, session="three", file=file.with_name("three.jsonl")),
    ):
        until(lambda: len(jobs(perdure)) == 1)
    assert len(jobs(perdure)) == 1


def test_a_pause_lasts_and_what_settles_in_it_stays_out(perdure: Perdure, file: Path) -> None:
    """Pause takes in what has settled, then nothing, over a restart too; resume begins anew."""
    (perdure.home / "config.toml").write_text('mode = "external"\n')
    said = PiSession(session_id="session-1")
    with PiChild(perdure.project, file=file) as pi:
        settle(said, file, "One wish: always use spaces.")
        assert pi.ask("pause")["data"] == {"capture": False}
        assert len(jobs(perdure)) == 1
        settle(said, file, WISH)
        assert pi.ask("settled", sessionFile=str(file))["data"]["turns"] == 0
    with PiChild(perdure.project, file=file) as pi:
        assert pi.hello["data"]["capture"] is False
        assert "/memory resume" in pi.hello["data"]["notice"]
        assert "paused" in pi.ask("status")["text"]
        time.sleep(0.01)
        assert pi.ask("resume")["data"] == {"capture": True}
        settle(said, file, "A third wish: never use tabs.")
        assert pi.ask("settled", sessionFile=str(file))["data"]["turns"] == 1


def test_a_session_that_is_not_saved_is_never_evidence(perdure: Perdure, file: Path) -> None:
    """Without a session file nothing is taken in, whatever is asked."""
    settled(file, WISH)
    with PiChild(perdure.project) as pi:
        assert pi.ask("settled", sessionFile=str(file))["data"] == {"jobs": 0, "turns": 0}
        assert pi.ask("pause")["data"] == {"capture": False}
        assert pi.ask("resume")["data"] == {"capture": False}


def test_another_file_than_the_sessions_own_is_not_taken_in(perdure: Perdure, file: Path) -> None:
    """A file of a session that was never enrolled holds nothing for this one; a file that is none is said."""
    other = file.with_name("other.jsonl")
    settled(other, WISH, session="other")
    with PiChild(perdure.project, file=file) as pi:
        assert pi.ask("settled", sessionFile=str(other))["data"] == {"jobs": 0, "turns": 0}
        file.write_text("no session\n")
        assert pi.ask("settled", sessionFile=str(file))["error"]["code"] == "usage"


@pytest.mark.requirement("F-04")
def test_a_review_is_ordered_and_retried(perdure: Perdure, file: Path) -> None:
    """In external mode the status says that nobody reviews; an order reviews, a retry makes a generation."""
    (perdure.home / "config.toml").write_text('mode = "external"\n')
    with PiChild(perdure.project, file=file, mode="print") as pi:
        settled(file, "What is the time?")
        pi.ask("settled", sessionFile=str(file))
        assert "no worker is alive" in pi.ask("status")["text"]
        assert pi.ask("review")["data"] == {"jobs": 1}
        assert pi.events[-1]["text"] == "reviewing 1"  # told before the answer: whoever waits for the end can
        pi.event("progress", text="")
        (row,) = pi.ask("reviews")["data"]["jobs"]
        told = pi.ask("retry", job=row["short"])
        assert told["data"]["generation"] == 2
        assert pi.ask("retry", job="ffff")["error"]["code"] == "not-found"
    assert len(jobs(perdure)) == 2


@pytest.mark.requirement("A-04", "G-01")
def test_the_end_of_a_session_stops_its_review_after_the_call_in_hand(perdure: Perdure, file: Path) -> None:
    """The child ends at once; the call that was under way is used and not lost, and no other one is made."""
    answer = {
        "choices": [{"message": {"content": '{"operations":[]}'}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }
    slow = dataclasses.replace(ok(answer), wait_seconds=2.0)
    with LoopbackServer([slow, slow]) as server:
        (perdure.home / "config.toml").write_text(
            f'[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}/v1"\n'
            'credential = "REVIEWER_KEY"\n'
            "price = { input_usd_per_million = 1.0, output_usd_per_million = 2.0 }\n"
        )
        with PiChild(perdure.project, file=file, env={"REVIEWER_KEY": "k" * 24}) as pi:
            settled(file, WISH)
            pi.ask("settled", sessionFile=str(file))
            until(lambda: len(server.requests) == 1)
            settled(file, WISH, "Never use spaces in this project.")
            assert pi.ask("settled", sessionFile=str(file))["data"]["jobs"] == 1
            assert pi.end_input() == 0
        assert [job["state"] for job in jobs(perdure)] == ["in flight", "queued"]
        until(lambda: not list((perdure.home / "run" / "workers").iterdir()))
        assert [job["state"] for job in jobs(perdure)] == ["no-op", "queued"]
        assert len(server.requests) == 1


def test_shadow_mode_captures_and_reviews_nothing(perdure: Perdure, file: Path) -> None:
    """The turn becomes a job that observes; no review is started."""
    (perdure.home / "config.toml").write_text('mode = "shadow"\n')
    with PiChild(perdure.project, file=file) as pi:
        settled(file, WISH)
        assert pi.ask("settled", sessionFile=str(file))["data"]["jobs"] == 1
        pi.ask("status")
    assert [job["state"] for job in jobs(perdure)] == ["queued"]
    assert perdure.texts() == []


# -- what goes wrong


def test_a_home_that_was_not_made_is_said_and_found_later(
    tmp_path: Path, perdure_home: Path, file: Path
) -> None:
    """Hello says what to do; nothing is made by looking; after init the same child works."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    with PiChild(project, file=file) as pi:
        assert pi.hello["data"]["capture"] is False
        assert "perdure init" in pi.hello["data"]["notice"]
        assert pi.ask("turn", prompt="hi")["data"]["section"] == ""
        assert pi.ask("remember", text=FACT)["error"]["code"] == "not-found"
        assert not perdure_home.exists()
        from perdure.app import App

        App.open(create=True).close()
        assert pi.ask("remember", text=FACT)["ok"]
        assert FACT in pi.ask("turn", prompt="hi")["data"]["section"]


def test_a_folder_that_can_be_no_project_is_said(perdure: Perdure) -> None:
    """In the user's own folder Pi goes on without memory."""
    with PiChild(Path(os.environ["HOME"])) as pi:
        assert pi.hello["ok"]
        assert pi.hello["data"]["notice"]
        assert pi.ask("turn", prompt="hi")["data"]["section"] == ""
    assert perdure.texts() == []


def test_a_protocol_of_another_release_names_who_is_to_be_updated(perdure: Perdure) -> None:
    """The side that is older is named; the child lives on."""
    with PiChild(perdure.project, greet=False) as pi:
        assert "hello" in pi.ask("turn", prompt="x")["error"]["message"]
        hello = {"session": "s", "sessionFile": None, "cwd": str(perdure.project), "branch": None}
        newer = pi.ask("hello", protocol=2, mode="tui", extension="9", **hello)
        assert "The installed Perdure is older" in newer["error"]["advice"]
        older = pi.ask("hello", protocol=0, mode="tui", extension="0", **hello)
        assert "The extension is older" in older["error"]["advice"]
        assert pi.ask("hello", protocol=1, mode="tui", extension="1", **hello)["ok"]


@pytest.mark.requirement("S-05")
def test_lines_that_are_no_request_cost_nothing_else(perdure: Perdure) -> None:
    """Bad JSON, unknown operations, wrong types and endless lines are answered; the next request is too."""
    with PiChild(perdure.project) as pi:
        pi.write(b"not JSON\n\xff\xfe\n\n")
        for _ in range(3):
            assert pi.answer(0)["error"]["code"] == "usage"
        assert pi.ask("sing")["error"]["code"] == "usage"
        assert pi.ask("turn", prompt=5)["error"]["code"] == "usage"
        assert pi.ask("turn", prompt="x", more=1)["error"]["code"] == "usage"
        pi.write(b"x" * (LINE_BYTES_MAX + 5) + b"\n")
        assert pi.answer(0)["error"]["code"] == "too-long"
        assert pi.ask("status")["ok"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are seen in /proc alone")
def test_nothing_but_the_protocol_can_reach_standard_output(perdure: Perdure) -> None:
    """What a library prints goes to standard error."""
    with PiChild(perdure.project) as pi:
        open_files = Path(f"/proc/{pi.process.pid}/fd")
        assert (open_files / "1").readlink() == (open_files / "2").readlink()


def test_long_prompts(perdure: Perdure) -> None:
    """A prompt of one megabyte is answered like any other, one of five is refused, and the child goes on."""
    with PiChild(perdure.project) as pi:
        pi.ask("remember", text=FACT)
        assert FACT in pi.ask("turn", prompt="ein Wort, ä, mehr. " * 50_000)["data"]["section"]
        refused = pi.post("turn", prompt="x" * 5_000_000)
        assert pi.answer(0)["error"]["code"] == "too-long"
        assert FACT in pi.ask("turn", prompt="x")["data"]["section"]
        assert refused == pi._count - 1


@pytest.mark.parametrize("text", ["Grüße – 日本語 🛰 e\u0301", "two\nlines and more"])
def test_odd_text_comes_back_as_it_was_stored(perdure: Perdure, text: str) -> None:
    """What the rules of memory allow goes through the wire whole, whatever the locale."""
    with PiChild(
        perdure.project, env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    ) as pi:
        stored = pi.ask("remember", text=text)["data"]["entry"]["text"]
        assert stored == perdure.texts()[0]
        assert pi.ask("list")["data"]["entries"][0]["text"] == stored
        assert pi.ask("remember", text="zero\u200bwidth")["ok"] in {True, False}
        pi.write(b'{"id":99,"op":"turn","prompt":"\\ud800"}\n')
        assert pi.answer(0)["error"]["code"] == "usage"


@pytest.mark.requirement("E-04")
def test_what_may_not_be_stored_is_refused_with_its_reason(perdure: Perdure) -> None:
    """A secret is refused by its own code, with advice, and nothing of it is kept."""
    with PiChild(perdure.project) as pi:
        refused = pi.ask("remember", text="The database password is hunter2-Xk39!fq.")
        assert refused["error"]["code"] == "secret"
        assert refused["error"]["advice"]
        assert "hunter2" not in json.dumps(refused)
    assert perdure.texts() == []


def test_a_lock_held_by_another_is_answered_and_other_requests_are_not_lost(perdure: Perdure) -> None:
    """The write is refused by name once its wait is over; what was asked meanwhile is answered then."""
    with PiChild(perdure.project) as pi:
        pi.ask("remember", text="Before.")
        with held_lock(perdure):
            waits, turn = pi.post("remember", text=FACT), pi.post("turn", prompt="hi")
            assert pi.answer(waits)["error"]["code"] == "locked"
            assert "Before." in pi.answer(turn)["data"]["section"]
        assert pi.ask("remember", text=FACT)["ok"]


def test_the_end_of_input_ends_the_child_after_what_was_asked(perdure: Perdure) -> None:
    """Requests that came before the end are done, and the child complains of nothing."""
    with PiChild(perdure.project) as pi:
        for number in range(5):
            pi.post("remember", text=f"Fact number {number} of this project.")
        assert pi.end_input() == 0
        assert pi.complaints() == ""
    assert len(perdure.texts()) == 5
    perdure("verify")


def test_the_end_of_input_ends_a_child_that_waits(perdure: Perdure) -> None:
    """A child that waits for a lock when Pi is gone ends before the wait is over; nothing is half done."""
    with PiChild(perdure.project) as pi:
        pi.ask("remember", text="Before.")
        with held_lock(perdure):
            pi.post("remember", text=FACT)
            assert pi.end_input() == 0
            assert pi.rest() == []  # it ended while it waited, and not with the answer
    assert perdure.texts() == ["Before."]
    perdure("verify")


@pytest.mark.requirement("G-04")
def test_a_child_killed_while_it_writes_leaves_whole_changes(perdure: Perdure) -> None:
    """SIGKILL in the middle of writing: everything that was answered stands, and memory verifies."""
    with PiChild(perdure.project) as pi:
        answered = [pi.ask("remember", text=f"Fact number {n} of this project.") for n in range(3)]
        for number in range(3, 20):
            pi.post("remember", text=f"Fact number {number} of this project.")
        pi.answer(answered[-1]["id"] + 1)
        pi.process.kill()
    assert len(perdure.texts()) >= 4
    perdure("verify")


@pytest.mark.requirement("I-01")
def test_two_children_of_one_project(perdure: Perdure) -> None:
    """Writes of two sessions at once are all kept, and each is in the other's next turn."""
    with PiChild(perdure.project) as one, PiChild(perdure.project, session="two") as two:
        asked = [
            (pi, pi.post("remember", text=f"Fact {name} {number} of this project."))
            for number in range(6)
            for name, pi in (("one", one), ("two", two))
        ]
        assert all(pi.answer(wanted)["ok"] for pi, wanted in asked)
        for pi in (one, two):
            assert pi.ask("turn", prompt="")["data"]["included"] == 12


def test_a_branch_that_cannot_be_read_is_said_once(perdure: Perdure) -> None:
    """Injection goes on without it, with one notice; the tools say what is wrong."""
    with PiChild(perdure.project) as pi:
        pi.ask("remember", text=FACT)
        (branch,) = perdure.home.glob("projects/*/branches/*")
        branch.write_bytes(branch.read_bytes().replace(b"Thursdays", b"Wednesday"))
        for _ in range(2):
            assert pi.ask("turn", prompt="hi")["data"]["section"] == ""
        notices = [event for event in pi.events if event["event"] == "notice"]
        assert len(notices) == 1
        assert pi.ask("show")["error"]["code"] == "damaged"
