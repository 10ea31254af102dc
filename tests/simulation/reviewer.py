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
from tests.simulated_media import ROOT
from tests.simulation.ledger import Ledger
from tests.simulation.plan import Plan
from tests.simulation.stage import Stage
from tests.simulation.witness import Witness

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


class _Process(Protocol):
    _process: str

    @property
    def lives(self) -> bool: ...


class Reviewer(ScriptedProvider):
    """The provider as one process sees it."""

    def __init__(
        self,
        chance: random.Random,
        *,
        plan: Plan,
        process: _Process,
        stage: Stage,
        disk: SimulatedDisk,
        ledger: Ledger,
        witness: Witness,
    ) -> None:
        super().__init__()
        self._chance, self._plan, self._process, self._stage = chance, plan, process, stage
        self._disk, self._ledger, self._witness = disk, ledger, witness
        self.calm: Callable[[], bool] = lambda: False
        """Whether every call is answered at once, without any limit."""
        self.fits: Callable[[], bool] = lambda: True
        """Whether the program may work on this home, as far as it knows."""

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - the port's
        """See `Provider.review`."""
        if not self._process.lives:
            raise Crashed
        attempt = request.attempt_id
        self._ledger.sends[attempt] += 1
        wrong = self._wrong(attempt)
        if wrong is not None:
            self._stage.fail(Broken(wrong))
        mood = "good" if self.calm() else self._plan.mood
        does = self._chance.choices(list(MOODS[mood]), list(MOODS[mood].values()))[0]
        self._stage.note(f"the call of {attempt[-12:]} begins; it will end as {does}")
        self._ledger.counts[f"call: {does}"] += 1
        self._witness.in_flight[attempt] = self._process._process
        self._stage.sleep(0.0 if self.calm() else self._seconds())
        if not self._process.lives:
            raise Crashed
        self._witness.in_flight.pop(attempt, None)
        reply = _ACTS[does](request)
        if not isinstance(reply, Lost) and reply.usage is not None:
            self._ledger.used[attempt] = reply.usage.input_tokens + reply.usage.output_tokens
        return reply

    def _seconds(self) -> float:
        if self._plan.mood == "slow":
            return self._chance.choice((0.0, 30.0, 1_000.0, 3_000.0))
        return self._chance.choice((0.0, 0.01, 1.0, 20.0))

    def _wrong(self, attempt: str) -> str | None:
        """What is wrong about sending this now, if anything."""
        sends = self._ledger.sends
        if sends[attempt] > 1:
            return f"A-04: {attempt} was sent {sends[attempt]} times"
        of_day = sum(day_of(name) == day_of(attempt) for name in sends)
        if of_day > self._plan.calls_per_day and not self.calm():
            return f"B-02: {of_day} calls on one day, {self._plan.calls_per_day} allowed"
        if not self.fits():
            return f"Q-08: {attempt} was sent by a program that may not work on this home"
        kept = durable(self._disk, layout.attempt(attempt, "fate"))
        if kept is None:
            return f"A-02: {attempt} was sent before its fate was durable"
        if unseal(kept, Fate).fate != "dispatched":
            return f"A-03: {attempt} was sent though it was cancelled"
        return None


def durable(disk: SimulatedDisk, path: str) -> bytes | None:
    """What a power loss leaves at a path at the least: nothing that is pending survives."""
    media = disk._machine.media
    before: dict[tuple[int, str], int | None] = {}
    for entry in media.journal:
        for folder, name, earlier, _ in entry:
            before.setdefault((folder, name), earlier)
    here: int | None = ROOT
    for name in path.split("/"):
        if here is None or here not in media.folders:
            return None
        here = before[here, name] if (here, name) in before else media.folders[here].get(name)
    node = media.files.get(here) if here is not None else None
    if node is None:
        return None
    return node.history[0] if node.history else node.data


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
