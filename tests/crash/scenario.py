"""What is crashed: an operation, and what stands before it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.crash.world import World
from tests.simulated_disk import Model, SimulatedDisk

Act = Callable[[World, SimulatedDisk], None]


class Scenario(msgspec.Struct, frozen=True):
    """One operation and what stands before it, which is durable unless `settled` is False.

    Recovery is going on to work. A command that was cut off and that the product asks to repeat stands in
    `World.unfinished`, and recovery begins with it.
    """

    name: str
    prepare: Act
    act: Act
    settled: bool = True

    def base(self, model: Model) -> tuple[World, SimulatedDisk]:
        """A home in which the operation can begin."""
        disk = SimulatedDisk(model)
        world = World()
        world.start(disk).rig.prepare()
        disk.reboot("kept")
        self.prepare(world, disk)
        if self.settled:
            disk.reboot("kept")
        return world, disk
