"""From a message to the sentences its author wrote.

Chat is full of text that its sender did not write or mean as a statement: fenced code, block quotes,
logs, diffs, stack traces, tables, pasted documents. `sentences` drops those and cuts the rest. Each
sentence comes with a *mask* of the same length, in which code, quotations, links and names of files
are opaque (`rule_language`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

import msgspec

from perdure.provider.rule_language import CODE, NAME, QUOTE

SENTENCE_CHARS_MAX: Final = 400
"""Longer sentences are ramblings or pasted text; none is kept."""
WRAPPED_CHARS_MIN: Final = 50
"""A line at least this long without an end may go on in the next line."""


class Sentence(msgspec.Struct, frozen=True):
    """One sentence: `text` as written, spaces collapsed, `mask` of the same length, and `lead`, the
    mask of the line that introduced the list it is an item of ("" outside lists).
    """

    text: str
    mask: str
    lead: str = ""


_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S")
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d{1,2}[.)])\s+")
_TAG = re.compile(r"^\s*<([A-Za-z][\w-]*)[^>]*>")
_LOG = re.compile(
    r"""^\s*(?:
      at\s\S+\s?\( | File\s" | Traceback\b | Caused\sby\b | \.\.\.\s\d+\smore
    | \[?\d{4}-\d\d-\d\d[T\s] | \[?\d\d:\d\d:\d\d | \[[\w:./\s-]{1,30}\]\s
    | (?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE|PASS|FAIL|FAILED)\b[:\s|]
    | [\w.]*(?:Error|Exception|Warning):\s | (?:error|warning|fatal|remote)(?:\[\w+\])?:\s
    | npm\s(?:ERR|WARN) | [$%❯➜»]\s\S | >>>\s | \+\+\+\s | ---\s?\S | @@ | diff\s--git
    | \+\s?\d+\s | -\d+\s | \d+\s[|+-]\s | [─-╿⠀-⣿✓✗✔✖|] | \S+@\S+[:~$]
    )""",
    re.VERBOSE,
)
_SOURCE = re.compile(
    r"""^\s*(?:
      (?:const|let|var|final|auto)\s[\w{\[].*=\s | (?:async\s)?(?:def|function|func|fn)\s\w+\s*[(<]
    | (?:export\s)?class\s\w+\s*[:({] | import\s[\w{*].*\sfrom\s['"] | from\s[\w.]+\simport\s
    | import\s[\w.]+;?$ | return\b.*;$ | (?:if|for|while|switch)\s?\(.*\)\s*\{? | \#include\b | \#!
    | // | /\* | \*/ | [{}\])]+[;,]?\s*$ | </? [a-z] | "[\w-]+":\s | (?:SELECT|INSERT|UPDATE)\s.+;$
    ) | (?:[{;]|=>|\){2,}|&&|\\)\s*$""",
    re.VERBOSE,
)
_INDENTED = re.compile(r"^(?: {4,}|\t)")
_COMMAND_LINE = re.compile(r"^\s*/[\w-]+(?:\s|$)")
_ENDS = re.compile(r"[.!?…:。！？]['\")\]]*\s*$")

_CODE_SPAN = re.compile(r"``[^\n]+?``|`[^`\n]+`")
_LINK = re.compile(r"\b(?:https?|ftp|ssh|git|file)://[^\s<>\"')]+")
_QUOTES = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|‹[^›\n]{1,300}›"
    r"|「[^」\n]{1,300}」|『[^』\n]{1,300}』|(?<![\w'])'[^'\n]{1,200}'(?![\w'])|‘[^’\n]{1,200}’(?!\w)"
)
_FILE = re.compile(r"(?<![\w@~.+-])[\w@~.+-]{0,200}(?:[./\\](?=[\w*])[\w@*.+\\/-]*|/(?=[\s,;:.)!?]|$))+")
_NAME_END = ".,;:!?…"
_END = re.compile(r"(?:[.!?…]+['\")\]]*(?=\s|$)|[。！？]+)")
_SPACES = re.compile(r"\s+")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'"})


def sentences(message: str, abbreviations: frozenset[str]) -> tuple[Sentence, ...]:
    """Cut a message into the sentences that its author wrote; what is quoted or pasted is left out.

    A sentence longer than `SENTENCE_CHARS_MAX` characters is left out as well.
    """
    found: list[Sentence] = []
    for text, lead in _prose(unicodedata.normalize("NFC", message)):
        lead_mask = mask_of(lead)
        found.extend(
            Sentence(piece, mask_of(piece), lead_mask)
            for piece in _cut(text, abbreviations)
            if len(piece) <= SENTENCE_CHARS_MAX
        )
    return tuple(found)


def mask_of(text: str) -> str:
    """Hide code, quotations, links and file names in a text; the length stays the same."""
    masked = _hide(_CODE_SPAN, text, CODE)
    masked = _hide(_LINK, masked, NAME)
    masked = _hide(_QUOTES, masked, QUOTE)
    return _hide(_FILE, masked, NAME).translate(_APOSTROPHES)


def _hide(pattern: re.Pattern[str], text: str, filler: str) -> str:
    """Replace every match by fillers, but for punctuation at the end of a name, and words like and/or."""

    def fill(match: re.Match[str]) -> str:
        span = match.group()
        if filler != NAME:
            return filler * len(span)
        name = span.rstrip(_NAME_END)
        return span if name.casefold() in {"and/or", "he/she"} else filler * len(name) + span[len(name) :]

    return pattern.sub(fill, text)


def _prose(message: str) -> Iterator[tuple[str, str]]:
    """Yield paragraphs, wrapped lines joined, and list items; each with the line that leads its list."""
    pending, lead = "", ""
    for line in _written_lines(message):
        bullet = _BULLET.match(line)
        if pending and line and not bullet and _goes_on(pending, line):
            pending = f"{pending} {line.strip()}"
            continue
        if pending:
            yield pending, lead
        if not bullet and line:
            lead = ""
        elif bullet and pending.rstrip().endswith(":"):
            lead = pending
        pending = line[bullet.end() :] if bullet else line
        if not line:
            pending = ""
    if pending:
        yield pending, lead


def _goes_on(before: str, line: str) -> bool:
    """Say whether a line is the rest of the wrapped line before it."""
    last = before.rsplit("\n", 1)[-1]
    return len(last) >= WRAPPED_CHARS_MIN and not _ENDS.search(before) and line.lstrip()[:1].islower()


def _written_lines(message: str) -> Iterator[str]:
    """Yield the lines that the author wrote. A dropped line is yielded as an empty one.

    What follows a log or source line in the same paragraph is taken for its continuation, and what
    follows the first of two headings for a pasted document.
    """
    lines = message.splitlines()
    document = sum(1 for line in lines if _HEADING.match(line)) > 1
    fenced, pasted, closing = False, False, ""
    for line in lines:
        tag = _TAG.match(line)
        if _FENCE.match(line):
            fenced = not fenced
            yield ""
        elif closing:
            closing = "" if closing in line else closing
            yield ""
        elif fenced or not line.strip():
            pasted = pasted and fenced
            yield ""
        elif tag:
            closing = "" if f"</{tag.group(1)}>" in line else f"</{tag.group(1)}>"
            yield ""
        elif _HEADING.match(line):
            if document:
                return
            yield ""
        else:
            pasted = pasted or _is_pasted(line)
            yield "" if pasted or line.lstrip().startswith(">") or _COMMAND_LINE.match(line) else line


def _is_pasted(line: str) -> bool:
    """Say whether a line is a log, source or shell line."""
    if _LOG.match(line) or _SOURCE.search(line):
        return True
    return _INDENTED.match(line) is not None and _BULLET.match(line) is None


def _cut(text: str, abbreviations: frozenset[str]) -> Iterator[str]:
    """Cut one paragraph at the ends of its sentences."""
    text = _SPACES.sub(" ", text).strip()
    masked, start = mask_of(text), 0
    for end in _END.finditer(masked):
        word = text[start : end.end()].rsplit(" ", 1)[-1].lstrip("(").casefold()
        if word in abbreviations:
            continue
        if piece := text[start : end.end()].strip():
            yield piece
        start = end.end()
    if piece := text[start:].strip():
        yield piece
