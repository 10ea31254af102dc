"""Read Claude Code transcripts into turns.

A transcript is a tree by `uuid` and `parentUuid`, and over compaction boundaries (`logicalParentUuid`).
It is read on all its branches: a turn that settled before the human went back is evidence too. One
assistant message is written as several lines that share its `message.id`; results of parallel tool
calls may hang off its way, so they are found by the call's id, and lines of one message are brought
together.

What ends a turn there (K-04): an assistant message with text whose stop reason is "end_turn" or
"stop_sequence". Older transcripts have null there: then an answer with text and without a tool call
counts once the next human message follows it, and not before. "max_tokens", "refusal" and API errors
are failures, which a later complete answer repairs; "[Request interrupted by user]" ends a turn.

Human text is what a person typed: no tool results, no meta or summary records, nothing that the
harness wrote in the person's place, no sub-agents, no shell input or its output, no slash-command
wrappers, no reminders or editor context woven into a message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from perdure.core.evidence import RawTurn
from perdure.hosts.session_file import ProblemLog, Record, instant_ms
from perdure.hosts.session_tree import walk
from perdure.hosts.session_turns import OpenTurn, TurnBuilder, Verdict, bounded, without_shell_input

_FINAL_STOPS = ("end_turn", "stop_sequence")
_FAILED_STOPS = ("max_tokens", "refusal", "model_context_window_exceeded")
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_COMMAND = re.compile(r"<command-(name|message)>")
_WRAPPED = re.compile(
    r"<(bash-|local-command-|command-|task-notification|user-prompt-submit-hook|teammate-message|channel\b)"
)
_WOVEN_OPEN = re.compile(r"<(system-reminder|ide_[a-z_]+|task-notification)\b")
_WOVEN_CLOSE = re.compile(r"</(system-reminder|ide_[a-z_]+|task-notification)>")
_CONTINUED = "This session is being continued from a previous conversation"

_Kind = Literal["human", "command", "interrupt", "steer", "assistant", "other"]


class _Line(msgspec.Struct, frozen=True):
    """What is kept of one line: what may become evidence, and its place in the tree."""

    line: int
    uuid: str
    parent: str | None
    kind: _Kind
    text: str = ""
    message_id: str = ""
    stop: str = ""
    tools: tuple[tuple[str, str], ...] = ()  # call id and tool name
    at_ms: int | None = None
    interrupts: bool = False

    @property
    def name(self) -> str:
        """Its uuid, as a place in the tree."""
        return self.uuid


class _Transcript:
    """The lines and the tool results of one file."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self.results: dict[str, bool] = {}  # call id -> whether the tool succeeded
        self.session_id = ""
        self.cwd: str | None = None


class ClaudeCodeRead(msgspec.Struct, frozen=True):
    """What a transcript holds: its own session id ("" when no line names it), folder and turns."""

    session_id: str
    cwd: str | None
    turns: tuple[RawTurn, ...]


def is_claude_code(value: dict[str, Any]) -> bool:
    """Recognise a line of a Claude Code transcript."""
    if value.get("type") == "summary" and isinstance(value.get("leafUuid"), str):
        return True
    return isinstance(value.get("sessionId"), str) and isinstance(value.get("type"), str)


def claude_code_turns(found: Iterable[Record], problems: ProblemLog) -> ClaudeCodeRead:
    """Return the turns of every branch, by the line that ended them; add what was wrong to `problems`."""
    transcript = _Transcript()
    for record in found:
        _take(transcript, record)
    index = _index(transcript.lines, problems)
    messages = _messages(index)
    builder, on_way = TurnBuilder(), _OnWay()
    for step, line in walk(list(index.values()), problems):
        match step:
            case "enter":
                if on_way.enter(line, builder.here):
                    builder.at(line.line)
                    _feed(builder, messages.get(line.message_id, line), transcript.results)
            case "leaf":
                builder.close()
            case "leave":
                builder.back(on_way.leave(line))
    return ClaudeCodeRead(transcript.session_id, transcript.cwd, builder.turns())


