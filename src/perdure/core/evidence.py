"""Evidence: sanitised, bounded text of settled turns, cut into windows (E-01, E-02, E-09).

A *host reader* turns a session file into `RawTurn`s, oldest first. `sanitising.sanitise` makes
`EvidenceTurn`s of those that are settled, and `windows.windows` groups them into `Evidence`, the
immutable payload of a job. This file holds the values alone, so that reading a job costs no rules.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Role = Literal["user", "host", "assistant", "tool"]
"""Who a line comes from. `user` is text a human typed; `host` is text that the host or an extension
put in the user's place (never a preference without review, L-04); `tool` names a tool and how it ended."""

TurnEnd = Literal["settled", "aborted", "failed", "unfinished"]
"""How a turn ended, as proved by the session (K-04). Only `settled` turns are evidence."""


class RawLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of a turn as the host recorded it, before sanitising; never stored."""

    role: Role
    text: str  # for `tool`: "<tool name> ok" or "<tool name> failed"


class RawTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One user message and all that followed until it settled, before sanitising; never stored."""

    turn_id: str  # stable over re-reads and forks; hex of at most 64 digits
    settled_ms: int  # UTC milliseconds of the turn's last entry; orders jobs
    end: TurnEnd
    lines: tuple[RawLine, ...]
    position: int  # zero-based place of the turn in its session, for messages to the user


class EvidenceLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sanitised line that a proposal may name as its evidence."""

    line_id: str  # "e1", "e2", ... within the window
    role: Role
    text: str


class EvidenceTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One settled turn, sanitised. `cut` says that the end was cut at the window's limit (E-01)."""

    turn_id: str
    settled_ms: int
    cut: bool
    lines: tuple[EvidenceLine, ...]


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One review window: at most 12 turns and 32,000 characters after sanitising (E-01)."""

    host: str  # "pi" or "claude-code"
    session: str  # the host's session id, as hex digest: 32 digits
    turns: Annotated[tuple[EvidenceTurn, ...], msgspec.Meta(min_length=1)]

    @property
    def frontier(self) -> str:
        """The last turn that this window covers."""
        return self.turns[-1].turn_id


class Skipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A turn that is no evidence, now or ever; it stays out of coverage."""

    turn_id: str
    position: int
    reason: str  # "aborted", "failed", "unfinished", "empty" or "duplicate"


class Uncovered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A settled turn that cannot become evidence. It is recorded, so that it blocks nothing (E-09)."""

    turn_id: str
    position: int
    settled_ms: int
    reason: str  # "secret" or "text"


class Windows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the turns of a session come to; each part is in the order of the session."""

    evidence: tuple[Evidence, ...]
    skipped: tuple[Skipped, ...]
    uncovered: tuple[Uncovered, ...]
