"""The index behind recall: shared between forks, brought up when there is time, and never in the way."""

from __future__ import annotations

import pytest

from perdure.authority.filesystem.index import FileIndex, path_of
from perdure.errors import Damaged, ProviderUnavailable
from perdure.ports.index import BranchPart
from perdure.recall.engine import Document, Encoder
from perdure.service.recall import RecallService
from perdure.service.recall_features import Featuring
from tests.fake_encoder import WordEncoder
from tests.fakes import MAIN_BRANCH, PROJECT, Rig
from tests.simulated_disk import SimulatedDisk

KEY = b"k" * 32
OTHER = "cd" * 8
PART = BranchPart(PROJECT, MAIN_BRANCH)
HERON = "The heron is painted in the colour green."
ASKED = "Which tint has it?"


def filled(count: int) -> Rig:
    """A rig whose project remembers numbered facts."""
    rig = Rig(SimulatedDisk())
    rig.prepare(PROJECT, OTHER)
    for number in range(count):
        rig.memory_service().remember(f"Port {4_000 + number} is number {number}.")
    return rig


def opened(rig: Rig, encoder: Encoder | None, *, resident: bool = False) -> RecallService:
    """Recall as a new process opens it."""
    index = FileIndex(rig.records, KEY)
    return RecallService(rig.memory, index, rig.clock, encoder=lambda: encoder, resident=resident)


def entries(rig: Rig) -> int:
    """How many versions stand in the index."""
    return FileIndex(rig.records, KEY).standing().entries


def told(encoder: WordEncoder, text: str) -> bool:
    """Whether the encoder was given an entry with this text, in one of its views."""
    return any(text in said for said in encoder.encoded)


def knowing() -> WordEncoder:
    """An encoder to which a tint is a colour."""
    return WordEncoder(meaning={"tint": "colour", "which": "", "has": "", "it": ""})


@pytest.mark.requirement("R-09", "M-02")
@pytest.mark.parametrize("resident", [False, True])
def test_a_fork_of_200_entries_encodes_no_entry(resident: bool) -> None:
    """What the branch had encoded serves its fork, in the first answer; only the fork's own entry is new."""
    rig = filled(200)
    opened(rig, WordEncoder()).recall(PROJECT, "port?")
    rig.memory_service().fork("trial")
    trial = rig.memory_service().branch("trial").branch_id
    encoder = WordEncoder()
    service = opened(rig, encoder, resident=resident)
    found = service.recall(PROJECT, "What is listening?", branch_id=trial)
    assert found.pending == 0
    assert not told(encoder, "is number")
    service.catch_up(PROJECT, 1_000, branch_id=trial)
    assert entries(rig) == 400
    rig.memory_service().remember(HERON, branch="trial")
    service.catch_up(PROJECT, 1_000, branch_id=trial)
    assert told(encoder, HERON)
    assert not told(encoder, "is number")


@pytest.mark.requirement("M-12")
def test_forgetting_on_one_branch_keeps_a_vector_only_where_the_text_still_stands() -> None:
    """The other branch keeps its own; once it forgets too, nothing is left, and nothing is lent."""
    rig = filled(3)
    rig.memory_service().remember(HERON, key="heron")
    opened(rig, WordEncoder()).recall(PROJECT, "port?")
    rig.memory_service().fork("trial")
    trial = rig.memory_service().branch("trial").branch_id
    opened(rig, WordEncoder()).recall(PROJECT, "port?", branch_id=trial)
    assert entries(rig) == 8
    rig.memory_service().forget("heron")
    opened(rig, None).prune(PROJECT)
    assert entries(rig) == 7
    rig.disk.remove(path_of(BranchPart(PROJECT, trial)))
    encoder = WordEncoder()
    opened(rig, encoder).recall(PROJECT, "port?", branch_id=trial)
    assert told(encoder, HERON)
    assert entries(rig) == 7
    rig.memory_service().forget("heron", branch="trial")
    opened(rig, None).prune(PROJECT)
    assert entries(rig) == 6


@pytest.mark.requirement("G-05")
def test_the_same_text_in_another_project_is_encoded_there() -> None:
    """Nothing is lent across projects, so that how fast one answers tells nothing about another."""
    rig = filled(0)
    rig.memory_service().remember(HERON)
    rig.memory_service(OTHER).remember(HERON)
    rig.memory_service("user").remember(HERON)
    opened(rig, WordEncoder()).recall(PROJECT, "port?")
    encoder = WordEncoder()
    rig.disk.remove(path_of(BranchPart("user", rig.memory_service("user").branch().branch_id)))
    opened(rig, encoder).recall(OTHER, "port?")
    assert told(encoder, HERON)


