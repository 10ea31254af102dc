"""Bad input of every kind ends in one line and a documented status, never in a fault of Perdure (G-07)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.cli.shapes import counted
from perdure.core.budget import OverBudget
from perdure.service.curate import over_budget
from tests.e2e.command_line import Perdure
from tests.e2e.planted import run_quietly

DOCUMENTED = {0, 1, 2, 3, 4, 5, 6}
FULL = Path("/dev/full")

SETTINGS = {
    '[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://[::1"\n': "reviewer.base_url",
    '[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "https://a:99999"\n': "reviewer.base_url",
    '[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "ftp://a"\n': "reviewer.base_url",
    '[reviewer]\nmodel = "a\\u0000b"\n': "reviewer.model",
    '[reviewer]\nprovider = "replay"\nanswers = "a\\u0000b"\n': "reviewer.answers",
    '[reviewer]\ncredential = "a\\nb"\n': "reviewer.credential",
    "[reviewer.price]\ninput_usd_per_million = inf\noutput_usd_per_million = 1\n": "reviewer.price",
    "[limits]\nusd = 1e400\n": "limits.usd",
    "[limits]\nusd = nan\n": "limits.usd",
    "[limits]\nusd_per_month = inf\n": "limits.usd_per_month",
    "[limits]\nusd = 1e12\n": "limits.usd",
    f"[limits]\nusd = {'9' * 400}\n": "limits.usd",
    "[limits]\nalert_share = nan\n": "limits.alert_share",
    f"[limits]\ncalls = {'9' * 30}\n": "limits.calls",
    f"[limits]\ncalls = {'9' * 5_000}\n": "not valid TOML",
    "[limits]\ntokens = 10_000_000_000_000\n": "limits.tokens",
    "[retries]\nbackoff_seconds_max = 0\n": "retries.backoff_seconds_max",
    "[retries]\ninvalid_attempts_max = -1\n": "retries.invalid_attempts_max",
    "[retries]\nunknown_seconds_first = 9_000_000_000_000_000\n": "retries.unknown_seconds_first",
    "[retention]\nevidence_days = 1_000_000_000_000\n": "retention.evidence_days",
    "[injection]\ncharacters = 399\n": "injection.characters",
    "[injection]\ntokens = 99\n": "injection.tokens",
}


@pytest.mark.requirement("S-05", "G-07")
@pytest.mark.parametrize("text", sorted(SETTINGS))
def test_a_setting_out_of_bounds_is_refused_by_name(perdure: Perdure, text: str) -> None:
    """Endless, huge, negative or malformed values: status 2 and the field, from reading and reviewing."""
    path = perdure.home / "config.toml"
    path.touch(0o600)
    path.write_text(text)
    for words in (("status",), ("review", "--once"), ("provider", "test", "--yes"), ("budget",)):
        said = run_quietly(perdure, *words)
        assert said.status == 2, (words, said.out, said.err)
        assert SETTINGS[text] in said.err
        assert str(path) in said.err
        assert said.err.count("\n") == 1


NUMBERS = ("1e300", "nan", "inf", "-1", "1e9", "x", "", "9" * 400, "٣", "1_0")


@pytest.mark.requirement("B-06", "G-07")
@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize("option", ["--cost-usd", "--tokens"])
def test_amounts_that_cannot_be_are_wrong_use(perdure: Perdure, option: str, value: str) -> None:
    """Reconciling by an amount that is endless, negative or no number: status 2, in words for people."""
    if (option, value) in {("--cost-usd", "٣"), ("--cost-usd", "1_0")}:
        return  # numbers, as Python reads them
    words = ["budget", "reconcile", "20260101-0", "--reason", "x", "--tokens=1", "--cost-usd=0"]
    said = run_quietly(perdure, *words, f"{option}={value}")
    assert said.status == 2, said.err
    assert f"argument {option}: " in said.err
    assert " from 0 to " in said.err


@pytest.mark.requirement("G-07")
@pytest.mark.parametrize("words", [("history", "-n"), ("undo",)])
@pytest.mark.parametrize("value", ["0", "x", "9" * 5_000, "1.5"])
def test_counts_that_cannot_be_are_wrong_use(perdure: Perdure, words: tuple[str, ...], value: str) -> None:
    """No name of a type or a function is shown, but what is expected."""
    said = run_quietly(perdure, *words, value)
    assert said.status == 2, said.err
    assert "is not a whole number from 1 to" in said.err


def outside(perdure: Perdure, *words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process of its own."""
    command = [sys.executable, "-m", "perdure.cli.main", *words]
    return subprocess.run(command, check=False, stderr=subprocess.PIPE, cwd=perdure.project, **more)  # type: ignore[call-overload, no-any-return] # streams


