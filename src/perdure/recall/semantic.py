"""Vectors of documents: how they are made, kept, compared, and compared again word piece by word piece.

Loaded by the first search that has an encoder. A keyed entry is encoded in four plain phrasings and the
mean of them is kept: one phrasing alone ranks by its own wording. Late interaction (Khattab and Zaharia,
"ColBERT", 2020) asks of each word piece of a question how well its best partner in a document fits; pieces
weigh by rarity, which the place in the encoder's vocabulary tells (it is ordered by frequency), so that the
weight of a piece does not depend on what else is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from perdure.recall.encoder import Encoder
from perdure.recall.features import Features, row_bytes
from perdure.recall.found import Document

KEYED_VIEWS = (
    "{key}: {text}",
    "The {key} is {text}.",
    "What is the {key}? {text}",
    "In this project, the {key}: {text}",
)
PLAIN_VIEWS = ("{text}", "In this project: {text}", "Note: {text}", "What is known here? {text}")
EVIDENCE_VIEWS = ("{text}",)

_ROWS_MIN = 64
FREQUENT_PIECES = 1_996
"""BERT's vocabulary: what stands before are marks, unused places and single characters."""

_HALF = 7
"""Four bits hold -7 to 7, stored from 1 to 15."""

_CLIPS = (1.0, 0.85, 0.7, 0.6, 0.5)
"""Shares of a row's largest number that may become the largest of four bits."""

Floats = NDArray[np.float32]


def compute(document: Document, encoder: Encoder) -> Features:
    """Encode one document: entries (no `speaker`) in four views, evidence as it is."""
    views: tuple[str, ...]
    if document.speaker:
        views, told = EVIDENCE_VIEWS, document.text
    elif document.key:
        views, told = KEYED_VIEWS, f"{document.key}: {document.text}"
    else:
        views, told = PLAIN_VIEWS, document.text
    texts = [view.replace("{key}", document.key or "").replace("{text}", document.text) for view in views]
    vector = _eight_bits(unit(encoder.encode(texts).sum(0, keepdims=True))[0])
    states = encoder.token_states(told)
    held = np.zeros((0, 0), np.float32) if states is None else states[1][kept(states[0])]
    return Features(
        fingerprint=encoder.fingerprint,
        dimensions=len(vector),
        vector=vector.tobytes(),
        state_dimensions=held.shape[1] if len(held) else 0,
        states=four_bits(held),
    )


def unit(rows: Floats) -> Floats:
    """Give rows at unit length; a row of zeros, or one that is not finite, becomes zeros."""
    clean = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    size = np.sqrt(np.einsum("ij,ij->i", clean, clean))
    scaled: Floats = (clean / np.maximum(size, np.float32(1e-12))[:, None]).astype(np.float32)
    return scaled


