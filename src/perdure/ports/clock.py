"""Time and randomness: arguments of the core, ports of the services."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time for records, boot time for what must not jump."""

    def now_ms(self) -> int:
        """UTC milliseconds since 1970; may jump in either direction."""
        ...

    def boot_seconds(self) -> float:
        """Seconds since boot, suspend included; never jumps."""
        ...

    def boot_id(self) -> str:
        """Another value after every boot."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Ids(Protocol):
    """Fresh random names."""

    def token(self, digits: int) -> str:
        """That many random hex digits."""
        ...
