"""Put a session's messages together into turns, and say how each ended (K-04).

A turn opens with a human message and is sealed by its first proved end. What a host or an extension
runs on after that, without a human message, belongs to no turn: so a turn that was read as settled
reads the same for ever, however its file grows.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from perdure.core.encoded import remove_data
from perdure.core.evidence import RawLine, RawTurn, Role, TurnEnd

Verdict = Literal["final", "answered", "open", "failed", "aborted"]
"""What one assistant message says about its turn. `final`: a complete answer, proved. `answered`: it
looks like one, and the next human message proves it. `open`: work goes on. `failed`: an error, which a
retry may still repair. `aborted`: the human stopped it."""

TEXT_CHARS_MAX = 200_000
"""Longer texts are cut by the reader: six times what a window can hold."""

_SHELL_INPUT = re.compile(r"\s*!\S")


class TurnBuilder:
    """Feed it the messages of the active path, oldest first; `turns` then tells the turns."""

    def __init__(self) -> None:
        self._done: list[RawTurn] = []
        self._open: _OpenTurn | None = None

    def human(self, key: str, text: str, at_ms: int | None, *, role: Role = "user") -> None:
        """Take a human message. It opens a turn, or steers the one that is still at work.

        `key` identifies the message over re-reads and forks. `text` may be empty (an image, a command).
        """
        turn = self._open
        if turn is not None and turn.end == "answered":
            turn.end = "settled"
        if turn is None or turn.end != "unfinished":
            self._close()
            turn = self._open = _OpenTurn(digest32("turn", key))
        turn.add(role, bounded(text), at_ms)

    def steer(self, text: str, at_ms: int | None) -> None:
        """Take a human message that the host put into the turn at work; it opens none."""
        if self._open is not None and self._open.end in ("unfinished", "answered"):
            self._open.add("user", bounded(text), at_ms)

    def assistant(self, text: str, verdict: Verdict, at_ms: int | None) -> None:
        """Take an assistant message; text that failed or was stopped is not kept."""
        turn = self._open
        if turn is None or turn.sealed:
            return
        turn.heard = True
        turn.add("assistant", "" if verdict in ("failed", "aborted") else bounded(text), at_ms)
        turn.end = _ENDS[verdict]

    def tool(self, name: str, *, ok: bool, at_ms: int | None) -> None:
        """Take the end of one tool call: its name and whether it succeeded, nothing else (E-02)."""
        turn = self._open
        if turn is None or turn.sealed:
            return
        turn.add("tool", f"{name[:200]} {'ok' if ok else 'failed'}", at_ms)

    def interrupted(self) -> None:
        """Take it that the human stopped the turn at work; a turn that already ended is not touched."""
        if self._open is not None and not self._open.sealed:
            self._open.end = "aborted"

    def host_message(self) -> None:
        """Take a host or extension message: after an error it starts something else, not a retry."""
        if self._open is not None and self._open.end == "failed":
            self._open.final_failure = True

    def turns(self) -> tuple[RawTurn, ...]:
        """Close the last turn and return all, oldest first."""
        self._close()
        return tuple(self._done)

    def _close(self) -> None:
        turn, self._open = self._open, None
        if turn is None or not (turn.heard or turn.lines):
            return
        end: TurnEnd = "unfinished" if turn.end == "answered" else turn.end
        self._done.append(
            RawTurn(
                turn_id=turn.turn_id, settled_ms=turn.last_ms, end=end, lines=tuple(turn.lines),
                position=len(self._done),
            )
        )  # fmt: skip


class _OpenTurn:
    """The turn that messages are added to."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.lines: list[RawLine] = []
        self.last_ms = 0
        self.end: TurnEnd | Literal["answered"] = "unfinished"
        self.heard = False  # an assistant message came
        self.final_failure = False

    @property
    def sealed(self) -> bool:
        return self.final_failure or self.end in ("settled", "aborted")

    def add(self, role: Role, text: str, at_ms: int | None) -> None:
        self.last_ms = at_ms if at_ms is not None else self.last_ms
        if text.strip():
            self.lines.append(RawLine(role=role, text=text))


_ENDS: dict[Verdict, TurnEnd | Literal["answered"]] = {
    "final": "settled",
    "answered": "answered",
    "open": "unfinished",
    "failed": "failed",
    "aborted": "aborted",
}


def digest32(*parts: str) -> str:
    """Return 32 hex digits that stand for the parts in their order; lone surrogates are allowed."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:32]


def bounded(text: str) -> str:
    """Return a text of at most `TEXT_CHARS_MAX` characters, cut at a space so that no word is halved."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    text = remove_data(text)
    if len(text) <= TEXT_CHARS_MAX:
        return text
    head = text[:TEXT_CHARS_MAX]
    space = max(head.rfind(" "), head.rfind("\n"))
    return head[:space] if space > 0 else head


def without_shell_input(text: str) -> str:
    """Return "" for a message that is the human's own shell command (`!cmd`), else the text (E-02)."""
    return "" if _SHELL_INPUT.match(text) else text
