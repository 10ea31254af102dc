"""Inputs that are known to be hard: what the fault list of the design names, and what grew out of it.

The big ones are made here and never stored. Each says in its name what is hard about it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping

DEPTH = 100_000
DIGITS = 5_000


def bytes_of_all_kinds() -> Mapping[str, bytes]:
    """Inputs that every reader of bytes has to survive."""
    return {
        "empty": b"",
        "a line break": b"\n",
        "NUL": b"\0",
        "many NULs": bytes(4096),
        "all bytes": bytes(range(256)),
        "not UTF-8": b"\xff\xfe\x80 text",
        "a byte order mark": b"\xef\xbb\xbf{}",
        "UTF-16": '{"a": 1}'.encode("utf-16"),
        "CRLF": b'{"a": 1}\r\n{"b": 2}\r\n',
        "a lone surrogate in bytes": b"\xed\xa0\x80 text",
        "a lone surrogate in an escape": b'{"text": "\\ud800"}',
        "duplicate keys": b'{"a": 1, "a": 2}',
        "NaN": b'{"a": NaN, "b": Infinity, "c": -Infinity}',
        "a 5,000-digit integer": b'{"a": ' + b"9" * DIGITS + b"}",
        "a float out of range": b'{"a": 1e99999, "b": -1e99999, "c": 1e-99999}',
        "arrays 100,000 levels deep": b"[" * DEPTH + b"]" * DEPTH,
        "objects 100,000 levels deep": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
        "open arrays 100,000 levels deep": b"[" * DEPTH,
        "trailing data": b'{"a": 1} {"b": 2}',
        "truncated": b'{"a": "tex',
        "one long line": b"x" * 300_000,
        "many empty lines": b"\n" * 100_000,
        "a 256-byte name": b"n" * 256,
        "a path that leaves": b"../../etc/passwd\0",
        "a gzip bomb": gzip.compress(bytes(1_000_000), mtime=0),
    }


_PIECES: Mapping[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "words": lambda size: "ab " * (size // 3),
    "spaces": lambda size: " " * size,
    "line breaks": lambda size: "\n" * size,
    "tabs and line breaks": lambda size: "\t\n" * (size // 2),
    "digits": lambda size: "7" * size,
    "digits and dashes": lambda size: "4111-" * (size // 5),
    "dots": lambda size: "a." * (size // 2),
    "slashes": lambda size: "/a" * (size // 2),
    "colons": lambda size: "a:" * (size // 2),
    "equals signs": lambda size: "k=" * (size // 2),
    "quotes": lambda size: '"' * size,
    "single quotes": lambda size: "'" * size,
    "backslashes": lambda size: "\\" * size,
    "escapes": lambda size: "\\u0041" * (size // 6),
    "percent escapes": lambda size: "%41" * (size // 3),
    "character references": lambda size: "&#65;" * (size // 5),
    "open tags": lambda size: "<" * size,
    "open reminders": lambda size: "<system-reminder>" * (size // 17),
    "open editor context": lambda size: "<ide_a " * (size // 7),
    "open file blocks": lambda size: '<file name="a">' * (size // 15),
    "fences": lambda size: "</perdure-memory>" * (size // 17),
    "half fences": lambda size: "<perdure-" * (size // 9),
    "key headers": lambda size: "-----BEGIN PRIVATE KEY-----\n" * (size // 28),
    "dashes": lambda size: "-" * size,
    "data urls": lambda size: "data:image/png;base64," * (size // 22),
    "wrapped base64": lambda size: ("QUJD" * 16 + "\n") * (size // 65),
    "passwords": lambda size: "password: hunter2hunter2 " * (size // 25),
    "key words": lambda size: "api_key " * (size // 8),
    "combining marks": lambda size: "a" + "\u0301" * (size - 1),
    "mixed marks": lambda size: "a" + "\u0301\u0323" * (size // 2),
    "joiners": lambda size: "\u200d" * size,
    "joined emoji": lambda size: "\U0001f468\u200d" * (size // 2),
    "variation selectors": lambda size: "\ufe0f" * size,
    "flags": lambda size: "\U0001f3f4\U000e0067" * (size // 2),
    "soft hyphens": lambda size: "\u00ad" * size,
    "bidirectional marks": lambda size: "\u202e" * size,
    "lone surrogates": lambda size: "\ud800" * size,
    "full-width letters": lambda size: "\uff21" * size,
    "hangul parts": lambda size: "\u1100\u1161" * (size // 2),
    "bullets": lambda size: "- a\n" * (size // 4),
    "bold": lambda size: "- **" + "a*" * (size // 2),
    "comments": lambda size: "<!--" * (size // 4),
    "ends of comments": lambda size: "-->" * (size // 3),
}


def texts(size: int) -> Mapping[str, str]:
    """Texts of about `size` characters that a careless pattern needs quadratic time for."""
    return {name: make(size) for name, make in _PIECES.items()}


def text_bytes(size: int) -> Mapping[str, bytes]:
    """The same as bytes."""
    return {name: text.encode("utf-8", "surrogatepass") for name, text in texts(size).items()}


VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**53 - 1,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    0.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "a",
    "0" * 16,
    "f" * 64,
    "../x",
    "n" * 256,
    "\ud800",
    "e\u0301",
    "</perdure-memory>",
    "2026-01-01T00:00:00Z",
    "9" * 4_000,
    [],
    {},
    [[]],
    [None],
    [0],
    [""],
    [{}],
    {"": 0},
    {"type": "text", "text": "a"},
)
"""What may stand where a reader expects something else."""
