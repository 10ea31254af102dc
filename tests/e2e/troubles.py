"""A rig, the ways in which a provider lets one down, and draining through them while time goes by."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.core.budget import Limits
from perdure.ports.provider import Answered, Failed, Lost, Reply, ReviewRequest
from tests.fakes import PROJECT, USED, Rig, ScriptedProvider
from tests.services import jobs_service
from tests.simulated_disk import SimulatedDisk

HOUR, DAY = 3_600.0, 86_400.0


def rig_of(provider: ScriptedProvider, limits: Limits | None = None) -> Rig:
    """A prepared rig."""
    rig = Rig(SimulatedDisk(), provider=provider, limits=limits)
    rig.prepare()
    return rig


def garbage(_request: ReviewRequest) -> Reply:
    """Words instead of a proposal."""
    return Answered("Sure! I will remember that.", USED, None)


def outage(_request: ReviewRequest) -> Reply:
    """No answer for now."""
    return Failed("availability", "http 503", None, None)


def no_credentials(_request: ReviewRequest) -> Reply:
    """A key that is not accepted."""
    return Failed("configuration", "http 401", None, None)


def lost(_request: ReviewRequest) -> Reply:
    """Sent, and never heard of again."""
    return Lost("timeout")


def over(left: Iterator[int]) -> bool:
    """Whether a count has come to its end."""
    return next(left, None) is None


def states(rig: Rig) -> list[str]:
    """The states of all jobs."""
    return [row.state for row in jobs_service(rig).list(PROJECT)]


def drained(rig: Rig, *, rounds: int = 60, step_seconds: float = HOUR) -> int:
    """Drain again and again while time goes by; says how many rounds it took until nothing was open."""
    for number in range(rounds):
        rig.drain()
        if not jobs_service(rig).list(PROJECT, open_only=True):
            return number
        rig.clock.advance(step_seconds)
    return rounds
