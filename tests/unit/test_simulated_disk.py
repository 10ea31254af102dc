"""The simulated disk itself: what it lets survive, how it crashes and fails, and that it is fast enough."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.authority.filesystem.disk import TEMPORARY_FOLDER, Disk
from perdure.errors import DiskFailed, DiskFull, LockTimeout, StorageError
from tests.simulated_disk import Crashed, Model, SimulatedDisk
from tests.simulated_media import BLOCK_BYTES

MODELS: list[Model] = ["posix-weak", "ext4"]
both_models = pytest.mark.parametrize("model", MODELS)
Work = Callable[[Disk], object]


def home(model: Model) -> SimulatedDisk:
    """Make a disk with durable folders tmp and jobs, and count operations from here."""
    disk = SimulatedDisk(model)
    for folder in (TEMPORARY_FOLDER, "jobs"):
        disk.make_folder(folder)
    disk.sync_folder("")
    disk.reboot("lost")
    return disk


def publish(disk: Disk, path: str = "jobs/a", data: bytes = b"whole") -> None:
    """Publish correctly, with two syncs."""
    with disk.temporary(data) as temporary:
        temporary.sync()
        temporary.link(path)
    disk.sync_folder("jobs")


def publish_without_file_sync(disk: Disk) -> None:
    """Publish with the first sync left out."""
    with disk.temporary(b"whole") as temporary:
        temporary.link("jobs/a")
    disk.sync_folder("jobs")


def publish_without_folder_sync(disk: Disk) -> None:
    """Publish with the second sync left out."""
    with disk.temporary(b"whole") as temporary:
        temporary.sync()
        temporary.link("jobs/a")


def record(disk: Disk) -> bytes | None:
    """Read what stands at the published name."""
    return disk.read("jobs/a", bytes_max=1 << 20)


def survivors(disk: SimulatedDisk) -> set[bytes | None]:
    """Collect what may stand at the published name after a power loss now."""
    return {record(state) for state in disk.surviving_states()}


def all_crashes(model: Model, work: Work) -> set[bytes | None]:
    """Collect what may stand at the published name after a power loss at any operation of the work."""
    found: set[bytes | None] = set()
    count = counted(model, work)
    for at in range(1, count + 1):
        for after in (False, True):
            disk = home(model)
            disk.crash_at(at, after=after)
            with contextlib.suppress(Crashed):
                work(disk)
            found |= survivors(disk)
    return found


def counted(model: Model, work: Work) -> int:
    """Count the operations of the work."""
    disk = home(model)
    work(disk)
    return len(disk.operations)


# -- what survives


@both_models
@pytest.mark.requirement("Q-02")
def test_two_syncs_publish_all_or_nothing(model: Model) -> None:
    """Before the acknowledgement a record is absent or whole, after it whole."""
    assert all_crashes(model, publish) == {None, b"whole"}
    disk = home(model)
    publish(disk)
    assert survivors(disk) == {b"whole"}


@both_models
def test_without_the_file_sync_a_record_may_be_empty(model: Model) -> None:
    """A name may be durable before its bytes are, even when its folder was synced."""
    disk = home(model)
    publish_without_file_sync(disk)
    assert survivors(disk) == {b"", b"whole"}


@both_models
def test_without_the_folder_sync_a_name_may_be_lost(model: Model) -> None:
    """Synced bytes have no name yet: both models may lose it."""
    disk = home(model)
    publish_without_folder_sync(disk)
    assert survivors(disk) == {None, b"whole"}


def test_a_missing_folder_sync_shows_longest_on_posix_weak() -> None:
    """A later sync of anything saves the name on ext4; on posix-weak only its own folder's sync does."""
    found: dict[Model, set[bytes | None]] = {}
    for model in MODELS:
        disk = home(model)
        publish_without_folder_sync(disk)
        disk.sync_folder("")
        found[model] = survivors(disk)
    assert found == {"posix-weak": {None, b"whole"}, "ext4": {b"whole"}}


