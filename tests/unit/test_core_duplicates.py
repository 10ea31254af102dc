"""Exact and near duplicates, and what is covered already."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.duplicates import covered_by, exact_duplicate, likeness, near_duplicates, words
from tests.core_values import entry

USE, NEVER = (
    entry("Use pnpm check before pnpm test.", entry_id="a" * 16),
    entry("Ship on Friday.", entry_id="b" * 16),
)


@pytest.mark.requirement("M-08")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use pnpm  CHECK before pnpm test", USE),
        ("Use pnpm check before pnpm test.", USE),
        ("Use pnpm check after pnpm test.", None),
    ],
)
def test_case_spaces_and_a_full_stop_make_no_difference(text: str, found: object) -> None:
    """The same statement in another dress is an exact duplicate; another word is not."""
    assert exact_duplicate(text, [NEVER, USE]) == found


@pytest.mark.requirement("M-08")
def test_near_duplicates_come_closest_first() -> None:
    """Likely contradictions share most words; what shares few is left out."""
    close = entry("Use pnpm check after pnpm test.", entry_id="c" * 16)
    found = near_duplicates("Use pnpm check before pnpm test, always.", [NEVER, close, USE], threshold=0.5)
    assert found == (USE, close)
    assert near_duplicates("Something else.", [NEVER, USE]) == ()


@pytest.mark.requirement("M-08")
@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("pnpm check before test", True),
        ("Check before test.", True),
        ("pnpm check", False),
        ("pnpm check before deploy", False),
    ],
)
def test_a_text_whose_words_are_all_there_adds_nothing(text: str, covered: bool) -> None:
    """Three content words at least, all of them in one entry."""
    assert (covered_by(text, [NEVER, USE]) == USE) == covered


@pytest.mark.requirement("M-08")
def test_a_negation_makes_another_statement() -> None:
    """What an entry denies is not covered by it."""
    denied = entry("Do not use pnpm check before test.", entry_id="d" * 16)
    assert covered_by("use pnpm check before test", [denied]) is None
    assert covered_by("do not use pnpm check", [denied]) == denied


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_symmetric_and_between_nothing_and_one(first: str, second: str) -> None:
    """The measure does not care about the order, and a text with words is wholly like itself."""
    assert likeness(first, second) == likeness(second, first)
    assert 0.0 <= likeness(first, second) <= 1.0
    assert likeness(first, first) == (1.0 if words(first) else 0.0)


def test_words_of_scripts_without_spaces_are_pieces() -> None:
    """Two-character pieces stand for words; fillers go, unless there is nothing else."""
    assert words("東京都") == {"東京", "京都"}
    assert words("für") == {"fü", "ür"}
    assert words("the check") == {"check"}
    assert words("the") == {"the"}
    assert words("é") == {"é"}
    assert likeness("", "") == 0.0
