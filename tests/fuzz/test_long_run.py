"""The long run itself: its engines, its alarm, and what it keeps of a failure."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.fuzz import long_run
from tests.fuzz.__main__ import main
from tests.fuzz.corpus import TARGETS, inputs
from tests.fuzz.long_run import Hung, alarm, check_long_texts, play_round
from tests.fuzz.target import Target


def _trips(data: bytes) -> None:
    assert b"}" not in data


PLANTED = Target("planted", _trips, lambda: {"whole": b'{"a": [1, 2]}'})
"""A reader with a fault that some inputs show."""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the run keep what it finds in a folder of the test's."""
    monkeypatch.setattr(long_run, "BUILD", tmp_path)
    return tmp_path


def test_a_failure_is_found_made_small_and_kept(build: Path) -> None:
    """A round over a faulty reader raises what it raised, and leaves the smallest input that shows it."""
    with pytest.raises(AssertionError) as caught:
        play_round(PLANTED, 7, examples=50)
    (kept,) = (build / "planted").iterdir()
    assert any(kept.name in note for note in caught.value.__notes__)
    with pytest.raises(AssertionError):
        PLANTED.check(kept.read_bytes())


def test_a_run_without_a_failure_says_how_much_it_tried(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fallback engine runs for its time and ends with 0; a faulty reader ends it with 1."""
    monkeypatch.setattr(long_run, "engine", lambda: "hypothesis")
    monkeypatch.setattr(long_run, "_ROUND_EXAMPLES", 5)
    monkeypatch.setattr(
        long_run, "check_long_texts", lambda target, until: check_long_texts(target, 500, until)
    )
    assert long_run.run_here("values", 1, 1) == 0
    assert "inputs, none failed" in capsys.readouterr().out
    monkeypatch.setitem(TARGETS, "planted", PLANTED)
    assert long_run.run_here("planted", 1, 1) == 1
    assert list(build.iterdir())


def test_an_input_that_hangs_is_stopped() -> None:
    """A block that takes too long raises, and the alarm is off afterwards."""
    with pytest.raises(Hung), alarm(1):
        time.sleep(30)
    with alarm(1):
        pass


def test_one_input_is_checked_again_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kept file can be replayed alone; a target that is not there is named."""
    path = tmp_path / "input"
    path.write_bytes(b"0.5")
    assert main(["--target", "values", "--input", str(path)]) == 0
    with pytest.raises(SystemExit):
        main(["--target", "nothing"])
    assert "there is no target 'nothing'" in capsys.readouterr().err


STRUCTURED = {name: target for name, target in TARGETS.items() if target.mutate is not None}


@pytest.mark.parametrize("target", STRUCTURED.values(), ids=STRUCTURED)
def test_a_mutation_is_the_same_for_the_same_seed_and_never_fails(target: Target) -> None:
    """Any input of a target, any seed: bytes, and the same again."""
    assert target.mutate is not None
    for place, (_, data) in enumerate(inputs(target)):
        if len(data) <= target.bytes_max:
            made = target.mutate(data, random.Random(place))
            assert made == target.mutate(data, random.Random(place))
