"""The previous release and the current one on one home: in turns, at once, and with what neither knows."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.home import Format
from perdure.core.record import seal, unseal
from tests.machine import releases
from tests.machine.journal_story import PURGED, Expected, story
from tests.machine.user import CURRENT, GATED, PLAIN, User, ending, finish, kill
from tools import hygiene

WRITES = 6
LANES = 3
NEWER = 99

Pair = tuple[Path, Path]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the previous release."""
    return releases.unpack(tmp_path_factory.mktemp("release"))


@pytest.fixture(params=["previous-first", "current-first"])
def pair(request: pytest.FixtureRequest, previous: Path) -> Pair:
    """Give both releases: the one that makes the home, and the other."""
    return (previous, CURRENT) if request.param == "previous-first" else (CURRENT, previous)


def files(home: Path) -> dict[str, bytes]:
    """All files of a home with their bytes, but for what every run notes in passing."""
    passing = {layout.RUN, layout.EPOCH, "tmp"}
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and path.relative_to(home).parts[0] not in passing
    }


def test_the_kept_wheel_is_what_its_folder_says() -> None:
    """Its digest stands beside it, and it holds no path of a machine and no registry's address."""
    assert releases.SHA256 in (releases.FOLDER / "README.md").read_text(encoding="utf-8")
    found = []
    with zipfile.ZipFile(releases.FOLDER / releases.PREVIOUS) as packed:
        for name in packed.namelist():
            found += hygiene.in_text(name, packed.read(name).decode("utf-8", "replace"), str(Path.cwd()))
    assert found == []


@pytest.mark.requirement("X-08")
def test_the_previous_release_runs_and_not_the_current_one(tmp_path: Path, previous: Path) -> None:
    """What these tests call the previous release is that: its modules come from the wheel."""
    user = User(tmp_path, release=previous)
    command = [sys.executable, "-c", "import perdure; print(perdure.__file__)"]
    for release in (previous, CURRENT):
        told = subprocess.check_output(command, env=user.environment(release), text=True)
        assert Path(told.strip()).parent == release / "perdure"


@pytest.mark.requirement("X-08", "X-02", "G-04")
def test_releases_take_turns(tmp_path: Path, pair: Pair) -> None:
    """Each command is another release's turn; the other one reads what it left, and at the end nothing is
    lost, nothing came twice, and both verify the whole home.
    """
    user = User(tmp_path, release=pair[0])
    user.gate.touch()
    expected = Expected()
    for number, step in enumerate(story(user.project)):
        mine, other = pair[number % 2], pair[1 - number % 2]
        user(*step.words, module=GATED, release=mine)
        expected = step.after(expected)
        if number % 3 == 0:
            assert sorted(user.texts(release=other)) == sorted(expected.main)
    user("review", "--once", module=GATED, release=pair[0])
    expected = expected.reviewed()
    for release in pair:
        assert sorted(user.texts(release=release)) == sorted(expected.main)
        assert expected.fork is not None
        assert sorted(user.texts("experiment", release=release)) == sorted(expected.fork)
        assert set(user.states(release=release).values()) == {"applied"}
        findings = user("verify", release=release).json["findings"]
        assert [finding["code"] for finding in findings] == ["forgotten-elsewhere"]
    assert [name for name, data in files(user.home).items() if PURGED.encode() in data] == []


@pytest.mark.requirement("X-08", "M-11")
def test_writers_of_two_releases_lose_no_update(tmp_path: Path, previous: Path) -> None:
    """Both write to one branch at once: every write has its own revision and is there."""
    pair = (previous, CURRENT)
    user = User(tmp_path, release=pair[0])

    def write(release: Path) -> list[int]:
        whose = pair.index(release)
        notes = [f"Note {number} of writer {whose}." for number in range(WRITES)]
        return [user("remember", note, release=release).json["seq"] for note in notes]

    with ThreadPoolExecutor(2) as writers:
        numbers = [number for done in writers.map(write, pair) for number in done]
    assert sorted(numbers) == list(range(1, 2 * WRITES + 1))
    texts = [f"Note {number} of writer {whose}." for number in range(WRITES) for whose in (0, 1)]
    for release in pair:
        assert sorted(user.texts(release=release)) == texts
        user.check(release=release)