@pytest.mark.requirement("R-04", "R-08")
def test_a_resident_recall_encodes_the_question_alone_and_finds_a_new_entry_by_its_words() -> None:
    """Right after a write: found by its words, counted, not encoded; after catching up, by its meaning."""
    rig = filled(3)
    encoder = knowing()
    service = opened(rig, encoder, resident=True)
    assert service.catch_up(PROJECT, 1_000) == 0
    rig.memory_service().remember(HERON)
    encoder.encoded.clear()
    found = service.recall(PROJECT, "What colour is the heron painted?")
    assert found.entries[0].entry.text == HERON
    assert (found.pending, found.encoder) == (1, "words")
    assert not told(encoder, HERON)
    assert service.recall(PROJECT, ASKED).entries == ()
    assert entries(rig) == 3
    assert service.catch_up(PROJECT, 1_000) == 0
    assert entries(rig) == 4
    again = service.recall(PROJECT, ASKED)
    assert again.pending == 0
    assert again.entries[0].entry.text == HERON
    assert again.entries[0].why.cosine is not None


@pytest.mark.requirement("R-08")
def test_relevance_of_a_resident_process_encodes_no_entry_either() -> None:
    """A prompt is weighed without waiting for what is new."""
    rig = filled(2)
    encoder = WordEncoder()
    service = opened(rig, encoder, resident=True)
    rig.memory_service().remember(HERON)
    worth = service.relevance((rig.memory_service().branch(),), "What colour is the heron painted?")
    assert max(worth.values()) > 0
    assert not told(encoder, HERON)


@pytest.mark.requirement("R-09")
def test_catching_up_keeps_to_its_budget_and_always_gets_on() -> None:
    """Each call encodes at least one entry, and no more than it has time for; what is left is returned."""
    rig = filled(6)
    encoder = WordEncoder(before=lambda: rig.clock.advance(0.04))
    service = opened(rig, encoder, resident=True)
    assert [service.catch_up(PROJECT, 100), service.catch_up(PROJECT, 0)] == [3, 2]
    assert entries(rig) == 4
    other = opened(rig, encoder, resident=True)
    assert other.recall(PROJECT, "listening?").pending == 2
    assert [service.catch_up(PROJECT, 10) for _ in range(3)] == [1, 0, 0]


@pytest.mark.requirement("R-09")
def test_catching_up_takes_in_what_another_process_encoded() -> None:
    """A command encoded the new entry: the resident process reads it from the index, and encodes nothing."""
    rig = filled(3)
    encoder = WordEncoder()
    service = opened(rig, encoder, resident=True)
    service.catch_up(PROJECT, 1_000)
    rig.memory_service().remember(HERON)
    opened(rig, WordEncoder()).recall(PROJECT, "port?")
    encoder.encoded.clear()
    assert service.recall(PROJECT, "port?").pending == 1
    assert service.catch_up(PROJECT, 1_000) == 0
    assert not told(encoder, HERON)


@pytest.mark.requirement("M-12", "R-08")
@pytest.mark.parametrize("resident", [False, True])
def test_a_warm_process_takes_what_was_forgotten_out_of_the_index(resident: bool) -> None:
    """Whoever forgets prunes; where that did not happen, the next answer or catching up mends it."""
    rig = filled(2)
    rig.memory_service().remember(HERON, key="heron")
    service = opened(rig, WordEncoder(), resident=resident)
    service.catch_up(PROJECT, 1_000)
    service.recall(PROJECT, "listening?")
    rig.memory_service().forget("heron")
    found = service.recall(PROJECT, "What colour is the heron painted?", limit=50)
    assert HERON not in {each.entry.text for each in (*found.entries, *found.nearest)}
    if resident:
        assert service.catch_up(PROJECT, 1_000) == 0
    assert entries(rig) == 2


def test_catching_up_without_an_encoder_that_works_is_over_at_once() -> None:
    """None, or one that fails: nothing is pending that could be done, and nothing is raised."""

    def fail() -> None:
        raise ProviderUnavailable("The server gave no whole response.")

    rig = filled(2)
    assert opened(rig, None).catch_up(PROJECT, 1_000) == 0
    assert opened(rig, WordEncoder(before=fail)).catch_up(PROJECT, 1_000) == 0
    with pytest.raises(Damaged):
        opened(rig, None).catch_up(PROJECT, 1_000, branch_id="ab" * 8)


@pytest.mark.requirement("R-09")
def test_one_document_is_encoded_even_if_reading_took_all_the_time() -> None:
    """However small a budget is, and however slow the disk, calls come to an end."""
    rig = filled(0)
    documents = {name: Document("1", f"The {name} is green.") for name in ("one", "two")}
    for wanted in (1, 2):
        featuring = Featuring(FileIndex(rig.records, KEY), rig.clock, WordEncoder(), seconds=0.01)
        rig.clock.advance(1.0)
        assert len(featuring.of_part(PART, documents, source="s")) == wanted
