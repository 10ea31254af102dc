"""What a call costs, in integer nano-dollars, rounded up (B-05).

A price is either an override from configuration (`Price`) or an entry of the maintained table of the
PyPI package `genai-prices` (`TablePrice`), which is loaded at first use and never updates itself from
the network. A price that nobody knows is not zero: `table_price` then returns advice.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Protocol, Self

import msgspec

from perdure.errors import ConfigError

NANODOLLARS_PER_DOLLAR = 1_000_000_000
PRICE_USD_PER_MILLION_MAX = 1_000_000
TOKENS_MAX = 1_000_000_000
"""The largest token count that is believed; a larger one in a response is no usage at all."""

_EXACT = Context(prec=60, rounding=ROUND_CEILING)
"""Wide enough that no product of a price and a token count is rounded before the end."""


class TokenCounts(msgspec.Struct, frozen=True):
    """Tokens of one call. `input_tokens` includes both cache counts; `output_tokens` includes reasoning."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Pricing(Protocol):
    """A known price."""

    @property
    def free(self) -> bool:
        """Whether every call costs nothing."""
        ...

    def cost_nanodollars(self, counts: TokenCounts) -> int:
        """Price what a call used."""
        ...

    def bound_nanodollars(self, input_tokens: int, output_tokens: int) -> int:
        """Price the dearest call with at most so many tokens (B-02)."""
        ...


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A price from configuration, in US dollars per million tokens; zero for a free server.

    All input costs the same, cached or not. Raises `ConfigError` for a negative, infinite or absurd price.
    """

    input_usd_per_million: Decimal
    output_usd_per_million: Decimal

    def __post_init__(self) -> None:
        for field in ("input_usd_per_million", "output_usd_per_million"):
            value = getattr(self, field)
            if not (value.is_finite() and 0 <= value <= PRICE_USD_PER_MILLION_MAX):
                raise ConfigError(
                    f"{field} is {value}.", advice=f"Set it between 0 and {PRICE_USD_PER_MILLION_MAX:,}."
                )

    @classmethod
    def per_million(cls, *, input_usd: float, output_usd: float) -> Self:
        """Make a price from plain configuration numbers: 0.1 means a tenth, not its binary neighbour."""
        return cls(Decimal(repr(input_usd)), Decimal(repr(output_usd)))

    @property
    def free(self) -> bool:
        """Whether every call costs nothing."""
        return self.input_usd_per_million == 0 and self.output_usd_per_million == 0

    def cost_nanodollars(self, counts: TokenCounts) -> int:
        """Price what a call used."""
        with localcontext(_EXACT):
            dollars_times_million = (
                counts.input_tokens * self.input_usd_per_million
                + counts.output_tokens * self.output_usd_per_million
            )
            return _whole(dollars_times_million * (NANODOLLARS_PER_DOLLAR // 1_000_000))

    def bound_nanodollars(self, input_tokens: int, output_tokens: int) -> int:
        """Price the dearest call with at most so many tokens."""
        return self.cost_nanodollars(TokenCounts(input_tokens, output_tokens))


FREE = Price(Decimal(0), Decimal(0))


class TablePrice(msgspec.Struct, frozen=True):
    """A model's entry in the maintained table, with its cache rates and its tiers.

    Exactly one of `provider_id` (a name in the table) and `api_url` is set. Made by `table_price`.
    """

    model: str
    provider_id: str | None
    api_url: str | None

    @property
    def free(self) -> bool:
        """A priced provider is never taken for free: a tier or a later table may cost."""
        return False

    def cost_nanodollars(self, counts: TokenCounts) -> int:
        """Price what a call used, at today's rates. Raises LookupError for a model not in the table."""
        from genai_prices import Usage, calc_price

        cached = counts.cache_read_tokens + counts.cache_write_tokens
        usage = Usage(
            input_tokens=max(counts.input_tokens, cached),
            cache_read_tokens=counts.cache_read_tokens or None,
            cache_write_tokens=counts.cache_write_tokens or None,
            output_tokens=counts.output_tokens,
        )
        if self.provider_id is not None:
            found = calc_price(usage, self.model, provider_id=self.provider_id)
        else:
            found = calc_price(usage, self.model, provider_api_url=self.api_url)
        with localcontext(_EXACT):
            return _whole(found.total_price * NANODOLLARS_PER_DOLLAR)

    def bound_nanodollars(self, input_tokens: int, output_tokens: int) -> int:
        """Price the dearest call with at most so many tokens; a cache write may cost more than input."""
        plain = TokenCounts(input_tokens, output_tokens)
        written = TokenCounts(input_tokens, output_tokens, cache_write_tokens=input_tokens)
        return max(self.cost_nanodollars(plain), self.cost_nanodollars(written))


def table_price(
    model: str, *, provider_id: str | None = None, api_url: str | None = None
) -> TablePrice | str:
    """Find a model's price in the maintained table, or say as advice to the user why there is none.

    Give either the provider's name in the table or the address of its API. Works offline.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return "The price table is not installed: install perdure[providers], or set price in the profile."
    try:
        _provider, found = get_snapshot().find_provider_model(model, None, provider_id, api_url)
        price = TablePrice(model, provider_id, api_url)
        input_alone = price.cost_nanodollars(TokenCounts(1_000_000, 0))
        output_alone = price.cost_nanodollars(TokenCounts(0, 1_000_000))
    except LookupError:
        return _unknown(model)
    named_free = found.id.endswith(":free")
    if not named_free and (input_alone == 0 or output_alone == 0):
        return _unknown(model)  # an entry that lacks a rate would count it as zero
    return price


def _unknown(model: str) -> str:
    return (
        f"No price is known for model {model!r}: set price.input_usd_per_million and "
        "price.output_usd_per_million in the profile (0 for a server that costs nothing)."
    )


def _whole(nanodollars: Decimal) -> int:
    return int(nanodollars.to_integral_value(rounding=ROUND_CEILING))
