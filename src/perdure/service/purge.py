"""Forget everywhere: a text leaves memory, history, evidence, checkpoints and mailbox (M-12, rule 13).

Tombstones come first, then the branches, then everything else that holds the text. What is done stands in a
plan of ids alone, written before it is done, so that whoever runs it again finishes it without the text.
Passes follow one another until a whole look at the home finds nothing and nobody lives who might still write
the text again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from perdure.core.attempt import Attempt
from perdure.core.decision import DecisionKind
from perdure.core.job import lane_of
from perdure.core.memory import Branch, Entry, Remove, plan
from perdure.core.protocol import Decide
from perdure.core.text import normalize_key
from perdure.errors import Damaged, NewerVersion, NotFound, Refused, UsageError
from perdure.ports.attempts import Attempts
from perdure.ports.claims import Claims
from perdure.ports.clock import Clock, Ids
from perdure.ports.erase import Erase, Place, PurgePlan
from perdure.ports.memory import HeldMemory, Memory, Tombstone
from perdure.ports.queue import Queue
from perdure.service.needle import CHARS_MIN, Needle
from perdure.service.publish import Log, Publisher
from perdure.service.remember import find_one
from perdure.service.retention import Retention
from perdure.service.transact import commit, locked

WAIT_SECONDS = 10.0
REVISIONS_BATCH = 16
"""Revisions that are redacted under one hold of the lock: foreground writes must not wait for long."""
PAUSE_SECONDS = 0.2

Expire = Callable[[str, tuple[str, ...]], int]
_T = TypeVar("_T")


class Purged(msgspec.Struct):
    """What was taken away, as counts and ids. `dropped` are jobs that were open.

    `left` says what still holds the text, and why; `elsewhere` names other scopes that hold it and were left
    alone.
    """

    entries: list[str] = msgspec.field(default_factory=list)
    revisions: int = 0
    jobs: list[str] = msgspec.field(default_factory=list)
    dropped: list[str] = msgspec.field(default_factory=list)
    results: int = 0
    copies: int = 0
    left: list[str] = msgspec.field(default_factory=list)
    elsewhere: tuple[str, ...] = ()


class PurgeService:
    """Forget everywhere, in one scope."""

    def __init__(
        self,
        *,
        erase: Erase,
        queue: Queue,
        attempts: Attempts,
        memory: Memory,
        claims: Claims,
        clock: Clock,
        ids: Ids,
        retention: Retention,
        log: Log = lambda *_: None,
    ) -> None:
        self._erase, self._queue, self._attempts, self._memory = erase, queue, attempts, memory
        self._claims, self._clock, self._ids, self._log = claims, clock, ids, log
        self._expire: Expire = retention.expire
        self._publisher = Publisher(queue=queue, attempts=attempts, memory=memory, clock=clock, log=log)

    def forget_everywhere(
        self,
        scope: str,
        which: str | None = None,
        *,
        text: str | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> Purged:
        """Purge an entry's text (found on any branch as by `forget`), or any text.

        An earlier purge that was cut short is finished first. Waits at most `wait_seconds` for calls in
        flight, and says what is left then. Raises NotFound, Ambiguous, UsageError.
        """
        done = Purged()
        finished = self._resume(scope, done)
        if (which is None) == (text is None):
            msg = "name either an entry or a text."
            raise UsageError(msg)
        try:
            needle = Needle(text if text is not None else self._entry(scope, which or "").text)
        except NotFound:
            if not finished:
                raise
            return done
        if len(needle.folded) < CHARS_MIN:
            msg = f"a text of fewer than {CHARS_MIN} characters would be found almost everywhere."
            raise Refused(msg, advice="Name the entry by its id, and purge a longer text.")
        done.left.clear()  # what was left of an earlier purge may have ended while this one waited
        self._sweep(scope, needle, done, wait_seconds)
        self._resume(scope, done)
        done.left = list(dict.fromkeys(done.left))
        done.elsewhere = self._erase.other_scopes(scope, needle.in_bytes)
        return done

    def resume(self, scope: str) -> Purged:
        """Finish purges that were cut short."""
        done = Purged()
        self._resume(scope, done)
        return done

    # -- passes

    def _sweep(self, scope: str, needle: Needle, done: Purged, wait_seconds: float) -> None:
        purge = PurgePlan(
            plan_id=self._ids.token(32),
            scope=scope,
            entries=(),
            revisions=(),
            jobs=(),
            results=(),
            copies=(),
            begun_ms=self._clock.now_ms(),
        )
        until = self._clock.boot_seconds() + wait_seconds
        before: list[str] = []
        shown = True
        while True:
            purge = self._planned(scope, needle, purge)
            with locked(self._memory, scope) as held_scope:
                found = _entries(self._branches(held_scope, scope), needle)
                self._bury(held_scope, found.values(), needle.folded)
                purge = self._clear_branches(held_scope, purge, frozenset(found), done)
            if shown or found:
                purge = self._halt(purge)
            shown = False
            self._carry_out(purge, done)
            flying = self._in_flight(purge)  # before the look: a result that comes after it is one of these
            held = [place.path for place in self._erase.places(scope, needle.in_bytes)]
            if (not flying and held in ([], before)) or self._clock.boot_seconds() >= until:
                break
            before = held
            self._clock.sleep(PAUSE_SECONDS if flying else 0)
        done.left += held
        self._conclude(purge, flying, done)

    def _resume(self, scope: str, done: Purged) -> bool:
        """What stands in a plan is done again; doing it twice changes nothing."""
        plans = self._erase.plans(scope)
        for begun in plans:
            with locked(self._memory, scope) as held:
                entries = [entry for branch in self._branches(held, scope) for entry in branch.entries]
                self._bury(held, (entry for entry in entries if entry.entry_id in begun.entries))
                purge = self._clear_branches(held, begun, frozenset(begun.entries), done)
            flying = self._in_flight(purge)
            self._carry_out(purge, done)
            self._conclude(purge, flying, done)
        return bool(plans)

    def _conclude(self, purge: PurgePlan, flying: list[str], done: Purged) -> None:
        """The plan goes when no result of its jobs can come any more."""
        done.left += [
            f"{attempt}: its call is in flight; purge again when it has ended" for attempt in flying
        ]
        self._erase.settle(purge.scope)
        if not flying:
            self._erase.drop_plan(purge)

    def _planned(self, scope: str, needle: Needle, purge: PurgePlan) -> PurgePlan:
        """The plan with all that holds the text now, durable before any of it is touched."""
        found = self._read(scope, lambda branch_id: self._memory.branch(scope, branch_id))
        entries = _entries(found, needle)
        purge = msgspec.structs.replace(purge, entries=_union(purge.entries, sorted(entries)))
        purge = _extended(purge, self._erase.places(scope, needle.in_bytes))
        self._erase.put_plan(purge)
        return purge

    def _bury(self, held: HeldMemory, entries: Iterable[Entry], text: str | None = None) -> None:
        now_ms = self._clock.now_ms()
        stones = [Tombstone("text", text, now_ms)] if text is not None else []
        for entry in entries:
            stones += [Tombstone("text", entry.text, now_ms), Tombstone("entry", entry.entry_id, now_ms)]
            if entry.key is not None:
                stones.append(Tombstone("key", normalize_key(entry.key), now_ms))
        held.bury(tuple(stones))

    def _clear_branches(
        self, held: HeldMemory, purge: PurgePlan, entry_ids: frozenset[str], done: Purged
    ) -> PurgePlan:
        """Take the entries off every branch, each as a journalled change (D-10).

        The revisions that this makes hold the text once more: they stand in the plan before they are made.
        """
        holders = [
            branch
            for branch in self._branches(held, purge.scope)
            if any(entry.entry_id in entry_ids for entry in branch.entries)
        ]
        if not holders:
            return purge
        purge = msgspec.structs.replace(
            purge,
            entries=_union(purge.entries, sorted(entry_ids)),
            revisions=_union(purge.revisions, ((branch.branch_id, branch.seq + 1) for branch in holders)),
        )
        self._erase.put_plan(purge)
        for branch in holders:
            edits = tuple(Remove(e.entry_id) for e in branch.entries if e.entry_id in entry_ids)
            now_ms = self._clock.now_ms()
            planned = plan(branch, edits, now_ms=now_ms)
            commit(
                held,
                transaction=self._ids.token(32),
                cause="forget",
                base=branch,
                after=planned.branch,
                changes=planned.changes,
                now_ms=now_ms,
            )
            done.entries += [edit.entry_id for edit in edits]
        return purge

    def _carry_out(self, purge: PurgePlan, done: Purged) -> None:
        """Everything that a plan names; a damaged record is passed over, and found again by the next look."""
        for begin in range(0, len(purge.revisions), REVISIONS_BATCH):
            with locked(self._memory, purge.scope):
                for branch_id, seq in purge.revisions[begin : begin + REVISIONS_BATCH]:
                    with contextlib.suppress(Damaged, NewerVersion):
                        done.revisions += self._erase.redact_revision(purge.scope, branch_id, seq)
        self._erase.remove_exposures(purge.scope)
        ended = tuple(job_id for job_id in purge.jobs if self._end(job_id, "dropped", done))
        if ended:
            self._expire(purge.scope, ended)
            done.jobs += [job_id for job_id in ended if job_id not in done.jobs]
        owners = {a.attempt_id: a.reserved.job_id for a in self._attempts.all() if a.reserved is not None}
        for attempt in purge.results:
            if attempt in owners and not self._end(owners[attempt], "superseded", done):
                continue
            with contextlib.suppress(Damaged, NewerVersion):
                done.results += self._erase.redact_result(attempt)
        done.copies += self._erase.remove_copies(purge.copies)
        self._log("purged", purge.plan_id, f"{done.revisions} revisions, {len(done.jobs)} jobs")

    # -- jobs

    def _halt(self, purge: PurgePlan) -> PurgePlan:
        """Note the reviews under way, which may show what has just left memory; those not sent are cancelled.

        Whatever is reserved later reads the branch again before it is sent, and shows nothing of it.
        """
        under_way = tuple(attempt for attempt in self._open() if _scope(attempt) == purge.scope)
        self._publisher.cancel_unsent(under_way, "purged")
        noted = {attempt.attempt_id for attempt in under_way}
        sent = [attempt.attempt_id for attempt in self._open() if attempt.attempt_id in noted]
        purge = msgspec.structs.replace(purge, results=_union(purge.results, sent))
        self._erase.put_plan(purge)
        return purge

    def _end(self, job_id: str, kind: DecisionKind, done: Purged) -> bool:
        """Close a job, an open one by dropping it or, when another's text came into its review, by reviewing
        its evidence again. False when a damaged record prevents it.
        """
        try:
            if self._queue.outcome(job_id) is not None:
                return True
            decision = self._queue.decision(job_id)
            if decision is None:
                job = self._queue.job(job_id)
                if job is None:
                    return kind == "superseded"
                made = self._attempts.of_job(job_id)
                decision = self._publisher.decide(job, Decide(kind, "purged", None), made)
                self._publisher.cancel_unsent(made, "purged")
            if decision.kind == "dropped":
                done.dropped.append(job_id)
            return self._publisher.finish(job_id, self._claims) is not None
        except (Damaged, NewerVersion):
            return False

    def _in_flight(self, purge: PurgePlan) -> list[str]:
        """Calls whose owners live: their results may still come, with text in them."""
        return [
            attempt.attempt_id
            for attempt in self._open()
            if attempt.attempt_id in purge.results
            or (attempt.reserved is not None and attempt.reserved.job_id in purge.jobs)
        ]

    def _open(self) -> list[Attempt]:
        """The attempts that an owner who lives may still act on."""
        return [
            attempt
            for attempt in self._attempts.all()
            if attempt.open
            and attempt.reserved is not None
            and not self._claims.gone(attempt.reserved.worker)
        ]

    # -- branches

    def _branches(self, held: HeldMemory, scope: str) -> list[Branch]:
        return self._read(scope, held.branch)

    def _read(self, scope: str, read: Callable[[str], Branch | None]) -> list[Branch]:
        """The branches that can be read; one that cannot is left, and named, when its file holds the text."""
        found: list[Branch | None] = []
        for row in self._memory.branches(scope):
            with contextlib.suppress(Damaged, NewerVersion):
                found.append(read(row.branch_id))
        return [branch for branch in found if branch is not None]

    def _entry(self, scope: str, which: str) -> Entry:
        """The entry on whatever branch has it, the branch in use first."""
        rows = sorted(self._memory.branches(scope), key=lambda row: row.name != self._memory.selected(scope))
        missing: NotFound | None = None
        for row in rows:
            try:
                branch = self._memory.branch(scope, row.branch_id)
                if branch is not None:
                    return find_one(which, branch)
            except NotFound as error:
                missing = missing or error
            except (Damaged, NewerVersion):
                continue
        raise missing or NotFound(f"no entry has the id, key or text {which!r}.")


def _entries(branches: Iterable[Branch], needle: Needle) -> dict[str, Entry]:
    """The entries that hold the text, in their own text or in their key."""
    return {
        entry.entry_id: entry
        for branch in branches
        for entry in branch.entries
        if needle.in_text(entry.text) or (entry.key is not None and needle.in_text(entry.key))
    }


def _extended(purge: PurgePlan, places: tuple[Place, ...]) -> PurgePlan:
    """The plan with everything that was found."""
    return msgspec.structs.replace(
        purge,
        revisions=_union(purge.revisions, ((p.name, p.seq) for p in places if p.kind == "revision")),
        jobs=_union(purge.jobs, (place.name for place in places if place.kind == "job")),
        results=_union(purge.results, (place.name for place in places if place.kind == "result")),
        copies=_union(purge.copies, (place.path for place in places if place.kind == "copy")),
    )


def _scope(attempt: Attempt) -> str:
    return lane_of(attempt.reserved.job_id).project if attempt.reserved is not None else ""


def _union(known: tuple[_T, ...], more: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys((*known, *more)))
