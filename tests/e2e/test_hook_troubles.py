"""A hook in trouble: the host goes on, is told nothing wrong, and no turn is lost that can still be learnt.

What fails is put under the hook by a `sitecustomize` of the test, which Python runs before anything else; the
product has nothing for it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.app import App
from perdure.hosts.hook import STDIN_BYTES_MAX
from tests.e2e.command_line import Perdure
from tests.e2e.hook_host import PATIENT, HookHost, eventually, needs_proc

SAID = "Please always run the formatter before you commit in this project."
STUCK = """
import os, signal
plain = os.open
def stuck(path, *more, **named):
    if str(path).endswith("format"):
        os.kill(os.getpid(), signal.SIGSTOP)
    return plain(path, *more, **named)
os.open = stuck
"""
LATE = """
import os, time
plain = os.open
def late(path, *more, **named):
    if str(path).endswith("format"):
        time.sleep(1)
    return plain(path, *more, **named)
os.open = late
"""
NO_PROCESS = """
import os
def fork():
    raise BlockingIOError(11, "no process is left")
os.fork = fork
"""

pytestmark = needs_proc


@pytest.fixture
def claude(perdure: Perdure) -> HookHost:
    """Give a session of Claude Code in a project whose memory has an entry."""
    perdure("remember", "Grüße: use pnpm 🚀 here.")
    return HookHost(perdure.project, perdure.home)


@pytest.mark.requirement("I-01")
@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "latin-1"}],
    ids=["C", "POSIX", "latin-1"],
)
def test_the_locale_makes_no_difference(perdure: Perdure, env: dict[str, str]) -> None:
    """UTF-8 in and out, in a folder whose name is not ASCII either."""
    folder = perdure.project.parent / "дом 🚀 ‘x’"
    (folder / ".git").mkdir(parents=True)
    perdure("remember", "Grüße: use pnpm 🚀 here.", "--project", str(folder))
    host = HookHost(folder, perdure.home)
    host.env |= env
    for ascii_only in (True, False):
        payload = host.payload("SessionStart", session_id=f"Ü-{ascii_only}")
        done = host.raw("SessionStart", json.dumps(payload, ensure_ascii=ascii_only).encode())
        assert "Grüße: use pnpm 🚀 here." in host.context(done)
    host.wait()


def test_a_prompt_of_megabytes_and_half_a_character(claude: HookHost) -> None:
    """5 MB are read whole; lone surrogates, escaped or in the bytes, hurt nothing."""
    for prompt in ("x" * 5_000_000, "\ud83d alone", "\u2028\x00"):
        assert "pnpm" in claude.run("SessionStart", prompt=prompt)
    data = json.dumps(claude.payload("SessionStart", prompt="?")).encode().replace(b'"?"', b'"\xed\xa0\xbd"')
    assert "pnpm" in claude.context(claude.raw("SessionStart", data))
    claude.wait()


def test_too_much_is_read_to_its_end_and_not_used(claude: HookHost) -> None:
    """The host can write all of it, and nothing comes back."""
    data = json.dumps(claude.payload("Stop")).encode() + b" " * STDIN_BYTES_MAX
    done = claude.raw("Stop", data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    claude.wait()
    assert not (claude.home / "run" / "hooks").exists()


def test_standard_input_that_is_never_closed(claude: HookHost) -> None:
    """The hook ends while the host still holds the other end open; a session's start, with what came."""
    claude.under("import perdure.hosts.hook as hook; hook.START_SECONDS = 3.0")
    with subprocess.Popen(
        claude.command("SessionStart"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **claude.env},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(json.dumps(claude.payload("SessionStart")).encode())
        running.stdin.flush()
        assert b"pnpm" in running.stdout.read()
        assert running.wait(60) == 0
    claude.wait()


@pytest.mark.requirement("G-01")
def test_a_wedged_disk_holds_nobody_up(claude: HookHost) -> None:
    """The process that touches the home stops for good: the host's one ends with nothing said, each time."""
    claude.under(STUCK)
    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    try:
        for event in events:
            done = subprocess.run(
                claude.command(event),
                input=json.dumps(claude.payload(event)).encode(),
                capture_output=True,
                env={**os.environ, **claude.env},
                check=False,
                timeout=60,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        eventually(lambda: len(claude.others()) == len(events))
    finally:
        for process in claude.others():
            os.kill(process, signal.SIGKILL)
    claude.wait()
    claude.under(PATIENT)
    assert "pnpm" in claude.run("SessionStart")


@pytest.mark.requirement("I-01", "K-04")
def test_an_answer_that_comes_too_late_is_given_the_next_time(perdure: Perdure, claude: HookHost) -> None:
    """The host went on without it, so that the block does not count as shown; the session is enrolled."""
    claude.under(LATE)
    assert claude.run("UserPromptSubmit") == ""
    assert len(list((perdure.home / "run" / "hooks").glob("?" * 32))) == 1
    assert not list(perdure.home.glob("projects/*/exposure/*"))
    claude.under(PATIENT)
    assert "pnpm" in claude.run("UserPromptSubmit")
    assert claude.run("UserPromptSubmit") == ""


def test_no_file_of_the_host_stays_open(claude: HookHost) -> None:
    """A host that waits until a pipe of its own is closed everywhere waits for the hook and no longer."""
    claude.under(STUCK)
    reading, writing = os.pipe()
    try:
        subprocess.run(
            claude.command("Stop"),
            input=json.dumps(claude.payload("Stop")).encode(),
            env={**os.environ, **claude.env},
            pass_fds=(writing,),
            check=True,
        )
        os.close(writing)
        eventually(lambda: len(claude.others()) == 1)
        assert select.select([reading], [], [], 60)[0]
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)
        for process in claude.others():
            os.kill(process, signal.SIGKILL)
    claude.wait()


@pytest.mark.requirement("G-01", "K-04")
def test_without_a_process_the_next_hook_catches_up(perdure: Perdure, claude: HookHost) -> None:
    """The stop hook could start nothing: the turn is taken in at the session's end."""
    claude.run("SessionStart")
    claude.turn(SAID, "I will.")
    claude.under(NO_PROCESS)
    assert claude.run("Stop") == ""
    assert claude.run("UserPromptSubmit") == ""
    assert [text for text in perdure.texts() if "formatter" in text] == []
    claude.under(PATIENT)
    claude.run("SessionEnd")
    assert [text for text in perdure.texts() if "formatter" in text]


@pytest.mark.requirement("G-01", "I-01")
def test_a_held_lock_delays_the_review_and_no_prompt(perdure: Perdure, claude: HookHost) -> None:
    """While another process holds the project, prompts are answered; what settled waits for the lock."""
    app = App.open()
    try:
        with app.memory.hold(app.project(str(perdure.project)).key):
            assert "pnpm" in claude.context(claude.start("SessionStart"))
            eventually(lambda: any((perdure.home / "run" / "hooks").glob("?" * 32)))
            claude.turn(SAID, "I will.")
            claude.context(claude.start("Stop"))
            eventually(lambda: bool(perdure.json("jobs", "list", "--all")["jobs"]))
    finally:
        app.close()
    claude.wait()
    claude.run("SessionEnd")
    assert [text for text in perdure.texts() if "formatter" in text]


def _missing(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))