@pytest.mark.parametrize(("model", "orders"), [("posix-weak", 4), ("ext4", 3)])
def test_names_survive_in_any_order_or_in_journal_order(model: Model, orders: int) -> None:
    """Two unsynced names survive independently on posix-weak; on ext4 the later one never alone."""
    disk = home(model)
    disk.make_folder("first")
    disk.make_folder("second")
    found = {tuple(sorted(set(state.names("")) - {"tmp", "jobs"})) for state in disk.surviving_states()}
    assert len(found) == orders
    assert (("second",) in found) == (model == "posix-weak")


@both_models
def test_bytes_are_torn_at_blocks(model: Model) -> None:
    """Unsynced bytes survive up to any block; small files are empty or full."""
    disk = home(model)
    data = b"a" * BLOCK_BYTES + b"b" * BLOCK_BYTES + b"c"
    with disk.temporary(data) as temporary:
        temporary.link("jobs/a")
    disk.sync_folder("jobs")
    assert survivors(disk) == {b"", data[:BLOCK_BYTES], data[: 2 * BLOCK_BYTES], data}


@both_models
def test_a_note_may_be_old_new_or_not_yet_cut(model: Model) -> None:
    """Overwriting in place may leave the old bytes, the new ones, or the new ones before the old tail."""
    disk = home(model)
    publish(disk, data=b"a long note")
    disk.note("jobs/a", b"short")
    assert survivors(disk) == {b"a long note", b"short note"[:5] + b"g note", b"short"}


@both_models
def test_a_replaced_file_is_old_or_new(model: Model) -> None:
    """A synced replacement leaves the old or the new record, never neither, and may leave both names."""
    disk = home(model)
    publish(disk, data=b"old")
    with disk.temporary(b"new") as temporary:
        temporary.sync()
        temporary.replace("jobs/a")
        states = list(disk.surviving_states())
    assert {record(state) for state in states} == {b"old", b"new"}
    twice = [state for state in states if record(state) == b"new" and state.names(TEMPORARY_FOLDER)]
    assert bool(twice) == (model == "posix-weak")
    disk.sync_folder("jobs")
    assert survivors(disk) == {b"new"}


@both_models
@pytest.mark.requirement("E-12")
def test_a_removal_may_come_back_until_the_folder_is_synced(model: Model) -> None:
    """A deletion is durable only with its folder."""
    disk = home(model)
    publish(disk)
    disk.remove("jobs/a")
    assert survivors(disk) == {None, b"whole"}
    disk.sync_folder("jobs")
    assert survivors(disk) == {None}


@both_models
@pytest.mark.requirement("E-12")
def test_a_new_folder_may_vanish_with_all_that_is_in_it(model: Model) -> None:
    """Syncing a new folder does not save its own name on posix-weak; its parent's sync does."""
    disk = home(model)
    disk.make_folder("day")
    with disk.temporary(b"x") as temporary:
        temporary.sync()
        temporary.link("day/a")
    disk.sync_folder("day")
    lost = [state for state in disk.surviving_states() if "day" not in state.names("")]
    assert bool(lost) == (model == "posix-weak")
    disk.sync_folder("")
    assert {state.read("day/a", bytes_max=1) for state in disk.surviving_states()} == {b"x"}


@both_models
def test_a_removed_folder_may_come_back_whole(model: Model) -> None:
    """What was in a folder when its names were last durable is there again when its removal is lost."""
    disk = home(model)
    disk.make_folder("day")
    disk.sync_folder("")
    disk.put("day/a", b"x")
    disk.remove("day/a")
    disk.remove_folder("day")
    found = {state.read("day/a", bytes_max=1) for state in disk.surviving_states()}
    assert found == {None, b"x"}
    disk.sync_folder("")
    assert all("day" not in state.names("") for state in disk.surviving_states())


