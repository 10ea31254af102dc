"""Makes every fault and prints the table: `python -m tests.faults`; writes build/faults.json.

`python -m tests.faults --page` writes the table into docs/explanation/faults.md instead. Status 1 when a
fault was not caught by its named check, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.bench.figures import BUILD_FOLDER, Figure, at_least, at_most, plain, write
from tests.faults.page import page
from tests.faults.row import Found
from tests.faults.table import TABLE, find, noise
from tests.long_runs import interruptible, status_of

PAGE = Path("docs/explanation/faults.md")


def main(arguments: list[str]) -> int:
    """Print, or write the page; 1 when a fault was not caught by its named check."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Make every fault.")
    parser.add_argument("--page", action="store_true", help="write the table into the documentation")
    if parser.parse_args(arguments).page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    caught: dict[str, bool] = {}
    with interruptible() as stop:
        for fault in TABLE:
            found = find(fault)
            caught[fault.name] = found.caught and noise(fault.instrument) is None
            print(_row(found, caught=caught[fault.name]), flush=True)
    missed = len(caught) - sum(caught.values())
    print(
        f"{len(caught)} of {len(TABLE)} faults made, "
        f"{missed} of them not caught by the check that is named beside them"
    )
    write(BUILD_FOLDER / "faults.json", figures_of(caught))
    return status_of(stop, sound=not missed, looked_at=len(caught))


def figures_of(caught: dict[str, bool]) -> list[Figure]:
    """A figure for each fault that was made, and what they come to."""
    return [
        *(at_least(f"fault:{name}", float(was), "caught", 1) for name, was in caught.items()),
        plain("faults", len(caught), "faults"),
        at_most("missed", len(caught) - sum(caught.values()), "faults", 0),
    ]


def _row(found: Found, *, caught: bool) -> str:
    fault = found.fault
    verdict = "caught" if caught else f"MISSED: {(found.report or 'nothing')[:200]}"
    words = fault.instrument.words
    return f"{fault.name:50}{fault.rule:>12}  {words:55}{fault.check:50}{found.seconds:6.2f} s  {verdict}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
