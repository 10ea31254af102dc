"""One fault at one system call of one command, and whether all promises hold afterwards.

    calls = census(world, case)                     # the writing calls of a clean run, numbered by name
    wrong = strike(world, case, calls[7], FAULTS["killed"])

A number counts all calls of that name which the main thread makes, as strace's `when=` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import msgspec

from perdure.authority.filesystem import layout
from tests.machine.cases import Case
from tests.machine.commands import Ended
from tests.machine.small_disk import Room, SmallDisk
from tests.machine.world import View, World, broken, paid_calls, unsettled, view_of

NAMES = (
    "openat open creat write writev pwrite64 pwritev2 fsync fdatasync sync_file_range link linkat symlinkat "
    "rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir fallocate ftruncate truncate chmod fchmod "
    "fchmodat"
).split()
"""The calls that change a disk, or make a change of it durable."""

_OPENING = {"openat", "open"}
SYNCS = frozenset({"fsync", "fdatasync"})
_ROOMY = frozenset(
    "openat open creat write pwrite64 link linkat rename renameat renameat2 mkdir mkdirat fallocate".split()
)
_MAKING = _ROOMY | {"unlink", "unlinkat", "rmdir", "ftruncate", "fchmod", "fchmodat", "chmod"}
DOCUMENTED = frozenset({0, 1, 2, 3, 4, 5, 6})
_STORAGE_STATUS, _NOT_FOUND_STATUS, _REFUSED_STATUS = 5, 4, 3
KILLED_STATUS = -9


class Call(msgspec.Struct, frozen=True):
    """The `number`th call of that name."""

    name: str
    number: int
    shown: str = ""


class Fault(msgspec.Struct, frozen=True):
    """What strace does to a call, and to which ones it can happen."""

    name: str
    injected: str
    calls: frozenset[str]
    every: bool = False  # from that call on, each

    def strace(self, call: Call) -> list[str]:
        """The options of strace."""
        when = f"{call.number}{'+' if self.every else ''}"
        return ["-e", f"trace={call.name}", "-e", f"inject={call.name}:{self.injected}:when={when}"]


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("killed", "signal=SIGKILL", frozenset(NAMES)),
        Fault("failed sync", "error=EIO", SYNCS),
        Fault("no room", "error=ENOSPC", _ROOMY),
        Fault("failed write", "error=EIO", _MAKING),
        Fault("lying sync", "retval=0", SYNCS, every=True),
    )
}


def census(world: World, case: Case) -> list[Call]:
    """The calls of a clean run that write below the world's disk or to the user's file."""
    begin(world, case)
    ended = world.run(
        *case.arguments(world),
        strace=["-e", f"trace={','.join(NAMES)}"],
        stop_after=case.stop_after,
    )
    assert ended.status == 0, f"{case.name}: {ended.status}\n{ended.out}{ended.err}"
    return [call for call in _numbered(ended.trace) if _writes(call, world)]


def writes(world: World, *words: str) -> list[Call]:
    """The calls of any command that write below the world's disk."""
    ended = world.run(*words, strace=["-e", f"trace={','.join(NAMES)}"])
    assert ended.status == 0, f"{words}: {ended.status}\n{ended.out}{ended.err}"
    return [call for call in _numbered(ended.trace) if _writes(call, world)]


def _numbered(trace: str) -> Iterator[Call]:
    counts: dict[str, int] = {}
    for line in trace.splitlines():
        found = re.match(r"(\w+)\(", line)
        if found is not None:
            name = found[1]
            counts[name] = counts.get(name, 0) + 1
            yield Call(name, counts[name], line)


def _writes(call: Call, world: World) -> bool:
    asked = call.shown.rpartition(" = ")[0]
    return str(world.folder) in asked and (call.name not in _OPENING or "O_CREAT" in asked)


def begin(world: World, case: Case) -> None:
    """Put everything back, and make what the case needs."""
    world.restore()
    case.prepare(world)


class Struck(msgspec.Struct, frozen=True):
    """What came of one fault: whether it happened, how the command ended, and which promises were broken."""

    hit: bool
    status: int
    wrong: tuple[str, ...]


def strike(world: World, case: Case, call: Call, fault: Fault, clean: View) -> Struck:
    """Do it, and check everything. `clean` is the view after the same without a fault."""
    begin(world, case)
    words, before = case.arguments(world), Spent.of(world)
    ended = world.run(*words, strace=fault.strace(call), stop_after=case.stop_after)
    struck = _struck(ended, world)
    wrong = [*answered(ended), *_stopping(world, case, fault, ended, struck)]
    if fault.every and ended.status != 0:
        wrong.append(f"a lie was noticed: {ended.status} {ended.out}{ended.err}")
    wrong += recovered(world, case, words, clean, acknowledged=ended.status == 0)
    wrong += Spent.of(world).since(before)
    return Struck(struck is not None, ended.status, tuple(wrong))


