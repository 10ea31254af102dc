"""What text may enter memory, and how text is cleaned for evidence and for rendering (M-10, M-15, I-03)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from perdure.errors import TextRefused

ENTRY_CHARS_MAX = 800
KEY_CHARS_MAX = 120
FENCE_OPEN = "<perdure-memory>"
FENCE_CLOSE = "</perdure-memory>"

_LINE_ENDS = re.compile(r"\r\n?")
_BROKEN = re.compile(r"[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKS_MAX = 30
"""So many marks follow one letter at most (UAX 15, stream-safe text); sorting more takes quadratic time."""
_MARKS = re.compile(rf"[^\w\x00-\x7f]{{{_MARKS_MAX + 1},}}")


def normalize_key(key: str) -> str:
    """Give the form in which keys are compared (M-15): NFC, width and case folded, spaces collapsed.

    Only width variants are folded by compatibility; other characters keep their meaning. Idempotent.
    """
    narrow = "".join(map(_fold_width, unicodedata.normalize("NFC", key)))
    cased = unicodedata.normalize("NFD", unicodedata.normalize("NFD", narrow).casefold()).casefold()
    return " ".join(unicodedata.normalize("NFC", cased).split())


def _fold_width(char: str) -> str:
    if unicodedata.decomposition(char).startswith(("<wide>", "<narrow>")):
        return unicodedata.normalize("NFKC", char)
    return char


def check_entry_text(text: str) -> str:
    """Give the text as it is stored: NFC, line ends as LF, no white space around it.

    Raises `TextRefused` with code "encoding", "empty", "too-long" (over `ENTRY_CHARS_MAX` characters after
    NFC), "invisible", "secret", "fence" or "instruction". The message never repeats the text.
    """
    clean = _readable(text, "The text")
    if len(clean) > ENTRY_CHARS_MAX:
        message = f"The text has {len(clean)} characters; an entry holds at most {ENTRY_CHARS_MAX}."
        raise TextRefused(
            "too-long", message, advice="Shorten it, or split it into entries of one fact each."
        )
    from perdure.core.text_meaning import check_meaning

    check_meaning(clean, "The text")
    return clean


def check_key(key: str, *, reserved: bool = False) -> str:
    """Give the key as it is stored: NFC, one line, no white space around it; its spelling is kept.

    Raises `TextRefused` like `check_entry_text` (at most `KEY_CHARS_MAX` characters), and with code "line"
    for a key of several lines and "reserved" for a leading underscore unless `reserved` is set.
    """
    clean = _readable(key, "The key")
    if "\n" in clean or "\t" in clean:
        raise TextRefused(
            "line", "The key has line breaks or tabs; a key is one line.", advice="Use plain spaces."
        )
    if len(clean) > KEY_CHARS_MAX or len(normalize_key(clean)) > KEY_CHARS_MAX:
        message = f"The key has {len(clean)} characters; a key holds at most {KEY_CHARS_MAX}."
        raise TextRefused("too-long", message, advice="Use a shorter name and put the rest into the text.")
    if normalize_key(clean).startswith("_") and not reserved:
        message = "The key begins with an underscore; such keys are reserved."
        raise TextRefused("reserved", message, advice="Begin it with a letter.")
    from perdure.core.text_meaning import check_meaning

    check_meaning(clean, "The key")
    return clean


def _readable(text: str, what: str) -> str:
    """Normalise a text, refusing what is not plain readable characters."""
    text = _LINE_ENDS.sub("\n", text)
    found = _BROKEN.search(text) or _CONTROLS.search(text)
    if found is not None:
        message = f"{what} holds U+{ord(found.group()):04X} at position {found.start()}, which is not text."
        raise TextRefused(
            "encoding", message, advice="Remove it; only line breaks and tabs are allowed as controls."
        )
    if _unpiled(text) != text:
        message = f"{what} holds more than {_MARKS_MAX} accents or other marks in a row, which is not text."
        raise TextRefused("encoding", message, advice="Type it again without them.")
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise TextRefused("empty", f"{what} is empty.", advice="Say what to remember.")
    if text.isascii():
        return text
    from perdure.core.text_shown import first_hidden

    hidden = first_hidden(text)
    if hidden is not None:
        message = f"{what} holds U+{ord(text[hidden]):04X} at position {hidden}, which does not show."
        raise TextRefused("invisible", message, advice="Type the text again without invisible characters.")
    return text


def clean_evidence_text(text: str) -> str:
    """Give any text as evidence may hold it; never refuses.

    NFC; CR and CRLF as LF; lone surrogates and controls as U+FFFD; NUL, bidirectional and other invisible
    characters taken out, but for joiners where emoji and scripts need them, and of more than 30 marks in a
    row the rest. Idempotent.
    """
    text = _LINE_ENDS.sub("\n", text).replace("\x00", "")
    text = unicodedata.normalize("NFC", _unpiled(_CONTROLS.sub("\ufffd", _BROKEN.sub("\ufffd", text))))
    if text.isascii():
        return text
    from perdure.core.text_shown import without_hidden

    while (cleaner := unicodedata.normalize("NFC", _unpiled(without_hidden(text)))) != text:
        text = cleaner  # taking one out can leave its neighbour without what it joined
    return text


def _unpiled(text: str) -> str:
    """The text with at most `_MARKS_MAX` marks in a row."""
    return _MARKS.sub(lambda run: "".join(_first_marks(run.group())), text)


def _first_marks(run: str) -> Iterator[str]:
    row = 0
    for char in run:
        row = row + 1 if unicodedata.category(char).startswith("M") else 0
        if row <= _MARKS_MAX:
            yield char
