"""What the demo prints: plain words, a short heading per step, colour only where it is wanted."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Iterable, Mapping
from typing import TextIO

from perdure.errors import PerdureError

WIDTH = 88
"""Columns; the longest ids and paths may need more."""

_BOLD, _GREEN, _RED, _DIM = "1", "32", "31", "2"


class CheckFailed(PerdureError):
    """Something that the demo was about to claim is not so."""

    code = "demo"
    exit_status = 1


class Screen:
    """Prints to one stream and counts what was checked. `steps` is how many headings there will be."""

    def __init__(self, stream: TextIO, *, steps: int, environment: Mapping[str, str] = os.environ) -> None:
        self._stream, self._steps, self._step = stream, steps, 0
        self.checks = 0
        dumb = environment.get("TERM") == "dumb" or bool(environment.get("NO_COLOR"))
        self._coloured = stream.isatty() and not dumb
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def heading(self, title: str) -> None:
        """Begin the next step."""
        self._step += 1
        self._line("")
        self._line(self._style(f"{self._step}/{self._steps}  {title}", _BOLD))
        self._line("")

    def say(self, text: str) -> None:
        """Print a paragraph, wrapped."""
        for line in textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False):
            self._line(line)

    def show(self, lines: Iterable[str], *, indent: int = 4) -> None:
        """Print lines as they are, indented; added and removed ones (`+`, `-`) in colour."""
        for line in lines:
            colour = {"+ ": _GREEN, "- ": _RED}.get(line[:2], "")
            self._line(" " * indent + self._style(line, colour) if line else "")

    def check(self, claim: str, holds: bool) -> None:  # noqa: FBT001 - what was found is what is passed
        """Print a claim that holds. Raises CheckFailed for one that does not."""
        if not holds:
            self._line(f"  {self._style('NOT SO', _RED)}  {claim}")
            raise CheckFailed(f"not so: {claim}", advice="This is a fault of Perdure: please report it.")
        self.checks += 1
        mark = self._style("ok", _GREEN)
        first, *rest = textwrap.wrap(claim, WIDTH - 6, break_long_words=False)
        self._line(f"  {mark}  {first}")
        self.show(rest, indent=6)

    def dim(self, text: str) -> str:
        """Text that matters less."""
        return self._style(text, _DIM)

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if code and self._coloured else text

    def _line(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def shortened(text: str, width: int) -> str:
    """One line of at most `width` characters; what was left out shows as three dots."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 3].rstrip()}..."


def dollars(nanodollars: int) -> str:
    """An amount of money, to a hundredth of a cent."""
    return f"${nanodollars / 1_000_000_000:.4f}"
