"""JSON without its package: what it reads and writes is what the package does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.cli.quick_json import canonical_text, parsed_object, quoted, quoted_ascii

BROKEN = [
    "",
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    "[]",
    "null",
    "x",
    '{"a":1} ',
    '{"a":"\n"}',
    "[" * 99_999,
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(value=st.dictionaries(st.text(), VALUES, max_size=4), ascii_only=st.booleans())
def test_an_object_is_read_as_the_package_reads_it(value: dict[str, object], ascii_only: bool) -> None:
    """Also when half a surrogate pair stands in it as an escape."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parsed_object(text) == json.loads(text)
    assert json.loads(canonical_text(value)) == value


@given(text=st.text(st.characters(exclude_categories=[])))
def test_strings_are_written_as_the_package_writes_them(text: str) -> None:
    """With and without escapes for what is not ASCII."""
    assert quoted(text) == json.dumps(text, ensure_ascii=False)
    assert quoted_ascii(text) == json.dumps(text)


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:8] or "empty")
def test_what_is_no_object_is_refused(text: str) -> None:
    """With the errors that are documented, whatever the C module makes of it."""
    with pytest.raises((ValueError, RecursionError)):
        parsed_object(text)


def test_it_is_refused_in_a_process_without_the_package_too() -> None:
    """There the C module fails to find its own error."""
    code = (
        "from perdure.cli.quick_json import parsed_object\n"
        f"for text in {BROKEN[:-1]!r}:\n"
        "    try:\n"
        "        print(parsed_object(text))\n"
        "    except ValueError:\n"
        "        pass\n"
        "print('json.decoder' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"False\n", b"")