def _take(transcript: _Transcript, record: Record) -> None:
    value = record.value
    if value.get("isSidechain") is True:
        return
    if isinstance(session_id := value.get("sessionId"), str):
        transcript.session_id = session_id
    if isinstance(cwd := value.get("cwd"), str) and cwd:
        transcript.cwd = transcript.cwd or cwd
    uuid = value.get("uuid")
    if not isinstance(uuid, str) or not uuid:
        return
    parent = value.get("parentUuid") or value.get("logicalParentUuid")
    place = (record.line, uuid, parent if isinstance(parent, str) and parent else None)
    message = value.get("message")
    kind = value.get("type")
    if kind == "user" and isinstance(message, dict):
        _take_results(transcript, message.get("content"))
        transcript.lines.append(_user_line(place, value, message))
    elif kind == "assistant" and isinstance(message, dict):
        transcript.lines.append(_assistant_line(place, value, message))
    elif kind == "attachment" and isinstance(value.get("attachment"), dict):
        transcript.lines.append(_attachment_line(place, value, value["attachment"]))
    else:
        transcript.lines.append(_Line(*place, kind="other"))


def _take_results(transcript: _Transcript, content: object) -> None:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            call = block.get("tool_use_id")
            if isinstance(call, str):
                transcript.results[call] = block.get("is_error") is not True


def _user_line(place: tuple[int, str, str | None], value: dict[str, Any], message: dict[str, Any]) -> _Line:
    at_ms = instant_ms(value.get("timestamp"))
    texts = _texts(message.get("content"))
    interrupts = any(text.strip() in _INTERRUPTED for text in texts)
    if not _from_a_person(value):
        kind: _Kind = "interrupt" if interrupts else "other"
        return _Line(*place, kind=kind)
    texts = [text for text in texts if text.strip() not in _INTERRUPTED]
    if any(_COMMAND.match(text.lstrip()) for text in texts):
        return _Line(*place, kind="command", at_ms=at_ms, interrupts=interrupts)
    human = "\n".join(filter(None, (_human_text(text) for text in texts)))
    has_image = _has_block(message.get("content"), "image")
    if human or (has_image and not _has_block(message.get("content"), "tool_result")):
        return _Line(*place, kind="human", text=bounded(human), at_ms=at_ms, interrupts=interrupts)
    return _Line(*place, kind="interrupt" if interrupts else "other")


def _assistant_line(
    place: tuple[int, str, str | None], value: dict[str, Any], message: dict[str, Any]
) -> _Line:
    at_ms = instant_ms(value.get("timestamp"))
    message_id = message.get("id")
    message_id = message_id if isinstance(message_id, str) and message_id else place[1]
    if value.get("isApiErrorMessage") is True or value.get("apiError") is not None:
        return _Line(*place, kind="assistant", message_id=place[1], stop="refusal", at_ms=at_ms)
    if message.get("model") == "<synthetic>":
        return _Line(*place, kind="other")
    content, stop = message.get("content"), message.get("stop_reason")
    return _Line(
        *place,
        kind="assistant",
        text=bounded("\n".join(_texts(content))),
        message_id=message_id,
        stop=stop if isinstance(stop, str) else "",
        tools=_tool_calls(content),
        at_ms=at_ms,
    )


def _attachment_line(
    place: tuple[int, str, str | None], value: dict[str, Any], held: dict[str, Any]
) -> _Line:
    """Take what a person typed while the turn was at work; every other attachment is the host's."""
    typed = held.get("type") == "queued_command" and held.get("commandMode") == "prompt"
    if not typed or not _from_a_person(held) or not _from_a_person(value):
        return _Line(*place, kind="other")
    text = "\n".join(filter(None, (_human_text(part) for part in _texts(held.get("prompt")))))
    return _Line(*place, kind="steer", text=bounded(text), at_ms=instant_ms(value.get("timestamp")))


class _OnWay:
    """The lines from the root to the one being read: a message is read at its first line alone."""

    def __init__(self) -> None:
        self._forks: list[OpenTurn | None] = []
        self._met: dict[str, int] = {}

    def enter(self, line: _Line, here: OpenTurn | None) -> bool:
        """Go on to a line; False when a line of its message stands before it."""
        self._forks.append(here)
        met = self._met.get(line.message_id, 0)
        if line.message_id:
            self._met[line.message_id] = met + 1
        return met == 0

    def leave(self, line: _Line) -> OpenTurn | None:
        """Go back before a line, to the turn as it stood there."""
        if line.message_id:
            self._met[line.message_id] -= 1
        return self._forks.pop()


