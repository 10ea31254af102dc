"""What a prompt changes about the injected block, and what it does not (I-02)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.authority.filesystem.exposure import FileExposures
from perdure.authority.filesystem.index import FileIndex
from perdure.core.inject import Block
from perdure.core.memory import Branch
from perdure.errors import StorageError
from perdure.recall.bearing import bearing
from perdure.recall.corpus import Corpus
from perdure.recall.found import Document
from perdure.recall.select import PRIORS, worth
from perdure.service.inject import InjectService, Relevance
from perdure.service.recall import RecallService
from tests.fakes import PROJECT, Rig
from tests.simulated_disk import SimulatedDisk

CHARS = 900
DEPLOY = "Deploy with make ship; staging first."
RULE = "Never touch files under src/generated."


def filled() -> Rig:
    """A rig with one important entry, an old one about deploying, and newer ones that fill the budget."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    memory = rig.memory_service()
    memory.remember(DEPLOY, importance="low")
    memory.remember(RULE, importance="high")
    for number in range(20):
        memory.remember(f"The module number {number} belongs to the team that wrote it first.")
    return rig


def block(rig: Rig, prompt: str | None = None, relevance: Relevance | None = None) -> Block:
    """The block for a prompt, by words alone unless another relevance is given."""
    recall = RecallService(rig.memory, FileIndex(rig.records, b"k"), rig.clock, encoder=lambda: None)
    service = InjectService(
        rig.memory,
        FileExposures(rig.records),
        rig.clock,
        chars_max=CHARS,
        tokens_max=10_000,
        relevance=relevance or recall.relevance,
    )
    return service.block(PROJECT, prompt=prompt)


@pytest.mark.requirement("I-02")
def test_what_bears_on_the_prompt_goes_in_and_the_budget_holds() -> None:
    """Without a prompt the old, unimportant entry has no room; a prompt about it brings it in."""
    rig = filled()
    plain = block(rig)
    assert DEPLOY not in plain.text
    asked = block(rig, "Please deploy the shop to staging.")
    assert DEPLOY in asked.text
    assert RULE in asked.text
    assert asked.chars <= CHARS
    assert asked.left_out


@pytest.mark.requirement("I-02")
@pytest.mark.parametrize("prompt", ["", "  \n", "…", "Как дела?"])
def test_a_prompt_that_nothing_bears_on_leaves_importance_and_age(prompt: str) -> None:
    """The block is then the same as without a prompt."""
    rig = filled()
    assert block(rig, prompt).text == block(rig).text


@pytest.mark.requirement("I-02")
def test_a_relevance_that_fails_leaves_importance_and_says_why() -> None:
    """A failing search never keeps the block from coming."""

    def failing(_branches: tuple[Branch, ...], _prompt: str) -> Mapping[str, float]:
        msg = "the index is on fire."
        raise StorageError(msg)

    rig = filled()
    found = block(rig, "deploy", failing)
    assert found.text == block(rig).text
    assert "on fire" in found.problem


@pytest.mark.requirement("I-05")
def test_a_reserved_key_is_not_injected_however_relevant() -> None:
    """A prompt does not open what is recall-only."""
    rig = filled()
    branch = rig.memory_service().branch()
    relevance = dict.fromkeys((entry.entry_id for entry in branch.entries), 1.0)
    found = block(rig, "everything", lambda _branches, _prompt: relevance)
    assert set(found.included) <= relevance.keys()
    assert found.chars <= CHARS


@given(st.sampled_from(sorted(PRIORS)), st.floats(0, 1), st.floats(0, 1))
def test_worth_grows_with_relevance_from_the_prior_to_one(importance: str, one: float, two: float) -> None:
    """An entry is worth its prior at least, 1 at most, and more when it is more relevant."""
    low, high = sorted((one, two))
    assert PRIORS[importance] - 1e-12 <= worth(importance, low) <= worth(importance, high) <= 1.0
    assert worth(importance, 0.0) == pytest.approx(PRIORS[importance])
    assert worth(importance, 1.0) == 1.0


def test_worth_is_bounded_for_any_input() -> None:
    """A relevance outside 0 to 1 is taken for the nearer end; an unknown importance is normal."""
    assert worth("high", 7.0) == 1.0
    assert worth("high", -1.0) == pytest.approx(PRIORS["high"])
    assert worth("odd", 0.0) == pytest.approx(PRIORS["normal"])


@pytest.mark.requirement("I-02")
def test_what_all_has_room_is_not_weighed() -> None:
    """A prompt costs a search only where it decides something."""

    def unasked(_branches: tuple[Branch, ...], _prompt: str) -> Mapping[str, float]:
        pytest.fail("nothing was left out, and relevance was asked")

    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.memory_service().remember(DEPLOY)
    assert block(rig, "deploy", unasked).text == block(rig).text


@pytest.mark.requirement("I-02")
def test_words_alone_choose_without_an_encoder() -> None:
    """In front of a turn no encoder is asked, and what bears on the prompt goes in all the same."""

    def encoder() -> None:
        pytest.fail("an encoder was asked for")

    rig = filled()
    recall = RecallService(rig.memory, FileIndex(rig.records, b"k"), rig.clock, encoder=encoder)

    def relevance(branches: tuple[Branch, ...], prompt: str) -> Mapping[str, float]:
        return recall.relevance(branches, prompt, by_words=True)

    found = block(rig, "Read this first: " + "it is long. " * 9_000 + "Please deploy to staging.", relevance)
    assert DEPLOY in found.text
    assert RULE in found.text
    assert found.left_out


def test_a_document_bears_on_the_nearest_piece_of_a_prompt() -> None:
    """The best piece counts; more of its words count more; what shares no word is left out."""
    corpus = Corpus()
    for doc_id, text in (("a", "Deploy with make ship."), ("b", "Deploy on Mondays."), ("c", "Use tabs.")):
        corpus.add(Document(doc_id, text))
    near = bearing(corpus, ["How do we deploy with make ship?", "deploy"])
    assert near.keys() == {"a", "b"}
    assert 0 < bearing(corpus, ["deploy make ship today"])["b"] < near["a"] <= 1
    assert bearing(corpus, []) == {}
