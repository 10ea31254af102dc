"""Targets: the reader of lines, and the readers of Pi sessions and Claude Code transcripts."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from typing import Any

from perdure.core.sanitising import sanitised_text
from perdure.core.windows import WINDOW_CHARS_MAX, WINDOW_TURNS_MAX, turn_chars, windows
from perdure.errors import UsageError
from perdure.hosts.session_file import PROBLEMS_MAX, ProblemLog, instant_ms, open_session, records
from perdure.hosts.sessions import SessionRead, read_session
from tests.fuzz.hard import texts
from tests.fuzz.mutation import change_lines
from tests.fuzz.target import Target, as_file, as_json, as_lines, plain_text, tried
from tests.session_files import PiSession, Transcript

_ENDS = {"settled", "aborted", "failed", "unfinished"}
_CLAUDE_ENDS = {"end_turn", "stop_sequence", None}


def check_lines(data: bytes) -> None:
    """Every line that is a JSON object is a record, every other one is a problem, and none is both."""
    problems = ProblemLog()
    descriptor = open_session(as_file(data, "lines.jsonl"))
    try:
        found = list(records(descriptor, problems))
    finally:
        os.close(descriptor)
    pieces = data.split(b"\n")
    numbers = [record.line for record in found]
    assert numbers == sorted(set(numbers))
    noted = problems.in_order()
    assert len(noted) <= PROBLEMS_MAX + 1
    for record in found:
        assert record.damaged or record.value == _object(pieces[record.line - 1], first=record.line == 1)
    assert all(1 <= problem.line <= len(pieces) for problem in noted)
    if len(noted) <= PROBLEMS_MAX:
        whole = {
            number for number, piece in enumerate(pieces, 1) if _object(piece, first=number == 1) is not None
        }
        assert {record.line for record in found if not record.damaged} == whole
        read = {*numbers, *(problem.line for problem in noted)}
        pieces[0] = pieces[0].removeprefix(b"\xef\xbb\xbf")
        assert all(not piece.strip() for number, piece in enumerate(pieces, 1) if number not in read)


def _object(piece: bytes, *, first: bool) -> dict[str, Any] | None:
    """What one line says, by the standard library."""
    text = (piece.removeprefix(b"\xef\xbb\xbf") if first else piece).decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def check_instant(data: bytes) -> None:
    """A host's time stamp is None or an instant before the year 10000."""
    text = plain_text(data)
    values: list[object] = [text]
    with contextlib.suppress(ValueError, RecursionError):
        values.append(json.loads(text))
    for value in values:
        found = instant_ms(value)
        assert found is None or 0 <= found < 253_402_300_800_000


def check_session(data: bytes) -> None:
    """A session file is refused with advice, or read into turns that its lines prove and sound windows."""
    read = tried(lambda: read_session(as_file(data, "session.jsonl")), UsageError)
    if isinstance(read, UsageError):
        assert read.advice
        return
    _check_turns(data, read)
    _check_windows(read)
    assert read_session(as_file(data, "session.jsonl")) == read


def _check_turns(data: bytes, read: SessionRead) -> None:
    settled = [turn for turn in read.turns if turn.end == "settled"]
    assert [turn.position for turn in read.turns] == list(range(len(read.turns)))
    assert {turn.end for turn in read.turns} <= _ENDS
    assert len(settled) <= sum(_may_end(read.format, value) for value in _objects(data))
    for turn in read.turns:
        assert turn.settled_ms >= 0
        assert len(turn.turn_id) == 32
        for line in turn.lines:
            assert line.text.strip()


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for number, piece in enumerate(data.split(b"\n"), 1):
        value = _object(piece, first=number == 1)
        if value is not None:
            yield value


def _may_end(form: str, value: dict[str, Any]) -> bool:
    """Whether a line could end a turn at all, by the host's own rule, read as loosely as it can be."""
    message = value.get("message")
    if not isinstance(message, dict):
        return False
    if form != "claude-code":
        return message.get("role") == "assistant" and message.get("stopReason") == "stop"
    stop = message.get("stop_reason")
    return value.get("type") == "assistant" and (
        not isinstance(stop, str) or stop in _CLAUDE_ENDS or stop == ""
    )


