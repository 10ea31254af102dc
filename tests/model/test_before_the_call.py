"""The last look before a call is paid for, with the product's own engine on the reference authority."""

from __future__ import annotations

import pytest

from perdure.authority.memory import Reference
from perdure.authority.memory_store import Store
from perdure.core.budget import Limits
from perdure.core.job import Lane
from perdure.core.protocol import Policy
from perdure.ports.provider import Answered, Hold, ReviewRequest, Usage
from perdure.service.curate import Curator, Profile
from tests.core_values import MAIN_ID, PROJECT, Counting, Hand, decision, job

JOB = job()


class Scripted:
    """A paid provider that proposes one fact and counts its requests."""

    name, model, paid, prompt_version = "model", "m", True, "1"

    def __init__(self) -> None:
        self.requests = 0

    def ready(self) -> str | None:
        """See `Provider.ready`."""
        return None

    def quote(self, request: ReviewRequest) -> Hold:
        """See `Provider.quote`."""
        del request
        return Hold(6, 4, 10)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Answered:
        """See `Provider.review`."""
        del timeout_seconds
        self.requests += 1
        fact = '{"operations":[{"op":"add","text":"We use pnpm here.","evidence":["e1"]}]}'
        assert request.evidence[0].line_id == "e1"
        return Answered(fact, Usage(1, 1, 1), None)


class Interrupting(Hand):
    """A clock at whose look, right after the facts were read, the user drops the reserved job."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store, self.drops = store, False

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        reserved = any(name.endswith(".reserved") for name in self.store.records)
        if self.drops and reserved:
            self.store.elect(f"decision/{JOB.job_id}", decision(JOB, kind="dropped", reason="user"))
        return super().now_ms()


@pytest.mark.requirement("Q-11", "B-02")
@pytest.mark.parametrize(("drops", "requests", "state"), [(True, 0, "dropped"), (False, 1, "applied")])
def test_no_call_is_paid_for_a_job_that_was_decided_meanwhile(drops: bool, requests: int, state: str) -> None:
    """A drop between reading the facts and sending costs nothing; without it the same run ends in memory."""
    store = Store()
    clock, provider = Interrupting(store), Scripted()
    ports = Reference(store, clock, Counting())
    ports.queue.accept(JOB)
    worker = ports.claims.register()
    claim = ports.claims.claim(Lane(PROJECT, MAIN_ID), worker)
    assert claim is not None
    clock.drops = drops
    curator = Curator(
        queue=ports.queue,
        claims=ports.claims,
        attempts=ports.attempts,
        memory=ports.memory,
        clock=clock,
        provider=provider,
        profile=Profile(policy=Policy(), limits=Limits(calls_per_day=5)),
    )
    assert curator.advance(JOB.job_id, claim).state == state
    assert provider.requests == requests
    assert ports.attempts.charge("model", "20260101").total.calls == requests
