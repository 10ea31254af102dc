"""What befalls the machine: kills, power losses, reboots, clocks that jump, disks that fail and fill."""

from __future__ import annotations

import contextlib
import random

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.authority.filesystem.records import Records
from perdure.errors import StorageError
from perdure.service.invariants import check_invariants
from tests.crash.world import Broken
from tests.simulated_disk import SimulatedDisk
from tests.simulated_machine import Operation
from tests.simulated_survivors import Survivors
from tests.simulation.house import House
from tests.simulation.plan import DAY_SECONDS, Event

_DAY_MS = 86_400_000


class Nature:
    """Lets the events of a plan happen."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._coming = list(reversed(house.plan.events))
        self.befell = 0

    def before_step(self, step: int) -> None:
        """Let everything happen that is due."""
        while self._coming and self._coming[-1].at <= step:
            self._happen(self._coming.pop())

    def _happen(self, event: Event) -> None:
        house = self._house
        house.stage.note(f"*** {event.kind} {event.who} {event.amount or ''}".rstrip())
        house.ledger.counts[f"event: {event.kind}"] += 1
        self.befell += 1
        match event.kind:
            case "kill":
                house.disk.kill(event.who)
                house.stage.wake(event.who)
            case "power loss":
                self.power_loss()
            case "reboot":
                house.disk.reboot("kept")
                self._booted()
            case "stall":
                house.stage.stall(event.who, event.amount)
            case "jump":
                house.clock.jump(event.amount)
            case "midnight":
                now_ms = house.clock.now_ms()
                house.clock.advance((_DAY_MS - now_ms % _DAY_MS) / 1000 - 0.02)
            case "pass":
                house.clock.advance(min(event.amount, 3 * DAY_SECONDS))
            case _:
                self._trouble(event)

    def _trouble(self, event: Event) -> None:
        disk = self._house.disk
        match event.kind:
            case "sync fails":
                operation: Operation = "sync_file" if event.who == "sync_file" else "sync_folder"
                disk.fail(operation, nth=int(event.amount))
            case "resume":
                self._resume()
            case "fill":
                self._fill(event)
            case "empty":
                disk.limit()
            case _:
                self._lose_lock(event.amount)

    def power_loss(self) -> None:
        """Go on from one of the states that may survive; every rule of safety holds in it."""
        house = self._house
        left = surviving(house.disk, house.chance)
        house.disk.reboot(left)
        self._booted()
        found = check_invariants(load_snapshot(Records(house.disk.fork(), house.clock)))
        if found:
            raise Broken(f"after a power loss: {found[0]}")

    def _booted(self) -> None:
        self._house.clock.reboot()
        self._house.stage.wake_all()

    def _resume(self) -> None:
        """The user looks after the disk: it is made writable, by a reboot where nothing else does it."""
        house = self._house
        if house.disk._machine.read_only:
            house.disk.reboot("kept")
            self._booted()
        with contextlib.suppress(StorageError):
            Records(house.disk.process("operator"), house.clock).resume()

    def _fill(self, event: Event) -> None:
        files = self._house.disk.files()
        if event.who == "bytes":
            self._house.disk.limit(bytes_max=sum(map(len, files.values())) + int(event.amount) * 700)
        else:
            media = self._house.disk._machine.media
            self._house.disk.limit(inodes_max=len(media.files) + len(media.folders) + int(event.amount))

    def _lose_lock(self, which: float) -> None:
        """Somebody removes the file whose lock is a worker's life: others hold it for dead, and it lives."""
        disk = self._house.disk
        workers = sorted(disk._names(layout.WORKERS))
        if workers:
            parent = disk._must_find(layout.WORKERS)
            name = workers[int(which * len(workers))]
            disk._machine.media.rename((parent, name, None), durable=True)


def surviving(disk: SimulatedDisk, chance: random.Random) -> SimulatedDisk:
    """One of the disks that a power loss may leave, with more or less of what was pending, by chance."""
    keeps = chance.choice((0.0, 0.5, 0.9, 1.0))

    def choose(size: int) -> int:
        if chance.random() < keeps:
            return size - 1
        return chance.randrange(size) if keeps else 0

    media = Survivors(disk._machine.media, limit=0, seed=0).chosen(choose)
    return SimulatedDisk._of(media, disk._machine)
