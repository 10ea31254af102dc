r"""Recorded answers, for tests and demonstrations: one reply for each call, in order.

A recording is a text file with one JSON object on each line:

    {"reply":"answered","text":"{\"operations\":[]}","provider_request_id":"req-1","usage":USAGE}
    {"reply":"failed","failure":"availability","detail":"http 429","usage":null,"retry_after_seconds":3}
    {"reply":"lost","detail":"timeout","delay_seconds":0.5}

where USAGE is {"input_tokens":900,"output_tokens":60,"cost_nanodollars":0}.
`usage`, `provider_request_id` and `retry_after_seconds` may be left out, and are then null;
`delay_seconds` is how long the call takes. Empty lines are skipped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from perdure.errors import ConfigError
from perdure.ports.provider import Answered, Failed, FailureClass, Hold, Lost, Reply, ReviewRequest, Usage

RECORDING_BYTES_MAX = 16_777_216

_Delay = Annotated[float, msgspec.Meta(ge=0, le=3_600)]
_NOTHING = Usage(input_tokens=0, output_tokens=0, cost_nanodollars=0)


class _Answered(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="answered", tag_field="reply"):
    text: str
    usage: Usage | None = None
    provider_request_id: str | None = None
    delay_seconds: _Delay = 0.0

    def reply(self) -> Reply:
        return Answered(self.text, self.usage, self.provider_request_id)


class _Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed", tag_field="reply"):
    failure: FailureClass
    detail: str
    usage: Usage | None = None
    retry_after_seconds: int | None = None
    delay_seconds: _Delay = 0.0

    def reply(self) -> Reply:
        return Failed(self.failure, self.detail, self.usage, self.retry_after_seconds)


class _Lost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lost", tag_field="reply"):
    detail: str
    delay_seconds: _Delay = 0.0

    def reply(self) -> Reply:
        return Lost(self.detail)


_LINE = msgspec.json.Decoder(_Answered | _Failed | _Lost)


class ReplayProvider:
    """Gives recorded replies in order; safe to call from several threads.

    A delay that runs into the call's timeout makes a lost call of it. After the last reply every call
    is a configuration failure.

    `answers` is a sequence of replies, or the path of a recording. Raises `ConfigError` for a recording
    that is missing, too large or not in the format; the message names the file and the line.
    """

    name = "replay"
    model = ""
    prompt_version = "replay-1"

    def __init__(self, answers: Sequence[Reply] | Path | str) -> None:
        if isinstance(answers, str | Path):
            self._steps = _load(Path(answers))
        else:
            self._steps = [(reply, 0.0) for reply in answers]
        self._next = 0
        self._lock = threading.Lock()

    @property
    def paid(self) -> bool:
        """Whether any recorded reply has a cost."""
        return any(usage.cost_nanodollars > 0 for usage in self._usages())

    def ready(self) -> str | None:
        """Say that the recording is empty, or None."""
        return None if self._steps else "The recording holds no reply: add one to it."

    def quote(self, request: ReviewRequest) -> Hold:  # noqa: ARG002 - the port names it
        """Bound every recorded reply: the largest of each count."""
        usages = (*self._usages(), _NOTHING)
        return Hold(
            max(usage.input_tokens for usage in usages),
            max(usage.output_tokens for usage in usages),
            max(usage.cost_nanodollars for usage in usages),
        )

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - as above
        """Give the next reply, after its delay."""
        with self._lock:
            position, self._next = self._next, self._next + 1
        if position >= len(self._steps):
            return Failed("configuration", "recording at its end", _NOTHING, None)
        reply, delay_seconds = self._steps[position]
        if delay_seconds > timeout_seconds:
            time.sleep(timeout_seconds)
            return Lost("timeout")
        if delay_seconds > 0:
            time.sleep(delay_seconds)
        return reply

    def _usages(self) -> tuple[Usage, ...]:
        replies = (reply for reply, _delay in self._steps if not isinstance(reply, Lost))
        return tuple(reply.usage for reply in replies if reply.usage is not None)


def _load(path: Path) -> list[tuple[Reply, float]]:
    try:
        if path.stat().st_size > RECORDING_BYTES_MAX:
            raise ConfigError(f"{path} has more than {RECORDING_BYTES_MAX:,} bytes.", advice="Split it.")
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    steps = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            step = _LINE.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ConfigError(f"{path}, line {number}: {error}.") from error
        steps.append((step.reply(), step.delay_seconds))
    return steps
