"""What was injected, per session (I-04). Exposure is never use (R-07)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Exposed(msgspec.Struct, frozen=True):
    """How often one version of an entry stood in a session's prompts, and when last."""

    entry_digest: str
    times: int
    last_ms: int


class Exposures(Protocol):
    """Bounded side records; losing one loses a count and nothing else."""

    def record(self, project: str, session: str, entries: Mapping[str, str], *, now_ms: int) -> None:
        """Count entry id -> entry digest as shown once more in this session. Never raises for the disk."""
        ...

    def of_session(self, project: str, session: str) -> Mapping[str, Exposed]:
        """Entry id -> what was counted."""
        ...
