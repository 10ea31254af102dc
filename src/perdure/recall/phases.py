"""The algebra of holographic memory: phases of one byte, binding that is exact, and the law of its errors.

A Fourier holographic reduced representation (FHRR; Plate 1995 and 2003, section "circular vectors") holds a
symbol as D unit phases. Here a phase is one byte: k stands for exp(2 pi i k / 256). So binding, the sum of
phases, is addition modulo 256, and unbinding is subtraction, both without any rounding. A *trace* is a sum of
bound symbols, with cosines and sines rounded to 127ths and kept as integers: what was added can be taken away
again, bit for bit, in any order.

Symbols are derived by a counter-based generator (SplitMix64; Steele, Lea and Flood 2014) from a keyed hash of
their token, so that no codebook is stored and every machine has the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Phases = NDArray[np.uint8]
"""[..., D] phases; one row is one symbol, or a product of symbols."""
Trace = NDArray[np.int16]
"""[2, D]: sums of cosines and of sines, in 127ths."""
Role = Literal["key", "value", "word", "gram", "role", "filler"]

DIMENSIONS = 2_048
ONE = 127
"""The length of one phase in a trace. 127 also fits a signed byte."""
BUNDLE_MAX = 32_767 // ONE
"""So many bound symbols fit into a trace of int16, whatever their phases (258).

Thousands do if they are as random as symbols are; errors set the limit long before (`predicted_accuracy`).
"""

_ANGLES = 2 * np.pi * np.arange(256) / 256
_COS = np.rint(ONE * np.cos(_ANGLES)).astype(np.int16)
_SIN = np.rint(ONE * np.sin(_ANGLES)).astype(np.int16)
_COS_UNIT = _COS.astype(np.float32) / np.float32(ONE)
_SIN_UNIT = _SIN.astype(np.float32) / np.float32(ONE)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_BYTES_PER_WORD = 8


def token_hash(token: str, role: Role) -> int:
    """Give 64 bits of a token (BLAKE2b). The same token in another role has bits of its own."""
    data = token.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8, person=role.encode()).digest(), "little")


def atoms(hashes: Sequence[int] | NDArray[np.uint64], dimensions: int = DIMENSIONS) -> Phases:
    """Give the phases [len(hashes), dimensions] of symbols: outputs 1, 2, ... of SplitMix64 in each hash.

    `dimensions` is a multiple of 8. Any prefix of a symbol's phases is that symbol at fewer dimensions.
    """
    counters = np.arange(1, dimensions // _BYTES_PER_WORD + 1, dtype=np.uint64) * _GAMMA
    states = np.asarray(hashes, dtype=np.uint64).reshape(-1, 1) + counters
    return _mixed(states).astype("<u8", copy=False).view(np.uint8)


def symbols(tokens: Sequence[str], role: Role, dimensions: int = DIMENSIONS) -> Phases:
    """Give the phases [len(tokens), dimensions] of tokens in one role."""
    return atoms([token_hash(token, role) for token in tokens], dimensions)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The output function of SplitMix64; works in place."""
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state


def superpose(bound: Phases) -> Trace:
    """Give the trace [2, D] of rows [n, D]. What is over int16 wraps, so that taking away is always exact."""
    return np.stack([_COS[bound].sum(0, dtype=np.int16), _SIN[bound].sum(0, dtype=np.int16)])


def weighted(phases: Phases, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the weighted sum [2 D] of rows [n, D], cosines before sines, in units."""
    return np.concatenate([weights @ _COS_UNIT[phases], weights @ _SIN_UNIT[phases]])


def matched(trace: Trace, bound: Phases) -> NDArray[np.float32]:
    """Give the score [n] of each row of bound phases against a trace: a matched filter.

    (1/D) Re sum(trace * conj(row)): 1 + N(0, M / 2D) for a row that is one of the M in the trace, and
    N(0, M / 2D) for one that is not. It is not normalised over the rows, so that none of them can win by
    being the least wrong.
    """
    real, imaginary = trace.astype(np.float32)
    scores: NDArray[np.float32] = _COS_UNIT[bound] @ real + _SIN_UNIT[bound] @ imaginary
    return scores / np.float32(ONE * bound.shape[-1])


# Records: several fields of one entity in one trace.


def record(fields: Mapping[str, str], dimensions: int = DIMENSIONS) -> Trace:
    """Bind each role of an entity to its filler and give the trace of all; at most `BUNDLE_MAX` fields.

    Records add up: that of all fields is the sum of those of each.

    Raises:
        ValueError: there are more fields than a trace can hold.

    """
    if len(fields) > BUNDLE_MAX:
        message = f"A record holds at most {BUNDLE_MAX} fields; found {len(fields)}. Split the entity."
        raise ValueError(message)
    roles, fillers = list(fields), list(fields.values())
    return superpose(symbols(roles, "role", dimensions) + symbols(fillers, "filler", dimensions))


def filler_scores(trace: Trace, role: str, candidates: Sequence[str]) -> NDArray[np.float32]:
    """Score candidates [n] for what fills a role of a record: about 1 for the right one, 0 for others."""
    dimensions = trace.shape[1]
    asked = symbols([role], "role", dimensions)
    return matched(trace, asked + symbols(candidates, "filler", dimensions))


# The law of errors.


def crosstalk(dimensions: int, facts: int) -> float:
    """Give the standard deviation of a score in a trace of so many facts: sqrt(M / 2D)."""
    return math.sqrt(facts / (2 * dimensions))


def predicted_accuracy(dimensions: int, facts: int, candidates: int) -> float:
    """Give the chance that the right one of V candidates has the highest score.

    P = integral of phi(h) Phi(h + s)^(V-1) dh with s = sqrt(2D / M), numerically: all the others must stay
    below the right one (Frady, Kleyko and Sommer 2018,
    "A theory of sequence indexing and working memory in recurrent neural networks").
    """
    separation = 1 / crosstalk(dimensions, facts)
    grid = np.linspace(-9.0, 9.0, 1_801)
    density = np.exp(-grid * grid / 2) / math.sqrt(2 * math.pi)
    below = np.array([_normal_above(-(x + separation)) for x in grid])
    return float(np.sum(density * below ** (candidates - 1)) * (grid[1] - grid[0]))


@lru_cache(maxsize=1_024)
def acceptance(dimensions: int, facts: int, candidates: int) -> float:
    """Give the score from which the best of V candidates is accepted.

    It is where a stored fact is missed as often as an absent key is taken for one: Q((1 - t) / sd) against
    V Q(t / sd), with sd from `crosstalk`.
    """
    deviation = crosstalk(dimensions, facts)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        missed = _normal_above((1 - middle) / deviation)
        if missed < candidates * _normal_above(middle / deviation):
            low = middle
        else:
            high = middle
    return high


def _normal_above(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2))
