"""Normalised copies of a text, each able to say where in the original a span came from (E-03).

A secret may be written fullwidth, with invisible characters inside, JSON- or URL-escaped (more than
once), or wrapped over lines. Each copy undoes one of these. Copies are views over their parent: a sorted
list of pieces maps a place in the copy back to the text that was read.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from html import unescape as html_unescape

UNESCAPE_LEVELS_MAX = 4
"""How many layers of escaping are undone: JSON in JSON in a shell string is three."""

_DECOMPOSED = re.compile(r"[^\W\d_][\u0300-\u036f]+|[^\x00-\x7f]")
_ESCAPE = re.compile(
    r"\\(?:u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbf\"'/\\])"
    r"|%[0-9A-Fa-f]{2}"
    r"|&(?:#[0-9]{1,6}|#[xX][0-9A-Fa-f]{1,5}|amp|lt|gt|quot|apos|nbsp);"
)
_JOIN = re.compile(
    r"(?<=[\w\-+/=.~%])(?:"
    r"[ \t]*\\?\r?\n[ \t]*(?:(?:>|\||\#|\*|//)[ \t]*){0,3}"
    r"|[\"'][ \t]*[+.]?[ \t]*\\?\r?\n?[ \t]*[+.]?[ \t]*[\"']"
    r")(?=[\w\-+/=.~%])"
)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_CODE_POINT_MAX = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class View:
    """A text and the way back to its parent. Without a parent it is the original."""

    __slots__ = ("_pieces", "_starts", "cuts", "parent", "text")

    def __init__(self, text: str, parent: View | None = None) -> None:
        self.text = text
        self.parent = parent
        self.cuts: list[int] = []  # places in `text` where something was taken out, ascending
        self._starts: list[int] = []
        self._pieces: list[tuple[int, int, bool]] = []  # start and end in the parent; copied as it stands?

    def add(self, start: int, place: tuple[int, int], *, copied: bool) -> None:
        """Record that the text from `start` on stands for `place` (start, end) of the parent."""
        self._starts.append(start)
        self._pieces.append((*place, copied))

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Map a non-empty span of this view to the smallest span of the original that holds it."""
        if self.parent is None:
            return start, end
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        begin, _, copied = self._pieces[first]
        if copied:
            begin += start - self._starts[first]
        base, finish, copied = self._pieces[last]
        if copied:
            finish = base + end - self._starts[last]
        return self.parent.origin(begin, finish)

    def is_cut(self, index: int) -> bool:
        """Say whether something was taken out directly before `index`."""
        place = bisect_left(self.cuts, index)
        return place < len(self.cuts) and self.cuts[place] == index

    def cuts_within(self, start: int, end: int) -> list[int]:
        """Give the cuts strictly inside a span."""
        return self.cuts[bisect_right(self.cuts, start) : bisect_left(self.cuts, end)]


def _rewrite(parent: View, pattern: re.Pattern[str], replace: Callable[[str], str | None]) -> View | None:
    """Replace matches (None leaves one as it is); None when nothing changed."""
    view = View("", parent)
    parts: list[str] = []
    done = length = 0
    text = parent.text
    for match in pattern.finditer(text):
        new = replace(match.group())
        if new is None:
            continue
        start, end = match.span()
        if start > done:
            view.add(length, (done, start), copied=True)
            parts.append(text[done:start])
            length += start - done
        if new:
            view.add(length, (start, end), copied=False)
            parts.append(new)
            length += len(new)
        else:
            view.cuts.append(length)
        done = end
    if done == 0:
        return None
    if done < len(text):
        view.add(length, (done, len(text)), copied=True)
        parts.append(text[done:])
    view.text = "".join(parts)
    return view


def is_hidden(char: str) -> bool:
    """Say whether a character shows nothing: format controls, selectors, tags, fillers."""
    return unicodedata.category(char) == "Cf" or char in _BLANKS


_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)


def _fold(cluster: str) -> str | None:
    """Fold one character, or one letter with its combining marks, to its compatibility form."""
    new = "" if is_hidden(cluster) else unicodedata.normalize("NFKC", cluster)
    return None if new == cluster else new


def _fold_cluster(cache: dict[str, str | None]) -> Callable[[str], str | None]:
    def fold(cluster: str) -> str | None:
        if cluster not in cache:
            cache[cluster] = _fold(cluster) if len(cluster) == 1 else unicodedata.normalize("NFKC", cluster)
        return cache[cluster]

    return fold


def _unescape(escape: str) -> str:
    """Give the character that one escape stands for; bytes of URL escapes are taken as Latin-1."""
    if escape[0] == "&":
        return html_unescape(escape)
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    kind, digits = escape[1], escape[2:].strip("{}")
    if kind in "ux":
        code = int(digits, 16)
        return chr(code) if code <= _CODE_POINT_MAX and code not in _SURROGATES else "\ufffd"
    return _SIMPLE.get(kind, kind)


def folded(view: View) -> View | None:
    """Copy with compatibility forms folded (NFKC) and hidden characters taken out; None if there are none."""
    if view.text.isascii():
        return None
    return _rewrite(view, _DECOMPOSED, _fold_cluster({}))


def unescaped(view: View) -> View | None:
    """Copy with one layer of JSON, URL and HTML escapes undone; None if there are none."""
    if not any(sign in view.text for sign in "\\%&"):
        return None
    return _rewrite(view, _ESCAPE, _unescape)


def joined(view: View) -> View | None:
    """Copy with lines (and string literals put together) joined where a token may go on; None if none."""
    return _rewrite(view, _JOIN, lambda _: "")


def views(text: str) -> tuple[list[View], list[View]]:
    """Give the copies to scan in full, the original first, and the joined ones for value rules only."""
    whole = [View(text)]
    after = folded(whole[0])
    if after is not None:
        whole.append(after)
    for _ in range(UNESCAPE_LEVELS_MAX):
        after = unescaped(whole[-1])
        if after is None:
            break
        whole.append(after)
    sources = [whole[0]] if len(whole) == 1 else [whole[0], whole[-1]]
    return whole, [view for source in sources if (view := joined(source)) is not None]
