"""What holds in every reachable state of a home, crashes included: each rule is a small pure function.

    check_invariants(snapshot) -> tuple[Violation, ...]    # safety: empty at any moment, before recovery too
    check_rest(snapshot) -> tuple[Violation, ...]          # nothing is left to do: empty after recovery

`perdure verify` and the crash tests call the same two. A snapshot is loaded through the Disk port:
`perdure.authority.filesystem.inspect.load_snapshot(records)`. Rules about the chain of revisions stand in
`chain.py`, those about admission in `admission_rules.py`, those about what was shown in `mailbox_rules.py`,
those about removed branches and moved entries in `structural_rules.py`. `INVARIANTS` maps each id to its
function, whose docstring is the rule in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from perdure.core.admission import (
    Intent,
    Outcome,
    OutcomeTombstone,
    Receipt,
    stale_successor,
)
from perdure.core.attempt import Attempt, attempt_id, day_of
from perdure.core.canonical import digest_bytes
from perdure.core.decision import Decision
from perdure.core.job import Job, check_identity, lane_of, successor, turn_ids
from perdure.core.record import record_digest
from perdure.ports.inspect import ScopeRecords, Snapshot
from perdure.service import admission_rules as admissions
from perdure.service import structural_rules as structural
from perdure.service.chain import check_chain
from perdure.service.mailbox_rules import mailbox
from perdure.service.violation import Violation, place, unread_at

EXPIRED = "expired"
"""The detail of a result whose text expired."""
PURGED = "purged"
"""The detail of a result whose text was purged."""


def check_invariants(snapshot: Snapshot) -> tuple[Violation, ...]:
    """All broken rules, in the order of their ids."""
    return tuple(found for rule in INVARIANTS.values() for found in rule(snapshot))


def check_rest(snapshot: Snapshot) -> tuple[Violation, ...]:
    """What recovery still has to finish: open jobs, intents, attempts of closed jobs, missing events."""
    return tuple(found for rule in REST.values() for found in rule(snapshot))


def _readable(snapshot: Snapshot) -> Iterator[Violation]:
    """Every record can be read: its kind, version, digest and canonical form are right."""
    for unread in snapshot.unread:
        code = "newer" if unread.newer else "damaged"
        yield Violation("V-01", code, unread.path, unread.reason, "a readable record")


def _names(snapshot: Snapshot) -> Iterator[Violation]:
    """A record's name is what its content says."""
    for folder, records in (("spool/jobs", snapshot.jobs), ("spool/decisions", snapshot.decisions)):
        for name, record in records.items():
            yield from _named(f"{folder}/{name}", name, record.job_id)
    for name, claim in snapshot.claims.items():
        yield from _named(f"spool/lanes/{name}", name, f"{claim.lane}.{claim.ordinal:08d}")
    for name, totals in snapshot.totals.items():
        yield from _named(f"budgets/{name}", name, totals.day)
    for scope in snapshot.scopes.values():
        yield from _names_in(scope)


def _names_in(scope: ScopeRecords) -> Iterator[Violation]:
    base = place(scope.scope)
    for name, branch in scope.branches.items():
        yield from _named(
            f"{base}/branches/{name}", f"{scope.scope} {name}", f"{branch.project} {branch.branch_id}"
        )
    for branch_id, revisions in scope.revisions.items():
        for seq, revision in revisions.items():
            path = f"{base}/revisions/{branch_id}/{seq:08d}"
            yield from _named(path, f"{branch_id} {seq}", f"{revision.branch_id} {revision.seq}")
    for name, intent in scope.intents.items():
        yield from _named(f"{base}/admissions/{name}", name, intent.transaction)
    for name, done in scope.completions.items():
        yield from _named(f"{base}/admissions/{name}.done", name, done.transaction)
    per_job: tuple[tuple[str, Mapping[str, Receipt | Outcome | OutcomeTombstone]], ...] = (
        ("receipts", dict(scope.receipts)),
        ("outcomes", dict(scope.outcomes)),
    )
    for folder, records in per_job:
        for name, record in records.items():
            yield from _named(f"{base}/{folder}/{name}", name, record.job_id)
            if lane_of(name).project != scope.scope:
                yield Violation(
                    "V-02", "foreign-project", f"{base}/{folder}/{name}", name[12:28], scope.scope
                )
    for name, told in scope.events.items():
        yield from _named(f"{base}/mailbox/{name}", name, told.job_id)