def _index(lines: list[_Line], problems: ProblemLog) -> dict[str, _Line]:
    """Give the lines by their uuid, in the order of the file; the later of two with one uuid stands."""
    index: dict[str, _Line] = {}
    for line in lines:
        index.pop(line.uuid, None)
        index[line.uuid] = line
    if len(index) < len(lines):
        problems.add(lines[-1].line, "lines share a uuid; the later line of each stands")
    return index


def _messages(index: dict[str, _Line]) -> dict[str, _Line]:
    """Bring together the lines of each assistant message, by its id."""
    pieces: dict[str, list[_Line]] = {}
    for line in index.values():
        if line.message_id:
            pieces.setdefault(line.message_id, []).append(line)
    return {name: _joined(lines) if len(lines) > 1 else lines[0] for name, lines in pieces.items()}


def _joined(lines: list[_Line]) -> _Line:
    """Make one line of those of a message, in the place of the first."""
    return msgspec.structs.replace(
        lines[0],
        text="\n".join(line.text for line in lines if line.text),
        stop=next((line.stop for line in reversed(lines) if line.stop), ""),
        tools=tuple(call for line in lines for call in line.tools),
        at_ms=next((line.at_ms for line in reversed(lines) if line.at_ms is not None), None),
    )


def _feed(builder: TurnBuilder, line: _Line, results: dict[str, bool]) -> None:
    if line.interrupts or line.kind == "interrupt":
        builder.interrupted()
    match line.kind:
        case "human" | "command":
            builder.human(f"claude-code {line.uuid}", line.text, line.at_ms)
        case "steer":
            builder.steer(line.text, line.at_ms)
        case "assistant":
            builder.assistant(line.text, _verdict(line), line.at_ms)
            for call, name in line.tools:
                if call in results:
                    builder.tool(name, ok=results[call], at_ms=line.at_ms)
        case _:
            pass


def _verdict(line: _Line) -> Verdict:
    if line.stop in _FAILED_STOPS:
        return "failed"
    if line.tools or line.stop in ("tool_use", "pause_turn"):
        return "open"
    if line.stop in _FINAL_STOPS:
        return "final" if line.text.strip() else "answered"
    return "answered" if not line.stop and line.text.strip() else "open"


def _from_a_person(value: dict[str, Any]) -> bool:
    """Whether a person typed what this record holds, as far as the harness says."""
    origin = value.get("origin")
    if isinstance(origin, dict) and origin.get("kind") not in (None, "human"):
        return False
    flags = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    return value.get("promptSource") != "system" and not any(value.get(flag) is True for flag in flags)


def _human_text(text: str) -> str:
    """Take what the harness wove into a typed message out of it; "" when the whole is its own."""
    text = _without_woven(text).strip()
    if _WRAPPED.match(text) or text.startswith(_CONTINUED):
        return ""
    return without_shell_input(text)


def _without_woven(text: str) -> str:
    """Take out each woven element, and of what then remains all up to the last tag that ends one.

    Tags are found once each: the time is linear in a text that nothing bounds but the line's size.
    """
    ends: dict[str, list[re.Match[str]]] = {}
    for close in _WOVEN_CLOSE.finditer(text):
        ends.setdefault(close[1], []).append(close)
    parts, at, bracket = [], 0, -1
    for opening in _WOVEN_OPEN.finditer(text) if ends else ():
        if opening.start() < at:
            continue
        if bracket < opening.end():
            bracket = text.find(">", opening.end())
            if bracket < 0:
                break
        closes = ends.get(opening[1], [])
        place = bisect_right(closes, bracket, key=re.Match.start)
        if place < len(closes):
            parts.append(text[at : opening.start()])
            at = closes[place].end()
    text = "".join([*parts, text[at:]])
    rest = 0
    for close in _WOVEN_CLOSE.finditer(text):
        rest = close.end()
    return text[rest:]


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [
        block["text"]
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]


def _has_block(content: object, kind: str) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == kind for block in content
    )


def _tool_calls(content: object) -> tuple[tuple[str, str], ...]:
    return tuple(
        (block["id"], block["name"][:200])
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict)
        and block.get("type") == "tool_use"
        and isinstance(block.get("id"), str)
        and isinstance(block.get("name"), str)
    )
