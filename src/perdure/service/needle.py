"""Whether bytes hold a text: case, width, spaces and JSON escapes do not count."""

from __future__ import annotations

import re

from perdure.core.text import normalize_key

ESCAPE_LEVELS = 3
"""A proposal is a JSON text inside a decision, which is JSON; a copy of it may be quoted once more."""
CHARS_MIN = 4

_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\n", "t": "\t"}
_WORD = re.compile(r"[a-z0-9]+")


class Needle:
    """A text to be looked for."""

    def __init__(self, text: str) -> None:
        self.folded = folded(text).rstrip(".").rstrip()
        words = _WORD.findall(self.folded) if self.folded.isascii() else []
        self._word = max(words, key=len, default="")

    def in_text(self, text: str) -> bool:
        """Whether a text contains it."""
        return self.folded in folded(text)

    def in_bytes(self, data: bytes) -> bool:
        """Whether a file contains it, quoted or not."""
        text = data.decode("utf-8", "replace")
        if text.isascii() and "\\u" not in text and self._word not in text.lower():
            return False
        for _ in range(ESCAPE_LEVELS + 1):
            if self.in_text(text):
                return True
            plain = _ESCAPE.sub(_unescaped, text)
            if plain == text:
                return False
            text = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return False


def folded(text: str) -> str:
    """The one form in which texts are compared: that of keys (M-15)."""
    return " ".join(normalize_key(text).split())


def _unescaped(match: re.Match[str]) -> str:
    code, char = match.groups()
    return chr(int(code, 16)) if code else _PLAIN.get(char, char)