def _named(path: str, name: str, content: str) -> Iterator[Violation]:
    if name != content:
        yield Violation("V-02", "name", path, f"content of {content[:90]}", f"content of {name[:90]}")


def _identities(snapshot: Snapshot) -> Iterator[Violation]:
    """A job is what its id says, alone and as a decision embeds it; both are the same job (Q-01)."""
    for name, job in snapshot.jobs.items():
        yield from _identity(f"spool/jobs/{name}", job)
    for name, decision in snapshot.decisions.items():
        path = f"spool/decisions/{name}"
        yield from _identity(path, decision.job)
        standing = snapshot.jobs.get(name)
        if decision.job.job_id != name or (standing is not None and standing != decision.job):
            yield Violation("V-03", "embedded-job", path, "another job inside", "the job of that name")


def _identity(path: str, job: Job) -> Iterator[Violation]:
    wrong = check_identity(job)
    lane = lane_of(job.job_id)
    if wrong is None and (lane.project, lane.branch_id) != (job.project, job.branch_id):
        wrong = "the lane is not what the job id says"
    if wrong is not None:
        yield Violation("V-03", "identity", path, wrong, "content that gives the job id")


def _elections(snapshot: Snapshot) -> Iterator[Violation]:
    """Only a valid result of the same job is elected; every other end carries no proposal (D-02)."""
    attempts = {attempt.attempt_id: attempt for attempt in snapshot.attempts}
    for name, decision in snapshot.decisions.items():
        path = f"spool/decisions/{name}"
        if decision.kind != "elected":
            if decision.proposal is not None or decision.attempt_id is not None:
                yield Violation("V-04", "election", path, f"a {decision.kind} end with a proposal", "none")
            continue
        if decision.attempt_id is None or decision.proposal is None:
            yield Violation("V-04", "election", path, "an election without a proposal", "one")
            continue
        yield from _elected(path, decision, attempts.get(decision.attempt_id))


def _elected(path: str, decision: Decision, attempt: Attempt | None) -> Iterator[Violation]:
    """The result itself may be gone, or its text: the decision embeds what counts."""
    result = attempt.result if attempt is not None else None
    if result is None:
        return
    if result.job_id != decision.job_id or result.outcome not in {"proposal", "nothing"}:
        yield Violation("V-04", "election", path, f"a result that ended {result.outcome}", "a valid proposal")
    elif result.detail not in {PURGED, EXPIRED} and record_digest(result) != decision.result_digest:
        yield Violation("V-04", "result-digest", path, "the result has another digest", "the elected result")
    proposal = (decision.proposal or "").encode()
    if result.proposal_digest is not None and digest_bytes(proposal) != result.proposal_digest:
        yield Violation("V-04", "proposal-digest", path, "another proposal", "the elected result's proposal")


def _effects(snapshot: Snapshot) -> Iterator[Violation]:
    """At most one proposal takes effect per evidence window, over all generations (G-03)."""
    for scope in snapshot.scopes.values():
        applied: dict[str, str] = {}
        for name in sorted(_applied(scope)):
            evidence = _evidence_digest(snapshot, scope, name)
            if evidence is None:
                continue
            first = applied.setdefault(evidence, name)
            if first != name:
                path = f"{place(scope.scope)}/outcomes/{name}"
                yield Violation("V-10", "second-effect", path, f"{first} took effect already", "one effect")
        yield from _one_revision_per_job(scope)


def _applied(scope: ScopeRecords) -> set[str]:
    ended = {name for name, record in scope.outcomes.items() if record.state == "applied"}
    admitted = {name for name, record in scope.receipts.items() if record.verdict == "applied"}
    revised = {
        revision.job_id
        for revisions in scope.revisions.values()
        for revision in revisions.values()
        if revision.cause == "review" and revision.job_id is not None
    }
    return ended | admitted | revised


