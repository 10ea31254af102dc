"""Recall from memory: reads what is there now, keeps only what can be made again, and says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.index import FileIndex, path_of
from perdure.core.memory import main_branch_id
from perdure.errors import ConfigError, Damaged, ProviderUnavailable, UsageError
from perdure.ports.index import BranchPart
from perdure.recall.engine import Encoder
from perdure.recall.found import QUESTION_CHARS_MAX
from perdure.service.recall import RecallService, pieces_of
from perdure.service.recall_features import ENCODING_SECONDS_MAX
from tests.fake_encoder import WordEncoder
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, turns
from tests.simulated_disk import SimulatedDisk

KEY = b"k" * 32
USER = "user"
PART = BranchPart(PROJECT, MAIN_BRANCH)
FACTS = (
    ("deploy command", "make ship"),
    ("api port", "The API listens on port 4100."),
    (None, "Prefer small commits with a reason in the body."),
    ("билд", "Сборка идёт через make release."),
    ("部署命令", "生产环境用 make ship 部署。"),
)


def filled() -> Rig:
    """A rig whose project remembers a few things."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    for key, text in FACTS:
        rig.memory_service().remember(text, key=key)
    return rig


def opened(rig: Rig, encoder: Encoder | None = None) -> RecallService:
    """Recall as a new process opens it."""
    return RecallService(rig.memory, FileIndex(rig.records, KEY), rig.clock, encoder=lambda: encoder)


def texts(service: RecallService, question: str, **more: object) -> list[str]:
    """What a question finds, best first."""
    found = service.recall(PROJECT, question, **more)  # type: ignore[arg-type] # named as the service names them
    return [each.entry.text for each in found.entries]


@pytest.mark.requirement("R-01", "R-04")
@pytest.mark.parametrize(
    "key", ["deploy command", " Deploy  COMMAND ", "ｄｅｐｌｏｙ command", "БИЛД", "部署命令"]
)
@pytest.mark.parametrize("mode", ["fused", "exact"])
def test_an_exact_key_gives_its_stored_value_first(key: str, mode: str) -> None:
    """In any case, width and script a key gives its entry, with a score of one and the reason."""
    rig = filled()
    for encoder in (None, WordEncoder()):
        found = opened(rig, encoder).recall(PROJECT, key, mode=mode)  # type: ignore[arg-type] # one of the modes
        first = found.entries[0]
        wanted = rig.memory_service().find(key, rig.memory_service().branch())
        assert first.entry == wanted
        assert (first.score, first.why.exact_key, first.scope, first.branch) == (1.0, True, PROJECT, "main")


@pytest.mark.requirement("R-04")
def test_words_find_an_entry_and_are_named() -> None:
    """Without an encoder words alone find, in Latin, Cyrillic and Han, and the answer says which."""
    service = opened(filled())
    found = service.recall(PROJECT, "Which port does the API listen on?")
    assert found.entries[0].entry.key == "api port"
    assert "port" in {word.lower() for word in found.entries[0].why.words}
    assert found.encoder is None
    assert "semantic" not in found.searches
    assert texts(service, "Как идёт сборка?")[:1] == ["Сборка идёт через make release."]
    assert texts(service, "生产环境怎么部署？")[:1] == ["生产环境用 make ship 部署。"]


@pytest.mark.requirement("R-05")
def test_nothing_stored_answers_is_an_answer_with_misses() -> None:
    """A question that nothing answers gets no entry; what came nearest is apart from it."""
    found = opened(filled()).recall(PROJECT, "What is the capital of Australia?")
    assert found.entries == ()
    empty = Rig(SimulatedDisk())
    empty.prepare()
    for encoder in (None, WordEncoder()):
        nothing = opened(empty, encoder).recall(PROJECT, "anything?")
        assert (nothing.entries, nothing.nearest) == ((), ())


@pytest.mark.requirement("R-06")
def test_of_equals_the_project_comes_first_and_quality_before_that() -> None:
    """The same text in both scopes: the project's first. A better one of the user's: that first."""
    rig = filled()
    rig.memory_service(USER).remember("make ship", key="deploy command")
    rig.memory_service(USER).remember("Answer in German, in short sentences.", key="answer language")
    service = opened(rig)
    found = service.recall(PROJECT, "deploy command")
    assert [each.scope for each in found.entries[:2]] == [PROJECT, USER]
    assert service.recall(PROJECT, "answer language").entries[0].scope == USER


