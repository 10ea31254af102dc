"""`perdure hook`: what Claude Code, Codex and Gemini CLI see of memory, and what memory learns from them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from perdure.hosts.hook_work import EMPTIED, REPLACES
from tests.e2e.command_line import Perdure
from tests.e2e.hook_host import PATIENT, HookHost, eventually, needs_proc
from tests.session_files import Rollout

SAID = "Please always run the formatter before you commit in this project."
TELLS = """
import pathlib
import perdure.hosts.sessions as sessions
plain = sessions.read_session
def read(path):
    found = plain(path)
    pathlib.Path({!r}).touch()
    return found
sessions.read_session = read
"""
"""Leaves a file where a transcript has been read."""

pytestmark = needs_proc


@pytest.fixture
def claude(perdure: Perdure) -> HookHost:
    """Give a session of Claude Code in the project."""
    return HookHost(perdure.project, perdure.home)


@pytest.mark.requirement("I-01", "I-02", "I-03", "I-04")
def test_a_session_start_is_given_the_block_that_inject_prints(perdure: Perdure, claude: HookHost) -> None:
    """The same text, in a folder below the root too, and it counts as exposure in that session."""
    perdure("remember", "Use pnpm here.")
    below = perdure.project / "packages" / "ui"
    below.mkdir(parents=True)
    text = claude.run("SessionStart", cwd=str(below))
    assert text == perdure("inject").out.removesuffix("\n")
    assert "Use pnpm here." in text
    (exposed,) = perdure.home.glob("projects/*/exposure/*")
    assert list(json.loads(exposed.read_bytes())) == [perdure.json("list")["entries"][0]["id"]]


@pytest.mark.requirement("I-01")
def test_a_prompt_is_given_the_block_only_when_it_changed(perdure: Perdure, claude: HookHost) -> None:
    """A host keeps what it was given: nothing twice, a change at the next prompt, all after a compaction."""
    perdure("remember", "Use pnpm here.")
    assert "Use pnpm" in claude.run("SessionStart")
    assert claude.run("UserPromptSubmit") == ""
    perdure("remember", "Node is at 22.")
    changed = claude.run("UserPromptSubmit")
    assert changed == f"{REPLACES}\n{perdure('inject').out}".removesuffix("\n")
    assert claude.run("UserPromptSubmit") == ""
    assert "Node is at 22." in claude.run("SessionStart", source="compact")
    assert claude.run("UserPromptSubmit", session_id="another").startswith("<perdure-memory>")


@pytest.mark.requirement("I-01", "M-12")
def test_a_memory_that_became_empty_is_said_to_be_empty(perdure: Perdure, claude: HookHost) -> None:
    """What was forgotten does not go on counting because it stands in the host's history."""
    perdure("remember", "Use pnpm here.")
    claude.run("SessionStart")
    perdure("forget", "pnpm")
    assert claude.run("UserPromptSubmit") == EMPTIED
    assert claude.run("UserPromptSubmit") == ""


def test_gemini_is_given_the_block_again_after_it_cut_its_history(perdure: Perdure) -> None:
    """It tells of a compression before and of no session start after it."""
    perdure("remember", "Use pnpm here.")
    gemini = HookHost(perdure.project, perdure.home, version="gemini-0.61")
    assert "Use pnpm" in gemini.run("BeforeAgent")
    assert gemini.run("BeforeAgent") == ""
    gemini.run("PreCompress")
    assert "Use pnpm" in gemini.run("BeforeAgent")


@pytest.mark.requirement("G-01", "K-04", "I-01")
def test_what_a_settled_turn_teaches_is_in_the_next_prompt(perdure: Perdure, claude: HookHost) -> None:
    """Claude Code's transcript -> a job -> its review by the rules -> the block of the next prompt."""
    assert claude.run("SessionStart") == ""
    assert claude.run("UserPromptSubmit") == ""
    claude.turn(SAID, "I will.")
    assert claude.run("Stop") == ""
    (job,) = perdure.json("jobs", "list", "--all")["jobs"]
    assert job["state"] == "applied"
    assert "formatter" in claude.run("UserPromptSubmit")
    claude.run("Stop")
    claude.run("SessionEnd")
    assert len(perdure.json("jobs", "list", "--all")["jobs"]) == 1
    assert claude.log() == ""
    perdure("verify")


@pytest.mark.requirement("G-05", "K-04")
def test_a_session_stays_in_the_project_of_its_first_hook(perdure: Perdure, claude: HookHost) -> None:
    """An agent that goes into another repository sees the same memory, and its turns go nowhere else."""
    other = perdure.project / "vendor"
    (other / ".git").mkdir(parents=True)
    perdure("remember", "Use pnpm here.")
    perdure("remember", "Use yarn there.", "--project", str(other))
    assert "pnpm" in claude.run("SessionStart")
    assert claude.run("UserPromptSubmit", cwd=str(other)) == ""
    claude.turn(SAID, "I will.")
    claude.run("Stop", cwd=str(other))
    assert "formatter" not in perdure("list", "--project", str(other)).out
    assert [text for text in perdure.texts() if "formatter" in text]
    assert "yarn" in claude.run("SessionStart", session_id="another", cwd=str(other))


