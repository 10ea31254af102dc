"""Inputs that grow: for each shape one of any size, to see how work and memory grow with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fuzz.target import as_json, as_lines
from tests.session_files import PiSession, Transcript

Shape = Callable[[int], bytes]


def _pi(entries: list[dict[str, Any]]) -> bytes:
    return as_lines({"type": "session", "id": "s", "version": 3}, *entries)


def _message(name: object, parent: object, role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": f"text {name}", **more}
    return {
        "type": "message",
        "id": str(name),
        "parentId": None if parent is None else str(parent),
        "message": message,
    }


def _chain(count: int) -> bytes:
    return _pi(
        [
            _message(n, n - 1 if n else None, "assistant" if n % 2 else "user", stopReason="stop")
            for n in range(count)
        ]
    )


def _star(count: int) -> bytes:
    return _pi(
        [_message(0, None), *(_message(n, 0, "assistant", stopReason="stop") for n in range(1, count))]
    )


def _comb(count: int) -> bytes:
    """A long way with a leaf at every step: whoever goes over the way anew for each leaf needs its square."""
    entries = []
    for n in range(count // 2):
        entries.append(_message(f"w{n}", f"w{n - 1}" if n else None, "assistant", stopReason="toolUse"))
        entries.append(_message(f"l{n}", f"w{n}", "assistant", stopReason="stop"))
    return _pi([_message("w-1", None), *entries]).replace(
        b'"parentId":null,"message":{"role":"assistant"', b'"parentId":"w-1","message":{"role":"assistant"'
    )


def _circles(count: int) -> bytes:
    return _pi([_message(n, n ^ 1) for n in range(count)])


def _one_circle(count: int) -> bytes:
    return _pi([_message(n, (n + 1) % count) for n in range(count)])


def _one_id(count: int) -> bytes:
    return _pi([_message("a", "a") for _ in range(count)])


def _orphans(count: int) -> bytes:
    return _pi([_message(n, f"gone {n}") for n in range(count)])


def _edits(count: int) -> bytes:
    edits = [{"type": "context_edit", "id": f"e{n}", "parentId": "0", "targetId": "0"} for n in range(count)]
    return _pi([_message(0, None), *edits])


def _tools(count: int) -> bytes:
    session = PiSession()
    session.user("Do it.")
    for _ in range(count // 2):
        session.uses("bash")
    session.says("Done.")
    return session.text().encode()


def _steers(count: int) -> bytes:
    session = PiSession()
    for _ in range(count):
        session.user("More.")
    session.says("Done.")
    return session.text().encode()


def _linear(count: int) -> bytes:
    session = PiSession(1)
    for _ in range(count // 2):
        session.turn("Ask.", "Answer.")
    return session.text().encode()


def _one_message(count: int) -> bytes:
    transcript = Transcript()
    transcript.user("Do it.")
    for _ in range(count):
        transcript.says("Piece.", None, message_id="m")
    return as_lines(*transcript.lines)


def _forks(count: int) -> bytes:
    transcript = Transcript()
    root = transcript.user("Do it.")
    for _ in range(count // 2):
        transcript.leaf = root
        transcript.says("Done.")
        transcript.user("And?")
    return as_lines(*transcript.lines)


def _results(count: int) -> bytes:
    transcript = Transcript()
    transcript.user("Do it.")
    for _ in range(count // 2):
        transcript.uses("Bash")
    transcript.says("Done.")
    return as_lines(*transcript.lines)


def _no_end(count: int) -> bytes:
    return as_json({"sessionId": "s", "type": "user"}) + b"\n" + b'{"uuid":"' * count


SESSIONS: Mapping[str, Shape] = {
    "a chain": _chain,
    "a star": _star,
    "a comb": _comb,
    "many circles": _circles,
    "one circle": _one_circle,
    "one id for all": _one_id,
    "orphans": _orphans,
    "edits of one entry": _edits,
    "one turn of many tools": _tools,
    "many messages of one turn": _steers,
    "a linear session": _linear,
    "one message in many lines": _one_message,
    "many forks": _forks,
    "many results": _results,
    "broken lines": lambda count: b'{"type":"session","id":"s","version":3}\n' + b'{"id":"a"\n' * count,
    "one line without an end": _no_end,
    "blank lines": lambda count: b'{"type":"session","id":"s","version":3}\n' + b"\n" * count,
    "lines of digits": lambda count: (
        b'{"type":"session","id":"s","version":3}\n' + (b"9" * 5_000 + b"\n") * (count // 50)
    ),
}
"""Session files of about so many lines."""
