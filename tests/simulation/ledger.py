"""What is known from outside the disk: what was promised, said, sent and decided.

The disk may forget in a power loss; users, hosts and the provider's bill do not.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

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
        self.elsewhere: dict[tuple[str, str], str] = {}
        """Branch name and entry id to the text that was acknowledged there; nobody changes it."""
        self.selected = {"main"}
        """The branch names that may be in use: one, where no two chose at once."""
        self._choices, self._choosing = 0, 0
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

    @contextlib.contextmanager
    def choosing(self, name: str) -> Iterator[None]:
        """Somebody chooses the branch in use. While others choose too, or if it fails, either may stand."""
        self._choices += 1
        mine, alone = self._choices, not self._choosing
        self._choosing += 1
        self.selected.add(name)
        try:
            yield
            if alone and self._choices == mine:
                self.selected = {name}
        finally:
            self._choosing -= 1

    def begins(self, entry_id: str, text: str | None) -> None:
        """A call begins that gives an entry this text."""
        self.entries.setdefault(entry_id, set()).add(text)

    def acknowledged(self, entry_id: str, text: str | None) -> None:
        """It has returned."""
        self.entries[entry_id] = {text}