@pytest.mark.requirement("K-04")
def test_turns_from_before_the_session_was_enrolled_stay_out(perdure: Perdure, claude: HookHost) -> None:
    """The first hook of a session enrols it; what settled before needs a backfill."""
    claude.turn("Please always use tabs in this project.", "I will.")
    claude.run("SessionStart", source="resume")
    claude.run("Stop")
    assert perdure.json("jobs", "list", "--all")["jobs"] == []
    claude.turn(SAID, "I will.")
    claude.run("Stop")
    assert [text for text in perdure.texts() if "tabs" in text] == []
    assert [text for text in perdure.texts() if "formatter" in text]


@pytest.mark.requirement("G-01", "K-04")
def test_the_next_hook_takes_in_what_a_lost_one_did_not(perdure: Perdure, claude: HookHost) -> None:
    """A turn whose stop hook never ran is taken in with the next; one that was stopped never is."""
    claude.run("SessionStart")
    claude.turn(SAID, "I will.")
    claude.turn("Please always use tabs in this project.", None)
    claude.transcript.user("[Request interrupted by user]")
    claude.transcript.write(claude.file.parent, claude.file.name)
    claude.run("SessionEnd")
    assert [text for text in perdure.texts() if "formatter" in text]
    assert not [text for text in perdure.texts() if "tabs" in text]


@pytest.mark.requirement("G-01")
def test_a_transcript_that_is_written_late_is_waited_for(perdure: Perdure, claude: HookHost) -> None:
    """Hosts run the stop hook before the turn's last lines are in the file: it is read until they are."""
    claude.run("SessionStart")
    claude.turn(SAID, None)
    read = claude.file.with_name("read")
    claude.under(f"{PATIENT}\n{TELLS.format(str(read))}")
    claude.start("Stop")
    eventually(read.exists)
    claude.transcript.says("I will.")
    claude.transcript.write(claude.file.parent, claude.file.name)
    claude.wait()
    assert [text for text in perdure.texts() if "formatter" in text]


@pytest.mark.requirement("G-01")
def test_a_host_that_ends_takes_nothing_with_it(perdure: Perdure, claude: HookHost) -> None:
    """Hosts end their hooks' process groups; what was started there goes on."""
    claude.run("SessionStart")
    claude.turn(SAID, None)
    with subprocess.Popen(
        claude.command("Stop"), stdin=subprocess.PIPE, env={**os.environ, **claude.env}, process_group=0
    ) as running:
        running.communicate(json.dumps(claude.payload("Stop")).encode())
        left = claude.others()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert claude.others() == left
    assert len(left) == 1
    claude.transcript.says("I will.")
    claude.transcript.write(claude.file.parent, claude.file.name)
    claude.wait()
    assert [text for text in perdure.texts() if "formatter" in text]


@pytest.mark.requirement("E-10")
def test_a_turn_that_gemini_tells_is_sanitised_like_every_other(perdure: Perdure) -> None:
    """From the payload alone, and a secret in it makes it no evidence."""
    gemini = HookHost(perdure.project, perdure.home, version="gemini-0.61")
    gemini.run("SessionStart")
    now = {"timestamp": "2999-01-01T00:00:00.000Z"}
    gemini.run("AfterAgent", prompt=f"{SAID}\n--- Content from referenced files ---\nFILE-MARK", **now)
    assert [text for text in perdure.texts() if "formatter" in text]
    assert not [path for path, data in perdure.files().items() if b"FILE-MARK" in data]
    (job,) = perdure.json("jobs", "list", "--all")["jobs"]
    gemini.run("AfterAgent", prompt=f"{SAID}\n--- Content from referenced files ---\nFILE-MARK", **now)
    assert len(perdure.json("jobs", "list", "--all")["jobs"]) == 1
    assert job["state"] == "applied"
    secret = "ghp_" + "a1B2" * 9
    gemini.run(
        "AfterAgent", prompt=f"Always log in with {secret} here.", timestamp="2999-01-01T00:00:01.000Z"
    )
    assert not [path for path, data in perdure.files().items() if secret.encode() in data]


@pytest.mark.parametrize("mode", ["shadow", "external"])
def test_only_embedded_mode_reviews(perdure: Perdure, claude: HookHost, mode: str) -> None:
    """In the other modes the job waits for a worker."""
    (perdure.home / "config.toml").write_text(f'mode = "{mode}"\n')
    claude.run("SessionStart")
    claude.turn(SAID, "I will.")
    claude.run("Stop")
    (job,) = perdure.json("jobs", "list", "--all")["jobs"]
    assert job["state"] == "queued"
    assert perdure.texts() == []


@pytest.mark.requirement("G-01", "K-04")
def test_a_turn_of_codex_is_taken_in_from_its_rollout(perdure: Perdure) -> None:
    """Also when its end is written after the stop hook; a session without a file teaches nothing."""
    codex = HookHost(perdure.project, perdure.home, version="codex-0.171")
    codex.run("SessionStart")
    codex.run("Stop", transcript_path=None)
    rollout = Rollout(cwd=str(perdure.project))
    rollout.ms = time.time_ns() // 1_000_000
    rollout.turn("t1", SAID, "I will.", end="")
    rollout.write(codex.file.parent, codex.file.name)
    codex.start("Stop")
    assert perdure.texts() == []
    rollout.event("task_complete", turn_id="t1", last_agent_message="I will.")
    rollout.write(codex.file.parent, codex.file.name)
    codex.wait()
    assert "formatter" in codex.run("UserPromptSubmit")