@both_models
def test_states_are_distinct_and_independent(model: Model) -> None:
    """Each state comes once, has no locks and nothing pending, and changes apart from the others."""
    disk = home(model)
    lock = disk.lock("jobs", wait_seconds=0)
    publish_without_folder_sync(disk)
    disk.note("jobs/beat", b"1")
    states = list(disk.surviving_states())
    assert len({state.digest() for state in states}) == len(states) > 2
    for state in states:
        state.lock("jobs", wait_seconds=0).release()
        before = state.digest()
        (only,) = state.surviving_states()
        assert only.digest() == before
        publish(state, "jobs/new")
        assert "new" not in only.names("jobs")
    lock.release()
    assert "new" not in disk.names("jobs")


@both_models
def test_states_that_read_the_same_come_once(model: Model) -> None:
    """Two files of the same bytes, or a change and its undoing, make no difference: tried, not given."""
    disk = home(model)
    publish(disk)
    with disk.temporary(b"whole") as temporary:
        temporary.sync()
        temporary.replace("jobs/a")
    disk.make_folder("day")
    disk.remove_folder("day")
    states = disk.surviving_states()
    digests = [state.digest() for state in states]
    assert len(digests) == len(set(digests)) == states.distinct < states.tried


@both_models
def test_a_name_may_be_any_that_it_was(model: Model) -> None:
    """A name that was given twice since the last sync may be absent, the first or the second."""
    disk = home(model)
    for data in (b"1", b"2"):
        disk.remove("jobs/a")
        with disk.temporary(data) as temporary:
            temporary.sync()
            temporary.link("jobs/a")
    # on ext4 the second file's sync saved all names that were given before it
    assert survivors(disk) == ({None, b"1", b"2"} if model == "posix-weak" else {None, b"2"})
    disk.remove("jobs/a")
    disk.put("jobs/b", b"3")
    disk.note("jobs/a", b"4")
    assert survivors(disk) == {None, b"", b"4", b"2"} | ({b"1"} if model == "posix-weak" else set())


@both_models
def test_states_with_the_same_names_count_links_apart(model: Model) -> None:
    """Removing a name in one state leaves the number of links in its siblings."""
    disk = home(model)
    publish_without_file_sync(disk)
    full, empty = sorted(disk.surviving_states(), key=lambda state: len(record(state) or b""), reverse=True)[
        :2
    ]
    full.remove("jobs/a")
    found = empty.info("jobs/a")
    assert found is not None
    assert found.links == 1


@both_models
def test_a_twin_makes_another_state(model: Model) -> None:
    """The same record with and without its temporary name are two states: a reader can tell them apart."""
    disk = home(model)
    with disk.temporary(b"whole") as temporary:
        temporary.sync()
        temporary.link("jobs/a")
        disk.sync_folder("jobs")
    states = [(record(state), len(state.names(TEMPORARY_FOLDER))) for state in disk.surviving_states()]
    assert sorted(states) == [(b"whole", 0), (b"whole", 1)]


@both_models
def test_temporary_names_may_survive_and_are_swept(model: Model) -> None:
    """A power loss in a publication may leave the temporary name; its writer is gone."""
    disk = home(model)
    disk.crash_at(3, after=True)
    with pytest.raises(Crashed):
        publish(disk)
    left = [state for state in disk.surviving_states() if state.names(TEMPORARY_FOLDER)]
    assert left
    for state in left:
        assert state.sweep_temporaries() == 1
        assert state.names(TEMPORARY_FOLDER) == []


def test_old_temporary_names_settle() -> None:
    """Many publications do not multiply the states: names of long finished temporaries stay gone."""
    disk = home("posix-weak")
    for number in range(20):
        publish(disk, f"jobs/{number}")
    assert disk.surviving_states().combinations <= 2


