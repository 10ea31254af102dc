"""How much memory a process had resident at its peak.

`ru_maxrss` is of no use after an exec: Linux carries the parent's peak over it. `VmHWM` belongs to the
program that runs now.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_kib() -> int:
    """The peak of this process, in KiB."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used // 1024 if sys.platform == "darwin" else used
