"""The Markdown form of a branch, made to be edited by hand (M-14).

    <!-- perdure-memory 1 branch="main" base=3f9c… -->

    ## project

    - (high) **check command**: Run pnpm check
      before pnpm test. <!-- 0123456789abcdef 81aa0c… -->

A heading is a kind and a bullet an entry; further lines of an entry are indented by two spaces. The comment
at its end ties a bullet to the branch; a bullet without one is new. A backslash takes the meaning from the
punctuation that follows it.
"""

from __future__ import annotations

import json
import re

from perdure.core.exchange import DIGEST_DIGITS, DOCUMENT_CHARS_MAX, KIND_DEFAULT, Document, Item, check_count
from perdure.core.memory import Branch, Entry, Importance, entry_digest
from perdure.errors import UsageError

_HELP = """\
<!-- One bullet is one entry. Change its words; take the whole bullet away to remove the entry; write a new
     bullet, with no comment behind it, to add one. "**name**: " at the beginning is its key, "(high) " or
     "(low) " its importance, the heading its kind. Indent further lines of an entry by two spaces. -->"""
_HEADER = re.compile(r'<!-- perdure-memory (\d+) branch=("(?:[^"\\]|\\.)*") base=([0-9a-f]{64}) -->')
_COMMENT = re.compile(r"(?:^|\s)<!-- ([0-9a-f]{16}) ([0-9a-f]{12}) -->$")
_BULLET = re.compile(r"[-*+](?: |$)")
_IMPORTANCE = re.compile(r"\((high|low)\) ")
_KEY = re.compile(r"\*\*((?:[^\\*\n]++|\\.|\*(?!\*:[ \n]))++)\*\*:[ \n]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPECIAL = re.compile(r"\\(?=[!-/:-@\[-`{-~])|\\$|<(?=!--)|(?<=--)>", re.MULTILINE)
_LEADING = re.compile(r"\((?=(?:high|low)\) )|\*(?=\*)")
_INDENT = "  "


def to_markdown(branch: Branch) -> str:
    """Give a branch as Markdown text; entries stand in the branch's order within their kinds."""
    kinds = list(dict.fromkeys(entry.kind for entry in branch.entries)) or [KIND_DEFAULT]
    parts = [f"<!-- perdure-memory 1 branch={_quoted(branch.name)} base={branch.digest} -->", _HELP]
    for kind in kinds:
        bullets = [_bullet(entry) for entry in branch.entries if entry.kind == kind]
        parts.append("\n".join([f"## {kind}", "", *bullets]))
    return "\n\n".join(parts).rstrip("\n") + "\n"


def from_markdown(text: str) -> Document:
    """Read what `to_markdown` wrote and people edited, or any file of bullets. Raises UsageError by line."""
    if len(text) > DOCUMENT_CHARS_MAX:
        msg = f"the file has {len(text):,} characters, at most {DOCUMENT_CHARS_MAX:,} are read."
        raise UsageError(msg)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    branch, base = _header(lines[0])
    return Document(tuple(_items(lines)), branch, base)


def _bullet(entry: Entry) -> str:
    mark = "" if entry.importance == "normal" else f"({entry.importance}) "
    key = f"**{_escaped(entry.key).replace('**', chr(92) + '**')}**: " if entry.key is not None else ""
    text = _escaped(entry.text)
    if _LEADING.match(text):
        text = "\\" + text
    first, *more = text.split("\n")
    lines = [f"- {mark}{key}{first}", *(_INDENT + line if line else "" for line in more)]
    return "\n".join(lines) + f" <!-- {entry.entry_id} {entry_digest(entry)[:DIGEST_DIGITS]} -->"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _quoted(name: str) -> str:
    """A JSON string without anything that could end a comment."""
    return json.dumps(name, ensure_ascii=False).replace("--", "-\\u002d").replace(">", "\\u003e")


def _header(line: str) -> tuple[str | None, str | None]:
    if not line.startswith("<!-- perdure-memory "):
        return None, None
    found = _HEADER.fullmatch(line.rstrip())
    if found is None:
        msg = "line 1: the comment that names the branch and its digest was changed."
        raise UsageError(msg, advice="Start again from perdure export.")
    if found[1] != "1":
        msg = f"line 1: the file has format {found[1]}, this Perdure knows 1."
        raise UsageError(msg)
    try:
        return str(json.loads(found[2])), found[3]
    except ValueError as error:
        msg = "line 1: the branch's name is not readable."
        raise UsageError(msg, advice="Start again from perdure export.") from error


def _items(lines: list[str]) -> list[Item]:
    items: list[Item] = []
    kind, number, comment = KIND_DEFAULT, 0, False
    while number < len(lines):
        line = lines[number]
        if comment or line.startswith("<!--"):
            comment = "-->" not in line
        elif _BULLET.match(line):
            bullet, number = _gathered(lines, number)
            items.append(_item(bullet, kind, f"line {number - len(bullet) + 1}"))
            check_count(len(items))
            number -= 1
        elif line.startswith("## "):
            kind = line[3:].strip()
        elif line.strip() and not line.startswith("# "):
            msg = f"line {number + 1}: text that belongs to no entry."
            raise UsageError(msg, advice='Begin an entry with "- ", and its further lines with two spaces.')
        number += 1
    return items


def _gathered(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines of the bullet that begins at `start`, without their indent, and the place after them."""
    found = [lines[start][2:]]
    place = start + 1
    while place < len(lines) and (not lines[place].strip() or lines[place].startswith(_INDENT)):
        found.append(lines[place][len(_INDENT) :])
        place += 1
    while len(found) > 1 and not found[-1].strip():
        found.pop()
        place -= 1
    return found, place


def _item(bullet: list[str], kind: str, where: str) -> Item:
    text = "\n".join(bullet).rstrip()
    entry_id = digest = key = None
    importance: Importance = "normal"
    comment = _COMMENT.search(text)
    if comment is not None:
        entry_id, digest = comment[1], comment[2]
        text = text[: comment.start()]
    mark = _IMPORTANCE.match(text)
    if mark is not None:
        importance = "high" if mark[1] == "high" else "low"
        text = text[mark.end() :]
    bold = _KEY.match(text)
    if bold is not None:
        key = _plain(bold[1])
        text = text[bold.end() :]
    text = _plain(text).strip()
    if not text:
        msg = f"{where}: the entry has no text."
        raise UsageError(msg, advice="Take the whole bullet away to remove an entry.")
    return Item(text, kind, key, importance, entry_id, digest, where)
