"""Attempts in the world: reserving, sending, and what the provider answers."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.core import budget
from perdure.core.attempt import Fate, Reserved, Unknown, Usage, attempt_id
from perdure.core.canonical import digest
from perdure.ports import provider as calls
from perdure.service.curate import make_request, make_result
from tests.model.foreground import Foreground
from tests.model.world import NOW_MS, Move, Records, State, Worker, day_name

HOLD = Usage(6, 4, 10)
SPENT = calls.Usage(4, 3, 7)
_ANSWERS = {
    "nothing": '{"operations":[]}',
    "invalid": "I would remember that.",
}


class Calls(Foreground):
    """The world with attempts."""

    def holds(self, state: State, worker: Worker) -> bool:
        """Whether the worker's claim is the highest and nobody holds it for dead."""
        return state.lane == (worker.name, False, worker.ordinal) and worker.name not in state.gone

    def elect_fate(self, records: Records, name: str, fate: str, worker: str) -> tuple[Records, bool]:
        """Elect dispatched or cancelled under the one name."""
        made = Fate(attempt_id=name, fate="dispatched", worker=worker, reason="")
        if fate == "cancelled":
            made = Fate(attempt_id=name, fate="cancelled", worker="", reason="")
        return self.elect(records, self.fate_path(name, fate, records), self.number(made))

    def begin(self, state: State, place: int, worker: Worker) -> Move:
        """Read the branch that the request will show, with the claim still current."""
        if not self.holds(state, worker):
            return self.release(state, place, worker)
        base = self.branch(state.records).digest
        after = worker._replace(at="reserve", what=(*worker.what, base, state.day))
        return Move(f"{worker.name} reads the branch", self.put(state, place, after))

    def reserve(self, state: State, place: int, worker: Worker) -> Move:
        """One step under the budget's lock: orphans are settled, then the hold is checked and published."""
        job, number, base = str(worker.what[0]), number_of(worker.what[1]), str(worker.what[2])
        day = number_of(worker.what[3])
        records = self._sweep(state)
        taken = [int(a.attempt_id[-4:]) for a in self.attempts(records, job)]
        again = worker._replace(at="claimed", what=())
        if not self.number_free(taken, number):
            return Move(f"{worker.name} finds it reserved", self.put(state, place, again, records))
        if not self.fits(records, day):
            return self.release(state._replace(records=records), place, worker)
        name = attempt_id(day_name(day), job, number)
        draft = Reserved(
            attempt_id=name,
            job_id=job,
            day=day_name(day),
            number=number,
            worker=worker.name,
            claim_ordinal=worker.ordinal,
            claim_token="",
            provider="model",
            model="m",
            prompt_version="1",
            prices="p",
            base_digest=base,
            request_digest=digest([name, base]),
            hold=HOLD,
            reserved_ms=0,
            calls=1,
        )
        records = self.derive(records, f"reserved/{name}", self.number(draft))
        return Move(f"{worker.name} reserves {number}", self.put(state, place, again, records))

    def number_free(self, taken: list[int], number: int) -> bool:
        """Whether the job has neither that attempt nor a later one."""
        return all(other < number for other in taken)

    def fits(self, records: Records, day: int) -> bool:
        """The product's budget check."""
        return budget.admit(self.charge(records, day), HOLD, self.limits) is None

    def _sweep(self, state: State) -> Records:
        records = state.records
        for attempt in self.attempts(records, ""):
            if attempt.open and attempt.reserved is not None and attempt.reserved.worker in state.gone:
                name = attempt.attempt_id
                if attempt.state == "dispatched":
                    records = self.derive(records, f"unknown/{name}", self.number(Unknown(attempt_id=name)))
                else:
                    records = self.elect_fate(records, name, "cancelled", "")[0]
        return records

    def check(self, state: State, place: int, worker: Worker) -> Move:
        """Look once more, before it costs anything, whether the call makes sense."""
        name = str(worker.what[1])
        reserved = self.get(state.records, f"reserved/{name}", Reserved)
        current = reserved is not None and reserved.base_digest == self.branch(state.records).digest
        current = current and f"decision/{worker.what[0]}" not in self.names(state.records)
        if current and self.holds(state, worker):
            after = worker._replace(at="dispatch")
            return Move(f"{worker.name} finds all current", self.put(state, place, after))
        after = worker._replace(at="cancel", what=(name,))
        return Move(f"{worker.name} finds it pointless", self.put(state, place, after))

    def send(self, state: State, place: int, worker: Worker) -> Move:
        """Elect dispatched; its creator alone sends."""
        name = str(worker.what[1])
        if worker.at == "send":
            sent = tuple(sorted((*state.sent, (name, worker.name))))
            waiting = worker._replace(at="sent")
            return Move(f"{worker.name} sends", self.put(state._replace(sent=sent), place, waiting))
        records, created = self.elect_fate(state.records, name, "dispatched", worker.name)
        after = worker._replace(at="send") if created else worker._replace(at="claimed", what=())
        return Move(f"{worker.name} dispatches", self.put(state, place, after, records))

    def replies(self, state: State, place: int, worker: Worker) -> Iterator[Move]:
        """All that may come back."""
        job, name = str(worker.what[0]), str(worker.what[1])
        closed = f"outcome/{job}" in self.names(state.records)
        again = worker._replace(at="claimed", what=())
        yield Move(
            f"{worker.name} gets a proposal",
            self.put(
                state,
                place,
                again,
                self._settled(state.records, worker, job, name, "proposal", closed=closed),
            ),
        )
        if not state.left.faults:
            return
        fewer = state._replace(left=state.left._replace(faults=state.left.faults - 1))
        for kind in self.bounds.replies:
            if kind == "lost":
                records = self.derive(state.records, f"unknown/{name}", self.number(Unknown(attempt_id=name)))
            else:
                records = self._settled(state.records, worker, job, name, kind, closed=closed)
            yield Move(f"{worker.name} gets {kind}", self.put(fewer, place, again, records), fault=True)

    def _settled(
        self, records: Records, worker: Worker, job_id: str, name: str, kind: str, *, closed: bool
    ) -> Records:
        """The result of one reply, made by the product."""
        reserved = self.get(records, f"reserved/{name}", Reserved)
        key = ("result", name, reserved.worker if reserved else "", kind, closed)
        if key not in self.cache:
            job, branch = self.known[job_id], self.branch(frozenset())
            request = make_request(job, branch, attempt=name, correction=None)
            made = make_result(
                job, branch, request, _reply(name, kind), closed=closed, now_ms=clock(worker.name)
            )
            self.cache[key] = self.number(made)
        return self.derive(records, f"result/{name}", number_of(self.cache[key]))

    # -- small steps

    def release(self, state: State, place: int, worker: Worker) -> Move:
        """Let the lane go, if it is still the worker's."""
        owner, _, ordinal = state.lane
        lane = ("", True, ordinal) if owner == worker.name else state.lane
        out = worker._replace(at="idle", what=(), ordinal=0)
        return Move(f"{worker.name} releases", self.put(state._replace(lane=lane), place, out))

    def put(self, state: State, place: int, worker: Worker, records: Records | None = None) -> State:
        """The state with this worker and these records."""
        workers = (*state.workers[:place], worker, *state.workers[place + 1 :])
        return state._replace(workers=workers, records=state.records if records is None else records)


def clock(name: str) -> int:
    """Every process has a clock of its own, so that no derived record can hide that it read one."""
    return NOW_MS + ord(name[0])


def number_of(value: object) -> int:
    """A record's number out of a plan."""
    assert isinstance(value, int)
    return value


def _reply(name: str, kind: str) -> calls.Answered | calls.Failed:
    if kind in {"availability", "permanent"}:
        failure: calls.FailureClass = "availability" if kind == "availability" else "permanent"
        return calls.Failed(failure, kind, calls.Usage(0, 0, 0), None)
    add = f'{{"operations":[{{"op":"add","text":"Fact {name}.","evidence":["e1"]}}]}}'
    return calls.Answered(_ANSWERS.get(kind, add), None if kind == "unreported" else SPENT, None)
