"""Every command that writes, with a fault at one of its system calls: a sample with a fixed seed.

`python -m tests.machine --sweep` does the same at every call.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from perdure.cli.table import MODULES
from tests.machine.cases import CASES, READING, Case, clean_view
from tests.machine.commands import cannot_trace
from tests.machine.sweep import FAULTS, SYNCS, Call, Fault, census, strike, writes
from tests.machine.world import View, World, quick_folder

SEED = 20_270_201
SAMPLE = {"killed": 2, "failed sync": 1, "no room": 1, "failed write": 1, "lying sync": 1}
"""So many calls of each command for each fault."""

pytestmark = [
    pytest.mark.skipif(bool(why := cannot_trace()), reason=why or ""),
    pytest.mark.requirement("X-05"),
]

_Seen = dict[str, tuple[View, list[Call]]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Give a home that has seen everything once."""
    with quick_folder() as folder, World(folder).opened() as made:
        yield made


@pytest.fixture(scope="module")
def seen() -> _Seen:
    """Keep each command's clean view and calls for all of its faults."""
    return {}


def _look(world: World, seen: _Seen, case: Case) -> tuple[View, list[Call]]:
    if case.name not in seen:
        seen[case.name] = clean_view(world, case), census(world, case)
    return seen[case.name]


def _sample(calls: list[Call], fault: Fault, case: Case) -> list[Call]:
    """Calls that the fault can come to, drawn from equal parts of the run."""
    chance = random.Random(f"{SEED} {case.name} {fault.name}")
    able = [call for call in calls if call.name in fault.calls]
    if fault.every:
        return able[:1]
    parts = min(SAMPLE[fault.name], len(able))
    return [
        chance.choice(able[len(able) * part // parts : len(able) * (part + 1) // parts])
        for part in range(parts)
    ]


@pytest.mark.requirement("G-01", "G-03", "G-04", "X-02", "Q-05")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name.replace(" ", "-"))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_fault_at_a_call(world: World, seen: _Seen, case: Case, fault: Fault) -> None:
    """Killed, refused or lied to at a call: the status is a documented one and says what to do, what was
    acknowledged is there, the rest can be done afterwards, and all is then as if nothing had happened.
    """
    clean, calls = _look(world, seen, case)
    for call in _sample(calls, fault, case):
        struck = strike(world, case, call, fault, clean)
        assert struck.wrong == (), f"{case.name}, {fault.name} at {call.name} {call.number}: {call.shown}"


def test_every_command_is_swept_or_only_reads() -> None:
    """A command is among those that the sweep knows to write, or among those that a test shows not to."""
    assert {case.command for case in CASES} | set(READING) == set(MODULES)


@pytest.mark.parametrize("command", READING, ids=lambda command: command.replace(" ", "-"))
def test_a_reading_command_writes_nothing(world: World, command: str) -> None:
    """Commands that only show things change no disk; what they found they may make durable."""
    world.restore()
    words = [word.format(old=world.job("Please")[-32:]) for word in READING[command]]
    assert [call for call in writes(world, *command.split(), *words) if call.name not in SYNCS] == []


def test_the_census_sees_what_a_command_writes(world: World, seen: _Seen) -> None:
    """A remember publishes an intent, a branch and a revision: each is written, synced and named, and its
    folder synced. A count that misses calls would make every sweep easier than it seems.
    """
    (case,) = (case for case in CASES if case.name == "remember")
    _, calls = _look(world, seen, case)
    folder = f"projects/{world.key}/"
    for name, shown in (("linkat", "admissions"), ("renameat", "branches"), ("linkat", "revisions")):
        place = next(n for n, call in enumerate(calls) if call.name == name and folder + shown in call.shown)
        before = [call.name for call in calls[:place]]
        assert before[-2:] == ["write", "fsync"]
        assert any(call.name == "fsync" and folder + shown in call.shown for call in calls[place:])


@pytest.mark.parametrize(
    ("deliberate", "fault"),
    [("silent-sync", "failed sync"), ("swallowed-room", "no room"), ("in-place", "killed")],
)
def test_a_fault_in_the_product_is_found(world: World, seen: _Seen, deliberate: str, fault: str) -> None:
    """With a fault put into the product on purpose, some call of a remember breaks a promise."""
    (case,) = (case for case in CASES if case.name == "remember")
    clean, _ = _look(world, seen, case)
    world.deliberate = deliberate
    try:
        calls = [call for call in reversed(census(world, case)) if call.name in FAULTS[fault].calls]
        assert any(strike(world, case, call, FAULTS[fault], clean).wrong for call in calls)
    finally:
        world.deliberate = ""
