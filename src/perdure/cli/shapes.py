"""How changes, amounts and dates look as text. The same in every command."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from perdure.cli.paint import Paint

# For types alone: a command that only reads changes and pays nothing.
if TYPE_CHECKING:
    from perdure.core.budget import Amount, Exposure
    from perdure.service.remember import Written

NANODOLLARS = 1_000_000_000
JOB_DIGITS_SHOWN = 12


def written_text(written: Written, paint: Paint, *, unchanged: str) -> str:
    """The diff of a change and where it leads, or that nothing changed."""
    if not written.changed:
        return unchanged
    from perdure.core.exchange import diff

    lines = [paint.diff(diff(written.changes))]
    lines.append(paint("dim", f"branch {written.branch}, revision {written.seq}"))
    lines += [paint("yellow", f"similar: {e.entry_id} {one_line(e.text)}") for e in written.similar]
    return "\n".join(lines)


def one_line(text: str, width: int = 100) -> str:
    """A text on one line, cut when it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def date(ms: int) -> str:
    """UTC, to the second, from UTC milliseconds; "-" for none."""
    if ms <= 0:
        return "-"
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"


def amount_json(amount: Amount) -> dict[str, int]:
    """Calls, tokens and integer nano-dollars."""
    return {"calls": amount.calls, "tokens": amount.tokens, "cost_nanodollars": amount.cost_nanodollars}


def exposure_json(exposure: Exposure) -> dict[str, dict[str, int]]:
    """The three certainties."""
    return {
        "actual": amount_json(exposure.actual),
        "held": amount_json(exposure.held),
        "unknown": amount_json(exposure.unknown),
    }


def dollars(nanodollars: int) -> str:
    """An amount of money, to a hundredth of a cent."""
    return f"${nanodollars / NANODOLLARS:,.4f}"


def amount_text(amount: Amount) -> str:
    """Calls, tokens and dollars in words."""
    parts = (counted(amount.calls, "call"), counted(amount.tokens, "token"))
    return ", ".join([*parts, dollars(amount.cost_nanodollars)])


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun: "1 turn", "1,200 turns"; `many` where an s does not make the plural."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def until(ms: int) -> str:
    """A moment of the near future in local time, to the second, with its zone."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Rows in columns as wide as they need to be; the last column runs free."""
    found = list(rows)
    if not found:
        return ""
    widths = [max(len(row[place]) for row in found) for place in range(len(found[0]) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in found
    )
