"""What a fuzz target is, and the pieces that all targets share."""

from __future__ import annotations

import atexit
import functools
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from perdure.core.canonical import canonical

Check = Callable[[bytes], None]
Mutate = Callable[[bytes, random.Random], bytes]


class Target(msgspec.Struct, frozen=True):
    """One reader of foreign bytes.

    `check` gives it an input: it returns when everything that is promised holds, and raises otherwise, be it
    an AssertionError or whatever the reader let out that it does not document. `seeds` are inputs that
    code makes; `mutate` knows the structure of the input, where bytes alone would never get past a digest.
    """

    name: str
    check: Check
    seeds: Callable[[], Mapping[str, bytes]]
    mutate: Mutate | None = None
    examples: int = 100  # how many Hypothesis tries in `make test`
    bytes_max: int = 4096  # how long an input of the long run may grow


T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def tried(act: Callable[[], T], documented: type[E]) -> T | E:
    """What an act gives, or the documented error that it raises; any other error comes out."""
    try:
        return act()
    except documented as refused:
        return refused


def text_of(data: bytes) -> str:
    """Any bytes as text, with lone surrogates where they encode some: what a host's JSON may hold."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def plain_text(data: bytes) -> str:
    """Any bytes as text that can be written as UTF-8."""
    return data.decode("utf-8", "replace")


@functools.cache
def workspace() -> Path:
    """A folder of this process, for readers that want a file; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="perdure-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def as_file(data: bytes, name: str) -> Path:
    """The bytes as a file, which the next call of the same name overwrites."""
    path = workspace() / name
    path.write_bytes(data)
    return path


def as_json(value: object) -> bytes:
    """Compact JSON; lone surrogates stay, as escapes."""
    return json.dumps(value, separators=(",", ":")).encode()


def as_lines(*values: object) -> bytes:
    """JSON Lines."""
    return b"".join(as_json(value) + b"\n" for value in values)


def as_canonical(value: object) -> bytes:
    """The bytes of a record's body, where a value has any; else plain JSON."""
    try:
        return canonical(value)
    except (ValueError, OverflowError, TypeError):
        return as_json(value)
