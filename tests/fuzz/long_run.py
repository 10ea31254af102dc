"""The long run: one target at a time, with atheris where it is installed, else with Hypothesis.

atheris (libFuzzer) is led by the branches that an input takes and never comes back from its run, so each
target has a process of its own. Both engines mutate the same seeds and corpus, use the mutations of the
target, stop an input that takes too long, and leave what failed in build/fuzz/TARGET/.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.hard import text_bytes
from tests.fuzz.target import Target

BUILD = Path(__file__).resolve().parents[2] / "build/fuzz"
INPUT_SECONDS = 20
LONG_CHARS = 50_000
MEMORY_MIB = 2_048
_ROUND_EXAMPLES = 200


class Hung(Exception):
    """An input took longer than it may."""


def engine() -> str:
    """Which engine a long run uses here."""
    return "atheris" if importlib.util.find_spec("atheris") is not None else "hypothesis"


def run_here(name: str, seconds: int, seed: int) -> int:
    """Fuzz one target in this process; gives 0, or 1 when an input failed. atheris does not return."""
    if engine() == "atheris":
        _run_atheris(name, seconds, seed)
    from tests.fuzz.corpus import TARGETS

    return _run_hypothesis(TARGETS[name], seconds, seed)


def check_long_texts(target: Target, chars: int = LONG_CHARS) -> None:
    """Texts that are hard for patterns, long enough that a quadratic one rings the alarm."""
    for name, data in text_bytes(chars).items():
        try:
            with alarm():
                target.check(data)
        except BaseException as error:
            error.add_note(f"{name}, {chars} characters; kept as {keep(target, data)}")
            raise


def keep(target: Target, data: bytes) -> Path:
    """Write an input that failed into the folder of the run, under its digest."""
    folder = BUILD / target.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"crash-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path


@contextlib.contextmanager
def alarm(seconds: int = INPUT_SECONDS) -> Iterator[None]:
    """Raise Hung when the block takes longer; regular expressions of Python can be interrupted, too."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Hung(f"longer than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# -- Hypothesis


def _run_hypothesis(target: Target, seconds: int, seed: int) -> int:
    """Round after round of examples, each with a seed of its own, until the time is up or one fails."""
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            if rounds == 0:
                check_long_texts(target)
            play_round(target, seed + rounds, examples=_ROUND_EXAMPLES)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a target raises is what is looked for
            print(
                f"{target.name}: round {seed + rounds}: {error!r}", *getattr(error, "__notes__", ()), sep="\n"
            )
            return 1
        rounds += 1
    print(f"{target.name}: {rounds * _ROUND_EXAMPLES} inputs, none failed")
    return 0


def play_round(target: Target, seed: int, *, examples: int) -> None:
    """Check that many mutated inputs. The smallest that fails is kept, and what it raised is raised."""
    import hypothesis
    from hypothesis import HealthCheck

    from tests.fuzz.inputs import inputs_of

    failed: list[bytes] = []

    def check(data: bytes) -> None:
        try:
            with alarm():
                target.check(data)
        except BaseException:
            failed.append(data)
            raise

    wrapped = hypothesis.given(inputs_of(target))(check)
    quiet = hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    try:
        hypothesis.seed(seed)(quiet(wrapped))()
    except BaseException as error:
        if failed:
            error.add_note(f"kept as {keep(target, failed[-1])}")
        raise


# -- atheris


def _run_atheris(name: str, seconds: int, seed: int) -> None:
    atheris: Any = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["perdure"]):
        from tests.fuzz.corpus import TARGETS, inputs
    target = TARGETS[name]
    check_long_texts(target)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = BUILD / name
    grown = folder / "corpus"
    grown.mkdir(parents=True, exist_ok=True)
    for _, data in inputs(target):
        if len(data) <= target.bytes_max:
            (grown / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    flags = {
        "max_total_time": seconds,
        "seed": seed or 1,
        "max_len": target.bytes_max,
        "timeout": INPUT_SECONDS,
        "rss_limit_mb": MEMORY_MIB,
        "artifact_prefix": f"{folder}/",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    arguments = [sys.argv[0], *(f"-{flag}={value}" for flag, value in flags.items()), str(grown)]
    atheris.Setup(arguments, target.check, **_structured(target, atheris))
    atheris.Fuzz()


def _structured(target: Target, atheris: Any) -> dict[str, Any]:
    """The target's own mutation, which libFuzzer calls in three of four cases."""
    change = target.mutate
    if change is None:
        return {}

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        made = change(data, chance) if chance.randrange(4) else atheris.Mutate(data, most)
        return bytes(made[:most])

    return {"custom_mutator": mutate}
