"""The long runs as their user meets them: bounds that are none, names that are not there, and Ctrl-C."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.bench.figures import Figure
from tests.long_runs import (
    BROKEN,
    INTERRUPTED,
    WRONG_USE,
    Stop,
    count_of,
    interruptible,
    seconds_of,
    status_of,
    unhearing,
)

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a long run in a process group of its own, so that its figures go into a folder of the test's."""
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tests.crash --seconds 0", "above 0"),
        ("tests.crash --scenario nothing", "review"),
        ("tests.simulation 99-0", "'99-0' is no list of seeds"),
        ("tests.simulation 0-5 --seconds -1", "above 0"),
        ("tests.machine --sweep --only nothing", "forget"),
        ("tests.machine --kills 0", "above 0"),
        ("tests.machine", "--sweep"),
        ("tests.machine.journal --seconds soon", "above 0"),
        ("tests.model nothing", "two stalls"),
        ("tests.fuzz --target nothing", "claude-code"),
        ("tests.fuzz --seconds 0", "above 0"),
        ("tests.faults nothing", "unrecognized arguments"),
    ],
)
def test_wrong_use_is_said_with_what_is_allowed(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bound of no time, an empty span, a name that is not there: status 2, and nothing is explored."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.machine.__main__.cannot_trace", lambda: None)
    module, *arguments = words.split()
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    main = importlib.import_module(f"{module}.__main__" if module.count(".") == 1 else module).main
    try:
        status = main(arguments) if inspect.signature(main).parameters else main()
    except SystemExit as ended:
        status = ended.code
    assert status == WRONG_USE
    told = capsys.readouterr()
    assert said in told.out + told.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("tests.simulation 0- --seconds 600", "simulate.json"),
        ("tests.fuzz --seconds 600 --target values --target price", "fuzz.json"),
    ],
)
def test_ctrl_c_ends_a_run_with_what_it_has(words: str, figures: str, tmp_path: Path) -> None:
    """SIGINT of the whole process group: status 130, no traceback, the report, and the figures so far."""
    with start(tmp_path, *words.split()) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        out = first + process.communicate(timeout=TIMEOUT_SECONDS)[0]
    assert process.returncode == INTERRUPTED, out
    assert "Traceback" not in out
    assert "interrupted" in out
    assert msgspec.json.decode((tmp_path / "build" / figures).read_bytes(), type=list[Figure])


@pytest.mark.parametrize("read", [seconds_of, count_of])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", ""])
def test_a_bound_is_above_zero(read: Callable[[str], float], text: str) -> None:
    """Nothing else is a bound, and the error says what is."""
    with pytest.raises(argparse.ArgumentTypeError, match="above 0"):
        read(text)
    assert read("7") == 7


def test_a_run_that_looked_at_nothing_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    """Sound and empty is status 1; Ctrl-C is 130, whatever was found."""
    stop = Stop()
    assert status_of(stop, sound=True, looked_at=0) == BROKEN
    assert "Nothing was looked at." in capsys.readouterr().out
    assert status_of(stop, sound=True, looked_at=1) == 0
    assert status_of(stop, sound=False, looked_at=1) == BROKEN
    stop.happened = True
    assert status_of(stop, sound=True, looked_at=0) == INTERRUPTED


def test_ctrl_c_while_processes_start_is_heard_afterwards() -> None:
    """Inside `unhearing` nothing is lost: the signal waits, and ends the block of `interruptible`."""
    heard_early = True
    with interruptible() as stop, unhearing():
        signal.raise_signal(signal.SIGINT)
        heard_early = stop.happened
    assert (heard_early, stop.happened) == (False, True)