def _evidence_digest(snapshot: Snapshot, scope: ScopeRecords, job_id: str) -> str | None:
    ended = scope.outcomes.get(job_id)
    if ended is not None:
        return ended.evidence_digest
    decision = snapshot.decisions.get(job_id)
    job = decision.job if decision is not None else snapshot.jobs.get(job_id)
    return job.evidence_digest if job is not None else None


def _one_revision_per_job(scope: ScopeRecords) -> Iterator[Violation]:
    for branch_id, revisions in scope.revisions.items():
        first: dict[str, int] = {}
        for seq, revision in sorted(revisions.items()):
            if first.setdefault(revision.transaction, seq) != seq:
                path = f"{place(scope.scope)}/revisions/{branch_id}/{seq:08d}"
                yield Violation(
                    "V-10", "second-effect", path, "its transaction has a revision already", "one"
                )


def _successors(snapshot: Snapshot) -> Iterator[Violation]:
    """A successor that an outcome names is there, and is the very one that its decision gives (rule 10)."""
    for scope in snapshot.scopes.values():
        for name, ended in scope.outcomes.items():
            if not isinstance(ended, Outcome) or ended.successor is None:
                continue
            path = f"{place(scope.scope)}/outcomes/{name}"
            following = ended.successor
            if following not in snapshot.jobs and following not in scope.outcomes:
                if not unread_at(snapshot, f"spool/jobs/{following}"):
                    yield Violation("V-11", "order", path, "its successor is missing", "successor first")
                continue
            decision = snapshot.decisions.get(name)
            if decision is None:
                continue
            stale = decision.kind == "elected"
            derived = stale_successor(decision.job) if stale else successor(decision.job, stale=False)
            standing = snapshot.jobs.get(following, derived)
            if derived is None or derived.job_id != following or standing != derived:
                yield Violation("V-11", "derived", path, "another successor", "the next generation")


def _attempts(snapshot: Snapshot) -> Iterator[Violation]:
    """An attempt's records form a legal state, and say what its id says (A-01)."""
    for attempt in snapshot.attempts:
        if attempt.damaged is not None or day_of(attempt.attempt_id) in snapshot.totals:
            continue  # of a closed day any part may be left or have come late
        path = f"attempts/{day_of(attempt.attempt_id)}/{attempt.attempt_id}"
        fault = _attempt_fault(attempt)
        if fault is not None:
            yield Violation("V-12", "attempt", path, fault, "a legal attempt")


def _attempt_fault(attempt: Attempt) -> str | None:
    reserved, fate = attempt.reserved, attempt.fate
    if reserved is None:
        return "records without a reservation"
    if attempt.attempt_id != attempt_id(reserved.day, reserved.job_id, reserved.number):
        return "a reservation of another attempt"
    named = [record.attempt_id for record in (fate, attempt.result, attempt.reconciled) if record is not None]
    if any(name != attempt.attempt_id for name in named):
        return "a record of another attempt"
    sent = fate is not None and fate.fate == "dispatched"
    if (attempt.result is not None or attempt.unknown) and not sent:
        return "a result or loss of a call that was never dispatched"
    if attempt.result is not None and attempt.result.job_id != reserved.job_id:
        return "a result for another job"
    if attempt.reconciled is not None and not sent:
        return "reconciled though nothing was sent"
    return None


def _turns(snapshot: Snapshot) -> Iterator[Violation]:
    """An outcome, or its tombstone, keeps the turns its job covers (rule 8)."""
    for scope in snapshot.scopes.values():
        for name, ended in scope.outcomes.items():
            job = snapshot.jobs.get(name)
            if job is not None and (
                ended.turns != turn_ids(job) or ended.evidence_digest != job.evidence_digest
            ):
                path = f"{place(scope.scope)}/outcomes/{name}"
                yield Violation("V-14", "coverage", path, "other turns than the job's", "the job's turns")


def _chains(snapshot: Snapshot) -> Iterator[Violation]:
    """A branch is what its revisions, one after another, make of an empty one (M-04, D-06)."""
    for scope in snapshot.scopes.values():
        yield from check_chain(scope, place(scope.scope), _unread_paths(snapshot))


