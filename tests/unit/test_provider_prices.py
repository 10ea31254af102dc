"""Prices: whole nano-dollars, rounded up; what is unknown is never zero."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from math import ceil

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.errors import ConfigError
from perdure.provider.prices import FREE, Price, TablePrice, TokenCounts, table_price

TOKENS = st.integers(0, 10_000_000)
RATES = st.decimals(0, 1_000, places=6)


@pytest.mark.requirement("B-05")
@given(input_tokens=TOKENS, output_tokens=TOKENS, input_rate=RATES, output_rate=RATES)
def test_an_override_costs_exactly_and_is_rounded_up(
    input_tokens: int, output_tokens: int, input_rate: Decimal, output_rate: Decimal
) -> None:
    """Cost is the exact product in nano-dollars, rounded up: never a fraction too little."""
    exact = (input_tokens * Fraction(input_rate) + output_tokens * Fraction(output_rate)) * 1_000
    price = Price(input_rate, output_rate)
    assert price.cost_nanodollars(TokenCounts(input_tokens, output_tokens)) == ceil(exact)
    assert price.bound_nanodollars(input_tokens, output_tokens) == ceil(exact)


@pytest.mark.requirement("B-05")
def test_an_override_comes_from_plain_configuration_values() -> None:
    """Floats and integers of a TOML file become the decimal that was written, not its binary neighbour."""
    price = Price.per_million(input_usd=0.1, output_usd=3)
    assert price == msgspec.convert({"input_usd_per_million": 0.1, "output_usd_per_million": 3}, Price)
    assert price == Price(Decimal("0.1"), Decimal(3))
    assert price.cost_nanodollars(TokenCounts(10, 0)) == 1_000


@pytest.mark.parametrize("value", ["-0.01", "NaN", "Infinity", "1000001"])
def test_an_absurd_override_is_refused(value: str) -> None:
    """A price that cannot be meant is an error that names the field and the range (S-05)."""
    with pytest.raises(ConfigError, match="output_usd_per_million"):
        Price(Decimal(1), Decimal(value))


def test_only_a_price_of_zero_is_free() -> None:
    """A server is free only by an explicit zero for input and output."""
    assert FREE.free
    assert not Price(Decimal(0), Decimal("0.01")).free


@pytest.mark.requirement("B-05")
@pytest.mark.parametrize(
    ("model", "provider_id", "api_url"),
    [
        ("claude-sonnet-4-5", "anthropic", None),
        ("gemini-2.5-flash", "google", None),
        ("gpt-5-mini", None, "https://api.openai.com/v1"),
        ("anthropic/claude-sonnet-4.5", None, "https://openrouter.ai/api/v1"),
    ],
)
def test_the_table_knows_common_models(model: str, provider_id: str | None, api_url: str | None) -> None:
    """The maintained table prices each kind of provider, more for more tokens, less for cached ones."""
    price = table_price(model, provider_id=provider_id, api_url=api_url)
    assert isinstance(price, TablePrice)
    plain = price.cost_nanodollars(TokenCounts(50_000, 2_048))
    assert 0 < price.cost_nanodollars(TokenCounts(1, 0)) < price.cost_nanodollars(TokenCounts(2, 1)) < plain
    assert price.cost_nanodollars(TokenCounts(50_000, 2_048, cache_read_tokens=40_000)) < plain
    assert not price.free


@pytest.mark.requirement("B-02")
@given(
    input_tokens=st.integers(0, 400_000),
    output_tokens=st.integers(0, 10_000),
    parts=st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100)),
)
@example(input_tokens=100_000, output_tokens=10, parts=(100, 0, 100))
@example(input_tokens=400_000, output_tokens=10, parts=(100, 0, 0))
def test_the_tables_bound_covers_every_way_to_spend_fewer_tokens(
    input_tokens: int, output_tokens: int, parts: tuple[int, int, int]
) -> None:
    """No split into plain, cached and newly cached input within the bound costs more than the bound."""
    price = table_price("claude-sonnet-4-5", provider_id="anthropic")
    assert isinstance(price, TablePrice)
    used, read, written = parts
    real_input = input_tokens * used // 100
    cache_read = real_input * read // 100
    cache_write = (real_input - cache_read) * written // 100
    cost = price.cost_nanodollars(TokenCounts(real_input, output_tokens, cache_read, cache_write))
    assert cost <= price.bound_nanodollars(input_tokens, output_tokens)


def test_more_cached_than_input_tokens_is_still_priced() -> None:
    """A provider whose counts disagree with each other does not stop the accounting."""
    price = table_price("claude-sonnet-4-5", provider_id="anthropic")
    assert isinstance(price, TablePrice)
    assert price.cost_nanodollars(TokenCounts(1, 1, cache_read_tokens=10)) > 0


@pytest.mark.requirement("B-05")
@pytest.mark.parametrize(
    ("model", "api_url"),
    [
        ("no-such-model", "https://api.openai.com/v1"),
        ("gpt-5-mini", "https://models.example.org/v1"),
        ("text-embedding-3-small", "https://api.openai.com/v1"),
    ],
)
def test_an_unknown_price_is_advice_and_not_zero(model: str, api_url: str) -> None:
    """An unknown model, an unknown service, and an entry without an output price have no price."""
    advice = table_price(model, api_url=api_url)
    assert isinstance(advice, str)
    assert "input_usd_per_million" in advice


def test_a_missing_table_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the optional package the user is told what to install."""
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    advice = table_price("claude-sonnet-4-5", provider_id="anthropic")
    assert isinstance(advice, str)
    assert "perdure[providers]" in advice
