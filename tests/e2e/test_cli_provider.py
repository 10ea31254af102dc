"""`perdure provider test` and what it leaves in the budget, against a scripted server."""

from __future__ import annotations

import json
import secrets

import pytest

from tests.e2e.command_line import Perdure, Said
from tests.loopback import Answer, LoopbackServer, ok

KEY_NAME = "SHOP_REVIEWER_KEY"


def configure(perdure: Perdure, url: str, *, calls: int = 5) -> None:
    """Set up a paid reviewer at this address, with prices and limits."""
    (perdure.home / "config.toml").write_text(
        f'[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "{url}/v1"\ncredential = "{KEY_NAME}"\n'
        f"timeout_seconds = 20\nprice = {{ input_usd_per_million = 1.0, output_usd_per_million = 2.0 }}\n"
        f"[limits]\ncalls = {calls}\n"
    )


def answer(text: str) -> Answer:
    """Make a whole answer with its usage."""
    return ok(
        {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }
    )


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the reviewer's credential, as the environment holds it."""
    made = secrets.token_urlsafe(24)
    monkeypatch.setenv(KEY_NAME, made)
    return made


def probe(perdure: Perdure, status: int) -> Said:
    """Run the test call; it is announced on standard error whatever comes of it."""
    return perdure("provider", "test", "--yes", "--json", status=status)


@pytest.mark.requirement("A-02", "A-04", "B-01")
def test_one_announced_call_is_counted_and_keeps_no_text(perdure: Perdure, key: str) -> None:
    """Exactly one request; its usage is actual in the budget; nothing of it, nor the key, is in the home."""
    word = secrets.token_hex(8)
    said = json.dumps({"operations": [{"op": "add", "evidence": ["e1"], "text": f"Use {word}."}]})
    with LoopbackServer([answer(said)]) as server:
        configure(perdure, server.url)
        found = probe(perdure, 0)
        assert len(server.requests) == 1
    assert "one test call to openai m" in found.err
    document = found.json
    assert (document["answered"], document["outcome"]) == (True, "nothing")
    assert document["usage"] == {"calls": 1, "tokens": 110, "cost_nanodollars": 120_000}
    (day,) = perdure.json("budget")["days"]
    assert (day["actual"], day["unknown"]["calls"]) == (document["usage"], 0)
    everything = b"".join(perdure.files().values())
    assert word.encode() not in everything
    assert key.encode() not in everything
    assert perdure.json("jobs", "--all")["jobs"] == []
    assert perdure.json("verify")["ok"]
    assert perdure.json("review")["ended"] == {}


@pytest.mark.requirement("A-07", "B-01", "A-06")
def test_a_call_without_an_end_is_unknown_until_the_user_says_otherwise(perdure: Perdure, key: str) -> None:
    """Status 6; the whole hold is unknown; reconciling moves it to actual, once."""
    assert key
    with LoopbackServer([Answer(body=b"{")]) as server:
        configure(perdure, server.url)
        attempt = probe(perdure, 6).json["attempt"]
    (unresolved,) = perdure.json("budget")["unresolved"]
    assert (unresolved["attempt"], unresolved["unknown"]["calls"]) == (attempt, 1)
    assert attempt in perdure("budget").out
    words = [
        "budget",
        "reconcile",
        attempt,
        "--reason",
        "The bill says so.",
        "--cost-usd",
        "0.5",
        "--tokens",
        "7",
    ]
    done = perdure.json(*words)
    assert done["charged"] == {"calls": 1, "tokens": 7, "cost_nanodollars": 500_000_000}
    assert perdure.json("budget")["unresolved"] == []
    perdure(*words, status=3)


@pytest.mark.requirement("B-02", "Q-14")
def test_bad_answers_and_budgets_are_told_apart(perdure: Perdure, key: str) -> None:
    """Prose is invalid output, an error response has its class, and past the limit nothing is sent."""
    assert key
    with LoopbackServer([answer("Certainly! Here you are."), Answer(status=401)]) as server:
        configure(perdure, server.url, calls=2)
        assert probe(perdure, 6).json["outcome"] == "invalid"
        assert probe(perdure, 6).json["outcome"] == "configuration"
        assert probe(perdure, 6).json["error"]["code"] == "provider"
        assert len(server.requests) == 2
    perdure("provider", "test", status=2)
