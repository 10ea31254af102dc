"""The table of faults as it stands in docs/explanation/faults.md."""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults.table import RULES, TABLE

BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"


def lines() -> Iterator[str]:
    """A section for each rule, a row for each fault."""
    for rule, title in RULES.items():
        yield f"### {f'Rule {rule}. ' if rule.isdigit() else ''}{title}"
        yield ""
        yield "| fault | what goes wrong | found by | report |"
        yield "| --- | --- | --- | --- |"
        for fault in TABLE:
            if fault.rule == rule:
                yield f"| {fault.name} | {fault.does} | {fault.instrument.words} | {fault.check} |"
        yield ""


def page(standing: str) -> str:
    """The page with the table as it has to be."""
    before, _, rest = standing.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join((f"{before}{BEGIN}", *lines(), f"{END}{after}"))
