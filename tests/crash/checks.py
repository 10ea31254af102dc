"""What has to hold on a disk after any crash and recovery, checked from the files and from a `World`.

It reads with the product's own records and folds, and draws its own conclusions: nothing here asks a
service whether all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.authority.filesystem.mailbox import FileMailbox
from perdure.authority.filesystem.retain import FileLedger
from perdure.core.admission import (
    IntentTombstone,
    Outcome,
    OutcomeTombstone,
    Receipt,
    Revision,
    RevisionTombstone,
)
from perdure.core.attempt import Attempt
from perdure.core.budget import Amount, charge
from perdure.core.job import is_job_id
from perdure.core.memory import Entry
from perdure.core.record import record_digest
from perdure.ports.memory import BranchName
from perdure.service.curate import utc_day
from perdure.service.invariants import check_invariants, check_rest
from tests.crash.world import Broken, World
from tests.fakes import MAIN_BRANCH, PROJECT, USED, Rig

AnyRevision = Revision | RevisionTombstone
AnyOutcome = Outcome | OutcomeTombstone
_ENDED = {"applied", "no-op", "rejected", "dead-lettered", "dropped"}


def need(promise: str, *, holds: bool, found: object = "") -> None:
    """Raise Broken, naming the promise, unless it holds."""
    if not holds:
        raise Broken(f"{promise}: {found}")


def check(rig: Rig, world: World) -> None:
    """All invariants of a recovered disk."""
    rows = rig.memory.branches(PROJECT)
    revisions = {row.branch_id: _revisions(rig, row) for row in rows}
    for row in rows:
        _check_chain(rig, row, revisions[row.branch_id])
    _check_foreground(rig, world, rows)
    attempts = rig.attempts.all()
    totals = _day_totals(rig, world)
    _check_attempts(world, attempts, frozenset(totals))
    _check_budget(rig, world, attempts, totals)
    outcomes = dict(_outcomes(rig, world))
    _check_jobs(rig, world, outcomes)
    for job_id, ended in outcomes.items():
        if isinstance(ended, OutcomeTombstone):
            _check_compacted(rig, world, ended)
        else:
            _check_end(rig, world, job_id, ended)
    _check_effects(rig, revisions, outcomes)
    _check_displayed(rig, world)
    _check_text_is_gone(rig)


def _revisions(rig: Rig, row: BranchName) -> list[AnyRevision]:
    found = (
        rig.memory.revision(PROJECT, row.branch_id, seq)
        for seq in rig.memory.revisions(PROJECT, row.branch_id)
    )
    return [revision for revision in found if revision is not None]


def _check_chain(rig: Rig, row: BranchName, chain: list[AnyRevision]) -> None:
    """The revisions have no gap, each stands on the one before, and their replay is the branch."""
    branch = rig.memory.branch(PROJECT, row.branch_id)
    need("M-02 a branch that is listed is there", holds=branch is not None, found=row)
    assert branch is not None
    need(
        "M-09 no gap in the history",
        holds=[r.seq for r in chain] == list(range(1, branch.seq + 1)),
        found=row,
    )
    entries: tuple[Entry, ...] = ()
    before = chain[0].base_digest if chain else None
    for revision in chain:
        need(
            "M-05 each revision stands on the one before",
            holds=revision.base_digest == before,
            found=revision,
        )
        before = revision.result_digest
    whole = [revision for revision in chain if isinstance(revision, Revision)]
    if len(whole) == len(chain):  # of purged ones the digests alone are left, and `perdure verify` replays
        for revision in whole:
            entries = replay(entries, revision)
        need("M-09 replay of the history is the branch", holds=entries == branch.entries, found=row)
    need("M-04 the last revision names the branch", holds=not chain or before == branch.digest, found=row)


def replay(entries: tuple[Entry, ...], revision: Revision) -> tuple[Entry, ...]:
    """The entries after a revision's changes."""
    now = list(entries)
    for change in revision.changes:
        if change.before is not None:
            need("M-09 a change fits what stood there", holds=change.before in now, found=revision.seq)
            place = now.index(change.before)
            now[place : place + 1] = [change.after] if change.after is not None else []
        elif change.after is not None:
            now.insert(change.index, change.after)
    return tuple(now)


