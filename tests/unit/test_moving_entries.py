"""Moves of entries between memories, and merges: in one place, arrived once, refused before it is written."""

from __future__ import annotations

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.core.memory import BRANCH_CHARS_MAX, Entry, main_branch_id
from perdure.core.move import Move, arrival
from perdure.core.record import seal
from perdure.core.structural import Revision2
from perdure.errors import CapacityRefused, DiskFull, NotFound, Refused, StorageError, UsageError
from perdure.service.moves import MoveService, holds_entries
from perdure.service.transact import hand_over, locked
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, SequentialIds
from tests.services import branch_service, broken, purge_service, retention, snapshot, verify_service
from tests.simulated_disk import SimulatedDisk

USER = layout.USER_SCOPE
OTHER = "fedcba9876543210"
FIRST = "The tests run with make."
SECOND = "Releases go out on Thursdays."
WAYS = [(PROJECT, USER), (USER, PROJECT), (PROJECT, OTHER)]


def ready() -> Rig:
    """A home with two projects."""
    rig = Rig(SimulatedDisk())
    rig.prepare(PROJECT, OTHER)
    return rig


def fresh(rig: Rig, series: str = "n") -> Rig:
    """Another process on the same disk."""
    return Rig(rig.disk, ids=SequentialIds(series))


def moving(rig: Rig, source: str) -> MoveService:
    """Moves out of a scope."""
    return MoveService(rig.memory, source, clock=rig.clock, ids=rig.ids)


def held(rig: Rig, scope: str) -> list[str]:
    """The texts on main of a scope."""
    return [entry.text for entry in rig.memory_service(scope).branch("main").entries]


def remember(rig: Rig, scope: str, text: str, *, key: str | None = None) -> Entry:
    """Remember on main of a scope."""
    written = rig.memory_service(scope).remember(text, key=key)
    assert written.entry is not None
    return written.entry


def noted(rig: Rig, source: str, target: str) -> Move:
    """A move of everything that was noted at its source and went no further."""
    branch = rig.memory_service(source).branch("main")
    move = Move(
        move_id="ab" * 16,
        scope=source,
        branch_id=branch.branch_id,
        target=target,
        target_branch_id=main_branch_id(target),
        entries=branch.entries,
        begun_ms=rig.clock.now_ms(),
    )
    with rig.memory.hold(source) as scope:
        scope.moves.begin(move)
    return move


def files(rig: Rig) -> dict[str, bytes]:
    """Every file but those of a run."""
    assert isinstance(rig.disk, SimulatedDisk)
    return {path: data for path, data in rig.disk.files().items() if not path.startswith(("run/", "tmp/"))}


@pytest.mark.requirement("G-05", "M-03", "M-09")
@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_moved_entry_is_the_same_entry_in_another_memory(source: str, target: str) -> None:
    """Id, text, key and times are kept; both histories name the other side; no move is left open."""
    rig = ready()
    remember(rig, source, SECOND)
    entry = remember(rig, source, FIRST, key="test command")
    done = moving(rig, source).move("test command", target)
    assert done.entries == (entry,)
    assert held(rig, source) == [SECOND]
    assert rig.memory_service(target).branch("main").entries == (entry,)
    for here, there, direction in ((target, source, "in"), (source, target, "out")):
        newest = rig.memory_service(here).history("main")[0]
        assert isinstance(newest, Revision2)
        assert newest.moved is not None
        assert (newest.moved.direction, newest.moved.scope) == (direction, there)
        assert newest.moved.move_id == done.move_id
        with pytest.raises(Refused, match="moved entries"):
            rig.memory_service(here).undo(branch="main")
    assert rig.memory.moves(source) == ()
    assert verify_service(rig).verify().ok


@pytest.mark.requirement("M-12")
def test_a_moved_entry_can_come_back() -> None:
    """A move is no forget: no tombstone keeps the entry from returning, as often as one likes."""
    rig = ready()
    entry = remember(rig, PROJECT, FIRST)
    for source, target in ((PROJECT, USER), (USER, PROJECT), (PROJECT, OTHER), (OTHER, PROJECT)):
        moving(rig, source).move(entry.entry_id, target)
        assert broken(rig) == ()
    assert rig.memory_service().branch().entries == (entry,)


