"""Model providers without a network: bounds, requests, readings and classes."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.evidence import EvidenceLine
from perdure.errors import ConfigError, ProviderUnavailable
from perdure.ports.provider import Provider, ReviewRequest
from perdure.provider.anthropic import AnthropicProvider
from perdure.provider.gemini import REFUSALS, GeminiProvider
from perdure.provider.http import Received, check_base_url, is_loopback
from perdure.provider.model import (
    ENVELOPE_TOKENS,
    NO_USAGE,
    Completion,
    Malformed,
    ModelProvider,
    failure_of,
    request_id,
    retry_after_seconds,
)
from perdure.provider.openai_chat import ChatServer, OpenAIChatProvider
from perdure.provider.prices import Price, TokenCounts
from perdure.provider.prompt import build_prompt

KEY = secrets.token_urlsafe(24)
PRICE = Price(Decimal(3), Decimal(15))
REQUEST = ReviewRequest("a" * 32, (EvidenceLine("e1", "user", "Use tabs."),), (), 100, 8, None)

anthropic = AnthropicProvider(model="claude-sonnet-4-5", credential=lambda: KEY)
openai = OpenAIChatProvider(model="gpt-5-mini", credential=lambda: KEY)
gemini = GeminiProvider(model="gemini-2.5-flash", credential=lambda: KEY)
PROVIDERS: tuple[ModelProvider, ...] = (anthropic, openai, gemini)


def read(provider: ModelProvider, document: object, **headers: str) -> Completion:
    """Read a whole response with this JSON document."""
    return provider._read(Received(200, headers, json.dumps(document).encode()))


def payload(provider: ModelProvider) -> dict[str, object]:
    """Return the JSON of the request that would be sent, as the server decodes it."""
    decoded = json.loads(provider._post(build_prompt(REQUEST), KEY).body)
    assert isinstance(decoded, dict)
    return decoded


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_each_kind_is_a_provider_that_is_ready(provider: Provider) -> None:
    """With a model, a key and a price in the table nothing is missing, and calls are paid."""
    assert provider.ready() is None
    assert provider.paid
    assert provider.prompt_version == "review-1"


@pytest.mark.requirement("B-02")
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_the_hold_bounds_one_token_a_byte_and_the_whole_output(text: str) -> None:
    """The hold covers the prompt even if every byte of it is a token, and the output's cap, at full price."""
    request = msgspec.structs.replace(REQUEST, evidence=(EvidenceLine("e1", "user", text),))
    provider = AnthropicProvider(model="m", credential=lambda: KEY, price=PRICE, output_tokens_max=500)
    prompt = build_prompt(request)
    hold = provider.quote(request)
    assert hold.input_tokens == len((prompt.system + prompt.user).encode()) + ENVELOPE_TOKENS
    assert hold.output_tokens == 500
    assert hold.cost_nanodollars == hold.input_tokens * 3_000 + 500 * 15_000


@pytest.mark.requirement("B-05")
def test_an_unknown_price_is_not_quoted() -> None:
    """A paid provider without a known price says what to set, and has no quote."""
    provider = AnthropicProvider(model="claude-nobody-knows", credential=lambda: KEY)
    advice = provider.ready()
    assert advice is not None
    assert "claude-nobody-knows" in advice
    with pytest.raises(ProviderUnavailable, match="input_usd_per_million"):
        provider.quote(REQUEST)
    assert provider.paid


def test_a_server_on_this_machine_is_free_and_needs_no_key() -> None:
    """Ollama, vLLM and LM Studio on loopback work with no price and no key; a price that is set holds."""
    local = OpenAIChatProvider(model="qwen", base_url="http://localhost:11434/v1", credential=lambda: None)
    assert local.ready() is None
    assert not local.paid
    assert local.quote(REQUEST).cost_nanodollars == 0
    priced = OpenAIChatProvider(
        model="qwen", base_url="http://[::1]:1234/v1", credential=lambda: None, price=PRICE
    )
    assert priced.paid
    assert priced.quote(REQUEST).cost_nanodollars > 0