def _check_foreground(rig: Rig, world: World, rows: tuple[BranchName, ...]) -> None:
    main = rig.memory.branch(PROJECT, MAIN_BRANCH)
    need("M-02 main is there", holds=main is not None)
    assert main is not None
    present = {entry.entry_id: entry.text for entry in main.entries}
    for entry_id, text in world.entries.items():
        if entry_id not in world.doubt:
            need(
                "G-04 what was acknowledged is there",
                holds=present.get(entry_id) == text,
                found=f"{entry_id}: {text!r} acknowledged, {present.get(entry_id)!r} found",
            )
    texts = set(present.values())
    for group in world.together:
        found = [text for text in group if text in texts]
        need("M-05 all of a command or nothing", holds=len(found) in {0, len(group)}, found=found)
    names = {row.name for row in rows}
    need("M-02 acknowledged forks are there", holds=world.branches <= names, found=world.branches - names)
    need("M-02 names are unique", holds=len(names) == len(rows), found=rows)
    chosen = rig.memory.selected(PROJECT) or "main"
    need("M-02 the branch in use is the chosen one", holds=chosen in world.selected, found=chosen)
    there = {"main", *(row.name for row in rows), *(row.branch_id for row in rows)}
    need("M-02 the branch in use is there", holds=chosen in there, found=chosen)


def _day_totals(rig: Rig, world: World) -> dict[str, Amount]:
    """What the attempts came to of days that are closed, or are being closed."""
    found = {
        total.day: sum((row.amount for row in total.providers), Amount())
        for total in FileLedger(rig.records, rig.attempts, lambda _: True).totals()
    }
    need("B-06 days close by retention alone", holds=world.expiring or not found, found=found)
    return found


def _check_attempts(world: World, attempts: tuple[Attempt, ...], closed_days: frozenset[str]) -> None:
    known = {attempt.attempt_id: attempt for attempt in attempts}
    need("A-02 the fate is durable before the request", holds=not world.hasty, found=world.hasty)
    for name, count in world.sends.items():
        need("A-04 one request per attempt", holds=count == 1, found=f"{name}: {count}")
        attempt = known.get(name)
        if name[:8] in closed_days and (attempt is None or attempt.reserved is None):
            continue
        need(
            "A-02 what was sent is on record",
            holds=attempt is not None and attempt.fate is not None,
            found=name,
        )
        assert attempt is not None
        need(
            "A-03 what was sent is not cancelled",
            holds=attempt.state in {"settled", "unknown"},
            found=attempt,
        )
    here = {name for name in known if name[:8] not in closed_days}
    facts = world.dispatched | world.settled | world.settled_by_user | world.adopted
    gone = {name for name in facts if name not in known and name[:8] not in closed_days}
    need("A-01 an attempt stays until its day is closed", holds=not gone, found=gone)
    for name in world.dispatched & here:
        need("A-03 a dispatched attempt stays one", holds=known[name].state != "cancelled", found=name)
    for name in world.settled & here:
        need("D-01 a settled result stays", holds=known[name].result is not None, found=name)
    for name in world.settled_by_user & here:
        need("A-06 the user's word stays", holds=known[name].reconciled is not None, found=name)
    for name in world.adopted & here:
        need("S-08 what a copy may have spent is unknown", holds=known[name].state == "unknown", found=name)
    for attempt in attempts:
        need("A-03 no attempt is left open", holds=not attempt.open, found=attempt.attempt_id)
        need("Q-13 every attempt can be read", holds=attempt.damaged is None, found=attempt)
        if attempt.result is not None:
            need("A-04 only what was sent has a result", holds=attempt.attempt_id in world.sends)


def _check_budget(rig: Rig, world: World, attempts: tuple[Attempt, ...], totals: dict[str, Amount]) -> None:
    """The fold counts at least what was sent, and cancelled attempts not at all."""
    first = min((attempt.attempt_id[:8] for attempt in attempts), default=utc_day(rig.clock.now_ms()))
    open_days = [attempt for attempt in attempts if attempt.attempt_id[:8] not in totals]
    total = sum(totals.values(), charge(open_days, provider="scripted", day=first).total)
    floor = Amount(len(world.sends), len(world.sends) * USED.input_tokens, 0)
    need(
        "B-02 what a copy may have spent counts",
        holds=total.calls >= world.counted.calls and total.tokens >= world.counted.tokens,
        found=(total, world.counted),
    )
    need("B-02 the budget counts every call", holds=total.calls >= floor.calls, found=(total, floor))
    need("B-03 doubt is counted", holds=total.tokens >= floor.tokens, found=(total, floor))
    kept = sum(attempt.reserved.calls for attempt in attempts if _may_cost(attempt) and attempt.reserved)
    if not totals:
        need("B-03 a cancelled attempt is free", holds=total.calls <= kept, found=(total, kept))


