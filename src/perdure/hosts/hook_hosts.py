"""The hosts that run hooks: their events, what they hand over, and what they want to hear.

Facts about each host are in docs/reference/hooks.md. Standard library only: the turn-start path imports
this.
"""

from __future__ import annotations

import os

from perdure.cli.quick_json import parsed_object, quoted, quoted_ascii
from perdure.core.sha256 import sha256_hex

START = "start"
"""A session begins or goes on: all of the block is injected."""
PROMPT = "prompt"
"""A turn begins: the block is injected when it is not what the session was given last."""
SETTLED = "settled"
"""Something ended: its turns are taken in."""
COMPACTED = "compacted"
"""The host is about to cut its history, and tells no session start afterwards: the block is due again."""

EVENTS = {
    "claude-code": {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PreCompact": SETTLED,
        "Stop": SETTLED,
        "SessionEnd": SETTLED,
    },
    "codex": {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PreCompact": SETTLED,
        "Stop": SETTLED,
        "SessionEnd": SETTLED,
    },
    "gemini": {
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "PreCompress": COMPACTED,
        "AfterAgent": SETTLED,
        "SessionEnd": SETTLED,
    },
}
"""Host and event -> what it means to us."""

NAME_DIGITS = 32
_ID_CHARS_MAX = 1_000


class Payload:
    """What a host handed to a hook. `told` is all of it; `agent` marks the hook of a sub-agent; `active`
    says that another stop hook sent the model on, so that this end is of a turn that ended before.
    """

    __slots__ = ("active", "agent", "cwd", "event", "host", "kind", "session", "told", "transcript")

    def __init__(self, host: str, event: str, told: dict[str, object]) -> None:
        self.host, self.event, self.told = host, event, told
        self.kind = EVENTS[host][event]
        self.session = _text(told, "session_id")
        self.cwd = _path(told, "cwd")
        self.transcript = _path(told, "transcript_path")
        self.agent = bool(told.get("agent_id"))
        self.active = told.get("stop_hook_active") is True

    @property
    def name(self) -> str:
        """The session's name among our own files: 32 hex digits."""
        data = f"{self.host}\0{self.session}".encode("utf-8", "surrogatepass")
        return sha256_hex(b"perdure-hook\0" + data)[:NAME_DIGITS]

    def shown(self, text: str) -> str:
        """What stands for a block in this session's file: "" for none, never comparable over sessions."""
        if not text:
            return ""
        data = f"{self.host}\0{self.session}\0{text}".encode("utf-8", "surrogatepass")
        return sha256_hex(b"perdure-shown\0" + data)[:NAME_DIGITS]


def kind_of(words: list[str]) -> str | None:
    """What the two words of a hook mean to us, None when they name no hook that we have."""
    if len(words) != 2:  # noqa: PLR2004 - host and event
        return None
    return EVENTS.get(words[0], {}).get(words[1])


def read_payload(host: str, event: str, data: bytes) -> Payload | None:
    """Read what a host wrote; None when it is nothing that we act on: no object, another event's, without
    a session or a folder, a sub-agent's, or the end of a turn that ended before.
    """
    try:
        told = parsed_object(data.decode("utf-8", "surrogatepass").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if told.get("hook_event_name", event) != event:
        return None
    found = Payload(host, event, told)
    whole = found.cwd and found.session and len(found.session) <= _ID_CHARS_MAX
    return found if whole and not found.agent and not found.active else None


def answer(event: str, text: str) -> bytes:
    """The JSON that puts a text into the model's context; the three hosts take the same."""
    name, context = quoted(event), quoted_ascii(text)
    said = f'{{"hookSpecificOutput": {{"hookEventName": {name}, "additionalContext": {context}}}}}'
    return f"{said}\n".encode("ascii")


def _text(told: dict[str, object], field: str) -> str:
    value = told.get(field)
    return value if isinstance(value, str) else ""


def _path(told: dict[str, object], field: str) -> str:
    """A path whose bytes are the UTF-8 that the host means, whatever this process takes file names for."""
    return os.fsdecode(_text(told, field).encode("utf-8", "surrogatepass"))
