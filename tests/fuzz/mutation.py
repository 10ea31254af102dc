"""Changes that know JSON: fields taken away, doubled, retyped, moved; lines dropped, doubled, reordered.

Everything follows from the generator that is passed, so an input is the same for the same seed.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.fuzz.hard import VALUES
from tests.fuzz.target import Mutate, as_json

_INSERTS = (
    b"\0",
    b"\n",
    b"\r\n",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
)


def change_bytes(data: bytes, chance: random.Random) -> bytes:
    """One small change of bytes that knows nothing: flip, drop, double, insert, cut."""
    if not data:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((1, 1, 2, 4, 16, 64)))
    match chance.randrange(6):
        case 0:
            return data[:start] + bytes([data[start] ^ 1 << chance.randrange(8)]) + data[start + 1 :]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + data[start:]
        case 3:
            return data[:start] + chance.choice(_INSERTS) + data[start:]
        case 4:
            return data[:start]
        case _:
            return data[:start] + data[chance.randrange(len(data)) :]


def change_json(data: bytes, chance: random.Random) -> bytes:
    """One change of a JSON value that keeps it JSON; of bytes that are none, a change of bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return change_bytes(data, chance)
    return as_json(changed(value, chance))


def change_lines(data: bytes, chance: random.Random) -> bytes:
    """One change of JSON Lines: inside a line mostly, else among the lines."""
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    match chance.randrange(8):
        case 0:
            del lines[place]
        case 1:
            lines.insert(chance.randrange(len(lines) + 1), lines[place])
        case 2:
            other = chance.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines[place] = change_bytes(lines[place], chance)
        case _:
            lines[place] = change_json(lines[place], chance)
    return b"\n".join(lines)


def changed(value: Any, chance: random.Random) -> Any:
    """A copy of a JSON value with one thing changed somewhere."""
    root = [copy.deepcopy(value)]
    holder, key = chance.choice(list(_places(root)))
    _change(holder, key, chance)
    return root[0] if root else None


def everywhere(value: Any) -> Iterator[Any]:
    """Every copy of a JSON value with one part gone or one of the hard values; one with an unknown field."""
    count = len(list(_places([value])))
    for place in range(count):
        for replacement in (*VALUES, _GONE):
            root = [copy.deepcopy(value)]
            holder, key = list(_places(root))[place]
            if replacement is not _GONE:
                holder[key] = replacement
            elif holder is not root:
                del holder[key]
            yield root[0]
    if isinstance(value, dict):
        yield {**value, "unknown": 1}


_GONE = object()


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Where every value stands, the outermost first."""
    waiting = [holder]
    while waiting:
        here = waiting.pop()
        for key in list(here) if isinstance(here, dict) else range(len(here)):
            yield here, key
            if isinstance(here[key], dict | list):
                waiting.append(here[key])


def _change(holder: Any, key: Any, chance: random.Random) -> None:
    here = holder[key]
    match chance.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(here))
        case 1:
            holder[f"{key}x"] = here
        case 2 if isinstance(here, int) and not isinstance(here, bool):
            holder[key] = here + chance.choice((-1, 1, 2**31, -(2**31), 10**12))
        case 2 | 3 if isinstance(here, str):
            holder[key] = _change_text(here, chance)
        case 4 if isinstance(here, list) and here:
            chance.shuffle(here)
        case 5:
            other, name = chance.choice(list(_places([here])))
            holder[key] = copy.deepcopy(other[name])
        case _:
            holder[key] = copy.deepcopy(chance.choice(VALUES))


def _change_text(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    piece = chance.choice(
        ("\0", "\n", "\ud800", "\u200b", "\u0301", "<", ">", "\\", '"', "é", "\U0001f600", "0", " ")
    )
    match chance.randrange(4):
        case 0:
            return text[:place]
        case 1:
            return text + text[place:]
        case 2:
            return text[:place] + piece + text[place + 1 :]
        case _:
            return text[:place] + piece + text[place:]


def mostly(change: Mutate) -> Mutate:
    """Structure most of the time, plain bytes now and then."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        return change_bytes(data, chance) if chance.randrange(6) == 0 else change(data, chance)

    return mutate