def _may_cost(attempt: Attempt) -> bool:
    return attempt.state != "cancelled"


def _outcomes(rig: Rig, world: World) -> Iterator[tuple[str, AnyOutcome]]:
    for job_id in sorted(rig.queue.closed(PROJECT)):
        ended = rig.queue.outcome(job_id)
        kept = isinstance(ended, Outcome) or (world.expiring and ended is not None)
        need("Q-05 an outcome can be read", holds=kept, found=job_id)
        assert ended is not None
        yield job_id, ended


def _check_compacted(rig: Rig, world: World, ended: OutcomeTombstone) -> None:
    """What is left of an end says the same as the end did."""
    seen = world.decisions.get(ended.job_id, ended.decision_digest)
    need("D-02 a decision never changes", holds=seen == ended.decision_digest, found=ended.job_id)
    decision = rig.queue.decision(ended.job_id)
    same = decision is None or record_digest(decision) == ended.decision_digest
    need("E-05 a tombstone names its decision", holds=same, found=ended.job_id)


def _check_jobs(rig: Rig, world: World, outcomes: dict[str, AnyOutcome]) -> None:
    queued = set(rig.queue.queued())
    for job_id in world.jobs:
        ended = isinstance(outcomes.get(job_id), OutcomeTombstone)
        need("G-01 an accepted job stays", holds=job_id in queued or ended, found=job_id)
    for job_id in queued:
        need("G-01 recovery ends every job", holds=job_id in outcomes, found=job_id)
    covered = rig.coverage.covered(PROJECT)
    for turn in world.turns:
        need("G-01 an accepted turn is covered", holds=turn in covered, found=turn)
    holders = Counter(
        turn
        for o in outcomes.values()
        for turn in o.turns
        if (job := rig.queue.job(o.job_id)) and job.generation == 1
    )
    twice = [turn for turn, count in holders.items() if count > 1]
    need("Q-01 no turn is reviewed as two jobs", holds=not twice, found=twice)
    for job_id, state in world.closed.items():
        need("Q-05 an outcome never changes", holds=job_id in outcomes, found=job_id)
        need("Q-05 an outcome never changes", holds=state.split()[0] == outcomes[job_id].state, found=job_id)


def _check_end(rig: Rig, world: World, job_id: str, ended: Outcome) -> None:
    """Decision, receipt, intent's tombstone, outcome and event agree, and nothing is missing."""
    decision = rig.queue.decision(job_id)
    need("D-12 an outcome follows its decision", holds=decision is not None, found=job_id)
    assert decision is not None
    found = record_digest(decision)
    need("D-12 the outcome names the decision", holds=ended.decision_digest == found, found=job_id)
    seen = world.decisions.get(job_id, found)
    need("D-02 a decision never changes", holds=seen == found, found=job_id)
    need("F-01 every end has its event", holds=rig.queue.event_present(job_id), found=job_id)
    if decision.kind != "elected" or decision.job.mode == "observe":
        need(
            "S-01 no intent without an admission",
            holds=rig.memory.receipt(PROJECT, job_id) is None,
            found=job_id,
        )
        return
    receipt = rig.memory.receipt(PROJECT, job_id)
    need("D-08 an admission ends with a receipt", holds=receipt is not None, found=job_id)
    assert receipt is not None
    need(
        "D-12 the outcome names the receipt",
        holds=ended.receipt_digest == record_digest(receipt),
        found=job_id,
    )
    _check_receipt(rig, receipt, found)
    if receipt.verdict == "applied":
        exact = receipt.base_digest == decision.base_digest
        need("D-05 applied to the very branch it was planned on", holds=exact, found=job_id)
    if receipt.successor is not None:
        there = rig.queue.job(receipt.successor)
        need("Q-11 a stale end has its successor", holds=there is not None, found=job_id)
    need("Q-11 a stale end is stale", holds=ended.state in _ENDED or receipt.verdict == "stale", found=ended)