def _check_windows(read: SessionRead) -> None:
    cut = windows(read.host, read.session, read.turns, frozenset())
    ended = {turn.turn_id for turn in read.turns if turn.end == "settled"}
    for window in cut.evidence:
        assert 0 < len(window.turns) <= WINDOW_TURNS_MAX
        assert sum(map(turn_chars, window.turns)) <= WINDOW_CHARS_MAX
        for turn in window.turns:
            assert turn.turn_id in ended
            for line in turn.lines:
                assert line.role == "tool" or sanitised_text(line.text) == line.text
    told = len(cut.skipped) + len(cut.uncovered) + sum(len(window.turns) for window in cut.evidence)
    assert told == len(read.turns)


# -- seeds


def pi_session(version: int) -> PiSession:
    """A Pi session with a little of everything; past format 1 with a branch and an edit."""
    session = PiSession(version)
    session.turn("Use pnpm here.", "Understood.")
    session.user("And run the tests.")
    session.uses("bash", text="Running.")
    session.uses("bash", ok=False)
    session.says("They fail.", "length")
    session.says("They pass now.")
    session.add("custom_message", customType="note", content="x")
    session.user("Stop this.")
    session.says("", "aborted")
    if version > 1:
        fork = session.leaf
        session.turn("One way.", "Done one way.")
        session.leaf = fork
        session.turn("Another way.", "Done another way.")
        target = session.user("With a secret.")
        session.says("Noted.")
        session.add("context_edit", targetId=target, replacement=[{"type": "text", "text": "Taken out."}])
    session.user('<file name="a">text</file> !ls')
    session.says("Yes.", "error")
    return session


def transcript() -> Transcript:
    """A Claude Code transcript with a little of everything."""
    lines = Transcript()
    lines.user("Use pnpm here. <system-reminder>not typed</system-reminder>")
    lines.says("Understood.")
    lines.user("And run the tests.")
    lines.uses("Bash")
    lines.uses("Bash", ok=False)
    lines.assistant([{"type": "text", "text": "They"}], None, message_id="msg_a")
    lines.assistant([{"type": "text", "text": "pass."}], "end_turn", message_id="msg_a")
    fork = lines.leaf
    lines.user("One way.")
    lines.says("Done one way.", None)
    lines.user([{"type": "text", "text": "[Request interrupted by user]"}])
    lines.leaf = fork
    lines.user("<command-name>/clear</command-name>")
    lines.add("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": "Also."})
    lines.says("Cut.", "max_tokens")
    lines.user([{"type": "image"}], isMeta=False)
    lines.says("A picture.", "stop_sequence")
    lines.add("summary", summary="x", leafUuid="y")
    return lines


def _pi_seeds() -> Mapping[str, bytes]:
    made = {f"format {version}": pi_session(version).text().encode() for version in (1, 2, 3)}
    circle = [{"type": "session", "id": "s", "version": 3}]
    circle += [
        {"type": "message", "id": f"{n}", "parentId": f"{(n + 1) % 4}", "message": {}} for n in range(4)
    ]
    return {
        **made,
        "a circle": as_lines(*circle),
        "a version of many digits": as_json({"type": "session", "id": "s"})[:-1]
        + b',"version":'
        + b"9" * 4_000
        + b"}",
        "a torn last line": made["format 3"][:-20],
        "CRLF": made["format 3"].replace(b"\n", b"\r\n"),
        "a byte order mark": b"\xef\xbb\xbf" + made["format 3"],
        "doubled": made["format 3"] * 2,
    }


def _claude_seeds() -> Mapping[str, bytes]:
    whole = as_lines(*transcript().lines)
    return {
        "whole": whole,
        "doubled": whole * 2,
        "backwards": b"\n".join(reversed(whole.split(b"\n"))),
        "a torn last line": whole[:-20],
        **{f"human {name}": as_lines(*_asked(text).lines) for name, text in texts(600).items()},
    }


def _asked(text: str) -> Transcript:
    lines = Transcript()
    lines.user(text)
    lines.says(text)
    return lines


def change_session(data: bytes, chance: random.Random) -> bytes:
    """Several changes of lines: one alone seldom makes a file that is hard."""
    for _ in range(chance.randrange(1, 4)):
        data = change_lines(data, chance)
    return data


TARGETS = (
    Target("lines", check_lines, lambda: {**_pi_seeds()}, change_lines, examples=100, bytes_max=8192),
    Target("instant", check_instant, lambda: {"iso": b"2026-01-01T00:00:00.5Z", "ms": b"1780000000000.5"}),
    Target("pi", check_session, _pi_seeds, change_session, examples=150, bytes_max=16_384),
    Target("claude-code", check_session, _claude_seeds, change_session, examples=150, bytes_max=16_384),
)