def test_a_bound_samples_and_says_so() -> None:
    """Beyond the limit a seeded sample with both extremes is tried, and reported as a sample."""
    disk = home("posix-weak")
    for number in range(14):
        disk.make_folder(f"f{number}")
    whole, part = disk.surviving_states(limit=1 << 14), disk.surviving_states(limit=500, seed=1)
    assert (whole.exhaustive, whole.combinations) == (True, 1 << 14)
    assert sum(1 for _ in whole) == whole.tried == whole.distinct == 1 << 14
    sizes = [len(state.names("")) for state in part]
    assert not part.exhaustive
    assert part.tried == len(sizes) == 500
    assert (min(sizes), max(sizes)) == (2, 16)
    again = [state.digest() for state in disk.surviving_states(limit=500, seed=1)]
    assert again == [state.digest() for state in disk.surviving_states(limit=500, seed=1)]
    assert again != [state.digest() for state in disk.surviving_states(limit=500, seed=2)]


# -- a second opinion: random work, checked against the promises alone

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["publish", "unsynced", "replace", "remove", "note", "sync", "sync_root"]),
        st.sampled_from(["jobs/a", "jobs/b"]),
        st.binary(min_size=1, max_size=2),
    ),
    max_size=5,
)


def step(disk: Disk, action: str, path: str, data: bytes) -> None:
    """Do one random thing."""
    if action in {"publish", "unsynced", "replace"}:
        with disk.temporary(data) as temporary:
            if action != "unsynced":
                temporary.sync()
            if action == "replace":
                temporary.replace(path)
            else:
                temporary.link(path)
        if action == "publish":
            disk.sync_folder("jobs")
    elif action == "remove":
        disk.remove(path)
    elif action == "note":
        disk.note(path, data)
    else:
        disk.sync_folder("jobs" if action == "sync" else "")


@both_models
@given(steps=STEPS)
def test_both_extremes_are_among_the_states(model: Model, steps: list[tuple[str, str, bytes]]) -> None:
    """What a reboot may choose is what the enumeration finds, and what is seen now may survive as it is."""
    disk = home(model)
    for action, path, data in steps:
        step(disk, action, path, data)
    found = {state.digest() for state in disk.surviving_states()}
    assert disk.digest() in found
    for choice in ("lost", "kept"):
        copy = disk.fork()
        copy.reboot("lost" if choice == "lost" else "kept")
        assert copy.digest() in found


@given(steps=STEPS)
def test_ext4_leaves_nothing_that_posix_weak_does_not(steps: list[tuple[str, str, bytes]]) -> None:
    """The weak model is the weaker one: every ext4 state is one of its states, temporaries aside."""
    found: dict[Model, set[tuple[tuple[str, bytes], ...]]] = {}
    for model in MODELS:
        disk = home(model)
        for action, path, data in steps:
            step(disk, action, path, data)
        found[model] = {
            tuple(sorted((path, data) for path, data in state.files().items() if path.startswith("jobs/")))
            for state in disk.surviving_states()
        }
    assert found["ext4"] <= found["posix-weak"]


# -- crashes, processes, locks


@both_models
def test_operations_are_numbered(model: Model) -> None:
    """A publication is five operations, each a crash point."""
    disk = home(model)
    publish(disk)
    assert [kind for kind, _ in disk.operations] == ["write", "sync_file", "link", "drop", "sync_folder"]


@both_models
@pytest.mark.parametrize("after", [False, True])
def test_every_operation_is_a_crash_point(model: Model, after: bool) -> None:
    """A crash comes just before or just after the effect of its operation, and nothing works until reboot."""
    disk = home(model)
    disk.crash_at(3, after=after)
    with pytest.raises(Crashed):
        publish(disk)
    calls: list[Callable[[], object]] = [
        lambda: record(disk),
        lambda: disk.names("jobs"),
        lambda: disk.info("jobs"),
        lambda: disk.try_lock("jobs"),
        lambda: publish(disk),
        disk.sweep_temporaries,
    ]
    for call in calls:
        with pytest.raises(Crashed):
            call()
    disk.reboot("kept")
    assert record(disk) == (b"whole" if after else None)


def test_no_handler_of_exceptions_survives_a_crash() -> None:
    """A crash is no Exception, so that recovery code cannot swallow it."""
    assert not issubclass(Crashed, Exception)


