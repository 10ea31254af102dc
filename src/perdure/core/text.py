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
_SUSPECT = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ue000-\uf8ff"
    "\U000110bd\U000110cd\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")
_FLAG = re.compile(
    "\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073))\U000e007f"
)
_JOINING = re.compile(
    "[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0710-\u07ff\u0840-\u085f\u0860-\u08ff\u0900-\u0dff\u0e80-\u0fff\u1000-\u109f"
    "\u1780-\u17d3\u1820-\u18aa\u1b00-\u1b4b\ua840-\ua8ff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff]"
)
_VS_BASE = re.compile("[\\#*0-9]")
_ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"
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
    hidden = _first_hidden(text)
    if hidden is not None:
        message = f"{what} holds U+{ord(text[hidden]):04X} at position {hidden}, which does not show."
        raise TextRefused("invisible", message, advice="Type the text again without invisible characters.")
    return text


def _first_hidden(text: str) -> int | None:
    """Give the place of the first character that shows nothing and has no business where it stands."""
    for match in _SUSPECT.finditer(text):
        if not _belongs(text, match.start()):
            return match.start()
    return None


def _belongs(text: str, at: int) -> bool:
    """Say whether a suspect character is part of ordinary writing at its place."""
    char = text[at]
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if char in _VISIBLE_FORMATS:
        return True
    if char in {_EMOJI_STYLE, _TEXT_STYLE}:
        return bool(_EMOJI.match(before) or (_VS_BASE.match(before) and after == _KEYCAP))
    if char == _ZWJ and _EMOJI.match(after):
        return bool(_EMOJI.match(before) or before == _EMOJI_STYLE)
    if char in {_ZWJ, _ZWNJ}:
        return bool(_JOINING.match(before) and (char == _ZWJ or _JOINING.match(after)))
    if "\U000e0060" < char <= "\U000e007f":
        start = text.rfind("\U0001f3f4", max(0, at - 6), at)
        flag = _FLAG.match(text, start) if start >= 0 else None
        return flag is not None and flag.end() > at
    return False


def clean_evidence_text(text: str) -> str:
    """Give any text as evidence may hold it; never refuses.

    NFC; CR and CRLF as LF; lone surrogates and controls as U+FFFD; NUL, bidirectional and other invisible
    characters taken out, but for joiners where emoji and scripts need them, and of more than 30 marks in a
    row the rest. Idempotent.
    """
    text = _LINE_ENDS.sub("\n", text).replace("\x00", "")
    text = unicodedata.normalize("NFC", _unpiled(_CONTROLS.sub("\ufffd", _BROKEN.sub("\ufffd", text))))
    while (cleaner := unicodedata.normalize("NFC", _unpiled(_without_hidden(text)))) != text:
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


def _without_hidden(text: str) -> str:
    return _SUSPECT.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    """Give what an evidence text keeps of a suspect character."""
    char = match.group()
    if char in "\u2028\u2029":
        return "\n"
    from perdure.core.secret_views import is_hidden

    shows = not is_hidden(char) and char != "\u2800"
    return char if shows or _belongs(match.string, match.start()) else ""
