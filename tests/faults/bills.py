"""Cases of what calls cost (rules 6, 12 and 14)."""

from __future__ import annotations

from contextlib import suppress

from perdure.core.attempt import Reserved
from perdure.core.budget import Limits, OverBudget
from perdure.core.job import Job
from perdure.errors import NotFound, Refused
from perdure.ports.provider import Lost, Reply, ReviewRequest
from perdure.service.adoption import charge_rest_of_day
from perdure.service.curate import utc_day
from tests import core_values
from tests.crash.checks import need
from tests.fakes import LARGEST, PROJECT, Rig, turns
from tests.faults.stages import DAY_SECONDS, PORT, RELEASES, attempts, home, process, snapshots
from tests.simulated_disk import Crashed, SimulatedDisk

ONE_CALL = Limits(calls_per_day=1)
_RETENTION_DAYS = 12
_DAMAGED = b"damaged"
_YEAR_SECONDS = 365 * DAY_SECONDS


def _lost(_request: ReviewRequest) -> Reply:
    return Lost("timeout")


def _with_job(*texts: str) -> SimulatedDisk:
    disk = home()
    rig = process(disk, "host")
    for count in range(1, len(texts) + 1):
        rig.capture(turns(*texts[:count]))
    disk.reboot("kept")
    return disk


def _calls(rig: Rig) -> int:
    return rig.attempts.charge(rig.provider.name, utc_day(rig.clock.now_ms())).total.calls


def word_during_a_call() -> None:
    """The user reconciles an attempt while its call runs."""
    disk = _with_job(PORT)
    rig = process(disk, "worker")
    refused: list[str] = []

    def reconcile(request: ReviewRequest) -> None:
        try:
            process(disk, "user").budget_service().reconcile(request.attempt_id, reason="seen on the invoice")
        except Refused as error:
            refused.append(error.message)

    rig.provider.before_review = reconcile
    rig.drain()
    need("A-06 a call whose owner lives is not reconciled", holds=len(refused) == 1, found=refused)


def two_workers_and_one_call_left() -> None:
    """Two processes, two jobs, and one call a day; the first has looked at the budget before."""
    disk = _with_job(PORT, RELEASES)
    first, second = (process(disk, name, limits=ONE_CALL) for name in ("first", "second"))
    before = _calls(first)
    second.drain()
    first.drain()
    sent = len(first.provider.sends) + len(second.provider.sends)
    need("B-02 the limit of a day holds", holds=(before, sent) == (0, 1), found=(before, sent))


def dead_owner_held_the_last_call() -> None:
    """A worker dies after it reserved the only call of the day for one job; another job comes next."""
    disk = home()
    victim, other = process(disk, "victim"), process(disk, "other")
    jobs = [core_values.job(core_values.evidence(turn=turn), project=PROJECT) for turn in ("a1", "b1")]
    victim.attempts.reserve(core_values.reserved(jobs[0], worker=victim.claims.register()), ONE_CALL)
    disk.kill("victim")
    answer = other.attempts.reserve(_drafted(other, jobs[1]), ONE_CALL)
    held = isinstance(answer, OverBudget)
    need("A-03 a proved non-call frees its budget", holds=not held, found=answer)


def _drafted(rig: Rig, job: Job) -> Reserved:
    return core_values.reserved(job, worker=rig.claims.register())


def _grown_old(rig: Rig) -> None:
    for _ in range(_RETENTION_DAYS):
        rig.clock.advance(DAY_SECONDS)
        rig.retention().run()


def day_is_closed() -> None:
    """Retention closes a day, crashed at every operation: before, during and after it the calls count."""
    disk = _with_job(PORT)
    rig = process(disk, "worker")
    rig.drain()
    _check_counted(disk, len(rig.provider.sends))
    keeper = process(disk, "keeper")
    for snapshot in snapshots(disk, lambda: _grown_old(keeper)):
        for state in snapshot.surviving_states(limit=2):
            _check_counted(state, len(rig.provider.sends))


