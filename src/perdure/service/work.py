"""The worker: claims lanes, oldest job first within a lane, lanes in turn (Q-10)."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable

import msgspec

from perdure.core.claim import Claim
from perdure.core.job import Lane, lane_of
from perdure.errors import Conflict, Damaged, DiskFailed, LockTimeout, NewerVersion, StorageError
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock
from perdure.ports.queue import Queue
from perdure.service.curate import Advance, Curator
from perdure.service.publish import Log
from perdure.service.retention import Retention

IDLE_SECONDS = 1.0
STOPPED_SECONDS = 300.0
"""A stopped job is looked at again after this time: what could not be read may be readable again."""
LISTING_SHARE = 20
"""A listing is repeated no sooner than this many times its own cost."""


class Report(msgspec.Struct):
    """What a worker did: how many jobs came to which state, and what waits why."""

    ended: dict[str, int] = msgspec.field(default_factory=dict)
    reasons: dict[str, int] = msgspec.field(default_factory=dict)  # "state: reason" of those that name one
    waiting: dict[str, Advance] = msgspec.field(default_factory=dict)
    stopped: dict[str, str] = msgspec.field(default_factory=dict)
    unfit: str | None = None  # why the worker may not work on this store any more

    def add(self, done: Advance) -> None:
        """Count one job."""
        self.waiting.pop(done.job_id, None)
        self.stopped.pop(done.job_id, None)
        if done.state == "waiting":
            self.waiting[done.job_id] = done
        elif done.state == "stopped":
            self.stopped[done.job_id] = done.reason
        elif done.state != "absent":
            self.ended[done.state] = self.ended.get(done.state, 0) + 1
            if done.reason:
                why = f"{done.state}: {done.reason}"
                self.reasons[why] = self.reasons.get(why, 0) + 1


class Worker:
    """One engine for embedded review, `review --once` and `worker` (Q-09)."""

    def __init__(
        self,
        *,
        queue: Queue,
        claims: Claims,
        clock: Clock,
        curator: Curator,
        retention: Retention | None = None,
        log: Log = lambda *_: None,
        only_project: str | None = None,
        unfit: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`unfit` says why this program may no longer work on the store, or None (Q-08)."""
        self._unfit = unfit
        self._queue, self._claims, self._clock, self._curator = queue, claims, clock, curator
        self._log, self._only, self._retention = log, only_project, retention
        self._lanes: dict[str, deque[str]] = {}
        self._turn: deque[str] = deque()
        self._held: Claim | None = None
        self._done: set[str] = set()
        self._not_before: dict[str, int] = {}
        self._looked_ms = 0
        self._stopped: dict[str, float] = {}  # until when a job rests, in seconds since boot
        self.report = Report()

    def drain(self, *, stop: Callable[[], bool] = lambda: False) -> Report:
        """Review what is ready, until a listing finds nothing more; what must wait is reported."""
        worker = self._claims.register()
        try:
            while not stop() and self._may_work():
                self._list()
                if not self._work_through(worker, stop):
                    self._expire()
                    break
        finally:
            self._claims.retire(worker)
        return self.report

    def run(self, *, stop: Callable[[], bool], beat: Callable[[], None] = lambda: None) -> Report:
        """Review until told to stop; lists again when idle, and no more often than it can afford.

        What has expired goes between two jobs, once an hour.
        """
        worker = self._claims.register()
        try:
            while not stop() and self._may_work():
                begun = self._clock.boot_seconds()
                worker = self._claims.renew(worker)
                self._list()
                cost = self._clock.boot_seconds() - begun
                busy = self._work_through(worker, stop)
                self._expire()
                beat()
                self._claims.beat(worker)
                if not busy and not stop():
                    self._clock.sleep(max(IDLE_SECONDS, cost * LISTING_SHARE))
        finally:
            self._claims.retire(worker)
        return self.report

    def _may_work(self) -> bool:
        self.report.unfit = self._unfit()
        return self.report.unfit is None

    def _expire(self) -> None:
        """Reviewing goes on when taking expired records away fails: whatever stays is found again."""
        if self._retention is None or not self._retention.due():
            return
        try:
            self._retention.run()
        except StorageError as error:
            if isinstance(error, DiskFailed):
                raise
            self._log("retention", "", error.code)

    def _list(self) -> None:
        """Find open jobs by name alone: those without an outcome, or without the event of one."""
        finished: dict[str, frozenset[str]] = {}
        lanes: dict[str, deque[str]] = {}
        queued = self._queue.queued()
        self._done.intersection_update(queued)
        now = self._clock.boot_seconds()
        self._stopped = {job_id: until for job_id, until in self._stopped.items() if until > now}
        for job_id in queued:
            lane = lane_of(job_id)
            if job_id in self._done or job_id in self._stopped or self._only not in {None, lane.project}:
                continue
            if lane.project not in finished:
                closed = self._queue.closed(lane.project)
                finished[lane.project] = closed & self._queue.announced(lane.project) if closed else closed
            if job_id not in finished[lane.project]:
                lanes.setdefault(lane.name, deque()).append(job_id)
        self._lanes = lanes
        self._turn = deque(sorted(lanes, key=lambda name: lanes[name][0]))

    def _work_through(self, worker: str, stop: Callable[[], bool]) -> bool:
        """One job of each lane in turn until none is ready. True when any job made progress."""
        progressed = False
        try:
            while self._turn and not stop():
                name = self._turn.popleft()
                ready = self._next_ready(name)
                done = self._review(ready, worker) if ready is not None else None
                if done is None:
                    continue
                progressed = progressed or done.state not in {"waiting", "stopped"}
                self._expire()
                if not (done.state == "waiting" and done.blocks_lane):
                    self._turn.append(name)
        finally:
            self._let_go()
        return progressed

    def _next_ready(self, lane: str) -> str | None:
        """The oldest job that need not wait; a job whose wait blocks the lane hides the younger ones."""
        now_ms = self._clock.now_ms()
        if now_ms < self._looked_ms:  # the clock was set back: when a wait ends has to be read again
            self._not_before.clear()
        self._looked_ms = now_ms
        jobs = self._lanes.get(lane, deque())
        while jobs:
            job_id = jobs[0]
            if self._not_before.get(job_id, 0) > now_ms:
                if self.report.waiting[job_id].blocks_lane:
                    return None
                jobs.popleft()
                continue
            return job_id
        return None

    def _review(self, job_id: str, worker: str) -> Advance | None:
        claim = self._own(lane_of(job_id), worker)
        if claim is None:
            return None
        try:
            done = self._curator.advance(job_id, claim)
        except (Damaged, Conflict, NewerVersion) as error:
            done = Advance(job_id, "stopped", error.message)
        except LockTimeout as error:
            done = Advance(job_id, "waiting", error.message, self._clock.now_ms() + 1000, blocks_lane=True)
        self._note(done)
        return done

    def _own(self, lane: Lane, worker: str) -> Claim | None:
        """The claim of a lane: the one of the job before, while it is of that lane and still the highest."""
        held = self._held
        if held is not None and held.lane == lane.name and self._claims.holds(held):
            return held
        self._let_go()
        self._held = self._claims.claim(lane, worker)
        return self._held

    def _let_go(self) -> None:
        """Release the lane; a claim that cannot be released ends with this worker's life."""
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(StorageError):
                self._claims.release(held)

    def _note(self, done: Advance) -> None:
        self.report.add(done)
        if done.state == "waiting":
            self._not_before[done.job_id] = done.until_ms
            return
        self._not_before.pop(done.job_id, None)
        if done.state == "stopped":
            self._stopped[done.job_id] = self._clock.boot_seconds() + STOPPED_SECONDS
            self._log("stopped", done.job_id, done.reason)
        else:
            self._done.add(done.job_id)
        jobs = self._lanes.get(lane_of(done.job_id).name)
        if jobs and jobs[0] == done.job_id:
            jobs.popleft()
