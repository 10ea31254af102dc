"""What every authority keeps of renames, removals and moves (rules 15 and 16)."""

from __future__ import annotations

import pytest

from perdure.core.memory import Branch, main_branch_id
from perdure.core.move import Move, arrival, move_transaction, moved, place
from perdure.core.structural import Intent2, Renamed, rename, structural_intent
from perdure.errors import Conflict, Removed
from perdure.ports.memory import HeldMemory
from perdure.service.transact import hand_over, locked, roll_forward
from tests.contract.authorities import OTHER_PROJECT, Ports
from tests.core_values import NOW_MS, PROJECT, branch, entry

TRIAL = "7" * 16
MOVE_ID = "ab" * 16


def begun(held: HeldMemory, name: str = "trial") -> Branch:
    """A branch with one revision, in place."""
    fork = branch([entry()], seq=0, name="before", branch_id=TRIAL)
    held.put_branch(fork)
    first = renaming(fork, name)
    held.begin(first)
    assert roll_forward(held, first.transaction)
    standing = held.branch(TRIAL)
    assert standing is not None
    return standing


def renaming(of: Branch, name: str, transaction: str = "a" * 32) -> Intent2:
    """The intent of a rename."""
    return structural_intent(
        transaction=transaction,
        base=of,
        planned=rename(of, name, now_ms=NOW_MS),
        renamed=Renamed(of.name, name),
        now_ms=NOW_MS,
    )


def moving() -> Move:
    """A move of the branch's entry to main of another project."""
    target = main_branch_id(OTHER_PROJECT)
    return Move(MOVE_ID, PROJECT, TRIAL, OTHER_PROJECT, target, (entry(),), NOW_MS)


@pytest.mark.requirement("M-02", "D-06")
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_rename_rolls_forward_from_every_prefix(one: Ports, two: Ports, steps: int) -> None:
    """Whoever takes the lock next finishes it; a choice of the old name leads to the branch all the time."""
    with one.memory.hold(PROJECT) as held:
        standing = begun(held)
    one.memory.select(PROJECT, "trial")
    intent = renaming(standing, "attempt", "b" * 32)
    renamed = intent.branch
    assert renamed is not None
    assert intent.revision is not None
    revision = intent.revision
    with one.memory.hold(PROJECT) as held:
        for act in (
            lambda: held.begin(intent),
            lambda: held.shape.put_renamed(renamed, Renamed("trial", "attempt")),
            lambda: held.put_revision(revision),
        )[:steps]:
            act()
    assert two.memory.selected(PROJECT) == ("trial" if steps == 1 else "attempt")
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
    assert two.memory.branch(PROJECT, TRIAL) == renamed
    assert two.memory.selected(PROJECT) == "attempt"
    assert two.memory.revision(PROJECT, TRIAL, 2) == revision


@pytest.mark.requirement("M-02", "G-01")
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_removal_rolls_forward_from_every_prefix(one: Ports, two: Ports, steps: int) -> None:
    """The tombstone proves it to everyone, the branch is listed no more, its history gone, main in use."""
    with one.memory.hold(PROJECT) as held:
        standing = begun(held)
    one.memory.select(PROJECT, "trial")
    intent = structural_intent(transaction="b" * 32, base=standing, planned=None, now_ms=NOW_MS)
    stone = intent.tombstone
    assert stone is not None
    with one.memory.hold(PROJECT) as held:
        for act in (
            lambda: held.begin(intent),
            lambda: held.shape.entomb(stone),
            lambda: held.shape.remove_history(TRIAL),
        )[:steps]:
            act()
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
        with pytest.raises(Removed):
            held.branch(TRIAL)
        held.begin(intent)  # by a sleeper, once more
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
    with pytest.raises(Removed):
        two.memory.branch(PROJECT, TRIAL)
    assert [row.name for row in two.memory.branches(PROJECT)] == ["main"]
    assert two.memory.revisions(PROJECT, TRIAL) == ()
    assert two.memory.selected(PROJECT) == "main"


@pytest.mark.requirement("D-03", "D-06")
def test_what_is_begun_on_a_removed_branch_is_a_conflict(one: Ports, two: Ports) -> None:
    """A rename that comes late changes nothing."""
    with one.memory.hold(PROJECT) as held:
        standing = begun(held)
        late = renaming(standing, "late", "c" * 32)
        removal = structural_intent(transaction="b" * 32, base=standing, planned=None, now_ms=NOW_MS)
        held.begin(removal)
        assert roll_forward(held, removal.transaction)
        held.begin(late)
    with two.memory.hold(PROJECT) as held:
        assert not roll_forward(held, late.transaction)
        assert held.begun() == []
    assert [row.name for row in two.memory.branches(PROJECT)] == ["main"]


@pytest.mark.requirement("D-06", "G-04")
def test_a_move_is_noted_until_it_ends_and_its_arrival_stays(one: Ports, two: Ports) -> None:
    """Notes and arrivals are seen by other processes; the next lock of the source finishes the move."""
    move = moving()
    with one.memory.hold(PROJECT) as held:
        begun(held)
        held.moves.begin(move)
        held.moves.begin(move)
        assert held.moves.read(MOVE_ID) == move
        assert held.moves.read("cd" * 16) is None
    assert two.memory.moves(PROJECT) == (MOVE_ID,)
    assert two.memory.moves(OTHER_PROJECT) == ()
    with locked(two.memory, PROJECT) as held:
        assert held.moves.begun() == ()
        standing = held.branch(TRIAL)
    assert standing is not None
    assert standing.entries == ()
    there = two.memory.branch(OTHER_PROJECT, move.target_branch_id)
    assert there is not None
    assert there.entries == (entry(),)
    with one.memory.hold(OTHER_PROJECT) as held:
        assert held.moves.arrival(MOVE_ID) == arrival(move)
        held.moves.arrive(arrival(move))
        with pytest.raises(Conflict):
            held.moves.arrive(arrival(move, refused="changed"))
    assert hand_over(one.memory, move) == arrival(move)
    assert one.memory.revisions(OTHER_PROJECT, move.target_branch_id) == (1,)


@pytest.mark.requirement("D-06", "G-03")
def test_a_transaction_that_brings_an_arrival_publishes_it_when_it_is_rolled_forward(
    one: Ports, two: Ports
) -> None:
    """Cut off after its revision at the target, the move has arrived once for whoever looks next."""
    move = moving()
    with one.memory.hold(PROJECT) as held:
        begun(held)
        held.moves.begin(move)
    with one.memory.hold(OTHER_PROJECT) as held:
        base = held.branch(move.target_branch_id)
        assert base is not None
        intent = structural_intent(
            transaction=move_transaction(move, "in", base),
            base=base,
            planned=place(base, move.entries, now_ms=NOW_MS),
            moved=moved(move, "in"),
            arrival=arrival(move),
            now_ms=NOW_MS,
        )
        assert intent.branch is not None
        assert intent.revision is not None
        held.begin(intent)
        held.put_branch(intent.branch)
        held.put_revision(intent.revision)
    with locked(two.memory, OTHER_PROJECT) as held:
        assert held.moves.arrival(MOVE_ID) == arrival(move)
    hand_over(two.memory, move)
    assert two.memory.branch(OTHER_PROJECT, move.target_branch_id) == intent.branch
    assert two.memory.moves(PROJECT) == ()
