"""Google's Gemini API, generateContent. The key travels in a header, never in the address.

The cap `maxOutputTokens` includes thoughts. Without `effort` the least thinking that the model's family
allows is asked for; "none" sets a thinking budget of zero; any other word is a thinking level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from perdure.provider.http import Received
from perdure.provider.model import (
    Completion,
    Malformed,
    ModelProvider,
    TokenCount,
    decode,
    decode_counts,
    request_id,
)
from perdure.provider.prices import Pricing, TokenCounts, table_price
from perdure.provider.prompt import Prompt

REFUSALS = frozenset({"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})
"""Finish reasons by which the service withholds an answer because of its content."""

_LEAST_THINKING: Mapping[str, Mapping[str, object]] = {
    "gemini-2.5-flash": {"thinkingBudget": 0},
    "gemini-2.5-pro": {"thinkingBudget": 128},
    "gemini-3": {"thinkingLevel": "low"},
}
"""Start of a model's name -> the least thinking that every model of that family accepts."""


class _Part(msgspec.Struct, frozen=True):
    text: str = ""
    thought: bool = False


class _Content(msgspec.Struct, frozen=True):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct, frozen=True, rename="camel"):
    content: _Content = _Content()
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, frozen=True, rename="camel"):
    block_reason: str | None = None


class _Generated(msgspec.Struct, frozen=True, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    usage_metadata: msgspec.Raw = msgspec.Raw()
    response_id: str | None = None


class _Usage(msgspec.Struct, frozen=True, rename="camel"):
    """The service leaves counts of zero out; only the prompt's is always there."""

    prompt_token_count: TokenCount
    candidates_token_count: TokenCount = 0
    thoughts_token_count: TokenCount = 0
    tool_use_prompt_token_count: TokenCount = 0
    cached_content_token_count: TokenCount = 0
    total_token_count: TokenCount = 0


@dataclass(frozen=True, kw_only=True)
class GeminiProvider(ModelProvider):
    """Gemini models at Google's Generative Language API."""

    base_url: str = "https://generativelanguage.googleapis.com"

    @property
    def name(self) -> str:
        """The provider's kind."""
        return "gemini"

    def _price_from_table(self) -> Pricing | str:
        return table_price(self.model, provider_id="google")

    def _path(self) -> str:
        model = self.model.removeprefix("models/")
        return f"/v1beta/models/{quote(model, safe='')}:generateContent"

    def _headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    def _payload(self, prompt: Prompt) -> dict[str, object]:
        generation: dict[str, object] = {
            "maxOutputTokens": self.output_tokens_max,
            "responseMimeType": "application/json",
            "candidateCount": 1,
        }
        thinking = self._thinking()
        if thinking is not None:
            generation["thinkingConfig"] = thinking
        return {
            "systemInstruction": {"parts": [{"text": prompt.system}]},
            "contents": [{"role": "user", "parts": [{"text": prompt.user}]}],
            "generationConfig": generation,
        }

    def _thinking(self) -> Mapping[str, object] | None:
        if self.effort == "none":
            return {"thinkingBudget": 0}
        if self.effort is not None:
            return {"thinkingLevel": self.effort}
        model = self.model.removeprefix("models/")
        return next((least for start, least in _LEAST_THINKING.items() if model.startswith(start)), None)

    def _read(self, received: Received) -> Completion:
        generated = decode(received.body, _Generated)
        blocked = generated.prompt_feedback is not None and bool(generated.prompt_feedback.block_reason)
        if not generated.candidates and not blocked:
            raise Malformed
        candidate = generated.candidates[0] if generated.candidates else _Candidate()
        return Completion(
            text="".join(part.text for part in candidate.content.parts if not part.thought),
            refused=blocked or candidate.finish_reason in REFUSALS,
            counts=decode_counts(generated.usage_metadata, _Usage, _count),
            request_id=request_id(generated.response_id),
        )


def _count(usage: _Usage) -> TokenCounts:
    """Thoughts are billed as output, and so is whatever else the total holds."""
    prompt = usage.prompt_token_count + usage.tool_use_prompt_token_count
    output = usage.candidates_token_count + usage.thoughts_token_count
    output = max(output, usage.total_token_count - prompt)
    return TokenCounts(prompt, output, cache_read_tokens=min(usage.cached_content_token_count, prompt))
