"""Fuzz for longer: `python -m tests.fuzz --seconds 300 [--target NAME ...] [--seed N]`.

The seconds are for each target. Says which engine it uses; what failed stands in build/fuzz/TARGET/ and is
checked again with `--input FILE --target NAME`. The exit status is 1 when something failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.fuzz.long_run import engine, run_here


def main(argv: list[str]) -> int:
    """Run the targets, each in a process of its own; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
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

    names = options.target or list(TARGETS)
    if unknown := sorted(set(names) - set(TARGETS)):
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    if options.input:
        for name in names:
            TARGETS[name].check(options.input.read_bytes())
        return 0
    print(f"engine: {engine()}; {len(names)} targets, {options.seconds} s each", flush=True)
    failed = [name for name in names if not _passed(name, options.seconds, options.seed)]
    print(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return 1 if failed else 0


def _passed(name: str, seconds: int, seed: int) -> bool:
    words = ["--here", "--target", name, "--seconds", str(seconds), "--seed", str(seed)]
    return subprocess.run([sys.executable, "-m", "tests.fuzz", *words], check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
