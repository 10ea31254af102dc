"""A real home, read by a program that was given docs/format.md and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.claims import FileClaims
from perdure.authority.filesystem.erase import FileErase
from perdure.authority.filesystem.exposure import FileExposures
from perdure.authority.filesystem.quarantine import copy_aside
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.retain import FileRetain
from perdure.core.attempt import Reconciled, Usage
from perdure.core.budget import charge
from perdure.core.decision import Decision
from perdure.core.evidence import RawTurn
from perdure.core.job import Job
from perdure.core.memory import main_branch_id
from perdure.core.record import Record
from perdure.ports.coverage import Uncovered
from perdure.ports.provider import Lost, Reply, ReviewRequest
from perdure.ports.retain import Mark
from tests.fakes import ScriptedProvider, proposing, turns
from tests.format_page import Page, Unreadable, digest
from tests.format_reader import Home
from tests.format_reader import main_branch_id as main_of
from tools import make_protocol
from tools.protocol_pictures import documented_order

ROOT = Path(__file__).resolve().parents[2]
NOW_MS = 1_800_000_000_000
GONE = "The staging host is called heron."
PAGE = Page((ROOT / "docs/format.md").read_text(encoding="utf-8"))


class Written(NamedTuple):
    """A home that Perdure wrote, the program's own view of it, and its project."""

    app: App
    path: Path
    project: str

    def read(self) -> Home:
        """Read it with the document."""
        return Home(PAGE, self.path)


def _lost(_request: ReviewRequest) -> Reply:
    return Lost("timeout")


@pytest.fixture
def fresh(perdure_home: Path, tmp_path: Path) -> Iterator[Written]:
    """A home with one project and nothing in it."""
    (tmp_path / "orbit" / ".git").mkdir(parents=True)
    app = App.open(create=True)
    project = app.project(str(tmp_path / "orbit"))
    app.ensure_project(project)
    app.begin_writing()
    yield Written(app, perdure_home, project.key)
    app.close()


@pytest.fixture
def home(fresh: Written) -> Written:
    """A home after some life: two branches, reviews of several ends, a lost call, a forgotten text."""
    _write_memory(fresh)
    _review(fresh, turns("We use pnpm here, always.", "Deploys happen on Thursdays."), ScriptedProvider())
    assert fresh.app.feedback_service().take(fresh.project, host="pi", session="a session")
    _review(fresh, turns("The port is 4100.", first=2), ScriptedProvider([_lost]))
    _capture(fresh, turns("Nobody has looked at this.", first=3))
    _drop_newest(fresh)
    _capture(fresh, turns("This one stays open: the cache is at 6379.", first=4))
    _leave_out(fresh)
    return fresh


def _write_memory(home: Written) -> None:
    memory = home.app.memory_service(home.project)
    memory.remember("Use tabs – never spaces.", key="Indentation", importance="high")
    memory.remember("The reviewers are Ana and Grüße.")
    memory.fork("release-2")
    memory.use("release-2")
    memory.remember("Cherry-pick only.")
    memory.use("main")
    memory.remember(GONE)
    memory.forget(GONE)
    memory.replace("Indentation", text="Use two spaces.")
    memory.undo()
    user = home.app.memory_service("user")
    user.remember("Answer briefly.", kind="user")
    user.remember("Commit messages are in the imperative.", kind="user")
    home.app.move_service("user").move("Commit messages", home.project)
    memory.fork("spike")
    memory.fork("scratch")
    home.app.branch_service(home.project).rename_branch("spike", "experiment")
    home.app.branch_service(home.project).remove("scratch")


def _capture(home: Written, found: list[RawTurn]) -> None:
    home.app.capture_service().capture(
        host="pi",
        session="5e" * 16,
        turns=found,
        project=home.project,
        branch_id=main_branch_id(home.project),
    )


def _review(home: Written, found: list[RawTurn], provider: ScriptedProvider) -> None:
    _capture(home, found)
    home.app.worker(provider=provider).drain()


def _open_job(home: Written) -> Job:
    queue = home.app.queue
    job = queue.job(queue.queued()[-1])
    assert job is not None
    return job