@pytest.mark.requirement("R-06")
def test_of_equals_the_project_comes_first_also_when_it_came_later() -> None:
    """A warm service that knew the user's entry first still gives the project's equal one before it."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.memory_service(USER).remember("make ship", key="deploy command")
    service = opened(rig)
    assert [each.scope for each in service.recall(PROJECT, "deploy command").entries] == [USER]
    rig.memory_service().remember("make ship", key="deploy command")
    found = service.recall(PROJECT, "deploy command")
    assert [each.scope for each in found.entries] == [PROJECT, USER]


@pytest.mark.requirement("G-05")
def test_another_project_is_never_searched() -> None:
    """What another project remembers is not found, whatever is asked."""
    other = "cd" * 8
    rig = Rig(SimulatedDisk())
    rig.prepare(PROJECT, other)
    rig.memory_service(other).remember("The staging host is called heron.", key="staging host")
    found = opened(rig, WordEncoder()).recall(PROJECT, "staging host")
    assert (found.entries, found.nearest) == ((), ())


@pytest.mark.requirement("R-08", "M-12")
def test_a_warm_service_sees_what_another_process_changed_and_forgot() -> None:
    """The old value is not given, the new one is, and a forgotten entry is gone, in the next recall."""
    rig = filled()
    for encoder in (None, WordEncoder()):
        service = opened(rig, encoder)
        assert texts(service, "deploy command")[0] == "make ship"
        rig.memory_service().replace("deploy command", text="make release", relearn=True)
        assert texts(service, "deploy command")[0] == "make release"
        rig.memory_service().forget("deploy command")
        found = service.recall(PROJECT, "deploy command make release", limit=50)
        assert "make release" not in {each.entry.text for each in (*found.entries, *found.nearest)}
        rig.memory_service().remember("make ship", key="deploy command", relearn=True)


@pytest.mark.requirement("R-08")
@pytest.mark.parametrize("encoder", [None, WordEncoder()])
def test_a_changed_entry_is_found_by_its_new_words_and_not_by_its_old_ones(encoder: Encoder | None) -> None:
    """What a warm service searches is the new text: an entry that kept its id is searched anew."""
    rig = filled()
    rig.memory_service().remember("The build cache lives in a folder called walrus.", key="cache")
    service = opened(rig, encoder)
    assert service.recall(PROJECT, "walrus folder").entries[0].entry.key == "cache"
    rig.memory_service().replace("cache", text="Nightly artefacts are uploaded to the bucket heron.")
    assert service.recall(PROJECT, "heron bucket").entries[0].entry.key == "cache"
    old = service.recall(PROJECT, "walrus folder", limit=50)
    assert all("walrus" not in each.why.words for each in (*old.entries, *old.nearest))
    assert old == opened(rig, encoder).recall(PROJECT, "walrus folder", limit=50)


@pytest.mark.requirement("R-09")
def test_a_version_is_encoded_once_and_then_read_from_the_index() -> None:
    """A second process encodes only the question; after one change, only that entry too."""
    rig = filled()
    first = WordEncoder()
    opened(rig, first).recall(PROJECT, "how is it deployed?")
    entries = {text for _, text in FACTS}
    assert {text for text in entries if any(text in said for said in first.encoded)} == entries
    second = WordEncoder()
    found = opened(rig, second).recall(PROJECT, "how to ship?")
    assert not any(text in said for said in second.encoded for text in entries)
    rig.memory_service().replace("api port", text="The API listens on port 5200.")
    third = WordEncoder()
    opened(rig, third).recall(PROJECT, "how to ship?")
    assert any("5200" in said for said in third.encoded)
    assert not any("make ship" in said for said in third.encoded)
    assert found.encoder == "words"


@pytest.mark.requirement("R-09")
def test_a_missing_or_damaged_index_changes_no_answer() -> None:
    """Deleted or torn, the index is made again, and the answer is the same to the last digit."""
    rig = filled()
    asked = "Which port does the API use?"
    whole = opened(rig, WordEncoder()).recall(PROJECT, asked)
    for spoil in (lambda: rig.disk.remove(path_of(PART)), lambda: rig.disk.note(path_of(PART), b"torn")):
        spoil()
        again = WordEncoder()
        assert opened(rig, again).recall(PROJECT, asked) == whole
        assert len(again.encoded) > 1
    assert opened(rig, WordEncoder()).recall(PROJECT, asked) == whole


@pytest.mark.requirement("R-09")
def test_another_encoder_indexes_anew_and_is_never_mixed() -> None:
    """After a change of the encoder, and of its dimensions, every entry is encoded by the new one."""
    rig = filled()
    opened(rig, WordEncoder()).recall(PROJECT, "port?")
    other = WordEncoder("words/2", dimensions=32)
    opened(rig, other).recall(PROJECT, "port?")
    assert all(any(text in said for said in other.encoded) for _, text in FACTS)
    index = FileIndex(rig.records, KEY)
    assert index.load(PART, frozenset(), source="", encoder="words/1") is None
    assert index.load(PART, frozenset(), source="", encoder="words/2") is not None


@pytest.mark.requirement("R-08", "M-12")
def test_no_file_of_the_index_holds_a_text() -> None:
    """After a recall with an encoder no word of an entry or of its key stands in the index."""
    rig = filled()
    opened(rig, WordEncoder()).recall(PROJECT, "how is it deployed?")
    data = rig.disk.read(path_of(PART), bytes_max=1_000_000)
    assert data is not None
    for key, text in FACTS:
        for word in f"{key} {text}".split():
            assert len(word) < 4 or word.encode() not in data, word


@pytest.mark.requirement("M-12")
def test_pruning_takes_out_what_was_forgotten_and_leaves_the_rest() -> None:
    """After forget and prune the features are gone without a recall, and the others need no encoding."""
    rig = filled()
    service = opened(rig, WordEncoder())
    service.recall(PROJECT, "how is it deployed?")
    before = rig.disk.read(path_of(PART), bytes_max=1_000_000)
    rig.memory_service().forget("api port")
    opened(rig).prune(PROJECT)
    after = rig.disk.read(path_of(PART), bytes_max=1_000_000)
    assert before is not None
    assert after is not None
    assert len(after) < len(before) * 0.9
    again = WordEncoder()
    opened(rig, again).recall(PROJECT, "how?")
    assert again.encoded == ["how?"] or not any("make ship" in said for said in again.encoded)


@pytest.mark.requirement("R-01")
def test_a_key_is_answered_without_the_encoder() -> None:
    """An exact key decides, so that no model is loaded and no service is asked."""
    rig = filled()
    encoder = WordEncoder()
    found = opened(rig, encoder).recall(PROJECT, "deploy command")
    assert found.entries[0].why.exact_key
    assert found.encoder is None
    assert encoder.encoded == []
    opened(rig, encoder).recall(PROJECT, "how is it deployed?")
    assert encoder.encoded != []


@pytest.mark.requirement("M-12")
def test_what_is_forgotten_while_it_is_encoded_does_not_stay_in_the_index() -> None:
    """A forget between a recall's reading and its saving: the features are taken out again."""
    rig = filled()
    left = [True]

    def forget() -> None:
        if left.pop() if left else False:
            rig.memory_service().forget("api port")
            opened(rig).prune(PROJECT)

    opened(rig, WordEncoder(before=forget)).recall(PROJECT, "which port has the api?")
    stored = rig.disk.read(path_of(PART), bytes_max=1_000_000)
    clean = filled()
    clean.memory_service().forget("api port")
    opened(clean, WordEncoder()).recall(PROJECT, "which port has the api?")
    wanted = clean.disk.read(path_of(PART), bytes_max=1_000_000)
    assert stored is not None
    assert wanted is not None
    assert abs(len(stored) - len(wanted)) < 100