class Vectors:
    """Features of one encoder, by document: added and removed in constant time.

    What has another fingerprint, or another length than the first, is left out: it is found by its words.
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.ids: list[str] = []
        self._places: dict[str, int] = {}
        self._rows: Floats = np.zeros((0, 0), np.float32)
        self._states: dict[str, tuple[int, bytes]] = {}

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._places

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, doc_id: str, found: Features) -> None:
        """Take in the features of a document, or replace them."""
        self.remove(doc_id)
        if found.fingerprint != self.fingerprint:
            return
        place = len(self.ids)
        if not place:
            self._rows = np.zeros((_ROWS_MIN, found.dimensions), np.float32)
        elif found.dimensions != self._rows.shape[1]:
            return
        if place == len(self._rows):
            self._rows = np.concatenate((self._rows, np.zeros_like(self._rows)))
        self._rows[place] = unit(np.frombuffer(found.vector, np.int8).astype(np.float32)[None])[0]
        self.ids.append(doc_id)
        self._places[doc_id] = place
        if found.states:
            self._states[doc_id] = found.state_dimensions, found.states

    def remove(self, doc_id: str) -> None:
        """Take a document out; the last one takes its place."""
        place = self._places.pop(doc_id, None)
        if place is None:
            return
        self._states.pop(doc_id, None)
        last = self.ids.pop()
        if last != doc_id:
            self._rows[place] = self._rows[len(self.ids)]
            self.ids[place] = last
            self._places[last] = place

    def compares(self, question: Floats) -> bool:
        """Say whether a vector can be compared with those that are here; False if none are."""
        return bool(self.ids) and question.shape[0] == self._rows.shape[1]

    def cosines(self, question: Floats) -> Floats:
        """Cosine of a unit vector [dimensions] with every document, in the order of `ids`."""
        if not self.compares(question):
            return np.zeros(len(self.ids), np.float32)
        near: Floats = self._rows[: len(self.ids)] @ question
        return near

    def late(self, pieces: Sequence[int], states: Floats, doc_ids: Sequence[str]) -> Floats:
        """Late interaction with each of these documents, -1 to 1; 0 for one without states.

        `pieces` and `states` [pieces, d] are those of the question.
        """
        found = np.zeros(len(doc_ids), np.float32)
        held = [(at, self._states[doc_id]) for at, doc_id in enumerate(doc_ids) if doc_id in self._states]
        width = states.shape[1] if len(pieces) else 0
        held = [(at, each) for at, each in held if each[0] == width]
        if not held or not width:
            return found
        tokens = from_four_bits(b"".join(each[1] for _, each in held), width)
        sizes = [len(each[1]) // row_bytes(width) for _, each in held]
        starts = np.cumsum([0, *sizes[:-1]])
        best = np.maximum.reduceat(unit(states) @ unit(tokens).T, starts, axis=1)
        weights = piece_weights(pieces)
        found[[at for at, _ in held]] = weights @ best / weights.sum()
        return found


def piece_weights(pieces: Sequence[int]) -> Floats:
    """Rarity of word pieces by their place in the vocabulary, above 0: ln(1 + place / 50) + 0.1."""
    places = np.maximum(np.asarray(pieces, np.float32) - FREQUENT_PIECES, 0)
    weights: Floats = (np.log1p(places / 50) + 0.1).astype(np.float32)
    return weights


def nearest_word(asked: Iterable[Floats], held: Sequence[Floats]) -> list[float]:
    """For each vector that is asked for, the best cosine, at least 0, with one that is held."""
    if not held:
        return [0.0 for _ in asked]
    table = np.stack(list(held))
    return [max(0.0, float((table @ vector).max())) for vector in asked]


def kept(pieces: Sequence[int]) -> NDArray[np.bool_]:
    """Say of each piece of a document whether its state is kept: if it is no mark and no single character.

    These were a quarter of all states. Their partners in a question weigh nearly nothing.
    """
    rare: NDArray[np.bool_] = np.asarray(pieces) >= FREQUENT_PIECES
    return rare


def _eight_bits(vector: Floats) -> NDArray[np.int8]:
    """A vector by its own largest number, as only its direction counts."""
    largest = np.maximum(np.abs(vector).max(initial=0), np.float32(1e-12))
    row: NDArray[np.int8] = np.round(vector / largest * 127).astype(np.int8)
    return row


def four_bits(rows: Floats) -> bytes:
    """Rows, each at the one of a few scales that keeps its direction best; two numbers in a byte."""
    clean = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    largest = np.maximum(np.abs(clean).max(1, keepdims=True, initial=0), np.float32(1e-12))
    tries = np.stack([np.clip(np.round(clean / (largest * clip) * _HALF), -_HALF, _HALF) for clip in _CLIPS])
    agreed = np.einsum("tij,ij->ti", tries, clean) / np.maximum(np.linalg.norm(tries, axis=2), 1)
    best = tries[agreed.argmax(0), np.arange(len(clean))]
    even = np.pad(best, ((0, 0), (0, best.shape[1] % 2))).astype(np.int8) + (_HALF + 1)
    return ((even[:, 0::2] << 4) | even[:, 1::2]).astype(np.uint8).tobytes()


def from_four_bits(data: bytes, width: int) -> Floats:
    """What `four_bits` was given, in whole numbers: float32 [rows, width]."""
    pairs = np.frombuffer(data, np.uint8).reshape(-1, row_bytes(width))
    numbers = np.stack((pairs >> 4, pairs & 15), axis=2).reshape(len(pairs), 2 * pairs.shape[1])[:, :width]
    return numbers.astype(np.float32) - np.float32(_HALF + 1)
