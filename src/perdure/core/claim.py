"""Claims: fenced ownership of a lane (Q-03). The highest ordinal is the current one."""

from __future__ import annotations

from perdure.core.record import Record


class Claim(Record, frozen=True, forbid_unknown_fields=True):
    """Elected at `<lane>.<ordinal>`: the first creation wins."""

    KIND = "claim"

    lane: str  # 32 hex digits
    ordinal: int  # take-over makes the next one
    worker: str  # the owner is alive exactly while this worker's lock is held
    token: str


class Released(Record, frozen=True, forbid_unknown_fields=True):
    """The owner let the lane go at a clean stop; counts for the highest ordinal only."""

    KIND = "released"

    lane: str
    ordinal: int
    token: str
