"""A turn that Gemini CLI tells to its hook."""

from __future__ import annotations

import json

import pytest

from perdure.hosts.hook_hosts import Payload, read_payload
from perdure.hosts.hook_told import NO_ANSWER, told_turn

NOW_MS = 1_800_000_000_000


def payload(**fields: object) -> Payload:
    """Make the payload of an AfterAgent hook."""
    told = {
        "session_id": "s",
        "cwd": "/p",
        "timestamp": "2026-12-01T09:30:00.000Z",
        "prompt": "Use uv here.",
        "prompt_response": "I will.",
    }
    found = read_payload("gemini", "AfterAgent", json.dumps(told | fields).encode())
    assert found is not None
    return found


@pytest.mark.requirement("G-01", "E-02")
def test_what_was_typed_and_the_answer_are_one_settled_turn() -> None:
    """At the time that the host says, else now; files and hooks' context belong to nobody's words."""
    prompt = "Use uv here.\n--- Content from referenced files ---\nFILE\n<hook_context>CONTEXT</hook_context>"
    read = told_turn(payload(prompt=prompt), NOW_MS)
    assert read is not None
    (turn,) = read.turns
    assert [(line.role, line.text) for line in turn.lines] == [
        ("user", "Use uv here."),
        ("assistant", "I will."),
    ]
    assert (turn.end, turn.settled_ms, read.host) == ("settled", 1_796_117_400_000, "gemini")
    assert told_turn(payload(timestamp="yesterday"), NOW_MS).turns[0].settled_ms == NOW_MS  # type: ignore[union-attr]


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_response": ""},
        {"prompt_response": " \n"},
        {"prompt_response": NO_ANSWER},
        {"prompt_response": None},
        {"prompt": None},
        {"prompt": ["Use uv here."]},
        {"prompt": "--- Content from referenced files ---\nFILE"},
        {"prompt": "!rm -rf x"},
    ],
)
def test_without_words_or_an_answer_there_is_no_turn(fields: dict[str, object]) -> None:
    """An answer without text, a shell command, a prompt of files alone."""
    assert told_turn(payload(**fields), NOW_MS) is None


def test_a_turn_is_known_again_by_session_time_and_prompt() -> None:
    """The same hook twice is one turn; another time, prompt or session is another."""
    variants = [{}, {}, {"timestamp": "2026-12-01T09:31:00.000Z"}, {"prompt": "No."}, {"session_id": "t"}]
    names = [read.turns[0].turn_id for fields in variants if (read := told_turn(payload(**fields), NOW_MS))]
    assert names[0] == names[1]
    assert len(set(names)) == len(variants) - 1
