"""Recorded answers: in order, exact, with an end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from perdure.errors import ConfigError
from perdure.ports.provider import Answered, Failed, Hold, Lost, Provider, ReviewRequest, Usage
from perdure.provider.replay import ReplayProvider

REQUEST = ReviewRequest("a" * 32, (), (), 100, 8, None)

RECORDING = """\
{"reply":"answered","text":"{}","usage":{"input_tokens":9,"output_tokens":2,"cost_nanodollars":7}}

{"reply":"failed","failure":"availability","detail":"http 429","retry_after_seconds":3}
{"reply":"lost","detail":"timeout"}
{"reply":"answered","text":"ü","provider_request_id":"r1"}
"""


def test_a_recording_is_replayed_in_order_and_then_ends(tmp_path: Path) -> None:
    """Each call gets the next line; after the last, the call fails without having cost anything."""
    path = tmp_path / "recording.jsonl"
    path.write_text(RECORDING, "utf-8")
    provider: Provider = ReplayProvider(path)
    replies = [provider.review(REQUEST, timeout_seconds=1) for _ in range(5)]
    assert replies == [
        Answered("{}", Usage(9, 2, 7), None),
        Failed("availability", "http 429", None, 3),
        Lost("timeout"),
        Answered("ü", None, "r1"),
        Failed("configuration", "recording at its end", Usage(0, 0, 0), None),
    ]


@pytest.mark.requirement("B-02")
def test_the_hold_covers_every_recorded_reply() -> None:
    """The quote is the largest of each count, and recorded cost makes the provider a paid one."""
    provider = ReplayProvider(
        [Answered("", Usage(1, 9, 4), None), Failed("permanent", "x", Usage(5, 2, 3), None)]
    )
    assert provider.quote(REQUEST) == Hold(5, 9, 4)
    assert provider.paid
    assert not ReplayProvider([Lost("timeout")]).paid


def test_a_delay_beyond_the_timeout_is_a_lost_call(tmp_path: Path) -> None:
    """A recorded delay behaves as a slow provider does, within the caller's timeout."""
    path = tmp_path / "slow.jsonl"
    path.write_text(
        '{"reply":"answered","text":"late","delay_seconds":60}\n'
        '{"reply":"answered","text":"soon","delay_seconds":0.01}\n'
    )
    provider = ReplayProvider(path)
    started = time.monotonic()
    assert provider.review(REQUEST, timeout_seconds=0.05) == Lost("timeout")
    assert provider.review(REQUEST, timeout_seconds=5) == Answered("soon", None, None)
    assert 0.05 <= time.monotonic() - started < 5


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"reply":"answered"}', "text"),
        ('{"reply":"maybe"}', "maybe"),
        ('{"reply":"lost","detail":"x","extra":1}', "extra"),
        ('{"reply":"failed","failure":"odd","detail":"x"}', "odd"),
        ('{"reply":"lost","detail":"x","delay_seconds":-1}', "delay_seconds"),
        ("not json", "malformed"),
        ('{"a":' * 100_000, "recursion"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, expected: str) -> None:
    """The error names the file, the line's number and what is wrong with it."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"reply":"lost","detail":"x"}\n' + line)
    with pytest.raises(ConfigError, match=rf"bad\.jsonl, line 2: .*{expected}"):
        ReplayProvider(path)


def test_a_missing_recording_is_an_error_and_an_empty_one_is_not_ready(tmp_path: Path) -> None:
    """A path that is wrong is refused at once; an empty recording says what to do."""
    with pytest.raises(ConfigError, match=r"none\.jsonl cannot be read"):
        ReplayProvider(tmp_path / "none.jsonl")
    assert ReplayProvider([]).ready() is not None
    assert ReplayProvider([Lost("x")]).ready() is None
