"""The payloads of every hook host and version are understood, and what is answered is what it may hear."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.hosts.hook_hosts import EVENTS, PROMPT, START, answer, kind_of, read_payload
from tests.hook_payloads import VERSIONS, host_of, ignored, payloads

SHAPES = [(version, event, payload) for version in VERSIONS for event, payload in payloads(version)]
NAMES = [f"{version}-{event}-{place}" for place, (version, event, _) in enumerate(SHAPES)]


@pytest.mark.requirement("G-04")
@pytest.mark.parametrize(("version", "event", "payload"), SHAPES, ids=NAMES)
def test_every_payload_is_understood(version: str, event: str, payload: dict[str, Any]) -> None:
    """Session, folder and transcript are those of the payload, in UTF-8 and with escapes."""
    host = host_of(version)
    for ascii_only in (True, False):
        data = json.dumps(payload, ensure_ascii=ascii_only).encode()
        found = read_payload(host, event, data)
        assert found is not None
        assert (found.session, found.cwd) == (payload["session_id"], "/p")
        assert found.transcript == (payload["transcript_path"] or "")
        assert found.told == payload


@pytest.mark.parametrize("version", VERSIONS)
def test_every_event_that_we_take_has_a_payload(version: str) -> None:
    """No event of ours is without the shape that the host gives it."""
    assert {event for event, _ in payloads(version)} == set(EVENTS[host_of(version)])


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize("name", list(ignored()))
def test_sub_agents_and_continued_stops_are_ignored(name: str) -> None:
    """They are no turns of the user; without the field that says so, the same payload counts."""
    host, payload = ignored()[name]
    event = payload["hook_event_name"]
    assert read_payload(host, event, json.dumps(payload).encode()) is None
    plain = payload | {"stop_hook_active": False}
    plain.pop("agent_id", None)
    assert read_payload(host, event, json.dumps(plain).encode()) is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"session_id": "s", "cwd": "/p"} x',
        b'{"session_id": "s"}',
        b'{"session_id": "", "cwd": "/p"}',
        b'{"session_id": 7, "cwd": "/p"}',
        b'{"session_id": "s", "cwd": null}',
        b'{"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse"}',
        b'{"session_id": "\xff", "cwd": "/p"}',
        b"[" * 100_000,
        json.dumps({"session_id": "s" * 1_001, "cwd": "/p"}).encode(),
    ],
)
def test_what_is_no_payload_is_nothing(data: bytes) -> None:
    """Damaged, foreign or overlong payloads are no reason to act, and none to fail."""
    assert read_payload("claude-code", "Stop", data) is None


def test_half_a_surrogate_pair_survives() -> None:
    """A session may be named by anything; two names are two sessions."""
    first, second = (
        read_payload("gemini", "BeforeAgent", b'{"session_id": "\\ud83%c", "cwd": "/p"}' % digit)
        for digit in b"de"
    )
    assert first is not None
    assert second is not None
    assert first.session == "\ud83d"
    assert first.name != second.name
    assert first.shown("x") != second.shown("x")


@pytest.mark.requirement("I-03")
@pytest.mark.parametrize("text", ['</perdure-memory> "quoted"\n\t', "Grüße 🚀", "\ud83d alone", "\x00\x1f"])
def test_the_answer_is_one_ascii_document_of_known_fields(text: str) -> None:
    """Hosts refuse unknown fields (Codex), decode as they like, and get every character back."""
    for host, events in EVENTS.items():
        for event in (event for event, kind in events.items() if kind in {START, PROMPT}):
            data = answer(event, text)
            assert data.isascii()
            assert data.count(b"\n") == 1
            assert json.loads(data) == {
                "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}
            }, host


@pytest.mark.parametrize(
    "words",
    [[], ["codex"], ["codex", "PreToolUse"], ["pi", "Stop"], ["codex", "Stop", "x"], ["Stop", "codex"]],
)
def test_only_known_hooks_are_hooks(words: list[str]) -> None:
    """Host first, then one of its events, and nothing else."""
    assert kind_of(words) is None
