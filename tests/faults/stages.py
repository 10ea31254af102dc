"""What the cases share: homes on the simulated disk, processes on them, interference at a chosen moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perdure.authority.filesystem import layout, locks
from perdure.core.budget import Limits
from tests.fakes import ManualClock, Rig, Script, ScriptedProvider, SequentialIds, proposing
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation

RULE = "Use pnpm here."
PORT = "The port of the service is 4100."
RELEASES = "Releases go out on Thursdays."
DAY_SECONDS = 86_400


def home() -> SimulatedDisk:
    """A durable home that holds nothing yet."""
    disk = SimulatedDisk("posix-weak")
    Rig(disk).prepare()
    disk.reboot("kept")
    return disk


def process(
    disk: SimulatedDisk,
    name: str,
    *,
    hours: float = 0,
    script: tuple[Script, ...] = (),
    otherwise: Script = proposing,
    limits: Limits | None = None,
) -> Rig:
    """A process of that name, so many hours after noon."""
    clock = ManualClock()
    clock.advance(hours * 3_600)
    provider = ScriptedProvider(script, otherwise=otherwise)
    view = disk.process(name)
    return Rig(view, clock=clock, ids=SequentialIds(name), provider=provider, limits=limits)


def next_boot(disk: SimulatedDisk) -> Rig:
    """The first process after a power loss that took whatever was pending."""
    disk.reboot("lost")
    return Rig(disk, clock=ManualClock(boot="boot-2"), ids=SequentialIds("next boot"))


def snapshots(disk: SimulatedDisk, act: Callable[[], object]) -> Iterator[SimulatedDisk]:
    """The disk before every operation of a run, and after the last."""
    taken: list[SimulatedDisk] = []
    disk.watch(lambda _operation, _path: taken.append(disk.fork()))
    act()
    disk.watch(lambda _operation, _path: None)
    yield from taken
    yield disk.fork()


def before_operation(disk: SimulatedDisk, operation: Operation, part: str, act: Callable[[], object]) -> None:
    """Do something once, before the next such operation on a path that holds the part."""

    def watch(now: Operation, path: str) -> None:
        if now == operation and part in path:
            disk.watch(lambda *_: None)
            act()

    disk.watch(watch)


def as_another(act: Callable[[], object]) -> None:
    """Do something as another process would: what this one has locked is not held by it."""
    holding = vars(locks._held).pop("folder", None)
    try:
        act()
    finally:
        locks._held.folder = holding


def attempts(disk: SimulatedDisk, part: str) -> list[str]:
    """The paths of all records of attempts of that part."""
    return sorted(path for path in disk.files() if path.startswith(layout.ATTEMPTS) and path.endswith(part))
