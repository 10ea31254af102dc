"""Canonical bytes, digests and the envelope of records."""

from __future__ import annotations

import json
from typing import ClassVar

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.canonical import canonical, digest, digest_bytes, keyed_digest
from perdure.core.claim import Claim, Released
from perdure.core.record import Newer, Record, Unreadable, record_digest, seal, unseal
from perdure.core.sha256 import sha256_hex
from tests.core_values import branch, decision, entry, fate, job, reconciled, reserved, result

EXACT = 2**53 - 1
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
RECORDS = (
    job(),
    decision(job()),
    reserved(job()),
    result(reserved(job()), "invalid", correction='zwölf \u2028 \U0001f980 "quoted" \\ \x07'),
    reconciled(reserved(job())),
    fate(reserved(job()), "cancelled"),
    Claim(lane="0" * 32, ordinal=3, worker="w", token=""),
    Released(lane="0" * 32, ordinal=3, token=""),
    branch([entry("Use pnpm.", key="package manager"), entry("Größe", entry_id="f" * 16)]),
)


class Sample(Record, frozen=True, forbid_unknown_fields=True):
    """A small record with one field of each sort."""

    KIND = "sample"

    name: str
    count: int
    flag: bool
    rest: tuple[str, ...]
    maybe: str | None


class NewSample(Record, frozen=True, forbid_unknown_fields=True):
    """A later version of the same."""

    KIND = "sample"
    VERSION: ClassVar[int] = 2

    name: str


SAMPLES = st.builds(
    Sample,
    name=TEXTS,
    count=st.integers(-EXACT, EXACT),
    flag=st.booleans(),
    rest=st.lists(TEXTS, max_size=3).map(tuple),
    maybe=st.none() | TEXTS,
)
GOOD = Sample("a", 1, flag=True, rest=("b",), maybe=None)


def wrapped(body: str, kind: str = "sample", version: object = 1) -> bytes:
    """An envelope with a right digest around any body."""
    data = body.encode("utf-8", "surrogatepass")
    return b'{"body":%b,"digest":"%b","kind":"%b","version":%b}' % (
        data,
        digest_bytes(data).encode(),
        kind.encode(),
        str(version).encode(),
    )


@pytest.mark.requirement("M-04")
@given(VALUES)
def test_canonical_bytes_are_rfc_8785(value: object) -> None:
    """For everything that records hold, our bytes are those of the reference library."""
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]  # JSON by construction


@pytest.mark.requirement("M-04", "X-03")
@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).KIND)
def test_digests_are_sha_256_of_the_canonical_record(record: Record) -> None:
    """A record's digest can be computed by anyone from its JSON."""
    plain = json.loads(canonical(record))
    assert record_digest(record) == digest_bytes(rfc8785.dumps(plain)) == digest(record)


@given(st.binary(max_size=300))
def test_the_quick_digest_gives_the_same_digits(data: bytes) -> None:
    """What the turn-start path computes is what everything else computes."""
    assert sha256_hex(data) == digest_bytes(data)


@pytest.mark.requirement("M-12")
def test_a_keyed_digest_depends_on_key_and_text() -> None:
    """A tombstone's digest cannot be tried out without the home's key; lone surrogates do not break it."""
    assert keyed_digest(b"k", "text") != keyed_digest(b"j", "text")
    assert keyed_digest(b"k", "text") != keyed_digest(b"k", "other")
    assert len(keyed_digest(b"k", "\ud800")) == 64


@pytest.mark.requirement("X-03")
@given(SAMPLES)
def test_what_is_sealed_unseals_to_the_same(record: Sample) -> None:
    """Sealing and reading are inverse, and sealing again gives the same bytes."""
    data = seal(record)
    assert unseal(data, Sample) == record
    assert seal(unseal(data, Sample)) == data


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).KIND)
def test_every_record_of_the_core_survives_the_round_trip(record: Record) -> None:
    """Each kind that stands on disk is read back as it was written."""
    assert unseal(seal(record), type(record)) == record


@pytest.mark.requirement("M-13")
def test_every_damaged_byte_is_refused() -> None:
    """Whatever one byte becomes, the record is refused, and never read as another one."""
    data = seal(GOOD)
    for place in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[place] ^= 1 << bit
            with pytest.raises(Unreadable):
                unseal(bytes(broken), Sample)