@pytest.mark.requirement("R-04")
def test_encoding_is_bounded_in_time_and_goes_on_in_the_next_recall() -> None:
    """When time is up the rest is searched by its words and counted; later recalls encode all of it."""
    rig = filled()
    encoder = WordEncoder(before=lambda: rig.clock.advance(ENCODING_SECONDS_MAX / 2 + 1))
    first = opened(rig, encoder).recall(PROJECT, "Which port does the API listen on?")
    assert 0 < first.pending < len(FACTS)
    assert first.entries[0].entry.key == "api port"
    pending = [opened(rig, encoder).recall(PROJECT, "port").pending for _ in range(len(FACTS))]
    assert pending[-1] == 0
    assert pending == sorted(pending, reverse=True)


def _broken(kind: type[Exception]) -> Callable[[], None]:
    def fail() -> None:
        raise kind("The server gave no whole response.")

    return fail


@pytest.mark.requirement("R-04")
@pytest.mark.parametrize("error", [ProviderUnavailable, ConfigError])
def test_an_encoder_that_fails_leaves_the_other_searches(error: type[Exception]) -> None:
    """Fused recall goes on by words and names the reason; recall by meaning alone fails with it."""
    rig = filled()
    service = opened(rig, WordEncoder(before=_broken(error)))
    found = service.recall(PROJECT, "Which port does the API listen on?")
    assert found.entries[0].entry.key == "api port"
    assert found.encoder is None
    assert "no whole response" in found.problems[0]
    with pytest.raises(error):
        service.recall(PROJECT, "port", mode="semantic")