def _forgotten(snapshot: Snapshot) -> Iterator[Violation]:
    """A review never brings back what was forgotten before it (M-12)."""
    for scope in snapshot.scopes.values():
        for buried in scope.buried:
            branch = scope.branches[buried.branch_id]
            entry = next(entry for entry in branch.entries if entry.entry_id == buried.entry_id)
            if entry.origin == "review" and entry.updated_ms > buried.forgotten_ms:
                path = f"{place(scope.scope)}/branches/{branch.branch_id}"
                yield Violation("V-15", "forgotten", path, f"entry {entry.entry_id} is back", "its absence")


def _totals(snapshot: Snapshot) -> Iterator[Violation]:
    """The totals of a closed day count every call of theirs whose records still stand (B-03, rule 12)."""
    attempts = {attempt.attempt_id: attempt for attempt in snapshot.attempts}
    for day, totals in snapshot.totals.items():
        counted = {row.provider: row.calls for row in totals.providers}
        standing: Counter[str] = Counter()
        for attempt in (attempts[name] for name in totals.removing if name in attempts):
            if attempt.reserved is not None and attempt.fate is not None and attempt.state != "cancelled":
                standing[attempt.reserved.provider] += attempt.reserved.calls
        for provider, calls in standing.items():
            if calls > counted.get(provider, 0):
                found = f"{counted.get(provider, 0)} calls of {provider}"
                yield Violation("V-17", "totals", f"budgets/{day}", found, f"at least {calls}")


def _open_jobs(snapshot: Snapshot) -> Iterator[Violation]:
    """Every accepted job has its outcome, and every outcome its event."""
    for name in sorted({*snapshot.jobs, *snapshot.decisions}):
        scope = snapshot.scopes.get(lane_of(name).project)
        ended = scope.outcomes.get(name) if scope is not None else None
        if ended is None:
            yield Violation("R-01", "open-job", f"spool/jobs/{name}", "no outcome", "an outcome")
        elif scope is not None and isinstance(ended, Outcome) and name not in scope.events:
            yield Violation(
                "R-01", "no-event", f"{place(scope.scope)}/mailbox/{name}", "no event", "an event"
            )


def _open_intents(snapshot: Snapshot) -> Iterator[Violation]:
    """Every begun transaction is finished and compacted."""
    for scope in snapshot.scopes.values():
        for name, intent in scope.intents.items():
            if isinstance(intent, Intent):
                path = f"{place(scope.scope)}/admissions/{name}"
                yield Violation("R-02", "open-intent", path, "a full intent", "its tombstone, or nothing")


def _open_attempts(snapshot: Snapshot) -> Iterator[Violation]:
    """No attempt is open."""
    for attempt in snapshot.attempts:
        if attempt.open and attempt.damaged is None:
            path = f"attempts/{day_of(attempt.attempt_id)}/{attempt.attempt_id}"
            yield Violation("R-03", "open-attempt", path, attempt.state, "settled, unknown or cancelled")


Rule = Callable[[Snapshot], Iterator[Violation]]

INVARIANTS: Mapping[str, Rule] = {
    "V-01": _readable,
    "V-02": _names,
    "V-03": _identities,
    "V-04": _elections,
    "V-05": admissions.intents,
    "V-06": admissions.completions,
    "V-07": admissions.receipts,
    "V-08": admissions.outcomes,
    "V-09": admissions.events,
    "V-10": _effects,
    "V-11": _successors,
    "V-12": _attempts,
    "V-13": _chains,
    "V-14": _turns,
    "V-15": _forgotten,
    "V-16": admissions.premature,
    "V-17": _totals,
    "V-18": mailbox,
    "V-20": structural.removals,
    "V-21": structural.moves,
    "V-22": structural.choices,
}
"""Safety: hold in every state that a crash can leave."""

REST: Mapping[str, Rule] = {
    "R-01": _open_jobs,
    "R-02": _open_intents,
    "R-03": _open_attempts,
    "R-04": structural.open_moves,
}
"""Hold when nothing is left to do."""


def rule_text(invariant: str) -> str:
    """The rule in words."""
    rule = INVARIANTS.get(invariant) or REST[invariant]
    return (rule.__doc__ or "").strip()


def _unread_paths(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(unread.path for unread in snapshot.unread)
