"""capture, review, worker, jobs, receipts, budget, verify: from a session file to memory, by command."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import pytest

from perdure.cli.sessions import CONFIRM_TURNS
from perdure.core.windows import WINDOW_TURNS_MAX
from tests.e2e.command_line import Perdure, process
from tests.session_files import PiSession

SAID = "Please always run the formatter before you commit in this project."


def session(
    turns: int, *, session_id: str = "0192-shop", cwd: str = "/home/dev/shop", said: str = SAID
) -> PiSession:
    """Make a session of settled turns, the first of which holds something durable."""
    made = PiSession(session_id=session_id, cwd=cwd)
    for number in range(turns):
        made.turn(said if number == 0 else f"{session_id}: {number}?", f"Answer {number}.")
    return made


@pytest.mark.requirement("G-01", "E-01")
def test_capture_takes_everything_once_and_only_new_turns_after_that(
    perdure: Perdure, tmp_path: Path
) -> None:
    """All windows, then nothing new, then only the turns by which the file grew."""
    made = session(WINDOW_TURNS_MAX + 3)
    file = str(made.write(tmp_path))
    first = perdure.json("capture", file)
    assert (first["accepted"], first["duplicates"], first["windows"]) == (2, 0, 2)
    assert (first["turns_accepted"], len(first["jobs"])) == (WINDOW_TURNS_MAX + 3, 2)
    again = perdure.json("capture", file)
    assert (again["accepted"], again["duplicates"], again["turns_accepted"]) == (0, 2, 0)
    made.turn("One more?", "Yes.")
    made.write(tmp_path)
    grown = perdure.json("capture", file)
    assert (grown["accepted"], grown["turns_accepted"]) == (1, 1)


@pytest.mark.requirement("E-02", "K-04")
def test_skipped_turns_and_unread_lines_are_listed_with_reasons(perdure: Perdure, tmp_path: Path) -> None:
    """What is no evidence has a turn, a place and a reason; a torn line has its number."""
    made = session(1)
    made.user("Stop!")
    made.says("I was", stop="aborted")
    file = made.write(tmp_path)
    file.write_text(file.read_text() + '{"type": "mess')
    found = perdure.json("capture", str(file))
    (skipped,) = found["skipped_turns"]
    assert (skipped["position"], skipped["reason"], bool(skipped["turn"])) == (1, "aborted", True)
    (problem,) = found["problems"]
    assert problem["line"] == len(made.entries) + 1
    assert problem["reason"]
    assert found["uncovered_turns"] == []


@pytest.mark.requirement("K-04")
def test_a_dry_run_shows_exactly_what_is_stored_later_and_stores_nothing(
    perdure: Perdure, tmp_path: Path
) -> None:
    """The evidence of a dry run is the evidence in the job, byte for byte in canonical form."""
    file = str(session(3).write(tmp_path))
    before = perdure.files()
    dry = perdure.json("capture", file, "--dry-run")
    assert (dry["dry_run"], dry["accepted"], dry["jobs"]) == (True, 0, [])
    assert perdure.files() == before
    assert SAID in perdure("capture", file, "--dry-run").out
    (job,) = perdure.json("capture", file)["jobs"]
    stored = json.loads((perdure.home / "spool/jobs" / job).read_bytes())["body"]["evidence"]
    assert dry["evidence"] == [stored]


@pytest.mark.requirement("K-04")
def test_a_large_capture_asks_first(perdure: Perdure, tmp_path: Path) -> None:
    """At the bound nothing is asked; above it, --yes is needed where nobody can answer."""
    made = session(CONFIRM_TURNS)
    perdure.json("capture", str(made.write(tmp_path)))
    more = session(CONFIRM_TURNS + 1, session_id="0192-more", said="Something else.")
    file = str(more.write(tmp_path, "more.jsonl"))
    before = perdure.files()
    assert f"{CONFIRM_TURNS + 1} turns" in perdure("capture", file, status=2).err
    assert perdure.files() == before
    assert perdure.json("capture", file, "--yes")["turns_accepted"] == CONFIRM_TURNS + 1


def test_several_files_are_listed_with_their_sums(perdure: Perdure, tmp_path: Path) -> None:
    """One list entry for each file, sums on top; a missing file stops all before anything is stored."""
    files = [
        str(session(n, session_id=f"s{n}", said=f"Question s{n}").write(tmp_path, f"{n}.jsonl"))
        for n in (1, 2)
    ]
    before = perdure.files()
    perdure("capture", *files, str(tmp_path / "missing.jsonl"), status=4)
    assert perdure.files() == before
    found = perdure.json("capture", *files)
    assert [part["turns_accepted"] for part in found["sessions"]] == [1, 2]
    assert (found["accepted"], found["turns_accepted"], len(found["jobs"])) == (2, 3, 2)


def test_a_session_of_another_project_is_pointed_out(perdure: Perdure, tmp_path: Path) -> None:
    """Capturing it is the user's right; the output says where it ran."""
    file = session(1, cwd="/home/dev/library").write(tmp_path)
    assert "/home/dev/library, not in this project" in perdure("capture", str(file)).out
    file = session(1, session_id="own", cwd=str(perdure.project / "src")).write(tmp_path)
    assert "not in this project" not in perdure("capture", str(file)).out


