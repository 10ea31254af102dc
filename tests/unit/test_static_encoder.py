"""The static encoder: a mean of stored rows, always there, small, and the one that the tool makes."""

from __future__ import annotations

import hashlib
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ConfigError
from perdure.provider.encoder import FOLDER, vocabulary
from perdure.provider.encoder_static import ROWS_SHA256, StaticEncoder, static
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features, search
from perdure.recall.semantic import four_bits, piece_weights
from perdure.recall.static import StaticTable, has_row
from perdure.recall.wordpiece import WordPieces
from tests.quality import recall_own
from tools.distil_static import Bags, learned
from tools.distil_texts import FRAMES, WORDS, sentences

ROWS = Path(str(FOLDER / "static-rows.u4"))
ROWS_BYTES_MAX = 4_000_000
ENCODER = StaticEncoder(ROWS)
SMALL = ["[UNK]", "[CLS]", "[SEP]", *(f"[unused{number}]" for number in range(996)), "cat", "##s", "é"]


@pytest.mark.requirement("R-04")
def test_the_table_is_the_one_that_is_named_and_small() -> None:
    """Vectors of two tables are never compared, since the fingerprint is of the bytes."""
    data = ROWS.read_bytes()
    assert hashlib.sha256(data).hexdigest() == ROWS_SHA256
    assert ROWS_SHA256[:16] in ENCODER.fingerprint
    assert len(data) <= ROWS_BYTES_MAX


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("how do I check that nothing is broken?", "run the test suite", "the office is closed on Friday"),
        ("who gets woken up at night?", "the on-call engineer sleeps with a pager", "the logo is dark blue"),
        ("what does it cost?", "the price is 20 euros", "the parser reads a line"),
        ("which language is it in?", "written in Python", "the bill is due in March"),
    ],
)
def test_the_static_encoder_knows_meanings(question: str, near: str, far: str) -> None:
    """A question is nearer to its answer in other words than to another sentence."""
    rows = ENCODER.encode([question, near, far])
    assert float(rows[0] @ rows[1]) > float(rows[0] @ rows[2]) + 0.05


@pytest.mark.requirement("R-04")
def test_an_entry_in_other_words_is_found_by_the_static_encoder() -> None:
    """The whole search, with nothing in common between question and entry that words alone could find."""
    corpus = Corpus()
    encoder: Encoder = ENCODER
    for doc_id, key, text in (
        ("a", "holiday", "closed in August"),
        ("b", "money", "invoices are due in a month"),
    ):
        document = Document(doc_id=doc_id, key=key, text=text)
        corpus.add(document, features(document, encoder))
    answer = search(corpus, "when do customers pay their bills?", encoder=encoder)
    assert [hit.doc_id for hit in answer.hits or answer.nearest][:1] == ["b"]
    assert not search(corpus, "when do customers pay their bills?").hits


@pytest.mark.requirement("R-04")
def test_the_static_encoder_answers_no_less_than_words_alone() -> None:
    """Right answers to questions that share words with a fact, as shipped; and more to looser questions."""
    own = recall_own.read()
    given = []
    for encoder in (None, ENCODER):
        corpus = own.corpus(encoder)
        hits = [
            [search(corpus, fact.queries[kind], limit=1, encoder=encoder).hits for fact in own.facts]
            for kind in (0, 1)
        ]
        right = [[each[0].doc_id == str(at) for at, each in enumerate(kind) if each] for kind in hits]
        given.append([sum(kind) for kind in right])
    (close, loose), (static_close, static_loose) = given
    assert static_close >= close
    assert static_loose > 1.2 * loose


@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_text_has_a_row_of_unit_length_or_of_zeros(texts: list[str]) -> None:
    """A text has the same vector alone and among others; one without a known piece has zeros."""
    rows = ENCODER.encode(texts)
    assert rows.shape == (len(texts), ENCODER.dimensions)
    for text, row in zip(texts, rows, strict=True):
        assert float(np.linalg.norm(row)) == pytest.approx(1, abs=1e-5) or not row.any()
        assert (ENCODER.encode([text])[0] == row).all()
        assert row.any() or not (text.isascii() and any(char.isalpha() for char in text))