@both_models
def test_a_process_crash_keeps_all_and_frees_locks(model: Model) -> None:
    """After SIGKILL everything written is seen, locks are free, and the temporary stays for the sweep."""
    disk = home(model)
    disk.lock("jobs", wait_seconds=0)
    disk.process("other").lock(TEMPORARY_FOLDER, wait_seconds=0)
    disk.crash_at(3, after=True)
    with pytest.raises(Crashed):
        publish(disk)
    disk.process_crash()
    assert record(disk) == b"whole"
    for path in ("jobs", TEMPORARY_FOLDER):
        disk.lock(path, wait_seconds=0)
    assert disk.sweep_temporaries() == 1
    assert survivors(disk) == {None, b"whole"}


@pytest.mark.requirement("Q-03")
def test_processes_share_files_and_own_locks() -> None:
    """A killed worker's locks are free and its temporaries orphaned; the other's are untouched."""
    disk = home("posix-weak")
    first, second = disk.process("first"), disk.process("second")
    publish(first)
    assert record(second) == b"whole"
    first.lock("jobs/a", wait_seconds=0)
    second.lock("jobs", wait_seconds=0)
    with pytest.raises(LockTimeout, match="process first"):
        second.lock("jobs/a", wait_seconds=9)
    with first.temporary(b"half") as temporary:
        assert second.sweep_temporaries() == 0
        disk.kill("first")
        with pytest.raises(Crashed):
            temporary.sync()
    assert second.sweep_temporaries() == 1
    second.lock("jobs/a", wait_seconds=0)
    assert disk.try_lock("jobs") is None
    with pytest.raises(Crashed):
        record(first)


def test_a_process_dies_at_its_own_operation() -> None:
    """A crash plan of one process counts its own operations and leaves the machine and the others running."""
    disk = home("ext4")
    other = disk.process("other")
    victim = disk.process("victim", crash_at=3)
    publish(other, "jobs/other")
    with pytest.raises(Crashed):
        publish(victim)
    assert record(other) is None
    assert other.sweep_temporaries() == 1
    publish(disk.process("victim"))
    assert record(other) == b"whole"


def test_a_dead_process_releases_nothing_of_its_successor() -> None:
    """A lock object of a former life cannot free the lock of a later one."""
    disk = home("ext4")
    old = disk.process("worker").lock("jobs", wait_seconds=0)
    disk.kill("worker")
    disk.process("worker").lock("jobs", wait_seconds=0)
    old.release()
    assert disk.try_lock("jobs") is None


# -- faults


@both_models
@pytest.mark.parametrize("operation", ["sync_file", "sync_folder"])
def test_a_failed_sync_is_not_mended_by_another(model: Model, operation: str) -> None:
    """After a failed sync the next one succeeds and saves nothing of what the first had to save."""
    disk = home(model)
    with disk.temporary(b"whole") as temporary:
        temporary.link("jobs/a")
        if operation == "sync_file":
            disk.fail("sync_file")
            with pytest.raises(DiskFailed):
                temporary.sync()
        temporary.sync()
    if operation == "sync_folder":
        disk.fail("sync_folder")
        with pytest.raises(DiskFailed):
            disk.sync_folder("jobs")
    disk.sync_folder("jobs")
    if operation == "sync_file":
        assert survivors(disk) == {b"", b"whole"}
    else:
        assert (None in survivors(disk)) == (model == "posix-weak")


def test_a_name_given_anew_mends_a_failed_folder_sync() -> None:
    """The record written to a new file and synced is durable, whatever happened to the first one."""
    disk = home("posix-weak")
    disk.fail("sync_folder")
    with pytest.raises(DiskFailed):
        publish(disk, data=b"first")
    with disk.temporary(b"second") as temporary:
        temporary.sync()
        temporary.replace("jobs/a")
    disk.sync_folder("jobs")
    assert survivors(disk) == {b"second"}


