"""How a finding stands to what is already remembered: new, the same again, or in its place.

Precision first here too: an entry is replaced only when key or frame leave no doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from perdure.core.text import normalize_key
from perdure.ports.provider import MemoryView
from perdure.provider.rule_findings import LANGUAGES, Finding
from perdure.provider.rule_language import compiled

Standing = Literal["new", "same", "instead"]

_EDGES: Final = ".,;:!?\"'`()[]“”„«»。、！…"
_FRAME = re.compile(
    r"^(?:we (?:only |always |all )?|always |only |please |this (?:project|repo) )?(?:use|uses|prefer|run|write|target)s? (?P<thing>.+)$"
    r"|^(?:wir )?(?:benutzen|verwenden|nutzen|benutze|verwende|nutze)n? (?P<thing_de>.+)$"
    r"|^(?:nous |on )?(?:utilisons|utilise|utilisez) (?P<thing_fr>.+)$"
    r"|^(?:usamos|usa|usar|utilizamos|utiliza) (?P<thing_es>.+)$"
)
_SCOPE = re.compile(
    r" (?:(?:in|for) (?:this|the|our) (?:repo|repository|project|code ?base)|here|everywhere|anymore|any more)$"
)
_ORDER = re.compile(r"^(?P<word>always|never|don't|do not) (?P<rest>.+)$")
_ALWAYS: Final = frozenset({"always"})


class Relation(msgspec.Struct, frozen=True):
    """A finding beside memory. `entry` is the one it repeats or replaces, None when it is new."""

    standing: Standing
    entry: MemoryView | None


def relate(finding: Finding, memory: Sequence[MemoryView]) -> Relation:
    """Compare a finding with memory: the same text wins over the same key, the key over the frame."""
    wanted = plain(finding.text)
    for entry in memory:
        if plain(entry.text) == wanted:
            return Relation("same", entry)
    if finding.key is not None:
        key = normalize_key(finding.key)
        for entry in memory:
            if entry.key is not None and normalize_key(entry.key) == key:
                return Relation("instead", entry)
    turned = [entry for entry in memory if _turns_down(finding, entry.text)]
    if len(turned) == 1:
        return Relation("instead", turned[0])
    return Relation("new", None)


def plain(text: str) -> str:
    """A text as it is compared: case-folded, without punctuation at words' edges ("C++" stays) and
    without what only says that it lasts ("from now on", "always").
    """
    folded = text.casefold().strip()
    for language in LANGUAGES:
        folded = compiled(language.durable).sub("", folded.rstrip(_EDGES + " ")).strip()
    words = (word.strip(_EDGES) for word in folded.split())
    return " ".join(word for word in words if word)


def _turns_down(finding: Finding, held: str) -> bool:
    """Say whether a finding plainly says the opposite of a remembered text."""
    return _uses_what_is_turned_down(finding, held) or _opposite_order(finding.text, held)


def _uses_what_is_turned_down(finding: Finding, held: str) -> bool:
    """Say whether a held "We use npm." is met by "use pnpm, not npm"; "Use npm to publish." is not."""
    if not finding.turned_down:
        return False
    frame = _FRAME.match(_stripped(held))
    if frame is None:
        return False
    thing = next(part for part in frame.groupdict().values() if part is not None)
    return _SCOPE.sub("", thing) == _SCOPE.sub("", _stripped(finding.turned_down))


def _opposite_order(text: str, held: str) -> bool:
    """Say whether two orders are as "never use tabs" and "always use tabs"."""
    new, old = _ORDER.match(_stripped(text)), _ORDER.match(_stripped(held))
    if new is None or old is None or new["rest"] != old["rest"]:
        return False
    return (new["word"] in _ALWAYS) != (old["word"] in _ALWAYS)


def _stripped(text: str) -> str:
    words = (word.strip(_EDGES) for word in text.casefold().split())
    return " ".join(word for word in words if word)
