"""A reader meets retention: whatever is deleted between two reads, a closed job stays closed (rule 4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from perdure.authority.memory import Reference
from perdure.authority.memory_store import Store
from perdure.core.admission import completion, intent_tombstone, outcome, outcome_tombstone, receipt
from perdure.core.attempt import Attempt
from perdure.core.judge import judge
from perdure.core.memory import empty_main
from perdure.core.proposal import AddOp
from perdure.core.protocol import Announce, Policy, Rest, Verdict, next_step
from perdure.core.record import Record
from perdure.service.facts import read_facts
from tests.core_values import NOW_MS, PROJECT, Counting, Hand, decision, fate, job, reserved, result

JOB = job()
ELECTED = decision(JOB, AddOp(text="We use pnpm here.", evidence=("e1",)))
INTENT = judge(ELECTED, empty_main(PROJECT), forgotten=lambda *_: False, now_ms=NOW_MS)
RECEIPT = receipt(INTENT, completion(INTENT))
ENDED = outcome(ELECTED, RECEIPT)
MADE = reserved(JOB)
ATTEMPT = f"attempt/{MADE.attempt_id}"
OUTCOME = f"outcome/{JOB.job_id}"

LIFE: tuple[tuple[str, Record], ...] = (
    (f"job/{JOB.job_id}", JOB),
    (f"{ATTEMPT}.reserved", MADE),
    (f"{ATTEMPT}.fate", fate(MADE, "dispatched")),
    (f"{ATTEMPT}.result", result(MADE, "proposal", proposal=ELECTED.proposal)),
    (f"decision/{JOB.job_id}", ELECTED),
    (f"intent/{PROJECT}/{JOB.job_id}", intent_tombstone(INTENT)),
    (f"receipt/{PROJECT}/{JOB.job_id}", RECEIPT),
    (OUTCOME, ENDED),
)
"""The records of a review in the order in which they become durable."""

DELETED = tuple(name for name, _ in LIFE if name != OUTCOME and not name.endswith((".reserved", ".fate")))
"""What retention takes away after the outcome's tombstone, in any order (an attempt goes with its day)."""

Event = Callable[[Store], None]


class Ticking(Store):
    """A store in which time passes just before each read of the reader."""

    def __init__(self, ticks: tuple[int, ...], events: list[Event]) -> None:
        super().__init__()
        self._ticks, self._events, self._reads, self._past = ticks, events, 0, 0

    def tick(self) -> None:
        """Let the world move on to where this read falls."""
        until = self._ticks[min(self._reads, len(self._ticks) - 1)]
        self._reads += 1
        while self._past < until:
            self._events[self._past](self)
            self._past += 1


def timeline(order: tuple[str, ...]) -> list[Event]:
    """Every record is created, the outcome becomes a tombstone, then the rest is deleted in this order."""

    def create(name: str, record: Record) -> Event:
        return lambda store: store.records.update({name: record})

    def delete(name: str) -> Event:
        def run(store: Store) -> None:
            del store.records[name]

        return run

    return [
        *(create(name, record) for name, record in LIFE),
        create(OUTCOME, outcome_tombstone(ENDED)),
        *(delete(name) for name in order),
    ]


def read(ticks: tuple[int, ...], order: tuple[str, ...], *, again: bool) -> Verdict:
    """What a worker would do after `read_facts`, with its reads at these times."""
    store = Ticking(ticks, timeline(order))
    ports = Reference(store, Hand(), Counting())
    queue, attempts, memory = ports.queue, ports.attempts, ports.memory
    found_outcome = queue.outcome
    found: list[bool] = []

    def outcome_now(job_id: str) -> object:
        store.tick()
        ended = found_outcome(job_id) if again or not found else None
        found.append(True)
        return ended

    def ticking(real: Callable[..., object]) -> Callable[..., object]:
        def reading(*arguments: object) -> object:
            store.tick()
            return real(*arguments)

        return reading

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "outcome", outcome_now)
        for port, name in ((queue, "decision"), (queue, "job"), (attempts, "of_job"), (memory, "receipt")):
            patch.setattr(port, name, ticking(getattr(port, name)))
        facts = read_facts(JOB.job_id, queue=queue, attempts=attempts, memory=memory, claims=ports.claims)
    return next_step(facts, me="w2", now_ms=NOW_MS + 10**9, policy=Policy())


def dangerous(ticks: tuple[int, ...], order: tuple[str, ...], verdict: Verdict) -> bool:
    """Whether the step would undo an end: the tombstone stood at the last read and something is done."""
    del order
    return ticks[-1] > len(LIFE) and not isinstance(verdict, Rest | Announce)


def schedules() -> list[tuple[int, ...]]:
    """Times of the six reads: never backwards, at the corners of a job's life and of its expiry."""
    last = len(LIFE) + 1 + len(DELETED)
    corners = (0, 1, 4, 5, 7, 8, 9, 11, last)
    return list(itertools.combinations_with_replacement(corners, 6))


@pytest.mark.requirement("E-05", "Q-05", "G-03")
@pytest.mark.parametrize("order", list(itertools.permutations(DELETED))[::17])
def test_no_reading_across_retention_reopens_a_job(order: tuple[str, ...]) -> None:
    """Right to left and the outcome once more at the end: no mixture of old and new reads leads to a step."""
    for ticks in schedules():
        verdict = read(ticks, order, again=True)
        assert not dangerous(ticks, order, verdict), (ticks, verdict)


def test_without_the_second_look_at_the_outcome_a_job_is_reopened() -> None:
    """The last read carries weight: left out, some schedule leads to work on a job that has ended."""
    order = tuple(reversed(DELETED))
    assert any(dangerous(ticks, order, read(ticks, order, again=False)) for ticks in schedules())


def test_the_timeline_is_the_whole_life_of_an_attempt() -> None:
    """The walk through time comes to every state that the deletions start from."""
    store = Store()
    for event in timeline(DELETED):
        event(store)
    assert set(store.records) == {OUTCOME, f"{ATTEMPT}.reserved", f"{ATTEMPT}.fate"}
    assert Attempt(MADE, attempt_id=MADE.attempt_id).state == "reserved"