def test_files_that_are_no_sessions(perdure: Perdure, tmp_path: Path) -> None:
    """Empty, foreign and missing files end in a clear refusal."""
    (tmp_path / "empty.jsonl").touch()
    perdure("capture", str(tmp_path / "empty.jsonl"), status=2)
    (tmp_path / "notes.txt").write_text("hello\n")
    perdure("capture", str(tmp_path / "notes.txt"), status=2)
    perdure("capture", str(tmp_path), status=2)
    perdure("capture", str(tmp_path / "missing.jsonl"), status=4)


@pytest.mark.requirement("Q-09", "D-08", "G-03")
def test_a_review_ends_jobs_with_receipts_and_history(perdure: Perdure, tmp_path: Path) -> None:
    """Review, receipts, jobs, history and budget tell one story; a second review finds nothing to do."""
    (job,) = perdure.json("capture", str(session(2).write(tmp_path)))["jobs"]
    assert [row["state"] for row in perdure.json("jobs")["jobs"]] == ["queued"]
    assert perdure.json("review", "--once")["ended"] == {"applied": 1}
    (text,) = perdure.texts()
    assert "formatter" in text
    (receipt,) = perdure.json("receipts")["receipts"]
    assert (receipt["job"], receipt["verdict"], receipt["revision"]) == (job, "applied", 1)
    short = perdure.json("jobs", "list")["jobs"][0]["short"]
    assert perdure.json("receipts", short) == receipt
    shown = perdure.json("jobs", "show", short)
    assert (shown["state"], shown["outcome"], len(shown["made"])) == ("applied", "applied", 1)
    assert shown["changes"][0]["after"]["text"] == text
    (revision,) = perdure.json("history")["revisions"]
    assert (revision["cause"], revision["job"]) == ("review", job)
    (day,) = perdure.json("budget")["days"]
    assert (day["actual"]["calls"], day["held"]["calls"], day["unknown"]["calls"]) == (1, 0, 0)
    assert "Nothing was waiting" in perdure("review").out
    for words in (("receipts",), ("receipts", short), ("jobs",), ("jobs", "show", short), ("budget",)):
        assert perdure(*words).out
    perdure("jobs", "retry", short, status=3)
    perdure("receipts", "ffffffff", status=4)
    assert perdure.json("verify")["ok"]


@pytest.mark.requirement("G-01", "Q-06")
def test_a_job_can_be_dropped_and_retried(perdure: Perdure, tmp_path: Path) -> None:
    """Dropping asks; a dropped job's turns stay covered; retry makes the next generation of its evidence."""
    file = str(session(2).write(tmp_path))
    (job,) = perdure.json("capture", file)["jobs"]
    perdure("jobs", "drop", job, status=2)
    assert perdure.json("jobs", "drop", job, "--yes")["state"] == "dropped"
    perdure("jobs", "drop", job, "--yes", status=3)
    assert perdure.json("capture", file)["accepted"] == 0
    assert perdure.json("jobs", "retry", job)["generation"] == 2
    assert perdure.json("review", "--once")["ended"] == {"applied": 1}


@pytest.mark.requirement("Q-12", "S-05")
def test_without_a_credential_jobs_wait_and_the_status_says_so(perdure: Perdure, tmp_path: Path) -> None:
    """Status 6, the reason in words, and the job still queued; a working reviewer then ends it."""
    perdure("capture", str(session(1).write(tmp_path)))
    config = perdure.home / "config.toml"
    config.write_text('[reviewer]\nprovider = "anthropic"\nmodel = "claude-haiku-4-5"\n')
    found = perdure.json("review", "--once", status=6)
    (waiting,) = found["waiting"]
    assert waiting["reason"]
    assert perdure.json("status")["jobs_open"] == 1
    assert perdure.json("provider", "test", "--yes", status=6)["error"]["code"] == "provider"
    config.unlink()
    assert perdure.json("review", "--once")["ended"] == {"applied": 1}


