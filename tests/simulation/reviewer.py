"""A scripted reviewer on virtual time: fast, slow, lost, late, busy, broken, by the seed.

It also watches: each request goes out once, after its `fate` is durable, and within the day's limit.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from perdure.authority.filesystem import layout
from perdure.core.attempt import Fate, day_of
from perdure.core.record import unseal
from perdure.ports.provider import Answered, Failed, Lost, Reply, ReviewRequest, Usage
from tests.crash.world import Broken
from tests.fakes import USED, ScriptedProvider
from tests.simulated_disk import Crashed, SimulatedDisk
from tests.simulation.ledger import Ledger
from tests.simulation.stage import Stage

_NOTHING = '{"operations": []}'
_FREE = Usage(0, 0, 0)

MOODS: dict[str, dict[str, int]] = {
    "good": {"answer": 9, "nothing": 1},
    "mixed": {
        "answer": 6, "again": 2, "remove": 1, "nothing": 1, "lost": 2, "cut": 1, "busy": 1, "error": 1,
        "babble": 1, "unreported": 1, "refused": 1, "raises": 1,
    },
    "slow": {"answer": 4, "lost": 1},
    "bad": {"answer": 2, "busy": 3, "error": 2, "babble": 3, "unauthorised": 1, "lost": 3, "refused": 1},
}  # fmt: skip
"""How often a reviewer of that mood does what."""


class _Alive(Protocol):
    @property
    def lives(self) -> bool: ...


class Reviewer(ScriptedProvider):
    """The provider as one process sees it."""

    def __init__(
        self,
        chance: random.Random,
        *,
        mood: str,
        process: _Alive,
        stage: Stage,
        disk: SimulatedDisk,
        ledger: Ledger,
        calls_per_day: int,
    ) -> None:
        super().__init__()
        self._chance, self._mood, self._process, self._stage = chance, mood, process, stage
        self._disk, self._ledger, self._calls_per_day = disk, ledger, calls_per_day

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - the port's
        """See `Provider.review`."""
        if not self._process.lives:
            raise Crashed
        attempt = request.attempt_id
        self._ledger.sends[attempt] += 1
        wrong = self._wrong(attempt)
        if wrong is not None:
            self._stage.fail(Broken(wrong))
        does = self._chance.choices(list(MOODS[self._mood]), list(MOODS[self._mood].values()))[0]
        self._stage.note(f"the call of {attempt[-12:]} begins; it will end as {does}")
        self._ledger.counts[f"call: {does}"] += 1
        self._stage.sleep(self._seconds())
        if not self._process.lives:
            raise Crashed
        reply = _ACTS[does](request)
        if not isinstance(reply, Lost) and reply.usage is not None:
            self._ledger.used[attempt] = reply.usage.input_tokens + reply.usage.output_tokens
        return reply

    def _seconds(self) -> float:
        if self._mood == "slow":
            return self._chance.choice((0.0, 30.0, 1_000.0, 3_000.0))
        return self._chance.choice((0.0, 0.01, 1.0, 20.0))

    def _wrong(self, attempt: str) -> str | None:
        """What is wrong about sending this now, if anything."""
        sends = self._ledger.sends
        if sends[attempt] > 1:
            return f"A-04: {attempt} was sent {sends[attempt]} times"
        of_day = sum(day_of(name) == day_of(attempt) for name in sends)
        if of_day > self._calls_per_day:
            return f"B-02: {of_day} calls on one day, {self._calls_per_day} allowed"
        after = self._disk.fork()
        after.reboot("lost")
        kept = after.files().get(layout.attempt(attempt, "fate"))
        if kept is None:
            return f"A-02: {attempt} was sent before its fate was durable"
        if unseal(kept, Fate).fate != "dispatched":
            return f"A-03: {attempt} was sent though it was cancelled"
        return None


def _answer(request: ReviewRequest) -> Reply:
    """Remember the first line of each turn that is not remembered yet, word for word."""
    lines = [line for line in request.evidence if line.role == "user"]
    operations = [
        {"op": "add", "text": line.text, "evidence": [line.line_id], "rationale": request.attempt_id[-4:]}
        for line in lines[: request.operations_max]
    ]
    return Answered(json.dumps({"operations": operations}), USED, None)


def _again(request: ReviewRequest) -> Reply:
    """Propose what memory holds already."""
    if not request.memory:
        return Answered(_NOTHING, USED, None)
    line = request.evidence[0]
    operation = {"op": "add", "text": request.memory[-1].text, "evidence": [line.line_id]}
    return Answered(json.dumps({"operations": [operation]}), USED, None)


def _remove(request: ReviewRequest) -> Reply:
    """Take out an entry that a review made."""
    reviewed = [entry for entry in request.memory if entry.text.startswith("The port")]
    if not reviewed:
        return Answered(_NOTHING, USED, None)
    line = request.evidence[0]
    operation = {"op": "remove", "entry": reviewed[0].entry_id, "evidence": [line.line_id]}
    return Answered(json.dumps({"operations": [operation]}), USED, None)


def _unreported(request: ReviewRequest) -> Reply:
    reply = _answer(request)
    return msgspec.structs.replace(reply, usage=None) if isinstance(reply, Answered) else reply


def _raises(_request: ReviewRequest) -> Reply:
    raise ConnectionResetError


_ACTS: dict[str, Callable[[ReviewRequest], Reply]] = {
    "answer": _answer,
    "again": _again,
    "remove": _remove,
    "unreported": _unreported,
    "raises": _raises,
    "nothing": lambda _request: Answered(_NOTHING, USED, None),
    "babble": lambda _request: Answered("Certainly! Here it is.", USED, None),
    "lost": lambda _request: Lost("timeout"),
    "cut": lambda _request: Lost("cut stream"),
    "busy": lambda _request: Failed("availability", "http 429", _FREE, 90),
    "error": lambda _request: Failed("availability", "http 500", None, None),
    "unauthorised": lambda _request: Failed("configuration", "http 401", _FREE, None),
    "refused": lambda _request: Failed("permanent", "http 400", _FREE, None),
}
