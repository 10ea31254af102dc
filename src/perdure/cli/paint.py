"""Colour, only on a terminal and not with NO_COLOR."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import msgspec

# For types alone.
if TYPE_CHECKING:
    from perdure.core.exchange import DiffLine

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_SIGNS = {"+": "green", "-": "red", "~": "dim"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_COLOUR = re.compile(r"(?!\x1b\[[0-9;]{1,8}m)" + _CONTROL.pattern)


def legible(text: str, *, colours: bool = False) -> str:
    """The text with control characters as escapes, but for line breaks, tabs and, if wanted, colours.

    Names of files and folders may hold anything, and none of it shall steer a terminal.
    """
    return (_NO_COLOUR if colours else _CONTROL).sub(lambda found: f"\\x{ord(found.group()):02x}", text)


class Paint(msgspec.Struct, frozen=True):
    """Adds colour to pieces of text when it is on."""

    on: bool = False

    @classmethod
    def for_stream(cls, stream: TextIO) -> Paint:
        """Colour for a terminal that is not dumb, unless NO_COLOR is set."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(on=wanted and stream.isatty())

    def __call__(self, style: str, text: str) -> str:
        """The text in a style: bold, dim, red, green or yellow."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on else text

    def diff(self, lines: Iterable[DiffLine]) -> str:
        """A readable diff as lines."""
        return "\n".join(self(_SIGNS[line.sign], f"{line.sign} {line.text}") for line in lines)
