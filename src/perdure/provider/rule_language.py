"""What the offline reviewer knows of a language: one frozen table of patterns per language.

Patterns are regular expressions over the *mask* of a sentence (see `rule_sentences`): the sentence
itself, with every letter of code, quotations and names of files replaced by one of three private
characters, so that no pattern ever reads what somebody quoted. They are case-insensitive.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import msgspec

Rationale = Literal["explicit", "correction", "command", "convention", "preference"]
Importance = Literal["high", "normal", "low"]
Kind = Literal["project", "user", "agent"]

RANK: Final[dict[Rationale, int]] = {
    "explicit": 0,
    "correction": 1,
    "command": 2,
    "convention": 3,
    "preference": 4,
}
"""Which findings come first when a proposal has no place for all."""

CODE: Final = "\ue000"
QUOTE: Final = "\ue001"
NAME: Final = "\ue002"
MASKED: Final = f"[{CODE}-{NAME}]"
"""One letter of something opaque, for use inside patterns."""


PROGRAMS: Final = (
    "npm|npx|pnpm|yarn|bun|deno|node|make|just|cargo|go|python3?|pytest|tox|nox|uv|poetry|pip|pipx|ruff|mypy|black|gradle|mvn|"
    "dotnet|rake|bundle|rails|composer|php|docker|docker-compose|podman|tsc|tsx|vitest|jest|eslint|prettier|biome|turbo|nx|bazel|"
    "cmake|ctest|task|hatch|pdm|mix|swift|sbt|lein|git|gh|pre-commit|alembic|terraform|kubectl|helm|zig|stack|cabal|dune|flutter|ng|"
    "psql|sqlite3|redis-cli|curl|ssh|bash|zsh|systemctl|sed|rg|grep"
)
"""Names that start a shell command; a sentence that starts with one keeps its small letter."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One form of durable statement.

    `pattern` is searched in the mask after openers such as "No," have been taken off. Its groups, all
    optional: `body` is the part to keep (else all of it), `name` and `old` give the key and the thing
    that a correction turns down. `kind` is who the statement is about.
    """

    rationale: Rationale
    kind: Kind
    pattern: str
    importance: Importance = "normal"
    words_min: int = 3
    key_suffix: str = ""  # put after the words of `name`, as in "test" + " command"


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the reviewer knows of one language. An empty pattern matches nothing."""

    code: str  # ISO 639-1
    rules: tuple[Rule, ...]  # the first that matches decides
    refusals: tuple[str, ...]  # a sentence that one of them is found in is never remembered
    openers: str = ""  # anchored at the start; taken off again and again
    corrects: str = ""  # an opener that makes what follows a correction: "No,"
    closers: str = ""  # anchored at the end; taken off once: ", please"
    vague: str = ""  # found in the part to keep: it means nothing once this chat is over
    agent: str = ""  # found in the part to keep: it is about how the agent behaves
    retracts: str = ""  # a sentence of its own that takes back what was said before it: "never mind"
    durable: str = ""  # "from now on": says little by itself, is ignored when texts are compared
    list_lead: str = ""  # a line that makes every item of the list below it a statement
    suggests: str = ""  # "try <command>": what a later confirmation may refer to
    confirms: str = ""  # "that works, use that from now on"
    confirmed: str = ""  # the statement made of the two, with {} for the command
    abbreviations: frozenset[str] = frozenset()  # case-folded, with the final full stop
    verb_last: str = ""  # a subordinate clause whose last word belongs behind its first


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a table once; the empty pattern matches nothing."""
    return re.compile(pattern or r"(?!)", re.IGNORECASE)


def found(pattern: str, text: str) -> bool:
    """Say whether a pattern of a table occurs in a mask."""
    return compiled(pattern).search(text) is not None
