"""What all model providers share: bounds before a call, one request, and the classes of its end.

A kind of provider (`anthropic`, `openai_chat`, `gemini`) adds only its dialect: the address, the
headers, the request's JSON, and how to read its completion. Classes come from status codes and from
what the transport knows, never from the text of a message (Q-04).
"""

from __future__ import annotations

import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Annotated, TypeVar

import msgspec

from perdure.errors import ConfigError, ProviderUnavailable
from perdure.ports.provider import Answered, Failed, FailureClass, Hold, Lost, Reply, ReviewRequest, Usage
from perdure.provider.credentials import usable
from perdure.provider.http import Broken, NotSent, Post, Received, check_base_url, is_loopback, post
from perdure.provider.prices import TOKENS_MAX, Price, Pricing, TokenCounts
from perdure.provider.prompt import PROMPT_VERSION, Prompt, build_prompt

ANSWER_BYTES_MAX = 262_144
"""The longest answer text, in UTF-8 bytes; a longer one is cut there and will not be a valid proposal."""

OUTPUT_TOKENS_MAX_DEFAULT = 2_048
ENVELOPE_TOKENS = 1_024
"""Added to the bound of input tokens for what a provider wraps around the texts: roles, turn marks."""

RETRY_AFTER_SECONDS_MAX = 86_400
NO_USAGE = Usage(input_tokens=0, output_tokens=0, cost_nanodollars=0)

TokenCount = Annotated[int, msgspec.Meta(ge=0, le=TOKENS_MAX)]
"""A token count in a response: anything else is no usage."""

_STATUS_CLASSES: Mapping[int, tuple[FailureClass, bool]] = {
    401: ("configuration", True),
    402: ("configuration", True),
    403: ("configuration", True),
    404: ("configuration", True),
    407: ("configuration", True),
    408: ("availability", False),
    409: ("availability", True),
    425: ("availability", True),
    429: ("availability", True),
    500: ("availability", True),
    503: ("availability", True),
    529: ("availability", True),
}
"""Status -> class, and whether it is known that nothing was billed. By default: a redirect is
configuration; any other 4xx is permanent, unbilled; any other 5xx is availability and may be billed,
since the model behind a gateway that gave up may have run."""

T = TypeVar("T")


class Completion(msgspec.Struct, frozen=True):
    """A provider's complete response, read. `counts` is None when it did not report usage (B-07)."""

    text: str
    refused: bool
    counts: TokenCounts | None
    request_id: str | None


class Malformed(Exception):
    """A body is not what the provider's protocol says; raised and caught inside this package."""


