"""Settings in JSON are changed in one place, and everything else stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import UsageError
from perdure.hosts import jsonc

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name != "perdure")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SPACE = st.sampled_from(["", " ", "\n  ", "\n\t", " // said\n", " /* so */ ", "\r\n    "])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A JSON text of a value as somebody may have laid it out, with comments and trailing commas."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        parts = []
        for name, item in pairs:
            label = f"{json.dumps(name, ensure_ascii=False)}{draw(SPACE)}:" if name is not None else ""
            parts.append(f"{draw(SPACE)}{label}{draw(SPACE)}{draw(written(item))}{draw(SPACE)}")
        trailing = f",{draw(SPACE)}" if parts and len(draw(SPACE)) % 2 else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{','.join(parts)}{trailing}{draw(SPACE) if not parts else ''}{closing}"
    return json.dumps(value, ensure_ascii=draw(SPACE) == "")


@st.composite
def settings(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A settings file and what it says."""
    value = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    return f"{draw(SPACE)}{draw(written(value))}{draw(SPACE)}", value


@given(settings())
def test_a_text_is_read_as_it_was_meant(found: tuple[str, dict[str, Any]]) -> None:
    """Comments, trailing commas and any layout change nothing of what is read."""
    text, value = found
    assert jsonc.parse(text).value == value


@given(settings(), VALUES)
def test_a_value_is_added_and_nothing_else_changes(found: tuple[str, dict[str, Any]], added: Any) -> None:
    """What is read then is what was there and the new value; again is no change; every comment stays."""
    text, value = found
    after = jsonc.with_value(text, ("perdure",), added)
    assert jsonc.parse(after).value == {**value, "perdure": added}
    assert jsonc.with_value(after, ("perdure",), added) == after
    assert after.count("//") == text.count("//") + json.dumps(added).count("//")


@given(settings(), VALUES)
def test_taking_a_value_out_again_gives_the_same_bytes(found: tuple[str, dict[str, Any]], added: Any) -> None:
    """Put in and taken out: the file as it was, but for blank space in an object that was empty."""
    text, value = found
    after = jsonc.without_value(jsonc.with_value(text, ("perdure",), added), ("perdure",))
    assert after == text if value else jsonc.parse(after).value == {}


@given(settings(), st.lists(VALUES, min_size=1, max_size=3), VALUES)
def test_an_element_is_appended_and_taken_out_again(
    found: tuple[str, dict[str, Any]], listed: list[Any], added: Any
) -> None:
    """The same for lists."""
    text = jsonc.with_value(found[0], ("perdure",), listed)
    mark = {"ours": added}
    after = jsonc.with_element(text, ("perdure",), mark)
    assert jsonc.value_at(after, ("perdure",)) == [*listed, mark]
    assert jsonc.without_elements(after, ("perdure",), lambda each: each == mark) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ('{"a": }', 1),
        ('{\n"a": 1\n"b": 2}', 3),
        ("{'a': 1}", 1),
        ('{"a": 1} x', 1),
        ('{"a": "\n"}', 1),
        ('{"a": 01.}', 1),
        ('{"a": "\\x"}', 1),
        ("[" * 200, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    """Nothing is guessed."""
    with pytest.raises(UsageError, match=f"^line {line}: "):
        jsonc.parse(text)


def test_what_stands_in_the_way_is_named() -> None:
    """A list or a text where an object or a list is needed is refused."""
    with pytest.raises(UsageError, match="hooks is not an object"):
        jsonc.with_value('{"hooks": []}', ("hooks", "Stop"), 1)
    with pytest.raises(UsageError, match="packages is not a list"):
        jsonc.with_element('{"packages": {}}', ("packages",), 1)


def test_a_new_value_looks_like_the_file() -> None:
    """Indentation and line ends of the file are taken over."""
    assert jsonc.with_value('{\r\n\t"a": 1\r\n}\r\n', ("b",), {"c": 2}) == (
        '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n'
    )
