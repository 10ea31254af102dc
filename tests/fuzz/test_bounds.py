"""Work and memory grow no faster than the input, whatever its shape: no hang, no unbounded memory.

Work is counted in calls of functions, which is the same on every machine. What patterns do inside one call
is not counted: such inputs are so long that a quadratic pattern would not come to its end.
"""

from __future__ import annotations

import contextlib
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from perdure.core.exchange import DOCUMENT_CHARS_MAX, ITEMS_MAX
from perdure.core.exchange_markdown import from_markdown
from perdure.core.sanitising import sanitised_text
from perdure.core.text import ENTRY_CHARS_MAX, check_entry_text
from perdure.errors import PerdureError, TextRefused, UsageError
from perdure.hosts.session_turns import TEXT_CHARS_MAX
from perdure.hosts.sessions import read_session
from tests.fuzz.big import SESSIONS, Shape
from tests.fuzz.hard import texts
from tests.fuzz.target import as_file, as_lines
from tests.session_files import Transcript

LINES = 400
GROWTH = 4
SLACK = 1.25
"""Four times the lines may cost five times the calls: caches and first uses are in the smaller number."""

BYTES_PER_BYTE = 16
BYTES_MORE = 512 * 1024
"""The most memory for an input: so many times its size, and as much as reading anything needs."""

PASTED_CHARS = 300_000


def calls_of(act: Callable[[], object]) -> int:
    """How many functions are entered and left, those written in C included."""
    count = 0

    def note(_frame: FrameType, _event: str, _what: Any) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


def peak_of(act: Callable[[], object]) -> int:
    """The most bytes that Python had allocated at once during the act, beyond what it had before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("shape", SESSIONS.values(), ids=SESSIONS)
def test_reading_a_session_is_linear_in_work_and_memory(shape: Shape) -> None:
    """Chains, stars, combs, circles, orphans, broken lines: four times the file, four times the work."""
    small = as_file(shape(LINES), "small.jsonl")
    large = as_file(shape(GROWTH * LINES), "large.jsonl")
    read_session(small)
    assert calls_of(lambda: read_session(large)) <= GROWTH * SLACK * calls_of(lambda: read_session(small))
    assert peak_of(lambda: read_session(large)) <= BYTES_PER_BYTE * large.stat().st_size + BYTES_MORE


@pytest.mark.requirement("X-05")
def test_a_long_paste_of_any_shape_is_read() -> None:
    """Hundreds of thousands of characters in one message, of every hard shape: read, and cut."""
    for name, text in texts(PASTED_CHARS).items():
        transcript = Transcript()
        transcript.user(text)
        transcript.says(text)
        path = as_file(as_lines(*transcript.lines), "paste.jsonl")
        for turn in read_session(path).turns:
            assert all(len(line.text) <= TEXT_CHARS_MAX for line in turn.lines), name


@pytest.mark.requirement("X-05", "E-10")
@pytest.mark.parametrize(
    "name", ["mixed marks", "combining marks", "joiners", "flags", "open tags", "escapes"]
)
def test_a_long_text_of_a_hard_shape_is_sanitised(name: str) -> None:
    """The longest text that a reader gives, of shapes that Unicode's own algorithms are slow for."""
    text = sanitised_text(texts(TEXT_CHARS_MAX)[name])
    assert sanitised_text(text) == text


@pytest.mark.requirement("X-05", "M-10")
def test_a_pile_of_marks_is_no_text_of_an_entry() -> None:
    """More than thirty marks in a row are refused before they are sorted; thirty are text."""
    with pytest.raises(TextRefused, match="marks in a row"):
        check_entry_text(texts(4_000_000)["mixed marks"])
    assert check_entry_text("e" + "\u0323\u0301" * 15)


@pytest.mark.requirement("X-05", "M-14")
@pytest.mark.parametrize("name", ["bullets", "bold", "comments", "spaces", "line breaks", "open tags"])
def test_a_long_document_is_read_in_bounded_memory(name: str) -> None:
    """A long file of exchange of any shape, is refused or read, and no longer than a branch."""
    text = texts(DOCUMENT_CHARS_MAX // GROWTH)[name]

    def read() -> None:
        with contextlib.suppress(UsageError):
            assert len(from_markdown(text).items) <= ITEMS_MAX

    assert peak_of(read) <= 2 * BYTES_PER_BYTE * len(text) + BYTES_MORE


def test_an_overlong_text_is_refused_whatever_its_shape() -> None:
    """No shape of text gets past the length of an entry."""
    for text in texts(ENTRY_CHARS_MAX * 50).values():
        with pytest.raises(PerdureError):
            check_entry_text(text)
