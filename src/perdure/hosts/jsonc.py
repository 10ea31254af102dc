"""Changing a settings file in JSON without touching the rest of it: comments, order and layout stay.

Reads JSON as hosts do: with comments and trailing commas. A change is made in the text, at one place; no
library that is kept up keeps comments, which is why this is here. Positions are offsets into the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from perdure.errors import UsageError

_TRIVIA = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_DEPTH_MAX = 100
_INDENT = "  "


class Node(msgspec.Struct, frozen=True):
    """A value and where it stands. `items` are the values of an object or array, `keys` an object's names
    with their places; `commas` says behind which items a comma stands.
    """

    start: int
    end: int
    value: Any
    items: tuple[Node, ...] = ()
    keys: tuple[tuple[str, int], ...] = ()
    commas: tuple[int | None, ...] = ()

    def member(self, name: str) -> Node | None:
        """The value of a name; of one that stands twice, the last, as hosts read it."""
        places = [at for at, (key, _) in enumerate(self.keys) if key == name]
        return self.items[places[-1]] if places else None

    def begins(self, at: int) -> int:
        """Where the item at a place begins, with its name."""
        return self.keys[at][1] if self.keys else self.items[at].start


def parse(text: str) -> Node:
    """Read a whole text. Raises UsageError with the line of what cannot be read."""
    reader = _Reader(text)
    at = reader.skip(0)
    node = reader.value(at, 0)
    if reader.skip(node.end) != len(text):
        reader.fail(reader.skip(node.end), "the end of the file")
    return node


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Put a value at a path of names; objects on the way are made. What has that value stays as it is.

    Raises UsageError where something on the way is not an object.
    """
    node = parse(text)
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise UsageError(f"{'.'.join(path[:depth]) or 'the file'} is not an object there.")
        found = node.member(name)
        if found is None:
            for part in reversed(path[depth + 1 :]):
                value = {part: value}
            return _appended(text, node, value, name)
        node = found
    return (
        text
        if node.value == value
        else text[: node.start] + _shown(text, node.start, value) + text[node.end :]
    )


def with_element(text: str, path: Sequence[str], element: object) -> str:
    """Append an element to the array at a path; array and objects on the way are made.

    Raises UsageError where something else than an array stands there.
    """
    node = _at(parse(text), path)
    if node is None:
        return with_value(text, path, [element])
    if not isinstance(node.value, list):
        raise UsageError(f"{'.'.join(path)} is not a list there.")
    return text if element in node.value else _appended(text, node, element, None)


def without_value(text: str, path: Sequence[str]) -> str:
    """Take a name out of its object; nothing happens where it is not there."""
    while (node := _at(parse(text), path[:-1])) is not None:
        place = next((at for at, (key, _) in enumerate(node.keys) if key == path[-1]), None)
        if place is None:
            break
        text = _removed(text, node, place)
    return text


def without_elements(text: str, path: Sequence[str], ours: Callable[[Any], bool]) -> str:
    """Take the elements that are `ours` out of the array at a path."""
    while (node := _at(parse(text), path)) is not None and isinstance(node.value, list):
        place = next((at for at, item in enumerate(node.items) if ours(item.value)), None)
        if place is None:
            break
        text = _removed(text, node, place)
    return text


def value_at(text: str, path: Sequence[str]) -> object:
    """The value at a path, None where there is none."""
    node = _at(parse(text), path)
    return node.value if node is not None else None


def _at(node: Node, path: Sequence[str]) -> Node | None:
    for name in path:
        found = node.member(name) if isinstance(node.value, dict) else None
        if found is None:
            return None
        node = found
    return node


def _appended(text: str, node: Node, value: object, name: str | None) -> str:
    """Behind the last item: on a line of its own where the container has lines, otherwise on the same one."""
    spread = "\n" in text[node.start : node.end] or not node.items
    newline = "\r\n" if "\r\n" in text else "\n"
    close = node.end - 1
    outer = _indent_of(text, node.start)
    inner = (
        _indent_of(text, node.begins(len(node.items) - 1)) if node.items and spread else outer + _step(text)
    )
    label = f"{json.dumps(name, ensure_ascii=False)}: " if name is not None else ""
    said = (
        json.dumps(value, indent=_step(text), ensure_ascii=False)
        if spread
        else json.dumps(value, ensure_ascii=False)
    )
    piece = f"{label}{said}".replace("\n", f"{newline}{inner}")
    lead = f"{newline}{inner}" if spread else " " if node.items else ""
    if not node.items:
        rest = text[node.start + 1 : close]
        tail = "" if "\n" in rest else f"{newline}{outer}"
        return f"{text[: node.start + 1]}{lead}{piece}{tail}{text[node.start + 1 :]}"
    last, comma = node.items[-1], node.commas[-1]
    after = last.end if comma is None else comma + 1
    at = after + len(_comments(text[after:close]))
    between = text[last.end : at] if comma is not None else f",{text[last.end : at]}"
    return f"{text[: last.end]}{between}{lead}{piece}{',' if comma is not None else ''}{text[at:]}"


