"""A sentence vector without a model: the weighted mean of one stored row for each word piece.

The rows were learned once from all-MiniLM-L6-v2 (`tools/distil_static.py`), so that the mean of a text's
rows points where the model's vector of the text would. Frequent pieces say little: each row counts as the
rarity of its piece, which its place in the vocabulary tells (Arora et al., "A simple but tough-to-beat
baseline for sentence embeddings", 2017, weigh by frequency for the same reason).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perdure.errors import ConfigError
from perdure.recall.features import row_bytes
from perdure.recall.semantic import from_four_bits, piece_weights, unit
from perdure.recall.wordpiece import WordPieces

DIMENSIONS = 256
_FIRST_PIECE = 999
"""BERT's vocabulary: what stands before are marks and unused places."""

ROW_BYTES = row_bytes(DIMENSIONS)

Floats = NDArray[np.float32]
Rows = NDArray[np.uint8]


def has_row(place: int, piece: str) -> bool:
    """Say whether the piece at a place of the vocabulary has a row: one of plain Latin letters and digits."""
    bare = piece.removeprefix("##")
    return place >= _FIRST_PIECE and bare.isascii() and bare.isalnum()


class StaticTable:
    """Rows by piece, in the order of the vocabulary, as `semantic.four_bits` packs them: uint8 [pieces that
    have one, `ROW_BYTES`]. Only their directions count. Raises `ConfigError` for another number of rows.
    """

    def __init__(self, rows: Rows, vocabulary: Sequence[str]) -> None:
        held = [place for place, piece in enumerate(vocabulary) if has_row(place, piece)]
        if rows.shape != (len(held), ROW_BYTES):
            msg = f"The static encoder's table has the shape {rows.shape}, not {(len(held), ROW_BYTES)}."
            raise ConfigError(msg, advice="Install Perdure again.")
        self._rows = rows
        self._places: NDArray[Any] = np.full(len(vocabulary), -1, np.int32)
        self._places[held] = np.arange(len(held))
        self._weights = piece_weights(range(len(vocabulary)))
        self._pieces = WordPieces(vocabulary)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, `DIMENSIONS`]; zeros where no piece has a row."""
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            pieces = np.array(self.pieces(text), np.int64)
            pieces = pieces[self._places[pieces] >= 0]
            rows = from_four_bits(self._rows[self._places[pieces]].tobytes(), DIMENSIONS)
            found[place] = self._weights[pieces] @ unit(rows)
        return unit(found)

    def pieces(self, text: str) -> list[int]:
        """Ids of a text's pieces."""
        return self._pieces.encode(text)[1:-1]
