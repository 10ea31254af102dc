"""What docs/format.md says, taken from its tables: types, names, paths and fields of records.

Standard library only, and nothing of Perdure: see tests/format_reader.py.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Body = dict[str, Any]
Check = Callable[[Any], bool]

RECORD_BYTES_MAX = 524_288
JOB_BYTES_MAX = 131_072
INTEGER_MAX = 2**53 - 1

_STRINGS = {
    "digest": r"[0-9a-f]{64}",
    "path": r"/.*",
    "word": r"[a-z][a-z0-9-]{0,39}",
    "code": r"([a-z][a-z0-9-]{0,39})?",
    "day": r"[0-9]{8}",
    "job id": r"[0-9a-f]{76}",
    "attempt id": r"[0-9]{8}-[0-9a-f]{32}-[0-9]{4}",
    "transaction": r"([0-9a-f]{32}|[0-9a-f]{76})",
    "turn id": r"[0-9a-f]{1,64}",
    "line id": r"e[1-9][0-9]{0,4}",
    "any": r"[^/]+",
}
_INTEGERS = {"time": (0, INTEGER_MAX), "count": (0, INTEGER_MAX), "number": (1, INTEGER_MAX)}


class Found(NamedTuple):
    """One record of a home."""

    kind: str
    body: Body
    digest: str


class Unreadable(Exception):
    """A file is not what the page says of it."""


class Page:
    """What the tables of the page say."""

    def __init__(self, text: str) -> None:
        self.fields: dict[str, dict[str, str]] = {}
        self.aliases: dict[str, str] = {}
        self._types: dict[str, Check] = {}
        names = {row[0].strip("`{}"): row[1] for row in _rows(text, "| name | what stands for it |")}
        self._names = names
        self.records = {row[0]: row[1].strip("`") for row in _rows(text, "| kind | path | who |")}
        others = [row[0].strip("`") for row in _rows(text, "| path | what it is |")]
        self._record_paths = {kind: self._path(path) for kind, path in self.records.items()}
        self._other_paths = [self._path(path) for path in others]
        title = ""
        for line in text.splitlines():
            if line.startswith(("## ", "### ")):
                title = line.removeprefix("### ") if line.startswith("### ") else ""
            elif alias := re.fullmatch(r"Structure ([A-Z]\w+): (.+)", line):
                self.aliases[alias[1]] = alias[2]
            elif structure := re.fullmatch(r"Structure ([A-Z]\w+):", line):
                title = structure[1]
            elif title and (row := re.fullmatch(r"\| (?!field )([a-z_]+) \| ([^|]+) \|.*\|", line)):
                self.fields.setdefault(title, {})[row[1]] = row[2]

    def _path(self, template: str) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", template)
        return re.compile(
            "".join(self._name(p) if place % 2 else re.escape(p) for place, p in enumerate(parts))
        )

    def _name(self, name: str) -> str:
        said = self._names[name]
        if choices := re.findall(r"`([^`]+)`", said):
            return f"(?:{'|'.join(self._path(choice).pattern for choice in choices)})"
        if digits := re.fullmatch(r"digits (\d+)", said):
            return f"[0-9]{{{digits[1]}}}"
        return f"(?:{_string_pattern(said)})"

    def kinds_at(self, path: str) -> list[str]:
        """The kinds of record that a path can hold; none for what is no record. Raises Unreadable."""
        kinds = [kind for kind, pattern in self._record_paths.items() if pattern.fullmatch(path)]
        if not kinds and not any(pattern.fullmatch(path) for pattern in self._other_paths):
            msg = f"{path}: the page knows no such path"
            raise Unreadable(msg)
        return kinds

    def faults(self, name: str, value: object) -> Iterator[str]:
        """What is wrong with a body or structure, by field."""
        fields = self.fields.get(name) or self.fields[name.lower()]
        if not isinstance(value, dict) or value.keys() != fields.keys():
            yield f"{name}: not these fields: {', '.join(fields)}"
            return
        for field, said in fields.items():
            if not self.fits(said, value[field]):
                yield f"{name}.{field}: not {said}"

    def fits(self, said: str, value: object) -> bool:
        """Whether a value is of a type as the page writes it."""
        if said not in self._types:
            self._types[said] = self._check(said)
        return self._types[said](value)

    def _check(self, said: str) -> Check:
        if " or " in said and not said.startswith("list of"):
            choices = said.split(" or ")
            return lambda value: any(self.fits(choice, value) for choice in choices)
        if items := re.fullmatch(r"list of (.+?)(?:, (\d+) to (\d+))?", said):
            least, most = int(items[2] or 0), int(items[3] or INTEGER_MAX)
            return lambda value: (
                isinstance(value, list)
                and least <= len(value) <= most
                and all(self.fits(items[1], item) for item in value)
            )
        if pair := re.fullmatch(r"pair of (.+) and (.+)", said):
            return lambda value: (
                isinstance(value, list)
                and len(value) == len(pair.groups())
                and all(self.fits(one, item) for one, item in zip(pair.groups(), value, strict=True))
            )
        if said in self.aliases:
            return self._check(self.aliases[said])
        if said in self.fields or said.lower() in self.fields:
            return lambda value: not list(self.faults(said, value))
        return _plain(said)


def _plain(said: str) -> Check:
    """The check of a type without parts."""
    if said == "null":
        return lambda value: value is None
    if said == "flag":
        return lambda value: isinstance(value, bool)
    if literal := re.fullmatch(r'"(.*)"', said):
        return lambda value: isinstance(value, str) and value == literal[1]
    if bounds := _INTEGERS.get(said) or _bounds("integer", said):
        return lambda value: type(value) is int and bounds[0] <= value <= bounds[1]
    if size := _bounds("text", said):
        return lambda value: isinstance(value, str) and size[0] <= len(value) <= size[1]
    pattern = re.compile(_string_pattern(said))
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _bounds(word: str, said: str) -> tuple[int, int] | None:
    if match := re.fullmatch(rf"{word} (\d+) to (\d+)", said):
        return int(match[1]), int(match[2])
    if match := re.fullmatch(rf"{word} (\d+)", said):
        return 1, int(match[1])
    return None


def _string_pattern(said: str) -> str:
    if digits := re.fullmatch(r"hex (\d+)", said):
        return f"[0-9a-f]{{{digits[1]}}}"
    return _STRINGS[said]


def _rows(text: str, head: str) -> Iterator[list[str]]:
    """The cells of the table whose first line begins with `head`."""
    lines = text[text.index(head) :].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def unseal(page: Page, kind: str, data: bytes) -> Found:
    """Read a record's file as the sections *A record* and *Reading* say. Raises Unreadable."""
    if len(data) > (JOB_BYTES_MAX if kind == "job" else RECORD_BYTES_MAX):
        msg = "too large"
        raise Unreadable(msg)
    try:
        envelope = json.loads(data)
    except (ValueError, RecursionError) as error:
        msg = "no JSON"
        raise Unreadable(msg) from error
    if not isinstance(envelope, dict) or envelope.keys() != {"body", "digest", "kind", "version"}:
        msg = "no envelope"
        raise Unreadable(msg)
    name = kind.rstrip("0123456789")  # a table of a later version has its number in its title
    version = kind.removeprefix(name)
    found = (envelope["kind"], envelope["version"])
    if found != (name, int(version or 1)) or _canonical(envelope) != data:
        msg = "another kind, another version, or another form"
        raise Unreadable(msg)
    body = envelope["body"]
    if faults := list(page.faults(kind, body)):
        raise Unreadable("; ".join(faults))
    if digest(body) != envelope["digest"]:
        msg = "digest mismatch"
        raise Unreadable(msg)
    return Found(kind, body, envelope["digest"])


def _canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(value: object) -> str:
    """SHA-256 of the RFC 8785 bytes of a value."""
    return hashlib.sha256(_canonical(value)).hexdigest()
