"""Many processes on one home: nothing is lost, nothing is done twice, nobody waits without an end.

Children are processes of their own that use the command line or the App; they get their orders as
arguments and start together when a file appears.
"""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from perdure.app import App
from perdure.authority.filesystem import layout, records
from perdure.core.memory import main_branch_id
from perdure.ports.provider import Reply, ReviewRequest
from perdure.service.capture import Captured
from tests.e2e.command_line import Perdure, process
from tests.e2e.planted import run_quietly
from tests.fakes import ScriptedProvider, finding_nothing, turns
from tests.services import open_app
from tests.session_files import PiSession

PATIENCE_SECONDS = 90.0
WRITERS, WRITES = 8, 50

_CHILD = """
import pathlib, sys, time
from perdure.app import App
folder, start, name, count = sys.argv[1:5]
app = App.open()
project = app.project(folder)
app.begin_writing()
memory = app.memory_service(project.key)
while not pathlib.Path(start).exists():
    time.sleep(0.002)
"""

_WRITE = """
from perdure.errors import LockTimeout
for number in range(int(count)):
    for _ in range(6):  # on a starved machine a wait may end in a refusal, which changed nothing
        try:
            memory.remember(f"{name} {number}", key=f"{name} {number}")
            break
        except LockTimeout:
            continue
    else:
        sys.exit("the lock was never free")
"""

_SAME = """
for number in range(int(count)):
    memory.remember(f"Everybody says {number}.")
"""

_HOLD = """
from perdure.authority.filesystem import layout, locks
held = app.home.disk.lock(layout.scope_folder(project.key), wait_seconds=5)
print("held", flush=True)
time.sleep(600)
"""


def child(
    code: str, project: Path, start: Path, *, name: str = "", count: int = 0
) -> subprocess.Popen[bytes]:
    """Start a child that waits for `start` and then runs the code."""
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD + code, str(project), str(start), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(children: Iterable[subprocess.Popen[bytes]]) -> None:
    """Wait for children; each has to end well."""
    for one in children:
        out, err = one.communicate(timeout=PATIENCE_SECONDS)
        assert one.returncode == 0, (out + err).decode()


def in_order(perdure: Perdure) -> None:
    """Every digest, every revision and every invariant holds."""
    found = perdure.json("verify")
    assert found["ok"], found["findings"]


def chain(perdure: Perdure) -> list[tuple[str | None, str]]:
    """Base and result digest of every revision, oldest first."""
    revisions = perdure.json("history")["revisions"]
    return [(one["base_digest"], one["result_digest"]) for one in reversed(revisions)]


@pytest.mark.requirement("M-11", "G-04", "M-05", "Q-09")
def test_400_foreground_writes_beside_reviews_and_captures_all_survive(
    perdure: Perdure, tmp_path: Path
) -> None:
    """8 processes write 50 facts each, at once, while a worker reviews and captures go on: every write is
    there, in one unbroken chain of digests (peers 22, 29, 42; a peer lost 46 to 103 of 200).
    """
    start = tmp_path / "start"
    writers = [
        child(_WRITE, perdure.project, start, name=f"w{number}", count=WRITES) for number in range(WRITERS)
    ]
    worker = process("worker", cwd=perdure.project)
    start.touch()
    session, captures = PiSession(), 0
    while any(one.poll() is None for one in writers):
        session.turn(f"Please always run step {captures} before the release.", "Noted.")
        perdure("capture", str(session.write(tmp_path)))
        captures += 1
        perdure("inject")
    ended(writers)
    worker.send_signal(signal.SIGTERM)
    ended([worker])
    perdure("review", "--once")
    entries = perdure.json("list")["entries"]
    written = {entry["text"] for entry in entries}
    assert {f"w{n} {k}" for n in range(WRITERS) for k in range(WRITES)} <= written
    assert len(written) == len(entries)
    links = chain(perdure)
    assert len(links) >= WRITERS * WRITES
    assert [base for base, _ in links[1:]] == [result for _, result in links[:-1]]
    assert all(job["state"] != "queued" for job in perdure.json("jobs", "list")["jobs"])
    assert captures > 3
    in_order(perdure)


