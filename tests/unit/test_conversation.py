"""What a host's tools and commands are answered, as texts and as documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from perdure.app import App
from perdure.authority.filesystem.exposure import FileExposures
from perdure.config import Injection
from perdure.core.job import Job
from perdure.errors import NotFound, Refused, TextRefused, UsageError
from perdure.hosts.conversation import NOTHING, NUDGE_CHARS_MAX, Conversation, failed
from perdure.hosts.session_turns import digest32
from perdure.hosts.sessions import read_session
from tests.session_files import PiSession

FACT = "Releases are cut on Thursdays."


@pytest.fixture
def app(perdure_home: Path) -> Iterator[App]:
    """A home of the test's own, which searches by words alone."""
    opened = App.open(create=True)
    (perdure_home / "config.toml").write_text('mode = "external"\n[recall]\nencoder = "none"\n')
    opened.close()
    opened = App.open()
    yield opened
    opened.close()


@pytest.fixture
def talk(app: App, tmp_path: Path) -> Conversation:
    """A conversation in a fresh project."""
    return conversation(app, tmp_path)


def conversation(app: App, tmp_path: Path, *, session: str = "s") -> Conversation:
    """A conversation of a session in the project at `tmp_path`/shop."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    return Conversation(app, app.project(str(folder)), host="pi", session=session)


def captured(talk: Conversation, tmp_path: Path, wish: str = "Please always use tabs here.") -> str:
    """Capture one settled turn; the id of its job."""
    said = PiSession()
    said.user(wish)
    said.says("I will.")
    file = tmp_path / "session.jsonl"
    file.write_text("".join(f"{json.dumps(entry)}\n" for entry in said.entries))
    (job,) = talk.capture(read_session(file)).jobs
    return job


@pytest.mark.requirement("G-04")
def test_a_write_says_what_changed_and_how_to_undo_it(talk: Conversation) -> None:
    """Text and document agree on what was done, and a repetition changes nothing."""
    told = talk.remember(FACT, key="release day")
    assert told.text == (
        f"Remembered on branch main, revision 1:\n+ [project] release day: {FACT}\nUndo: perdure undo 1"
    )
    assert told.data["changed"] is True
    assert talk.remember(FACT, key="release day").data["changed"] is False
    replaced = talk.replace("release day", text="On Mondays.")
    assert replaced.text.splitlines()[1:4] == [
        f"~ {told.data['entry']['id']}",
        f"- [project] release day: {FACT}",
        "+ [project] release day: On Mondays.",
    ]
    assert talk.undo().data["entry"]["text"] == FACT
    gone = talk.forget("release day")
    assert "Undo:" not in gone.text
    assert gone.data["entry"] is None


def test_what_may_not_be_done_raises_and_is_told_with_its_code(talk: Conversation) -> None:
    """A host turns the error into code, message and advice, and into one text."""
    with pytest.raises(TextRefused):
        talk.remember("The database password is hunter2-Xk39!fq.")
    talk.remember(FACT, key="release day")
    with pytest.raises(Refused) as refused:
        talk.remember("On Mondays.", key="release day", if_new=True)
    told = failed(refused.value)
    assert told.data["error"]["code"] == "refused"
    assert told.text == f"{told.data['error']['message']} {told.data['error']['advice']}"
    with pytest.raises(NotFound):
        talk.forget("nothing like it")


@pytest.mark.requirement("R-05")
def test_a_question_is_answered_or_refused(talk: Conversation) -> None:
    """What nothing stored answers is said in so many words; the document names the searches."""
    talk.remember(FACT, key="release day")
    found = talk.recall("release day")
    assert [entry["text"] for entry in found.data["entries"]] == [FACT]
    assert found.text.endswith(f"release day: {FACT}")
    assert talk.recall("Which colour has the heron?").text == NOTHING
    assert talk.recall("What did we say of herons?", evidence=True).text == NOTHING


def test_pages_hold_every_entry_once(talk: Conversation) -> None:
    """`next` leads from page to page, a kind chooses, and a page of no size is refused."""
    for number in range(5):
        talk.remember(f"Fact number {number} of this project.", kind="agent" if number % 2 else "project")
    seen: list[str] = []
    start: int | None = 0
    while start is not None:
        page = talk.entries(start=start, limit=2)
        seen += [entry["text"] for entry in page.data["entries"]]
        start = page.data["next"]
    assert seen == [f"Fact number {number} of this project." for number in range(5)]
    assert talk.entries(kind="agent").data["count"] == 2
    for limit, first in ((0, 0), (201, 0), (1, -1)):
        with pytest.raises(UsageError):
            talk.entries(limit=limit, start=first)


@pytest.mark.requirement("I-01", "I-04")
def test_a_turn_is_counted_only_when_it_is_exposed(app: App, talk: Conversation, tmp_path: Path) -> None:
    """A host that waits is answered first; `inject` does both; why tells what the last turn was given."""
    assert talk.why().data == {"included": [], "left_out": []}
    talk.remember(FACT)
    exposures = FileExposures(app.records)
    name = digest32("pi", "s")
    turn = talk.turn("When do we release?")
    assert FACT in turn.block.text
    assert exposures.of_session(talk.project.key, name) == {}
    talk.expose(turn)
    (exposed,) = exposures.of_session(talk.project.key, name).values()
    assert exposed.times == 1
    assert talk.inject().text == turn.block.text
    (exposed,) = exposures.of_session(talk.project.key, name).values()
    assert exposed.times == 2
    conversation(app, tmp_path, session="other").forget(FACT)
    assert "(gone since)" in talk.why().text
    assert talk.turn().block.text == ""


@pytest.mark.requirement("I-01", "I-02")
def test_a_turn_asks_no_encoder(app: App, talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bears on a prompt is found by words: an encoder would stand in front of every turn."""

    def asked(_texts: object) -> None:
        pytest.fail("the encoder was asked")

    monkeypatch.setattr(app, "encoder", SimpleNamespace(name="slow", fingerprint="slow", encode=asked))
    tight = msgspec.structs.replace(app.config, injection=Injection(characters=300))
    monkeypatch.setattr(app, "config", tight)
    for number in range(5):
        talk.remember(f"The module number {number} belongs to the team that wrote it.")
    block = talk.turn("Who owns module number 2?").block
    assert block.left_out
    assert "module number 2" in block.text


