"""Cases of reviews in which two actors meet: take-overs, late workers, a user who decides meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.memory import FileMemory
from perdure.core.admission import Outcome
from perdure.core.claim import Claim
from perdure.core.job import lane_of
from perdure.core.protocol import Decide
from perdure.errors import StorageError
from perdure.ports.memory import HeldMemory
from perdure.ports.provider import Failed, Reply, ReviewRequest
from perdure.service.publish import announce, make_decision
from tests.crash.checks import check_by_the_book, need
from tests.fakes import PROJECT, ManualClock, Rig, turns
from tests.faults.stages import PORT, RELEASES, attempts, before_operation, home, process
from tests.simulated_disk import SimulatedDisk

_LEASE_HOURS = 1


def _captured(*texts: str) -> SimulatedDisk:
    """A home with one job for each further text."""
    disk = home()
    rig = process(disk, "host")
    for count in range(1, len(texts) + 1):
        rig.capture(turns(*texts[:count]))
    disk.reboot("kept")
    return disk


def _claimed(rig: Rig, job_id: str) -> Claim:
    claim = rig.claims.claim(lane_of(job_id), rig.claims.register())
    if claim is None:
        raise StorageError("the lane is taken.")
    return claim


def _check_sends(rig: Rig, sends: dict[str, int]) -> None:
    states = {attempt.attempt_id: attempt.state for attempt in rig.attempts.all()}
    need("A-04 one request per attempt", holds=set(sends.values()) <= {1}, found=sends)
    cancelled = [name for name in sends if states[name] in {"reserved", "cancelled"}]
    need("A-03 what was sent is not cancelled", holds=not cancelled, found=cancelled)


def two_claims_at_once() -> None:
    """A worker claims a lane after another has looked who holds it, and before that one claims it."""
    disk = _captured(PORT)
    first, second = process(disk, "first"), process(disk, "second")
    lane = lane_of(first.queue.queued()[0])
    one, other = first.claims.register(), second.claims.register()
    claims: list[Claim | None] = []
    before_operation(disk, "write", "tmp/", lambda: claims.append(second.claims.claim(lane, other)))
    claims.append(first.claims.claim(lane, one))
    held = [claim for claim in claims if claim is not None]
    need("Q-03 a lane has one holder", holds=len(claims) == 2 and len(held) == 1, found=held)


def taken_over_before_the_call() -> None:
    """A worker that stalls before it dispatches, and wakes after another has cancelled its attempt."""
    disk = _captured(PORT)
    first = process(disk, "first")
    second = process(disk, "second", hours=_LEASE_HOURS)
    before_operation(disk, "link", ".fate", second.drain)
    first.drain()
    _check_sends(process(disk, "reader"), first.provider.sends)
    _check_sends(process(disk, "reader"), second.provider.sends)
    need("Q-03 the lane was taken over", holds=bool(second.provider.sends), found=second.provider.sends)


def fenced_before_the_call() -> None:
    """A worker whose file is removed, so that all others hold it for dead, before it sends."""
    disk = _captured(PORT)
    rig = process(disk, "worker")

    def remove(_request: ReviewRequest) -> None:
        for name in disk.names(layout.WORKERS):
            disk.remove(f"{layout.WORKERS}/{name}")

    rig.provider.before_quote = remove
    rig.drain()
    need(
        "Q-03 a worker without its lane sends nothing", holds=not rig.provider.sends, found=rig.provider.sends
    )


def decided_before_the_call() -> None:
    """The user decides to drop a job, and gets no further, right after a worker has read the facts."""
    disk = _captured(PORT)
    rig, user = process(disk, "worker"), process(disk, "user")
    (job_id,) = rig.queue.queued()
    job = user.queue.job(job_id)
    assert job is not None
    dropped = make_decision(job, Decide("dropped", "user", None), (), now_ms=user.clock.now_ms())
    rig.clock = _Interrupting(disk, lambda: user.queue.decide(dropped))
    rig.curator().advance(job_id, _claimed(rig, job_id))
    sends = rig.provider.sends
    need("Q-11 no call for a job that was decided", holds=not sends, found=sends)


class _Interrupting(ManualClock):
    """A clock at whose first look after a reservation somebody else acts."""

    def __init__(self, disk: SimulatedDisk, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._disk, self._meanwhile = disk, [meanwhile]

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        while self._meanwhile and attempts(self._disk, ".reserved"):
            self._meanwhile.pop()()
        return super().now_ms()


class _Late(FileMemory):
    """The memory of a worker that stalls before it takes the project's lock for the first time."""

    def __init__(self, rig: Rig, meanwhile: Callable[[], None]) -> None:
        super().__init__(rig.records, b"\x5a" * 32)
        self._meanwhile = [meanwhile]

    @contextmanager
    def hold(self, scope: str) -> Iterator[HeldMemory]:
        """Let the others go on first."""
        while self._meanwhile:
            self._meanwhile.pop()()
        with super().hold(scope) as held:
            yield held


