"""Session files that grow: what a reader once gave as settled it gives again, whatever follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.evidence import RawTurn
from perdure.errors import UsageError
from perdure.hosts.sessions import read_session
from tests.fuzz.target import as_file, as_lines
from tests.session_files import PiSession, Transcript

Move = Literal["ask", "answer", "tool", "fail", "stop", "note", "back"]
MOVES = st.lists(st.sampled_from(Move.__args__), max_size=14)  # type: ignore[attr-defined] # names of a Literal
WORDS = st.sampled_from(["Use pnpm.", "é", "\u2028", "\U0001f600 x", "</perdure-memory>", "{}", "\\", "\x00"])


def pi_file(moves: list[Move], word: str, version: int) -> bytes:
    """A Pi session that these moves lead to; only a tree can go back."""
    session = PiSession(version)
    places: list[str | None] = [None]
    for number, move in enumerate(moves):
        _pi_move(session, move, f"{word} {number}", places)
        places.append(session.leaf)
    return session.text().encode()


def _pi_move(session: PiSession, move: Move, text: str, places: list[str | None]) -> None:
    match move:
        case "ask":
            session.user(text)
        case "answer":
            session.says(text)
        case "tool":
            session.uses("bash", ok=bool(len(places) % 2))
        case "fail":
            session.says(text, "error")
        case "stop":
            session.says(text, "aborted")
        case "note":
            session.add("custom_message", content=text)
        case "back" if session.version > 1:
            session.leaf = places[len(places) // 2]
        case _:
            session.says(text, "length")


def claude_file(moves: list[Move], word: str, version: int) -> bytes:
    """A transcript that these moves lead to; even versions know no stop reason."""
    transcript = Transcript()
    places: list[str | None] = [None]
    for number, move in enumerate(moves):
        _claude_move(transcript, move, f"{word} {number}", places, "end_turn" if version % 2 else None)
        places.append(transcript.leaf)
    return as_lines(*transcript.lines)


def _claude_move(
    transcript: Transcript, move: Move, text: str, places: list[str | None], final: str | None
) -> None:
    match move:
        case "ask":
            transcript.user(text)
        case "answer":
            transcript.says(text, final)
        case "tool":
            transcript.uses("Bash", ok=bool(len(places) % 2))
        case "fail":
            transcript.says(text, "max_tokens")
        case "stop":
            transcript.user("[Request interrupted by user]")
        case "note":
            transcript.user(text, isMeta=True)
        case _:
            transcript.leaf = places[len(places) // 2]


def settled(data: bytes) -> list[tuple[str, int, object]]:
    """The settled turns of a file, in its order; none of a file that is no session yet."""
    try:
        turns: tuple[RawTurn, ...] = read_session(as_file(data, "growing.jsonl")).turns
    except UsageError:
        return []
    return [(turn.turn_id, turn.settled_ms, turn.lines) for turn in turns if turn.end == "settled"]


@pytest.mark.requirement("K-04", "E-09")
@pytest.mark.parametrize("write", [pi_file, claude_file])
@settings(max_examples=150)
@given(moves=MOVES, word=WORDS, version=st.integers(1, 3), cut=st.floats(0, 1))
def test_a_file_cut_at_any_byte_gives_a_prefix_of_the_settled_turns(
    write: Callable[[list[Move], str, int], bytes], moves: list[Move], word: str, version: int, cut: float
) -> None:
    """As a host writes on, settled turns stay as they are, in their order, and new ones come after them."""
    data = write(moves, word, version)
    whole = settled(data)
    before = settled(data[: round(len(data) * cut)])
    assert before == whole[: len(before)]


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize("write", [pi_file, claude_file])
@given(moves=MOVES, word=WORDS, version=st.integers(1, 3))
def test_no_turn_is_settled_that_nothing_answered(
    write: Callable[[list[Move], str, int], bytes], moves: list[Move], word: str, version: int
) -> None:
    """There are no more settled turns than complete answers, and none without a question before it."""
    found = settled(write(moves, word, version))
    assert len(found) <= moves.count("answer")
    assert len(found) <= moves.count("ask")
