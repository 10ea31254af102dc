"""Retention: evidence expires after its job has ended; what is unresolved does not (E-05, rules 4 and 12).

Safe to kill at any moment and to run twice at once: an outcome is replaced by its tombstone first, durably;
only then does the rest of its job go, in any order. Whatever a crash leaves is found again by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from perdure.core.admission import Outcome
from perdure.errors import Damaged, LockTimeout, NewerVersion
from perdure.ports.clock import Clock
from perdure.ports.mailbox import Mailbox, Told
from perdure.ports.memory import Memory
from perdure.ports.queue import Queue
from perdure.ports.retain import Ledger, Mark, Retain
from perdure.service.publish import Log, announce
from perdure.service.transact import locked, roll_forward

DAY_MS = 86_400_000
BUDGET_DAYS = 8
"""Attempts of a day go when it is older than this and nothing of it is open."""
UNSEEN_DAYS = 180
"""News that nobody has seen go when they are older than this, or than evidence may become."""
JUMP_MS_MAX = 48 * 3_600_000
"""How far one run believes that time has moved (rule 12)."""
RUN_SECONDS_MIN = 3_600.0
BATCH = 8
"""Jobs that go under one hold of the project's lock: foreground writes must not wait for long."""

USER_SCOPE = "user"


class Expired(msgspec.Struct):
    """What one run took away. `left` names what could not be looked at, and why."""

    jobs: int = 0
    records: int = 0
    days: int = 0
    compacted: int = 0
    swept: int = 0
    left: list[str] = msgspec.field(default_factory=list)