def _drop_newest(home: Written) -> None:
    job = _open_job(home)
    dropped = Decision(
        job_id=job.job_id,
        kind="dropped",
        reason="user",
        job=job,
        attempt_id=None,
        result_digest=None,
        base_digest=None,
        proposal=None,
        attempts=0,
        decided_ms=home.app.clock.now_ms(),
    )
    home.app.queue.decide(dropped)


def _leave_out(home: Written) -> None:
    with home.app.coverage.hold(home.project) as held:
        note = Uncovered(
            project=home.project, turns=("ab" * 16,), reason="secret", noted_ms=1_800_000_000_000
        )
        held.note_uncovered(note)


def test_a_home_is_read_from_the_document_alone(home: Written) -> None:
    """Every file of a real home has a path, a form, fields, a name and digests as the document says."""
    read = home.read()
    assert read.broken_names() == []
    assert read.broken_chains() == []
    kinds = {found.kind for found in read.records.values()}
    assert kinds >= set(PAGE.records) - {
        "day-totals",
        "intent",  # only while a transaction runs
        "intent2",
        "move",  # only while one is half done
        "outcome-tombstone",
        "purge-plan",
        "reconciled",
        "revision-tombstone",
        "worker",  # only while one lives
    }


@pytest.mark.requirement("M-04", "M-14")
def test_memory_is_what_the_document_makes_of_it(home: Written) -> None:
    """Branches hold the entries that the program shows, and their revisions replay to the same entries."""
    read, service = home.read(), home.app.memory_service(home.project)
    for row in service.branches():
        branch = service.branch(row.name)
        entries = read.memory(home.project, branch.branch_id)
        assert [entry["text"] for entry in entries] == [entry.text for entry in branch.entries]
        assert read.replayed(home.project, branch.branch_id) == entries
        assert read.records[f"projects/{home.project}/branches/{branch.branch_id}"].digest == branch.digest
    assert [entry["text"] for entry in read.memory("user", main_of("user"))] == ["Answer briefly."]


@pytest.mark.requirement("M-12")
def test_a_forgotten_text_is_known_by_its_keyed_digest_alone(home: Written) -> None:
    """The tombstone is found with the home's key, in any spelling, and says nothing without it."""
    read = home.read()
    assert read.buried("text", f"  {GONE.upper()} ")
    assert not read.buried("text", "The staging host is called egret.")
    assert all("heron" not in json.dumps(body) for body in read.bodies("buried"))


def test_jobs_attempts_coverage_and_budget_are_concluded_alike(home: Written) -> None:
    """From the same records, the document and the program conclude the same states, turns and sums."""
    read, app = home.read(), home.app
    attempts = app.attempts.all()
    assert read.attempts() == {attempt.attempt_id: attempt.state for attempt in attempts}
    assert set(read.attempts().values()) == {"settled", "unknown"}
    assert read.coverage(home.project) == set(app.coverage.covered(home.project))
    assert sorted(read.jobs().values()) == ["applied", "decided", "open", "open"]
    day = attempts[0].attempt_id[:8]
    mine, theirs = read.budget("scripted", day), charge(attempts, provider="scripted", day=day)
    for certainty, amount in (("actual", theirs.actual), ("held", theirs.held), ("unknown", theirs.unknown)):
        assert mine[certainty] == (amount.calls, amount.tokens, amount.cost_nanodollars)
    assert mine["actual"][0] == mine["unknown"][0] == 1


@pytest.mark.requirement("E-05")
def test_what_time_and_purges_leave_is_in_the_document_too(home: Written) -> None:
    """After reconciling, expiry and purging, the tombstones and sums are read from the document as well."""
    unknown = next(attempt for attempt in home.app.attempts.all() if attempt.state == "unknown")
    used = Usage(input_tokens=5, output_tokens=5, cost_nanodollars=7)
    home.app.attempts.reconcile(Reconciled(unknown.attempt_id, "It was on the bill.", used, NOW_MS))
    _expire_and_purge(home)
    read = home.read()
    assert read.broken_names() == []
    kinds = {found.kind for found in read.records.values()}
    assert {"outcome-tombstone", "reconciled", "revision-tombstone"} <= kinds
    assert read.coverage(home.project) == set(home.app.coverage.covered(home.project))
    assert set(read.attempts().values()) == {"settled"}


