"""Superposed cues: a part of a text, or a misspelt key, finds it; what shares nothing is not found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.cues import CueMemory, complete, cue_tokens
from perdure.recall.holographic import HolographicMemory

KEYS = {
    "unit test command": "pytest -x",
    "deploy command": "make ship",
    "database port": "5432",
    "staging host": "stage.example.org",
    "команда сборки": "make build",
    "テストコマンド": "pytest を使う",
    "🚀 release": "on Fridays",
}


def memory_of(texts: dict[str, str], dimensions: int = 512) -> CueMemory:
    """A memory of texts by id."""
    memory = CueMemory(dimensions=dimensions)
    for doc_id, text in texts.items():
        memory.add(doc_id, text)
    return memory


@pytest.mark.requirement("R-02")
@pytest.mark.parametrize(
    ("cue", "key"),
    [
        ("unit test", "unit test command"),
        ("unti tset comand", "unit test command"),
        ("deply command", "deploy command"),
        ("which port has the database?", "database port"),
        ("stagin", "staging host"),
        ("комада сборки", "команда сборки"),
        ("テストのコマンド", "テストコマンド"),
        ("🚀", "🚀 release"),
    ],
)
def test_a_partial_or_misspelt_cue_lands(cue: str, key: str) -> None:
    """From a part of a key, or a wrong spelling, the stored value comes back, checked against the facts."""
    found = complete(cue, memory_of({each: each for each in KEYS}), HolographicMemory(KEYS))
    assert found is not None
    match, decoded = found
    assert (match.doc_id, decoded.value) == (key, KEYS[key])
    assert match.z > 3


@pytest.mark.requirement("R-05")
def test_what_shares_nothing_is_not_found() -> None:
    """No word or n-gram in common is no match, however the cross-talk falls."""
    memory = memory_of({each: each for each in KEYS})
    assert memory.rank("zzz qqq", limit=5) == ()
    assert memory.rank("", limit=5) == ()
    assert complete("zzz qqq", memory, HolographicMemory(KEYS)) is None
    assert CueMemory().rank("anything", limit=5) == ()


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.text(max_size=20), max_size=8), st.text(max_size=20))
def test_scores_are_numbers_and_ranks_follow_them(texts: dict[str, str], question: str) -> None:
    """Every document has a finite score, empty texts included, and the ranking is by it."""
    memory = memory_of(texts, dimensions=64)
    scores = memory.scores(question)
    assert scores.keys() == texts.keys()
    assert all(np.isfinite([match.cosine, match.z]).all() for match in scores.values())
    ranked = memory.rank(question, limit=3)
    assert [match.z for match in ranked] == sorted((match.z for match in ranked), reverse=True)
    assert all(scores[match.doc_id] == match for match in ranked)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.text(max_size=9), st.booleans()), max_size=20))
def test_coming_and_going_leaves_what_is_there(steps: list[tuple[str, str, bool]]) -> None:
    """Documents that were replaced or removed have no part in any score."""
    memory = CueMemory(dimensions=64)
    left: dict[str, str] = {}
    for doc_id, text, keep in steps:
        if keep:
            memory.add(doc_id, text)
            left[doc_id] = text
        else:
            assert memory.remove(doc_id) == (left.pop(doc_id, None) is not None)
    question = "a b ab 1 " + " ".join(left.values())
    again = memory_of(left, dimensions=64)
    scores, fresh = memory.scores(question), again.scores(question)
    assert scores.keys() == fresh.keys()
    for doc_id, match in scores.items():
        assert match.z == pytest.approx(fresh[doc_id].z, abs=1e-3)


def test_two_characters_of_a_script_without_spaces_are_found() -> None:
    """A word within a run of characters has its 2-grams in common with the run."""
    memory = memory_of({"run": "部署目标环境", "other": "数据库端口"})
    assert [match.doc_id for match in memory.rank("目标", limit=5)] == ["run"]


def test_each_part_of_a_long_text_is_found() -> None:
    """A text of many tokens is summed in parts, and none of them is lost."""
    parts = [f"word{number}{'xyz'[number % 3]} thing{number}" for number in range(200)]
    memory = memory_of({"long": " ".join(parts)} | {str(number): f"other{number}" for number in range(20)})
    assert np.mean([memory.scores(part)["long"].z for part in parts]) > 2
    assert memory.scores(" ".join(parts))["long"].cosine == pytest.approx(1, abs=0.15)


def test_words_that_no_document_has_only_make_the_share_smaller() -> None:
    """They add no noise to the score, and lower the share of the question that is found."""
    memory = memory_of({each: each for each in KEYS})
    plain, wordy = (memory.scores(each)["database port"] for each in ("database port", "database port zzz"))
    assert wordy.z == plain.z
    assert wordy.cosine < plain.cosine


def test_more_documents_than_rows_at_first() -> None:
    """The table grows, and each document is found by its own text."""
    memory = memory_of({str(number): f"entry number{number}" for number in range(200)})
    assert len(memory) == 200
    assert [memory.rank(f"number{number}", limit=1)[0].doc_id for number in (0, 63, 64, 199)] == [
        "0",
        "63",
        "64",
        "199",
    ]


def test_cross_talk_is_one_deviation() -> None:
    """The z of documents that share nothing with the question has mean 0 and deviation 1."""
    memory = memory_of({str(number): f"w{number}x y{number}z q{number}" for number in range(1_000)})
    memory.add("asked", "somewhat different altogether")
    others = [match.z for doc_id, match in memory.scores("somewhat different").items() if doc_id != "asked"]
    assert np.mean(others) == pytest.approx(0, abs=0.15)
    assert np.std(others) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("one", "other"), [("C++", "C"), ("c#", "C"), ("3.11", "3 11"), ("naïve", "naive"), ("日本", "日木")]
)
def test_words_keep_what_tells_them_apart(one: str, other: str) -> None:
    """Signs, points, accents and characters of any script are part of a word."""
    assert cue_tokens(one) != cue_tokens(other)
    assert cue_tokens(f"({one})!") == cue_tokens(one) == cue_tokens(one.upper())