def test_the_mean_is_weighted_by_rarity() -> None:
    """The vector of two pieces is nearly the row of the rare one; the frequent one hardly turns it."""
    frequent, rare, both = ENCODER.encode(["the", "turbine", "the turbine"])
    assert 0.99 < float(both @ rare) < 1 - 1e-6
    assert float(frequent @ rare) < 0.9


def test_a_table_that_is_missing_or_torn_is_said(tmp_path: Path) -> None:
    """The message says what to do; nothing is answered from a part of a table."""
    for content in (None, b"", b"x" * 127, b"x" * 1_280):
        path = tmp_path / "rows.u4"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match="static encoder's table") as raised:
            StaticEncoder(path).encode(["x"])
        assert "Install Perdure again" in raised.value.advice


def test_which_pieces_have_rows() -> None:
    """Pieces of plain letters and digits; the rows stand in the order of the vocabulary."""
    assert [piece for place, piece in enumerate(SMALL) if has_row(place, piece)] == ["cat", "##s"]
    rows = np.frombuffer(four_bits(np.eye(2, 256, dtype=np.float32)), np.uint8).reshape(2, -1)
    table = StaticTable(rows, SMALL)
    cat, cats, nothing = table.encode(["cat", "cats", "é"])
    assert cat[:2].tolist() == [1, 0]
    assert cats[:2].tolist() == pytest.approx([2**-0.5, 2**-0.5], abs=0.01)
    assert not nothing.any()
    assert sum(has_row(place, piece) for place, piece in enumerate(vocabulary())) * 128 == ROWS.stat().st_size


def test_rows_are_learned_from_what_texts_should_give() -> None:
    """Where the texts decide, the rows give their vectors back; a piece in no text keeps its start."""
    chance = np.random.default_rng(1)
    weights = piece_weights(range(1_990, 1_990 + len(SMALL)))[: len(SMALL)]
    bags = Bags(["cat", "cats", "cat cat cats"], WordPieces(SMALL), weights)
    true = chance.standard_normal((len(SMALL), 8)).astype(np.float32)
    start = np.zeros_like(true)
    start[0] = 7.0
    rows = learned(bags, bags.means(true), start, ridge=1e-6, steps=20)
    assert np.allclose(bags.means(rows), bags.means(true), atol=1e-3)
    assert (rows[0] == 7.0).all()
    vectors = chance.standard_normal((3, 8)).astype(np.float32)
    assert float((bags.means(true) * vectors).sum()) == pytest.approx(
        float((true * bags.spread(vectors)).sum()), rel=1e-4
    ), "each map is the transpose of the other"
    with pytest.raises(ValueError, match="at least one word piece"):
        Bags([""], WordPieces(SMALL), weights)


def test_the_same_seed_makes_the_same_sentences() -> None:
    """No mark is left in one, and both own words and those of the vocabulary are in them."""
    words = ["zeppelin", "quark", "obelisk"]
    near = np.array([[1, 2], [0, 2], [0, 1]], np.int32)
    one, other = ([*sentences(words, near, 200, random.Random(3))] for _ in range(2))
    assert one == other
    assert not any("{" in each for each in one)
    assert any("quark" in each for each in one)
    own = list(itertools.chain(*WORDS.values()))
    assert any(word in each for each in one for word in own if len(word) > 8)
    assert len(set(FRAMES)) == len(FRAMES)


def test_nothing_is_loaded_before_the_first_text() -> None:
    """Who only asks whether there is an encoder waits for no table, not even for a missing one."""
    assert static() is not None
    assert StaticEncoder(Path("missing")).reads("hello")
    assert not StaticEncoder(Path("missing")).reads("数据库")
    encoder: Encoder = StaticEncoder(Path("missing"))
    assert encoder.token_states("x") is None