@pytest.mark.requirement("X-08", "X-02", "A-03", "A-04", "Q-03")
def test_workers_of_two_releases_share_the_work(tmp_path: Path, pair: Pair) -> None:
    """A worker of each waits in a call of its own; one is killed, and a worker of the other release, which
    goes on, ends its job as well. Every job takes effect once, and each attempt was sent once.
    """
    user = User(tmp_path, release=pair[0])
    branches = [f"b{number}" for number in range(LANES)]
    for branch in branches:
        user("branch", "fork", branch)
        user("branch", "use", branch)
        user.capture(f"Fact one of {branch}.", f"Fact two of {branch}.")
    dies, lives = (user.start("worker", module=GATED, release=release) for release in pair)
    with ending(dies, lives):
        user.await_sends(2, lives)
        assert {process for _attempt, process in user.sent()} == {dies.pid, lives.pid}
        kill(dies)
        user.gate.touch()
        user.await_states({"applied"}, lives)
        lives.terminate()
        assert finish(lives).status == 0
    attempts = [attempt for attempt, _process in user.sent()]
    assert len(set(attempts)) == len(attempts) == 2 * LANES + 1
    for release in pair:
        for branch in branches:
            texts = user.texts(branch, release=release)
            assert sorted(texts) == [f"Fact one of {branch}.", f"Fact two of {branch}."]
        user.check(release=release)


@pytest.mark.requirement("X-08", "Q-08")
def test_a_newer_home_is_refused_by_both_and_left_alone(tmp_path: Path, previous: Path) -> None:
    """A layout that neither knows: reading and writing are refused, with advice, and no byte changes.

    The previous release's init alone makes folders and ballast that are missing before it refuses.
    """
    user = User(tmp_path)
    user("remember", "Use pnpm here.")
    path = user.home / layout.FORMAT
    found = unseal(path.read_bytes(), Format)
    path.write_bytes(seal(msgspec.structs.replace(found, layout=NEWER)))
    before = files(user.home)
    for release in (previous, CURRENT):
        for words in (("list",), ("remember", "Use npm."), ("review", "--once"), ("verify",), ("init",)):
            if words == ("init",) and release != CURRENT:
                continue
            error = user(*words, release=release, status=5).json["error"]
            assert error["code"] == "newer"
            assert f"layout {NEWER}" in error["message"]
            assert "Perdure that wrote it" in error["advice"]
    assert files(user.home) == before


def make_newer(path: Path) -> None:
    """Let a record be of a version that nobody knows; its digest is of its body and stays right."""
    data = path.read_bytes()
    assert data.endswith(b'"version":1}')
    path.write_bytes(data.removesuffix(b"1}") + b"%d}" % NEWER)


@pytest.mark.requirement("X-08", "M-13", "Q-07")
@pytest.mark.parametrize("release", ["previous", "current"])
def test_records_of_a_newer_version_are_held(tmp_path: Path, previous: Path, release: str) -> None:
    """A branch, a revision, a job and an outcome that a later release wrote: each is named, none is touched
    or set aside, and all else goes on.
    """
    user = User(tmp_path, release=previous if release == "previous" else CURRENT)
    user("remember", "Use pnpm here.")
    ids = {}
    for name in ("held", "known", "waiting"):
        ids[name] = user("branch", "fork", name).json["branch_id"]
    (ended,) = user.capture("Remember that deploys start at 9.")
    user("review", "--once")
    user("remember", "Use ruff.", "--branch", "known")
    user("branch", "use", "waiting")
    (queued,) = user.capture("Remember that backups start at 3.")
    user("branch", "use", "main")
    (ready,) = user.capture("Remember that the port is 4100.")
    (scope,) = (user.home / "projects").iterdir()
    newer = [
        scope / "branches" / ids["held"],
        max((scope / "revisions" / ids["known"]).iterdir()),
        user.home / "spool" / "jobs" / queued,
        scope / "outcomes" / ended,
    ]
    for path in newer:
        make_newer(path)
    before = files(user.home)
    user("review", "--once")
    user("remember", "Use mypy.")
    user("list", "--branch", "held", status=5)
    assert user.texts() == [
        "Use pnpm here.",
        "Deploys start at 9.",
        "The port is 4100.",
        "Use mypy.",
    ]
    assert user.states()[ready] == "applied"
    verified = user("verify", status=1).json
    named = {finding["path"] for finding in verified["findings"] if finding["code"] == "newer"}
    assert named == {str(path.relative_to(user.home)) for path in newer}
    after = files(user.home)
    assert {name: after.get(name) for name in before if name in named} == {
        name: data for name, data in before.items() if name in named
    }
    assert [name for name in after if name.startswith("quarantine/")] == []


