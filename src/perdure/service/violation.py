"""One broken rule: which, where, what was found and what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

# For types alone: whoever names a place in a message inspects nothing.
if TYPE_CHECKING:
    from perdure.ports.inspect import Snapshot


class Violation(msgspec.Struct, frozen=True):
    """Never holds text of memory or evidence: ids, digests and states only (E-06)."""

    invariant: str  # "V-01" to "V-17": safety; "R-01" to "R-03": work left to do
    code: str
    path: str
    found: str
    expected: str


def place(scope: str) -> str:
    """Where a scope's records stand, for messages."""
    return scope if scope == "user" else f"projects/{scope}"


def unread_at(snapshot: Snapshot, path: str) -> bool:
    """A record that is there and damaged is reported once, not as missing too."""
    return any(unread.path == path for unread in snapshot.unread)
