"""Make the table of the static encoder from the packaged model: `python -m tools.distil_static`.

The model (extra `recall`) encodes every word of its vocabulary, words that are put together from a word
and an ending, and sentences that are made of them (`tools.distil_texts`). Then, by ridge regression, each
piece gets the row for which the weighted mean of a text's rows comes nearest to the model's vector of the
text; a row that the texts say little about stays near the model's vector of the piece alone. The directions
that all texts share are taken away before, since they tell none apart, and of a row only its direction is
kept, four bits a number.

Nothing is drawn but from a fixed seed: on one machine with one NumPy the same bytes come out. Takes about ten
minutes of one processor; the model's vectors are kept in build/static, where a second run finds them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perdure.provider.encoder import packaged, vocabulary
from perdure.recall.semantic import four_bits, piece_weights, unit
from perdure.recall.static import DIMENSIONS, has_row
from perdure.recall.wordpiece import WordPieces
from tools.distil_texts import sentences

TARGET = Path("src/perdure/provider/vocabulary/static-rows.u4")
KEPT = Path("build/static")
SENTENCES = 50_000
HEADS = 5
"""With so many words each ending is put together."""
NEAR = 24
SHARED_DIRECTIONS = 6
"""Of the model's vectors, the first so many principal directions are taken away."""
RIDGE = 0.5
STEPS = 8
_COLUMNS = 32

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


class Bags:
    """Texts as weighted means of rows of their pieces: a linear map of rows to vectors, and its transpose."""

    def __init__(self, texts: Sequence[str], pieces: WordPieces, weights: Floats) -> None:
        found = [pieces.encode(text)[1:-1] for text in texts]
        ids = np.array([each for row in found for each in row], np.int64)
        lengths = np.array([len(row) for row in found])
        if not lengths.all():
            msg = "expected at least one word piece in each text; found a text with none."
            raise ValueError(msg)
        text_of = np.repeat(np.arange(len(texts)), lengths)
        self._ids, self._starts = ids, np.cumsum(lengths) - lengths
        self._shares = (weights[ids] / np.add.reduceat(weights[ids], self._starts)[text_of])[:, None]
        self._order = np.argsort(ids, kind="stable")
        self._text_of, self._count = text_of[self._order], len(weights)
        self._held, self._held_starts = np.unique(ids[self._order], return_index=True)

    def means(self, rows: Floats) -> Floats:
        """Vectors [texts, d] of rows [pieces, d]."""
        summed: Floats = np.add.reduceat(rows[self._ids] * self._shares, self._starts, axis=0)
        return summed

    def spread(self, vectors: Floats) -> Floats:
        """Transpose of `means`: rows [pieces, d] of vectors [texts, d]."""
        found = np.zeros((self._count, vectors.shape[1]), np.float32)
        shared = vectors[self._text_of] * self._shares[self._order]
        found[self._held] = np.add.reduceat(shared, self._held_starts, axis=0)
        return found


def learned(bags: Bags, wanted: Floats, start: Floats, *, ridge: float, steps: int) -> Floats:
    """Rows of least |means(rows) - wanted|^2 + ridge |rows - start|^2, by steps of conjugate gradients."""
    rows = start.copy()
    for at in range(0, start.shape[1], _COLUMNS):
        some = slice(at, at + _COLUMNS)
        left = bags.spread(wanted[:, some] - bags.means(start[:, some]))
        along, size = left.copy(), (left * left).sum(0)
        for _ in range(steps):
            through = bags.spread(bags.means(along)) + np.float32(ridge) * along
            far = size / np.maximum((along * through).sum(0), np.float32(1e-20))
            rows[:, some] += far * along
            left -= far * through
            before, size = size, (left * left).sum(0)
            along = left + size / np.maximum(before, np.float32(1e-20)) * along
    return rows


def nearest(vectors: Floats) -> NDArray[np.int32]:
    """For each row its `NEAR` nearest, itself among them: places [rows, NEAR]."""
    centred = unit(vectors - vectors.mean(0))
    found = np.zeros((len(vectors), NEAR), np.int32)
    for at in range(0, len(vectors), 1_000):
        table = -(centred[at : at + 1_000] @ centred.T)
        found[at : at + 1_000] = np.argpartition(table, NEAR, axis=1)[:, :NEAR]
    return found


def joined(pieces: Sequence[str], words: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Words that end in each piece that is an ending."""
    for piece in pieces:
        if piece.startswith("##"):
            yield from (chance.choice(words) + piece[2:] for _ in range(HEADS))


def main() -> int:
    """Make the table, say its digest; 1 if the model is not installed."""
    if packaged() is None:
        print('The model is not installed: pip install "perdure[recall]".')
        return 1
    pieces = vocabulary()
    held = np.array([place for place, piece in enumerate(pieces) if has_row(place, piece)])
    words = [pieces[place] for place in held if not pieces[place].startswith("##")]
    chance = random.Random(1)  # noqa: S311 - made again, not kept secret
    of_words = _encoded("words", words)
    endings = list(joined([pieces[place] for place in held], words, chance))
    texts = [*endings, *sentences(words, nearest(of_words), SENTENCES, chance), *words]
    wanted = np.vstack([_encoded("texts", texts[: -len(words)]), of_words])
    axes = np.linalg.svd(wanted.T @ wanted)[2][SHARED_DIRECTIONS : SHARED_DIRECTIONS + DIMENSIONS].T
    wanted = unit(wanted @ axes)
    start = np.zeros((len(pieces), DIMENSIONS), np.float32)
    start[[place for place in held if not pieces[place].startswith("##")]] = wanted[-len(words) :]
    bags = Bags(texts[: -len(words)], WordPieces(pieces), piece_weights(range(len(pieces))))
    rows = learned(bags, wanted[: -len(words)], start, ridge=RIDGE, steps=STEPS)
    data = four_bits(rows[held])
    TARGET.write_bytes(data)
    print(f"{TARGET}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")
    return 0


def _encoded(name: str, texts: Sequence[str]) -> Floats:
    """The model's vectors of texts, those that an earlier run kept if it was of the same texts."""
    encoder = packaged()
    if encoder is None:
        raise FileNotFoundError(name)
    digest = hashlib.sha256("\n".join([encoder.fingerprint, *texts]).encode()).hexdigest()
    path = KEPT / f"{name}-{digest[:16]}.npy"
    if path.exists():
        kept: Floats = np.load(path)
        return kept.astype(np.float32)
    found = encoder.encode(texts)
    KEPT.mkdir(parents=True, exist_ok=True)
    np.save(path, found.astype(np.float16))
    return found.astype(np.float16).astype(np.float32)


if __name__ == "__main__":
    raise SystemExit(main())
