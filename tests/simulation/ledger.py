"""What is known from outside the disk: what was promised, said, sent and decided.

The disk may forget in a power loss; users, hosts and the provider's bill do not.
"""

from __future__ import annotations

from collections import Counter

import msgspec


class Said(msgspec.Struct, frozen=True):
    """One settled turn of a session."""

    turn_id: str
    text: str
    settled_ms: int


class Ledger:
    """The facts. A value that a call has begun to change may be either until the call returns."""

    def __init__(self) -> None:
        self.entries: dict[str, set[str | None]] = {}
        """Entry id to the texts that it may have; None: it is not there."""
        self.begun: set[str] = set()
        """Texts that were to be remembered by a call that has not returned."""
        self.branches: set[str] = set()
        self.forgotten: set[str] = set()
        """Texts whose forgetting was acknowledged, and which nobody asked to have back."""
        self.purged: set[str] = set()
        self.unsayable: set[str] = set()
        """Texts that somebody began to purge."""
        self.jobs: set[str] = set()
        self.turns: set[str] = set()
        self.sessions: dict[str, list[Said]] = {}
        self.newest: str | None = None
        """The session that grew last: everybody is interested in it."""
        self.texts: list[str] = []
        self.sends: Counter[str] = Counter()
        self.used: dict[str, int] = {}
        """Attempt id to the tokens that its answer said it used; unknown for the others."""
        self.settled: set[str] = set()
        self.reconciled: set[str] = set()
        self.decisions: dict[str, str] = {}
        self.closed: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        """What happened how often; only for figures."""

    def may_purge(self) -> list[str]:
        """Texts that stand in acknowledged turns alone, so that nothing brings them in again."""
        waiting = {
            said.text for turns in self.sessions.values() for said in turns if said.turn_id not in self.turns
        }
        return [text for text in self.texts if text not in waiting | self.unsayable]

    def begins(self, entry_id: str, text: str | None) -> None:
        """A call begins that gives an entry this text."""
        self.entries.setdefault(entry_id, set()).add(text)

    def acknowledged(self, entry_id: str, text: str | None) -> None:
        """It has returned."""
        self.entries[entry_id] = {text}
