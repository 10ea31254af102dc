"""What a recall gives: entries or lines of evidence, each with where it stands, how sure, and why.

Apart from the services, so that a command can speak of these without loading what searches.
"""

from __future__ import annotations

import msgspec

from perdure.core.memory import Entry
from perdure.recall.found import Why


class Provenance(msgspec.Struct, frozen=True):
    """Where an entry's present wording comes from, as far as its branch's revisions still say.

    `evidence` names lines of the job's evidence, and `rationale` is the reviewer's; both only after a review.
    """

    origin: str
    created_ms: int
    updated_ms: int
    revision: int | None = None
    cause: str | None = None
    job_id: str | None = None
    evidence: tuple[str, ...] = ()
    rationale: str | None = None


class RecalledEntry(msgspec.Struct, frozen=True):
    """One entry. `score` is the chance, 0 to 1, that it answers; `margin` its lead over the next."""

    entry: Entry
    scope: str
    branch: str
    score: float
    margin: float
    provenance: Provenance
    why: Why


class Recalled(msgspec.Struct, frozen=True):
    """The answer to a question, best first. Without `entries` nothing answers, and `nearest` are misses.

    `searches` names what took part, `encoder` what encoded, None when nothing did. `pending` counts entries
    that are searched by their words alone until a later recall, or `catch_up`, has encoded them. `problems`
    says what of memory could not be read. `kinds` are those of all entries that were searched.
    """

    entries: tuple[RecalledEntry, ...]
    nearest: tuple[RecalledEntry, ...]
    searches: tuple[str, ...]
    encoder: str | None
    pending: int = 0
    problems: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class RecalledLine(msgspec.Struct, frozen=True):
    """One passage of a line of evidence: who said it, where, and when its turn settled (UTC ms).

    `why.neighbours` are ids of turns of the same session.
    """

    text: str
    role: str
    host: str
    session: str
    turn_id: str
    line_id: str
    job_id: str
    settled_ms: int
    score: float
    margin: float
    why: Why


class RecalledEvidence(msgspec.Struct, frozen=True):
    """The answer from evidence; see `Recalled`. `searched` counts the passages that were looked through."""

    lines: tuple[RecalledLine, ...]
    nearest: tuple[RecalledLine, ...]
    searches: tuple[str, ...]
    encoder: str | None
    searched: int
    pending: int = 0
    problems: tuple[str, ...] = ()
