"""Read a host's session file line by line: read-only, never blocking, in bounded memory (G-07).

Lines end at LF only and are found on bytes, so that no Unicode line separator can split a record. The
file is read up to the size it had when it was opened: what a host appends meanwhile waits for the next
read. Nothing here knows a host's format.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from perdure.errors import NotFound, UsageError

LINE_BYTES_MAX = 16 * 1024 * 1024
"""A longer line is skipped and reported: it can only be an image or a tool result."""

PROBLEMS_MAX = 1000
"""So many problems are listed; of the rest only the number."""

_CHUNK_BYTES = 1024 * 1024
_EDGE_BYTES = 1024
_INSTANT_CHARS_MAX = 40
_INSTANT_MAX_MS = 253_402_300_799_999  # the end of the year 9999
_FIELD = re.compile(rb'"(id|parentId|uuid|parentUuid)"\s*:\s*(?:"([0-9A-Za-z._-]{1,64})"|null)')


class LineProblem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line that could not be used, for messages to the user: never what it says."""

    line: int  # one-based
    reason: str


class ProblemLog:
    """Collects line problems, and past `PROBLEMS_MAX` only counts them."""

    def __init__(self) -> None:
        self._kept: list[LineProblem] = []
        self._more = 0

    def add(self, line: int, reason: str) -> None:
        """Note that a line could not be used as it is."""
        if len(self._kept) < PROBLEMS_MAX:
            self._kept.append(LineProblem(line, reason))
        else:
            self._more += 1

    def __bool__(self) -> bool:
        return bool(self._kept)

    def in_order(self) -> tuple[LineProblem, ...]:
        """Return what was noted, by line; when there was more, the last item says how much."""
        kept = sorted(self._kept, key=lambda problem: (problem.line, problem.reason))
        if self._more:
            kept.append(LineProblem(kept[-1].line, f"and {self._more} more problems, not listed"))
        return tuple(kept)


class Record(msgspec.Struct, frozen=True):
    """One line that is a JSON object. `damaged` says that only its identity fields could be saved."""

    line: int  # one-based
    value: dict[str, Any]
    damaged: bool


class _Line(msgspec.Struct, frozen=True):
    number: int
    data: bytes  # without its LF; of an overlong line only its first and last kibibyte
    ended: bool
    overlong: bool


def records(descriptor: int, problems: ProblemLog) -> Iterator[Record]:
    """Yield every record of an open session file, oldest first, and add what was unusable to `problems`.

    Blank lines are passed over. A line that is damaged or too long is reported; when its identity fields
    are legible it is still yielded with those alone, so that a tree does not lose what hangs on it.
    """
    for line in _lines(descriptor):
        data = line.data.removeprefix(b"\xef\xbb\xbf") if line.number == 1 else line.data
        if not data.strip():
            continue
        if line.overlong:
            problems.add(line.number, f"longer than {LINE_BYTES_MAX} bytes; skipped")
            yield from _salvaged(line, data)
            continue
        value, reason = _decode(data)
        if reason is not None and not line.ended:
            reason = "torn last line; skipped"
        if reason is not None:
            problems.add(line.number, reason)
        if value is not None:
            yield Record(line.number, value, damaged=False)
        elif line.ended:
            yield from _salvaged(line, data)


def open_session(path: str | os.PathLike[str]) -> int:
    """Open a session file read-only and return its descriptor, which the caller closes.

    A symlink is followed: hosts and people link their sessions. Raises NotFound when nothing is there
    and UsageError when it is no regular file or cannot be read.
    """
    shown = os.fsdecode(path).encode("utf-8", "backslashreplace").decode()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"{shown}: there is no such file.", advice="Name a session file of the host."
        ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a usable path"
        raise UsageError(
            f"{shown}: cannot be opened: {reason}.", advice="Check the path and its mode."
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(
            f"{shown}: not a regular file.", advice="Name one session file (.jsonl), not its folder."
        )
    return descriptor


def instant_ms(value: object) -> int | None:
    """Read a host's timestamp, ISO 8601 text or a number of milliseconds, as UTC milliseconds, or None."""
    if isinstance(value, str) and len(value) <= _INSTANT_CHARS_MAX:
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                return None
            milliseconds = int(moment.timestamp() * 1000 + 0.5)
        except (ValueError, OverflowError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _INSTANT_MAX_MS:
        milliseconds = int(value)
    else:
        return None
    return milliseconds if 0 <= milliseconds <= _INSTANT_MAX_MS else None


def _lines(descriptor: int) -> Iterator[_Line]:
    left = os.fstat(descriptor).st_size
    number, held, overlong = 1, bytearray(), False
    while left > 0 and (chunk := os.read(descriptor, min(_CHUNK_BYTES, left))):
        left -= len(chunk)
        pieces = chunk.split(b"\n")
        for index, piece in enumerate(pieces):
            held += piece
            if len(held) > LINE_BYTES_MAX or (overlong and len(held) > 2 * _EDGE_BYTES):
                overlong = True
                del held[_EDGE_BYTES:-_EDGE_BYTES]
            if index < len(pieces) - 1:
                yield _Line(number, bytes(held), ended=True, overlong=overlong)
                number, held, overlong = number + 1, bytearray(), False
    if held:
        yield _Line(number, bytes(held), ended=False, overlong=overlong)


def _decode(data: bytes) -> tuple[dict[str, Any] | None, str | None]:
    """Parse one line; return its object, or None, and what is wrong with it, or None."""
    reason = None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        reason = "not valid UTF-8; the damaged characters were replaced"
    try:
        value = json.loads(text)
    except RecursionError:
        return None, "nested too deeply; skipped"
    except ValueError:
        return None, "not valid JSON; skipped"
    if not isinstance(value, dict):
        return None, "not a JSON object; skipped"
    return value, reason


def _salvaged(line: _Line, data: bytes) -> Iterator[Record]:
    identity = _identity(data)
    if identity:
        yield Record(line.number, identity, damaged=True)


def _identity(data: bytes) -> dict[str, Any]:
    """Save the identity fields from the two edges of a line.

    The first of each name in the first kibibyte counts, else the last in the last kibibyte: the middle
    is content and may hold anything.
    """
    found: dict[str, Any] = {}
    for name, value in _FIELD.findall(data[:_EDGE_BYTES]):
        found.setdefault(name.decode(), value.decode() or None)
    for name, value in reversed(_FIELD.findall(data[-_EDGE_BYTES:])):
        found.setdefault(name.decode(), value.decode() or None)
    return found
