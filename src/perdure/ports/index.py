"""What recall keeps of documents between runs: derived, deletable, and never an answer by itself (R-09).

A part is one branch of a scope, or the evidence of one job. What is kept of a document goes by a digest of
all that it was made from, so that a changed or forgotten text finds nothing of its former self. No text
is kept, and losing all of it costs only the time to make it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class BranchPart(msgspec.Struct, frozen=True):
    """The entries of one branch."""

    scope: str
    branch_id: str


class JobPart(msgspec.Struct, frozen=True):
    """The evidence of one job."""

    job_id: str


Part = BranchPart | JobPart


class Kept(msgspec.Struct, frozen=True):
    """What stands of a part: features by version. `current` says that it was made from the source that is
    named, and holds all that was asked for and nothing else.
    """

    features: Mapping[str, bytes]
    current: bool


class Standing(msgspec.Struct, frozen=True):
    """What stands of the whole index. `damaged` are the files that cannot be used, as people see them."""

    parts: int
    entries: int
    damaged: tuple[str, ...] = ()


class FeatureIndex(Protocol):
    """Packed features of documents, by the encoder that made them. Two encoders are never mixed."""

    def load(self, part: Part, versions: frozenset[str], *, source: str, encoder: str) -> Kept | None:
        """What stands of these versions, made by this encoder; None when that is nothing that can be used.

        `source` is the digest of what the versions are read from now: of a branch, or of a job's evidence.
        What is missing, damaged, of another form or of another encoder is None; never raises for the disk.
        """
        ...

    def save(self, part: Part, features: Mapping[str, bytes], *, source: str, encoder: str) -> bool:
        """Put these in place of what stands there; False when the disk does not take them. Readers see all
        of the old or all of the new.
        """
        ...

    def lent(self, part: BranchPart, versions: frozenset[str], *, encoder: str) -> Mapping[str, bytes]:
        """What other branches of the part's scope hold of these versions, made by this encoder.

        A fork has the texts of its branch. No other scope is looked at (G-05).
        """
        ...

    def branches(self, scope: str) -> tuple[BranchPart, ...]:
        """The branches of a scope, there or gone, of which anything stands."""
        ...

    def keep_only(self, part: Part, versions: frozenset[str]) -> bool:
        """Take away what was made from other versions than these; True when there was any."""
        ...

    def standing(self) -> Standing:
        """What stands now, of all scopes; for people. Raises Inaccessible."""
        ...
