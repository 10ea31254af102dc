"""The Clock and Ids ports on the real machine."""

from __future__ import annotations

import os
import time
import uuid


class RealClock:
    """The machine's clocks."""

    def __init__(self) -> None:
        self._boot_id = _boot_id()

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return time.time_ns() // 1_000_000

    def boot_seconds(self) -> float:
        """See `Clock.boot_seconds`."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def boot_id(self) -> str:
        """See `Clock.boot_id`."""
        return self._boot_id

    def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        time.sleep(seconds)


class RealIds:
    """The machine's randomness."""

    def token(self, digits: int) -> str:
        """See `Ids.token`."""
        return os.urandom((digits + 1) // 2).hex()[:digits]


def machine_id() -> str:
    """A name of this machine that another machine does not have."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, encoding="ascii") as file:
                found = file.read(64).strip()
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return found
    return f"{uuid.getnode():012x}"


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(64).strip()
    except (OSError, UnicodeDecodeError):
        started = time.time() - time.monotonic()
        return f"started-{round(started / 60)}"