@pytest.mark.requirement("E-08")
@pytest.mark.parametrize("bad", [None, "", "with space", "line\r\nx-injected: 1"])
def test_without_a_usable_key_nothing_is_sent(bad: str | None) -> None:
    """A missing or impossible key is a configuration failure, found before any call, without its value."""
    provider = AnthropicProvider(model="claude-sonnet-4-5", credential=lambda: bad)
    reply = provider.review(REQUEST, timeout_seconds=1)
    assert reply == msgspec.structs.replace(reply, failure="configuration", detail="no credential")
    assert provider.ready() is not None
    assert "injected" not in str(provider.ready())


def test_a_provider_never_shows_its_key_source() -> None:
    """The repr of a provider, which may land in a log, holds no credential."""
    assert KEY not in repr(anthropic)
    assert "credential" not in repr(anthropic)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_no_key_and_no_evidence_is_in_the_address(provider: ModelProvider) -> None:
    """Addresses end up in logs of proxies; keys travel in headers alone."""
    request = provider._post(build_prompt(REQUEST), KEY)
    assert KEY not in request.url
    assert KEY.encode() not in request.body
    assert sum(KEY in value for value in request.headers.values()) == 1


@pytest.mark.requirement("B-02")
def test_every_request_caps_its_output_and_has_no_tools() -> None:
    """The cap of each protocol is set, is the one that includes reasoning, and no tool is offered."""
    generation = payload(gemini)["generationConfig"]
    assert isinstance(generation, dict)
    assert generation["maxOutputTokens"] == 2_048
    assert generation["responseMimeType"] == "application/json"
    assert payload(anthropic)["max_tokens"] == 2_048
    assert payload(openai)["max_completion_tokens"] == 2_048
    for provider in PROVIDERS:
        assert not {"tools", "stream", "temperature"} & payload(provider).keys()


def test_switches_for_older_servers() -> None:
    """JSON mode can be switched off and the older name of the cap used."""
    server = ChatServer(json_mode=False, legacy_max_tokens=True)
    sent = payload(OpenAIChatProvider(model="m", credential=lambda: KEY, server=server))
    assert sent["max_tokens"] == 2_048
    assert not {"max_completion_tokens", "response_format"} & sent.keys()
    assert payload(openai)["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        ("gemini-2.5-flash-lite", None, {"thinkingBudget": 0}),
        ("models/gemini-2.5-pro", None, {"thinkingBudget": 128}),
        ("gemini-3-pro", None, {"thinkingLevel": "low"}),
        ("gemini-2.0-flash", None, None),
        ("gemini-3-pro", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "high", {"thinkingLevel": "high"}),
    ],
)
def test_gemini_thinks_as_little_as_it_can(
    model: str, effort: str | None, thinking: dict[str, object] | None
) -> None:
    """Thinking shares the cap with the answer, so the least is asked for unless the profile says more."""
    sent = payload(GeminiProvider(model=model, credential=lambda: KEY, effort=effort))
    generation = sent["generationConfig"]
    assert isinstance(generation, dict)
    assert generation.get("thinkingConfig") == thinking


def test_effort_goes_where_each_protocol_wants_it() -> None:
    """The profile's effort is passed on; "none" turns Claude's thinking off."""
    high = AnthropicProvider(model="m", credential=lambda: KEY, effort="high")
    none = AnthropicProvider(model="m", credential=lambda: KEY, effort="none")
    chat = OpenAIChatProvider(model="m", credential=lambda: KEY, effort="minimal")
    assert payload(high)["output_config"] == {"effort": "high"}
    assert payload(none)["thinking"] == {"type": "disabled"}
    assert payload(chat)["reasoning_effort"] == "minimal"
    assert not {"thinking", "output_config"} & payload(anthropic).keys()


def test_gemini_model_names_cannot_change_the_address() -> None:
    """A model's name is one segment of the path, whatever is in it."""
    provider = GeminiProvider(model="../x?key=1", credential=lambda: KEY)
    assert provider._path() == "/v1beta/models/..%2Fx%3Fkey%3D1:generateContent"


def claude(usage: object, **fields: object) -> dict[str, object]:
    """Make a response of the Messages API."""
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    return {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage, **fields}


