"""What a search by words compares: any alphabet, compounds, names with marks, and no word lost or changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.lexical import Postings
from perdure.recall.tokens import (
    content_words,
    fold,
    grams,
    hard_terms,
    mostly_latin,
    named_terms,
    reads_as_english,
    spelt_terms,
    terms,
)


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("天气", "东京的天气很好"),
        ("猫", "我有一只猫"),
        ("テスト", "テストコマンド"),
        ("базы данных", "База данных: PostgreSQL"),
        ("ПРИВЕТ", "привет"),
        ("cafe", "CAFÉ"),
        ("Ｄｅｐｌｏｙ", "deploy"),
        ("🚀", "release 🚀 day"),
        ("user name", "getUserName"),
        ("line_length", "line length"),
        ("deploying", "deployed"),
        ("서울", "서울의 날씨"),
    ],
)
def test_the_same_word_matches_in_any_alphabet_and_form(asked: str, held: str) -> None:
    """Case, width, accents, stems, compounds and scripts without spaces do not hide a word."""
    assert set(terms(asked)) & set(terms(held))


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize("name", ["C++", "C#", "F#", "c++"])
def test_a_name_with_a_mark_is_not_its_letter(name: str) -> None:
    """C++ is found as C++ and is never C, nor is C ever C++."""
    assert terms(name) == [name.lower()]
    assert not set(terms("the C compiler")) & set(terms(f"the {name} linker"))
    assert name.lower() in terms(f"written in {name}, mostly")


def test_function_words_are_no_terms() -> None:
    """A question's frame is not compared, only what it asks about."""
    assert terms("What is the name of it?") == ["name"]
    assert content_words("What is THE deploy target, the target?") == ["deploy", "target"]


def test_terms_remember_how_they_were_spelt() -> None:
    """Reasons are told in the words of the question."""
    assert spelt_terms("Deploying Ünits")[:2] == [("Deploying", "deploy"), ("Ünits", "unit")]


def test_names_are_told_from_beginnings_of_sentences() -> None:
    """A capital at the start of a sentence makes no name; one inside, or two in a word, does."""
    assert named_terms("Which port does Redis use? Ask Anna. HTTPServer is old") == [
        "redis",
        "anna",
        "httpserver",
    ]
    assert named_terms("May I go? I may.") == []
    assert hard_terms("does port 8080 use C++ with Redis?") == ["8080", "c++", "redi"]


def test_latin_is_told_from_other_alphabets() -> None:
    """Half of the letters decide; a question of digits and marks counts as Latin."""
    assert mostly_latin("naïve café")
    assert mostly_latin("42?")
    assert not mostly_latin("какой порт у redis")
    assert not mostly_latin("部署 x")


@given(st.text(max_size=80))
def test_any_text_has_the_same_terms_again(text: str) -> None:
    """No text is too strange, and terms depend on nothing but the text."""
    assert terms(text) == terms(text)
    assert grams(text) == grams(text)
    assert all(terms(text))
    assert all(grams(text))
    assert fold(fold(text)) == fold(text) or not text.isascii()


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6)


@pytest.mark.requirement("R-08")
@given(st.lists(st.tuples(st.sampled_from("xyz"), WORDS), max_size=12), WORDS)
def test_postings_are_as_if_rebuilt(changes: list[tuple[str, list[str]]], asked: list[str]) -> None:
    """Whatever came and went, scores are those of an index made anew from what is there."""
    kept = Postings()
    present: dict[str, list[str]] = {}
    for doc_id, words in changes:
        kept.remove(doc_id)
        present.pop(doc_id, None)
        if words:
            kept.add(doc_id, words)
            present[doc_id] = words
    anew = Postings()
    for doc_id, words in present.items():
        anew.add(doc_id, words)
    assert kept.score(asked) == pytest.approx(anew.score(asked))
    assert kept.coverage(asked) == pytest.approx(anew.coverage(asked))
    assert len(kept) == len(anew)
    assert all(sorted(kept.terms(doc_id)) == sorted(words) for doc_id, words in present.items())


@given(WORDS, WORDS)
def test_terms_can_be_taken_out_again(first: list[str], second: list[str]) -> None:
    """A group that a line is taken out of is what it was before the line."""
    group = Postings()
    group.add("g", first)
    group.add("g", second)
    group.take("g", second)
    assert sorted(group.terms("g")) == sorted(first)
    assert ("g" in group) == bool(first)


def test_rare_words_weigh_more() -> None:
    """BM25 prefers the document with the rarer word, and gives nothing to one without any."""
    index = Postings()
    for doc_id, words in {"1": ["x", "y"], "2": ["x", "z"], "3": ["x"], "4": []}.items():
        index.add(doc_id, words)
    scores = index.score(["x", "z"])
    assert max(scores, key=lambda doc_id: scores[doc_id]) == "2"
    assert "4" not in scores
    assert index.coverage(["z"]) == {"2": 1.0}


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Where is it?", True),
        ("naïve café", True),
        ("C++20", True),
        ("42", True),
        ("😀", False),
        ("今天天气怎么样？", False),
        ("Какая сегодня погода?", False),
        ("मौसम कैसा है", False),
        ("", False),
    ],
)
def test_an_english_encoder_reads_latin_letters_and_digits(text: str, read: bool) -> None:
    """What it cannot read would be one unknown piece, alike for every such text."""
    assert reads_as_english(text) is read
