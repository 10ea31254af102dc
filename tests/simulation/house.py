"""The machine on which all actors live: one disk, one pair of clocks, and the product in each process."""

from __future__ import annotations

import random

from perdure.core.budget import Limits
from perdure.core.evidence import RawTurn
from perdure.core.record import record_digest
from perdure.service.capture import Captured, CaptureService
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


class SimRig(Rig):
    """The product in one process; its evidence expires after a day, and its worker expires it too."""

    def capture_session(
        self, found: list[RawTurn], *, session: str, branch_id: str, observe: bool
    ) -> Captured:
        """Take a session's turns in as review jobs of that branch."""
        service = CaptureService(self.coverage, clock=self.clock, release="1")
        return service.capture(
            host="pi",
            session=session,
            turns=found,
            project=PROJECT,
            branch_id=branch_id,
            mode="observe" if observe else "admit",
        )

    def retention(self) -> Retention:
        """See `Rig.retention`."""
        kept = super().retention()
        kept._evidence_ms = 86_400_000
        return kept

    def worker(self) -> Worker:
        """See `Rig.worker`."""
        return Worker(
            queue=self.queue,
            claims=self.claims,
            clock=self.clock,
            curator=self.curator(),
            retention=self.retention(),
            log=self._log,
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
        self._lives = 0
        first = Rig(self.disk, clock=self.clock)
        first.prepare()
        self.branch_ids = [MAIN_BRANCH]
        first.memory_service().fork("trial")
        self.branch_ids += [row.branch_id for row in first.memory.branches(PROJECT) if row.name == "trial"]
        self.disk.reboot("kept")

    def start(self, process: str) -> SimRig:
        """Begin a process of that name on the stage; one of that name dies first."""
        self._lives += 1
        view = SteppedView(self.disk._machine, process, self.stage, self.clock)
        chance = random.Random(f"reviewer {self.plan.seed} {process} {self._lives}")
        provider = Reviewer(
            chance,
            mood=self.plan.mood,
            process=view,
            stage=self.stage,
            disk=self.disk,
            ledger=self.ledger,
            calls_per_day=self.plan.calls_per_day,
        )
        limits = Limits(
            calls_per_day=self.plan.calls_per_day,
            cost_nanodollars_per_day=30 * HOLD.cost_nanodollars,
        )
        self.stage.note(f"{process} starts")
        return self._rig(view, provider, limits)

    def start_alone(self, process: str = "main") -> SimRig:
        """Begin a process that runs while nobody else does, with a reviewer that always answers."""
        self._lives += 1
        view = self.disk if process == "main" else self.disk.process(process)
        return self._rig(view, ScriptedProvider(), None)

    def _rig(self, view: DiskView, provider: ScriptedProvider, limits: Limits | None) -> SimRig:
        rig = SimRig(
            view,
            clock=self.clock,
            ids=SequentialIds(f"{view._process} {self._lives}"),
            provider=provider,
            limits=limits,
            log=lambda event, name, detail: self._heard(rig, event, name, detail),
        )
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