@pytest.mark.requirement("B-01")
def test_claudes_input_includes_cache_reads_and_writes() -> None:
    """All input counts, plain, read from and written to the cache; text blocks are joined."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 3,
        "output_tokens": 7,
    }
    done = read(anthropic, claude(usage), **{"request-id": "req_1"})
    assert done == Completion("ab", refused=False, counts=TokenCounts(18, 7, 3, 5), request_id="req_1")


@pytest.mark.requirement("B-01")
def test_chat_output_includes_reasoning_that_only_the_total_holds() -> None:
    """Some servers report reasoning in the total alone; the larger reading is charged."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 19,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    document = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    assert read(openai, document).counts == TokenCounts(10, 9, 4, 0)


@pytest.mark.requirement("B-01")
def test_gemini_output_includes_thoughts_and_leaves_their_text_out() -> None:
    """Thoughts are output tokens but not part of the answer; absent counts are zero."""
    parts = [{"text": "secret plan", "thought": True}, {"text": "{}"}]
    document = {
        "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 30},
        "responseId": "r-1",
    }
    done = read(gemini, document)
    assert done == Completion("{}", refused=False, counts=TokenCounts(10, 32), request_id="r-1")


ODD_USAGE: list[object] = [
    None,
    {},
    [],
    "many",
    {"input_tokens": -1, "output_tokens": 1},
    {"input_tokens": 10**12, "output_tokens": 1},
]


LONE_SURROGATE = (
    b'{"content":[{"type":"text","text":"\\ud800"}],"choices":[{"message":{"content":"\\ud800"}}],'
    b'"candidates":[{"content":{"parts":[{"text":"\\ud800"}]}}]}'
)


@pytest.mark.requirement("B-07")
@pytest.mark.parametrize("usage", ODD_USAGE, ids=repr)
def test_odd_usage_is_no_usage_and_keeps_the_answer(usage: object) -> None:
    """Usage that is missing, null, negative or absurd is None; it is never taken for zero."""
    assert read(anthropic, claude(usage)).counts is None
    chat = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert read(openai, chat) == Completion("x", refused=False, counts=None, request_id=None)
    generated = {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": usage}
    assert read(gemini, generated).counts is None


@pytest.mark.requirement("Q-04")
def test_refusals_are_read_from_typed_fields() -> None:
    """Each protocol's own sign of a refusal counts, and nothing in the text does."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    assert read(anthropic, claude(usage, stop_reason="refusal")).refused
    assert not read(anthropic, claude(usage, content=[{"type": "text", "text": "I refuse."}])).refused
    assert read(openai, {"choices": [{"message": {"content": None, "refusal": "No."}}]}).refused
    assert read(
        openai, {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}
    ).refused
    assert read(gemini, {"promptFeedback": {"blockReason": "SAFETY"}}).refused
    for reason in REFUSALS:
        assert read(gemini, {"candidates": [{"finishReason": reason}]}).refused
    assert not read(gemini, {"candidates": [{"finishReason": "MAX_TOKENS"}]}).refused


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"error":{"message":"overloaded"}}',
        b'{"choices":[],"candidates":[],"content":null}',
        b"<html>sign in</html>",
        LONE_SURROGATE,
        b'{"x":' + b"[" * 100_000,
        b"\xff\xfe",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_outside_the_protocol_is_malformed(provider: ModelProvider, body: bytes) -> None:
    """What is not the provider's protocol is no answer, however it is broken."""
    with pytest.raises(Malformed):
        provider._read(Received(200, {}, body))


@pytest.mark.requirement("Q-04")
@pytest.mark.parametrize(
    ("status", "failure", "unbilled"),
    [
        *((status, "permanent", True) for status in (400, 405, 413, 418, 422)),
        *((status, "configuration", True) for status in (300, 302, 304, 307, 308, 401, 402, 403, 404, 407)),
        *((status, "availability", True) for status in (409, 425, 429, 500, 503, 529)),
        *((status, "availability", False) for status in (408, 502, 504, 520, 599)),
    ],
)
def test_the_class_follows_from_the_status_alone(status: int, failure: str, *, unbilled: bool) -> None:
    """Every status has one class; usage is zero where nothing can have run and unknown where it may have."""
    failed = failure_of(Received(status, {}, b"forbidden overloaded invalid api key"))
    assert failed.failure == failure
    assert failed.detail == f"http {status}"
    assert failed.usage == (NO_USAGE if unbilled else None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0 "}, 0),
        ({"retry-after": "9" * 40}, 86_400),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1.5"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT"}, None),
        (
            {"retry-after": "30 Nov 99999999999999999999 10:00:30 GMT", "date": "30 Nov 2026 10:00:00 GMT"},
            None,
        ),
        (
            {"retry-after": "30 Nov 2026 10:00:30 +99999999999999999999", "date": "30 Nov 2026 10:00:00 GMT"},
            None,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 30),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 0),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, None),
    ],
)
def test_retry_after_is_read_within_bounds(headers: dict[str, str], seconds: int | None) -> None:
    """Seconds and dates are understood without a clock of ours, at most a day; nonsense is nothing."""
    assert retry_after_seconds(headers) == seconds


