"""Fuzz for longer: `python -m tests.fuzz --seconds 300 [--target NAME ...] [--seed N]`.

The seconds are for the whole run: what is left of them is split over the targets that are left. Says which
engine it uses and how far it is; figures go to build/fuzz.json. What failed stands in build/fuzz/TARGET/ and
is checked again with `--input FILE --target NAME`. The exit status is 1 when something failed, 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.figures import BUILD_FOLDER, Figure, at_most, plain, write
from tests.fuzz.long_run import engine, forget_inputs, inputs_so_far, run_here
from tests.long_runs import EVERY_SECONDS, interruptible, seconds_of, status_of, there_are, unhearing


def main(argv: list[str]) -> int:
    """Run the targets, each in a process of its own; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=seconds_of, default=60.0, help="for the whole run")
    parser.add_argument("--target", action="append", metavar="NAME", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="check this one input and show what it raises"
    )
    parser.add_argument("--here", action="store_true", help="one target, in this process")
    options = parser.parse_args(argv)
    if options.here and len(options.target or ()) == 1:
        return run_here(options.target[0], options.seconds, options.seed)
    from tests.fuzz.corpus import TARGETS

    names = list(dict.fromkeys(options.target or TARGETS))
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(there_are("target", unknown[0], TARGETS))
    if options.input:
        for name in names:
            TARGETS[name].check(options.input.read_bytes())
        return 0
    return _campaign(names, options.seconds, options.seed)


def _campaign(names: list[str], seconds: float, seed: int) -> int:
    until = time.monotonic() + seconds
    inputs: dict[str, int] = {}
    failed: list[str] = []
    with interruptible() as stop:
        print(f"engine: {engine()}; {len(names)} targets, {seconds:g} s for all of them", flush=True)
        for place, name in enumerate(names):
            share = (until - time.monotonic()) / (len(names) - place)
            if share <= 0:
                break
            forget_inputs(name)
            try:
                if not _passed(name, share, seed):
                    failed.append(name)
            finally:
                inputs[name] = inputs_so_far(name)
    figures = figures_of(inputs, failed)
    write(BUILD_FOLDER / "fuzz.json", figures)
    print(f"{len(inputs)} of {len(names)} targets, {sum(inputs.values()):,} inputs")
    if missed := [name for name in names if not inputs.get(name)]:
        print(f"not reached: {', '.join(missed)}")
    print(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return status_of(stop, sound=not failed, looked_at=sum(inputs.values()) or len(failed))


def figures_of(inputs: dict[str, int], failed: list[str]) -> list[Figure]:
    """How many inputs each target was given, and whether one failed, which ends the target."""
    return [
        plain("inputs", sum(inputs.values()), "inputs"),
        at_most("failures", len(failed), "targets", 0),
        *(plain(f"inputs: {name}", count, "inputs") for name, count in inputs.items()),
        *(at_most(f"failures: {name}", int(name in failed), "inputs", 0) for name in inputs),
    ]


def _passed(name: str, seconds: float, seed: int) -> bool:
    """Run one target in its process, and say now and then how far it is."""
    words = ["--here", "--target", name, "--seconds", f"{seconds:.3f}", "--seed", str(seed)]
    begun = time.monotonic()
    process: subprocess.Popen[bytes] | None = None
    try:
        with (
            unhearing()
        ):  # a Ctrl-C that was held back is heard at its end, with the process there to be ended
            process = subprocess.Popen([sys.executable, "-m", "tests.fuzz", *words])
        while True:
            try:
                return process.wait(EVERY_SECONDS) == 0
            except subprocess.TimeoutExpired:
                left = max(0.0, seconds - (time.monotonic() - begun))
                print(f"{name}: {inputs_so_far(name):,} inputs, {left:.0f} s left for it", flush=True)
    finally:
        if process is not None:
            process.kill()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
