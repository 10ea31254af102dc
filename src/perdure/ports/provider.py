"""The Provider port: one attempt, one request (A-04)."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from perdure.core.evidence import EvidenceLine

FailureClass = Literal["configuration", "availability", "permanent"]
"""Q-04. Invalid output is not a failure of the call: it is an answer with an invalid proposal."""


class MemoryView(msgspec.Struct, frozen=True):
    """One entry of the branch as the reviewer may see it."""

    entry_id: str
    kind: str
    key: str | None
    importance: str
    text: str


class ReviewRequest(msgspec.Struct, frozen=True):
    """All that a reviewer is given: quoted evidence and memory, both untrusted data. No tools (D-04)."""

    attempt_id: str
    evidence: tuple[EvidenceLine, ...]
    memory: tuple[MemoryView, ...]
    room_chars: int  # how many characters of text the branch may still take on (M-07)
    operations_max: int
    correction: str | None  # why the previous attempt's output was invalid, for a corrective retry


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one call used, as the provider reported it. Cost is integer nano-dollars."""

    input_tokens: int
    output_tokens: int
    cost_nanodollars: int


class Hold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request's own upper bound (B-02), fixed before it is sent."""

    input_tokens: int
    output_tokens: int
    cost_nanodollars: int


class Answered(msgspec.Struct, frozen=True):
    """A complete response came. `text` is the reviewer's raw output, at most `ANSWER_BYTES_MAX` long.
    `usage` is None when the provider did not report it (B-07).
    """

    text: str
    usage: Usage | None
    provider_request_id: str | None


class Failed(msgspec.Struct, frozen=True):
    """The call is known to have ended without an answer: an HTTP error response, or nothing was ever
    sent (connection refused). `usage` is all zero where providers do not bill, None where they may.
    """

    failure: FailureClass
    detail: str  # typed, e.g. "http 429"; never provider or evidence text
    usage: Usage | None
    retry_after_seconds: int | None


class Lost(msgspec.Struct, frozen=True):
    """The request may have run and no trustworthy answer is here: timeout, cut stream, malformed body."""

    detail: str


Reply = Answered | Failed | Lost


class Provider(Protocol):
    """A reviewer. `quote` and `ready` never touch the network; `review` sends exactly one request."""

    @property
    def name(self) -> str:
        """The provider's kind, the unit of a budget: "rules", "anthropic", "openai", "gemini", "replay"."""
        ...

    @property
    def model(self) -> str:
        """The model asked for; "" where there is none."""
        ...

    @property
    def paid(self) -> bool:
        """Whether daily limits and prices apply."""
        ...

    @property
    def prompt_version(self) -> str:
        """The version of prompt and rules that an attempt is bound to."""
        ...

    def ready(self) -> str | None:
        """Say what is missing (credential, model, price) as advice to the user, or None."""
        ...

    def quote(self, request: ReviewRequest) -> Hold:
        """Bound what `review(request)` can use."""
        ...

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
        """Send one request and wait for its end. Never raises for what the network or provider does."""
        ...
