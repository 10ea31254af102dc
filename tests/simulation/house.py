"""The machine on which all actors live: one disk, one pair of clocks, and the product in each process."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.home import LAYOUT_VERSION, Format
from perdure.core.budget import Limits
from perdure.core.record import record_digest, seal
from perdure.service.curate import FENCED
from perdure.service.retention import Retention
from perdure.service.work import Worker
from tests.crash.world import Broken
from tests.fakes import HOLD, MAIN_BRANCH, NOON_MS, PROJECT, Rig, ScriptedProvider, SequentialIds
from tests.simulated_disk import SimulatedDisk
from tests.simulated_view import DiskView
from tests.simulation.ledger import Ledger
from tests.simulation.plan import Plan
from tests.simulation.reviewer import Reviewer
from tests.simulation.stage import Stage, StageClock, SteppedView
from tests.simulation.witness import Witness

CALM_STEPS = 6_000
"""How many steps the workers have to come to an end when nothing befalls them any more."""

NOTICED = 0.7


class SimRig(Rig):
    """The product in one process; its evidence expires after a day, and its worker expires it too.

    `release` is what this program's policy is; `misfit` is set once its worker has seen that the home is of
    another one (Q-08).
    """

    release = 1
    misfit = False
    _kept: Retention | None = None

    def spend_freely(self) -> None:
        """Work on without limits, as after the user has raised them."""
        self._profile = msgspec.structs.replace(self._profile, limits=None)

    def _unfit(self) -> str | None:
        found = self.records.read(layout.FORMAT, Format)
        if found is None or found.policy == self.release:
            return None
        self.misfit = True
        return f"the home has policy {found.policy}"

    def retention(self) -> Retention:
        """See `Rig.retention`."""
        if self._kept is None:
            self._kept = super().retention()
            self._kept._evidence_ms = 86_400_000
        return self._kept

    def worker(self) -> Worker:
        """See `Rig.worker`."""
        return Worker(
            queue=self.queue,
            claims=self.claims,
            clock=self.clock,
            curator=self.curator(),
            retention=self.retention(),
            log=self._log,
            unfit=self._unfit,
        )


class House:
    """The machine and the ledger. `start` begins a process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.chance = random.Random(f"nature {plan.seed}")
        self.clock = StageClock(NOON_MS)
        self.disk = SimulatedDisk(plan.model)
        self.ledger = Ledger()
        self.stage = Stage(
            random.Random(f"turns {plan.seed}"), self.clock, stay=plan.stay, steps_max=plan.steps_max
        )
        self.witness = Witness(self.disk, self.ledger.counts)
        self.stage.woken, self.stage.waits = self.witness.wakes, self.witness.waits
        self.stage.published = lambda path, created: self.witness.published(path, created=created)
        self.heal: Callable[[], None] = lambda: None
        """Ends all that befalls the machine, and puts its disk in order."""
        self.calm_since: float | None = None
        """When on the stage's time everybody but the workers was done, and the reviewer became good."""
        self.release = 1
        self._resting: set[str] = set()
        self._lives = 0
        first = Rig(self.disk, clock=self.clock)
        first.prepare()
        first.records.create(layout.FORMAT, self._format())
        self.branch_ids = [MAIN_BRANCH]
        first.memory_service().fork("trial")
        self.branch_ids += [row.branch_id for row in first.memory.branches(PROJECT) if row.name == "trial"]
        self.disk.reboot("kept")

    def _format(self) -> Format:
        return Format(
            layout=LAYOUT_VERSION,
            policy=self.release,
            home_id="",
            machine="",
            inode=0,
            filesystem="",
            filesystem_allowed=False,
            made_ms=NOON_MS,
        )

    def change_release(self) -> None:
        """Another release takes the home over; processes that start from now on are of it."""
        self.release += 1
        self.disk.put(layout.FORMAT, seal(self._format()))

    def become_calm(self) -> None:
        """Let workers end what is open: nothing befalls them, and every call is answered at once."""
        if self.calm_since is None:
            self.calm_since = self.stage.now
            self.stage.note("nothing befalls anybody any more")
            self.stage.steps_max = self.stage.steps + CALM_STEPS
            self.heal()

    def start(self, process: str) -> SimRig:
        """Begin a process of that name on the stage; one of that name dies first."""
        self._lives += 1
        view = SteppedView(self.disk._machine, process, self.stage, self.clock)
        chance = random.Random(f"reviewer {self.plan.seed} {process} {self._lives}")
        provider = Reviewer(
            chance,
            plan=self.plan,
            process=view,
            stage=self.stage,
            disk=self.disk,
            ledger=self.ledger,
            witness=self.witness,
        )
        provider.calm = lambda: self.calm_since is not None
        self.stage.note(f"{process} starts")
        rig = self._rig(view, provider, None if self.calm_since is not None else self.limits())
        provider.fits = lambda: not rig.misfit
        return rig

    def rest(self, name: str, seconds: float) -> None:
        """Let a worker that found nothing to do sleep, until that time has passed or a job comes in."""
        self._resting.add(name)
        self.stage.sleep(seconds)
        self._resting.discard(name)

    def notice(self) -> None:
        """A job has come in: workers that rest may wake."""
        for name in sorted(self._resting):
            if self.chance.random() < NOTICED:
                self.stage.wake(name)

    def limits(self) -> Limits:
        """The limits of a day."""
        return Limits(
            calls_per_day=self.plan.calls_per_day,
            cost_nanodollars_per_day=30 * HOLD.cost_nanodollars,
        )

    def start_alone(self, limits: Limits | None = None) -> SimRig:
        """Begin a process that runs while nobody else does, with a reviewer that always answers."""
        self._lives += 1
        return self._rig(self.disk, ScriptedProvider(), limits)

    def _rig(self, view: DiskView, provider: ScriptedProvider, limits: Limits | None) -> SimRig:
        rig = SimRig(
            view,
            clock=self.clock,
            ids=SequentialIds(f"{view._process} {self._lives}"),
            provider=provider,
            limits=limits,
            log=lambda event, name, detail: self._heard(rig, event, name, detail),
        )
        rig.release = self.release
        return rig

    def _heard(self, rig: SimRig, event: str, name: str, detail: str) -> None:
        """Whatever a process says has happened must stay so."""
        ledger = self.ledger
        self.stage.note(f"... {event} {name[-12:]} {detail}".rstrip())
        match event:
            case "decided":
                self._heard_decision(rig, name)
            case "closed":
                state = detail.split(maxsplit=1)[0]
                if ledger.closed.setdefault(name, state) != state:
                    raise Broken(f"Q-05: {name} ended as {ledger.closed[name]}, then as {state}")
            case "settled":
                ledger.settled.add(name)
            case "cancelled" if detail == FENCED:
                ledger.counts["fenced"] += 1
            case "stopped":
                raise Broken(f"Q-13: {name} is stopped though nothing was damaged: {detail}")

    def _heard_decision(self, rig: SimRig, job_id: str) -> None:
        decision = rig.queue.decision(job_id)
        if decision is None:
            if rig.queue.outcome(job_id) is None:
                raise Broken(f"D-02: the decision of {job_id} was announced and is not there")
            return
        found = record_digest(decision)
        if self.ledger.decisions.setdefault(job_id, found) != found:
            raise Broken(f"D-02: the decision of {job_id} has changed")
