"""What befalls the machine: kills, power losses, clocks that jump, disks that fail and fill, ambushes."""

from __future__ import annotations

import contextlib
import random

import msgspec

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
from tests.simulation.stage import NEVER
from tests.simulation.witness import record_at

_DAY_MS = 86_400_000


class _Ambush(msgspec.Struct):
    """Something that waits for a process to publish a record; `sprung` names the one it will befall next."""

    action: str
    moment: str  # "before fate", "after fate"
    seconds: float
    sprung: str = ""


class Nature:
    """Lets the events of a plan happen, until everybody may come to rest."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._coming = list(reversed(house.plan.events))
        self._ambushes: list[_Ambush] = []
        stage = house.stage
        stage.befall, stage.before_operation = self.befall, self.before_operation
        house.heal = self.heal
        self._wait()

    def befall(self, step: int) -> None:
        """Let everything happen that is due."""
        while self._coming and self._coming[-1].at <= step:
            self._happen(self._coming.pop())
        self._wait()

    def heal(self) -> None:
        """Nothing befalls anybody any more; the disk is in order, and whoever sleeps wakes in time."""
        self._coming.clear()
        self._ambushes.clear()
        self._wait()
        house = self._house
        house.disk.limit()
        house.disk._machine.faults.clear()
        self._resume()

    def _wait(self) -> None:
        self._house.stage.next_event = self._coming[-1].at if self._coming else NEVER

    def _happen(self, event: Event) -> None:
        house = self._house
        house.stage.note(f"*** {event.kind} {event.who} {event.amount or ''}".rstrip())
        house.ledger.counts[f"event: {event.kind}"] += 1
        match event.kind:
            case "kill":
                self._kill(event.who)
            case "power loss":
                self.power_loss()
            case "reboot":
                house.disk.reboot("kept")
                self._booted()
            case "stall":
                house.stage.stall(event.who, event.amount)
            case "jump" | "midnight" | "pass":
                self._move_clock(event)
            case "ambush":
                action, when, record = event.who.rsplit(" ", 2)
                self._ambushes.append(_Ambush(action, f"{when} {record}", event.amount))
            case "other release":
                house.change_release()
            case _:
                self._trouble(event)

    def _move_clock(self, event: Event) -> None:
        clock = self._house.clock
        before_ms = clock.now_ms()
        match event.kind:
            case "jump":
                clock.jump(event.amount)
                way = "forwards" if event.amount > 0 else "backwards"
                self._house.ledger.counts[f"clock set {way}"] += 1
            case "midnight":
                clock.advance((_DAY_MS - before_ms % _DAY_MS) / 1000 - 0.02)
            case _:
                clock.advance(min(event.amount, 3 * DAY_SECONDS))
        if before_ms // _DAY_MS != (clock.now_ms() + 1_000) // _DAY_MS:
            self._house.witness.passes_midnight()

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
                workers = sorted(disk._names(layout.WORKERS))
                if workers:
                    self._lose_lock(workers[int(event.amount * len(workers))])

    # -- ambushes

    def before_operation(self, process: str, operation: Operation, path: str) -> None:
        """Spring what lies in wait for this operation, or lay it out for the process's next one."""
        if not self._ambushes:
            return
        for ambush in [ambush for ambush in self._ambushes if ambush.sprung == process]:
            self._spring(ambush, process)
        record = record_at(path) if operation in {"link", "replace"} else ""
        if not record:
            return
        for ambush in [ambush for ambush in self._ambushes if not ambush.sprung]:
            if ambush.moment == f"before {record}":
                self._spring(ambush, process)
            elif ambush.moment == f"after {record}":
                ambush.sprung = process

    def _spring(self, ambush: _Ambush, process: str) -> None:
        house = self._house
        if ambush not in self._ambushes:  # another one ended the machine
            return
        self._ambushes.remove(ambush)
        house.stage.note(f"*** {ambush.action} {process} {ambush.moment}")
        house.ledger.counts[f"ambush: {ambush.action}"] += 1
        match ambush.action:
            case "kill":
                self._kill(process)
            case "power loss":
                self.power_loss()
            case "midnight":
                self._move_clock(Event(0, "midnight"))
            case "set back":
                self._move_clock(Event(0, "jump", amount=-ambush.seconds))
            case _:
                house.witness.falls_asleep(process, ambush.moment)
                if ambush.action == "give up":
                    for name in house.witness.worker_files(process):
                        self._lose_lock(name)
                house.stage.stall(process, ambush.seconds)

    # -- parts

    def _kill(self, process: str) -> None:
        self._house.disk.kill(process)
        self._house.witness.dies(process)
        self._house.stage.wake(process)

    def power_loss(self) -> None:
        """Go on from one of the states that may survive; every rule of safety holds in it."""
        house = self._house
        left = surviving(house.disk, house.chance)
        house.disk.reboot(left)
        self._booted()
        found = check_invariants(load_snapshot(Records(house.disk.fork(), house.clock)))
        if found:
            house.stage.fail(Broken(f"after a power loss: {found[0]}"))

    def _booted(self) -> None:
        for ambush in self._ambushes:
            ambush.sprung = ""
        self._house.witness.dies()
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

    def _lose_lock(self, worker: str) -> None:
        """Somebody removes the file whose lock is a worker's life: others hold it for dead, and it lives."""
        disk = self._house.disk
        parent = disk._must_find(layout.WORKERS)
        disk._machine.media.rename((parent, worker, None), durable=True)


def surviving(disk: SimulatedDisk, chance: random.Random) -> SimulatedDisk:
    """One of the disks that a power loss may leave, with more or less of what was pending, by chance."""
    keeps = chance.choice((0.0, 0.5, 0.9, 1.0))

    def choose(size: int) -> int:
        if chance.random() < keeps:
            return size - 1
        return chance.randrange(size) if keeps else 0

    media = Survivors(disk._machine.media, limit=0, seed=0).chosen(choose)
    return SimulatedDisk._of(media, disk._machine)
