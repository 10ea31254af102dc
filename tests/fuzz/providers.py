"""Targets: providers' answers and headers, recorded answers, prices, and the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from perdure.config import load_config
from perdure.errors import ConfigError
from perdure.ports.provider import Answered, Failed, Lost
from perdure.provider.anthropic import AnthropicProvider
from perdure.provider.gemini import GeminiProvider
from perdure.provider.http import Received
from perdure.provider.model import (
    ANSWER_BYTES_MAX,
    Malformed,
    ModelProvider,
    _settled,
    failure_of,
    request_id,
)
from perdure.provider.openai_chat import OpenAIChatProvider
from perdure.provider.prices import Price, TokenCounts
from perdure.provider.replay import ReplayProvider
from tests.fuzz.mutation import change_json, change_lines, mostly
from tests.fuzz.target import Target, as_file, as_json, as_lines, plain_text, tried

_DEAR = Price(Decimal("0.0000001"), Decimal(1_000_000))
_BREAK = b"\n"

# -- providers' answers

_BODIES: Mapping[str, tuple[Callable[[], ModelProvider], object]] = {
    "anthropic": (
        lambda: AnthropicProvider(model="m", credential=lambda: "k", price=_DEAR),
        {
            "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": '{"operations":[]}'}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 2},
        },
    ),
    "openai": (
        lambda: OpenAIChatProvider(model="m", credential=lambda: "k", price=_DEAR),
        {
            "choices": [{"message": {"content": [{"type": "text", "text": "{}"}]}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 14,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
        },
    ),
    "gemini": (
        lambda: GeminiProvider(model="m", credential=lambda: "k", price=_DEAR),
        {
            "candidates": [
                {"content": {"parts": [{"text": "{}"}, {"thought": True}]}, "finishReason": "STOP"}
            ],
            "promptFeedback": {"blockReason": None},
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 15},
            "responseId": "r1",
        },
    ),
}


def check_reply(data: bytes) -> None:
    """A provider's body: `Malformed`, or a reply whose text is bounded and whose cost is a sound number."""
    for make, _ in _BODIES.values():
        try:
            completion = make()._read(Received(200, {"request-id": plain_text(data[:200])}, data))
        except Malformed:
            continue
        reply = _settled(completion, _DEAR)
        assert isinstance(reply, Answered | Failed)
        if isinstance(reply, Answered):
            assert len(reply.text.encode()) <= ANSWER_BYTES_MAX
        if reply.usage is not None:
            assert reply.usage.cost_nanodollars >= 0
            assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0


def _reply_seeds() -> Mapping[str, bytes]:
    return {name: as_json(body) for name, (_, body) in _BODIES.items()}


def check_headers(data: bytes) -> None:
    """A refusal's status and headers: a class, and a wait within a day; a request id is short and plain."""
    status, _, rest = data.partition(_BREAK)
    wait, _, date = rest.partition(_BREAK)
    number = 300 + int.from_bytes(status[:2], "big") % 300
    found = failure_of(Received(number, {"retry-after": plain_text(wait), "date": plain_text(date)}, b""))
    assert found.retry_after_seconds is None or 0 <= found.retry_after_seconds <= 86_400
    named = request_id(plain_text(rest))
    assert named is None or (named.isascii() and len(named) <= 128)


def _header_seeds() -> Mapping[str, bytes]:
    date = b"Wed, 21 Oct 2026 07:28:00 GMT"
    return {
        "seconds": b"\0\x81\n120\n",
        "a date": b"\0\x81\n" + date + b"\nWed, 21 Oct 2026 07:20:00 GMT",
        "a date without a zone": b"\0\x81\nWed, 21 Oct 2026 07:28:00 -0000\n" + date,
        "a day of the month that is not": b"\0\x81\nWed, 99 Oct 2026 07:28:00 GMT\n" + date,
        "a huge year": b"\0\x81\nWed, 21 Oct 99999999999999999999 07:28:00 GMT\n" + date,
        "a huge zone": b"\0\x81\nWed, 21 Oct 2026 07:28:00 +99999999999999999999\n" + date,
        "two extremes": b"\0\x81\n31 Dec 9999 23:59:59 -2359\n1 Jan 0001 00:00:00 +2359",
    }


