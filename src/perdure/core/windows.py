"""Cut a session's turns into review windows (E-01, E-09).

The cut is greedy from the oldest turn and looks at nothing but the turns, so that the windows already
made stay the same, byte for byte, when the session grows: only the last one, not yet taken, can grow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Sequence

import msgspec

from perdure.core.canonical import canonical
from perdure.core.evidence import (
    Evidence,
    EvidenceLine,
    EvidenceTurn,
    RawTurn,
    Skipped,
    Uncovered,
    Windows,
)
from perdure.core.sanitising import sanitise, sanitised_text
from perdure.errors import Refused

WINDOW_TURNS_MAX = 12
WINDOW_CHARS_MAX = 32_000
WINDOW_BYTES_MAX = 100 * 1024
"""Canonical JSON of one window; a job (128 KiB) has room for the rest."""

_WORD_CHARS_MAX = 200
_GRAPHEME_CHARS_MAX = 64  # what goes on for longer is no character that anyone reads
_VIRAMA_CLASS = 9
_LAST_ID = "e99999"  # no window has more lines than this id counts, so it stands for any id when measuring


def windows(host: str, session: str, turns: Sequence[RawTurn], covered: Container[str]) -> Windows:
    """Cut the turns that are settled and not covered into windows, oldest first.

    A window is a run of turns: a covered turn, or one that cannot be covered, ends it; a skipped turn
    does not. It holds at most `WINDOW_TURNS_MAX` turns, `WINDOW_CHARS_MAX` characters of text and
    `WINDOW_BYTES_MAX` bytes of canonical JSON, all after sanitising. A turn that alone is larger is cut
    at its end and marked.
    """
    cutter = _Cutter(host, session)
    seen: set[str] = set()
    for turn in turns:
        if turn.turn_id in covered:
            cutter.flush()
        elif turn.end != "settled":
            cutter.skip(turn, turn.end)
        elif turn.turn_id in seen:
            cutter.skip(turn, "duplicate")
        else:
            seen.add(turn.turn_id)
            cutter.take(turn)
    cutter.flush()
    return Windows(tuple(cutter.evidence), tuple(cutter.skipped), tuple(cutter.uncovered))


class _Cutter:
    """The windows made so far and the one being filled."""

    def __init__(self, host: str, session: str) -> None:
        self._host, self._session = host, session
        self._bytes_free = WINDOW_BYTES_MAX - len(canonical(Evidence(host, session, ())))
        self._filling: list[EvidenceTurn] = []
        self._chars = self._bytes = 0  # of what fills the window
        self.evidence: list[Evidence] = []
        self.skipped: list[Skipped] = []
        self.uncovered: list[Uncovered] = []

    def skip(self, turn: RawTurn, reason: str) -> None:
        self.skipped.append(Skipped(turn.turn_id, turn.position, reason))

    def take(self, turn: RawTurn) -> None:
        """Sanitise a turn and put it into the window being filled, or into the next."""
        try:
            clean = fitted(sanitise(turn), WINDOW_CHARS_MAX, self._bytes_free)
        except Refused:
            self._cannot(turn, "secret")
            return
        except UnicodeError:
            self._cannot(turn, "text")
            return
        if not clean.lines:
            self.skip(turn, "empty")
            return
        chars, size = turn_chars(clean), turn_bytes(clean)
        if (
            len(self._filling) == WINDOW_TURNS_MAX
            or self._chars + chars > WINDOW_CHARS_MAX
            or self._bytes + size > self._bytes_free
        ):
            self.flush()
        self._filling.append(clean)
        self._chars += chars
        self._bytes += size

    def flush(self) -> None:
        """End the window being filled."""
        if self._filling:
            self.evidence.append(Evidence(self._host, self._session, _numbered(self._filling)))
        self._filling = []
        self._chars = self._bytes = 0

    def _cannot(self, turn: RawTurn, reason: str) -> None:
        self.flush()
        self.uncovered.append(Uncovered(turn.turn_id, turn.position, turn.settled_ms, reason))


def turn_chars(turn: EvidenceTurn) -> int:
    """Count the characters of a turn's text: Unicode code points."""
    return sum(len(line.text) for line in turn.lines)


def turn_bytes(turn: EvidenceTurn) -> int:
    """Bound the bytes that a turn takes in the canonical JSON of a window, whatever its lines' ids."""
    lines = tuple(msgspec.structs.replace(line, line_id=_LAST_ID) for line in turn.lines)
    return len(canonical(msgspec.structs.replace(turn, lines=lines, cut=False))) + 1  # and its comma


def fitted(turn: EvidenceTurn, chars_max: int, bytes_max: int) -> EvidenceTurn:
    """Cut a turn at its end until it has at most so many characters and bytes; a turn that fits stays.

    The cut falls between words where one ends nearby, never inside a grapheme or a tool line, and what
    is left is sanitised again, so that no half of a secret stays. Raises Refused as `sanitised_text`.
    """
    chars = chars_max
    while turn_chars(turn) > chars_max or turn_bytes(turn) > bytes_max:
        turn = _cut(turn, chars)
        chars = min(chars, turn_chars(turn)) * 15 // 16
    return turn


def _cut(turn: EvidenceTurn, chars: int) -> EvidenceTurn:
    kept: list[EvidenceLine] = []
    for line in turn.lines:
        if len(line.text) > chars:
            text = "" if line.role == "tool" else _shortened(line.text, chars)
            if text:
                kept.append(msgspec.structs.replace(line, text=text))
            break
        kept.append(line)
        chars -= len(line.text)
    return msgspec.structs.replace(turn, cut=True, lines=tuple(kept))


def _shortened(text: str, chars: int) -> str:
    """Keep at most so many characters of a text; what redaction adds at the cut counts too."""
    limit = chars
    while limit > 0:
        kept = sanitised_text(text[: _place(text, limit)])
        if len(kept) <= chars:
            return kept
        limit -= len(kept) - chars
    return ""


def _place(text: str, at: int) -> int:
    """Find the last good place to cut at or before `at`.

    That is after a word if one ends nearby, else before the whole grapheme that stands there.
    """
    for place in range(at, max(at - _WORD_CHARS_MAX, 0), -1):
        if text[place].isspace():
            return place
    for place in range(at, max(at - _GRAPHEME_CHARS_MAX, 0), -1):
        if not _joins(text, place):
            return place
    return at


def _joins(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the one before it: mark, joiner, conjunct, flag, skin tone."""
    here = text[at]
    if unicodedata.category(here) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    before = text[at - 1]
    if unicodedata.combining(before) == _VIRAMA_CLASS:
        return True
    both_flags = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, here))
    return before == "\u200d" or both_flags


def _numbered(turns: list[EvidenceTurn]) -> tuple[EvidenceTurn, ...]:
    """Give every line of a window its id: "e1", "e2", ... over all its turns."""
    done: list[EvidenceTurn] = []
    count = 0
    for turn in turns:
        lines: list[EvidenceLine] = []
        for line in turn.lines:
            count += 1
            lines.append(msgspec.structs.replace(line, line_id=f"e{count}"))
        done.append(msgspec.structs.replace(turn, lines=tuple(lines)))
    return tuple(done)
