"""Bad session files and strange folders, through the command line: each ends in a clear result.

The large files are read by a process of its own, so that its peak memory can be told.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure, Said, process
from tests.e2e.planted import run_quietly
from tests.session_files import PiSession, Transcript, iso

MEBIBYTE = 1024 * 1024
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}
PEAK_MIB_MAX = 200
"""What a capture of a 50 MB session may have resident at its peak, the interpreter and all."""

_MEASURED = """
import resource, sys
from perdure.cli.main import main
status = main(sys.argv[1:])
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, file=sys.stderr)
sys.exit(status)
"""


def measured(perdure: Perdure, *words: str) -> tuple[Said, float]:
    """Run a command in a process of its own; what it said, and its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *words], cwd=perdure.project, capture_output=True, check=False
    )
    *errors, peak = done.stderr.decode().splitlines()
    assert not errors, errors[-5:]
    return Said(done.returncode, done.stdout.decode(), ""), int(peak) / MEBIBYTE


def pi_lines(texts: Iterable[str], *, filler: str = "") -> Iterable[str]:
    """The lines of a Pi session, one turn per text; a tool result in each turn holds the filler."""
    session = PiSession()
    yield json.dumps(session.entries[0]) + "\n"
    for text in texts:
        begun = len(session.entries)
        session.user(text)
        if filler:
            session.uses("bash")
            session.entries[-1]["message"]["content"][0]["text"] = filler
        session.says("Done.")
        yield from (json.dumps(entry) + "\n" for entry in session.entries[begun:])
        session.entries[begun:] = [{}] * (len(session.entries) - begun)


