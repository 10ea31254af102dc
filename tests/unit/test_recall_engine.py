"""The search over entries: keys decide, meanings rank, chances refuse, and nothing breaks it."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import UsageError
from perdure.recall.calibrate import Logistic
from perdure.recall.engine import Corpus, Document, Encoder, features, search
from perdure.recall.found import Answer, Mode
from perdure.recall.scale import APART, TOGETHER, Scale, scale_of
from tests.fake_encoder import WordEncoder

FACTS = {
    "test command": "pytest -q",
    "deploy target": "the cluster in Frankfurt",
    "node version": "20.11",
    "port": "8080 for the API, 5432 for the database",
    "язык": "Отвечать по-русски",
    "数据库": "数据库使用 PostgreSQL 连接池",
    "C++ standard": "C++20 everywhere",
    "style": "четыре пробела, без табов 🚀",
}
MODES: tuple[Mode, ...] = ("fused", "exact", "lexical", "semantic", "holographic")
SYNONYMS = {"ship": "deploy", "where": "target", "machines": "cluster"}


def corpus_of(facts: dict[str, str] = FACTS, encoder: Encoder | None = None) -> Corpus:
    """A corpus of keyed entries, each under its key as id."""
    corpus = Corpus()
    for key, text in facts.items():
        document = Document(doc_id=key, key=key, text=text)
        corpus.add(document, features(document, encoder) if encoder is not None else None)
    return corpus


def first(answer: Answer) -> str | None:
    """The id of the first hit."""
    return answer.hits[0].doc_id if answer.hits else None


def sound(answer: Answer) -> bool:
    """Whether scores are chances in order, leads are not negative, and there are hits or misses, not both."""
    shown = answer.hits or answer.nearest
    scores = [hit.score for hit in shown]
    numbers = [number for hit in shown for number in (hit.score, hit.margin)]
    return (
        all(math.isfinite(number) and 0 <= number <= 1 for number in numbers)
        and scores == sorted(scores, reverse=True)
        and not (answer.hits and answer.nearest)
    )


@pytest.mark.requirement("R-01")
@pytest.mark.parametrize("key", FACTS)
@pytest.mark.parametrize("with_encoder", [False, True])
def test_a_key_decides(key: str, with_encoder: bool) -> None:
    """Whatever else is there, the entry whose key the question is comes first, with certainty."""
    encoder = WordEncoder() if with_encoder else None
    answer = search(corpus_of(encoder=encoder), f" {key.upper()} ", encoder=encoder)
    assert first(answer) == key
    assert answer.hits[0].why.exact_key
    assert answer.hits[0].score == 1.0
    assert sound(answer)


@pytest.mark.requirement("R-01", "R-04")
def test_a_misspelt_key_is_named() -> None:
    """A key with one edit answers, and the answer says which key it was taken for."""
    answer = search(corpus_of(), "deploy targte")
    assert first(answer) == "deploy target"
    assert answer.hits[0].why.key_meant == "deploy target"
    assert not answer.hits[0].why.exact_key


@pytest.mark.requirement("R-01")
def test_a_short_key_does_not_capture_a_long_question() -> None:
    """A key that stands in a question about something else does not make its entry certain."""
    answer = search(corpus_of(), "which port of the ferry to the island is the nearest one?")
    assert all(hit.score < 0.95 for hit in (*answer.hits, *answer.nearest))


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("数据库用什么连接池?", "数据库"),
        ("отвечать на каком языке по-русски?", "язык"),
        ("сколько пробелов без табов", "style"),
        ("🚀", "style"),
        ("C++20", "C++ standard"),
    ],
)
@pytest.mark.parametrize("with_encoder", [False, True])
def test_other_alphabets_are_found(question: str, wanted: str, with_encoder: bool) -> None:
    """CJK, Cyrillic, emoji and names with marks are found with an English encoder and without one."""
    encoder = WordEncoder() if with_encoder else None
    answer = search(corpus_of(encoder=encoder), question, encoder=encoder)
    assert [hit.doc_id for hit in answer.hits or answer.nearest][:1] == [wanted]


@pytest.mark.requirement("R-04")
def test_meaning_is_found_without_a_shared_word() -> None:
    """An encoder that knows synonyms finds what words do not, and the reason is the cosine."""
    encoder = WordEncoder(meaning=SYNONYMS)
    answer = search(corpus_of(encoder=encoder), "ship where machines", encoder=encoder)
    assert first(answer) == "deploy target"
    why = answer.hits[0].why
    assert why.words == ()
    assert why.cosine is not None
    assert why.cosine > 0.3
    assert answer.searches == ("key", "lexical", "semantic")


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize("with_encoder", [False, True])
def test_what_nothing_answers_is_refused(with_encoder: bool) -> None:
    """A question about something else gives no hit; the nearest misses are there to be looked at."""
    encoder = WordEncoder() if with_encoder else None
    answer = search(corpus_of(encoder=encoder), "who won a chess tournament near Reykjavik?", encoder=encoder)
    assert answer.hits == ()
    assert sound(answer)


@pytest.mark.requirement("R-04")
def test_entries_without_features_stand_among_those_with() -> None:
    """An entry that is not encoded yet is found by its words, beside others that are."""
    encoder = WordEncoder()
    corpus = corpus_of(encoder=encoder)
    corpus.add(Document(doc_id="new", key="formatter", text="black with line length 100"))
    assert [each.doc_id for each in corpus.missing(encoder)] == ["new"]
    assert first(search(corpus, "formatter line length", encoder=encoder)) == "new"


@pytest.mark.requirement("R-09")
def test_vectors_of_another_encoder_or_length_are_never_compared() -> None:
    """After a change of encoder, entries are found by their words until they are encoded again."""
    corpus = corpus_of(encoder=WordEncoder("old/1"))
    for other in (WordEncoder("new/1"), WordEncoder("old/1", dimensions=32)):
        answer = search(corpus, "test command pytest", encoder=other)
        assert first(answer) == "test command"
        assert answer.hits[0].why.cosine is None


@pytest.mark.requirement("R-08")
def test_what_is_removed_or_changed_is_gone() -> None:
    """No index answers for an entry that is forgotten, nor with the old text of one that changed."""
    encoder = WordEncoder()
    corpus = corpus_of(encoder=encoder)
    for mode in MODES:
        search(corpus, "deploy target", mode=mode, encoder=encoder, explain=True)
    corpus.remove("deploy target")
    corpus.remove("deploy target")
    changed = Document(doc_id="node version", key="node version", text="22 since spring")
    corpus.add(changed, features(changed, encoder))
    for mode in MODES:
        answer = search(corpus, "deploy target Frankfurt", mode=mode, encoder=encoder, limit=50)
        assert "deploy target" not in [hit.doc_id for hit in (*answer.hits, *answer.nearest)]
        for hit in search(corpus, "20.11", mode=mode, encoder=encoder).hits:
            assert hit.doc_id != "node version" or "20" not in hit.why.words
    assert len(corpus) == len(FACTS) - 1


@pytest.mark.requirement("R-06")
def test_only_what_is_accepted_is_found() -> None:
    """A search that is restricted finds nothing outside, not even by its exact key."""
    encoder = WordEncoder()
    corpus = corpus_of(encoder=encoder)
    for mode in MODES:
        answer = search(
            corpus,
            "port",
            mode=mode,
            encoder=encoder,
            accept=lambda document: document.key != "port",
            limit=50,
        )
        assert "port" not in [hit.doc_id for hit in (*answer.hits, *answer.nearest)]


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_a_mistake(question: str) -> None:
    """A question that says nothing is refused as wrong use."""
    with pytest.raises(UsageError):
        search(corpus_of(), question)


def test_searching_by_meaning_needs_an_encoder() -> None:
    """The mode "semantic" does not quietly become another one."""
    with pytest.raises(UsageError):
        search(corpus_of(), "port", mode="semantic")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [0, 1])
def test_empty_and_tiny_stores_answer(mode: Mode, count: int) -> None:
    """No mode breaks on a store of no or one entry, whatever the question is made of."""
    encoder = WordEncoder()
    corpus = corpus_of(dict(list(FACTS.items())[:count]), encoder)
    for question in ("test command", "???", "the", "🚀", "x" * 5_000):
        assert sound(search(corpus, question, mode=mode, encoder=encoder, explain=True))


@given(st.text(min_size=1, max_size=60).filter(str.strip), st.sampled_from(MODES))
def test_any_question_gets_a_sound_answer(question: str, mode: Mode) -> None:
    """Scores are finite chances in order, for any text."""
    assert sound(search(_WARM, question, mode=mode, encoder=_WARM_ENCODER, explain=True))


_WARM_ENCODER = WordEncoder()
_WARM = corpus_of(encoder=_WARM_ENCODER)


@pytest.mark.requirement("R-02", "R-06", "R-08")
def test_holographic_mode_decodes_keys_before_it_takes_cues() -> None:
    """A question that is a key is unbound from the traces: certain, far above cross-talk, in the order of
    scopes, and only for as long as the entry is there. No other question is taken for a key.
    """
    corpus = corpus_of()
    corpus.add(Document(doc_id="user port", key="Port", text="9090"), scope=1)

    def asked(question: str) -> list[tuple[str, float, bool]]:
        answer = search(corpus, question, mode="holographic")
        return [(hit.doc_id, hit.score, hit.why.exact_key) for hit in answer.hits or answer.nearest]

    assert asked("PORT?")[:2] == [("port", 1.0, True), ("user port", 1.0, True)]
    assert (search(corpus, "port", mode="holographic").hits[0].why.holographic_z or 0) > 10
    assert not any(exact for _, _, exact in asked("ports"))
    restricted = search(corpus, "port", mode="holographic", accept=lambda each: each.doc_id == "user port")
    assert [hit.doc_id for hit in restricted.hits] == ["user port"]
    corpus.remove("port")
    assert asked("port")[0] == ("user port", 1.0, True)
    corpus.remove("user port")
    assert not any(exact for _, _, exact in asked("port"))
    corpus.add(Document(doc_id="again", key="port", text="1"))
    assert asked("port")[0] == ("again", 1.0, True)


@pytest.mark.requirement("R-02")
def test_holographic_mode_takes_a_part_of_a_key_as_a_cue() -> None:
    """What is no key is looked for by the words and n-grams that it shares."""
    answer = search(corpus_of(), "deploy targte", mode="holographic")
    assert first(answer) == "deploy target"
    assert not answer.hits[0].why.exact_key


@pytest.mark.requirement("R-05")
def test_an_ordinary_word_is_not_taken_for_a_key() -> None:
    """With the words of the language, "code version" is no misspelling of "node version"."""
    corpus = corpus_of()
    assert search(corpus, "code version").hits[0].why.key_meant == "node version"
    answer = search(corpus, "code version", is_word={"code"}.__contains__)
    assert all(hit.why.key_meant is None for hit in (*answer.hits, *answer.nearest))


@pytest.mark.requirement("R-05")
@pytest.mark.parametrize("with_encoder", [False, True])
def test_another_number_is_another_thing(with_encoder: bool) -> None:
    """A question that differs from an entry in a number has less than a tenth of the odds of one that does
    not: more than the number does as one word of several.
    """
    encoder = WordEncoder() if with_encoder else None
    corpus = corpus_of({"port 8080": "taken by the proxy"}, encoder)
    same, other = (
        search(corpus, f"what is port {number} taken by?", encoder=encoder) for number in (8080, 8081)
    )
    assert first(same) == "port 8080"
    chances = [(answer.hits or answer.nearest)[0].score for answer in (same, other)]
    odds = [chance / (1 - chance) for chance in chances]
    assert odds[1] < odds[0] / 10


def test_reasons_tell_the_holographic_score_when_asked() -> None:
    """With `explain` every hit has its z-score, in any mode; without it costs nothing."""
    corpus = corpus_of()
    told = search(corpus, "test command", explain=True).hits[0].why
    assert told.holographic_z is not None
    assert told.holographic_z > 3
    assert search(corpus, "test command").hits[0].why.holographic_z is None


def test_words_alone_never_load_numpy() -> None:
    """A cold search without an encoder does not pay for NumPy (it costs more than the search)."""
    code = (
        "import sys\n"
        "from perdure.recall.engine import Corpus, Document, search\n"
        "corpus = Corpus()\n"
        "corpus.add(Document(doc_id='1', key='port', text='8080'))\n"
        "assert search(corpus, 'which port 8080?').hits\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_chance_ignores_what_is_not_a_number() -> None:
    """A broken score counts as nothing and does not make the chance one."""
    model = Logistic({"a": 2.0}, bias=0.0, threshold=0.5)
    assert model.chance({"a": math.nan}) == 0.5
    assert 0.5 < model.chance({"a": 1.0}) < model.chance({"a": 1e9}) <= 1.0


def test_cosines_of_any_encoder_come_to_one_scale() -> None:
    """What belongs together and what does not stand at the same places for every encoder."""
    scale = scale_of(WordEncoder())
    assert scale.together > scale.apart
    assert scale.packaged(scale.together) == pytest.approx(TOGETHER)
    assert scale.packaged(scale.apart) == pytest.approx(APART)
    assert scale.own(scale.packaged(0.3)) == pytest.approx(0.3)
    assert Scale(together=0.2, apart=0.2).packaged(0.9) == 1.0


@pytest.mark.requirement("R-05")
def test_an_encoder_is_not_asked_for_what_it_cannot_read() -> None:
    """A question in another script is searched by words alone, and an entry in one never matches by meaning:
    for the encoder every text that it cannot read is the same.
    """
    encoder = WordEncoder(meaning={"今": "?", "天": "?"})
    encoder.unread = lambda text: not text.isascii()
    corpus = corpus_of(encoder=encoder)
    answer = search(corpus, "今天天气怎么样？", encoder=encoder)
    assert (answer.hits, answer.searches) == ((), ("key", "lexical"))
    assert search(corpus, "今天天气怎么样？", mode="semantic", encoder=encoder).hits == ()
    english = search(corpus, "which node version is it?", encoder=encoder, limit=50)
    unread = {key for key, text in FACTS.items() if not f"{key}{text}".isascii()}
    assert all(hit.why.cosine is None for hit in english.hits if hit.doc_id in unread)
    assert first(search(corpus, "数据库用什么连接池?", encoder=encoder)) == "数据库"
