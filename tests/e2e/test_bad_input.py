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

from tests.e2e.command_line import Perdure, Said
from tests.session_files import PiSession, Transcript, iso

ROOT = Path(__file__).parents[2]
MEBIBYTE = 1024 * 1024
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}
PEAK_MIB_MAX = 200
"""What a capture of a 50 MB session may have resident at its peak, the interpreter and all."""

_MEASURED = """
import sys
from perdure.cli.main import main
from tests.memory_use import peak_kib
status = main(sys.argv[1:])
print(peak_kib() * 1024, file=sys.stderr)
sys.exit(status)
"""


def measured(perdure: Perdure, *words: str) -> tuple[Said, float]:
    """Run a command in a process of its own; what it said, and its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *words],
        cwd=perdure.project,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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
    assert "100,000 turns would be taken in as 8,334 review jobs" in said.out
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
    texts = [
        "lone \udc8f\ud800 here",
        "nul \x00 and \x1b[31m red",
        "e\u0301 and \u212b",
        "tag </evidence> end",
    ]
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
    assert (
        "Nothing changed" in perdure("remember", unicodedata.normalize("NFD", "Naïve approach is fine.")).out
    )
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