class Retention:
    """Takes away what has expired. `evidence_days` counts from a job's outcome."""

    def __init__(
        self,
        *,
        retain: Retain,
        ledger: Ledger,
        queue: Queue,
        mailbox: Mailbox,
        memory: Memory,
        clock: Clock,
        evidence_days: int,
        log: Log = lambda *_: None,
    ) -> None:
        self._retain, self._ledger, self._queue, self._memory = retain, ledger, queue, memory
        self._mailbox = mailbox
        self._clock, self._evidence_ms, self._log = clock, evidence_days * DAY_MS, log
        self._last_run: float | None = None

    def due(self) -> bool:
        """Whether nobody has run it in the last hour, by the clock that never jumps."""
        if self._last_run is None:
            mark = self._retain.mark()
            here = mark is not None and mark.boot_id == self._clock.boot_id()
            self._last_run = mark.boot_seconds if mark is not None and here else -RUN_SECONDS_MIN
        return not 0 <= self._clock.boot_seconds() - self._last_run < RUN_SECONDS_MIN

    @contextmanager
    def room(self) -> Iterator[bool]:
        """Removals in it have the room they need, on a full disk too (rule 7). Says whether it is full."""
        full = self._retain.give_up_ballast()
        if full:
            self._log("ballast", "", "the disk is full: what was kept back for removals is used")
        try:
            yield full
        finally:
            self._retain.stock_ballast()

    def run(self, now_ms: int | None = None) -> Expired:
        """Take away everything that has expired at `now_ms`, by default the wall clock's time.

        A clock that jumped ahead moves one run by 48 hours at most.
        """
        with self.room():
            return self._run(now_ms)

    def _run(self, now_ms: int | None) -> Expired:
        self._last_run = self._clock.boot_seconds()
        believed_ms = self._believe(self._clock.now_ms() if now_ms is None else now_ms)
        done = Expired()
        for scope in (*self._retain.projects(), USER_SCOPE):
            self._guarded(done, scope, partial(self._sweep_scope, done, scope, believed_ms))
        self._guarded(done, "results", partial(self._strip_results, done, believed_ms))
        for day in self._ledger.days():
            if day < _day(believed_ms, back=BUDGET_DAYS):
                self._guarded(done, day, partial(self._close_day, done, day))
        done.swept += self._retain.sweep_quarantine(believed_ms - self._evidence_ms)
        done.swept += self._retain.sweep_home()
        self._log("expired", "", f"{done.jobs} jobs, {done.records} records, {done.days} days")
        return done

    def expire(
        self, project: str, job_ids: tuple[str, ...], *, keeping: Callable[[str], bool] = lambda _: False
    ) -> int:
        """Take away the records of closed jobs now, whatever their age; returns how many records went.

        `keeping` is asked with a job id and says whether its event stays, made to stand past the job.
        """
        gone = 0
        for begin in range(0, len(job_ids), BATCH):
            batch = job_ids[begin : begin + BATCH]
            untold = []
            with locked(self._memory, project) as held:
                for job_id in batch:
                    if not self._retain.compacted(project, job_id):
                        roll_forward(held, job_id)
                    if not keeping(job_id):
                        untold.append(job_id)
                    self._retain.entomb(job_id)
                gone += self._retain.remove_rest(project, batch) + self._mailbox.remove(tuple(untold))
        return gone

    def _guarded(self, done: Expired, what: str, act: Callable[[], None]) -> None:
        """One damaged record or held lock never keeps the others from expiring (Q-13)."""
        try:
            act()
        except (Damaged, NewerVersion, LockTimeout) as error:
            done.left.append(f"{what}: {error.message}")

    def _sweep_scope(self, done: Expired, scope: str, believed_ms: int) -> None:
        if scope != USER_SCOPE:
            self._compact(done, scope)
            expired = tuple(
                job
                for job in self._retain.candidates(scope)
                if self._expired(done, job, believed_ms) and not self._announced_now(job)
            )
            keeping = partial(self._keep, believed_ms)
            done.records += self.expire(scope, expired, keeping=keeping)
            done.jobs += len(expired)
            done.records += self._forget_news(scope, believed_ms)
        with locked(self._memory, scope):
            done.swept += self._retain.sweep_scope(scope) + self._mailbox.sweep(scope)

    def _keep(self, believed_ms: int, job_id: str) -> bool:
        """Evidence goes; news of it that have not had their time are made to stand past their job."""
        told = self._mailbox.told(job_id)
        if told is None or not told.news or self._had_its_time(told, believed_ms):
            return False
        return self._mailbox.keep(job_id)

    def _had_its_time(self, told: Told, believed_ms: int) -> bool:
        """News that were shown stay as long as evidence does from then on, news that were not much longer."""
        last_ms = told.event.ended_ms + max(UNSEEN_DAYS * DAY_MS, self._evidence_ms)
        if told.shown is not None:
            last_ms = min(told.shown.shown_ms, last_ms) + self._evidence_ms
        return last_ms <= believed_ms

    def _forget_news(self, project: str, believed_ms: int) -> int:
        over = [t.event.job_id for t in self._mailbox.kept(project) if self._had_its_time(t, believed_ms)]
        gone = 0
        for begin in range(0, len(over), BATCH):
            with locked(self._memory, project):
                gone += self._mailbox.remove(tuple(over[begin : begin + BATCH]))
        return gone

    def _compact(self, done: Expired, project: str) -> None:
        """A crash between a receipt and its intent's tombstone leaves the intent whole (D-07)."""
        whole = self._retain.uncompacted(project)
        for begin in range(0, len(whole), BATCH):
            with locked(self._memory, project) as held:
                for job_id in whole[begin : begin + BATCH]:
                    roll_forward(held, job_id)
                    done.compacted += 1

    def _expired(self, done: Expired, job_id: str, believed_ms: int) -> bool:
        """A job that settled too lately has not expired, unless it was purged: then what stands beside the
        tombstone came late, from a writer that died before it took it away again.
        """
        try:
            if int(job_id[:12], 16) + self._evidence_ms > believed_ms:
                return self._retain.entombed(job_id)
            ended = self._queue.outcome(job_id)
        except (Damaged, NewerVersion) as error:
            done.left.append(f"{job_id}: {error.message}")
            return False
        if isinstance(ended, Outcome):
            return ended.ended_ms + self._evidence_ms <= believed_ms
        return ended is not None

    def _announced_now(self, job_id: str) -> bool:
        """A crash before the mailbox left an end untold: told now, its job expires with the next run."""
        ended = self._queue.outcome(job_id)
        if not isinstance(ended, Outcome) or self._queue.event_present(job_id):
            return False
        announce(ended, queue=self._queue, memory=self._memory)
        self._log("announced", job_id, ended.state)
        return True

    def _strip_results(self, done: Expired, believed_ms: int) -> None:
        """A result holds what the reviewer wrote about the evidence: it expires with it (E-05)."""
        done.records += self._ledger.strip_results(lambda job_id: self._expired(done, job_id, believed_ms))

    def _close_day(self, done: Expired, day: str) -> None:
        done.days += self._ledger.close_day(day) is not None

    def _believe(self, now_ms: int) -> int:
        """The time that this run acts on, noted for the next one."""
        before, boot_id, boot_seconds = self._retain.mark(), self._clock.boot_id(), self._clock.boot_seconds()
        if before is None:
            newest_ms = self._retain.newest_settled_ms()
            believed_ms = min(now_ms, newest_ms + JUMP_MS_MAX)
            if not newest_ms:
                return believed_ms
        else:
            elapsed = boot_seconds - before.boot_seconds if before.boot_id == boot_id else RUN_SECONDS_MIN
            if 0 <= elapsed < RUN_SECONDS_MIN:
                return min(now_ms, before.believed_ms + int(elapsed * 1000))
            believed_ms = min(now_ms, before.believed_ms + JUMP_MS_MAX)
        self._retain.set_mark(Mark(believed_ms, boot_id, boot_seconds))
        return believed_ms


def _day(now_ms: int, *, back: int) -> str:
    here = datetime.fromtimestamp(now_ms / 1000, UTC) - timedelta(days=back)
    return here.strftime("%Y%m%d")
