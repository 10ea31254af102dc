"""all-MiniLM-L6-v2 in plain NumPy: a BERT of 6 layers, mean pooled, unit length, 384 dimensions.

Sources: Wang et al., "MiniLM" (2020); Reimers and Gurevych, "Sentence-BERT" (2019); the model card of
sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). Weights come as tensors; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perdure.errors import ConfigError
from perdure.recall.wordpiece import TOKENS_MAX, WordPieces

LAYERS = 6
HEADS = 12
DIMENSIONS = 384
_BATCH = 16

Floats = NDArray[np.float32]
Tensors = Mapping[str, NDArray[Any]]


def unit(rows: Floats) -> Floats:
    """Give rows at unit length; a row of zeros stays as it is."""
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scaled: Floats = (rows / np.maximum(size, np.float32(1e-12))[:, None]).astype(np.float32)
    return scaled


class MiniLM:
    """The model, from weights that are int8 with scales, named as the ONNX export names them.

    `axes` (float32 [384, d]) are what token states are projected on. Raises `ConfigError` for tensors
    that are not those of this model.
    """

    def __init__(self, tensors: Tensors, pieces: WordPieces, axes: Floats) -> None:
        try:
            self._build(tensors)
        except (KeyError, ValueError, IndexError) as error:
            raise ConfigError("The encoder's weights are not those of all-MiniLM-L6-v2.") from error
        self._pieces = pieces
        self._axes = axes
        self._last: tuple[str, list[int], Floats] | None = None

    def encode(self, texts: Sequence[str]) -> Floats:
        """Encode texts as unit rows, float32 [texts, 384]."""
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        rows = [self._pieces.encode(text) for text in texts]
        by_length = sorted(range(len(rows)), key=lambda index: len(rows[index]))  # padding costs little
        for at in range(0, len(by_length), _BATCH):
            some = by_length[at : at + _BATCH]
            ids, mask = _pad([rows[index] for index in some])
            weight = mask.astype(np.float32)[..., None]
            hidden = self._hidden(ids, mask)
            found[some] = (hidden * weight).sum(1) / weight.sum(1)
            if len(texts) == 1:  # a question: its token states are asked for next
                self._last = texts[0], rows[0], hidden[0]
        return unit(found)

    def token_states(self, text: str) -> tuple[list[int], Floats]:
        """Ids of a text's pieces and their states on `axes`, float32 [pieces, d]; the marks are left out."""
        if self._last is not None and self._last[0] == text:
            _, row, hidden = self._last
        else:
            row = self._pieces.encode(text)
            hidden = self._hidden(*_pad([row]))[0]
        return row[1:-1], (hidden[1:-1] @ self._axes).astype(np.float32)

    def _build(self, tensors: Tensors) -> None:
        stem = "inner.embeddings."
        self._words = tensors[stem + "word_embeddings.weight_q"]
        scale = np.asarray(tensors[stem + "word_embeddings.weight_scale"], np.float32)
        self._word_scale = np.broadcast_to(scale.reshape(-1, 1), (len(self._words), 1))
        positions = _dense(tensors, stem + "position_embeddings.weight")
        self._places = positions[:TOKENS_MAX] + tensors[stem + "token_type_embeddings.weight"][0]
        self._norm = _pair(tensors, stem + "LayerNorm")
        names = (name for name in tensors if name.startswith("val_") and name.endswith("_q"))
        order = sorted(names, key=lambda name: int(name[4:-2]))
        dense = [_dense(tensors, name[:-2]) for name in order]
        self._layers = [_Layer(tensors, dense[6 * n : 6 * n + 6], n) for n in range(LAYERS)]

    def _hidden(self, ids: NDArray[np.int64], mask: NDArray[np.bool_]) -> Floats:
        """Last hidden states, [texts, tokens, 384]."""
        batch, length = ids.shape
        words = self._words[ids].astype(np.float32) * self._word_scale[ids]
        states = _normalise(words + self._places[:length], self._norm)
        bias = np.where(mask, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in self._layers:
            states = layer(states.reshape(-1, DIMENSIONS), bias, batch, length)
        return states.reshape(batch, length, DIMENSIONS)


class _Layer:
    """One layer of attention and feed-forward, each with its sum and norm after it."""

    def __init__(self, tensors: Tensors, dense: list[Floats], number: int) -> None:
        stem = f"inner.encoder.layer.{number}."
        parts = ("query", "key", "value")
        query, key, value, out, up, down = dense
        self._qkv = np.concatenate((query, key, value), axis=1)
        self._qkv_bias = np.concatenate([tensors[f"{stem}attention.self.{part}.bias"] for part in parts])
        self._out, self._out_bias = out, tensors[stem + "attention.output.dense.bias"]
        self._norm_attention = _pair(tensors, stem + "attention.output.LayerNorm")
        self._up, self._up_bias = up, tensors[stem + "intermediate.dense.bias"]
        self._down, self._down_bias = down, tensors[stem + "output.dense.bias"]
        self._norm_output = _pair(tensors, stem + "output.LayerNorm")
        whole = (DIMENSIONS, 3 * DIMENSIONS), (4 * DIMENSIONS, DIMENSIONS)
        if (self._qkv.shape, self._down.shape) != whole:
            raise ValueError(number)

    def __call__(self, flat: Floats, bias: Floats, batch: int, length: int) -> Floats:
        width = DIMENSIONS // HEADS
        together = (flat @ self._qkv + self._qkv_bias).reshape(batch, length, 3, HEADS, width)
        query, key, value = (together[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
        shares = query @ key.transpose(0, 1, 3, 2) * np.float32(width**-0.5) + bias
        shares -= shares.max(-1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ value).transpose(0, 2, 1, 3).reshape(-1, DIMENSIONS)
        middle = _normalise(flat + mixed @ self._out + self._out_bias, self._norm_attention)
        inner = _gelu(middle @ self._up + self._up_bias)
        return _normalise(middle + inner @ self._down + self._down_bias, self._norm_output)


def _pad(rows: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    length = max(map(len, rows))
    ids = np.zeros((len(rows), length), np.int64)
    mask = np.zeros((len(rows), length), np.bool_)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = True
    return ids, mask


def _dense(tensors: Tensors, name: str) -> Floats:
    weights: Floats = tensors[name + "_q"].astype(np.float32) * tensors[name + "_scale"]
    return weights


def _pair(tensors: Tensors, name: str) -> tuple[Floats, Floats]:
    return tensors[name + ".weight"], tensors[name + ".bias"]


def _normalise(states: Floats, weight_and_bias: tuple[Floats, Floats]) -> Floats:
    weight, bias = weight_and_bias
    centred = states - states.mean(-1, keepdims=True)
    square = np.einsum("...i,...i->...", centred, centred)[..., None] / states.shape[-1]
    scaled: Floats = centred / np.sqrt(square + np.float32(1e-12)) * weight + bias
    return scaled


def _gelu(x: Floats) -> Floats:
    """Multiply by the normal distribution function; erf by Abramowitz and Stegun 7.1.26 (error < 2e-7)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = t * (np.float32(factor) + tail)
    erf = np.copysign(1 - tail * np.exp(-z * z), x)
    curved: Floats = np.float32(0.5) * x * (1 + erf)
    return curved
