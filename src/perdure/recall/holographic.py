"""Holographic memory: facts as superposed bindings of key and value, in banks that grow with their number.

A fact is bound (key's phases plus value's phases) and added to the trace of the bank that its key's hash
names. To recall, the key is unbound from that one trace and the result compared with the values of that bank
(`phases.matched`). The score is about 1 for a stored key and 0 for any other, with a deviation that is known
beforehand, so "this key is not stored" is an answer. What is decoded is checked against the stored fact
before it is given out (R-02).

The number of banks follows from the number of facts, and facts move by linear hashing (Litwin 1980): one
bank splits, or the last one is merged, at a time. So a memory is a function of its facts, whatever the order
in which they came and whatever was forgotten in between. Traces can be kept as a cache (`pack`); they
decide nothing and are made anew from the facts whenever they do not fit.

Pure: no clock, no chance, no disk.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec
import numpy as np

from perdure.core.text import normalize_key
from perdure.recall.phases import (
    DIMENSIONS,
    ONE,
    Phases,
    Trace,
    acceptance,
    atoms,
    crosstalk,
    filler_scores,
    matched,
    record,
    superpose,
    token_hash,
)

LOAD = 24
"""Facts per bank on average. At 2,048 dimensions a stored key scores 13 deviations above an absent one."""
PACKED_FACTS_MIN = 16
"""Banks of fewer facts are not packed: making them again is cheap, and a fact never costs over 1 KB."""

_HEADER = struct.Struct("<4sHHIIIQ16s16s")
_MAGIC = b"PHM\n"
_FORMAT = 1
_DIGEST_BYTES = 16
_STEP = 8
"""Symbols come from words of eight bytes."""


class Decoded(msgspec.Struct, frozen=True):
    """What the trace says about a key; not checked against the facts.

    `score` is that of the best value, unnormalised; `z` is it in deviations of cross-talk; `margin` is its
    lead over the next value, or `score` where there is no other. `accepted`: the score is that of a stored
    key.
    """

    value: str | None
    score: float
    z: float
    margin: float
    accepted: bool


_NOTHING = Decoded(value=None, score=0.0, z=0.0, margin=0.0, accepted=False)


_Hashes = tuple[int, int]


class _Bank:
    """Facts whose keys' hashes lead here, and the trace of all of them."""

    __slots__ = ("facts", "trace")

    def __init__(self, dimensions: int) -> None:
        self.trace: Trace = np.zeros((2, dimensions), np.int16)
        self.facts: dict[str, _Hashes] = {}
        """Hashes of key and value, by the key in its compared form."""


