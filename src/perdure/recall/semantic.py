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
from perdure.recall.features import Features
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
_FREQUENT_PIECES = 1_996
"""BERT's vocabulary: what stands before are marks, unused places and single characters."""

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
    vector = unit(encoder.encode(texts).sum(0, keepdims=True))[0]
    states = encoder.token_states(told)
    rows = _quantise(states[1]) if states is not None and len(states[0]) else np.zeros((0, 0), np.int8)
    return Features(
        fingerprint=encoder.fingerprint,
        dimensions=len(vector),
        vector=vector.astype("<f2").tobytes(),
        state_dimensions=rows.shape[1],
        states=rows.tobytes(),
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
        self._rows[place] = unit(np.frombuffer(found.vector, "<f2").astype(np.float32)[None])[0]
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
        tokens = np.frombuffer(b"".join(each[1] for _, each in held), np.int8).reshape(-1, width)
        sizes = [len(each[1]) // width for _, each in held]
        starts = np.cumsum([0, *sizes[:-1]])
        best = np.maximum.reduceat(unit(states) @ unit(tokens.astype(np.float32)).T, starts, axis=1)
        weights = piece_weights(pieces)
        found[[at for at, _ in held]] = weights @ best / weights.sum()
        return found


def piece_weights(pieces: Sequence[int]) -> Floats:
    """Rarity of word pieces by their place in the vocabulary, above 0: ln(1 + place / 50) + 0.1."""
    places = np.maximum(np.asarray(pieces, np.float32) - _FREQUENT_PIECES, 0)
    weights: Floats = (np.log1p(places / 50) + 0.1).astype(np.float32)
    return weights


def nearest_word(asked: Iterable[Floats], held: Sequence[Floats]) -> list[float]:
    """For each vector that is asked for, the best cosine, at least 0, with one that is held."""
    if not held:
        return [0.0 for _ in asked]
    table = np.stack(list(held))
    return [max(0.0, float((table @ vector).max())) for vector in asked]


def _quantise(states: Floats) -> NDArray[np.int8]:
    """Rows as int8; each by its own largest number, as only directions count."""
    largest = np.maximum(np.abs(states).max(1, keepdims=True), np.float32(1e-12))
    rows: NDArray[np.int8] = np.round(np.nan_to_num(states / largest) * 127).astype(np.int8)
    return rows
