"""Writers of small session files for tests: Pi's three formats, Claude Code's transcript, Codex's rollout."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

START_MS = 1_780_000_000_000


def iso(ms: int) -> str:
    """Write UTC milliseconds as the hosts do."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class PiSession:
    """A Pi session that grows entry by entry; each entry hangs on the one before unless told otherwise."""

    def __init__(self, version: int = 3, session_id: str = "0192-demo", cwd: str = "/home/dev/shop") -> None:
        self.version = version
        self.ms = START_MS
        header: dict[str, Any] = {"type": "session", "id": session_id, "timestamp": iso(self.ms), "cwd": cwd}
        if version > 1:
            header["version"] = version
        self.entries: list[dict[str, Any]] = [header]
        self.leaf: str | None = None

    def add(self, kind: str, /, **fields: Any) -> str:
        """Append an entry of any type and return its id."""
        self.ms += 1000
        entry_id = f"{len(self.entries):08x}"
        entry: dict[str, Any] = {"type": kind}
        if self.version > 1:
            entry |= {"id": entry_id, "parentId": self.leaf}
        self.entries.append(entry | {"timestamp": iso(self.ms)} | fields)
        self.leaf = entry_id
        return entry_id

    def message(self, role: str, content: object, **fields: Any) -> str:
        """Append a message entry."""
        message = {"role": role, "content": content, "timestamp": self.ms + 995} | fields
        return self.add("message", message=message)

    def user(self, text: str) -> str:
        """Append a human message."""
        return self.message("user", [{"type": "text", "text": text}])

    def says(self, text: str, stop: str = "stop", **fields: Any) -> str:
        """Append an assistant message with text, after some thinking."""
        blocks = [{"type": "thinking", "thinking": "THINKING-MARK"}, {"type": "text", "text": text}]
        return self.message("assistant", blocks, stopReason=stop, **fields)

    def uses(self, tool: str, *, ok: bool = True, text: str = "") -> str:
        """Append an assistant message that calls a tool, and the tool's result."""
        call = {"type": "toolCall", "id": f"call{self.ms}", "name": tool, "arguments": {"x": "ARGUMENT-MARK"}}
        blocks = [{"type": "text", "text": text}] * bool(text)
        self.message("assistant", [*blocks, call], stopReason="toolUse")
        output = [
            {"type": "text", "text": "OUTPUT-MARK"},
            {"type": "image", "data": "SU1BR0U=", "mimeType": "image/png"},
        ]
        return self.message("toolResult", output, toolCallId=call["id"], toolName=tool, isError=not ok)

    def turn(self, asked: str, answered: str) -> None:
        """Append a human message and its complete answer."""
        self.user(asked)
        self.says(answered)

    def text(self) -> str:
        """Return the file's text."""
        return "".join(json.dumps(entry) + "\n" for entry in self.entries)

    def write(self, folder: Path, name: str = "session.jsonl") -> Path:
        """Write the file and return its path."""
        path = folder / name
        path.write_text(self.text(), encoding="utf-8")
        return path


class Transcript:
    """A Claude Code transcript that grows line by line."""

    def __init__(self, session_id: str = "5a1c-demo", cwd: str = "/home/dev/shop") -> None:
        self.common = {"sessionId": session_id, "cwd": cwd, "version": "2.1.99", "gitBranch": "main"}
        self.ms = START_MS
        self.lines: list[dict[str, Any]] = []
        self.leaf: str | None = None

    def add(self, kind: str, /, **fields: Any) -> str:
        """Append a line of any type and return its uuid."""
        self.ms += 1000
        uuid = f"00000000-0000-4000-8000-{len(self.lines):012x}"
        line = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": iso(self.ms),
        }
        self.lines.append(line | self.common | fields)
        self.leaf = uuid
        return uuid

    def user(self, content: object, **fields: Any) -> str:
        """Append a user line."""
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(
        self,
        blocks: list[dict[str, Any]],
        stop: str | None = "end_turn",
        *,
        message_id: str = "",
        **fields: Any,
    ) -> str:
        """Append an assistant line."""
        message = {
            "id": message_id or f"msg_{self.ms}", "role": "assistant", "model": "claude-x", "content": blocks,
            "stop_reason": stop, "usage": {"input_tokens": 1},
        }  # fmt: skip
        return self.add("assistant", **{"message": message} | fields)

    def says(self, text: str, stop: str | None = "end_turn", **fields: Any) -> str:
        """Append an assistant line with text."""
        return self.assistant([{"type": "text", "text": text}], stop, **fields)

    def uses(self, tool: str, *, ok: bool = True) -> str:
        """Append an assistant line that calls a tool, and the user line with its result."""
        call = f"toolu_{self.ms}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": {"x": "ARGUMENT-MARK"}}
        self.assistant([block], "tool_use")
        return self.result(call, ok=ok)

    def result(self, call: str, *, ok: bool = True, **fields: Any) -> str:
        """Append the user line that carries a tool's result."""
        block = {"type": "tool_result", "tool_use_id": call, "content": "OUTPUT-MARK", "is_error": not ok}
        return self.user([block], toolUseResult={"stdout": "OUTPUT-MARK"}, **fields)

    def write(self, folder: Path, name: str = "transcript.jsonl") -> Path:
        """Write the file and return its path."""
        path = folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path


class Rollout:
    """A rollout of Codex that grows line by line."""

    def __init__(self, session_id: str = "0199-demo", cwd: str = "/home/dev/shop") -> None:
        self.ms = START_MS
        self.lines: list[dict[str, Any]] = []
        meta = {"id": session_id, "cwd": cwd, "originator": "codex_cli_rs", "cli_version": "0.171.0"}
        self.add("session_meta", meta | {"timestamp": iso(self.ms), "source": "cli"})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        """Append a line of any type."""
        self.ms += 1000
        self.lines.append({"timestamp": iso(self.ms), "type": kind, "payload": payload})

    def event(self, kind: str, **fields: Any) -> None:
        """Append an event."""
        self.add("event_msg", {"type": kind} | fields)

    def turn(self, turn_id: str, said: str, *answers: str, end: str = "task_complete") -> None:
        """Append a turn with all that Codex writes of it; no `end` leaves it at work."""
        self.event("task_started", turn_id=turn_id, model_context_window=272_000)
        for role, text in (
            ("developer", "DEVELOPER-MARK"),
            ("user", "<environment_context>ENVIRONMENT-MARK"),
        ):
            content = [{"type": "input_text", "text": text}]
            self.add("response_item", {"type": "message", "role": role, "content": content})
        self.add("turn_context", {"turn_id": turn_id, "cwd": "/", "model": "gpt-5.5-codex"})
        self.event("user_message", message=said, images=[])
        call = {"type": "function_call", "name": "shell", "arguments": "ARGUMENT-MARK", "call_id": "c"}
        self.add("response_item", call)
        output = {"type": "function_call_output", "call_id": "c", "output": "OUTPUT-MARK"}
        self.add("response_item", output)
        for answer in answers:
            self.event("agent_message", message=answer, phase="final_answer")
        if end:
            last = answers[-1] if answers else None
            self.event(end, turn_id=turn_id, last_agent_message=last)

    def write(self, folder: Path, name: str = "rollout.jsonl") -> Path:
        """Write the file and return its path."""
        path = folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path
