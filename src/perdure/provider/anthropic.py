"""Anthropic's Messages API: one user message, plain text back, no tools.

The cap `max_tokens` includes thinking. `effort` "none" turns thinking off (a few models refuse that);
any other word goes into `output_config.effort`; without one the model's default holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from perdure.provider.http import Received
from perdure.provider.model import (
    Completion,
    ModelProvider,
    TokenCount,
    decode,
    decode_counts,
    request_id,
)
from perdure.provider.prices import Pricing, TokenCounts, table_price
from perdure.provider.prompt import Prompt

API_VERSION = "2023-06-01"


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class _Message(msgspec.Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw()


class _Usage(msgspec.Struct, frozen=True):
    """`input_tokens` leaves both cache counts out."""

    input_tokens: TokenCount
    output_tokens: TokenCount
    cache_creation_input_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None


@dataclass(frozen=True, kw_only=True)
class AnthropicProvider(ModelProvider):
    """Claude models at Anthropic, or at any server that speaks the Messages API."""

    base_url: str = "https://api.anthropic.com"

    @property
    def name(self) -> str:
        """The provider's kind."""
        return "anthropic"

    def _price_from_table(self) -> Pricing | str:
        return table_price(self.model, provider_id="anthropic")

    def _path(self) -> str:
        return "/v1/messages"

    def _headers(self, key: str | None) -> dict[str, str]:
        headers = {"anthropic-version": API_VERSION}
        return headers if key is None else {**headers, "x-api-key": key}

    def _payload(self, prompt: Prompt) -> dict[str, object]:
        payload: dict[str, object] = {
            "model": self.model,
            "max_tokens": self.output_tokens_max,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if self.effort == "none":
            payload["thinking"] = {"type": "disabled"}
        elif self.effort is not None:
            payload["output_config"] = {"effort": self.effort}
        return payload

    def _read(self, received: Received) -> Completion:
        message = decode(received.body, _Message)
        return Completion(
            text="".join(block.text for block in message.content if block.type == "text"),
            refused=message.stop_reason == "refusal",
            counts=decode_counts(message.usage, _Usage, _count),
            request_id=request_id(received.headers.get("request-id")),
        )


def _count(usage: _Usage) -> TokenCounts:
    read = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    return TokenCounts(usage.input_tokens + read + written, usage.output_tokens, read, written)