def _open_to_others(home: Path) -> None:
    home.chmod(0o777)


def _no_format(home: Path) -> None:
    (home / "format").write_bytes(b"{")


def _fifos(home: Path) -> None:
    for path in (home / "format", home / "config.toml"):
        path.unlink(missing_ok=True)
        os.mkfifo(path)


@pytest.mark.parametrize("change", [_missing, _open_to_others, _no_format, _fifos])
def test_a_home_that_cannot_be_used_is_no_home(claude: HookHost, change: Callable[[Path], None]) -> None:
    """No output, no error, no new home: the installer makes homes, `perdure verify` says what is wrong."""
    claude.turn(SAID, "I will.")
    change(claude.home)
    names = sorted(claude.home.parent.iterdir())
    for event in ("SessionStart", "UserPromptSubmit", "Stop"):
        assert claude.run(event) == ""
    assert sorted(claude.home.parent.iterdir()) == names
    if claude.home.exists():
        claude.home.chmod(0o700)


@pytest.mark.requirement("I-01")
def test_what_the_quick_way_leaves_to_the_full_one_is_answered_too(
    perdure: Perdure, claude: HookHost
) -> None:
    """With settings of the block, and with one of two branches damaged: the text of `perdure inject`."""
    (perdure.home / "config.toml").write_text("[injection]\ncharacters = 500\n")
    perdure("remember", "x" * 300)
    perdure("remember", "Everywhere: be brief.", "--user")
    assert claude.run("SessionStart") == perdure("inject").out.removesuffix("\n")
    (branch,) = perdure.home.glob("projects/*/branches/*")
    branch.write_bytes(b"{}")
    text = claude.run("SessionStart")
    assert "be brief" in text
    assert "pnpm" not in text


