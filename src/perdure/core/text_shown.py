"""Which characters show nothing, and where one of those is part of ordinary writing.

Apart from `perdure.core.text`, which loads it for the first text that is not ASCII: its character sets cost a
cold command more than reading a memory does.
"""

from __future__ import annotations

import re

from perdure.core.secret_views import is_hidden

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


def first_hidden(text: str) -> int | None:
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


def without_hidden(text: str) -> str:
    """Give the text without what shows nothing; separators of lines and paragraphs become line ends."""
    return _SUSPECT.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    """Give what an evidence text keeps of a suspect character."""
    char = match.group()
    if char in "\u2028\u2029":
        return "\n"
    shows = not is_hidden(char) and char != "\u2800"
    return char if shows or _belongs(match.string, match.start()) else ""
