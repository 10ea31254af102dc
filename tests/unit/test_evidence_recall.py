"""Recall from evidence: what was said, by whom, in which turn and when, as long as it is retained."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.index import FileIndex, path_of
from perdure.authority.filesystem.retain import FileRetain
from perdure.core.evidence import RawLine, RawTurn
from perdure.core.job import successor
from perdure.errors import UsageError
from perdure.ports.index import JobPart
from perdure.recall.engine import Encoder
from perdure.service.evidence_recall import PASSAGE_CHARS_MAX, EvidenceRecallService, passages_of
from tests.fake_encoder import WordEncoder
from tests.fakes import NOON_MS, PROJECT, SESSION, Rig, turns
from tests.services import purge_service, retention
from tests.simulated_disk import SimulatedDisk

KEY = b"k" * 32
HERON = "The staging host is called heron."
CHATTER = (
    "Please rename the helper in the parser.",
    "Now run the tests once more.",
    "Thanks, that is enough for today.",
)


def said(*texts: str) -> Rig:
    """A rig that captured a session with these turns."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns(*texts))
    return rig


def opened(rig: Rig, encoder: Encoder | None = None) -> EvidenceRecallService:
    """Recall from evidence as a new process opens it."""
    return EvidenceRecallService(rig.queue, FileIndex(rig.records, KEY), rig.clock, encoder=lambda: encoder)


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize("encoder", [None, WordEncoder()])
def test_a_line_is_found_with_its_turn_session_and_date(encoder: Encoder | None) -> None:
    """What the user said is given word for word, with who, where and when."""
    rig = said(*CHATTER, HERON, "And the port is 4100.")
    line = opened(rig, encoder).recall(PROJECT, "What is the staging host called?").lines[0]
    raw = turns(*CHATTER, HERON)[-1]
    assert (line.text, line.role, line.host, line.session) == (HERON, "user", "pi", SESSION)
    assert (line.turn_id, line.settled_ms) == (raw.turn_id, raw.settled_ms)
    assert line.job_id in rig.queue.queued()
    assert line.line_id.startswith("e")


@pytest.mark.requirement("R-05")
def test_nothing_said_answers_is_an_answer() -> None:
    """No evidence, and none that bears on the question, give no line."""
    empty = Rig(SimulatedDisk())
    empty.prepare()
    nothing = opened(empty).recall(PROJECT, "staging host?")
    assert (nothing.lines, nothing.nearest, nothing.searched) == ((), (), 0)
    with pytest.raises(UsageError):
        opened(empty).recall(PROJECT, " ")


@pytest.mark.requirement("G-05", "R-08")
def test_a_warm_service_follows_new_expired_and_purged_evidence() -> None:
    """New turns are found, another project finds none, and what was purged or has expired is gone."""
    rig = said(*CHATTER)
    service = opened(rig, WordEncoder())
    before = service.recall(PROJECT, "What is the staging host called?").searched
    rig.capture(turns(HERON, first=3))
    found = service.recall(PROJECT, "What is the staging host called?")
    assert found.lines[0].text == HERON
    assert found.searched > before
    assert service.recall("cd" * 8, "What is the staging host called?").searched == 0
    purge_service(rig).forget_everywhere(PROJECT, text=HERON)
    after = service.recall(PROJECT, "What is the staging host called?")
    assert HERON not in {line.text for line in (*after.lines, *after.nearest)}


@pytest.mark.requirement("M-12", "E-05")
def test_the_index_of_a_job_goes_with_its_evidence() -> None:
    """Purge and retention remove what was derived; no file of the index ever holds a text."""
    rig = said(HERON)
    opened(rig, WordEncoder()).recall(PROJECT, "host?")
    (job_id,) = rig.queue.queued()
    path = path_of(JobPart(job_id))
    data = rig.disk.read(path, bytes_max=1_000_000)
    assert data is not None
    assert b"heron" not in data
    rig.drain()
    for _ in range(16):
        rig.clock.advance(86_400)
        retention(rig).run()
    assert rig.queue.job(job_id) is None
    assert rig.disk.info(path) is None
    other = said(HERON)
    opened(other, WordEncoder()).recall(PROJECT, "host?")
    (job_id,) = other.queue.queued()
    purge_service(other).forget_everywhere(PROJECT, text=HERON)
    assert other.disk.info(path_of(JobPart(job_id))) is None