def test_wrong_questions_are_refused() -> None:
    """An empty and an endless question, meaning without an encoder, and a branch that is not there."""
    rig = filled()
    service = opened(rig)
    for wrong in ("", " \n", "x" * (QUESTION_CHARS_MAX + 1)):
        with pytest.raises(UsageError):
            service.recall(PROJECT, wrong)
    with pytest.raises(ConfigError, match="needs an encoder"):
        service.recall(PROJECT, "port", mode="semantic")
    with pytest.raises(Damaged):
        service.recall(PROJECT, "port", branch_id="ab" * 8)


@pytest.mark.requirement("M-13")
def test_a_branch_that_cannot_be_read_is_named_and_the_other_is_searched() -> None:
    """A damaged user-wide branch does not keep the project's memory from answering."""
    rig = filled()
    rig.memory_service(USER).remember("Answer in German.")
    rig.disk.note(layout.branch(USER, main_branch_id(USER)), b"torn")
    found = opened(rig).recall(PROJECT, "deploy command")
    assert found.entries[0].entry.text == "make ship"
    assert len(found.problems) == 1


@pytest.mark.requirement("R-04")
def test_provenance_names_the_review_and_its_evidence() -> None:
    """A reviewed entry leads to its revision, job, evidence lines and reason; a plain one to its revision."""
    rig = filled()
    rig.capture(turns("The staging host is called heron."))
    rig.drain()
    found = opened(rig).recall(PROJECT, "What is the staging host called?").entries[0]
    (job_id,) = rig.queue.queued()
    assert (found.entry.origin, found.provenance.origin) == ("review", "review")
    assert (found.provenance.job_id, found.provenance.cause) == (job_id, "review")
    assert found.provenance.evidence == ("e1",)
    assert found.provenance.rationale is not None
    plain = opened(rig).recall(PROJECT, "deploy command").entries[0].provenance
    assert (plain.revision, plain.cause, plain.job_id, plain.evidence) == (1, "remember", None, ())


def test_a_kind_a_branch_and_a_limit_restrict() -> None:
    """Only entries of the kind, of the branch that is named, and as many as were asked for."""
    rig = filled()
    rig.memory_service().remember("I deploy with make ship on Fridays.", kind="user")
    service = opened(rig)
    assert texts(service, "make ship", kind="user") == ["I deploy with make ship on Fridays."]
    assert len(texts(service, "make ship", limit=1)) == 1
    rig.memory_service().fork("trial")
    rig.memory_service().replace("deploy command", text="make trial", branch="trial")
    trial = rig.memory_service().branch("trial").branch_id
    assert texts(service, "deploy command", branch_id=trial)[0] == "make trial"
    assert texts(service, "deploy command")[0] == "make ship"


def test_a_long_prompt_is_asked_in_its_last_pieces() -> None:
    """Sentences and lines are pieces; marks alone are none; the last ones stay."""
    assert pieces_of("Fix the port. Then deploy!\n\n---\nThanks") == (
        "Fix the port.",
        "Then deploy!",
        "Thanks",
    )
    many = pieces_of("\n".join(f"line {number}" for number in range(100)))
    assert many[-1] == "line 99"
    assert len(many) == 6
    assert all(len(piece) <= 400 for piece in pieces_of("word " * 1_000))
    assert pieces_of("… ?! \n") == ()
