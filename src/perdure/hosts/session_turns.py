"""Put a session's messages together into turns, and say how each ended (K-04).

A turn opens with a human message and is sealed by its first proved end. What a host or an extension
runs on after that, without a human message, belongs to no turn: so a turn that was read as settled
reads the same for ever, however its file grows.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal

import msgspec
from msgspec.structs import replace

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
    """Feed it the messages of a session, oldest first; `turns` then tells the turns.

    Of a session that branches, keep `here` at each fork and go `back` to it before the next branch.
    """

    def __init__(self) -> None:
        self._done: dict[int, OpenTurn] = {}
        self._open: OpenTurn | None = None
        self._line = 0

    @property
    def here(self) -> OpenTurn | None:
        """The turn at work, as it stands: a value, which later messages do not change."""
        return self._open

    def back(self, here: OpenTurn | None) -> None:
        """Go on from where `here` was taken, on another branch."""
        self._open = here

    def at(self, line: int) -> None:
        """Name the line of the file that what follows comes from; it orders turns."""
        self._line = line

    def human(self, key: str, text: str, at_ms: int | None, *, role: Role = "user") -> None:
        """Take a human message. It opens a turn, or steers the one that is still at work.

        `key` identifies the message over re-reads and forks. `text` may be empty (an image, a command).
        """
        turn = self._open
        if turn is not None and turn.end == "answered":
            turn = self._open = replace(turn, end="settled")
        if turn is None or turn.end != "unfinished":
            self.close()
            turn = OpenTurn(digest32("turn", key), first_line=self._line)
        self._open = turn.add(role, bounded(text), at_ms, self._line)

    def steer(self, text: str, at_ms: int | None) -> None:
        """Take a human message that the host put into the turn at work; it opens none."""
        if self._open is not None and self._open.end in ("unfinished", "answered"):
            self._open = self._open.add("user", bounded(text), at_ms, self._line)

    def assistant(self, text: str, verdict: Verdict, at_ms: int | None) -> None:
        """Take an assistant message; text that failed or was stopped is not kept."""
        turn = self._open
        if turn is None or turn.sealed:
            return
        kept = "" if verdict in ("failed", "aborted") else bounded(text)
        self._open = replace(turn.add("assistant", kept, at_ms, self._line), heard=True, end=_ENDS[verdict])

    def tool(self, name: str, *, ok: bool, at_ms: int | None) -> None:
        """Take the end of one tool call: its name and whether it succeeded, nothing else (E-02)."""
        turn = self._open
        if turn is None or turn.sealed:
            return
        self._open = turn.add("tool", f"{name[:200]} {'ok' if ok else 'failed'}", at_ms, self._line)

    def interrupted(self) -> None:
        """Take it that the human stopped the turn at work; a turn that already ended is not touched."""
        if self._open is not None and not self._open.sealed:
            self._open = replace(self._open, end="aborted", line=self._line)

    def host_message(self) -> None:
        """Take a host or extension message: after an error it starts something else, not a retry."""
        if self._open is not None and self._open.end == "failed":
            self._open = replace(self._open, final_failure=True)

    def close(self) -> None:
        """End the turn at work here: another begins, or nothing follows on this branch.

        A turn that goes on in several ways is told once: as it first settled, else as it was last left.
        """
        turn, self._open = self._open, None
        if turn is None or not (turn.heard or turn.lines is not None):
            return
        known = self._done.get(turn.first_line)
        if known is None or turn.rank < known.rank:
            self._done[turn.first_line] = turn

    def turns(self) -> tuple[RawTurn, ...]:
        """Close the last turn and return all, in the order of the lines that ended them.

        A file only grows at its end, so a turn that ends later comes later, whatever branch it is on.
        """
        self.close()
        ended = sorted(self._done.values(), key=lambda turn: turn.line)
        return tuple(turn.raw(position) for position, turn in enumerate(ended))


class _Said(msgspec.Struct, frozen=True):
    """One line of a turn and those before it, which branches share."""

    line: RawLine
    before: _Said | None


class OpenTurn(msgspec.Struct, frozen=True):
    """The turn that messages are added to, as a value."""

    turn_id: str
    first_line: int
    line: int = 0  # of the last message that counted
    lines: _Said | None = None
    last_ms: int = 0
    end: TurnEnd | Literal["answered"] = "unfinished"
    heard: bool = False  # an assistant message came
    final_failure: bool = False

    @property
    def sealed(self) -> bool:
        """Whether nothing more belongs to it."""
        return self.final_failure or self.end in ("settled", "aborted")

    @property
    def rank(self) -> tuple[bool, int]:
        """Of two ways in which a turn went on, the lower one tells its end."""
        settled = self.end == "settled"
        return not settled, self.line if settled else -self.line

    def add(self, role: Role, text: str, at_ms: int | None, line: int) -> OpenTurn:
        """Return the turn with one message more; an empty text leaves only its time."""
        return replace(
            self,
            line=line,
            last_ms=at_ms if at_ms is not None else self.last_ms,
            lines=_Said(RawLine(role=role, text=text), self.lines) if text.strip() else self.lines,
        )

    def raw(self, position: int) -> RawTurn:
        """Return what it comes to; what only looked like an end is none."""
        said, at = [], self.lines
        while at is not None:
            said.append(at.line)
            at = at.before
        end: TurnEnd = "unfinished" if self.end == "answered" else self.end
        return RawTurn(
            turn_id=self.turn_id,
            settled_ms=self.last_ms,
            end=end,
            lines=tuple(reversed(said)),
            position=position,
        )


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