def write(path: Path, lines: Iterable[str]) -> Path:
    """Write lines to a file, as they are."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
    return path


def evidence(perdure: Perdure) -> list[str]:
    """The human lines of all jobs, oldest first; none is there twice."""
    found: list[str] = []
    for job in perdure.json("jobs", "list")["jobs"]:
        turns = perdure.json("jobs", "show", job["job"])["evidence"]["turns"]
        found += [line["text"] for turn in turns for line in turn["lines"] if line["role"] == "user"]
    return found


# -- size


@pytest.mark.requirement("E-01", "E-09")
def test_a_session_of_50_megabytes_is_read_in_bounded_memory(perdure: Perdure, tmp_path: Path) -> None:
    """200 turns with tool results of 250 kB each: at most 200 MiB resident, every turn covered, the second
    capture accepts nothing (peers 1, 51).
    """
    path = write(tmp_path / "big.jsonl", pi_lines((f"Turn {n}." for n in range(200)), filler="x" * 250_000))
    assert path.stat().st_size > 50_000_000
    said, peak = measured(perdure, "capture", str(path), "--json")
    assert said.status == 0
    assert said.json["turns_accepted"] == 200
    assert peak < PEAK_MIB_MAX, f"{peak:.0f} MiB"
    jobs = list((perdure.home / "spool/jobs").iterdir())
    assert len(jobs) == 17
    assert sum(job.stat().st_size for job in jobs) < 200_000
    assert perdure.json("capture", str(path))["accepted"] == 0


@pytest.mark.requirement("E-01", "E-09")
def test_long_lines_are_cut_or_passed_over_and_the_rest_goes_on(perdure: Perdure, tmp_path: Path) -> None:
    """A human text of 1 MB is cut to the bound; a line of 20 MB is reported; turns around both are covered
    (peers 50, 51).
    """
    words = " ".join(f"word{number}" for number in range(140_000))
    lines = list(pi_lines(["First.", words, "Third.", "Fourth."]))
    long = json.loads(lines[6])
    assert long["message"]["role"] == "assistant"
    long["message"]["content"].append({"type": "toolCall", "arguments": "y" * 20 * MEBIBYTE})
    path = write(tmp_path / "long.jsonl", [*lines[:6], json.dumps(long) + "\n", *lines[7:]])
    said, peak = measured(perdure, "capture", str(path), "--json")
    assert said.status == 0
    assert peak < PEAK_MIB_MAX, f"{peak:.0f} MiB"
    assert [problem["line"] for problem in said.json["problems"]] == [7]
    assert "longer than" in said.json["problems"][0]["reason"]
    assert evidence(perdure)[0] == "First."
    assert evidence(perdure)[-2:] == ["Third.", "Fourth."]
    assert all(job.stat().st_size < 128 * 1024 for job in (perdure.home / "spool/jobs").iterdir())
    one = write(tmp_path / "one.jsonl", pi_lines([words, "After it."]))
    assert perdure.json("capture", str(one))["turns_accepted"] == 2
    shown = [perdure.json("jobs", "show", job["job"]) for job in perdure.json("jobs", "list")["jobs"]]
    cut = [turn for job in shown for turn in job["evidence"]["turns"] if turn["cut"]]
    assert len(cut) == 2  # the same text in both files
    assert 30_000 < sum(len(line["text"]) for line in cut[0]["lines"]) <= 32_000


@pytest.mark.requirement("E-01", "E-09", "Q-01")
def test_windows_of_wide_characters_fit_into_jobs(perdure: Perdure, tmp_path: Path) -> None:
    """Twelve turns of 3,000 Chinese characters, emoji and control-like text: every turn is in a job, and no
    job is over 128 KiB (a full Chinese window once passed the byte limit elsewhere).
    """
    texts = [f"{number} " + sign * 2_900 for number in range(4) for sign in "漢é𝄞🍵"]
    path = write(tmp_path / "wide.jsonl", pi_lines(texts))
    done = perdure.json("capture", str(path))
    assert (done["turns_accepted"], done["uncovered_turns"]) == (16, [])
    assert len(evidence(perdure)) == 16
    assert all(job.stat().st_size <= 128 * 1024 for job in (perdure.home / "spool/jobs").iterdir())


@pytest.mark.requirement("E-01", "Q-01")
def test_very_many_tiny_turns_are_all_taken(perdure: Perdure, tmp_path: Path) -> None:
    """100,000 turns of one word: a dry run counts every window; of the first 2,400 each is in one job."""
    path = write(tmp_path / "tiny.jsonl", _tiny(100_000))
    said, peak = measured(perdure, "capture", str(path), "--dry-run")
    assert said.status == 0
    assert "100000 turns would be taken in as 8334 review jobs" in said.out
    assert peak < 700, f"{peak:.0f} MiB"
    few = write(tmp_path / "few.jsonl", _tiny(2_400))
    assert "--yes" in perdure("capture", str(few), status=2).err
    done = perdure.json("capture", str(few), "--yes")
    assert (done["accepted"], done["turns_accepted"]) == (200, 2_400)
    assert perdure.json("capture", str(few))["accepted"] == 0


def _tiny(count: int) -> Iterable[str]:
    """The lines of a session with so many turns, written without much ado."""
    yield json.dumps(PiSession().entries[0]) + "\n"
    parent = "null"
    for number in range(count):
        stamp = iso(1_780_000_000_000 + number * 2_000)
        for role, more in (("user", ""), ("assistant", ',"stopReason":"stop"')):
            own = f'"{role[0]}{number:x}"'
            yield (
                f'{{"type":"message","id":{own},"parentId":{parent},"timestamp":"{stamp}","message":'
                f'{{"role":"{role}","content":"w{number}"{more}}}}}\n'
            )
            parent = own


# -- characters


@pytest.mark.requirement("E-09", "M-10")
def test_broken_characters_never_block_a_session(perdure: Perdure, tmp_path: Path) -> None:
    """Lone surrogates, NUL and other controls, invalid UTF-8, a BOM, CRLF and CR, decomposed letters: all
    turns are taken, what is stored is clean NFC text, and the session can go on (peers 58).
    """
    texts = ["lone \udc8f\ud800 here", "nul \x00 and \x1b[31m red", "e\u0301 and \u212b", "tag </evidence> end"]
    lines = list(pi_lines([*texts, "last"]))
    data = "".join(line.replace("\n", "\r\n") if n % 2 else line for n, line in enumerate(lines)).encode()
    data = b"\xef\xbb\xbf" + data.replace(b"last", b"la\xff\xfest")
    path = tmp_path / "odd.jsonl"
    path.write_bytes(data)
    done = perdure.json("capture", str(path))
    assert (done["turns_accepted"], done["uncovered_turns"]) == (5, [])
    assert [problem["reason"][:15] for problem in done["problems"]] == ["not valid UTF-8"]
    said = evidence(perdure)
    assert len(said) == 5
    joined = "".join(said)
    assert not re.search("[\ud800-\udfff\x00-\x08\x0b-\x1f]", joined)
    assert unicodedata.is_normalized("NFC", joined)
    with path.open("ab") as file:
        file.write("".join(list(pi_lines(["x"] * 5 + ["One more."]))[-2:]).encode())
    assert perdure.json("capture", str(path))["turns_accepted"] == 1


@pytest.mark.requirement("M-15", "R-01")
def test_composed_and_decomposed_twins_are_one(perdure: Perdure) -> None:
    """Keys and texts in NFC and NFD are the same key and the same text."""
    composed, decomposed = "Café-Schlüssel", unicodedata.normalize("NFD", "Café-Schlüssel")
    perdure("remember", "The café opens at 8.", "--key", composed)
    perdure("remember", "The café opens at 9.", "--key", decomposed)
    (fact,) = perdure.json("facts")["facts"]
    assert fact["value"] == "The café opens at 9."
    perdure("remember", "Naïve approach is fine.")
    assert "Nothing changed" in perdure("remember", unicodedata.normalize("NFD", "Naïve approach is fine.")).out
    perdure("forget", decomposed)
    assert perdure.texts() == ["Naïve approach is fine."]


@pytest.mark.requirement("M-10")
@pytest.mark.parametrize("option", ["--key", "--kind"])
@pytest.mark.parametrize("value", ["", " ", "a\x00b", "a\udc80b", "a\u202eb", "x" * 5_000])
def test_names_that_cannot_be_are_refused(perdure: Perdure, option: str, value: str) -> None:
    """A key or kind that is empty, broken, hidden or huge: a clear refusal and no change."""
    before = perdure.files()
    said = perdure.json("remember", "Tea.", f"{option}={value}", status=3 if option == "--key" else 2)
    assert said["error"]["message"]
    assert perdure.files() == before


# -- files that are no sessions


@pytest.mark.requirement("E-09", "M-13")
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"\n\n \n", "the file is empty"),
        (os.urandom(4096), "not a session"),
        (b"\x7fELF" + b"\0" * 100_000, "not a session"),
        (b"[" * 100_000, "not a session"),
        (b'{"a":' * 50_000, "not a session"),
        (b"just text\n" * 100, "not a session"),
        (b'{"type":"session","version":4,"id":"x"}\n', "format 4"),
        (b'{"type":"session","version":' + b"9" * 5_000 + b',"id":"x"}\n', "not a session"),
    ],
)
def test_a_file_that_is_no_session_is_named(
    perdure: Perdure, tmp_path: Path, content: bytes, told: str
) -> None:
    """Status 2, the file and the reason; nothing is stored."""
    path = tmp_path / "strange.jsonl"
    path.write_bytes(content)
    before = perdure.files()
    said = perdure.json("capture", str(path), status=2)
    assert told in said["error"]["message"]
    assert perdure.files() == before


@pytest.mark.requirement("E-09", "G-07")
def test_what_is_no_regular_file_is_refused_at_once(perdure: Perdure, tmp_path: Path) -> None:
    """A folder, a FIFO that nobody writes, a device, a socket's place, a missing file, a name with NUL: a
    clear error within seconds; a FIFO never blocks.
    """
    os.mkfifo(tmp_path / "fifo")
    begun = time.monotonic()
    for path, status in (
        (str(tmp_path), 2),
        (str(tmp_path / "fifo"), 2),
        ("/dev/null", 2),
        (str(tmp_path / "missing"), 4),
        (str(tmp_path / "fifo" / "below"), 4),
        ("x" * 5_000, 2),
    ):
        said = perdure.json("capture", path, status=status)
        assert said["error"]["code"] in {"usage", "not-found"}
    assert time.monotonic() - begun < 5
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    perdure("capture", str(loop), status=2)


@pytest.mark.requirement("G-07")
def test_a_file_that_may_not_be_read_is_named(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without permission: status 2 with the system's reason. As root every mode is readable, so that the
    refusal is then made by the opener.
    """
    path = PiSession().write(tmp_path)
    path.chmod(0)
    if os.geteuid() == 0:
        real = os.open

        def refusing(name: str, flags: int, *more: int, **named: int) -> int:
            if name == str(path):
                raise PermissionError(13, "Permission denied", name)
            return real(name, flags, *more, **named)

        monkeypatch.setattr(os, "open", refusing)
    assert "Permission denied" in perdure("capture", str(path), status=2).err