@pytest.mark.requirement("M-07", "M-12", "M-15")
@pytest.mark.parametrize("why", ["key", "capacity", "forgotten"])
def test_what_would_collide_is_refused_before_anything_is_written(why: str) -> None:
    """Another value of the key, no room, a tombstone at the target: all files are as they were."""
    rig = ready()
    remember(rig, PROJECT, FIRST, key="test command")
    if why == "key":
        remember(rig, USER, "It is pytest.", key="Test Command")
    elif why == "capacity":
        for number in range(7):
            remember(rig, USER, f"{number} " + "x" * (BRANCH_CHARS_MAX // 8))
        remember(rig, USER, "y" * (BRANCH_CHARS_MAX - rig.memory_service(USER).branch().chars))
    else:
        remember(rig, USER, FIRST)
        rig.memory_service(USER).forget(FIRST)
    before = files(rig)
    refused = CapacityRefused if why == "capacity" else Refused
    with pytest.raises(refused, match="nothing was moved"):
        moving(rig, PROJECT).move(FIRST, USER)
    assert files(rig) == before


def test_a_move_needs_another_memory_and_an_entry() -> None:
    """To where it is, or of what is not there: nothing happens."""
    rig = ready()
    remember(rig, PROJECT, FIRST)
    with pytest.raises(UsageError):
        moving(rig, PROJECT).move(FIRST, PROJECT)
    with pytest.raises(NotFound):
        moving(rig, PROJECT).move("nothing like it", USER)


@pytest.mark.requirement("G-04", "M-05")
def test_a_merge_takes_all_of_main_or_nothing() -> None:
    """What both say stays once; one collision refuses all; other branches stay and are named."""
    rig = ready()
    remember(rig, PROJECT, FIRST, key="test command")
    remember(rig, PROJECT, SECOND)
    kept = remember(rig, OTHER, SECOND)
    clash = remember(rig, OTHER, "It is pytest.", key="test command")
    with pytest.raises(Refused, match="test command"):
        moving(rig, PROJECT).merge(OTHER)
    assert held(rig, PROJECT) == [FIRST, SECOND]
    rig.memory_service(OTHER).forget(clash.entry_id)
    rig.memory_service().fork("trial")
    done = moving(rig, PROJECT).merge(OTHER)
    assert len(done.entries) == 2
    assert held(rig, PROJECT) == []
    assert sorted(held(rig, OTHER)) == sorted([FIRST, SECOND])
    assert kept in rig.memory_service(OTHER).branch().entries
    assert holds_entries(rig.memory, PROJECT) == ("trial",)
    assert moving(rig, PROJECT).merge(OTHER).entries == ()
    assert broken(rig) == ()


# -- half done


@pytest.mark.requirement("D-06", "G-04")
@pytest.mark.parametrize(("source", "target"), WAYS)
@pytest.mark.parametrize("who", ["a write", "retention"])
def test_whoever_takes_the_sources_lock_finishes_an_open_move(source: str, target: str, who: str) -> None:
    """A command that writes there, or retention, which comes by every memory within the hour."""
    rig = ready()
    remember(rig, source, FIRST)
    move = noted(rig, source, target)
    left = [v for v in verify_service(rig).verify().findings if v.code == "open-move"]
    assert [finding.path.rpartition("/")[2] for finding in left] == [move.move_id]
    later = fresh(rig)
    if who == "retention":
        retention(later).run()
    else:
        later.memory_service(source).remember("Something else.", branch="main")
    assert FIRST in held(later, target)
    assert FIRST not in held(later, source)
    assert later.memory.moves(source) == ()
    assert verify_service(later).verify().findings == ()


@pytest.mark.requirement("D-06", "G-03")
def test_the_same_move_never_arrives_twice_and_takes_nothing_out_later() -> None:
    """A process that slept through the end of its move, and through the way back, changes nothing."""
    rig = ready()
    entry = remember(rig, PROJECT, FIRST)
    move = noted(rig, PROJECT, USER)
    assert hand_over(rig.memory, move).refused == ""
    moving(rig, USER).move(entry.entry_id, PROJECT)
    sleeper = fresh(rig)
    assert hand_over(sleeper.memory, move) == arrival(move)
    assert (held(rig, PROJECT), held(rig, USER)) == ([FIRST], [])
    assert broken(rig) == ()


@pytest.mark.requirement("M-12", "D-06")
@pytest.mark.parametrize("change", ["replaced", "forgotten", "removed"])
def test_what_changed_at_the_source_meanwhile_stays_there(change: str) -> None:
    """An older release wrote there while the move was open: nothing arrives, above all nothing forgotten."""
    rig = ready()
    remember(rig, PROJECT, "On main.")
    rig.memory_service().fork("trial")
    branch = rig.memory_service().branch("trial")
    move = msgspec.structs.replace(
        noted(rig, PROJECT, USER), move_id="cd" * 16, branch_id=branch.branch_id, entries=branch.entries
    )
    (entry,) = branch.entries
    if change == "replaced":
        rig.memory_service().replace(entry.entry_id, text="Changed.", branch="trial")
    elif change == "forgotten":
        rig.memory_service().forget(entry.entry_id, branch="trial")
    else:
        branch_service(rig).remove("trial")
    assert hand_over(rig.memory, move).refused == "changed"
    assert "cd" * 16 not in rig.memory.moves(PROJECT)
    assert held(rig, USER) == ["On main."]  # of the move that was open on main


@pytest.mark.requirement("M-07", "M-12", "M-15")
@pytest.mark.parametrize("why", ["duplicate-key", "forgotten"])
def test_a_target_that_changed_meanwhile_refuses_and_the_entry_stays(why: str) -> None:
    """The check under the target's lock counts; its word stands, and the source is as it was."""
    rig = ready()
    remember(rig, PROJECT, FIRST, key="test command")
    move = noted(rig, PROJECT, USER)
    if why == "forgotten":
        remember(rig, USER, FIRST)
        rig.memory_service(USER).forget(FIRST)
    else:
        remember(rig, USER, "It is pytest.", key="test command")
    assert hand_over(rig.memory, move).refused == why
    assert hand_over(fresh(rig).memory, move).refused == why
    assert held(rig, PROJECT) == [FIRST]
    assert rig.memory.moves(PROJECT) == ()
    assert broken(rig) == ()


@pytest.mark.requirement("Q-13", "D-06")
def test_a_move_to_a_damaged_memory_waits_and_stops_nobody() -> None:
    """The source stays writable; once the target can be read, the next write finishes the move."""
    rig = ready()
    remember(rig, PROJECT, FIRST)
    remember(rig, USER, SECOND)
    noted(rig, PROJECT, USER)
    place = layout.branch(USER, main_branch_id(USER))
    whole = files(rig)[place]
    rig.disk.remove(place)
    rig.records.keep(place, b"{}")
    later = fresh(rig)
    remember(later, PROJECT, "Written meanwhile.")
    assert held(later, PROJECT) == [FIRST, "Written meanwhile."]
    later.disk.remove(place)
    later.records.keep(place, whole)
    last = fresh(later, "last")
    remember(last, PROJECT, "Written afterwards.")
    assert held(last, USER) == [SECOND, FIRST]
    assert FIRST not in held(last, PROJECT)


@pytest.mark.requirement("D-09", "D-06")
def test_moves_that_cross_are_both_finished() -> None:
    """Each memory is the other's target, and both have open moves: no lock waits for another."""
    rig = ready()
    remember(rig, PROJECT, FIRST)
    remember(rig, USER, SECOND)
    one = noted(rig, PROJECT, USER)
    two = msgspec.structs.replace(
        one,
        move_id="cd" * 16,
        scope=USER,
        branch_id=main_branch_id(USER),
        target=PROJECT,
        target_branch_id=MAIN_BRANCH,
        entries=rig.memory_service(USER).branch().entries,
    )
    with rig.memory.hold(USER) as scope:
        scope.moves.begin(two)
    for scope_key in (PROJECT, USER):
        with locked(fresh(rig, scope_key).memory, scope_key):
            pass
    assert (held(rig, PROJECT), held(rig, USER)) == ([SECOND], [FIRST])
    assert broken(rig) == ()


@pytest.mark.requirement("D-06", "X-05")
def test_a_disk_that_fails_on_the_way_says_that_the_move_is_recorded() -> None:
    """At every failing write: what is said to be recorded arrives with the next command, or nothing moved."""
    said_recorded = 0
    for nth in range(1, 16):
        rig = ready()
        remember(rig, PROJECT, FIRST)
        remember(rig, USER, SECOND)
        assert isinstance(rig.disk, SimulatedDisk)
        rig.disk.fail("write", nth=nth, error=DiskFull)
        said = ""
        try:
            moving(rig, PROJECT).move(FIRST, USER)
        except StorageError as failed:
            said = failed.message
        later = fresh(rig)
        for number in range(nth + 1):  # a step that is not reached above fails here
            try:
                remember(later, PROJECT, f"After {number}.")
            except StorageError:
                later = fresh(rig, f"n{number}")
        remember(later, PROJECT, "After all.")
        there = FIRST in held(later, USER)
        assert there == (FIRST not in held(later, PROJECT)), nth
        assert there == (not said or said.startswith("the move is recorded; ")), (nth, said)
        said_recorded += said.startswith("the move is recorded; ")
    assert said_recorded >= 3


@pytest.mark.requirement("M-12")
def test_a_purge_of_a_moved_text_leaves_it_in_no_record_of_the_move() -> None:
    """The note is gone when the move ends, the arrival holds ids, and history is purged as ever."""
    rig = ready()
    remember(rig, PROJECT, "The launch code name is Bluebird Harbour.")
    moving(rig, PROJECT).move("Bluebird", USER)
    purge_service(rig).forget_everywhere(PROJECT, text="Bluebird Harbour")
    purge_service(rig).forget_everywhere(USER, text="Bluebird Harbour")
    assert [path for path, data in files(rig).items() if b"Bluebird" in data] == []
    assert broken(rig) == ()


@pytest.mark.requirement("X-03")
def test_verify_knows_an_entry_in_two_memories_and_a_false_arrival() -> None:
    """An entry that arrived and stands at its source without a note, and records that are not the move's."""
    rig = ready()
    entry = remember(rig, PROJECT, FIRST)
    before = files(rig)
    move = noted(rig, PROJECT, USER)
    hand_over(rig.memory, move)
    place = layout.branch(PROJECT, MAIN_BRANCH)
    rig.disk.remove(place)
    rig.records.keep(place, before[place])
    assert ("V-21", "twice") in {(v.invariant, v.code) for v in broken(fresh(rig))}
    other = msgspec.structs.replace(move, move_id="cd" * 16)
    rig.records.keep(layout.move(PROJECT, move.move_id), seal(other))
    rig.records.ensure_folders(layout.arrivals(OTHER))
    rig.records.keep(layout.arrival(OTHER, "ef" * 16), seal(arrival(move)))
    rig.records.keep(layout.move(PROJECT, "cd" * 16), seal(other))
    false = msgspec.structs.replace(arrival(other), arrived_ms=1)
    rig.records.keep(layout.arrival(USER, "cd" * 16), seal(false))
    found = {(v.code, v.path.split("/")[-2]) for v in broken(fresh(rig)) if v.invariant == "V-21"}
    assert {("name", "moves"), ("name", "arrivals"), ("derived", "arrivals")} <= found
    assert entry.entry_id in snapshot(rig).scopes[USER].arrivals[move.move_id].entry_ids
