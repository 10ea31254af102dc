"""Provider attempts: reserved, dispatched, settled, unknown, cancelled (A-01 to A-08).

An attempt's state follows from which of its records exist. `fate` is one name for two alternatives:
whoever creates it first decides, and only the creator of `dispatched` may send (rule 1).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.core.record import Record

State = Literal["reserved", "dispatched", "settled", "unknown", "cancelled"]
Event = Literal["dispatch", "cancel", "settle", "lose", "reconcile"]

TRANSITIONS: dict[State, dict[Event, State]] = {
    "reserved": {"dispatch": "dispatched", "cancel": "cancelled"},
    "dispatched": {"settle": "settled", "lose": "unknown"},
    "unknown": {"settle": "settled", "reconcile": "settled"},
    "settled": {},
    "cancelled": {},
}
"""A-01. Repeating the event that led to a state is idempotent; everything else is illegal."""

ResultClass = Literal["proposal", "nothing", "invalid", "availability", "configuration", "permanent"]


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens and integer nano-dollars."""

    input_tokens: int
    output_tokens: int
    cost_nanodollars: int

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class Reserved(Record, frozen=True, forbid_unknown_fields=True):
    """Identity and budget of one attempt, durable before anything is sent (A-02)."""

    KIND = "reserved"

    attempt_id: str  # YYYYMMDD-<32 hex of the job>-<ordinal of the attempt>
    job_id: str
    day: str  # UTC, YYYYMMDD; the day that is charged (B-04)
    number: int  # 1 for the first attempt of the job
    worker: str
    claim_ordinal: int
    claim_token: str
    provider: str
    model: str
    prompt_version: str
    prices: str  # digest or name of the price table used for the hold
    base_digest: str  # the branch that the request shows (rule 10)
    request_digest: str
    hold: Usage
    reserved_ms: int
    calls: int  # 1; more only for what an adopted home may have spent (rule 14)


class Fate(Record, frozen=True, forbid_unknown_fields=True):
    """Dispatched or cancelled, elected."""

    KIND = "fate"

    attempt_id: str
    fate: Literal["dispatched", "cancelled"]
    worker: str
    reason: str


class Result(Record, frozen=True, forbid_unknown_fields=True):
    """The immutable checkpoint of one settled attempt (D-01), written by its sender only."""

    KIND = "result"

    attempt_id: str
    job_id: str
    outcome: ResultClass
    detail: str  # typed and short; never provider text
    proposal: str | None  # canonical JSON of the checked proposal, for outcome "proposal"
    proposal_digest: str | None
    correction: str | None  # what was wrong with the output: of all of it, or of the operations left out
    usage: Usage | None  # None: the provider did not report it (B-07)
    retry_after_seconds: int | None
    provider_request_id: str | None
    settled_ms: int


class Unknown(Record, frozen=True, forbid_unknown_fields=True):
    """The request may have run and its owner is gone or gave up. Derived: no clock, no worker."""

    KIND = "unknown"

    attempt_id: str


class Reconciled(Record, frozen=True, forbid_unknown_fields=True):
    """The user closed an unknown or unreported amount by hand (A-06, B-07)."""

    KIND = "reconciled"

    attempt_id: str
    reason: str
    usage: Usage
    reconciled_ms: int


class Attempt(msgspec.Struct, frozen=True):
    """All records of one attempt that exist. `damaged` names one that cannot be read."""

    reserved: Reserved | None
    fate: Fate | None = None
    result: Result | None = None
    unknown: bool = False
    reconciled: Reconciled | None = None
    attempt_id: str = ""
    damaged: str | None = None

    @property
    def state(self) -> State:
        """The state that the records mean."""
        if self.fate is not None and self.fate.fate == "cancelled":
            return "cancelled"
        if self.result is not None or self.reconciled is not None:
            return "settled"
        if self.unknown:
            return "unknown"
        return "dispatched" if self.fate is not None or self.reserved is None else "reserved"

    @property
    def open(self) -> bool:
        """Whether an owner may still act on it."""
        return self.state in {"reserved", "dispatched"}


def attempt_id(day: str, job_id: str, number: int) -> str:
    """The id of a job's attempt; it carries the day (rule 12)."""
    return f"{day}-{job_id[-32:]}-{number:04d}"


def day_of(attempt: str) -> str:
    """The UTC day in an attempt id."""
    return attempt[:8]
