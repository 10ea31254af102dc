"""Sanitising: what of a turn may be stored (E-02, E-03), bounded and the same on every path (E-10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from perdure.core.encoded import remove_data
from perdure.core.evidence import EvidenceLine, EvidenceTurn, RawLine, RawTurn
from perdure.core.secrets import redact
from perdure.core.text import clean_evidence_text
from perdure.errors import Refused

TURN_LINES_MAX = 400
"""More lines than this are first gathered, then cut at the end."""

TURN_CHARS_MAX = 64_000
"""Twice what a window holds: the lines after so much text are not even looked at."""

TOOL_NAME_CHARS_MAX = 80

_ROUNDS_MAX = 5


def sanitise(turn: RawTurn) -> EvidenceTurn:
    """Make evidence of a turn: clean text without secrets or encoded data, tool names with their ends.

    The turn may be larger than a window; it is `cut` here only where that saves useless work, after
    `TURN_CHARS_MAX` characters or `TURN_LINES_MAX` lines. Its lines have no ids yet. It has no lines at
    all when no text is in it, only tools. Raises Refused when a secret cannot be removed for good.
    """
    lines, cut = _lines(turn)
    if not any(line.role != "tool" for line in lines):
        lines = []
    lines = list(_repeats_joined(lines))
    if len(lines) > TURN_LINES_MAX:
        lines = list(_tools_gathered(lines))
    kept = tuple(lines[:TURN_LINES_MAX])
    cut = cut or len(kept) < len(lines)
    return EvidenceTurn(turn_id=turn.turn_id, settled_ms=turn.settled_ms, cut=cut, lines=kept)


def sanitised_text(text: str) -> str:
    """Return text that may be stored: no encoded data, nothing invisible, no secret.

    Applying it again changes nothing. Raises Refused when redaction does not come to rest.
    """
    for _ in range(_ROUNDS_MAX):
        done = redact(remove_data(clean_evidence_text(text)))[0].strip()
        if done == text:
            return text
        text = done
    raise Refused("A text still looked like a secret after it was redacted.", advice="Review it by hand.")


def _lines(turn: RawTurn) -> tuple[list[EvidenceLine], bool]:
    """Sanitise line by line until there is more than enough; tell whether anything is left over."""
    lines: list[EvidenceLine] = []
    chars = 0
    for raw in turn.lines:
        if chars > TURN_CHARS_MAX:
            return lines, True
        line = _line(raw)
        if line is not None:
            lines.append(line)
            chars += 0 if line.role == "tool" else len(line.text)
    return lines, False


def _line(raw: RawLine) -> EvidenceLine | None:
    if raw.role != "tool":
        text = sanitised_text(raw.text)
        return EvidenceLine(line_id="", role=raw.role, text=text) if text else None
    name, _, end = raw.text.rpartition(" ")
    name = " ".join(sanitised_text(name).split())[:TOOL_NAME_CHARS_MAX].strip() or "tool"
    return EvidenceLine(line_id="", role="tool", text=f"{name} {'ok' if end == 'ok' else 'failed'}")


def _repeats_joined(lines: Iterable[EvidenceLine]) -> Iterator[EvidenceLine]:
    """Write a tool line that repeats as one line with its number: "bash ok x37"."""
    for line, group in groupby(lines):
        same = list(group)
        if line.role == "tool" and len(same) > 1:
            yield _counted(line.text, len(same))
        else:
            yield from same


def _tools_gathered(lines: Iterable[EvidenceLine]) -> Iterator[EvidenceLine]:
    """Write each run of tool lines as one line per tool and end, in the order of their first use."""
    for is_tool, group in groupby(lines, key=lambda line: line.role == "tool"):
        if not is_tool:
            yield from group
            continue
        counts: Counter[str] = Counter()
        for line in group:
            text, _, times = line.text.rpartition(" x")
            counted = text.endswith((" ok", " failed")) and times.isdecimal()
            counts[text if counted else line.text] += int(times) if counted else 1
        yield from (_counted(text, count) for text, count in counts.items())


def _counted(text: str, count: int) -> EvidenceLine:
    return EvidenceLine(line_id="", role="tool", text=f"{text} x{count}" if count > 1 else text)