@pytest.mark.requirement("X-08", "M-06", "M-12")
def test_the_previous_release_lives_with_renames_removals_and_moves(tmp_path: Path, previous: Path) -> None:
    """It knows none of the three. What they wrote it holds and names; memory it reads and changes as ever;
    what was removed stays so, and what it did is there for the current release.
    """
    user = User(tmp_path)
    for text in ("Use pnpm here.", "Use ruff.", "Use mypy."):
        user("remember", text)
    gone = user("branch", "fork", "gone").json["branch_id"]
    user("branch", "fork", "before")
    user("remember", "Only on the branch that goes.", "--branch", "gone")
    user("branch", "use", "gone")
    (job,) = user.capture("Deploys start at 9.")
    user("branch", "remove", "gone", "--yes")
    user("branch", "rename", "before", "fresh")
    user("move", "Use ruff", "--to", "user")

    user.release = previous
    verified = user("verify").json
    held = {finding["path"] for finding in verified["findings"]}
    assert {finding["code"] for finding in verified["findings"]} <= {"newer", "foreign"}
    before = {name: data for name, data in files(user.home).items() if name in held}
    assert any(name.endswith(f"branches/{gone}") for name in before)
    assert user.texts() == ["Use pnpm here.", "Use mypy."]
    assert [entry["text"] for entry in user("list", "--user").json["entries"]] == ["Use ruff."]
    user("remember", "Written on main.")
    user("remember", "Written on fresh.", "--branch", "fresh")
    user("forget", "Use mypy", "--yes")
    user("review", "--once")
    assert user.states() == {job: "dropped"}
    user("branch", "fork", "gone")
    assert user("history", status=5).json["error"]["code"] == "newer"
    assert user("forget", "Use ruff", "--everywhere", "--user", "--yes", status=1).json["left"] != []
    assert {name: data for name, data in files(user.home).items() if name in held} == before

    user.release = CURRENT
    assert {finding["code"] for finding in user("verify").json["findings"]} == {"forgotten-elsewhere"}
    assert user.texts() == user.texts("gone") == ["Use pnpm here.", "Written on main."]
    assert user.texts("fresh")[-1] == "Written on fresh."
    assert user("forget", "Use ruff", "--everywhere", "--user", "--yes").json["left"] == []


@pytest.mark.requirement("X-08", "D-10", "D-11")
@pytest.mark.parametrize(("kind", "syncs"), [("rename", range(9, 60, 4)), ("move", range(19, 90, 5))])
def test_what_the_current_release_left_half_done_stops_the_previous_one(
    tmp_path: Path, previous: Path, kind: str, syncs: range
) -> None:
    """The current release is killed at some sync of a change that the previous one does not know. That one
    then writes, or refuses with advice and changes nothing; the current one finishes, and nothing is lost.
    """
    user = User(tmp_path)
    user("branch", "fork", "b0")
    last, kept, statuses, whole = 0, [], set(), False
    for number in syncs:
        user("remember", f"Entry {number}.")
        words = ("branch", "rename", f"b{last}", f"b{number}")
        if kind == "move":
            words = ("move", f"Entry {number}.", "--to", "user")
        cut = finish(user.start(str(number), PLAIN, *words, module="tests.machine.cut_short"))
        wrote = finish(user.start("remember", f"Note {number}.", "--json", release=previous))
        statuses.add(wrote.status)
        if wrote.status:
            assert wrote.json["error"]["advice"]
        else:
            kept.append(f"Note {number}.")
        last = number
        user("remember", "Use pnpm here.")
        assert finish(user.start(*words)).status in {0, 4}, "neither done now nor done before"
        if whole := not cut.status:
            break
    assert whole, "it has more syncs than are looked at"
    assert statuses == {0, 5}, "the previous release met no change that was half done"
    assert [note for note in kept if note not in user.texts()] == []
    user.check()
