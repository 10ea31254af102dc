"""The mailbox: who showed the news of a review, and which news there is to show (F-01, F-03).

Every job that ends has an event. It is shown by the host that elects its `shown` record, once: whoever comes
second, and whoever starts again after a crash, finds the record and stays silent.
"""

from __future__ import annotations

from perdure.core.admission import Event, Outcome
from perdure.core.record import Record

ALWAYS_TOLD = frozenset({"applied", "rejected", "dead-lettered"})


class Shown(Record, frozen=True, forbid_unknown_fields=True):
    """A host shows an event to the user; the first creation stands (rule 1), only its creator shows.

    It is durable before anything is displayed: a crash in between leaves an event that nobody displayed and
    that no session shows by itself any more.
    """

    KIND = "shown"

    job_id: str
    host: str
    session: str  # 32 digits of the host and its session's id
    shown_ms: int


def tells(event: Event, ended: Outcome) -> bool:
    """Whether an event is news: memory changed, or something that a review proposed or had to read was lost.

    What found nothing, what goes on as another job and what the user ended is no news.
    """
    if event.changes or event.state in ALWAYS_TOLD:
        return True
    return event.state == "stale" and ended.successor is None
