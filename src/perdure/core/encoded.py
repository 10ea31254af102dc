"""Encoded data in text: images, archives and the like as base64, which say nothing to a reader (E-02)."""

from __future__ import annotations

import re

DATA_REMOVED = "[data removed]"
"""Stands where encoded data or an unbroken run of characters was."""

_RUN_CHARS_MAX = 2000
_DATA_URL = re.compile(r"""data:[a-z]+/[a-z0-9.+-]+[;,][^\s"'()<>]*""", re.IGNORECASE)
_LONG_RUN = re.compile(r"[!-~]{256,}")
_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{256}")
_WRAPPED_DATA = re.compile(
    r"(?:^[ \t>|]*[A-Za-z0-9+/]{60,}={0,2}[ \t]*\r?\n){4,}(?:[ \t>|]*[A-Za-z0-9+/]+={0,2}[ \t]*$)?",
    re.MULTILINE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def remove_data(text: str) -> str:
    """Put a placeholder in the place of encoded data, which takes linear time.

    That is: data URLs, base64 of 256 characters and more, on one line or wrapped over several, and runs
    of more than 2,000 visible ASCII characters without a space. Lone surrogates become U+FFFD.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _DATA_URL.sub(DATA_REMOVED, text)
    text = _WRAPPED_DATA.sub(f"{DATA_REMOVED}\n", text)
    return _LONG_RUN.sub(lambda run: DATA_REMOVED if _is_data(run.group()) else run.group(), text)


def _is_data(run: str) -> bool:
    return len(run) > _RUN_CHARS_MAX or _ENCODED.search(run) is not None