def _removed(text: str, node: Node, place: int) -> str:
    """Without one item, the white space in front of it, and the one comma that is then too much."""
    begin, item, comma = node.begins(place), node.items[place], node.commas[place]
    before = len(text[:begin].rstrip())
    if comma is not None:
        return text[:before] + text[item.end : comma] + text[comma + 1 :]
    if place and (earlier := node.commas[place - 1]) is not None:
        return text[:earlier] + text[earlier + 1 : before] + text[item.end :]
    return text[:before] + text[item.end :] if place else text[:before] + text[item.end :].lstrip()


def _comments(trivia: str) -> str:
    """White space and comments up to the end of the last comment; nothing where there is none."""
    ends = [found.end() for found in re.finditer(r"//[^\n]*|/\*.*?\*/", trivia, re.DOTALL)]
    return trivia[: ends[-1]].rstrip("\r") if ends else ""


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    """What the file indents by: that of its first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found is not None and len(found.group(1)) <= 8 else _INDENT  # noqa: PLR2004


def _shown(text: str, at: int, value: object) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, indent=_step(text), ensure_ascii=False).replace(
        "\n", f"{newline}{_indent_of(text, at)}"
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        found = _TRIVIA.match(self._text, at)
        return found.end() if found is not None else at

    def fail(self, at: int, expected: str) -> None:
        line = self._text.count("\n", 0, at) + 1
        found = repr(self._text[at : at + 10]) if at < len(self._text) else "its end"
        raise UsageError(f"line {line}: found {found}, expected {expected}.")

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEPTH_MAX:
            self.fail(at, f"at most {_DEPTH_MAX} levels")
        char = self._text[at : at + 1]
        if char == "{":
            return self._object(at, depth)
        if char == "[":
            return self._array(at, depth)
        if char == '"':
            value, end = self._string(at)
            return Node(at, end, value)
        found = _SCALAR.match(self._text, at)
        if found is None:
            self.fail(at, "a value")
            raise AssertionError
        try:
            return Node(at, found.end(), json.loads(found.group()))
        except ValueError:
            self.fail(at, "a number")
            raise

    def _string(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self._text, at)
        if found is None:
            self.fail(at, "a string in double quotes")
            raise AssertionError
        try:
            return json.loads(found.group()), found.end()
        except ValueError:
            self.fail(at, "a string without a wrong escape")
            raise

    def _object(self, at: int, depth: int) -> Node:
        keys: list[tuple[str, int]] = []
        items: list[Node] = []

        def item(place: int) -> int:
            name, end = self._string(place)
            colon = self.skip(end)
            if self._text[colon : colon + 1] != ":":
                self.fail(colon, "a colon")
            keys.append((name, place))
            items.append(self.value(self.skip(colon + 1), depth + 1))
            return items[-1].end

        end, commas = self._items(at, "}", item)
        value = {name: found.value for (name, _), found in zip(keys, items, strict=True)}
        return Node(at, end, value, tuple(items), tuple(keys), commas)

    def _array(self, at: int, depth: int) -> Node:
        items: list[Node] = []

        def item(place: int) -> int:
            items.append(self.value(place, depth + 1))
            return items[-1].end

        end, commas = self._items(at, "]", item)
        return Node(at, end, [found.value for found in items], tuple(items), (), commas)

    def _items(self, at: int, close: str, item: Callable[[int], int]) -> tuple[int, tuple[int | None, ...]]:
        """Read items up to the closing bracket; where it ends, and the place of the comma behind each."""
        commas = list(self._each(at, close, item))
        last = commas.pop()
        if last is None:
            raise AssertionError
        return last, tuple(commas)

    def _each(self, at: int, close: str, item: Callable[[int], int]) -> Iterator[int | None]:
        here = self.skip(at + 1)
        while self._text[here : here + 1] != close:
            here = self.skip(item(here))
            if self._text[here : here + 1] == ",":
                yield here
                here = self.skip(here + 1)
                continue
            if self._text[here : here + 1] != close:
                self.fail(here, f"a comma or {close}")
            yield None
        yield here + 1
