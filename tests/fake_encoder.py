"""An encoder for tests: words are hashed into a few dimensions, so that texts with the same words agree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64


class WordEncoder:
    """Deterministic; keeps what it was asked to encode. `meaning` maps words to others of one sense."""

    def __init__(
        self,
        fingerprint: str = "words/1",
        *,
        meaning: dict[str, str] | None = None,
        before: Callable[[], None] = lambda: None,
        dimensions: int = DIMENSIONS,
    ) -> None:
        self.name, self.fingerprint, self.dimensions = "words", fingerprint, dimensions
        self.encoded: list[str] = []
        self.unread: Callable[[str], bool] = lambda _text: False
        self._meaning, self._before = meaning or {}, before

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows of unit length."""
        self._before()
        self.encoded += texts
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                rows[place] += self._vector(self._meaning.get(word, word))
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        found: NDArray[np.float32] = (rows / np.maximum(length, 1e-9)).astype(np.float32)
        return found

    def reads(self, text: str) -> bool:
        """Any text that `unread` does not say."""
        return not self.unread(text)

    def token_states(self, text: str) -> None:
        """Give none."""
        del text

    def _vector(self, word: str) -> NDArray[np.float32]:
        seed = hashlib.sha256(f"{self.fingerprint} {word}".encode()).digest()
        return np.random.default_rng(list(seed)).standard_normal(self.dimensions).astype(np.float32)
