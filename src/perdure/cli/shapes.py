"""How entries, branches and changes look: as JSON and as text. The same in every command."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from perdure.cli.paint import Paint
from perdure.core.budget import Amount, Exposure
from perdure.core.exchange import diff
from perdure.core.memory import BRANCH_CHARS_MAX, Branch, Change, Entry, entry_digest
from perdure.service.remember import Written

NANODOLLARS = 1_000_000_000
JOB_DIGITS_SHOWN = 12


def entry_json(entry: Entry) -> dict[str, Any]:
    """All of an entry, with its digest."""
    return {
        "id": entry.entry_id,
        "text": entry.text,
        "kind": entry.kind,
        "key": entry.key,
        "importance": entry.importance,
        "origin": entry.origin,
        "created_ms": entry.created_ms,
        "updated_ms": entry.updated_ms,
        "digest": entry_digest(entry),
    }


def branch_json(branch: Branch) -> dict[str, Any]:
    """What names a branch and its state, without the entries."""
    return {
        "branch": branch.name,
        "branch_id": branch.branch_id,
        "scope": branch.project,
        "parent": branch.parent,
        "seq": branch.seq,
        "digest": branch.digest,
        "characters": branch.chars,
        "characters_max": BRANCH_CHARS_MAX,
    }


def change_json(change: Change) -> dict[str, Any]:
    """An entry before and after a change."""
    return {
        "id": change.entry_id,
        "index": change.index,
        "before": entry_json(change.before) if change.before is not None else None,
        "after": entry_json(change.after) if change.after is not None else None,
    }


def written_json(written: Written) -> dict[str, Any]:
    """What a foreground change did."""
    return {
        "changed": written.changed,
        "branch": written.branch,
        "seq": written.seq,
        "digest": written.digest,
        "entry": entry_json(written.entry) if written.entry is not None else None,
        "changes": [change_json(change) for change in written.changes],
        "similar": [entry_json(entry) for entry in written.similar],
    }


def written_text(written: Written, paint: Paint, *, unchanged: str) -> str:
    """The diff of a change and where it leads, or that nothing changed."""
    if not written.changed:
        return unchanged
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
