"""The command line with one kind of sync left out: a deliberate fault that journal replay has to find.

python -m tests.machine.unsynced files|folders COMMAND...
"""

from __future__ import annotations

import os
import runpy
import stat
import sys

KINDS = ("files", "folders")


def leave_out(kind: str) -> None:
    """Make fsync of files, or of folders, do nothing in this process."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) != (kind == "folders"):
            real(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # a fault is put in on purpose


if __name__ == "__main__":
    _, chosen, module, *words = sys.argv
    leave_out(chosen)
    sys.argv[1:] = words
    runpy.run_module(module, run_name="__main__", alter_sys=True)