@pytest.mark.requirement("G-07")
@pytest.mark.skipif(not FULL.exists(), reason="this system, such as macOS, has no /dev/full")
@pytest.mark.parametrize("words", [("show",), ("inject",), ("--help",), ("help", "show"), ("--version",)])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_full_standard_output_is_said_in_one_line(
    perdure: Perdure, words: tuple[str, ...], as_json: bool
) -> None:
    """Status 5 and one line on standard error, with --json, too; no traceback at the end of the process."""
    perdure("remember", "Tea.")
    words = (*words, "--json") if as_json else words
    with FULL.open("wb") as full:
        done = outside(perdure, *words, stdout=full)
    assert done.returncode == 5, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert b"standard output cannot be written: No space left on device." in done.stderr


@pytest.mark.requirement("G-07")
@pytest.mark.skipif(not FULL.exists(), reason="this system, such as macOS, has no /dev/full")
def test_an_error_on_full_streams_keeps_its_status(perdure: Perdure) -> None:
    """Neither a full standard output with --json nor a full standard error changes what happened."""
    with FULL.open("wb") as full:
        assert outside(perdure, "show", "--branch", "no", "--json", stdout=full).returncode == 4
        command = [sys.executable, "-m", "perdure.cli.main", "show", "--branch", "no"]
        done = subprocess.run(command, check=False, stdout=full, stderr=full, cwd=perdure.project)
    assert done.returncode == 4


@pytest.mark.requirement("G-07", "M-01")
@pytest.mark.parametrize("words", [("show",), ("init",), ("inject",), ("capture", "s.jsonl"), ("export",)])
def test_a_current_folder_that_was_deleted_is_named(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Status 4 and what to do; with a relative home status 2, since the home cannot be found, either."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = run_quietly(perdure, *words)
    assert said.status in {2, 4}
    assert "Perdure" not in said.err
    if words[0] != "capture":
        assert "the current folder is not there any more" in said.err
    monkeypatch.setenv("PERDURE_HOME", "somewhere")
    said = run_quietly(perdure, "show")
    assert (said.status, "absolute path" in said.err) == (2, True)
    os.chdir(tmp_path)


@pytest.mark.requirement("M-02", "G-07")
@pytest.mark.parametrize(
    "name", ["main", "MAIN", "Main", "../x", "/x", "x/", "a//b", ".", "a\\b", "", "x" * 61]
)
def test_a_name_that_cannot_be_a_branch_is_refused_as_one(perdure: Perdure, name: str) -> None:
    """Status 2, in words about branches; names of two parts, as Git has them, are names."""
    said = run_quietly(perdure, "branch", "fork", name)
    assert (said.status, "branch" in said.err) == (2, True), said.err
    assert "key" not in run_quietly(perdure, "branch", "fork", "_x").err
    perdure("branch", "fork", "feature/tea")


@pytest.mark.requirement("B-02", "B-08")
def test_a_budget_is_refused_in_dollars_tokens_and_calls() -> None:
    """Why a job waits for its budget has a unit with every amount, and nano-dollars are nobody's."""
    for what, unit in (("cost", "$0.0200"), ("tokens", "20,000,000 tokens"), ("calls", "20,000,000 calls")):
        for never in (True, False):
            over = OverBudget(what, needed=20_000_000, used=1, limit=5, never=never)
            assert unit in over_budget("job", over, "anthropic", 0).reason
    hourly = OverBudget("calls this hour", needed=1, used=60, limit=60, never=False)
    reason = over_budget("job", hourly, "anthropic", 0).reason
    assert "for this hour is used up: 60 calls of 60 calls" in reason
    assert "may need 1 call (limits.calls_per_hour)" in reason


@pytest.mark.requirement("G-07")
def test_one_is_one_and_two_are_two() -> None:
    """Numbers agree with their nouns."""
    assert [counted(n, "turn") for n in (0, 1, 2, 1_200)] == ["0 turns", "1 turn", "2 turns", "1,200 turns"]
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.requirement("S-01")
def test_replay_without_answers_is_said_by_provider_test(perdure: Perdure) -> None:
    """Nothing has to be called, but something is missing: status 2 and the field."""
    path = perdure.home / "config.toml"
    path.touch(0o600)
    path.write_text('[reviewer]\nprovider = "replay"\n')
    assert "reviewer.answers" in run_quietly(perdure, "provider", "test").err
    path.write_text('[reviewer]\nprovider = "replay"\nanswers = "empty.jsonl"\n')
    (perdure.home / "empty.jsonl").touch(0o600)
    assert "add one" in perdure("provider", "test", status=6).err