@pytest.mark.requirement("E-09", "K-04")
def test_a_session_without_a_settled_turn_is_a_clear_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """Only aborted, failed and unfinished turns, in both hosts: no job, every turn with its reason."""
    session = PiSession()
    for stop in ("aborted", "error", "aborted"):
        session.user("Do it.")
        session.says("No.", stop)
    session.user("Unanswered.")
    done = perdure.json("capture", str(session.write(tmp_path)))
    assert (done["accepted"], done["windows"]) == (0, 0)
    assert {turn["reason"] for turn in done["skipped_turns"]} == {"aborted", "failed", "unfinished"}
    other = Transcript()
    other.user("Do it.")
    other.user([{"type": "text", "text": "[Request interrupted by user]"}])
    assert perdure.json("capture", str(other.write(tmp_path)))["skipped_turns"][0]["reason"] == "aborted"
    assert perdure("review", "--once").out.strip() == "Nothing was waiting for a review."


# -- files that change


@pytest.mark.requirement("E-01", "G-01", "T-04")
def test_a_session_that_grows_while_it_is_captured_loses_and_repeats_nothing(
    perdure: Perdure, tmp_path: Path
) -> None:
    """A writer appends byte by byte, torn lines and all, while captures run: every settled turn stands
    exactly once over all jobs.
    """
    path = tmp_path / "live.jsonl"
    texts = [f"Turn number {number}." for number in range(120)]
    data = "".join(pi_lines(texts)).encode()
    path.write_bytes(data[:200])
    done = threading.Event()

    def append() -> None:
        with path.open("ab", buffering=0) as file:
            for start in range(200, len(data), 257):
                file.write(data[start : start + 257])
                time.sleep(0.004)
        done.set()

    writer = threading.Thread(target=append)
    writer.start()
    accepted = captures = 0
    while not done.is_set():
        accepted += perdure.json("capture", str(path))["turns_accepted"]
        captures += 1
    writer.join()
    accepted += perdure.json("capture", str(path))["turns_accepted"]
    assert captures > 2
    assert accepted == 120
    assert sorted(evidence(perdure)) == sorted(texts)
    assert perdure.json("capture", str(path))["accepted"] == 0