@pytest.mark.requirement("S-05")
def test_a_configuration_mistake_names_file_field_and_choices(perdure: Perdure) -> None:
    """Status 2 on every command that opens the home."""
    (perdure.home / "config.toml").write_text('[reviewer]\nprovider = "oracle"\n')
    for words in (["list"], ["review"], ["status"]):
        said = perdure(*words, status=2).err
        assert "config.toml" in said
        assert "provider" in said
        assert "'rules'" in said


@pytest.mark.requirement("Q-09", "E-06")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_and_stops_gracefully(
    perdure: Perdure, tmp_path: Path, number: signal.Signals
) -> None:
    """It ends the job, prints ids only, and on a signal finishes, releases and ends with status 0."""
    (job,) = perdure.json("capture", str(session(1).write(tmp_path)))["jobs"]
    worker = process("worker", cwd=perdure.project)
    try:
        lines = _until(worker, lambda line: line.startswith(f"closed {job}"))
        worker.send_signal(number)
        rest, err = worker.communicate(timeout=30)
    finally:
        worker.kill()
        worker.communicate()
    assert (worker.returncode, err) == (0, b"")
    said = "".join(lines) + rest.decode()
    assert "formatter" not in said
    assert "1 job applied" in said
    assert len(perdure.texts()) == 1
    assert perdure.json("status")["workers"] == 0


def _until(worker: subprocess.Popen[bytes], wanted: Callable[[str], bool]) -> list[str]:
    lines = []
    for raw in cast("IO[bytes]", worker.stdout):
        lines.append(raw.decode())
        if wanted(lines[-1]):
            break
    return lines


def test_verify_finds_and_mends_a_damaged_branch(perdure: Perdure) -> None:
    """Status 1 with the file's name; --restore writes it again from its revisions and keeps a copy."""
    perdure("remember", "Use npm.")
    (branch,) = (perdure.home / "projects").glob("*/branches/*")
    whole = branch.read_bytes()
    branch.write_bytes(whole.replace(b"npm", b"xpm"))
    found = perdure.json("verify", status=1)
    assert any(branch.name in finding["path"] for finding in found["findings"])
    perdure("list", status=5)
    mended = perdure.json("verify", "--restore")
    assert mended["restored"]["branches"]
    assert branch.read_bytes() == whole


def test_budget_reconcile_checks_its_words(perdure: Perdure) -> None:
    """Both amounts or none, no negative ones, and an attempt that is there."""
    perdure("budget", "reconcile", "20260101-ffff", "--reason", "x", status=4)
    perdure("budget", "reconcile", "20260101-ffff", "--reason", "x", "--tokens", "1", status=2)
    perdure("budget", "reconcile", "20260101-ffff", "--reason", "x", "--tokens", "-1", status=2)
    perdure("budget", "reconcile", "20260101-ffff", "--reason", "x", "--cost-usd", "nan", status=2)
    perdure("budget", "reconcile", "20260101-ffff", status=2)


@pytest.mark.requirement("I-04")
def test_an_inject_for_a_session_counts_as_exposure(perdure: Perdure) -> None:
    """With --session the block is counted as shown in that session; without it nothing is counted."""
    perdure("remember", "The API listens on port 8080.")
    perdure("inject")
    folder = perdure.home / "projects"
    assert list(folder.glob("*/exposure/*")) == []
    assert perdure("inject", "--session", "s1").out == perdure("inject").out
    assert len(list(folder.glob("*/exposure/*"))) == 1


@pytest.mark.requirement("S-01")
def test_in_shadow_mode_reviews_observe_and_change_nothing(perdure: Perdure, tmp_path: Path) -> None:
    """Jobs captured in shadow mode go all the way to an outcome and never touch memory."""
    perdure("init")
    config = perdure.home / "config.toml"
    config.write_text('mode = "shadow"\n')
    config.chmod(0o600)
    perdure("capture", str(session(1).write(tmp_path)))
    assert "no-op" in perdure("review", "--once").out
    assert perdure.texts() == []
    assert [job["state"] for job in perdure.json("jobs")["jobs"]] == ["no-op"]
    perdure("verify")