@pytest.mark.requirement("E-05")
def test_expired_evidence_is_not_searched_though_its_file_still_stands() -> None:
    """Once a job's outcome is a tombstone, its evidence answers nothing, also before it is removed."""
    rig = said(HERON)
    rig.drain()
    (job_id,) = rig.queue.queued()
    assert opened(rig).recall(PROJECT, "Which host?").searched > 0
    FileRetain(rig.records, rig.claims).entomb(job_id)
    assert rig.queue.job(job_id) is not None
    assert opened(rig).recall(PROJECT, "Which host?").searched == 0


@pytest.mark.parametrize("encoder", [None, WordEncoder()])
def test_turns_that_are_captured_late_take_their_place(encoder: Encoder | None) -> None:
    """Earlier turns that come after later ones give a warm service what a new one finds, neighbours too."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns("It was renamed to heron.", *CHATTER, first=10))
    service = opened(rig, encoder)
    service.recall(PROJECT, "staging host")
    rig.capture(turns("We looked at the staging host.", "The staging host was slow.", first=0))
    asked = "What was the staging host renamed to?"
    warm = service.recall(PROJECT, asked, limit=20)
    assert warm == opened(rig, encoder).recall(PROJECT, asked, limit=20)


@pytest.mark.requirement("R-09")
def test_a_line_is_encoded_once() -> None:
    """Another process encodes only the question."""
    rig = said(*CHATTER, HERON)
    first, second = WordEncoder(), WordEncoder()
    found = opened(rig, first).recall(PROJECT, "Which host?")
    assert any(HERON in text for text in first.encoded)
    assert opened(rig, second).recall(PROJECT, "Which host?") == found
    assert not any(HERON in text for text in second.encoded)


def test_a_turn_of_two_generations_is_searched_once() -> None:
    """A replayed review has the same evidence; its lines are found once."""
    rig = said(HERON)
    before = opened(rig).recall(PROJECT, "Which host?").searched
    (job_id,) = rig.queue.queued()
    job = rig.queue.job(job_id)
    assert job is not None
    rig.queue.accept(successor(job, stale=False))
    assert len(rig.queue.queued()) == 2
    assert opened(rig).recall(PROJECT, "Which host?").searched == before


@pytest.mark.requirement("M-13")
def test_a_job_that_cannot_be_read_is_named_and_the_others_are_searched() -> None:
    """Damage of one job stops that one alone."""
    rig = said(HERON)
    rig.capture(turns("The database is called crane.", first=50), session="6f" * 16)
    (bad, _) = rig.queue.queued()
    rig.disk.note(layout.job(bad), b"torn")
    found = opened(rig).recall(PROJECT, "What is the database called?")
    assert [line.text for line in found.lines][:1] == ["The database is called crane."]
    assert len(found.problems) == 1


def test_tools_are_left_out_and_a_host_is_named() -> None:
    """That a tool ran is no evidence to search; what the host put in the user's place says so."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    lines = (
        RawLine("user", "Look at the build."),
        RawLine("tool", "bash ok"),
        RawLine("host", "The build folder is called outbox."),
        RawLine("assistant", "Understood."),
    )
    turn_id = hashlib.sha256(b"turn").hexdigest()[:32]
    rig.capture([RawTurn(turn_id=turn_id, settled_ms=NOON_MS, end="settled", lines=lines, position=0)])
    found = opened(rig).recall(PROJECT, "What is the build folder called?", limit=10)
    roles = {line.text: line.role for line in (*found.lines, *found.nearest)}
    assert "bash ok" not in roles
    assert roles["The build folder is called outbox."] == "host"


@given(st.text(max_size=3_000))
def test_passages_are_short_and_lose_nothing_but_space(text: str) -> None:
    """Whatever a line holds, its passages fit, are not empty, and have all its characters in order."""
    found = list(passages_of(text))
    assert all(0 < len(passage) <= PASSAGE_CHARS_MAX for passage in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_passages_are_cut_between_paragraphs_where_there_are_any() -> None:
    """A paragraph stays whole when it fits."""
    paragraph = "word " * 90
    assert list(passages_of(f"{paragraph}\n\n{paragraph}")) == [paragraph.strip()] * 2
