"""Doubts: another number, or no answer of the kind that is asked for, speaks against an entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.doubts import doubts, has_other_number, lacks_kind


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize(
    ("question", "told", "other"),
    [
        ("what is on port 6391?", "cache: on port 6390", True),
        ("what is on port 6390?", "cache: on port 6390", False),
        ("which Java 8 flags do we set?", "java version: Temurin 21", True),
        ("is http3 on?", "proxy: http2 only", True),
        ("what is gpu-05 for?", "inference: runs on gpu-04", True),
        ("the webhook returned 500, is it sent again?", "webhook retries: 6 tries", False),
        ("which node 20 image?", "image: node slim", False),
        ("how many?", "tries: 6", False),
    ],
)
def test_another_number_where_the_entry_has_one(question: str, told: str, other: bool) -> None:
    """A thing is named by another number; one that is only mentioned, or that meets none, is no doubt."""
    assert has_other_number(question, told) is other


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize(
    ("question", "told", "lacks"),
    [
        ("how many nodes has the broker?", "broker: NATS, stream ORDERS", True),
        ("how long is a session valid?", "session: 12 hours", False),
        ("how often do we release?", "release: every second Thursday", False),
        ("who set up the queue?", "queue: kept in redis", True),
        ("who owns the account?", "account: Ines", False),
        ("whom do I ask?", "queue: ask the platform team", False),
        ("how can I tell who changed it?", "audit: in the table audit_log", False),
        ("when was the last outage?", "outages: written up in docs", True),
        ("since when is it slow?", "slow: after the update", False),
        ("what happens when it fails?", "failure: parked in the queue", False),
        ("сколько узлов?", "broker: NATS", False),
    ],
)
def test_an_answer_of_another_kind(question: str, told: str, lacks: bool) -> None:
    """A number, a person or a time is asked for, and the entry tells none."""
    assert lacks_kind(question, told) is lacks


@given(st.text(max_size=80), st.text(max_size=80))
def test_doubts_are_signs_for_any_text(question: str, told: str) -> None:
    """Each is 0 or 1, and no entry is in doubt for its own words in numbers."""
    assert set(doubts(question, told).values()) <= {0.0, 1.0}
    assert not has_other_number(told, told)