def test_only_an_availability_failure_says_when_to_come_back() -> None:
    """A permanent failure has no retry time, whatever the server sends."""
    assert failure_of(Received(429, {"retry-after": "7"}, b"")).retry_after_seconds == 7
    assert failure_of(Received(400, {"retry-after": "7"}, b"")).retry_after_seconds is None


@pytest.mark.requirement("E-06")
@pytest.mark.parametrize("value", [None, "", "a b", "x\ny", "é", "i" * 129, "<b>"])
def test_only_a_plain_request_id_is_kept(value: str | None) -> None:
    """A request id goes into logs, so anything that is not one is dropped."""
    assert request_id(value) is None
    assert request_id("req_01-Ab.c:d") == "req_01-Ab.c:d"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/v1",
        "ftp://example.com",
        "https://",
        "https://user:pass@example.com",
        "https://example.com/v1?key=1",
        "https://example.com/#x",
        "https://example.com:99999",
        "https://exa mple.com",
        "https://example.com/\nx",
        "http://example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://[::1",
    ],
)
def test_an_address_that_cannot_work_or_would_leak_is_refused(url: str) -> None:
    """A base_url must be https, or http to this machine, without key, query or credentials in it (S-05)."""
    with pytest.raises(ConfigError, match="base_url"):
        check_base_url(url)


@pytest.mark.parametrize("make", [AnthropicProvider, OpenAIChatProvider, GeminiProvider])
def test_a_provider_is_not_made_with_a_bad_address(make: Callable[..., ModelProvider]) -> None:
    """The check runs when the provider is made, not at the first paid call."""
    with pytest.raises(ConfigError, match="plain http"):
        make(model="m", credential=lambda: KEY, base_url="http://example.com")
    with pytest.raises(ConfigError, match="output_tokens_max"):
        make(model="m", credential=lambda: KEY, output_tokens_max=0)


def test_plain_http_elsewhere_is_a_choice() -> None:
    """A trusted network may be named as such for OpenAI-compatible servers."""
    url = "http://192.168.1.5:8000/v1/"
    assert check_base_url(url, plain_http=True) == url.rstrip("/")
    server = ChatServer(plain_http=True)
    provider = OpenAIChatProvider(model="m", credential=lambda: KEY, base_url=url, server=server)
    assert provider._post(build_prompt(REQUEST), KEY).url == "http://192.168.1.5:8000/v1/chat/completions"
    assert not is_loopback(url)
    assert provider.paid


def test_importing_a_provider_loads_no_client_table_or_keyring() -> None:
    """Only a call loads the HTTP client, only a price the table, only a lookup the keyring."""
    modules = ("anthropic", "openai_chat", "gemini", "replay", "credentials")
    costly = {"httpx2", "httpcore2", "genai_prices", "pydantic", "keyring", "ssl"}
    program = (
        "import sys\n"
        + "".join(f"import perdure.provider.{module}\n" for module in modules)
        + f"print(*sorted({costly!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
