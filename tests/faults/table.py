"""The one table of deliberate faults, and what becomes of each when it is made."""

from __future__ import annotations

import functools
import time

from tests.bench.figures import Figure, at_least
from tests.faults import changing, elections, erasing, publication, shaping, spending, walked
from tests.faults.row import Fault, Found, Instrument, made

RULES: dict[str, str] = {
    "publication": "How a record is made durable",
    "order": "The order of a job's records",
    "1": "Alternatives share one name",
    "2": "The rest is derived",
    "3": "Found is not durable",
    "4": "An outcome is never absent again",
    "5": "Whoever takes a project's lock finishes what was begun",
    "6": "Quarantine deletes nothing that counts",
    "7": "A failed sync stops all writing",
    "8": "Coverage is a fold",
    "9": "A job is born to be admitted or to be observed",
    "10": "Successors",
    "11": "Lanes",
    "12": "Holds",
    "13": "Forget and purge",
    "14": "Epoch",
    "15": "Branch identity",
    "16": "Moves between scopes, one lock at a time",
    "17": "Mailbox repair",
    "liveness": "Every job ends",
}
"""What a fault breaks: a numbered rule of the protocol, or one of three that have no number."""

TABLE: tuple[Fault, ...] = tuple(
    fault
    for rule in RULES
    for rows in (
        publication.ROWS,
        changing.ROWS,
        elections.ROWS,
        spending.ROWS,
        erasing.ROWS,
        shaping.ROWS,
        walked.ROWS,
    )
    for fault in rows
    if fault.rule == rule
)

INSTRUMENTS: tuple[Instrument, ...] = tuple(dict.fromkeys(fault.instrument for fault in TABLE))
"""Each once."""


def find(fault: Fault) -> Found:
    """Make a fault, and let its instrument look for it."""
    begun = time.perf_counter()
    with made(fault.patch):
        report = fault.instrument.report()
    return Found(fault, report, time.perf_counter() - begun)


@functools.cache
def noise(instrument: Instrument) -> str | None:
    """What an instrument reports of the product as it is: nothing, or it proves nothing."""
    return instrument.report()


def figures() -> list[Figure]:
    """One figure for each fault: 1 when its named check reports it, and nothing without it."""
    return [
        at_least(f"fault:{found.fault.name}", float(_proved(found)), "caught", 1)
        for found in map(find, TABLE)
    ]


def _proved(found: Found) -> bool:
    return found.caught and noise(found.fault.instrument) is None
