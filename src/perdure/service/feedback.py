"""What reviews did, told to the user once, and what they are doing now (F-01 to F-04).

The interest in an end is the job itself: it is durable before the host gets control back, and every job that
ends has an event, which whoever finds an end without one makes. No host has to ask for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Literal

import msgspec

from perdure.core.admission import State
from perdure.core.canonical import digest_bytes
from perdure.core.exchange import DiffLine, diff
from perdure.core.job import lane_of
from perdure.core.mailbox import Shown
from perdure.core.memory import MAIN, Change
from perdure.core.protocol import BRANCH_CHANGES, NOT_CONFIGURED
from perdure.ports.clock import Clock
from perdure.ports.mailbox import Mailbox, Told
from perdure.ports.memory import Memory
from perdure.service.jobs import IDENTITY_DIGITS, SHORT_DIGITS, JobRow, JobsService

CARDS_MAX = 20
"""News that one call tells: what is left is told by the next one."""
SESSION_DIGITS = 32
_RETRIED = frozenset({"rejected", "dead-lettered"})

Doing = Literal["queued", "reviewing", "retrying", "paused", "applying"]
_DOING: dict[str, Doing] = {"in flight": "reviewing", "applying": "applying", "stopped": "paused"}
_PAUSES = frozenset({BRANCH_CHANGES, NOT_CONFIGURED})


class Card(msgspec.Struct, frozen=True):
    """One review's end for the user. `undo` and `retry` are commands, "" where there is nothing to do.

    `seen` says that it was shown before; `news` is False where a review changed nothing and lost nothing.
    """

    job_id: str
    short: str
    state: State
    reason: str
    branch: str  # its name, or its id when it cannot be read any more
    changes: tuple[Change, ...]
    diff: tuple[DiffLine, ...]
    revision: int | None
    undo: str
    retry: str
    ended_ms: int
    news: bool
    seen: bool


class Progress(msgspec.Struct, frozen=True):
    """What an open review does now. `until_ms` is when a waiting one goes on, 0 for others."""

    job_id: str
    short: str
    doing: Doing
    reason: str
    turns: int | None
    until_ms: int


class FeedbackService:
    """Shows news of reviews; makes nothing but the record that they were shown."""

    def __init__(self, *, mailbox: Mailbox, memory: Memory, jobs: JobsService, clock: Clock) -> None:
        self._mailbox, self._memory, self._jobs, self._clock = mailbox, memory, jobs, clock

    def take(
        self, project: str, *, host: str, session: str, most: int | None = CARDS_MAX
    ) -> tuple[Card, ...]:
        """The news that this session shows, oldest first; nobody else shows them by itself, ever.

        To be called right before they are displayed: from its return on they count as shown. `host` is a
        host's word ("pi", "claude-code"), `session` the host's own id of the session, whatever it is.
        """
        marked = digest_bytes(f"{host}\0{session}".encode("utf-8", "surrogatepass"))[:SESSION_DIGITS]
        mine: list[Told] = []
        for told in self._mailbox.unseen(project):
            if most is not None and len(mine) >= most:
                break
            shown = Shown(told.event.job_id, host, marked, self._clock.now_ms())
            if self._mailbox.show(shown):
                mine.append(told)
        return self._cards(project, mine)

    def peek(self, project: str) -> tuple[Card, ...]:
        """The news that nobody has shown; they stay so."""
        return self._cards(project, self._mailbox.unseen(project))

    def all(self, project: str) -> tuple[Card, ...]:
        """Every end that is still in the mailbox, shown or not, news or not."""
        return self._cards(project, self._mailbox.all(project))

    def progress(self, project: str) -> tuple[Progress, ...]:
        """What the open reviews of a project do, oldest first: derived from the queue each time (F-02)."""
        return tuple(_progress(row) for row in self._jobs.list(project, open_only=True))

    def _cards(self, project: str, news: Iterable[Told]) -> tuple[Card, ...]:
        names = {row.branch_id: row.name for row in self._memory.branches(project)}
        in_use = self._memory.selected(project) or MAIN
        return tuple(_card(told, names, in_use) for told in news)


def _card(told: Told, names: dict[str, str], in_use: str) -> Card:
    event = told.event
    branch_id = lane_of(event.job_id).branch_id
    branch = names.get(branch_id, branch_id)
    short = event.job_id[-IDENTITY_DIGITS:][:SHORT_DIGITS]
    undo = ""
    if event.revision_seq is not None and branch_id in names:
        named = "" if in_use in {branch, branch_id} else f" --branch {shlex.quote(branch)}"
        undo = f"perdure undo {event.revision_seq}{named}"
    return Card(
        job_id=event.job_id,
        short=short,
        state=event.state,
        reason=event.reason,
        branch=branch,
        changes=event.changes,
        diff=diff(event.changes),
        revision=event.revision_seq,
        undo=undo,
        retry=f"perdure jobs retry {short}" if event.state in _RETRIED and not told.kept else "",
        ended_ms=event.ended_ms,
        news=told.news,
        seen=told.seen,
    )


def _progress(row: JobRow) -> Progress:
    doing = _DOING.get(row.state)
    if doing is None:
        doing = "paused" if row.reason in _PAUSES else "retrying" if row.attempts else "queued"
    return Progress(row.job_id, row.short, doing, row.reason, row.turns, row.until_ms)
