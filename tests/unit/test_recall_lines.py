"""The search over lines of sessions: speakers, neighbours and dates count, besides words and meaning."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import UsageError
from perdure.recall.dates import asked_dates, asks_when, day_of, tells_when
from perdure.recall.encoder import Encoder
from perdure.recall.engine import Corpus, Document, features, search_evidence
from perdure.recall.found import Answer
from perdure.recall.lines import Lines, asked_speaker, without_names
from tests.fake_encoder import WordEncoder


def at(day: date) -> int:
    """Noon of a day, in UTC milliseconds."""
    return int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1000)


NOW = date(2026, 3, 18)  # a Wednesday
TALK = (
    ("a", "user", "We moved the queue to Redis because Postgres was slow.", date(2026, 3, 17)),
    ("a", "assistant", "The queue runs on Redis now, with a limit of 500 jobs.", date(2026, 3, 17)),
    ("a", "user", "And the retries?", date(2026, 3, 17)),
    ("a", "assistant", "Three attempts, each after a minute.", date(2026, 3, 17)),
    ("b", "user", "I want black with a line length of 100.", date(2026, 1, 5)),
    ("b", "assistant", "The formatter is set.", date(2026, 1, 5)),
    ("c", "user", "Redis was too small, we doubled its memory.", date(2025, 11, 2)),
    ("c", "assistant", "数据库连接池已设为二十。", date(2025, 11, 2)),
)


def corpus_of(encoder: Encoder | None = None, *, names: dict[str, str] | None = None) -> Corpus:
    """The talk, a line per document, with roles or with names of people."""
    corpus = Corpus()
    for order, (group, speaker, text, day) in enumerate(TALK):
        spoke = (names or {}).get(speaker, speaker)
        line = Document(
            doc_id=str(order), text=text, speaker=spoke, group=group, order=order, when_ms=at(day)
        )
        corpus.add(line, features(line, encoder) if encoder is not None else None)
    return corpus


def ids(answer: Answer) -> list[str]:
    """Ids of the hits."""
    return [hit.doc_id for hit in answer.hits]


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize("with_encoder", [False, True])
def test_a_line_is_found_with_its_reasons(with_encoder: bool) -> None:
    """The line that says it comes first, with the words it shares."""
    encoder = WordEncoder() if with_encoder else None
    answer = search_evidence(corpus_of(encoder), "what is the limit of jobs in the queue?", encoder=encoder)
    assert ids(answer)[0] == "1"
    assert answer.hits[0].why.words == ("limit", "jobs", "queue")
    assert (answer.hits[0].why.cosine is not None) == with_encoder


@pytest.mark.requirement("R-04")
def test_the_speaker_counts() -> None:
    """The word "I" is the user and "you" the assistant; a named person is the one who spoke."""
    roles = corpus_of()
    assert ids(search_evidence(roles, "what did I say about Redis?"))[0] in ("0", "6")
    assert ids(search_evidence(roles, "what did you say about the Redis queue?"))[0] == "1"
    people = corpus_of(names={"user": "Ana", "assistant": "Bo"})
    assert ids(search_evidence(people, "what did Bo say about Redis?"))[0] == "1"
    assert ids(search_evidence(people, "what did Ana's notes say about Redis?"))[0] in ("0", "6")


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("what about Redis in November 2025?", "6"),
        ("what about Redis yesterday?", "0"),
        ("what about Redis on 2025-11-02?", "6"),
        ("what about Redis last year?", "6"),
    ],
)
def test_the_date_counts(question: str, wanted: str) -> None:
    """A month, a day or a relative date in the question prefers lines of that time."""
    assert ids(search_evidence(corpus_of(), question, now_ms=at(NOW)))[0] == wanted


@pytest.mark.requirement("R-04")
def test_a_line_beside_lends_weight() -> None:
    """An answer that shares no word with the question is found by the line before it, and says so."""
    answer = search_evidence(corpus_of(), "how many retries?", limit=3)
    found = {hit.doc_id: hit.why for hit in answer.hits}
    assert ids(answer)[0] == "2"
    assert "2" in found["3"].neighbours


@pytest.mark.requirement("R-04")
def test_other_alphabets_are_found() -> None:
    """A line in Chinese is found by a part of it."""
    assert ids(search_evidence(corpus_of(), "连接池"))[0] == "7"


@pytest.mark.requirement("R-05")
def test_nothing_related_is_no_hit() -> None:
    """Where no line has a word or a meaning of the question there is no hit, only what is least far."""
    encoder = WordEncoder(dimensions=1_024)
    answer = search_evidence(corpus_of(encoder), "zebra xylophone", encoder=encoder)
    assert answer.hits == ()
    assert answer.nearest


def test_an_empty_question_is_a_mistake_and_an_empty_store_is_not() -> None:
    """Nothing asked is wrong use; nothing stored is an answer."""
    with pytest.raises(UsageError):
        search_evidence(corpus_of(), " ")
    assert search_evidence(Corpus(), "queue").hits == ()


@pytest.mark.requirement("R-08")
def test_what_is_removed_is_gone() -> None:
    """A line that was taken out is not found, and its words no longer weigh for its session."""
    corpus = corpus_of()
    search_evidence(corpus, "retries")
    for doc_id in ("2", "3"):
        corpus.remove(doc_id)
    assert ids(search_evidence(corpus, "retries attempts")) == []
    assert corpus.groups.score(["retri"]) == {}


_WARM_ENCODER = WordEncoder()
_WARM = corpus_of(_WARM_ENCODER)


@given(st.text(min_size=1, max_size=50).filter(str.strip), st.integers(0, 2**62))
def test_any_question_gets_finite_scores(question: str, now_ms: int) -> None:
    """Scores are finite shares in order, for any text and any clock."""
    for encoder in (None, _WARM_ENCODER):
        answer = search_evidence(_WARM, question, encoder=encoder, now_ms=now_ms)
        scores = [hit.score for hit in answer.hits or answer.nearest]
        assert all(math.isfinite(score) and 0 <= score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)


def test_lines_know_what_stands_beside_them() -> None:
    """Neighbours are those of the same session; a line without a session stands alone."""
    documents = {
        each: Document(doc_id=each, text="", group=group, order=order)
        for each, group, order in (("1", "s", 2), ("2", "s", 1), ("3", "t", 1), ("4", "", 1), ("5", "", 2))
    }
    lines = Lines.of(documents)
    assert [each.doc_id for each in lines.documents] == ["4", "5", "2", "1", "3"]
    assert lines.before == (-1, -1, -1, 2, -1)
    assert lines.after == (-1, -1, 3, -1, -1)


def test_names_are_taken_out_whole() -> None:
    """A speaker's name goes, a word that holds it stays, and roles are words."""
    assert without_names("Did Ana's banana ask Bo?", ["Ana", "Bo"]).split() == ["Did", "banana", "ask", "?"]
    assert without_names("what did the user say", ["user"]) == "what did the user say"
    assert asked_speaker("did Ana or Bo pay?", ["Ana", "Bo"]) is None
    assert asked_speaker("did I ask you?", ["assistant", "user"]) is None
    assert asked_speaker("did I?", ["assistant"]) is None


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("yesterday", date(2026, 3, 17), date(2026, 3, 18)),
        ("today", date(2026, 3, 18), date(2026, 3, 17)),
        ("last week", date(2026, 3, 9), date(2026, 3, 16)),
        ("this month", date(2026, 3, 1), date(2026, 2, 28)),
        ("last month", date(2026, 2, 28), date(2026, 3, 1)),
        ("two weeks ago", date(2026, 3, 4), date(2026, 3, 17)),
        ("10 days ago", date(2026, 3, 8), date(2026, 3, 9)),
        ("on Monday", date(2026, 3, 16), date(2026, 3, 9)),
        ("in March 2026", date(2026, 3, 2), date(2025, 3, 2)),
        ("the past week", date(2026, 3, 11), date(2026, 3, 10)),
    ],
)
def test_spans_are_those_that_people_mean(question: str, inside: date, outside: date) -> None:
    """A day inside what was asked fits better than one outside."""
    asked = asked_dates(question, at(NOW))
    assert asked is not None
    assert asked.fits(inside) > asked.fits(outside)


def test_what_names_no_date_asks_for_none() -> None:
    """Ordinary questions, "may", and relative words without a clock are no dates."""
    for question in ("may I deploy?", "port 8080", "yesterday"):
        assert asked_dates(question, 0) is None
    assert day_of(0) is None
    assert day_of(2**62) is None
    assert asks_when("When did we move?")
    assert not asks_when("do it when ready")
    assert tells_when("we did it last Friday")
