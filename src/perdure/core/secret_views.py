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
    r"\n[ \t]*(?:(?:>|\||\#|\*|//)[ \t]*){0,3}(?=[\w\-+/=.~%])"
    r"|\"[ \t]*[+.]?[ \t]*\\?\r?\n?[ \t]*[+.]?[ \t]*\"(?=[\w\-+/=.~%])"
    r"|'[ \t]*[+.]?[ \t]*\\?\r?\n?[ \t]*[+.]?[ \t]*'(?=[\w\-+/=.~%])"
)
_TOKEN_REACH = 80
_JOINABLE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=.~%"
_MIXED = re.compile(r"\d|[a-z][A-Z]")
_TOKEN_AFTER = re.compile(r"[\w\-+/=.~%]+")
_JOINED_TOKEN_MIN = 14  # a shorter token cannot be a secret by its shape
_REGION_REACH = 400
_REGION_TAIL_MAX = 8000
_SPACE = re.compile(r"\s")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_CODE_POINT_MAX = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class View:
    """A text and the way back to its parent. Without a parent it is the original."""

    __slots__ = ("_pieces", "_starts", "changed", "cuts", "parent", "text")

    def __init__(self, text: str, parent: View | None = None) -> None:
        self.text = text
        self.parent = parent
        self.cuts: list[int] = []  # places in `text` where something was taken out, ascending
        self.changed: list[int] = []  # places in `text` where it differs from the parent, ascending
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


Change = tuple[int, str] | None
"""Where a replacement begins (at its match or before) and its text; None leaves the match as it is."""


def _rewrite(
    parent: View, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], Change]
) -> View | None:
    """Replace matches of a pattern; None when nothing changed."""
    view = View("", parent)
    parts: list[str] = []
    done = length = 0
    text = parent.text
    for match in pattern.finditer(text):
        change = replace(match)
        if change is None:
            continue
        start, new = max(change[0], done), change[1]
        if start > done:
            view.add(length, (done, start), copied=True)
            parts.append(text[done:start])
            length += start - done
        view.changed.append(length)
        if new:
            view.add(length, (start, match.end()), copied=False)
            parts.append(new)
            length += len(new)
        else:
            view.cuts.append(length)
        done = match.end()
    if done == 0:
        return None
    if done < len(text):
        view.add(length, (done, len(text)), copied=True)
        parts.append(text[done:])
    view.text = "".join(parts)
    return view


def _regions(view: View) -> list[View]:
    """Give the parts of a copy around its changes; the rest reads as its parent does."""
    text, spans = view.text, list[tuple[int, int]]()
    for place in view.changed:
        if spans and place + _REGION_REACH <= spans[-1][1]:
            continue
        start = max(0, place - _REGION_REACH)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        stop = min(len(text), place + _REGION_REACH)
        space = _SPACE.search(text, stop, stop + _REGION_TAIL_MAX)
        spans.append((start, space.start() if space else min(len(text), stop + _REGION_TAIL_MAX)))
    found = []
    for start, end in spans:
        if start < end:
            region = View(text[start:end], view)
            region.add(0, (start, end), copied=True)
            region.cuts = [cut - start for cut in view.cuts_within(start, end)]
            found.append(region)
    return found


_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def is_hidden(char: str) -> bool:
    """Say whether a character shows nothing: format controls, selectors, tags, fillers."""
    return unicodedata.category(char) == "Cf" or char in _BLANKS


_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)


def _fold(cluster: str) -> str:
    """Fold one character, or one letter with its combining marks, to its compatibility form."""
    return "" if len(cluster) == 1 and is_hidden(cluster) else unicodedata.normalize("NFKC", cluster)


def _folder() -> Callable[[re.Match[str]], Change]:
    """Fold with a memory of its own, since texts repeat their characters."""
    known: dict[str, str] = {}

    def fold(match: re.Match[str]) -> Change:
        cluster = match.group()
        new = known.get(cluster)
        if new is None:
            new = known[cluster] = _fold(cluster)
        return None if new == cluster else (match.start(), new)

    return fold


def _unescape(match: re.Match[str]) -> Change:
    """Give the character that one escape stands for; bytes of URL escapes are taken as Latin-1."""
    return match.start(), _meaning(match.group())


def _meaning(escape: str) -> str:
    if escape[0] == "&":
        return html_unescape(escape)
    if escape[0] == "%":
        return chr(int(escape[1:], 16))
    kind, digits = escape[1], escape[2:].strip("{}")
    if kind in "ux":
        code = int(digits, 16)
        return chr(code) if code <= _CODE_POINT_MAX and code not in _SURROGATES else "\ufffd"
    return _SIMPLE.get(kind, kind)


def _join(match: re.Match[str]) -> Change:
    """Join two pieces when they may be one token: together long, and mixed as no plain word is."""
    text, start = match.string, match.start()
    near = text[max(0, start - _TOKEN_REACH) : start]
    if match.group()[0] == "\n":
        near = near.rstrip(" \t\\\r")
    before = near[len(near.rstrip(_JOINABLE)) :]
    after = _TOKEN_AFTER.match(text, match.end(), match.end() + _TOKEN_REACH)
    if not before or after is None:
        return None
    token = before + after.group()
    if len(token) < _JOINED_TOKEN_MIN or not _MIXED.search(token):
        return None
    return start - (min(start, _TOKEN_REACH) - len(near)), ""


def folded(view: View) -> View | None:
    """Copy with compatibility forms folded (NFKC) and hidden characters taken out; None if there are none."""
    if view.text.isascii() or (
        unicodedata.is_normalized("NFKC", view.text) and not _HIDDEN.search(view.text)
    ):
        return None
    return _rewrite(view, _DECOMPOSED, _folder())


def unescaped(view: View) -> View | None:
    """Copy with one layer of JSON, URL and HTML escapes undone; None if there are none."""
    if not any(sign in view.text for sign in "\\%&"):
        return None
    return _rewrite(view, _ESCAPE, _unescape)


def joined(view: View) -> View | None:
    """Copy with lines (and string literals put together) joined where a token may go on; None if none."""
    return _rewrite(view, _JOIN, _join)


def views(text: str) -> tuple[list[View], list[View]]:
    """Give the copies to scan in full, the original first, and the joined ones for value rules only.

    Of a normalised copy only the regions around its changes are given: the rest reads as before.
    """
    last = View(text)
    whole, sources = [last], [last]
    after = folded(last)
    for _ in range(UNESCAPE_LEVELS_MAX + 1):
        if after is not None:
            last = after
            whole += _regions(last)
        after = unescaped(last)
        if after is None:
            break
    if last is not sources[0]:
        sources.append(last)
    joints = [view for source in sources if (view := joined(source)) is not None]
    return whole, [region for view in joints for region in _regions(view)]
