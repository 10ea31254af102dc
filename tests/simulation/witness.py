"""What is hard, counted where it happens: owners who wake after a take-over, late results, lost elections.

Counts say how often a meeting was played, `floors` how often it has to be; nothing here decides anything.
"""

from __future__ import annotations

from collections import Counter

from perdure.authority.filesystem import layout
from perdure.core.attempt import Reserved
from perdure.core.claim import Claim
from perdure.core.record import unseal
from tests.simulated_disk import SimulatedDisk

_BY_FOLDER = {
    "jobs": "job",
    "lanes": "claim",
    "decisions": "decision",
    "admissions": "intent",
    "branches": "branch",
    "receipts": "receipt",
    "outcomes": "outcome",
    "mailbox": "event",
}
_BY_ENDING = {"released", "done", "reserved", "fate", "result", "unknown", "reconciled"}
_ELECTED = {"claim", "fate", "decision", "intent"}
_DERIVED = {"unknown", "done", "receipt", "outcome", "event", "job", "revision"}
_STANDS = {
    "before claim": "holding nothing",
    "before fate": "before sending",
    "after fate": "before sending, dispatched",
    "before result": "with its answer",
    "before decision": "before deciding",
    "before intent": "in admission",
    "before branch": "in admission",
    "before outcome": "before closing",
    "before event": "before closing",
}
"""Where a worker that sleeps at a record stands."""


def record_at(path: str) -> str:
    """The kind of record whose name this is; empty for anything else."""
    folder, _, name = path.rpartition("/")
    ending = name.rpartition(".")[2]
    if ending in _BY_ENDING:
        return ending
    if "/revisions/" in path:
        return "revision"
    return _BY_FOLDER.get(folder.rpartition("/")[2], "")


class Witness:
    """Sees every publication and every sleep of a machine, and counts the hard ones."""

    def __init__(self, disk: SimulatedDisk, counts: Counter[str]) -> None:
        self._disk, self._counts = disk, counts
        self._asleep: dict[str, tuple[str, dict[str, int]]] = {}
        self.in_flight: dict[str, str] = {}
        """Attempt id to the process that waits for its answer."""

    def published(self, path: str, *, created: bool) -> None:
        """A record was linked to its name, or one stood there."""
        record = record_at(path)
        if not created:
            if record in _ELECTED:
                self._counts[f"election lost: {record}"] += 1
            elif record in _DERIVED:
                self._counts[f"taken twice: {record}"] += 1
        elif record == "result":
            self._late(path.removesuffix(".result"))

    def _late(self, attempt: str) -> None:
        reserved = self._data(f"{attempt}.reserved")
        if reserved is None:
            return
        job_id = unseal(reserved, Reserved).job_id
        later = {
            "unknown": f"{attempt}.unknown",
            "the user's word": f"{attempt}.reconciled",
            "a decision": layout.decision(job_id),
            "the outcome": layout.outcome(job_id),
        }
        for what, path in later.items():
            self._counts[f"late result after {what}"] += self._data(path) is not None

    def retires(self, process: str, what: str) -> None:
        """Retention or a purge begins while others wait for answers."""
        waiting = any(other != process for other in self.in_flight.values())
        self._counts[f"{what} during a call"] += waiting

    def waits(self, process: str, path: str) -> None:
        """A process waits for a lock."""
        inode = self._disk._find(path)
        for lock in self._disk._machine.holders(inode) if inode is not None else ():
            holder = lock.process.partition("-")[0]
            self._counts[f"a {process.partition('-')[0]} waits for a {holder}"] += 1

    def passes_midnight(self) -> None:
        """The clock went over UTC midnight."""
        self._counts["midnight during a call"] += bool(self.in_flight)

    # -- owners who sleep

    def falls_asleep(self, process: str, moment: str) -> None:
        """A process stops at a moment such as `before fate`, with whatever it holds."""
        mine = self._held_by(process)
        if moment == "before claim":
            mine = self._highest()
        if moment in _STANDS:
            self._asleep[process] = (_STANDS[moment], mine)

    def wakes(self, process: str) -> None:
        """It goes on; count it if others claimed its lane meanwhile."""
        if process not in self._asleep:
            return
        stood, before = self._asleep.pop(process)
        now = self._highest()
        if any(now.get(lane, 0) > ordinal for lane, ordinal in before.items()):
            self._counts[f"woke after a take-over, {stood}"] += 1

    def dies(self, *processes: str) -> None:
        """They never wake: one of each name, or all when none is named."""
        for process in processes or tuple(self._asleep):
            self._asleep.pop(process, None)
        gone = {name for name, process in self.in_flight.items() if not processes or process in processes}
        for name in gone:
            del self.in_flight[name]

    def worker_files(self, process: str) -> list[str]:
        """The files whose locks are this process's lives."""
        machine = self._disk._machine
        return [
            name
            for name, inode in self._disk._names(layout.WORKERS).items()
            if any(lock.process == process for lock in machine.holders(inode))
        ]

    def _highest(self) -> dict[str, int]:
        highest: dict[str, int] = {}
        for name in self._disk._names(layout.SPOOL_LANES):
            lane, _, ordinal = name.rpartition(".")
            if ordinal.isdigit():
                highest[lane] = max(highest.get(lane, 0), int(ordinal))
        return highest

    def _held_by(self, process: str) -> dict[str, int]:
        mine = set(self.worker_files(process))
        held: dict[str, int] = {}
        for lane, ordinal in self._highest().items():
            path = layout.claim(lane, ordinal)
            data = self._data(path)
            released = self._disk._find(f"{path}.released") is not None
            if data is not None and not released and unseal(data, Claim).worker in mine:
                held[lane] = ordinal
        return held

    def _data(self, path: str) -> bytes | None:
        inode = self._disk._find(path)
        return None if inode is None else self._disk._machine.media.files[inode].data