def _check_counted(disk: SimulatedDisk, sent: int) -> None:
    report = process(disk, "reader").budget_service().report()
    counted = sum(row.exposure.total.calls for row in report.days)
    need("B-03 no call is forgotten", holds=counted >= sent, found=(counted, sent))


def doubt_grows_old() -> None:
    """A call whose end is unknown is twelve days old."""
    disk = _with_job(PORT)
    rig = process(disk, "worker", script=(_lost,))
    rig.drain()
    rig.clock.advance(3_600)
    rig.drain()
    keeper = process(disk, "keeper", hours=1)
    _grown_old(keeper)
    doubt = keeper.attempts.charge(rig.provider.name, utc_day(keeper.clock.now_ms())).unknown
    need("B-06 doubt counts until it is resolved", holds=doubt.calls == 1, found=doubt)


def clock_jumps_a_year() -> None:
    """The wall clock jumps a year ahead between two runs of retention."""
    disk = _with_job(PORT)
    rig = process(disk, "worker")
    rig.drain()
    rig.retention().run()
    rig.clock.advance(2 * 3_600)
    rig.clock.jump(_YEAR_SECONDS)
    rig.retention().run()
    need("E-05 a jump of the clock takes no evidence", holds=bool(rig.queue.queued()))


def _lost_in_the_call(disk: SimulatedDisk) -> Rig:
    """A worker dies in its call; the rig of that worker."""
    victim = process(disk, "victim")
    victim.provider.before_review = lambda _request: disk.kill("victim")
    with suppress(Crashed):
        victim.drain()
    return victim


def _damage(disk: SimulatedDisk, path: str) -> None:
    disk.put(path, _DAMAGED)


def damaged_reservation() -> None:
    """The reservation of a call whose end is unknown cannot be read."""
    disk = _with_job(PORT)
    _lost_in_the_call(disk)
    for path in attempts(disk, ".reserved"):
        _damage(disk, path)
    rig = process(disk, "reader")
    counted = rig.attempts.charge(rig.provider.name, utc_day(rig.clock.now_ms())).total
    need(
        "B-03 an unreadable attempt costs the largest hold",
        holds=counted.tokens >= LARGEST.tokens,
        found=counted,
    )


def damaged_fate() -> None:
    """The dispatched record of a call whose owner died cannot be read."""
    disk = _with_job(PORT)
    victim = _lost_in_the_call(disk)
    for path in attempts(disk, ".fate"):
        _damage(disk, path)
    later = process(disk, "later", hours=1)
    later.drain()
    later.attempts.sweep_orphans()
    counted, sent = _calls(later), len(victim.provider.sends) + len(later.provider.sends)
    need("B-02 the budget counts every call", holds=counted >= sent, found=(counted, sent))


def damaged_job() -> None:
    """A job that has an attempt cannot be read."""
    disk = _with_job(PORT)
    rig = process(disk, "worker", script=(_lost,))
    (job_id,) = rig.queue.queued()
    rig.drain()
    _damage(disk, f"spool/jobs/{job_id}")
    later = process(disk, "later", hours=1)
    with suppress(NotFound):
        later.drain()
    need("Q-13 what counts keeps its name", holds=job_id in later.queue.queued(), found=later.queue.queued())


def damaged_new_job() -> None:
    """A job that nobody has claimed cannot be read."""
    disk = _with_job(PORT)
    rig = process(disk, "worker")
    (job_id,) = rig.queue.queued()
    _damage(disk, f"spool/jobs/{job_id}")
    rig.drain()
    kept = [path for path, data in disk.files().items() if data == _DAMAGED]
    need("Q-13 quarantine loses no bytes", holds=bool(kept), found=sorted(disk.files()))


def adopted_home() -> None:
    """A copy of a home is adopted: its other copy may have spent the whole day."""
    rig = process(home(), "operator")
    provider = rig.provider
    charge_rest_of_day(
        rig.attempts,
        provider=provider.name,
        model=provider.model,
        limits=Limits(calls_per_day=5),
        clock=rig.clock,
        ids=rig.ids,
    )
    need("B-06 an adopted home has spent its day", holds=_calls(rig) == 5, found=_calls(rig))
