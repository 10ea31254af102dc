"""The FeatureIndex port on files: derived, deletable, whole or absent, and silent about texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.authority.filesystem import index, layout
from perdure.authority.filesystem.disk import Disk, RealDisk
from perdure.authority.filesystem.index import MAGIC, FileIndex, path_of, paths_of_scope
from perdure.authority.filesystem.records import Records
from perdure.core.canonical import digest
from perdure.ports.index import BranchPart, JobPart, Kept, Part, Standing
from tests.fakes import MAIN_BRANCH, PROJECT, ManualClock, Rig, turns
from tests.simulated_disk import Crashed, SimulatedDisk

KEY = b"k" * 32
BRANCH = BranchPart(PROJECT, MAIN_BRANCH)
USER = BranchPart("user", "ab" * 8)
ONE, TWO, THREE = (digest(name) for name in ("one", "two", "three"))
OLD = {ONE: b"old one", TWO: b"old two"}
NEW = {TWO: b"new two", THREE: b"new three"}


@pytest.fixture(params=["files", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """Each disk in turn, with the folders of a home."""
    if request.param == "simulated":
        simulated = SimulatedDisk()
        _prepared(simulated)
        yield simulated
        return
    (tmp_path / "home").mkdir(mode=0o700)
    real = RealDisk(str(tmp_path / "home"))
    _prepared(real)
    yield real
    real.close()


def _prepared(disk: Disk) -> None:
    for folder in ("tmp", layout.RUN, layout.INDEX):
        disk.make_folder(folder)
        disk.sync_folder("")


def opened(disk: Disk, key: bytes = KEY) -> FileIndex:
    """The index as a process opens it."""
    return FileIndex(Records(disk, ManualClock()), key)


def load(
    found: FileIndex, part: Part = BRANCH, *versions: str, source: str = "s1", encoder: str = "e"
) -> Kept | None:
    """What stands of these versions, by default of all three."""
    return found.load(part, frozenset(versions or (ONE, TWO, THREE)), source=source, encoder=encoder)


@pytest.mark.requirement("R-09")
def test_what_is_saved_is_found_by_version_by_another_process(disk: Disk) -> None:
    """Features come back byte for byte, with what they were made from, and no more than was asked for."""
    assert opened(disk).save(BRANCH, OLD, source="s1", encoder="e")
    assert load(opened(disk)) == Kept(OLD, current=False)
    assert load(opened(disk), BRANCH, ONE, TWO) == Kept(OLD, current=True)
    assert load(opened(disk), BRANCH, ONE, TWO, source="s2") == Kept(OLD, current=False)
    assert load(opened(disk), BRANCH, ONE) == Kept({ONE: b"old one"}, current=False)
    assert load(opened(disk), USER) is None


@pytest.mark.requirement("R-09")
def test_another_encoder_finds_nothing_and_takes_the_place(disk: Disk) -> None:
    """What one encoder made is never given to another, and what the other saves replaces it."""
    found = opened(disk)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    assert load(found, encoder="f") is None
    found.save(BRANCH, NEW, source="s1", encoder="f")
    assert load(found) is None
    assert load(found, encoder="f") == Kept(NEW, current=False)


@pytest.mark.requirement("R-09")
def test_damage_anywhere_in_a_file_counts_as_missing(disk: Disk) -> None:
    """Cut at any length, or with any byte changed, a file gives nothing, and the next save mends it."""
    found = opened(disk)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    whole = disk.read(path_of(BRANCH), bytes_max=10_000)
    assert whole is not None
    for place in range(len(whole)):
        for bad in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            disk.note(path_of(BRANCH), bad)
            assert load(found) is None, place
    assert found.save(BRANCH, NEW, source="s2", encoder="e")
    assert load(found) == Kept(NEW, current=False)


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("form", [b"perdure recall 1\n", b"perdure recall 3\n"])
def test_another_form_or_a_foreign_thing_in_its_place_counts_as_missing(
    disk: Disk, tmp_path: Path, form: bytes
) -> None:
    """A file of another version, and a link or folder under a part's name, give nothing and do no harm."""
    found = opened(disk)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    whole = disk.read(path_of(BRANCH), bytes_max=10_000)
    assert whole is not None
    disk.note(path_of(BRANCH), whole.replace(MAGIC, form))
    assert load(found) is None
    disk.remove(path_of(BRANCH))
    disk.make_folder(path_of(BRANCH))
    assert load(found) is None
    assert not found.save(BRANCH, OLD, source="s1", encoder="e")
    assert not found.keep_only(BRANCH, frozenset())
    if isinstance(disk, RealDisk):
        outside = tmp_path / "outside"
        outside.write_bytes(whole)
        Path(disk.home, path_of(USER)).symlink_to(outside)
        assert load(found, USER) is None
        assert found.save(USER, NEW, source="s2", encoder="e")
        assert load(found, USER) == Kept(NEW, current=False)
        assert outside.read_bytes() == whole


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
def test_a_crash_anywhere_in_a_write_leaves_old_new_or_nothing(model: str) -> None:
    """After a power loss at any operation a reader finds all of the old, all of the new, or nothing."""
    crashes = 0
    for number in range(1, 20):
        for after in (False, True):
            disk = SimulatedDisk(model)  # type: ignore[arg-type] # one of the two models
            _prepared(disk)
            opened(disk).save(BRANCH, OLD, source="s1", encoder="e")
            done = len(disk.operations)
            disk.crash_at(done + number, after=after)
            try:
                opened(disk).save(BRANCH, NEW, source="s2", encoder="e")
            except Crashed:
                crashes += 1
            for state in disk.surviving_states():
                found = opened(state)
                kept = load(found)
                assert kept in (None, Kept(OLD, current=False), Kept(NEW, current=False))
                assert found.save(BRANCH, NEW, source="s2", encoder="e")
                assert load(found) == Kept(NEW, current=False)
    assert crashes > 4