def squeeze(world: World, disk: SmallDisk, case: Case, room: Room, clean: View) -> Struck:
    """Run the command where only so much is free, and check everything once there is room again.

    A removal has the room that it needs, even where there is none (rule 7); a call that was paid for has its
    result recorded, since the room for it is kept before the call goes out.
    """
    begin(world, case)
    words, before = case.arguments(world), Spent.of(world)
    with disk.left(room):
        ended = world.run(*words, stop_after=case.stop_after)
        wrong = [*answered(ended)]
        if case.frees and ended.status != 0:
            wrong.append(f"nothing could be removed: {ended.out}{ended.err}")
        if world.stopped() and not case.unfit:
            wrong.append(f"a full disk stopped all writing: {ended.out}{ended.err}")
        found = Spent.of(world)
        wrong += found.since(before)
        if found.unsettled > before.unsettled:
            wrong.append(f"{found.unsettled - before.unsettled} calls were made and have no result")
    wrong += recovered(world, case, words, clean, acknowledged=ended.status == 0)
    return Struck(ended.status != 0, ended.status, tuple(wrong))


class Spent(msgspec.Struct, frozen=True):
    """Calls to the paid reviewer: that reached it, that the budget counts, that have no end."""

    reached: int
    counted: int
    unsettled: int

    @classmethod
    def of(cls, world: World) -> Self:
        """What was spent so far; nothing where there is no home."""
        if not (world.home / layout.KEY).exists():
            return cls(world.calls, 0, 0)
        return cls(world.calls, paid_calls(world), unsettled(world))

    def since(self, before: Spent) -> Iterator[str]:
        """What is wrong with what was spent since then."""
        reached, counted = self.reached - before.reached, self.counted - before.counted
        if reached > counted:
            yield f"{reached} calls were made, {counted} are counted"


def _struck(ended: Ended, world: World) -> str | None:
    """The call that the fault came to; None if it writes nothing, as numbers differ a little between runs."""
    if ended.status == KILLED_STATUS:
        return ended.trace
    shown = (call.shown for call in _numbered(ended.trace) if "(INJECTED)" in call.shown)
    return next((line for line in shown if _writes(Call(line.partition("(")[0], 0, line), world)), None)


def answered(ended: Ended) -> Iterator[str]:
    """A documented status, and an error that says what to do."""
    if ended.status == KILLED_STATUS:
        return
    if ended.status not in DOCUMENTED or "Traceback" in ended.out + ended.err:
        yield f"status {ended.status}: {ended.out}{ended.err}"
    if ended.status == 0:
        return
    error = _error(ended)
    if not ended.out or (error and not (error["message"] and error["advice"])):
        yield f"status {ended.status} without advice: {ended.out}{ended.err}"


def _error(ended: Ended) -> dict[str, str]:
    try:
        document = ended.document
    except msgspec.DecodeError:
        return {}
    found = document.get("error", {})
    return found if isinstance(found, dict) else {}


def _stopping(world: World, case: Case, fault: Fault, ended: Ended, struck: str | None) -> Iterator[str]:
    """A failed sync stops all writing until it is made good; nothing else does."""
    stands = world.stopped()
    if fault.name != "failed sync":
        if stands and not case.unfit:
            yield f"{fault.name} stopped all writing: {ended.out}{ended.err}"
        return
    refused = ended.status == _REFUSED_STATUS  # a place that a home cannot be made in: nothing is begun
    if struck is not None and f"<{world.home}" in struck and not stands and not refused:
        yield f"writing goes on after {struck}: {ended.status} {ended.out}"
    if not stands:
        return
    whole = not (case.absent or case.unfit)  # else the command itself makes it good when it is repeated
    written = world.run("remember", "This finds writing stopped.")
    if written.status != _STORAGE_STATUS and (whole or written.status == 0):
        yield f"a write was taken while writing is stopped: {written.status} {written.out}"
    resumed = world.run("home", "resume")
    if world.stopped() if resumed.status == 0 else whole:
        yield f"home resume: {resumed.status} {resumed.out}{resumed.err}"


def recovered(
    world: World, case: Case, words: Sequence[str], clean: View, *, acknowledged: bool
) -> Iterator[str]:
    """What was acknowledged is there; what was not can be done now; and all is as if nothing had happened."""
    if not case.unfit:
        yield from _verified(world, allowed={_NOT_FOUND_STATUS} if case.absent else set())
    done = _home_stands(world) and case.done(world, view_of(world))
    if acknowledged and not done and not case.hourly:
        yield "it was acknowledged and is not done"
    if not done:
        if case.hourly:
            case.prepare(world)  # as if an hour had gone by
        again = world.run(*words, stop_after=case.stop_after)
        if again.status != 0 and again.status not in case.again:
            yield f"again: status {again.status}: {again.out}{again.err}"
        if not case.done(world, view_of(world)):
            yield f"it is not done when it is done again: {again.status} {again.out}"
    for following in case.following(world):
        after = world.run(*following)
        if after.status != 0:
            yield f"{following}: status {after.status}: {after.out}{after.err}"
    yield from _verified(world, allowed=set())
    yield from broken(world, at_rest=True)
    found = view_of(world)
    if found != clean:
        yield f"found {found}\n    expected {clean}"


def _home_stands(world: World) -> bool:
    return (world.home / layout.FORMAT).exists()


def _verified(world: World, allowed: set[int]) -> Iterator[str]:
    verified = world.run("verify")
    if verified.status != 0 and verified.status not in allowed:
        yield f"verify: status {verified.status}: {verified.out[:2000]}{verified.err}"
