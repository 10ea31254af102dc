"""What has to hold once everything has come to rest, seen from outside."""

from __future__ import annotations

from collections import Counter

from perdure.authority.filesystem.inspect import load_snapshot
from perdure.core.admission import Outcome
from perdure.core.attempt import day_of
from perdure.core.budget import unresolved
from perdure.core.record import record_digest
from perdure.service.invariants import check_invariants, check_rest
from tests.crash.checks import check_idle, need
from tests.fakes import HOLD, MAIN_BRANCH, PROJECT
from tests.simulation.house import House, SimRig
from tests.simulation.ledger import Ledger

PAUSE_SECONDS = 300.0
PAUSES_MAX = 12
"""An hour: no pause between two calls is longer than 15 minutes."""
PAUSES_A_DAY = 4
DAYS_MORE = 3
CALLS_EACH = 4
"""How many calls a job and its successors may take that come to stale ends, at the most."""
EXPIRY_DAYS = 12
_DAY_MS = 86_400_000
_DAY_SECONDS = 86_400
_HELD_TOKENS = HOLD.input_tokens + HOLD.output_tokens


def come_to_rest(house: House) -> SimRig:
    """Heal the disk, start again, and review until nothing is left; then do it once more for nothing."""
    house.disk.limit()
    house.disk.reboot("kept")
    house.clock.reboot()
    if house.plan.frugal:
        _within_limits(house)
    rig = house.start_alone()
    rig.purge_service().resume(PROJECT)
    report = rig.drain()
    for _ in range(PAUSES_MAX):
        need("Q-13 nothing is stopped", holds=not report.stopped, found=report.stopped)
        if not report.waiting:
            break
        house.clock.advance(PAUSE_SECONDS)
        report = rig.drain()
    need("Q-12 nothing waits for ever", holds=not report.waiting, found=report.waiting)
    before = house.disk.files()
    house.start_alone().drain()
    check_idle(before, house.disk.files())
    return house.start_alone()


def _within_limits(house: House) -> None:
    """With the limits of a day, and what is in doubt reconciled, every open job ends within so many days."""
    rig = house.start_alone(house.limits())
    for attempt in rig.attempts.all():
        if unresolved(attempt):
            rig.budget_service().reconcile(attempt.attempt_id, reason="seen on the invoice")
    left = len(rig.queue.queued()) - len(rig.queue.closed(PROJECT))
    days = DAYS_MORE + CALLS_EACH * max(left, 0) // house.plan.calls_per_day
    report = rig.drain()
    for _ in range(days * PAUSES_A_DAY):
        need("Q-13 nothing is stopped", holds=not report.stopped, found=report.stopped)
        if not report.waiting:
            return
        house.clock.advance(_DAY_SECONDS / PAUSES_A_DAY)
        sent = Counter(day_of(name) for name in rig.provider.sends)
        most = max(sent.values(), default=0)
        need("B-02 a day's limit", holds=most <= house.plan.calls_per_day, found=sent)
        report = rig.drain()
    need("B-08 a limit ends no job and holds none for ever", holds=False, found=report.waiting)


