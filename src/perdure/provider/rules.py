"""The offline reviewer: finds what a human plainly said should hold, without network, clock or chance.

It reads the lines a human typed and nothing else; a tool's "ok" only confirms a command that a human
named. What it proposes goes through the same admission as a model's proposal.
"""

from __future__ import annotations

from typing import Final

import msgspec

from perdure.core.proposal import Proposal
from perdure.ports.provider import Answered, Hold, ReviewRequest, Usage

PROMPT_VERSION: Final = "rules-1"


class RulesProvider:
    """The reviewer `rules`: free, always ready, and the same request always has the same answer."""

    @property
    def name(self) -> str:
        """The provider's kind."""
        return "rules"

    @property
    def model(self) -> str:
        """There is no model."""
        return ""

    @property
    def paid(self) -> bool:
        """Nothing is ever billed."""
        return False

    @property
    def prompt_version(self) -> str:
        """The version of the tables; raise it when a change of them changes answers."""
        return PROMPT_VERSION

    def ready(self) -> str | None:
        """Nothing can be missing."""
        return None

    def quote(self, request: ReviewRequest) -> Hold:  # noqa: ARG002 - the port's signature
        """Nothing is held for a review that costs nothing."""
        return Hold(input_tokens=0, output_tokens=0, cost_nanodollars=0)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Answered:  # noqa: ARG002 - the port's
        """Propose what the window's human lines plainly state; no operations when they state nothing."""
        from perdure.provider.rule_operations import (
            operations_for,
        )  # its tables are large, and status is not a review

        text = msgspec.json.encode(Proposal(operations=operations_for(request))).decode("utf-8")
        usage = Usage(input_tokens=0, output_tokens=0, cost_nanodollars=0)
        return Answered(text=text, usage=usage, provider_request_id=None)
