"""Runs a plan, and makes the plan of a failure smaller."""

from __future__ import annotations

import time
from collections import Counter

import msgspec

from tests.crash.steady import steady
from tests.simulation.actors import actor
from tests.simulation.house import House
from tests.simulation.laws import check, come_to_rest, grow_old
from tests.simulation.nature import Nature
from tests.simulation.plan import Plan, plan_of

SHRINK_RUNS_MAX = 60
SHOWN = 30


class Played(msgspec.Struct, frozen=True):
    """How a run ended. `broken` is None when every law held; `trace` are its last steps."""

    plan: Plan
    broken: str | None
    steps: int
    switches: int
    counts: Counter[str]
    trace: tuple[str, ...]
    sends: int
    processor_seconds: float = 0.0

    @property
    def law(self) -> str:
        """The promise that was broken, without what was found."""
        return (self.broken or "").partition(":")[0]


def play(plan: Plan) -> Played:
    """Run a plan to its end, let everything come to rest, and check all laws."""
    with steady():
        return _play(plan)


def _play(plan: Plan) -> Played:
    house = House(plan)
    stage = house.stage
    broken: str | None = None
    try:
        Nature(house)
        for name in plan.actors:
            stage.add(name, actor(house, name))
        stage.run()
        house.ledger.counts["cut short"] += house.calm_since is None
        stage.note("everything comes to rest")
        check(house, come_to_rest(house), old=False)
        stage.note("everything grows old")
        check(house, grow_old(house), old=True)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is what the run found
        broken = f"{type(error).__name__} {error}"
    return Played(
        plan=plan,
        broken=broken,
        steps=stage.steps,
        switches=stage.switches,
        counts=house.ledger.counts,
        trace=tuple(stage.trace),
        sends=sum(house.ledger.sends.values()),
    )


def play_seed(seed: int) -> Played:
    """Run the plan of a seed."""
    return play(plan_of(seed))


def play_timed(seed: int) -> Played:
    """Run the plan of a seed, and say how long the processor took."""
    begun = time.process_time()
    played = play_seed(seed)
    return msgspec.structs.replace(played, processor_seconds=time.process_time() - begun)


def shrink(failed: Played, *, runs_max: int = SHRINK_RUNS_MAX) -> Played:
    """Leave out events and actors as long as the same promise is broken; the smallest failure found."""
    smallest, runs, shorter = failed, 0, True
    while shorter and runs < runs_max:
        shorter = False
        for plan in _smaller(smallest.plan):
            runs += 1
            tried = play(plan)
            if tried.broken is not None and tried.law == failed.law:
                smallest, shorter = tried, True
                break
            if runs >= runs_max:
                break
    return smallest


def _smaller(plan: Plan) -> list[Plan]:
    events = [
        msgspec.structs.replace(plan, events=plan.events[:at] + plan.events[at + 1 :])
        for at in range(len(plan.events))
    ]
    actors = [
        msgspec.structs.replace(plan, actors=tuple(other for other in plan.actors if other != name))
        for name in plan.actors
        if len(plan.actors) > 1
    ]
    return events + actors


def story(failed: Played) -> str:
    """A failure as text: what was broken, the smallest plan, the last steps, how to see it again."""
    plan = failed.plan
    events = "\n".join(f"    {e.at:6} {e.kind} {e.who} {e.amount or ''}".rstrip() for e in plan.events)
    return "\n".join(
        [
            f"seed {plan.seed}: {failed.broken}",
            f"  {plan.model}, reviewer {plan.mood}, actors {', '.join(plan.actors)}",
            f"  events:\n{events or '    none'}",
            "  the last steps:",
            *(f"    {line}" for line in failed.trace[-SHOWN:]),
            f"  make simulate SEEDS={plan.seed}",
        ]
    )
