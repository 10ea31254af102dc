"""OpenAI-compatible chat completions: OpenAI, OpenRouter, Groq, Ollama, vLLM, LM Studio and others.

The cap `max_completion_tokens` includes reasoning. `effort` goes into `reasoning_effort` as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from perdure.provider.http import Received, is_loopback
from perdure.provider.model import (
    Completion,
    Malformed,
    ModelProvider,
    TokenCount,
    decode,
    decode_counts,
    request_id,
)
from perdure.provider.prices import FREE, Price, Pricing, TokenCounts, table_price
from perdure.provider.prompt import Prompt


class ChatServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs between servers that speak this protocol."""

    json_mode: bool = True  # send response_format json_object
    legacy_max_tokens: bool = False  # send max_tokens instead of max_completion_tokens
    plain_http: bool = False  # allow an http base_url that is not on this machine


class _Part(msgspec.Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, frozen=True):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message
    finish_reason: str | None = None


class _Chat(msgspec.Struct, frozen=True):
    choices: list[_Choice]
    usage: msgspec.Raw = msgspec.Raw()


class _PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: TokenCount | None = None


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: TokenCount
    completion_tokens: TokenCount
    total_tokens: TokenCount | None = None
    prompt_tokens_details: _PromptDetails | None = None


@dataclass(frozen=True, kw_only=True)
class OpenAIChatProvider(ModelProvider):
    """A chat model at OpenAI or at a server that speaks its protocol.

    A server on this machine needs no key and, unless `price` says otherwise, costs nothing.
    """

    base_url: str = "https://api.openai.com/v1"
    server: ChatServer = field(default_factory=ChatServer)

    @property
    def name(self) -> str:
        """The provider's kind."""
        return "openai"

    @property
    def _plain_http(self) -> bool:
        return self.server.plain_http

    def _price_without_table(self) -> Price | None:
        return FREE if is_loopback(self.base_url) else None

    def _price_from_table(self) -> Pricing | str:
        return table_price(self.model, api_url=self.base_url)

    def _path(self) -> str:
        return "/chat/completions"

    def _headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def _payload(self, prompt: Prompt) -> dict[str, object]:
        cap = "max_tokens" if self.server.legacy_max_tokens else "max_completion_tokens"
        payload: dict[str, object] = {
            "model": self.model,
            cap: self.output_tokens_max,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if self.server.json_mode:
            payload["response_format"] = {"type": "json_object"}
        if self.effort is not None:
            payload["reasoning_effort"] = self.effort
        return payload

    def _read(self, received: Received) -> Completion:
        chat = decode(received.body, _Chat)
        if not chat.choices:
            raise Malformed
        choice = chat.choices[0]
        return Completion(
            text=_text(choice.message.content),
            refused=bool(choice.message.refusal) or choice.finish_reason == "content_filter",
            counts=decode_counts(chat.usage, _Usage, _count),
            request_id=request_id(received.headers.get("x-request-id")),
        )


def _text(content: str | list[_Part] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text for part in content if part.type == "text")
    return content or ""


def _count(usage: _Usage) -> TokenCounts:
    """Count reasoning, which some servers leave out of `completion_tokens` but not out of the total."""
    output = max(usage.completion_tokens, (usage.total_tokens or 0) - usage.prompt_tokens)
    cached = usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else None
    return TokenCounts(usage.prompt_tokens, output, cache_read_tokens=min(cached or 0, usage.prompt_tokens))
