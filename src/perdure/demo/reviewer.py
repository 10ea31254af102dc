"""The demo's reviewer: the offline rules behind an invented price, and a pause before the answer."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.core.inject import estimated_tokens
from perdure.ports.provider import Answered, Hold, ReviewRequest, Usage
from perdure.provider.prices import Price
from perdure.provider.rules import RulesProvider

INPUT_USD_PER_MILLION = 3.0
OUTPUT_USD_PER_MILLION = 15.0
OUTPUT_TOKENS_MAX = 1_000
PROVIDER = "demo"


class PricedRules:
    """Reviews by the rules, and reports tokens and a cost as a paid provider would.

    `before_answer` is called when the answer is known and not yet given: where the wire would be.
    """

    name = PROVIDER
    model = "rules"
    paid = True

    def __init__(self, before_answer: Callable[[], None] = lambda: None) -> None:
        self._rules, self._before_answer = RulesProvider(), before_answer
        self._price = Price.per_million(input_usd=INPUT_USD_PER_MILLION, output_usd=OUTPUT_USD_PER_MILLION)

    @property
    def prompt_version(self) -> str:
        """That of the rules."""
        return self._rules.prompt_version

    def ready(self) -> str | None:
        """Nothing can be missing."""
        return None

    def quote(self, request: ReviewRequest) -> Hold:
        """Bound the call: what is sent, and the longest answer."""
        tokens = _input_tokens(request)
        cost = self._price.bound_nanodollars(tokens, OUTPUT_TOKENS_MAX)
        return Hold(tokens, OUTPUT_TOKENS_MAX, cost)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Answered:
        """Answer as the rules do, with the usage of a paid call."""
        answer = self._rules.review(request, timeout_seconds=timeout_seconds)
        sent, received = _input_tokens(request), estimated_tokens(answer.text)
        usage = Usage(sent, received, self._price.bound_nanodollars(sent, received))
        self._before_answer()
        return msgspec.structs.replace(answer, usage=usage)


def _input_tokens(request: ReviewRequest) -> int:
    texts = (item.text for items in (request.evidence, request.memory) for item in items)
    return sum(estimated_tokens(text) + 1 for text in texts)
