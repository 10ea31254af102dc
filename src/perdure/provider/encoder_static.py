"""The static encoder: always there, a table of 3.5 MB and no model.

Its rows are package data, mapped and not read, so that only those that a text needs come into memory.
Where they come from: `perdure.recall.static`, vocabulary/NOTICE.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.errors import ConfigError
from perdure.provider.encoder import FOLDER, vocabulary
from perdure.recall.tokens import reads_as_english

# NumPy and the table are loaded by the first text, not by whoever asks whether there is an encoder.
if TYPE_CHECKING:
    from perdure.recall.encoder import Floats
    from perdure.recall.static import StaticTable

ROWS_SHA256 = "5de66f066bae55beb9f0e7764172915eab2a93a63ab4e5e315f6f458fd1c8fb6"
"""Of static-rows.u4; a test compares them."""


class StaticEncoder:
    """Means of stored rows: 256 dimensions, English, some 0.05 ms for a text.

    Encoding raises `ConfigError` if the table is missing or has another size.
    """

    name = "static"
    fingerprint = f"static/{ROWS_SHA256[:16]}"
    dimensions = 256

    def __init__(self, rows: Path) -> None:
        self.path = rows

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, 256]."""
        return self._table.encode(texts)

    def reads(self, text: str) -> bool:
        """Whether it is English, or looks like it."""
        return reads_as_english(text)

    def token_states(self, text: str) -> None:  # noqa: ARG002 - the protocol's word
        """Give none: a row is the same in every context, so that it tells no more than the word."""
        return

    @cached_property
    def _table(self) -> StaticTable:
        import numpy as np

        from perdure.recall.static import ROW_BYTES, StaticTable

        try:
            rows = np.memmap(self.path, np.uint8, "r")
            table = rows.reshape(-1, ROW_BYTES)
        except (OSError, ValueError) as error:
            raise ConfigError(
                "The static encoder's table cannot be read.", advice="Install Perdure again."
            ) from error
        return StaticTable(table, vocabulary())


def static() -> StaticEncoder | None:
    """Give the static encoder, or None if NumPy is not installed. Loads nothing yet."""
    if find_spec("numpy") is None:
        return None
    return StaticEncoder(Path(str(FOLDER / "static-rows.u4")))
