"""Every step that any process of the world can take from a state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from perdure.core.admission import Intent, Outcome, Receipt, Revision, event
from perdure.core.attempt import Attempt, Reconciled, Unknown
from perdure.core.decision import Decision
from perdure.core.job import successor
from perdure.core.judge import judge
from perdure.core.protocol import (
    Admit,
    Announce,
    Begin,
    Cancel,
    Close,
    Continue,
    Decide,
    Dispatch,
    Lose,
    Rest,
    Verdict,
    Wait,
)
from perdure.core.record import record_digest
from perdure.service.publish import make_decision
from tests.model.calls import Calls, clock, number_of
from tests.model.world import (
    NOW_MS,
    Bounds,
    Left,
    Move,
    Records,
    State,
    Violation,
    Worker,
    day_name,
    first_job,
)


class Moves(Calls):
    """The world with its steps."""

    def start(self) -> State:
        """One accepted job, idle workers."""
        job = first_job(observe=self.bounds.observe)
        records: Records = frozenset({(f"job/{job.job_id}", self.number(job))})
        bounds: Bounds = self.bounds
        workers = tuple(Worker(f"{letter}0", "idle", ()) for letter in "ab"[: bounds.workers])
        left = Left(*(getattr(bounds, field) for field in Left._fields))
        return State(records, workers, ("idle", ""), ("", True, 0), "", frozenset(), (), 0, left)

    def moves(self, state: State) -> Iterator[Move]:
        """All steps from here, to states without names that mean nothing any more."""
        for move in self._moves(state):
            yield move._replace(state=self._tidied(move.state)) if move.state.gone else move

    def _tidied(self, state: State) -> State:
        """Forget the dead whom neither an attempt, the lane nor a worker names: nobody can ask for them."""
        named = {state.lane[0], *(worker.name for worker in state.workers), *self._owners(state.records)}
        return state if state.gone <= named else state._replace(gone=state.gone & named)

    def _owners(self, records: Records) -> frozenset[str]:
        key = ("owners", records)
        if key not in self.cache:
            made = (attempt.reserved for attempt in self.attempts(records, ""))
            self.cache[key] = frozenset(reserved.worker for reserved in made if reserved is not None)
        found = self.cache[key]
        assert isinstance(found, frozenset)
        return found

    def _moves(self, state: State) -> Iterator[Move]:
        alone = self.alone(state)
        if alone is not None:
            yield alone
            return
        for place, worker in enumerate(state.workers):
            yield from self._worker_moves(state, place, worker)
            if worker.at != "idle" and state.left.crashes:
                yield self._crash(state, place, worker)
            if worker.at != "idle" and worker.name not in state.gone and state.left.evictions:
                left = state.left._replace(evictions=state.left.evictions - 1)
                gone = state.gone | {worker.name}
                yield Move(
                    f"{worker.name} is held for dead", state._replace(gone=gone, left=left), fault=True
                )
        yield from self.writer_moves(state)
        yield from self._user_moves(state)
        today = day_name(state.day)
        if self.bounds.midnights and any(a.attempt_id[:8] == today for a in self.attempts(state.records, "")):
            yield Move("midnight", state._replace(day=state.day + 1))

    # -- partial order

    def alone(self, state: State) -> Move | None:
        """A step that may as well be taken at once, before anything else happens.

        It changes no record and reads nothing that others can change meanwhile: a record that stands there
        already is published again, or somebody plans or leaves under the project's lock. It commutes with
        every other step, and a death before it comes to the same as one after it. Where a state has such a
        step, walking on with it alone keeps every set of records and every way to an end.
        """
        for place, worker in enumerate(state.workers):
            if self._changes_nothing(state, worker):
                return next(self._worker_moves(state, place, worker))
        at, what = state.writer
        if at == "in" and not self.open_transactions(state.records):
            return self.writer_step(state, at, what)
        return None

    def _changes_nothing(self, state: State, worker: Worker) -> bool:
        names, what = self.names(state.records), worker.what
        match worker.at:
            case "derive":
                return names.get(str(what[0])) == what[1]
            case "elect":
                return f"decision/{what[0]}" in names
            case "announce":
                ended = self.record(number_of(what[0]))
                return isinstance(ended, Outcome) and f"event/{ended.job_id}" in names
            case "cancel":
                return f"fate/{what[0]}" in names
            case "dispatch":
                return f"fate/{what[1]}" in names
            case "locked":
                intent = self.get(state.records, f"intent/{what[0]}", Intent)
                return intent is None and not self.begun(state.records)
            case _:
                return False

    # -- workers

    def _worker_moves(self, state: State, place: int, worker: Worker) -> Iterator[Move]:
        if worker.at == "idle":
            yield from self._claim(state, place, worker)
        elif worker.at == "claimed":
            yield self._read(state, place, worker)
        elif worker.at == "half":
            yield self._read_rest(state, place, worker)
        elif worker.at == "sent":
            yield from self.replies(state, place, worker)
        elif worker.at == "locked":
            yield self._locked(state, place, worker)
        elif worker.at == "judged":
            job, intent = str(worker.what[0]), number_of(worker.what[1])
            records = self.elect(state.records, f"intent/{job}", intent)[0]
            inside = worker._replace(at="locked", what=(job,))
            yield Move(f"{worker.name} begins", self.put(state, place, inside, records))
        elif worker.at != "admit" or self.free(state):
            yield self._act(state, place, worker)

    def _claim(self, state: State, place: int, worker: Worker) -> Iterator[Move]:
        """Claim the lane. A claim is a higher one wherever the one before was not released: only then can
        records of its owner be met. Before anything was done the workers are alike, and the first begins.
        """
        if not self.open_jobs(state.records) or (place and self._untouched(state)):
            return
        owner, released, ordinal = state.lane
        free = released or owner in state.gone
        if not free and not state.left.takeovers:
            return
        left = state.left if free else state.left._replace(takeovers=state.left.takeovers - 1)
        higher = max(ordinal, 1) if released else ordinal + 1
        mine = self._named(state, worker)._replace(at="claimed", ordinal=higher)
        after = state._replace(lane=(mine.name, False, higher), left=left)
        yield Move(f"{mine.name} claims", self.put(after, place, mine), fault=not free)

    def _untouched(self, state: State) -> bool:
        """Whether no worker has left a trace."""
        idle = all(worker.at == "idle" and worker.name.endswith("0") for worker in state.workers)
        return idle and state.lane == ("", True, 0) and not self._owners(state.records)

    def _named(self, state: State, worker: Worker) -> Worker:
        """A worker that others hold for dead registers under a new name before it claims again."""
        if worker.name not in state.gone:
            return worker
        taken = state.gone | self._owners(state.records)
        names = (f"{worker.name[0]}{number}" for number in itertools.count())
        return worker._replace(name=next(name for name in names if name not in taken))

    def _read(self, state: State, place: int, worker: Worker) -> Move:
        ready = self.open_jobs(state.records)
        if not ready:
            return self.release(state, place, worker)
        job = ready[0]
        if self.bounds.torn_reads:
            half = frozenset(p for p in state.records if p[0] in {f"decision/{job}", f"receipt/{job}"})
            reading = worker._replace(at="half", what=(job, half))
            return Move(f"{worker.name} reads the right half", self.put(state, place, reading))
        return self._plan(state, place, worker, job, state.records)

    def _read_rest(self, state: State, place: int, worker: Worker) -> Move:
        job, half = worker.what
        assert isinstance(job, str)
        assert isinstance(half, frozenset)
        return self._plan(state, place, worker, job, half)

    def _plan(self, state: State, place: int, worker: Worker, job: str, half: Records) -> Move:
        owners = frozenset(
            a.reserved.worker for a in self.attempts(state.records, job) if a.reserved is not None
        )
        ordinal = worker.ordinal
        key = ("plan", state.records, owners & state.gone, job, half, worker.name, ordinal)
        planned = self.cache.get(key)
        if planned is None:
            facts = self.facts(state.records, state.gone, job, half)
            planned = self.cache[key] = self._planned(
                self.verdict(facts, worker.name, ordinal), facts.attempts, worker, job
            )
        assert isinstance(planned, tuple)
        if planned[0] == "release":
            return self.release(state, place, worker)
        reading = worker._replace(at=planned[0], what=planned[1:])
        return Move(f"{worker.name} will {planned[0]}", self.put(state, place, reading))

    def _planned(
        self, verdict: Verdict, attempts: tuple[Attempt, ...], worker: Worker, job: str
    ) -> tuple[object, ...]:
        """What a verdict comes to, as a small value: equal plans make equal states."""
        match verdict:
            case Rest() | Wait():
                return ("release",)
            case Admit():
                return ("admit", job)
            case Decide():
                made = make_decision(self.known[job], verdict, attempts, now_ms=clock(worker.name))
                return ("elect", job, self.number(made))
            case Begin():
                return ("begin", job, verdict.number)
            case Dispatch():
                return ("check", job, verdict.attempt.attempt_id)
            case Cancel():
                return ("cancel", verdict.attempt_id)
            case _:
                return self._planned_record(verdict, job)

    def _planned_record(self, verdict: Verdict, job: str) -> tuple[object, ...]:
        match verdict:
            case Announce():
                return ("announce", self.number(verdict.outcome))
            case Close():
                return ("derive", f"outcome/{job}", self.number(verdict.outcome))
            case Continue():
                return ("derive", f"job/{verdict.job.job_id}", self.number(verdict.job))
            case Lose():
                name = verdict.attempt_id
                return ("derive", f"unknown/{name}", self.number(Unknown(attempt_id=name)))
            case _:
                raise Violation(f"a job was stopped: {verdict}")

    def _act(self, state: State, place: int, worker: Worker) -> Move:
        match worker.at:
            case "begin":
                return self.begin(state, place, worker)
            case "reserve":
                return self.reserve(state, place, worker)
            case "check":
                return self.check(state, place, worker)
            case "dispatch" | "send":
                return self.send(state, place, worker)
            case "admit":
                inside = worker._replace(at="locked")
                after = self.put(state._replace(lock=worker.name), place, inside)
                return Move(f"{worker.name} locks to admit", after)
            case _:
                return self._publish(state, place, worker)

    def _publish(self, state: State, place: int, worker: Worker) -> Move:
        what, records = worker.what, state.records
        match worker.at:
            case "derive":
                records = self.derive(records, str(what[0]), number_of(what[1]))
            case "elect":
                records, _ = self.elect_decision(records, str(what[0]), number_of(what[1]))
            case "announce":
                records = self._announce(records, number_of(what[0]))
            case _:
                records = self.elect_fate(records, str(what[0]), "cancelled", worker.name)[0]
        again = worker._replace(at="claimed", what=())
        shown = f"{worker.name} does {worker.at} {str(what[0])[:12]}"
        return Move(shown, self.put(state, place, again, records))

    def _announce(self, records: Records, number: int) -> Records:
        ended = self.record(number)
        assert isinstance(ended, Outcome)
        receipt = self.get(records, f"receipt/{ended.job_id}", Receipt)
        revision = None
        if receipt is not None and receipt.revision_seq is not None:
            revision = self.get(records, f"revision/{receipt.revision_seq:08d}", Revision)
        return self.derive(records, f"event/{ended.job_id}", self.number(event(ended, revision)))

    # -- admission

    def _locked(self, state: State, place: int, worker: Worker) -> Move:
        """One durable step under the project's lock."""
        job, records = str(worker.what[0]), state.records
        open_ones = self.begun(records)
        out = worker._replace(at="claimed", what=())
        if open_ones:
            records, _ = self.roll(records, open_ones[0])
            return Move(f"{worker.name} rolls forward", self.put(state, place, worker, records))
        names = self.names(records)
        if f"outcome/{job}" not in names and f"intent/{job}" not in names:
            judged = worker._replace(at="judged", what=(job, self._judged(records, worker, job)))
            return Move(f"{worker.name} judges", self.put(state, place, judged))
        if f"outcome/{job}" not in names:
            self._check_intent(records, job)
            records, _ = self.roll(records, job)
        return Move(f"{worker.name} unlocks", self.put(state._replace(lock=""), place, out, records))

    def _judged(self, records: Records, worker: Worker, job: str) -> int:
        decision = self.get(records, f"decision/{job}", Decision)
        branch = self.branch(records)
        key = (
            "judge",
            self.names(records).get("branch"),
            self.names(records)[f"decision/{job}"],
            worker.name,
        )
        if key not in self.cache:
            assert decision is not None
            intent = judge(decision, branch, forgotten=lambda *_: False, now_ms=clock(worker.name))
            self.cache[key] = self.number(intent)
        return number_of(self.cache[key])

    def _check_intent(self, records: Records, job: str) -> None:
        intent = self.record(self.names(records)[f"intent/{job}"])
        decision = self.get(records, f"decision/{job}", Decision)
        if decision is None or getattr(intent, "decision_digest", None) != record_digest(decision):
            raise Violation("an intent stands for another decision")

    # -- the user

    def _user_moves(self, state: State) -> Iterator[Move]:
        names = self.names(state.records)
        for job in self.jobs(state.records):
            if f"decision/{job}" not in names:
                yield from self._user_ends(state, job)
            ended = self.get(state.records, f"outcome/{job}", Outcome)
            if ended is not None and ended.state == "dead-lettered" and state.left.retries:
                following = successor(self.known[job], stale=False)
                left = state.left._replace(retries=state.left.retries - 1)
                records = self.accept(state.records, following)
                yield Move("the user retries", state._replace(records=records, left=left), fault=True)
        if self.bounds.calls_per_day is None:
            return
        for attempt in self.attempts(state.records, ""):
            reserved = attempt.reserved
            if attempt.state == "unknown" and reserved is not None and reserved.worker in state.gone:
                word = Reconciled(
                    attempt_id=attempt.attempt_id, reason="asked", usage=reserved.hold, reconciled_ms=1
                )
                records = self.derive(state.records, f"reconciled/{attempt.attempt_id}", self.number(word))
                yield Move("the user reconciles", state._replace(records=records))

    def _user_ends(self, state: State, job: str) -> Iterator[Move]:
        for kind, reason in (("dropped", "user"), ("superseded", "user")):
            field = "drops" if kind == "dropped" else "supersedes"
            left: int = getattr(state.left, field)
            if not left:
                continue
            verdict = Decide("dropped" if kind == "dropped" else "superseded", reason, None)
            made = make_decision(
                self.known[job], verdict, self.attempts(state.records, job), now_ms=NOW_MS + 9
            )
            records, _ = self.elect_decision(state.records, job, self.number(made))
            fewer = state.left._replace(**{field: left - 1})
            yield Move(f"the user: {kind}", state._replace(records=records, left=fewer), fault=True)

    def _crash(self, state: State, place: int, worker: Worker) -> Move:
        left = state.left._replace(crashes=state.left.crashes - 1)
        gone = state.gone | {worker.name}
        lock = "" if state.lock == worker.name else state.lock
        fresh = self._named(state._replace(gone=gone), worker)._replace(at="idle", what=(), ordinal=0)
        after = state._replace(gone=gone, lock=lock, left=left)
        return Move(f"{worker.name} dies at {worker.at}", self.put(after, place, fresh), fault=True)
