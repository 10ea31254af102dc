"""Features and vectors: stored without text, read back only if whole and of this encoder."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from perdure.recall.engine import Document, Features, features, pack, unpack
from perdure.recall.features import FORMAT
from perdure.recall.semantic import FREQUENT_PIECES, Vectors, kept, nearest_word, piece_weights, unit
from tests.fake_encoder import WordEncoder


class StatesEncoder(WordEncoder):
    """Has a state for each word, along one axis for each first letter."""

    def token_states(self, text: str) -> tuple[Sequence[int], NDArray[np.float32]]:  # type: ignore[override]
        """Ids and axes of first letters."""
        places = [ord(word[0].lower()) % 8 for word in text.split()]
        return [2_000 + place for place in places], np.eye(8, dtype=np.float32)[places]


class SpreadEncoder(WordEncoder):
    """Has a state of many numbers for each word; a word of one character is a frequent piece."""

    def __init__(self, width: int) -> None:
        super().__init__(dimensions=384)
        self._width = width

    def token_states(self, text: str) -> tuple[Sequence[int], NDArray[np.float32]]:  # type: ignore[override]
        """Ids, and states of some length that do not depend on each other."""
        words = text.split()
        rows = [np.random.default_rng([len(word), *word.encode()]) for word in words]
        states = np.stack([3 * row.standard_normal(self._width) for row in rows]).astype(np.float32)
        return [1_000 if len(word) == 1 else FREQUENT_PIECES for word in words], states


DOCUMENT = Document(doc_id="1", key="deploy target", text="the cluster in Frankfurt")


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("encoder", [WordEncoder(), StatesEncoder()])
def test_features_come_back_whole_and_hold_no_text(encoder: WordEncoder) -> None:
    """What is packed is read back as it was; no word of the document stands in it."""
    found = features(DOCUMENT, encoder)
    packed = pack(found)
    assert unpack(packed, encoder.fingerprint) == found
    assert not any(word.encode() in packed for word in ("deploy", "target", "cluster", "Frankfurt"))
    assert len(found.vector) == encoder.dimensions


@pytest.mark.requirement("R-09")
@given(st.data())
def test_features_that_are_cut_longer_or_foreign_are_not_read(data: st.DataObject) -> None:
    """Other bytes than those of `pack` give nothing, and never an error. Whoever stores them proves them."""
    packed = pack(features(DOCUMENT, StatesEncoder()))
    place = data.draw(st.integers(0, len(packed) - 1))
    for broken in (packed[:place], packed + b"x", data.draw(st.binary(max_size=60))):
        assert unpack(broken, "words/1") is None
    changed = packed[:place] + bytes([packed[place] ^ data.draw(st.integers(1, 255))]) + packed[place + 1 :]
    found = unpack(changed, "words/1")
    assert found is None or len(found.vector) == found.dimensions


@pytest.mark.requirement("R-09")
def test_another_version_is_not_read() -> None:
    """The form before this one, with its own headline, and one that differs in its number alone."""
    packed = pack(features(DOCUMENT, StatesEncoder()))
    assert packed[1] == FORMAT
    assert unpack(packed[:1] + bytes([FORMAT + 1]) + packed[2:], "words/1") is None
    assert unpack(b"perdure-features\x00" + bytes(32) + packed, "words/1") is None


def test_features_that_do_not_fit_themselves_are_not_read() -> None:
    """Lengths have to agree with what they say."""
    whole = features(DOCUMENT, StatesEncoder())
    for wrong in (
        msgspec.structs.replace(whole, dimensions=3),
        msgspec.structs.replace(whole, dimensions=0, vector=b""),
        msgspec.structs.replace(whole, state_dimensions=0),
        msgspec.structs.replace(whole, state_dimensions=9),
    ):
        assert unpack(pack(wrong), whole.fingerprint) is None


@pytest.mark.requirement("R-09")
def test_what_is_stored_of_an_entry_is_small() -> None:
    """An entry of 16 word pieces as the packaged encoder has them: 32 bytes for each, and the vector."""
    found = features(Document(doc_id="1", text="word " * 16), SpreadEncoder(64))
    assert len(pack(found)) < 16 * 32 + 384 + 20


@pytest.mark.parametrize("width", [64, 63, 3])
def test_four_bits_keep_the_direction_of_a_state(width: int) -> None:
    """Each state that was stored points where it did, to a cosine of .98, also at an odd length."""
    encoder = SpreadEncoder(width)
    vectors = Vectors(encoder.fingerprint)
    document = Document(doc_id="1", text="one two three four five", speaker="user")
    vectors.add("1", features(document, encoder))
    pieces, states = encoder.token_states(document.text)
    near = [float(vectors.late(pieces[:1], states[at : at + 1], ["1"])[0]) for at in range(5)]
    assert min(near) > 0.98


def test_no_state_is_kept_of_marks_and_single_characters() -> None:
    """The states of a document are those of its pieces from the first whole word of the vocabulary on."""
    encoder = SpreadEncoder(64)
    vectors = Vectors(encoder.fingerprint)
    text = "a , apple b berry"
    vectors.add("1", features(Document(doc_id="1", text=text, speaker="user"), encoder))
    pieces, states = encoder.token_states(text)
    near = [float(vectors.late(pieces[:1], states[at : at + 1], ["1"])[0]) > 0.98 for at in range(5)]
    assert near == kept(pieces).tolist() == [False, False, True, False, True]
    vectors.add("2", features(Document(doc_id="2", text=", . a", speaker="user"), encoder))
    assert vectors.late(pieces, states, ["2"]).tolist() == [0.0]


def test_entries_have_four_views_and_evidence_one() -> None:
    """A keyed entry is encoded in four phrasings, a line of evidence as it was said; braces are text."""
    encoder = WordEncoder()
    features(DOCUMENT, encoder)
    features(Document(doc_id="2", text="no {key} here {text}"), encoder)
    assert len(encoder.encoded) == 8
    assert encoder.encoded[4] == "no {key} here {text}"
    features(Document(doc_id="3", text="as it was", speaker="user"), encoder)
    assert encoder.encoded[8:] == ["as it was"]


NAMES = st.sampled_from([f"d{number}" for number in range(6)])


@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=40))
def test_vectors_are_as_if_rebuilt(changes: list[tuple[str, bool]]) -> None:
    """Whatever was added and removed, each document has its own vector and no other is there."""
    encoder = WordEncoder()
    kept, present = Vectors(encoder.fingerprint), dict[str, Features]()
    for doc_id, stays in changes:
        if stays:
            present[doc_id] = features(Document(doc_id=doc_id, text=doc_id), encoder)
            kept.add(doc_id, present[doc_id])
        else:
            present.pop(doc_id, None)
            kept.remove(doc_id)
    assert sorted(kept.ids) == sorted(present)
    for doc_id in present:
        near = dict(zip(kept.ids, kept.cosines(encoder.encode([doc_id])[0]).tolist(), strict=True))
        assert max(near, key=lambda each: near[each]) == doc_id


def test_many_vectors_find_their_places() -> None:
    """The table grows as it must."""
    encoder = WordEncoder()
    vectors = Vectors(encoder.fingerprint)
    for number in range(200):
        vectors.add(str(number), features(Document(doc_id="x", text=f"word{number}"), encoder))
    assert len(vectors) == 200
    assert "7" in vectors
    assert vectors.ids[int(vectors.cosines(encoder.encode(["word150"])[0]).argmax())] == "150"


def test_late_interaction_is_the_weighted_mean_of_the_best_partners() -> None:
    """Each piece of a question counts by its rarity with its best piece of the document."""
    encoder = StatesEncoder()
    vectors = Vectors(encoder.fingerprint)
    for doc_id, text in {"1": "apple berry", "2": "berry"}.items():
        vectors.add(doc_id, features(Document(doc_id=doc_id, text=text, speaker="user"), encoder))
    pieces, states = encoder.token_states("apple berry")
    weights = piece_weights(pieces)
    found = vectors.late(pieces, states, ["1", "none", "2"])
    assert found.tolist() == pytest.approx([1.0, 0.0, float(weights[1] / weights.sum())], abs=1e-5)
    assert vectors.late([], np.zeros((0, 8), np.float32), ["1"]).tolist() == [0.0]
    assert vectors.late(pieces, np.ones((2, 5), np.float32), ["1"]).tolist() == [0.0]


def test_what_is_not_finite_becomes_nothing() -> None:
    """A vector with NaN or infinity compares as zeros, never as NaN."""
    rows = np.array([[np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0], [3.0, 4.0]], np.float32)
    wanted = np.array([[0, 1], [0, 0], [0, 0], [0.6, 0.8]], np.float32)
    assert np.allclose(unit(rows), wanted)
    assert nearest_word([np.ones(2, np.float32)], []) == [0.0]
