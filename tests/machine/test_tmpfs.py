"""A real disk that is full, or without inodes, at another place of each command: a sample with a fixed seed.

`python -m tests.machine --rooms` goes through all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from perdure.authority.filesystem.attempts import RESULT_BYTES
from tests.machine.cases import CASES, Case, clean_view
from tests.machine.small_disk import PAGE_BYTES, Room, SmallDisk, cannot_mount, small_disk
from tests.machine.sweep import Spent, begin, squeeze
from tests.machine.world import World, view_of

SEED = 20_270_202
SAMPLE = 1
"""So many rooms of each command, beside none at all."""
PLENTY = 4_000

pytestmark = [
    pytest.mark.skipif(bool(why := cannot_mount()), reason=why or ""),
    pytest.mark.requirement("X-05"),
]


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    """Give a mounted disk."""
    with small_disk(tmp_path_factory.mktemp("tmpfs") / "disk") as made:
        yield made


@pytest.fixture(scope="module")
def world(disk: SmallDisk) -> Iterator[World]:
    """Give a home on it that has seen everything once."""
    with World(disk.path.parent / "world", disk=disk.path).opened() as made:
        yield made


def _rooms(case: Case) -> list[Room]:
    chance = random.Random(f"{SEED} {case.name}")
    pages, inodes = chance.sample(range(1, 10), SAMPLE), chance.sample(range(1, 10), SAMPLE)
    return [Room(0, 0), *(Room(p, PLENTY) for p in pages), *(Room(PLENTY, n) for n in inodes)]


@pytest.mark.requirement("G-01", "G-04", "M-12")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_full_disk(world: World, disk: SmallDisk, case: Case) -> None:
    """With so few bytes or inodes free a command refuses and says what to do, or does its work; nothing that
    was acknowledged is lost, and with room again everything goes on. Forgetting works with no room at all.
    """
    clean = clean_view(world, case)
    for room in _rooms(case):
        struck = squeeze(world, disk, case, room, clean)
        assert struck.wrong == (), f"{case.name} with {room}"


@pytest.mark.requirement("E-05", "M-12")
def test_evidence_expires_on_a_full_disk(world: World, disk: SmallDisk) -> None:
    """Retention takes away what has expired though nothing is free, with what is kept back for it."""
    (case,) = (case for case in CASES if case.name == "retention")
    begin(world, case)
    world.configure(paid=True)  # no review finds room for its call, so that only retention is left to do
    with disk.left(Room(0, 0)):
        assert world.run("review", "--once").status in {0, 5}
        expired = case.done(world, view_of(world))
    assert expired


@pytest.mark.requirement("A-02", "A-04", "X-04")
@pytest.mark.parametrize("pages", [0, 4, 40, 78, 79, 80, 81, 82, 84, 90, 120])
def test_no_call_goes_out_without_room_for_its_records(world: World, disk: SmallDisk, pages: int) -> None:
    """Around the size of the largest result: either no request is made, or its result is recorded."""
    (case,) = (case for case in CASES if case.name == "review by a paid reviewer")
    begin(world, case)
    before = Spent.of(world)
    with disk.left(Room(pages, PLENTY)):
        assert world.run("review", "--once").status in {0, 5}
        after = Spent.of(world)
    made = after.reached - before.reached
    assert made <= after.counted - before.counted
    assert after.unsettled == before.unsettled
    assert made <= (pages > RESULT_BYTES // PAGE_BYTES)


@pytest.mark.requirement("A-02")
def test_with_room_the_call_goes_out(world: World, disk: SmallDisk) -> None:
    """The same review with enough room makes its one request: the refusals above are for want of room."""
    (case,) = (case for case in CASES if case.name == "review by a paid reviewer")
    begin(world, case)
    before = Spent.of(world)
    with disk.left(Room(200, PLENTY)):
        assert world.run("review", "--once").status == 0
    assert Spent.of(world).reached == before.reached + 1
