"""Makes every fault and prints the table: `python -m tests.faults`.

`python -m tests.faults --page` writes the table into docs/explanation/faults.md instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.faults.page import page
from tests.faults.table import TABLE, find, noise

PAGE = Path("docs/explanation/faults.md")


def main(arguments: list[str]) -> int:
    """Print, or write the page; 1 when a fault was not caught by its named check."""
    if "--page" in arguments:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    missed = 0
    for fault in TABLE:
        found, sound = find(fault), noise(fault.instrument) is None
        missed += not (found.caught and sound)
        verdict = "caught" if found.caught and sound else f"MISSED: {(found.report or 'nothing')[:200]}"
        words = fault.instrument.words
        print(f"{fault.name:50}{fault.rule:>12}  {words:55}{fault.check:50}{found.seconds:6.2f} s  {verdict}")
    print(f"{len(TABLE)} faults, {missed} of them not caught by the check that is named beside them")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