def grow_old(house: House) -> SimRig:
    """Let time pass until everything that can expire has expired."""
    rig = house.start_alone()
    ahead = sum(max(event.amount, 0) for event in house.plan.events if event.kind in {"jump", "pass"})
    for _ in range(int(ahead / _DAY_SECONDS) // 2):
        house.clock.advance(3_601)
        rig.retention().run()
    for _ in range(EXPIRY_DAYS):
        for seconds in (82_800, 3_601):  # one run moves by two days at most: a jump is caught up with
            house.clock.advance(seconds)
            rig.retention().run()
    return house.start_alone()


def check(house: House, rig: SimRig, *, old: bool) -> None:
    """All laws. The calls of closed jobs may be open as long as nothing is `old`: nobody waits for them."""
    snapshot = load_snapshot(rig.records)
    left = [found for found in check_rest(snapshot) if old or found.invariant != "R-03"]
    broken = [*check_invariants(snapshot), *left]
    need("every rule of perdure verify", holds=not broken, found=broken[:3])
    _check_memory(rig, house.ledger)
    _check_jobs(rig, house.ledger)
    _check_attempts(rig, house.ledger)
    _check_purged(house)
    if old:
        now_ms = house.clock.now_ms()
        late = [job_id for job_id in rig.queue.queued() if int(job_id[:12], 16) + 2 * _DAY_MS < now_ms]
        need("E-05 what has ended expires", holds=not late, found=late)


def _check_memory(rig: SimRig, ledger: Ledger) -> None:
    main = rig.memory.branch(PROJECT, MAIN_BRANCH)
    need("M-02 main is there", holds=main is not None)
    assert main is not None
    present = {entry.entry_id: entry.text for entry in main.entries}
    for entry_id, texts in ledger.entries.items():
        found = present.get(entry_id)
        need("G-04 what was acknowledged is there", holds=found in texts, found=(entry_id, texts, found))
    begun = ledger.begun | {text for texts in ledger.entries.values() for text in texts if text is not None}
    for entry in main.entries:
        known = entry.text in (ledger.texts if entry.origin == "review" else begun)
        need("G-05 nothing is in memory that nobody wrote", holds=known, found=entry.text)
    forgotten = ledger.forgotten & set(present.values())
    need("M-12 what was forgotten stays so", holds=not forgotten, found=forgotten)
    twice = [text for text, count in Counter(present.values()).items() if count > 1]
    need("X-02 no effect twice", holds=not twice, found=twice)
    names = {row.name for row in rig.memory.branches(PROJECT)}
    need("M-02 acknowledged forks are there", holds=ledger.branches <= names, found=ledger.branches - names)
    _check_elsewhere(rig, ledger)


def _check_elsewhere(rig: SimRig, ledger: Ledger) -> None:
    """What was written on forks, and which branch is in use."""
    service = rig.memory_service()
    for (name, entry_id), text in ledger.elsewhere.items():
        found = {entry.entry_id: entry.text for entry in service.branch(name).entries}.get(entry_id)
        need("G-04 what was written on a fork is there", holds=found == text, found=(name, entry_id, found))
    chosen = service.selected()
    need("M-02 the branch in use is the chosen one", holds=chosen in ledger.selected, found=chosen)


def _check_jobs(rig: SimRig, ledger: Ledger) -> None:
    queued, closed = rig.queue.queued(), rig.queue.closed(PROJECT)
    for job_id in {*queued, *ledger.jobs}:
        need("G-01 every accepted job has its end", holds=job_id in closed, found=job_id)
    covered = rig.coverage.covered(PROJECT)
    lost = [turn for turn in ledger.turns if turn not in covered]
    need("G-01 an accepted turn stays covered", holds=not lost, found=lost)
    effects: Counter[str] = Counter()
    for job_id in closed:
        ended = rig.queue.outcome(job_id)
        need("Q-05 an outcome stays readable", holds=ended is not None, found=job_id)
        assert ended is not None
        before = ledger.closed.get(job_id, ended.state)
        need("Q-05 an outcome never changes", holds=before == ended.state, found=(job_id, before))
        seen = ledger.decisions.get(job_id, ended.decision_digest)
        need("D-02 an outcome is of the decision", holds=seen == ended.decision_digest, found=job_id)
        decision = rig.queue.decision(job_id)
        kept = decision is None or record_digest(decision) == ended.decision_digest
        need("D-12 the decision is the outcome's", holds=kept, found=job_id)
        whole = not isinstance(ended, Outcome) or rig.queue.event_present(job_id)
        need("F-01 every end has its event", holds=whole, found=job_id)
        receipt = rig.memory.receipt(PROJECT, job_id)
        if decision is not None and decision.job.mode == "observe":
            need("R-09 what only observes changes nothing", holds=receipt is None, found=job_id)
            ledger.counts["observed"] += decision.kind == "elected" and isinstance(ended, Outcome)
        if receipt is not None and decision is not None and receipt.verdict == "applied":
            exact = receipt.base_digest == decision.base_digest
            need("D-05 applied to the very branch it was planned on", holds=exact, found=job_id)
        ledger.counts[f"end: {ended.state}"] += isinstance(ended, Outcome)
        effects[ended.evidence_digest] += ended.state == "applied"
    need("G-03 one effect per evidence", holds=max(effects.values(), default=0) <= 1, found=effects)


def _check_attempts(rig: SimRig, ledger: Ledger) -> None:
    """What was sent stays on record until its day is closed, and is counted before and after."""
    known = {attempt.attempt_id: attempt for attempt in rig.attempts.all()}
    report = rig.budget_service().report()
    closed = {row.day for row in report.days if row.closed}
    for name in ledger.sends:
        attempt = known.get(name)
        if attempt is None or day_of(name) in closed:
            need("B-03 no call is forgotten", holds=day_of(name) in closed, found=name)
            continue
        sent = attempt.state not in {"reserved", "cancelled"}
        need("A-03 a call is not cancelled", holds=sent, found=attempt)
        stays = name not in ledger.settled or attempt.result is not None
        need("D-01 a settled result stays", holds=stays, found=name)
        stays = name not in ledger.reconciled or attempt.reconciled is not None
        need("A-06 the user's word stays", holds=stays, found=name)
    for day in {day_of(name) for name in ledger.sends}:
        sends = [name for name in ledger.sends if day_of(name) == day]
        rows = [row.exposure.total for row in report.days if row.day == day and row.provider == "scripted"]
        calls = sum(row.calls for row in rows)
        need("B-02 the budget counts every call", holds=calls >= len(sends), found=(day, calls, len(sends)))
        tokens, least = sum(row.tokens for row in rows), sum(ledger.used.get(n, _HELD_TOKENS) for n in sends)
        need("B-03 doubt is counted in full", holds=tokens >= least, found=(day, tokens, least))


def _check_purged(house: House) -> None:
    """No file holds a purged text; what writers left in tmp/ is swept first."""
    house.disk.sweep_temporaries()
    for path, data in house.disk.files().items():
        for text in house.ledger.purged:
            need("M-12 purged text is gone", holds=text.encode() not in data, found=f"{text!r} in {path}")
