"""Read the rollout files of Codex into turns.

A rollout is a list of lines `{timestamp, type, payload}`. A turn is what stands between `task_started` and
`task_complete` of one `turn_id` (newer releases may call them `turn_started` and `turn_complete`). What ends
it is `task_complete` after an answer; without one it failed, and `turn_aborted` says that the user stopped it
(K-04). A release that writes none of these proves no end, and its turns stay unfinished. A fork repeats the
lines of its source with their turn ids, so a turn is known again wherever it stands.

Human text is what `user_message` holds: never the messages that Codex makes for the model out of
instructions, environment and hooks, which are other lines. Tools are left out: the file does not say how a
call ended in one form that can be relied on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from perdure.core.evidence import RawTurn
from perdure.hosts.session_file import Record, instant_ms
from perdure.hosts.session_turns import TurnBuilder, bounded, without_shell_input

_REQUEST = "## My request for Codex:"
"""What editors put between the context that they add and what the person typed."""
_STARTS = ("task_started", "turn_started")
_ENDS = ("task_complete", "turn_complete")


class CodexRead(msgspec.Struct, frozen=True):
    """What a rollout holds: its own session id, folder and turns."""

    session_id: str
    cwd: str | None
    turns: tuple[RawTurn, ...]


def is_codex(value: dict[str, Any]) -> bool:
    """Recognise the first line of a rollout."""
    payload = value.get("payload")
    return (
        value.get("type") == "session_meta"
        and isinstance(payload, dict)
        and isinstance(payload.get("id"), str)
    )


def codex_turns(head: Record, found: Iterable[Record]) -> CodexRead:
    """Return the turns that follow the head of a rollout, by the line that ended them."""
    meta = head.value["payload"]
    reader = _Reader()
    for record in found:
        payload = record.value.get("payload")
        if record.value.get("type") == "event_msg" and isinstance(payload, dict):
            reader.take(record.line, payload, instant_ms(record.value.get("timestamp")))
    cwd = meta.get("cwd")
    return CodexRead(meta["id"], cwd if isinstance(cwd, str) and cwd else None, reader.builder.turns())


class _Reader:
    def __init__(self) -> None:
        self.builder = TurnBuilder()
        self._turn = ""
        self._answered = False

    def take(self, line: int, event: dict[str, Any], at_ms: int | None) -> None:
        self.builder.at(line)
        kind = event.get("type")
        if kind in _STARTS:
            self.builder.close()
            self._turn, self._answered = _text(event, "turn_id"), False
        elif kind in _ENDS and self._turn:
            answered = self._answered or bool(_text(event, "last_agent_message").strip())
            self.builder.assistant("", "final" if answered else "failed", at_ms)
            self._turn = ""
        elif kind == "turn_aborted":
            self.builder.interrupted()
            self._turn = ""
        elif kind == "user_message" and self._turn:
            self.builder.human(f"codex {self._turn}", _typed(_text(event, "message")), at_ms)
        elif kind == "agent_message" and self._turn:
            said = _text(event, "message")
            self._answered = self._answered or bool(said.strip())
            self.builder.assistant(bounded(said), "open", at_ms)


def _typed(message: str) -> str:
    """What a person typed, without what an editor put before it."""
    return without_shell_input(message.rpartition(_REQUEST)[2].strip())


def _text(event: dict[str, Any], field: str) -> str:
    value = event.get(field)
    return value if isinstance(value, str) else ""
