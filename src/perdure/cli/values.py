"""Values of options: read strictly, and refused in words that say what is expected."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from perdure.config import DOLLARS_MAX, TOKENS_LIMIT_MAX

REVISION_MAX = 99_999_999
"""A revision's number has eight digits."""


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers from `least` to `most`, written with plain digits."""

    def read(value: str) -> int:
        plain = value.isascii() and value.isdigit() and len(value) <= len(str(most)) + 1
        if not plain or not least <= int(value) <= most:
            msg = f"{shown(value)} is not a whole number from {least:,} to {most:,}"
            raise argparse.ArgumentTypeError(msg)
        return int(value)

    return read


def dollars(value: str) -> float:
    """An amount of US dollars, such as 0.25."""
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not 0 <= found <= DOLLARS_MAX:  # false for nan
        msg = f"{shown(value)} is not an amount of dollars from 0 to {DOLLARS_MAX:,}"
        raise argparse.ArgumentTypeError(msg)
    return found


def shown(value: str, width: int = 40) -> str:
    """A value as it can stand in a message."""
    return repr(value if len(value) <= width else value[: width - 1] + "…")


tokens = whole(0, TOKENS_LIMIT_MAX)
revision = whole(1, REVISION_MAX)
rows = whole(1, REVISION_MAX)
