"""Read Pi sessions, formats 1 (linear), 2 and 3 (tree), into turns.

What ends a turn there (K-04): an assistant message whose `stopReason` is "stop" and which calls no tool.
"length" does not: the answer was cut at the output limit, so it is not complete, and Pi may go on. After
"error" Pi may retry, and a later "stop" settles the turn; "aborted" ends it. "toolUse", "deferred" and
reasons unknown to us leave it at work.

A turn's id comes from the instants and the text of its first human message, which a fork copies and
Pi's own upgrade of old files keeps (it gives the entries new ids), so a turn is the same turn wherever
it is met. Compactions, branch summaries, extension messages and state, system text, the human's own
shell commands, images, thinking, and the arguments and output of tools are never taken. A context edit
is honoured: what was taken out of the model's context is not evidence, and what was put in its place of
a human's message is the host's text.

A tree is read on all its branches: a turn that settled before the human went back is evidence too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from perdure.core.evidence import RawTurn
from perdure.errors import UsageError
from perdure.hosts.session_file import ProblemLog, Record, instant_ms
from perdure.hosts.session_tree import walk, way_back
from perdure.hosts.session_turns import OpenTurn, TurnBuilder, Verdict, bounded, digest32, without_shell_input

VERSION_MAX = 3
"""The newest session version that this reader knows."""

_VERDICTS: dict[str, Verdict] = {"stop": "final", "error": "failed", "length": "failed", "aborted": "aborted"}
_HOST_BLOCKS = re.compile(r'\A\s*(?:<(file|skill) name="[^"]*"[^>]*>.*</\1>\s*)+', re.DOTALL)

_Kind = Literal["user", "assistant", "tool", "host", "edit", "other"]


class PiHeader(msgspec.Struct, frozen=True):
    """The first record of a Pi session."""

    session_id: str
    version: int
    cwd: str | None


class _Entry(msgspec.Struct, frozen=True):
    """What is kept of one entry: everything that may become evidence, and its place in the tree."""

    line: int
    entry_id: str | None
    parent: str | None
    kind: _Kind
    text: str = ""  # of a tool: its name; of an edit: the replacement
    stop: str = ""  # of an edit: the target; of a tool: "failed" or "ok"
    key: str = ""
    at_ms: int | None = None

    @property
    def name(self) -> str:
        """Its id, as a place in the tree."""
        return self.entry_id or ""


def pi_header(value: dict[str, Any]) -> PiHeader | None:
    """Recognise a Pi session header; None when it is something else.

    Raises UsageError, with advice, for a version that is newer or none that was ever written.
    """
    session_id = value.get("id")
    if value.get("type") != "session" or not isinstance(session_id, str) or not session_id:
        return None
    version = value.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= VERSION_MAX:
        found = version if isinstance(version, int) else "no number"
        raise UsageError(
            f"The Pi session has format {found}; formats 1 to {VERSION_MAX} can be read.",
            advice="Update Perdure, or read the session with the Pi version that wrote it.",
        )
    cwd = value.get("cwd")
    return PiHeader(session_id, version, cwd if isinstance(cwd, str) and cwd else None)


def pi_turns(header: PiHeader, found: Iterable[Record], problems: ProblemLog) -> tuple[RawTurn, ...]:
    """Return the turns of every branch, by the line that ended them; add what was wrong to `problems`."""
    entries = [_entry(header, record) for record in found]
    builder = TurnBuilder()
    if header.version == 1:
        for entry in entries:
            _feed(builder, entry, None)
        return builder.turns()
    index = _index(entries, problems)
    edits = _edits(index)
    forks: list[OpenTurn | None] = []
    for step, entry in walk(list(index.values()), problems):
        match step:
            case "enter":
                forks.append(builder.here)
                _feed(builder, entry, edits.get(entry.name))
            case "leaf":
                builder.close()
            case "leave":
                builder.back(forks.pop())
    return builder.turns()


def _feed(builder: TurnBuilder, entry: _Entry, edit: _Entry | None) -> None:
    builder.at(entry.line)
    text = entry.text if edit is None else edit.text  # of a user or assistant message; a tool's stays
    match entry.kind:
        case "user":
            builder.human(entry.key, text, entry.at_ms, role="user" if edit is None else "host")
        case "assistant":
            builder.assistant(text, _VERDICTS.get(entry.stop, "open"), entry.at_ms)
        case "tool":
            builder.tool(entry.text, ok=entry.stop == "ok", at_ms=entry.at_ms)
        case "host":
            builder.host_message()
        case _:
            pass


def _index(entries: list[_Entry], problems: ProblemLog) -> dict[str, _Entry]:
    """Give the entries by their id, in the order of the file. Of entries with one id the last stands, as
    in Pi itself.
    """
    index: dict[str, _Entry] = {}
    for entry in entries:
        if entry.entry_id is None:
            problems.add(entry.line, "an entry without an id; skipped")
            continue
        if index.pop(entry.entry_id, None) is not None:
            problems.add(entry.line, "an entry id that was used before; the later entry stands")
        index[entry.entry_id] = entry
    return index


def _edits(index: dict[str, _Entry]) -> dict[str, _Entry]:
    """Give the edit of each entry that has one: on the branch of the last entry, the last edit there; on
    what was left behind, the last of all.
    """
    if not index:
        return {}
    last = next(reversed(index.values()))
    path = way_back(last, index)
    active = {entry.name for entry in path}
    edits = {
        entry.stop: entry for entry in index.values() if entry.kind == "edit" and entry.stop not in active
    }
    return edits | {entry.stop: entry for entry in reversed(path) if entry.kind == "edit"}


def _entry(header: PiHeader, record: Record) -> _Entry:
    value = record.value
    entry_id, parent = _text_or_none(value.get("id")), _text_or_none(value.get("parentId"))
    kind = value.get("type")
    if kind == "message" and isinstance(value.get("message"), dict):
        return _message(header, record, entry_id, parent)
    if kind == "custom_message":
        return _Entry(record.line, entry_id, parent, "host")
    if kind == "context_edit" and isinstance(value.get("targetId"), str):
        replacement = value.get("replacement")
        text = bounded(_content_text(replacement))
        return _Entry(record.line, entry_id, parent, "edit", text=text, stop=value["targetId"])
    return _Entry(record.line, entry_id, parent, "other")


def _message(header: PiHeader, record: Record, entry_id: str | None, parent: str | None) -> _Entry:
    message: dict[str, Any] = record.value["message"]
    role, content = message.get("role"), message.get("content")
    said_ms = instant_ms(message.get("timestamp"))
    written_ms = instant_ms(record.value.get("timestamp"))
    at_ms = written_ms if written_ms is not None else said_ms
    if role == "user":
        text = _content_text(content)
        key = _turn_key(header, record, entry_id, (said_ms, written_ms), text)
        human = without_shell_input(bounded(_HOST_BLOCKS.sub("", text)))
        return _Entry(record.line, entry_id, parent, "user", text=human, key=key, at_ms=at_ms)
    if role == "assistant":
        stop = message.get("stopReason")
        if stop == "stop" and _calls_a_tool(content):
            stop = "toolUse"
        text = bounded(_content_text(content))
        stop = stop if isinstance(stop, str) else ""
        return _Entry(record.line, entry_id, parent, "assistant", text=text, stop=stop, at_ms=at_ms)
    if role == "toolResult" and isinstance(message.get("toolName"), str):
        ended = "ok" if message.get("isError") is False else "failed"
        name = message["toolName"][:200]
        return _Entry(record.line, entry_id, parent, "tool", text=name, stop=ended, at_ms=at_ms)
    if role in ("custom", "hookMessage"):
        return _Entry(record.line, entry_id, parent, "host")
    return _Entry(record.line, entry_id, parent, "other")


def _turn_key(
    header: PiHeader, record: Record, entry_id: str | None, instants: tuple[int | None, int | None], text: str
) -> str:
    """Tell a human message from every other: by its two instants and its text.

    Without any instant it is told by its entry id, or else by its line in its session.
    """
    content = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if instants == (None, None):
        return f"pi {entry_id or digest32(header.session_id, str(record.line))} {content}"
    return f"pi {instants[0]} {instants[1]} {content}"


def _content_text(content: object) -> str:
    """Join the text blocks of a message; every other block is left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    )


def _calls_a_tool(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "toolCall" for block in content
    )


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