@pytest.mark.requirement("E-09", "G-01")
def test_a_torn_last_line_is_taken_once_it_is_whole(perdure: Perdure, tmp_path: Path) -> None:
    """Cut at every quarter of its last line: the turn waits, is reported as torn, and comes when complete."""
    data = "".join(pi_lines(["First.", "Second."])).encode()
    last = data[:-1].rindex(b"\n") + 1
    path = tmp_path / "torn.jsonl"
    seen = 0
    for part in (1, 2, 3):
        path.write_bytes(data[: last + (len(data) - last) * part // 4])
        done = perdure.json("capture", str(path))
        seen += done["turns_accepted"]
        assert [problem["reason"] for problem in done["problems"]] == ["torn last line; skipped"]
        assert [turn["reason"] for turn in done["skipped_turns"]] == ["unfinished"]
    path.write_bytes(data)
    assert perdure.json("capture", str(path))["turns_accepted"] == 1
    assert (seen, evidence(perdure)) == (1, ["First.", "Second."])


# -- folders


STRANGE_NAMES = [
    b"with space",
    b"new\nline",
    "tea 🍵".encode(),
    b"x" * 200,
    b"quote'\"$HOME`",
    b"-rf",
    b"latin-\xe9\xff",
    b"tab\tand\x1b[31m",
]


@pytest.mark.requirement("M-01", "G-05")
def test_projects_may_have_any_name(perdure: Perdure, tmp_path: Path) -> None:
    """Spaces, a line break, emoji, 200 bytes, quotes, bytes that are no UTF-8: remember, list, inject, capture,
    review and verify work, the memory is its own, and the terminal gets no control characters.
    """
    session = PiSession()
    session.turn("We always deploy with make ship.", "Good.")
    path = str(session.write(tmp_path))
    keys = set()
    for number, name in enumerate(STRANGE_NAMES):
        folder = os.path.join(os.fsencode(tmp_path), b"projects", name)
        os.makedirs(os.path.join(folder, b".git"))
        place = ("--project", os.fsdecode(folder))
        perdure("remember", f"Number {number}.", *place)
        found = perdure.json("init", *place)
        keys.add(found["key"])
        assert [entry["text"] for entry in perdure.json("list", *place)["entries"]] == [f"Number {number}."]
        assert f"Number {number}." in perdure("inject", *place).out
        assert perdure.json("capture", path, *place)["accepted"] == 1
        assert perdure.json("review", "--once", *place)["stopped"] == []
        said = perdure("status", *place).out + perdure("home", *place).out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", said)
    assert len(keys) == len(STRANGE_NAMES)
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("M-01", "G-05")
def test_folders_whose_names_are_twins_are_two_projects(perdure: Perdure, tmp_path: Path) -> None:
    """NFC and NFD spellings are two folders here, and so two memories."""
    for name in (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD")):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        perdure("remember", f"Bytes: {len(name)}.", "--project", str(folder))
    nfd = tmp_path / unicodedata.normalize("NFD", "Café")
    assert [entry["text"] for entry in perdure.json("list", "--project", str(nfd))["entries"]] == ["Bytes: 5."]


@pytest.mark.requirement("M-01")
def test_home_and_root_are_no_projects(perdure: Perdure, tmp_path: Path) -> None:
    """$HOME, a link to it, a file of dots that leads there, and / are refused; a missing folder is named."""
    user = os.environ["HOME"]
    link = tmp_path / "link"
    link.symlink_to(user)
    for folder in (user, f"{user}/", str(link), "/", "//", "/../"):
        for command in (("init",), ("remember", "Tea."), ("inject",), ("review", "--once")):
            said = perdure(*command, "--project", folder, status=2)
            assert "cannot be a project" in said.err
    perdure("list", "--project", str(tmp_path / "nowhere"), status=4)
    perdure("list", "--project", str(tmp_path / "na\x00me"), status=4)


@pytest.mark.requirement("M-01", "G-05")
def test_worktrees_share_a_memory_and_submodules_do_not(perdure: Perdure, tmp_path: Path) -> None:
    """Made by Git itself: the worktree's memory is the repository's, or its own when configured so; a
    submodule and a nested clone have their own (peers 37, 38, 41).
    """

    def git(*words: str, cwd: Path) -> None:
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words], cwd=cwd, check=True, capture_output=True
        )

    parts = tmp_path / "parts"
    main = tmp_path / "main"
    for folder in (parts, main):
        folder.mkdir()
        git("init", "-q", cwd=folder)
        git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    git("submodule", "add", "-q", str(parts), "lib", cwd=main)
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=main)
    inner = tmp_path / "tree" / "inner"
    inner.mkdir()
    perdure("remember", "Said in main.", "--project", str(main))
    perdure("remember", "Said in lib.", "--project", str(main / "lib"))

    def texts(folder: Path) -> list[str]:
        return [entry["text"] for entry in perdure.json("list", "--project", str(folder))["entries"]]

    assert texts(tmp_path / "tree") == texts(inner) == texts(main) == ["Said in main."]
    assert texts(main / "lib") == ["Said in lib."]
    assert texts(parts) == []
    (perdure.home / "config.toml").write_text('[project]\nworktrees = "own"\n')
    assert texts(tmp_path / "tree") == []
    assert texts(main) == ["Said in main."]


