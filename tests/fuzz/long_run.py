"""The long run: one target at a time, with atheris where it is installed, else with Hypothesis.

atheris (libFuzzer) is led by the branches that an input takes and never comes back from its run, so each
target has a process of its own. Both engines mutate the same seeds and corpus, use the mutations of the
target, stop an input that takes too long, and leave what failed in build/fuzz/TARGET/. How many inputs a
target was given stands in build/fuzz/TARGET/inputs while it runs, so that no end loses the count.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import mmap
import random
import resource
import signal
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from tests.fuzz.hard import text_bytes
from tests.fuzz.target import Target

BUILD = Path(__file__).resolve().parents[2] / "build/fuzz"
INPUT_SECONDS = 20
LONG_CHARS = 50_000
MEMORY_MIB = 2_048
_ROUND_EXAMPLES = 200


_COUNT = struct.Struct("<Q")


class Hung(Exception):
    """An input took longer than it may."""


def engine() -> str:
    """Which engine a long run uses here."""
    return "atheris" if importlib.util.find_spec("atheris") is not None else "hypothesis"


def run_here(name: str, seconds: float, seed: int) -> int:
    """Fuzz one target in this process; gives 0, or 1 when an input failed. atheris does not return."""
    until = time.monotonic() + seconds
    if engine() == "atheris":
        _run_atheris(name, until, seed)
    from tests.fuzz.corpus import TARGETS

    return _run_hypothesis(counted(TARGETS[name]), until, seed)


def counted(target: Target) -> Target:
    """The target, counting its inputs into the file that `inputs_so_far` reads."""
    path = _count_path(target.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_COUNT.pack(0))
    with path.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), _COUNT.size)

    def check(data: bytes) -> None:
        _COUNT.pack_into(shared, 0, _COUNT.unpack_from(shared)[0] + 1)
        target.check(data)

    return msgspec.structs.replace(target, check=check)


def inputs_so_far(name: str) -> int:
    """How many inputs a target was given in the run that is going on, or was the last."""
    try:
        count: int = _COUNT.unpack(_count_path(name).read_bytes())[0]
    except FileNotFoundError:
        return 0
    return count


def forget_inputs(name: str) -> None:
    """Begin again at no input."""
    _count_path(name).unlink(missing_ok=True)


def _count_path(name: str) -> Path:
    return BUILD / name / "inputs"


def check_long_texts(target: Target, chars: int = LONG_CHARS, until: float = float("inf")) -> None:
    """Texts that are hard for patterns, long enough that a quadratic one rings the alarm."""
    for name, data in text_bytes(chars).items():
        if time.monotonic() > until:
            return
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


def _run_hypothesis(target: Target, until: float, seed: int) -> int:
    """Round after round of examples, each with a seed of its own, until the time is up or one fails."""
    rounds = 0
    while time.monotonic() < until:
        try:
            if rounds == 0:
                check_long_texts(target, until=until)
            play_round(target, seed + rounds, examples=_ROUND_EXAMPLES, until=until)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a target raises is what is looked for
            print(
                f"{target.name}: round {seed + rounds}: {error!r}", *getattr(error, "__notes__", ()), sep="\n"
            )
            return 1
        rounds += 1
    print(f"{target.name}: {inputs_so_far(target.name):,} inputs, none failed", flush=True)
    return 0


def play_round(target: Target, seed: int, *, examples: int, until: float = float("inf")) -> None:
    """Check that many mutated inputs, or fewer when the time is up.

    The smallest that fails is kept, and what it raised is raised.
    """
    import hypothesis
    from hypothesis import HealthCheck

    from tests.fuzz.inputs import inputs_of

    failed: list[bytes] = []

    def check(data: bytes) -> None:
        if not failed and time.monotonic() > until:
            return
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


def _run_atheris(name: str, until: float, seed: int) -> None:
    atheris: Any = importlib.import_module("atheris")

    with atheris.instrument_imports(include=["perdure"]):
        from tests.fuzz.corpus import TARGETS, inputs
    target = counted(TARGETS[name])
    check_long_texts(target, until=until)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = BUILD / name
    grown = folder / "corpus"
    grown.mkdir(parents=True, exist_ok=True)
    for _, data in inputs(target):
        if len(data) <= target.bytes_max:
            (grown / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    flags = {
        "max_total_time": max(1, round(until - time.monotonic())),
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