def _expire_and_purge(home: Written) -> None:
    app, branch = home.app, main_branch_id(home.project)
    with app.memory.hold(home.project):
        assert FileErase(app.records).redact_revision(home.project, branch, 1)
    retain = FileRetain(app.records, app.claims)
    ended = [job for job in app.queue.queued() if app.queue.outcome(job) is not None]
    for job in ended:
        retain.entomb(job)
    with app.memory.hold(home.project):
        assert retain.remove_rest(home.project, tuple(ended))


@pytest.mark.requirement("M-13")
def test_one_changed_byte_of_any_record_is_noticed(home: Written) -> None:
    """Of whatever kind a record is, one changed byte in it makes the reader of the document name its path."""
    for path in {found.kind: path for path, found in sorted(home.read().records.items())}.values():
        file = home.path / path
        data = file.read_bytes()
        place = data.index(b'"digest":"') + len(b'"digest":"')
        for damaged in (
            data.replace(b'"body":{', b'"body":{"', 1),
            data[:place] + (b"1" if data[place : place + 1] == b"0" else b"0") + data[place + 1 :],
        ):
            file.write_bytes(damaged)
            with pytest.raises(Unreadable, match=f"{path}: "):
                home.read()
        file.write_bytes(data)


def test_a_strange_path_is_noticed(home: Written) -> None:
    """A file that the document does not know, such as a copy made by a file manager, is named."""
    (home.path / "spool" / "jobs" / ".DS_Store").write_bytes(b"\0")
    with pytest.raises(Unreadable, match=r"\.DS_Store"):
        home.read()


def test_records_are_published_in_the_documented_order(
    fresh: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a job goes from capture to its event, its records become durable in the order of the document."""
    seen: list[str] = []
    publish, replace = Records._publish, Records.replace

    def noting_publish(self: Records, path: str, data: bytes) -> bool:
        seen.append(json.loads(data)["kind"])
        return publish(self, path, data)

    def noting_replace(self: Records, path: str, record: Record) -> None:
        seen.append(type(record).KIND)
        replace(self, path, record)

    monkeypatch.setattr(Records, "_publish", noting_publish)
    monkeypatch.setattr(Records, "replace", noting_replace)
    provider = ScriptedProvider(otherwise=proposing)
    provider.before_review = lambda _request: seen.append("request")
    _review(fresh, turns("Logs go to /var/log/orbit."), provider)
    order = documented_order()
    assert [kind for kind in seen if kind in order] == order
    assert seen.index("receipt") < seen.index("intent-tombstone") < seen.index("outcome")


@pytest.mark.requirement("E-07", "I-04")
def test_notes_are_as_their_schemas_say(home: Written) -> None:
    """Beats, marks, exposures, the stop marker and the reasons of quarantine have the described form."""
    app = home.app
    FileExposures(app.records).record(home.project, "a session", {"ab" * 8: "cd" * 32}, now_ms=NOW_MS)
    FileRetain(app.records, app.claims).set_mark(Mark(NOW_MS, app.clock.boot_id(), 12.5))
    claims = FileClaims(app.records, app.clock, app.ids)
    worker = claims.register()
    kept = copy_aside(app.records, layout.KEY, "a test").path
    stop = app.records.stops.note("file", "spool/jobs/x")
    for name, path in (
        ("beat", f"run/beats/{worker}"),
        ("stop", stop),
        ("retention-mark", "run/hints/retention"),
        ("exposure", f"projects/{home.project}/exposure/{digest(['session', 'a session'])[:32]}"),
        ("quarantine-reason", f"{kept}.reason"),
    ):
        note = json.loads((home.path / path).read_bytes())
        text = (ROOT / make_protocol.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
        jsonschema.Draft202012Validator(json.loads(text)).validate(note)
    assert len(home.read().of("worker")) == 1
    claims.retire(worker)