class HolographicMemory:
    """One value per key; keys are compared by the one key rule (`normalize_key`)."""

    def __init__(
        self, facts: Mapping[str, str] | None = None, *, dimensions: int = DIMENSIONS, load: int = LOAD
    ) -> None:
        """Build from facts, key to value; of keys that are the same by the key rule the last one counts.

        Raises:
            ValueError: `dimensions` is not a positive multiple of 8, or `load` is not positive.

        """
        if dimensions <= 0 or dimensions % _STEP or load <= 0:
            found = f"found {dimensions} and {load}"
            raise ValueError(f"Dimensions are a multiple of {_STEP} and the load is at least 1; {found}.")
        self.dimensions = dimensions
        self.load = load
        self._values: dict[str, str] = {}
        self._banks = [_Bank(dimensions)]
        self._distribute(facts or {})
        for bank in self._banks:
            bank.trace = superpose(self._bound(bank.facts.values()))

    def __len__(self) -> int:
        return len(self._values)

    @property
    def banks(self) -> int:
        """The number of banks: facts / load, rounded up, and at least one."""
        return len(self._banks)

    @property
    def fullest(self) -> int:
        """The number of facts in the fullest bank."""
        return max(len(bank.facts) for bank in self._banks)

    def get(self, key: str) -> str | None:
        """Give the stored value of a key (R-01): a look-up, no decoding."""
        return self._values.get(normalize_key(key))

    def add(self, key: str, value: str) -> None:
        """Store a fact; an earlier value of the key is taken out first."""
        self.remove(key)
        name = normalize_key(key)
        bank, hashes = self._enter(name, value)
        bank.trace += superpose(self._bound([hashes]))
        if len(self._values) > self.load * len(self._banks):
            self._split()

    def remove(self, key: str) -> bool:
        """Take a fact out; False when the key is not stored. Traces are as if it had never been there."""
        name = normalize_key(key)
        if self._values.pop(name, None) is None:
            return False
        bank = self._banks[bank_of(token_hash(name, "key"), len(self._banks))]
        bank.trace -= superpose(self._bound([bank.facts.pop(name)]))
        if len(self._banks) > 1 and len(self._values) <= self.load * (len(self._banks) - 1):
            self._merge()
        return True

    def decode(self, key: str) -> Decoded:
        """Unbind a key from its bank and give the value that fits best, as the trace alone has it."""
        hashed = token_hash(normalize_key(key), "key")
        bank = self._banks[bank_of(hashed, len(self._banks))]
        if not bank.facts:
            return _NOTHING
        values = {valued: self._values[name] for name, (_, valued) in bank.facts.items()}
        asked = atoms([hashed], self.dimensions) + atoms(list(values), self.dimensions)
        scores = matched(bank.trace, asked)
        best = int(scores.argmax())
        score = float(scores[best])
        others = np.delete(scores, best)
        facts = len(bank.facts)
        return Decoded(
            value=list(values.values())[best],
            score=score,
            z=score / crosstalk(self.dimensions, facts),
            margin=score - float(others.max()) if others.size else score,
            accepted=score >= acceptance(self.dimensions, facts, len(values)),
        )

    def recall(self, key: str) -> Decoded:
        """Decode a key and check what came out against the stored fact (R-02).

        `value` is None, and `accepted` False, when the score is that of an absent key or when the facts do
        not bear the value out; the figures stay those of the trace.
        """
        found = self.decode(key)
        if found.accepted and found.value == self.get(key):
            return found
        return msgspec.structs.replace(found, value=None, accepted=False)

    def pack(self) -> bytes:
        """Give the traces as bytes: a header that binds dimensions, load and facts, then little int16.

        They hold no text. Banks of fewer than `PACKED_FACTS_MIN` facts are left out.
        """
        body = b"".join(bank.trace.astype("<i2").tobytes() for bank in self._banks if _is_packed(bank))
        return self._header(body) + body

    @classmethod
    def unpack(
        cls,
        data: bytes,
        facts: Mapping[str, str],
        *,
        dimensions: int = DIMENSIONS,
        load: int = LOAD,
    ) -> HolographicMemory | None:
        """Give the memory of these facts with the packed traces; None when they are not exactly its traces.

        That is so for another format, other dimensions or load, other facts, and for any damaged byte. Never
        raises for what `data` holds; `HolographicMemory(facts)` makes the same memory from the facts alone.
        """
        memory = cls(dimensions=dimensions, load=load)
        memory._distribute(facts)
        body = data[_HEADER.size :]
        if data[: _HEADER.size] != memory._header(body):
            return None
        size = 4 * dimensions
        packed = [bank for bank in memory._banks if _is_packed(bank)]
        if len(body) != size * len(packed):
            return None
        for number, bank in enumerate(packed):
            flat = np.frombuffer(body, "<i2", count=2 * dimensions, offset=number * size)
            bank.trace = flat.astype(np.int16).reshape(2, dimensions)
        for bank in memory._banks:
            if not _is_packed(bank):
                bank.trace = superpose(memory._bound(bank.facts.values()))
        return memory

    def _header(self, body: bytes) -> bytes:
        facts = blake2b(digest_size=_DIGEST_BYTES)
        for bank in self._banks:
            for hashes in sorted(bank.facts.values()):
                facts.update(struct.pack("<QQ", *hashes))
        return _HEADER.pack(
            _MAGIC,
            _FORMAT,
            ONE,
            self.dimensions,
            self.load,
            len(self._banks),
            len(self._values),
            facts.digest(),
            blake2b(body, digest_size=_DIGEST_BYTES).digest(),
        )

    def _distribute(self, facts: Mapping[str, str]) -> None:
        """Put facts into banks without touching traces."""
        named = {normalize_key(key): value for key, value in facts.items()}
        self._banks = [_Bank(self.dimensions) for _ in range(max(1, -(-len(named) // self.load)))]
        for name, value in named.items():
            self._enter(name, value)

    def _enter(self, name: str, value: str) -> tuple[_Bank, _Hashes]:
        """Note a fact that is new, everywhere but in the trace; give its bank and its hashes."""
        hashes = token_hash(name, "key"), token_hash(value, "value")
        bank = self._banks[bank_of(hashes[0], len(self._banks))]
        bank.facts[name] = hashes
        self._values[name] = value
        return bank, hashes

    def _split(self) -> None:
        """Add a bank and move to it what hashes there."""
        count = len(self._banks) + 1
        old, fresh = self._banks[_partner(len(self._banks))], _Bank(self.dimensions)
        self._banks.append(fresh)
        moving = [name for name, (hashed, _) in old.facts.items() if bank_of(hashed, count) == count - 1]
        fresh.facts = {name: old.facts.pop(name) for name in moving}
        fresh.trace = superpose(self._bound(fresh.facts.values()))
        old.trace -= fresh.trace

    def _merge(self) -> None:
        """Undo the last split."""
        last = self._banks.pop()
        old = self._banks[_partner(len(self._banks))]
        old.facts |= last.facts
        old.trace += last.trace

    def _bound(self, facts: Iterable[_Hashes]) -> Phases:
        both = np.array(list(facts), dtype=np.uint64).reshape(-1, 2)
        return atoms(both[:, 0], self.dimensions) + atoms(both[:, 1], self.dimensions)


def recall_field(facts: Mapping[str, str], entity: str, role: str) -> Decoded:
    """Recall one field of an entity whose facts have keys "entity/role", from one trace of all its fields.

    With `db/host` and `db/port` among the facts, the entity "db" is a record of two fields, and the role
    "port" is unbound from it. As with `HolographicMemory.recall`, `value` is None for a role that is not
    there, and what came out is checked against the facts.

    Raises:
        ValueError: the entity has more fields than a trace can hold.

    """
    start = f"{normalize_key(entity)}/"
    named = {normalize_key(key): value for key, value in facts.items()}
    fields = {key.removeprefix(start): value for key, value in named.items() if key.startswith(start)}
    if not fields:
        return _NOTHING
    asked, fillers = normalize_key(role), list(dict.fromkeys(fields.values()))
    scores = filler_scores(record(fields), asked, fillers)
    best = int(scores.argmax())
    score = float(scores[best])
    others = np.delete(scores, best)
    accepted = (
        score >= acceptance(DIMENSIONS, len(fields), len(fillers)) and fields.get(asked) == fillers[best]
    )
    return Decoded(
        value=fillers[best] if accepted else None,
        score=score,
        z=score / crosstalk(DIMENSIONS, len(fields)),
        margin=score - float(others.max()) if others.size else score,
        accepted=accepted,
    )


def bank_of(hashed: int, banks: int) -> int:
    """Give the bank of a key's hash among so many (linear hashing, Litwin 1980)."""
    level = 1 << (banks.bit_length() - 1)
    at = hashed & (2 * level - 1)
    return at if at < banks else at - level


def _partner(bank: int) -> int:
    """The bank that splits into this one, which is not the first."""
    return bank - (1 << (bank.bit_length() - 1))


def _is_packed(bank: _Bank) -> bool:
    return len(bank.facts) >= PACKED_FACTS_MIN