@pytest.mark.requirement("M-13")
def test_every_truncation_and_every_appended_byte_is_refused() -> None:
    """A torn write is never a record, nor is one with something behind it."""
    data = seal(GOOD)
    for size in range(len(data)):
        with pytest.raises(Unreadable):
            unseal(data[:size], Sample)
    for more in (b" ", b"\n", b"}", b"\0", data):
        with pytest.raises(Unreadable):
            unseal(data + more, Sample)
        with pytest.raises(Unreadable):
            unseal(more + data, Sample)


@pytest.mark.requirement("M-13")
@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(data: bytes) -> None:
    """No bytes make the reader do anything but say that it cannot read them."""
    with pytest.raises(Unreadable):
        unseal(data, Sample)


REFUSED = {
    "a name twice": '{"count":1,"flag":true,"maybe":null,"name":"b","name":"a","rest":["b"]}',
    "NaN": '{"count":NaN,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "infinity": '{"count":Infinity,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a fraction": '{"count":1.5,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a whole fraction": '{"count":1.0,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "an exponent": '{"count":1e0,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a huge exponent": '{"count":1e400,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a number of 5000 digits": f'{{"count":{"9" * 5000},"flag":true,"maybe":null,"name":"a","rest":["b"]}}',
    "a leading zero": '{"count":01,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "minus zero": '{"count":-0,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "an unknown field": '{"count":1,"extra":1,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a missing field": '{"count":1,"flag":true,"maybe":null,"rest":["b"]}',
    "a wrong type": '{"count":"1","flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "another order": '{"flag":true,"count":1,"maybe":null,"name":"a","rest":["b"]}',
    "spaces": '{"count": 1,"flag":true,"maybe":null,"name":"a","rest":["b"]}',
    "a needless escape": '{"count":1,"flag":true,"maybe":null,"name":"\\u0061","rest":["b"]}',
    "a lone surrogate, escaped": '{"count":1,"flag":true,"maybe":null,"name":"\\ud800","rest":["b"]}',
    "a lone surrogate, raw": '{"count":1,"flag":true,"maybe":null,"name":"\ud800","rest":["b"]}',
    "an array": "[]",
    "null": "null",
    "deep nesting": "[" * 100_000,
    "closed deep nesting": '{"count":1,"flag":true,"maybe":null,"name":"a","rest":'
    + "[" * 5000
    + "]" * 5000
    + "}",
    "nothing": "",
}


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_a_body_that_seal_would_not_write_is_refused_though_its_digest_is_right(body: str) -> None:
    """The bytes have to be exactly what sealing writes, whoever computed the digest."""
    with pytest.raises(Unreadable) as caught:
        unseal(wrapped(body), Sample)
    assert not isinstance(caught.value, Newer)
    assert caught.value.reason


def test_the_helper_of_these_tests_wraps_a_good_body_well() -> None:
    """The refusals above are about the bodies: a good body in the same envelope is read."""
    assert unseal(wrapped(canonical(GOOD).decode()), Sample) == GOOD


@pytest.mark.requirement("X-08", "M-13")
def test_a_newer_version_is_held_and_not_called_damaged() -> None:
    """A record of a newer Perdure is told apart, so that it is never quarantined."""
    with pytest.raises(Newer, match="version 2"):
        unseal(seal(NewSample("a")), Sample)
    with pytest.raises(Unreadable) as caught:
        unseal(seal(GOOD), NewSample)
    assert not isinstance(caught.value, Newer)


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\0\0\0", "empty"),
        (b" \n", "empty"),
        (b"no", "truncated"),
        (b"\xff\xfe", "truncated"),
        (b"[" * 100_000, "truncated"),
        (seal(RECORDS[0]), "another kind of record stands here, 'sample' expected"),
        (wrapped("{}", version=1)[:-1] + b" }", "canonical"),
        (wrapped("{}", version='"1"'), "truncated"),
    ],
)
def test_the_reason_says_what_stands_there(data: bytes, reason: str) -> None:
    """The reason names what was found, and never shows content."""
    with pytest.raises(Unreadable) as caught:
        unseal(data, Sample)
    assert reason in caught.value.reason


@pytest.mark.requirement("M-13")
def test_a_changed_digest_is_a_mismatch() -> None:
    """Body and digest have to fit."""
    data = seal(GOOD)
    with pytest.raises(Unreadable, match="digest mismatch"):
        unseal(data.replace(b'"count":1', b'"count":2'), Sample)


def test_a_lone_surrogate_cannot_be_sealed() -> None:
    """What could not be read back is not written either."""
    with pytest.raises(UnicodeEncodeError):
        seal(msgspec.structs.replace(GOOD, name="\ud800"))