def test_an_aborted_journal_stops_ext4() -> None:
    """A failed folder sync makes ext4 read-only until the reboot; reading goes on."""
    disk = home("ext4")
    publish(disk, "jobs/b")
    disk.fail("sync_folder")
    with pytest.raises(DiskFailed):
        publish(disk)
    with pytest.raises(StorageError):
        publish(disk, "jobs/c")
    assert record(disk) == b"whole"
    disk.reboot("lost")
    publish(disk, "jobs/c")
    assert sorted(disk.names("jobs")) == ["b", "c"]


@both_models
def test_faults_count_their_own_operation(model: Model) -> None:
    """The nth operation of a kind fails, once or for good; the error may be any storage error."""
    disk = home(model)
    disk.fail("write", nth=2, error=DiskFull)
    publish(disk, "jobs/1")
    with pytest.raises(DiskFull):
        publish(disk, "jobs/2")
    publish(disk, "jobs/3")
    disk.fail("link", error=StorageError("broken"), forever=True)
    for _ in range(2):
        with pytest.raises(StorageError, match="broken"):
            publish(disk, "jobs/4")
    assert sorted(disk.names("jobs")) == ["1", "3"]
    assert disk.names(TEMPORARY_FOLDER) == []


@pytest.mark.parametrize(
    ("operation", "expected"), [("sync_file", {b"", b"whole"}), ("sync_folder", {None, b"whole"})]
)
def test_a_lying_sync_is_a_missing_sync(operation: str, expected: set[bytes | None]) -> None:
    """A disk that reports a sync and does not do it leaves what a program without that sync leaves."""
    disk = home("posix-weak")
    disk.fail("sync_file" if operation == "sync_file" else "sync_folder", error=None)
    publish(disk)
    assert survivors(disk) == expected
    with pytest.raises(ValueError, match="only a sync"):
        disk.fail("link", error=None)


@both_models
def test_a_full_disk_refuses_and_changes_nothing(model: Model) -> None:
    """Bytes and inodes run out apart from one another; removing gives them back."""
    disk = home(model)
    publish(disk, "jobs/1", b"12345")
    before = disk.digest()
    disk.limit(bytes_max=9)
    calls: list[Callable[[], object]] = [lambda: publish(disk), lambda: disk.note("jobs/n", b"67890")]
    for call in calls:
        with pytest.raises(DiskFull):
            call()
    disk.limit(inodes_max=3)
    for call in (*calls, lambda: disk.make_folder("day")):
        with pytest.raises(DiskFull):
            call()
    disk.note("jobs/1", b"same inode")
    disk.note("jobs/1", b"12345")
    assert disk.digest() == before
    disk.remove("jobs/1")
    publish(disk)
    assert record(disk) == b"whole"


def test_a_read_only_disk_reads() -> None:
    """Every change is refused, reading goes on."""
    disk = home("ext4")
    publish(disk)
    disk.set_read_only()
    calls: list[Callable[[], object]] = [
        lambda: publish(disk, "jobs/b"),
        lambda: disk.remove("jobs/a"),
        lambda: disk.make_folder("day"),
        lambda: disk.remove_folder("jobs"),
        lambda: disk.note("jobs/a", b""),
    ]
    for call in calls:
        with pytest.raises(StorageError):
            call()
    disk.sync_folder("jobs")
    assert record(disk) == b"whole"
    disk.set_read_only(read_only=False)
    assert disk.remove("jobs/a")


@both_models
def test_a_fork_keeps_what_is_pending(model: Model) -> None:
    """A fork may lose the same things, and the two go apart from there on."""
    disk = home(model)
    publish_without_folder_sync(disk)
    copy = disk.fork()
    disk.sync_folder("jobs")
    assert survivors(disk) == {b"whole"}
    assert survivors(copy) == {None, b"whole"}
    publish(disk, "jobs/c")
    assert sorted(disk.names("jobs")) == ["a", "c"]
    assert copy.names("jobs") == ["a"]
    publish(copy, "jobs/b")
    assert sorted(copy.names("jobs")) == ["a", "b"]
