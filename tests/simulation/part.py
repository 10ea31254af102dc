"""What all actors have in common: a name, chance of their own, and processes that end and begin."""

from __future__ import annotations

import random
from collections.abc import Callable

from perdure.errors import Damaged, DiskFailed, DiskFull, LockTimeout, NotFound, Refused, StorageError
from tests.simulated_machine import Crashed
from tests.simulation.house import House, SimRig


class Part:
    """One actor: what it holds and how it acts."""

    def __init__(self, house: House, name: str) -> None:
        self.house, self.name = house, name
        self.chance = random.Random(f"{name} {house.plan.seed}")
        self.ledger = house.ledger
        self.own: set[str] = set()
        """Entries that a writer wrote and has not taken out."""
        self.keys: set[str] = set()
        self.forks: list[str] = []
        """Branches that a writer made and alone writes on."""
        self.undoable: dict[str, tuple[int, str | None, str | None]] = {}
        """By entry: the revision of its newest change, its text before and after; None: it is not there."""
        self.idle_seconds = 1.0
        """How long a worker slept last when it found nothing to do, at the most."""
        self._numbers = 0
        self._rig: SimRig | None = None

    def next_number(self) -> int:
        """A number that this actor has not used."""
        self._numbers += 1
        return self._numbers

    @property
    def rig(self) -> SimRig:
        """The product in the present process; a new one after a death, and now and then anyway."""
        if self._rig is None:
            self._rig = self.house.start(self.name)
        return self._rig

    def replace_program(self) -> None:
        """Start the program anew next time."""
        self._rig = None

    def pause(self, seconds_max: float) -> None:
        """Let some time pass: mostly so little that others are in the middle of something, at times a lot."""
        reach = self.chance.choices((0.05, 5.0, seconds_max), (6, 3, 1))[0]
        self.house.stage.sleep(self.chance.random() * reach)

    def safely(self, act: Callable[[], None]) -> bool:
        """Act; what a bad disk, a held lock, a refusal or a death leaves undone stays undone.

        False when the disk is to blame: it is worth trying again later.
        """
        try:
            act()
        except Crashed:
            self._rig = None
            self.pause(30)
        except (DiskFull, DiskFailed) as error:
            self._undone(error.code)
            self._rig = None
            return False
        except (LockTimeout, Refused, NotFound) as error:
            self._undone(error.code)
            self._now_and_then()
        except StorageError as error:
            if not self.house.disk._machine.read_only or isinstance(error, Damaged):
                raise
            self._rig = None
            return False
        else:
            self._now_and_then()
        return True

    def _undone(self, why: str) -> None:
        self.house.stage.note(f"{self.name}: {why}")
        self.ledger.counts[f"refused: {why}"] += 1

    def _now_and_then(self) -> None:
        """Commands are short-lived processes."""
        if self.chance.random() < 0.2:
            self._rig = None