@pytest.mark.requirement("R-09")
def test_a_reader_between_the_steps_of_a_writer_sees_old_or_new() -> None:
    """Before each step of one process's write, another reads the whole of the old or of the new."""
    disk = SimulatedDisk()
    _prepared(disk)
    opened(disk).save(BRANCH, OLD, source="s1", encoder="e")
    reader = opened(disk.process("reader"))
    seen: list[Kept | None] = []
    disk.watch(lambda *_: seen.append(load(reader)))
    opened(disk.process("writer")).save(BRANCH, NEW, source="s2", encoder="e")
    assert len(seen) > 1
    assert load(reader) == Kept(NEW, current=False)
    assert all(each in (Kept(OLD, current=False), Kept(NEW, current=False)) for each in seen)


@pytest.mark.requirement("M-12", "R-08")
def test_what_is_not_kept_is_gone_from_the_file(disk: Disk) -> None:
    """keep_only leaves the versions that it is given, removes an empty file, and one that it cannot read."""
    found = opened(disk)
    assert not found.keep_only(BRANCH, frozenset())
    found.save(BRANCH, OLD, source="s1", encoder="e")
    assert not found.keep_only(BRANCH, frozenset((ONE, TWO, THREE)))
    assert found.keep_only(BRANCH, frozenset((TWO,)))
    assert load(found) == Kept({TWO: b"old two"}, current=False)
    data = disk.read(path_of(BRANCH), bytes_max=10_000)
    assert data is not None
    assert b"old one" not in data
    assert found.keep_only(BRANCH, frozenset())
    assert disk.info(path_of(BRANCH)) is None
    disk.note(path_of(BRANCH), b"torn: old one")
    assert found.keep_only(BRANCH, frozenset((ONE,)))
    assert disk.info(path_of(BRANCH)) is None


@pytest.mark.requirement("M-12")
def test_names_in_a_file_are_keyed_by_the_home(disk: Disk) -> None:
    """No plain digest of a text is on disk: whoever guesses a text cannot look whether it stood there."""
    opened(disk).save(BRANCH, OLD, source="s1", encoder="e")
    data = disk.read(path_of(BRANCH), bytes_max=10_000)
    assert data is not None
    assert bytes.fromhex(ONE)[:16] not in data
    assert ONE[:16].encode() not in data
    assert load(opened(disk, b"another home's key")) == Kept({}, current=False)