@pytest.mark.requirement("M-08", "M-11")
def test_the_same_words_from_many_processes_are_one_entry(perdure: Perdure, tmp_path: Path) -> None:
    """Four processes say the same ten things at once: ten entries, ten revisions (peers 24)."""
    start = tmp_path / "start"
    writers = [child(_SAME, perdure.project, start, count=10) for _ in range(4)]
    start.touch()
    ended(writers)
    assert sorted(perdure.texts()) == sorted(f"Everybody says {number}." for number in range(10))
    assert len(chain(perdure)) == 10


@pytest.mark.requirement("M-11", "S-08")
def test_processes_that_start_at_once_never_take_the_home_for_a_copy(perdure: Perdure) -> None:
    """Every start of a writer raises the home's number, inside and outside: 60 starts, six at a time, and
    none mistakes another's start for a restored backup.
    """
    code = "from perdure.app import App\nfor _ in range(10):\n a = App.open(); a.begin_writing(); a.close()\n"
    command = [sys.executable, "-c", code]
    ended(
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=perdure.project)
        for _ in range(6)
    )
    perdure("remember", "Still here.")


@pytest.mark.requirement("M-11", "S-08")
def test_a_start_between_two_looks_of_another_is_no_restored_copy(
    perdure: Perdure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer starts exactly between the looks at the two numbers: the start goes on."""
    from perdure.authority.filesystem import home as homes

    app, real = App.open(), homes._highest

    looks: list[list[str]] = []

    def looking(names: list[str]) -> int:
        looks.append(names)
        if len(looks) == 2:
            monkeypatch.setattr(homes, "_highest", real)
            ended([process("remember", "Meanwhile.", cwd=perdure.project)])
            return real(app.home.disk.names(layout.EPOCH))
        return real(names)

    monkeypatch.setattr(homes, "_highest", looking)
    app.begin_writing()
    app.close()
    assert len(looks) == 2


@pytest.mark.requirement("Q-01", "Q-02", "T-04")
def test_two_captures_of_one_session_take_no_turn_twice(perdure: Perdure, tmp_path: Path) -> None:
    """Six captures of a growing and of the same file at once: every turn is in exactly one job (peers 65)."""
    session = PiSession()
    for number in range(90):
        session.turn(f"Statement {number}.", "Noted.")
    whole = session.write(tmp_path)
    part = tmp_path / "part.jsonl"
    part.write_text("".join(whole.read_text().splitlines(keepends=True)[:101]))
    ended([process("capture", str(path), cwd=perdure.project) for path in (whole, part) * 3])
    taken: Counter[str] = Counter()
    for job in perdure.json("jobs", "list")["jobs"]:
        taken.update(
            turn["turn_id"] for turn in perdure.json("jobs", "show", job["job"])["evidence"]["turns"]
        )
    assert len(taken) == 90
    assert set(taken.values()) == {1}
    assert perdure.json("capture", str(whole))["accepted"] == 0
    in_order(perdure)


@pytest.mark.requirement("Q-01", "E-01", "T-04")
def test_captures_of_a_session_at_different_lengths_share_no_turn(tmp_path: Path) -> None:
    """Six captures start together, each of another length of one session, so that their windows differ: every
    turn is in exactly one job. Five sessions.
    """
    app, key = open_app(tmp_path)
    app.close()
    told = [f"Statement {number}." for number in range(60)]
    for session in range(5):
        together = threading.Barrier(6)

        def take(count: int, session: int = session, together: threading.Barrier = together) -> list[str]:
            mine = App.open()
            mine.begin_writing()
            together.wait(PATIENCE_SECONDS)
            done = capture(mine, key, f"session {session}", *told[:count])
            mine.close()
            return list(done.jobs)

        with ThreadPoolExecutor(6) as pool:
            jobs = [job for found in pool.map(take, (10, 21, 32, 43, 54, 60)) for job in found]
        app = App.open()
        found = [app.queue.job(job) for job in jobs]
        app.close()
        taken = Counter(turn.turn_id for job in found if job is not None for turn in job.evidence.turns)
        assert len(taken) == 60
        assert set(taken.values()) == {1}


@pytest.mark.requirement("Q-03", "A-04", "G-03")
def test_two_workers_send_every_job_once(tmp_path: Path) -> None:
    """200 jobs of four projects, two workers with Apps of their own in threads: 200 jobs end, and not one
    request more than there are jobs goes out.
    """
    app, first = open_app(tmp_path)
    app.close()
    (Path(app.home.path) / "config.toml").write_text("[limits]\ncalls = 1000\ncalls_per_hour = 1000\n")
    app = App.open()
    app.begin_writing()
    keys = [first]
    for name in ("b", "c", "d"):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        project = app.project(str(folder))
        app.ensure_project(project)
        keys.append(project.key)
    jobs: list[str] = []
    for place, key in enumerate(keys):
        for number in range(50):
            jobs += capture(app, key, f"{place}-{number}", f"Statement {number}.").jobs
    assert len(set(jobs)) == 200
    providers = [ScriptedProvider(otherwise=finding_nothing) for _ in range(2)]
    together = threading.Barrier(2)
    faults: list[BaseException] = []

    def work(provider: ScriptedProvider) -> None:
        mine = App.open()
        try:
            mine.begin_writing()
            together.wait()
            mine.worker(provider=provider).drain()
        except BaseException as fault:  # noqa: BLE001 - told to the test
            faults.append(fault)
        finally:
            mine.close()

    threads = [threading.Thread(target=work, args=(provider,)) for provider in providers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert not faults
    leftover = ScriptedProvider(otherwise=finding_nothing)
    app.worker(provider=leftover).drain()
    sent = [name for provider in (*providers, leftover) for name in provider.sends]
    assert len(sent) == 200
    assert all(count == 1 for provider in providers for count in provider.sends.values())
    assert all(app.queue.outcome(job) is not None for job in jobs)
    app.close()


def capture(app: App, key: str, session: str, *texts: str) -> Captured:
    """Take turns in as a job."""
    own = hashlib.sha256(session.encode()).hexdigest()[:28]
    return app.capture_service().capture(
        host="pi",
        session=f"{own}0000",
        turns=[
            msgspec.structs.replace(turn, turn_id=f"{own}{number:04x}")
            for number, turn in enumerate(turns(*texts))
        ],
        project=key,
        branch_id=main_branch_id(key),
    )


# -- locks


@pytest.mark.requirement("M-11", "D-09")
def test_a_killed_lock_holder_blocks_nobody(perdure: Perdure, tmp_path: Path) -> None:
    """The holder of a project's lock is killed with SIGKILL: the next command works at once (peers 44)."""
    start = tmp_path / "start"
    start.touch()
    holder = child(_HOLD, perdure.project, start)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    holder.communicate()
    begun = time.monotonic()
    perdure("remember", "Nobody is blocked.")
    assert time.monotonic() - begun < 3


@pytest.mark.requirement("M-11")
def test_a_held_lock_ends_in_words_that_name_its_holder(
    perdure: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that holds the lock for long: after the wait, status 3, with the process's id and command,
    and nothing changed; reading goes on; a stopped process (SIGSTOP) is no different.
    """
    start = tmp_path / "start"
    start.touch()
    perdure("remember", "Before.")
    holder = child(_HOLD, perdure.project, start)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(records, "WAIT_SECONDS", 0.3)
    for words in (("remember", "While it is held."), ("forget", "Before"), ("undo",)):
        begun = time.monotonic()
        said = perdure.json(*words, status=3)["error"]
        assert 0.2 < time.monotonic() - begun < 3
        assert said["code"] == "locked"
        assert f"process {holder.pid}" in said["message"]
    assert perdure.texts() == ["Before."]
    assert "Before." in perdure("inject").out
    holder.kill()
    holder.communicate()
    perdure("remember", "After it.")


@pytest.mark.requirement("D-09", "G-04")
def test_no_lock_is_held_while_a_provider_is_asked(tmp_path: Path) -> None:
    """At the moment of the request, every lock domain can be taken by somebody else, a foreground write is
    done within two seconds, and a turn's block is there (peers 43, 48).
    """
    app, key = open_app(tmp_path)
    capture(app, key, "s", "The port is 4100.")
    writer = App.open()
    waits: list[float] = []

    def look(_request: ReviewRequest) -> None:
        for domain in (layout.BUDGETS, layout.scope_folder(key), f"{layout.scope_folder(key)}/coverage"):
            lock = writer.home.disk.try_lock(domain)
            assert lock is not None, domain
            lock.release()
        begun = time.monotonic()
        writer.memory_service(key).remember("Said during the review.")
        assert "Said during the review." in writer.inject_service().block(key).text
        waits.append(time.monotonic() - begun)

    provider = ScriptedProvider()
    provider.before_review = look
    writer.begin_writing()
    report = app.worker(provider=provider).drain()
    assert len(waits) >= 1
    assert max(waits) < 2
    assert report.ended.get("stale") == 1
    assert "Said during the review." in [e.text for e in app.memory_service(key).branch().entries]
    writer.close()
    app.close()


@pytest.mark.requirement("G-04", "M-11")
def test_foreground_waits_stay_short_while_a_slow_provider_reviews(tmp_path: Path) -> None:
    """Jobs whose provider takes a third of a second each: no foreground write beside them takes a second."""
    app, key = open_app(tmp_path)
    for number in range(6):
        capture(app, key, f"s{number}", f"The port of service {number} is 41{number}.")

    def slow(request: ReviewRequest) -> Reply:
        time.sleep(0.3)
        return finding_nothing(request)

    done = threading.Event()

    def review() -> None:
        mine = App.open()
        mine.begin_writing()
        mine.worker(provider=ScriptedProvider(otherwise=slow)).drain()
        mine.close()
        done.set()

    thread = threading.Thread(target=review)
    thread.start()
    waits: list[float] = []
    while not done.is_set():
        begun = time.monotonic()
        app.memory_service(key).remember(f"Note {len(waits)}.", key="note")
        waits.append(time.monotonic() - begun)
        time.sleep(0.05)
    thread.join()
    assert len(waits) > 5
    assert max(waits) < 1, max(waits)
    app.close()


@pytest.mark.requirement("Q-02", "G-04")
def test_capture_and_memory_work_while_a_worker_lives_and_after_it_is_killed(
    perdure: Perdure, tmp_path: Path
) -> None:
    """A worker is killed at some moment of its work, again and again: capture, remember and review --once
    always work, and in the end every job has one outcome (peers 7, 10, 23).
    """
    session = PiSession()
    for number in range(5):
        session.turn(f"We always run step {number} first.", "Noted.")
        path = str(session.write(tmp_path))
        worker = process("worker", cwd=perdure.project)
        perdure("capture", path)
        perdure("remember", f"Round {number}.")
        time.sleep(0.1 + 0.15 * number)
        worker.kill()
        worker.communicate()
    until = time.monotonic() + PATIENCE_SECONDS
    while perdure.json("jobs", "list", "--open")["jobs"] and time.monotonic() < until:
        run_quietly(perdure, "review", "--once")  # an attempt of a killed worker is waited for
        time.sleep(0.3)
    states = {job["state"] for job in perdure.json("jobs", "list")["jobs"]}
    assert states <= {"applied", "no-op", "superseded", "stale"}, states
    assert {f"Round {number}." for number in range(5)} <= set(perdure.texts())
    in_order(perdure)