@pytest.mark.requirement("M-02")
def test_the_branch_is_the_conversations_own(app: App, talk: Conversation, tmp_path: Path) -> None:
    """What one conversation forks and uses, another does not see; a branch that is not there raises."""
    other = conversation(app, tmp_path, session="other")
    talk.remember(FACT)
    talk.fork("trial")
    talk.remember("Only in the trial.")
    assert (talk.branch_name(), other.branch_name()) == ("trial", "main")
    assert "Only in the trial." in talk.inject().text
    assert "Only in the trial." not in other.inject().text
    assert talk.branches().text == "  main  1 entries\n* trial  2 entries"
    talk.use("main")
    assert talk.entries().data["count"] == 1
    with pytest.raises(NotFound):
        talk.use("nowhere")


@pytest.mark.requirement("F-04", "F-02")
def test_reviews_are_listed_and_retried(talk: Conversation, tmp_path: Path) -> None:
    """The list has the newest first and says how many there are; a retry is the next generation, once."""
    assert talk.reviews().text == "There were no reviews yet."
    job = captured(talk, tmp_path)
    assert [row["job"] for row in talk.reviews().data["jobs"]] == [job]
    with pytest.raises(Refused):
        talk.retry(job)
    talk.app.jobs_service().drop(job, talk.project.key)
    told = talk.retry(job[-32:][:12])
    assert told.data["generation"] == 2
    assert talk.reviews().data["count"] == 2
    assert "1 earlier" in talk.reviews(limit=1).text


def test_the_status_says_when_nobody_reviews(talk: Conversation, tmp_path: Path) -> None:
    """In external mode jobs wait for a worker: with none alive that is said, with one it is not."""
    assert "worker" not in talk.status().text
    captured(talk, tmp_path)
    told = talk.status()
    assert told.data["open_jobs"] == {"queued": 1}
    assert told.data["workers"] == 0
    assert "no worker is alive" in told.text
    worker = talk.app.claims.register()
    assert talk.status().data["workers"] == 1
    assert "no worker is alive" not in talk.status().text
    talk.app.claims.retire(worker)


def test_captured_jobs_observe_in_shadow_mode(perdure_home: Path, tmp_path: Path) -> None:
    """A job is born as what it is; the mode of a later time does not change it."""
    App.open(create=True).close()
    (perdure_home / "config.toml").write_text('mode = "shadow"\n')
    observing = App.open()
    try:
        talk = conversation(observing, tmp_path)
        found = observing.queue.job(captured(talk, tmp_path))
    finally:
        observing.close()
    assert isinstance(found, Job)
    assert found.mode == "observe"


def test_nudges_are_few_and_short(talk: Conversation) -> None:
    """Reminders are cut to one line; nothing relevant is said as that."""
    talk.remember(f"Deploy the shop with make ship. {'Then look at it. ' * 30}", key="deploy command")
    (nudge,) = talk.nudges("deploy command").data["nudges"]
    assert len(nudge["text"]) == NUDGE_CHARS_MAX
    assert talk.nudges("herons").text == "Memory holds nothing about this task."


def test_the_history_of_an_entry_is_told_newest_first(talk: Conversation) -> None:
    """Each revision that changed the entry stands with its lines."""
    talk.remember(FACT, key="release day")
    talk.remember("On Mondays.", key="release day")
    told = talk.history("release day")
    assert [each["seq"] for each in told.data["revisions"]] == [2, 1]
    assert told.text.index("revision 2") < told.text.index("+ [project] release day: On Mondays.")
    assert told.text.index("On Mondays.") < told.text.index("revision 1")