@pytest.mark.requirement("I-01")
def test_a_home_that_only_the_full_program_finds(
    perdure: Perdure, claude: HookHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the quick way cannot say where the home is, prompts and turns go on as everywhere."""
    monkeypatch.delenv("PERDURE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert claude.run("SessionStart") == ""
    perdure("init")
    perdure("remember", "Use yarn here.")
    assert "yarn" in claude.run("UserPromptSubmit")
    assert claude.run("UserPromptSubmit") == ""
    claude.turn(SAID, "I will.")
    claude.run("Stop")
    assert [text for text in perdure.texts() if "formatter" in text]


def test_a_folder_that_is_gone_and_one_that_can_be_no_project(
    perdure: Perdure, claude: HookHost, tmp_path: Path
) -> None:
    """Neither is worth a word."""
    gone = tmp_path / "gone"
    for folder in (str(gone), os.environ["HOME"], "/", "relative/\x00"):
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            assert claude.run(event, cwd=folder) == ""
    gone.mkdir()
    with subprocess.Popen(
        claude.command("SessionStart"),
        cwd=gone,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **claude.env},
    ) as running:
        gone.rmdir()
        out, _ = running.communicate(json.dumps(claude.payload("SessionStart")).encode(), timeout=60)
    assert b"pnpm" in out
    claude.wait()
    assert claude.log() == ""
    assert perdure.json("jobs", "list", "--all")["jobs"] == []


@pytest.mark.parametrize(
    "note", [b"", b"{", b"[]", b'{"enrolled_ms": 1, "root": "xy", "shown": ""}', b'{"shown": 7}', b"\xff"]
)
def test_a_damaged_note_is_a_new_session(perdure: Perdure, claude: HookHost, note: bytes) -> None:
    """The block is given once more, and the session is enrolled anew."""
    claude.run("SessionStart")
    (path,) = (perdure.home / "run" / "hooks").iterdir()
    before = json.loads(path.read_bytes())
    path.write_bytes(note)
    assert "pnpm" in claude.run("UserPromptSubmit")
    after = json.loads(path.read_bytes())
    assert (after["root"], after["shown"]) == (before["root"], before["shown"])
    assert after["enrolled_ms"] >= before["enrolled_ms"]
    assert claude.run("UserPromptSubmit") == ""


@pytest.mark.requirement("G-07")
def test_a_transcript_that_cannot_be_read_leaves_one_line(claude: HookHost) -> None:
    """The log is private and bounded, and names host, event and reason; a missing file is no reason."""
    claude.run("SessionStart")
    claude.file.write_text("no transcript\n")
    for _ in range(2):
        assert claude.run("SessionEnd") == ""
    lines = claude.log().splitlines()
    assert len(lines) == 2
    assert all("claude-code SessionEnd" in line and "UsageError" in line for line in lines)
    assert (claude.home / "run" / "hooks" / "log").stat().st_mode & 0o077 == 0
    claude.file.unlink()
    claude.run("SessionEnd")
    assert len(claude.log().splitlines()) == 2


@pytest.mark.parametrize("words", [(), ("codex",), ("codex", "PreToolUse"), ("claude", "Stop")])
def test_a_hook_that_we_do_not_have_never_blocks_the_host(claude: HookHost, words: tuple[str, ...]) -> None:
    """Exit status 2 would: whatever a host's configuration says, it is 0, and a person sees what there is."""
    command = [*claude.command("Stop")[:-2], *words]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"claude-code: SessionStart" in done.stderr


def test_a_host_that_reads_no_more(claude: HookHost) -> None:
    """An answer that nobody takes is no failure."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        claude.command("SessionStart"),
        input=json.dumps(claude.payload("SessionStart")).encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    claude.wait()


def test_the_last_sessions_are_kept(perdure: Perdure, claude: HookHost) -> None:
    """Sessions are small files, and their number is bounded."""
    from perdure.authority.filesystem.hooks import LOG_LINES_MAX, SESSIONS_MAX, FileHooks, HookSession

    app = App.open()
    try:
        hooks = FileHooks(app.records)
        for number in range(SESSIONS_MAX + 5):
            hooks.note(f"{number:032x}", HookSession(enrolled_ms=number, root=""))
        for number in range(LOG_LINES_MAX + 5):
            hooks.log(f"line {number}\nof {time.time_ns()}" + "x" * 1_000)
        assert hooks.session(f"{SESSIONS_MAX + 4:032x}") == HookSession(enrolled_ms=SESSIONS_MAX + 4, root="")
        assert len(list((perdure.home / "run" / "hooks").iterdir())) == SESSIONS_MAX + 1
    finally:
        app.close()
    lines = claude.log().splitlines()
    assert len(lines) == LOG_LINES_MAX
    assert lines[-1].startswith(f"line {LOG_LINES_MAX + 4} of ")
