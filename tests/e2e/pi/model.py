"""A scripted model: what it answers, and what it was asked, in the dialect of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.loopback import Answer, LoopbackServer, Sent

MODEL = "scripted"


def says(text: str, *, tokens: int = 10) -> Answer:
    """An answer in words."""
    return _stream([{"role": "assistant", "content": text}], "stop", tokens)


def calls(tool: str, arguments: dict[str, object], *, call: str = "call_1") -> Answer:
    """An answer that calls one tool."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    delta: dict[str, object] = {
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": call, "type": "function", "function": function}],
    }
    return _stream([delta], "tool_calls", 10)


def remembers(text: str, **more: object) -> Answer:
    """An answer that stores a fact."""
    return calls("memory", {"action": "remember", "text": text, **more})


class Model(LoopbackServer):
    """A server that plays a script, and then says OK to everything."""

    def __init__(self, *script: Answer) -> None:
        self._acts: list[Answer] = list(script)
        super().__init__(self._play())

    def play(self, *script: Answer) -> None:
        """Play this from here on."""
        self._acts[:] = script

    def _play(self) -> Iterator[Answer]:
        while True:
            yield self._acts.pop(0) if self._acts else says("OK")


def system_text(request: Sent) -> str:
    """Everything that one request tells the model as its system."""
    return "\n".join(
        _content(message) for message in messages(request) if message["role"] in {"system", "developer"}
    )


def messages(request: Sent) -> list[dict[str, Any]]:
    """The messages of one request."""
    found = request.json()["messages"]
    assert isinstance(found, list)
    return found


def tool_texts(request: Sent) -> list[str]:
    """What tools answered, as one request tells it."""
    return [_content(message) for message in messages(request) if message["role"] == "tool"]


def _content(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _stream(deltas: list[dict[str, object]], reason: str, tokens: int) -> Answer:
    usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
    chunks: list[dict[str, object]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    chunks.append({"index": 0, "delta": {}, "finish_reason": reason})
    lines = [_line({"choices": [chunk]}) for chunk in chunks]
    lines.append(_line({"choices": [], "usage": usage}))
    body = "".join([*lines, "data: [DONE]\n\n"]).encode()
    return Answer(body=body, headers={"content-type": "text/event-stream"})


def _line(more: dict[str, object]) -> str:
    chunk = {"id": "answer", "object": "chat.completion.chunk", "created": 1, "model": MODEL, **more}
    return f"data: {json.dumps(chunk)}\n\n"