# -- recordings, prices, configuration

_RECORDING = (
    {
        "reply": "answered",
        "text": "{}",
        "usage": {"input_tokens": 9, "output_tokens": 1, "cost_nanodollars": 0},
    },
    {"reply": "failed", "failure": "availability", "detail": "http 429", "retry_after_seconds": 3},
    {"reply": "lost", "detail": "timeout", "delay_seconds": 0.5},
)


def check_recording(data: bytes) -> None:
    """A file of recorded answers: refused as configuration, or a provider that bounds each of them."""
    provider = tried(lambda: ReplayProvider(as_file(data, "answers.jsonl")), ConfigError)
    if isinstance(provider, ConfigError):
        assert "answers.jsonl" in provider.message
        return
    used = [reply.usage for reply, _ in provider._steps if not isinstance(reply, Lost)]
    assert provider.paid == any(usage.cost_nanodollars > 0 for usage in used if usage is not None)
    assert all(0 <= delay <= 3_600 for _, delay in provider._steps)


def check_price(data: bytes) -> None:
    """Two numbers as a price: refused, or a cost that is whole, not negative and rounded up."""
    first, _, second = data.partition(_BREAK)
    try:
        rates = float(plain_text(first)), float(plain_text(second))
    except ValueError:
        return
    try:
        price = Price.per_million(input_usd=rates[0], output_usd=rates[1])
    except ConfigError:
        return
    cost = price.cost_nanodollars(TokenCounts(1_000_000, 1))
    assert cost >= Decimal(repr(rates[0])) * 1_000_000_000
    assert price.bound_nanodollars(1_000_000, 2) >= cost
    assert price.free == (rates == (0, 0))


def check_config(data: bytes) -> None:
    """A configuration file: `ConfigError` that names the file, or settings within their bounds."""
    path = as_file(data, "config.toml")
    config = tried(lambda: load_config(str(path)), ConfigError)
    if isinstance(config, ConfigError):
        assert str(path) in config.message
        return
    limits = config.limits.limits()
    assert limits.cost_nanodollars_per_day is not None
    assert 0 <= limits.cost_nanodollars_per_day < 2**63


_CONFIG = b"""\
mode = "embedded"

[reviewer]
provider = "openai"
model = "m"
base_url = "https://api.example.com/v1"
effort = "low"
output_tokens_max = 2048
price = { input_usd_per_million = 0.1, output_usd_per_million = 2 }

[limits]
calls = 200
usd = 1.5

[retries]
invalid_attempts_max = 3

[injection]
characters = 8000

[project]
worktrees = "own"
"""


def _config_seeds() -> Mapping[str, bytes]:
    return {
        "settings": _CONFIG,
        "a dotted key of many parts": b".".join([b"a"] * 2_000) + b" = 1\n",
        "a dotted header of many parts": b"[" + b".".join([b'"a"'] * 2_000) + b"]\n",
        "a dotted key in a table of a table": b"x = { " + b".".join([b"a"] * 2_000) + b" = 1 }\n",
        "a list of many levels": b"mode = " + b"[" * 400 + b"]" * 400 + b"\n",
        "a date": b"mode = 2026-01-01T00:00:00Z\n",
        "a hexadecimal number of many digits": b"mode = 0x" + b"f" * 9_000 + b"\n",
        "a number that no text can show": b"[reviewer]\nx = [0x" + b"f" * 9_000 + b"]\n",
        "not a number in a list": b"mode = [nan, inf]\n",
        "an empty key": b'"" = 1\n',
        "a key with a grave accent": b'"a`b" = 1\n[reviewer]\n"c.d" = nan\n',
    }


TARGETS = (
    Target("reply", check_reply, _reply_seeds, mostly(change_json), examples=150),
    Target("headers", check_headers, _header_seeds),
    Target("recording", check_recording, lambda: {"answers": as_lines(*_RECORDING)}, change_lines),
    Target(
        "price", check_price, lambda: {"cents": b"0.1\n2", "least": b"5e-324\n1e-300", "most": b"1e6\n1e6"}
    ),
    Target("config", check_config, _config_seeds),
)
