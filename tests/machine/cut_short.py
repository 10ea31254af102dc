"""A command that is killed at its Nth sync: `python -m tests.machine.cut_short N MODULE COMMAND...`."""

from __future__ import annotations

import os
import runpy
import signal
import sys


def cut_at(number: int) -> None:
    """Kill this process with SIGKILL when it asks for that sync."""
    real, left = os.fsync, number

    def fsync(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        real(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # a fault is put in on purpose


if __name__ == "__main__":
    _, chosen, module, *words = sys.argv
    cut_at(int(chosen))
    sys.argv[1:] = words
    runpy.run_module(module, run_name="__main__", alter_sys=True)