def test_a_full_or_stopped_disk_refuses_and_leaves_the_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised: the save says False, and what stood there stands."""
    disk = SimulatedDisk()
    _prepared(disk)
    found = opened(disk)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    disk.limit(bytes_max=1)
    assert not found.save(BRANCH, NEW, source="s2", encoder="e")
    disk.limit(bytes_max=None)
    monkeypatch.setattr(index, "PART_BYTES_MAX", 300)
    assert not found.save(BRANCH, {ONE: b"x" * 400}, source="s2", encoder="e")
    monkeypatch.undo()
    records = Records(disk, ManualClock())
    records.stops.note("file", "somewhere")
    assert not FileIndex(records, KEY).save(BRANCH, NEW, source="s2", encoder="e")
    assert load(found) == Kept(OLD, current=False)


@pytest.mark.requirement("G-05")
def test_parts_of_a_scope_are_told_apart(disk: Disk) -> None:
    """The files of a project are those of its branches and jobs, and nobody else's."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.capture(turns("The port is 4100."))
    (job_id,) = rig.queue.queued()
    found = opened(disk)
    for part in (BRANCH, USER, JobPart(job_id), BranchPart("cd" * 8, MAIN_BRANCH)):
        assert found.save(part, OLD, source="s", encoder="e")
    disk.note(f"{layout.INDEX}/shadow.sqlite", b"")
    assert set(paths_of_scope(disk, PROJECT)) == {path_of(BRANCH), path_of(JobPart(job_id))}
    assert paths_of_scope(disk, "user") == (path_of(USER),)


@pytest.mark.requirement("R-09", "M-12")
def test_a_deleted_folder_is_made_again_and_branches_that_are_gone_are_named(disk: Disk) -> None:
    """Whoever saves makes the folder; parts of a scope are listed, whether the branch is there or not."""
    disk.remove_folder(layout.INDEX)
    found = opened(disk)
    assert found.branches(PROJECT) == ()
    assert found.save(BRANCH, OLD, source="s1", encoder="e")
    assert found.save(USER, OLD, source="s1", encoder="e")
    assert found.branches(PROJECT) == (BRANCH,)
    assert found.branches("user") == (USER,)


@pytest.mark.requirement("R-09", "G-05")
def test_branches_of_a_scope_lend_each_other_what_they_have(disk: Disk) -> None:
    """A fork gets the versions that another branch of its scope holds; no other scope lends, nor encoder."""
    fork, found = BranchPart(PROJECT, "ef" * 8), opened(disk)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    asked = frozenset((ONE, THREE))
    assert found.lent(fork, asked, encoder="e") == {ONE: b"old one"}
    assert found.lent(fork, asked, encoder="f") == {}
    assert found.lent(BRANCH, asked, encoder="e") == {}
    assert found.lent(USER, asked, encoder="e") == {}
    assert found.lent(BranchPart("cd" * 8, MAIN_BRANCH), asked, encoder="e") == {}
    found.save(BranchPart(PROJECT, "aa" * 8), NEW, source="s1", encoder="e")
    assert found.lent(fork, asked, encoder="e") == {ONE: b"old one", THREE: b"new three"}
    disk.note(path_of(BRANCH), b"torn")
    assert found.lent(fork, asked, encoder="e") == {THREE: b"new three"}


@pytest.mark.requirement("R-09")
def test_what_stands_is_counted_and_what_cannot_be_read_is_named(disk: Disk) -> None:
    """Parts and entries of all scopes; one that is torn or of another form is damaged."""
    found = opened(disk)
    assert found.standing() == Standing(parts=0, entries=0)
    found.save(BRANCH, OLD, source="s1", encoder="e")
    found.save(USER, {ONE: b"old one"}, source="s1", encoder="f")
    disk.note(f"{layout.INDEX}/shadow.sqlite", b"")
    assert found.standing() == Standing(parts=2, entries=3)
    disk.note(path_of(BRANCH), b"perdure recall 1\n of before")
    assert found.standing() == Standing(parts=2, entries=1, damaged=(path_of(BRANCH),))
    disk.remove(path_of(BRANCH))
    disk.remove(path_of(USER))
    disk.remove(f"{layout.INDEX}/shadow.sqlite")
    disk.remove_folder(layout.INDEX)
    assert found.standing() == Standing(parts=0, entries=0)