def _check_receipt(rig: Rig, receipt: Receipt, decision_digest: str) -> None:
    need(
        "D-11 the receipt binds the decision", holds=receipt.decision_digest == decision_digest, found=receipt
    )
    with rig.memory.hold(PROJECT) as held:
        need("D-06 nothing is left begun", holds=not held.begun(), found=held.begun())
        facts = held.transaction(receipt.transaction)
    need("D-07 the intent's tombstone stays", holds=facts is not None, found=receipt.job_id)
    assert facts is not None
    stone = facts.intent
    need("D-07 the intent is compacted", holds=isinstance(stone, IntentTombstone), found=receipt.job_id)
    assert isinstance(stone, IntentTombstone)
    need("D-11 receipt and intent agree", holds=receipt.intent_digest == stone.intent_digest, found=receipt)
    done = rig.memory.receipt(PROJECT, receipt.job_id)
    need("D-03 a receipt is immutable", holds=done == receipt, found=receipt)
    if receipt.revision_seq is not None:
        revision = rig.memory.revision(PROJECT, receipt.branch_id, receipt.revision_seq)
        need("D-06 a revision stands before its receipt", holds=isinstance(revision, Revision), found=receipt)
        assert isinstance(revision, Revision)
        need("D-11 the revision is the receipt's", holds=revision.job_id == receipt.job_id, found=revision)
        need("X-03 no clock but the intent's", holds=revision.made_ms == receipt.ended_ms, found=receipt)


def _check_effects(
    rig: Rig, revisions: dict[str, list[AnyRevision]], outcomes: dict[str, AnyOutcome]
) -> None:
    """G-03, X-02: over all generations of one window at most one proposal took effect."""
    effects: Counter[str] = Counter()
    for chain in revisions.values():
        for revision in chain:
            if revision.job_id is not None:
                decision = rig.queue.decision(revision.job_id)
                ended = outcomes.get(revision.job_id)
                if decision is None and isinstance(ended, OutcomeTombstone):
                    effects[ended.evidence_digest] += 1
                    continue
                need("D-11 an effect has its decision", holds=decision is not None, found=revision)
                assert decision is not None
                effects[decision.job.evidence_digest] += 1
    double = [evidence for evidence, count in effects.items() if count > 1]
    need("G-03 one effect per window", holds=not double, found=double)
    main = rig.memory.branch(PROJECT, MAIN_BRANCH)
    assert main is not None
    texts = Counter(entry.text for entry in main.entries)
    need("X-02 no effect twice", holds=max(texts.values(), default=0) <= 1, found=texts)


def check_by_the_book(rig: Rig, *, rest: bool, damaged: Collection[str] = ()) -> None:
    """What `perdure verify` applies to a whole home: safety, and with `rest` that nothing is left to do.

    What was damaged from outside, at those paths, is not the product's doing.
    """
    snapshot = load_snapshot(rig.records)
    broken = [*check_invariants(snapshot), *(check_rest(snapshot) if rest else ())]
    broken = [found for found in broken if found.path not in damaged]
    need("every rule of perdure verify", holds=not broken, found=broken[:3])


def check_bytes(files: Mapping[str, bytes], world: World) -> None:
    """What holds of bare bytes, before any recovery too: what was purged is nowhere, and what was damaged is
    in its place or in quarantine, byte for byte.
    """
    for text in world.purged:
        needle = text.encode()
        held = [path for path, data in files.items() if needle in data]
        need("M-12 what was purged is nowhere", holds=not held, found=held)
    copies = {data for path, data in files.items() if path.startswith(f"{layout.QUARANTINE}/")}
    for path, data in world.aside.items():
        kept = files.get(path) == data or data in copies
        need("M-13 quarantine loses no bytes", holds=kept, found=path)


def _check_displayed(rig: Rig, world: World) -> None:
    """F-03: what was displayed is on record as long as its event stands, so that nobody shows it again."""
    mailbox = FileMailbox(rig.records)
    for job_id in sorted(world.displayed):
        told = mailbox.told(job_id)
        need("F-03 what was displayed is on record", holds=told is None or told.seen, found=job_id)


def _check_text_is_gone(rig: Rig) -> None:
    """D-07: a finished transaction keeps no text: an intent is gone (foreground) or a tombstone (review)."""
    folder = f"{layout.scope_folder(PROJECT)}/admissions"
    for name in rig.disk.names(folder):
        if not name.endswith(".done"):
            need("D-07 a finished foreground intent is gone", holds=is_job_id(name), found=name)
            with rig.memory.hold(PROJECT) as held:
                facts = held.transaction(name)
            whole = facts is None or isinstance(facts.intent, IntentTombstone)
            need("D-07 the intent is compacted", holds=whole, found=name)


def check_idle(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Recovery that finds nothing to do writes nothing: the record files are the same, byte for byte."""
    old, new = _records(before), _records(after)
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    need("D-06 recovery converges", holds=not changed, found=changed)


def _records(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if not path.startswith(("tmp/", "run/"))}