@dataclass(frozen=True, kw_only=True)
class ModelProvider(ABC):
    """A reviewer that is a model behind HTTP; implements `perdure.ports.provider.Provider`.

    `credential` is asked for the key at every call. `price` overrides the maintained table.
    `output_tokens_max` caps the whole output, reasoning included. `effort` is a word of the provider's
    for how much to reason, or "none"; None leaves the provider's default for the model.
    Raises `ConfigError` when made with a base_url or a cap that cannot work.
    """

    model: str
    credential: Callable[[], str | None] = field(repr=False)
    base_url: str
    price: Price | None = None
    output_tokens_max: int = OUTPUT_TOKENS_MAX_DEFAULT
    effort: str | None = None

    def __post_init__(self) -> None:
        check_base_url(self.base_url, plain_http=self._plain_http)
        if self.output_tokens_max < 1:
            raise ConfigError(f"output_tokens_max is {self.output_tokens_max}.", advice="Set at least 1.")

    @property
    @abstractmethod
    def name(self) -> str:
        """The provider's kind."""

    @property
    def paid(self) -> bool:
        """Whether calls cost money: all do unless the price is known to be zero."""
        known = self.price or self._price_without_table()
        return known is None or not known.free

    @property
    def prompt_version(self) -> str:
        """The version of the prompt that an attempt is bound to."""
        return PROMPT_VERSION

    def ready(self) -> str | None:
        """Say what is missing, as advice to the user, or None. Never touches the network."""
        if not self.model.strip():
            return "No model is set: name one in the reviewer's profile."
        if importlib.util.find_spec("httpx2") is None:
            return "The HTTP client is not installed: install perdure[providers]."
        if isinstance(self._pricing, str):
            return self._pricing
        if self._needs_credential and usable(self.credential()) is None:
            return (
                f"No key was found for {self.name}: set its environment variable, or store the key in "
                "the keyring under the service perdure."
            )
        return None

    def quote(self, request: ReviewRequest) -> Hold:
        """Bound what `review(request)` can use (B-02). Raises `ProviderUnavailable` without a price.

        A token of a byte-level vocabulary stands for at least one byte of text, so the UTF-8 length of
        the texts, plus the provider's envelope, bounds the input; the request caps the output.
        """
        prompt = build_prompt(request)
        input_tokens = len(prompt.system.encode()) + len(prompt.user.encode()) + ENVELOPE_TOKENS
        pricing = self._pricing
        if isinstance(pricing, str):
            raise ProviderUnavailable(f"{self.name} has no price.", advice=pricing)
        cost = pricing.bound_nanodollars(input_tokens, self.output_tokens_max)
        return Hold(input_tokens, self.output_tokens_max, cost)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:
        """Send one request and wait for its end, for at most `timeout_seconds` in all."""
        pricing = self._pricing
        if isinstance(pricing, str):
            return Failed("configuration", "no price", NO_USAGE, None)
        key = usable(self.credential())
        if key is None and self._needs_credential:
            return Failed("configuration", "no credential", NO_USAGE, None)
        outcome = post(self._post(build_prompt(request), key), total_seconds=timeout_seconds)
        if isinstance(outcome, NotSent):
            return Failed("availability", "not connected", NO_USAGE, None)
        if isinstance(outcome, Broken):
            return Lost(outcome.breakage)
        if not 200 <= outcome.status < 300:  # noqa: PLR2004 - the range that RFC 9110 calls successful
            return failure_of(outcome)
        try:
            return _settled(self._read(outcome), pricing)
        except Malformed:
            return Lost("malformed body")

    @cached_property
    def _pricing(self) -> Pricing | str:
        """The price, or the advice that says why there is none."""
        return self.price or self._price_without_table() or self._price_from_table()

    @property
    def _plain_http(self) -> bool:
        """Whether plain http is allowed to other machines."""
        return False

    @property
    def _needs_credential(self) -> bool:
        """A server on this machine may have no keys; every other one is expected to want one."""
        return not is_loopback(self.base_url)

    def _price_without_table(self) -> Price | None:
        """Give the price that follows from the address alone."""
        return None

    @abstractmethod
    def _price_from_table(self) -> Pricing | str:
        """Look the model up in the maintained table."""

    @abstractmethod
    def _path(self) -> str:
        """Give the address of the call, below the base URL."""

    @abstractmethod
    def _headers(self, key: str | None) -> dict[str, str]:
        """Give the headers that carry the key and the protocol's version."""

    @abstractmethod
    def _payload(self, prompt: Prompt) -> dict[str, object]:
        """Give the request's JSON."""

    @abstractmethod
    def _read(self, received: Received) -> Completion:
        """Read a whole 2xx response. Raises `Malformed`."""

    def _post(self, prompt: Prompt, key: str | None) -> Post:
        headers = {"content-type": "application/json", "user-agent": "perdure", **self._headers(key)}
        url = self.base_url.rstrip("/") + self._path()
        return Post(url, headers, msgspec.json.encode(self._payload(prompt)))


def failure_of(received: Received) -> Failed:
    """Classify a response that is not a success, by its status alone."""
    status = received.status
    if status in _STATUS_CLASSES:
        failure, unbilled = _STATUS_CLASSES[status]
    elif status >= 500:  # noqa: PLR2004 - RFC 9110: the server failed
        failure, unbilled = "availability", False
    elif status >= 400:  # noqa: PLR2004 - RFC 9110: the request is at fault
        failure, unbilled = "permanent", True
    else:
        failure, unbilled = "configuration", True
    wait = retry_after_seconds(received.headers) if failure == "availability" else None
    return Failed(failure, f"http {status}", NO_USAGE if unbilled else None, wait)


def retry_after_seconds(headers: Mapping[str, str]) -> int | None:
    """Read Retry-After, at most a day; None when it is absent or not readable.

    A date in it is counted from the response's own Date, so that no clock is needed.
    """
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(int(value[:9]), RETRY_AFTER_SECONDS_MAX)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):  # no date, one of them without a zone, or a huge number
        return None
    return min(max(0, -(-wait // timedelta(seconds=1))), RETRY_AFTER_SECONDS_MAX)


def decode(body: bytes, shape: type[T]) -> T:
    """Decode a body as `shape`, in which fields that we do not know are ignored. Raises `Malformed`."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Malformed from error


def decode_counts(raw: msgspec.Raw, shape: type[T], count: Callable[[T], TokenCounts]) -> TokenCounts | None:
    """Read the usage part of a body. One that is absent or odd is no usage: it never spoils the answer."""
    try:
        return count(msgspec.json.decode(raw, type=shape)) if raw else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def request_id(value: str | None) -> str | None:
    """Return a provider's request id if it looks like one; it goes into records and logs."""
    return value if value and re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", value) else None


def _settled(completion: Completion, pricing: Pricing) -> Reply:
    usage: Usage | None = None
    if completion.counts is not None:
        counts = completion.counts
        usage = Usage(counts.input_tokens, counts.output_tokens, pricing.cost_nanodollars(counts))
    if completion.refused:
        return Failed("permanent", "refused", usage, None)
    encoded = completion.text.encode()
    text = completion.text
    if len(encoded) > ANSWER_BYTES_MAX:
        text = encoded[:ANSWER_BYTES_MAX].decode(errors="ignore")
    return Answered(text, usage, completion.request_id)