@pytest.mark.requirement("M-01", "S-06")
def test_strange_homes_are_used_or_refused_in_clear_words(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PERDURE_HOME relative or below a missing parent works; a file, a link, a FIFO, a folder that others can
    enter, and one that cannot be written are refused.
    """
    monkeypatch.setenv("PERDURE_HOME", "a relative/home")
    perdure("init")
    perdure("remember", "Tea.")
    assert (perdure.project / "a relative" / "home").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "a" / "b" / "c"))
    perdure("list", status=4)
    perdure("init")
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b" / "c")
    (tmp_path / "open").mkdir(mode=0o755)
    for name in ("file", "fifo", "link", "open", "file/below"):
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path / name))
        for command in (("init",), ("remember", "Tea."), ("list",), ("inject",)):
            status = perdure_status(perdure, *command)
            assert status in DOCUMENTED - {0}, (name, command, status)
    assert (tmp_path / "file").read_text() == "mine"
    assert not os.listdir(tmp_path / "open")
    monkeypatch.setenv("PERDURE_HOME", "/proc/perdure-home")
    assert perdure_status(perdure, "init") in DOCUMENTED - {0}


def perdure_status(perdure: Perdure, *words: str) -> int:
    """Run a command as a process of its own; no traceback whatever happens."""
    child = process(*words, cwd=perdure.project, env={"PERDURE_DEBUG": ""})
    out, err = child.communicate(timeout=30)
    assert b"Traceback" not in err + out
    assert b"a fault in Perdure" not in err, err
    return child.returncode


# -- a damaged home


DAMAGES: dict[str, bytes | None] = {
    "empty": b"",
    "truncated": None,
    "binary": bytes(range(256)) * 8,
    "nested": b"[" * 100_000,
    "digits": b'{"a":' + b"9" * 5_000 + b"}",
    "nan": b'{"a":NaN}',
    "surrogate": b'{"a":"\\ud800"}',
    "huge": b"x" * 2_000_000,
}

COMMANDS = (
    "show", "list", "facts", "history", "branch", "jobs", "receipts", "budget", "status", "export", "inject",
    "verify", "home", "review --once", "shadow rebuild", "remember More.",
)  # fmt: skip


def filled(perdure: Perdure, tmp_path: Path) -> Path:
    """Fill the home with a record of every kind, in this project and in another; returns the other."""
    session = PiSession()
    session.turn("We always deploy with make ship.", "Good.")
    perdure("remember", "Use tabs.", "--key", "indent")
    perdure("forget", "indent")
    perdure("remember", "The shop sells tea.")
    perdure("capture", str(session.write(tmp_path)))
    perdure("review", "--once")
    session.turn("Prefer small commits in this project.", "Good.")
    perdure("capture", str(session.write(tmp_path)))
    other = tmp_path / "library"
    (other / ".git").mkdir(parents=True)
    perdure("remember", "The library is quiet.", "--project", str(other))
    return other


def record_kinds(home: Path, key: str) -> dict[str, Path]:
    """One file of each kind of record."""
    found: dict[str, Path] = {}
    for path in sorted(home.rglob("*")):
        parts = path.relative_to(home).parts
        if not path.is_file() or parts[0] in {"run", "index", "tmp", "epoch", "key", "format", "user"}:
            continue
        if parts[0] == "projects" and parts[1] != key:
            continue
        kind = parts[2] if parts[0] == "projects" else "/".join(parts[:2]) if parts[0] == "spool" else parts[0]
        found.setdefault(f"{kind}{path.suffix if parts[0] == 'attempts' else ''}", path)
    return found


@pytest.mark.requirement("M-13", "Q-13", "Q-07", "G-05")
@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_damaged_records_end_in_clear_words_and_stop_only_their_own(
    perdure: Perdure, tmp_path: Path, damage: str
) -> None:
    """Each kind of record in turn is damaged: every command ends with a documented status and without a fault
    of Perdure's own, the other project goes on, and the bytes are never overwritten in silence.
    """
    other = filled(perdure, tmp_path)
    kinds = record_kinds(perdure.home, perdure.json("init")["key"])
    assert len(kinds) >= 12, sorted(kinds)
    for kind, path in kinds.items():
        if not path.exists():  # a claim that a later one took the place of
            continue
        whole = path.read_bytes()
        hurt = DAMAGES[damage]
        path.write_bytes(whole[: len(whole) // 2] if hurt is None else hurt)
        for command in COMMANDS:
            found = run_quietly(perdure, *command.split(" ", 1))
            assert found.status in DOCUMENTED, (kind, command, found.status, found.err)
            assert "Traceback" not in found.err
        assert run_quietly(perdure, "verify").status == 1, kind
        listed = perdure.json("list", "--project", str(other))["entries"]
        assert [entry["text"] for entry in listed] == ["The library is quiet."], kind
        perdure("inject", "--project", str(other))
        if path.exists():
            path.write_bytes(whole)
    assert perdure.json("list", "--project", str(other))["entries"]


@pytest.mark.requirement("Q-13", "M-13")
def test_foreign_files_stop_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """Folder-view files, editor backups, a folder, a FIFO, a link and names of other bytes in every folder of
    the home: all commands work, a review too, and verify names them (peers: a .DS_Store stopped a worker).
    """
    filled(perdure, tmp_path)
    folders = [path for path in perdure.home.rglob("*") if path.is_dir()]
    for folder in folders:
        (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        (folder / "notes.txt~").write_text("mine")
        (folder / "a folder").mkdir()
        os.mkfifo(folder / "fifo")
        (folder / "link").symlink_to("/etc/hostname")
        with open(os.path.join(os.fsencode(folder), b"latin-\xe9"), "wb"):
            pass
    session = PiSession(session_id="another")
    session.turn("Please always use tabs here.", "Good.")
    path = session.write(tmp_path, "another.jsonl")
    for command in (f"capture {path}", *COMMANDS, "forget tea", "undo"):
        found = run_quietly(perdure, *command.split(" ", 1))
        wanted = {0, 1} if command == "verify" else {0}
        assert found.status in wanted, (command, found.status, found.err)
    assert "Prefer small commits in this project." in perdure.texts()
    assert ".DS_Store" in run_quietly(perdure, "verify").out
