"""Hypothesis strategies for the inputs of a target: bytes, hard texts, and mutated seeds."""

from __future__ import annotations

import functools
import random

from hypothesis import strategies as st

from tests.fuzz.corpus import inputs
from tests.fuzz.hard import texts
from tests.fuzz.mutation import change_bytes
from tests.fuzz.target import Target

_CHANGES_MAX = 6
_SEED_BYTES_MAX = 16_384


@functools.cache
def _seeds(target: Target) -> tuple[bytes, ...]:
    found = sorted(
        {data for _, data in inputs(target) if len(data) <= _SEED_BYTES_MAX}, key=lambda one: (len(one), one)
    )
    return tuple(found)


def inputs_of(target: Target) -> st.SearchStrategy[bytes]:
    """Inputs for a target, most of them seeds that were changed a few times."""
    pieces = st.lists(st.text(max_size=8) | st.sampled_from(sorted(texts(8).values())), max_size=12)
    written = pieces.map(lambda some: "".join(some).encode("utf-8", "surrogatepass"))
    seeds = _seeds(target)
    changed = st.builds(
        lambda place, seed, count: _changed(target, seeds[place % len(seeds)], seed, count),
        st.integers(0, len(seeds) - 1),
        st.integers(0, 2**32 - 1),
        st.integers(0, _CHANGES_MAX),
    )
    return st.one_of(changed, changed, changed, written, st.binary(max_size=64))


def _changed(target: Target, data: bytes, seed: int, count: int) -> bytes:
    chance = random.Random(seed)
    for _ in range(count):
        data = (target.mutate or change_bytes)(data, chance)
    return data