def compacted_before_the_lock() -> None:
    """Another worker finishes a job and retention compacts it, before the first one gets the lock."""
    disk = _captured(PORT)
    rig, other = process(disk, "worker"), process(disk, "other", hours=_LEASE_HOURS)
    (job_id,) = rig.queue.queued()

    def meanwhile() -> None:
        other.drain()
        _expired([job_id], other)

    rig.memory = _Late(rig, meanwhile)
    with suppress(StorageError):
        rig.curator().advance(job_id, _claimed(rig, job_id))
    left = [path for path in disk.files() if job_id in path and "/outcomes/" not in path]
    need("D-12 a closed job gets no other intent", holds=not left, found=left)


def superseded() -> None:
    """The user retries a job that waits for the provider's configuration."""
    disk = _captured(PORT)
    rig = process(disk, "worker", otherwise=_unconfigured)
    rig.drain()
    rig.jobs_service().retry(rig.queue.queued()[0])
    check_by_the_book(process(disk, "reader"), rest=False)


def _unconfigured(_request: ReviewRequest) -> Reply:
    return Failed("configuration", "http 401", None, None)


def two_jobs_of_a_lane() -> None:
    """Two jobs wait for a worker."""
    rig = process(_captured(PORT, RELEASES), "worker")
    oldest = [job_id[-32:] for job_id in rig.queue.queued()]
    rig.drain()
    sent = [name[9:-5] for name in rig.provider.sends]
    need("Q-10 the oldest job of a lane comes first", holds=sent == oldest, found=sent)


def branch_that_keeps_changing() -> None:
    """Memory changes during every call."""
    disk = _captured(PORT)
    rig, writer = process(disk, "worker"), process(disk, "writer")

    def meddle(request: ReviewRequest) -> None:
        writer.memory_service().remember(f"Written during {request.attempt_id}.")

    rig.provider.before_review = meddle
    report = rig.drain()
    waits = [done.reason for done in report.waiting.values()]
    calls = len(rig.provider.sends)
    need(
        "Q-11 after two stale ends a review waits", holds=calls == 2 and len(waits) == 1, found=(calls, waits)
    )


def _expired(job_ids: list[str], rig: Rig) -> None:
    rig.retention().expire(PROJECT, tuple(job_ids))


def late_look_at_an_expired_job() -> None:
    """A worker reaches a job of its list after retention has compacted it and taken its event away."""
    disk = _captured(PORT)
    rig = process(disk, "worker")
    job_ids = rig.queue.queued()
    rig.drain()
    _expired(job_ids, process(disk, "keeper"))
    late = process(disk, "late")
    late.curator().advance(job_ids[0], _claimed(late, job_ids[0]))
    told = disk.info(layout.event(job_ids[0])) is not None
    need("F-01 an event that expired is not made again", holds=not told, found=job_ids)


def late_look_at_an_expired_outcome() -> None:
    """A worker that read an outcome announces it after retention has compacted it."""
    disk = _captured(PORT)
    rig = process(disk, "worker")
    job_ids = rig.queue.queued()
    rig.drain()
    late = process(disk, "late")
    ended = late.queue.outcome(job_ids[0])
    _expired(job_ids, process(disk, "keeper"))
    if isinstance(ended, Outcome):
        with suppress(StorageError):
            announce(ended, queue=late.queue, memory=late.memory)
    stays = disk.info(layout.event(job_ids[0])) is not None
    need("E-05 nothing of an expired job comes back", holds=not stays, found=job_ids)
