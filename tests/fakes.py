"""A clock, ids and a reviewer that do what a test says, and a rig that wires the product around them.

    rig = Rig(SimulatedDisk("posix-weak"))
    rig.prepare()
    rig.memory_service().remember("Use pnpm here.")
    rig.capture(turns("The port is 4100."))
    report = rig.drain()

The rig wires what `perdure.app.App` wires, on any Disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.claims import FileClaims
from perdure.authority.filesystem.coverage import FileCoverage
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.erase import FileErase
from perdure.authority.filesystem.mailbox import FileMailbox
from perdure.authority.filesystem.memory import FileMemory
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.retain import FileLedger, FileRetain
from perdure.core.attempt import Usage as CoreUsage
from perdure.core.budget import Limits
from perdure.core.evidence import RawLine, RawTurn
from perdure.core.memory import main_branch_id
from perdure.core.protocol import Policy
from perdure.ports.provider import Answered, Hold, Reply, ReviewRequest, Usage
from perdure.service.budget import BudgetService
from perdure.service.capture import Captured, CaptureService
from perdure.service.curate import Curator, Profile
from perdure.service.jobs import JobsService
from perdure.service.publish import Log
from perdure.service.purge import PurgeService
from perdure.service.remember import MemoryService
from perdure.service.retention import Retention
from perdure.service.work import Report, Worker

PROJECT = "0123456789abcdef"
"""The project key of every rig."""

MAIN_BRANCH = main_branch_id(PROJECT)
"""The id of that project's main branch."""

SESSION = "5e" * 16
NOON_MS = 1_800_014_400_000
"""12:00 UTC of an ordinary day: nothing crosses midnight by accident."""

HOLD = Hold(input_tokens=1_000, output_tokens=200, cost_nanodollars=5_000)
LARGEST = CoreUsage(HOLD.input_tokens, HOLD.output_tokens, HOLD.cost_nanodollars)
EVIDENCE_DAYS = 14
USED = Usage(input_tokens=700, output_tokens=90, cost_nanodollars=3_100)


class ManualClock:
    """A clock that a test moves. Every look at the wall clock costs a millisecond, so that no two looks
    agree: a time that gets into a derived record is found out.
    """

    def __init__(self, now_ms: int = NOON_MS, *, boot: str = "boot-1") -> None:
        self._now_ms, self._boot, self._boot_seconds = now_ms, boot, 1_000.0

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        self._now_ms += 1
        return self._now_ms

    def boot_seconds(self) -> float:
        """See `Clock.boot_seconds`."""
        return self._boot_seconds

    def boot_id(self) -> str:
        """See `Clock.boot_id`."""
        return self._boot

    def sleep(self, seconds: float) -> None:
        """Let that much time go by, at once."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._now_ms += round(seconds * 1000)
        self._boot_seconds += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock alone, in either direction."""
        self._now_ms += round(seconds * 1000)


class SequentialIds:
    """Ids that look random and are the same in every run; two of different `series` never agree."""

    def __init__(self, series: str = "a") -> None:
        self._series, self._count = series, 0

    def token(self, digits: int) -> str:
        """See `Ids.token`."""
        self._count += 1
        return hashlib.sha256(f"{self._series} {self._count}".encode()).hexdigest()[:digits]


def proposing(request: ReviewRequest) -> Reply:
    """Answer as a reviewer does that remembers the first line of evidence, word for word.

    The rationale names the attempt, so that effects of two attempts can be told apart.
    """
    line = request.evidence[0]
    operation = {
        "op": "add",
        "text": line.text,
        "evidence": [line.line_id],
        "rationale": f"attempt {request.attempt_id[-4:]}",
    }
    return Answered(json.dumps({"operations": [operation]}), USED, None)


def finding_nothing(_request: ReviewRequest) -> Reply:
    """Answer that nothing is worth remembering."""
    return Answered('{"operations": []}', USED, None)


Script = Callable[[ReviewRequest], Reply]


class ScriptedProvider:
    """A paid reviewer that answers from a list of scripts, then with `otherwise`.

    `sends` counts requests by attempt id. `before_review` runs at the moment a request would go out,
    `before_quote` when a bound is asked for: the place of a test's own interference and checks.
    """

    name = "scripted"
    model = "scripted-1"
    prompt_version = "1"
    paid = True

    def __init__(self, script: Iterable[Script] = (), *, otherwise: Script = proposing) -> None:
        self._script, self._otherwise = list(script), otherwise
        self.sends: dict[str, int] = {}
        self.missing: str | None = None
        self.before_review: Callable[[ReviewRequest], None] = lambda _request: None
        self.before_quote: Callable[[ReviewRequest], None] = lambda _request: None

    def ready(self) -> str | None:
        """See `Provider.ready`."""
        return self.missing

    def quote(self, request: ReviewRequest) -> Hold:
        """See `Provider.quote`."""
        self.before_quote(request)
        return HOLD

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - the port's
        """See `Provider.review`."""
        self.sends[request.attempt_id] = self.sends.get(request.attempt_id, 0) + 1
        self.before_review(request)
        answer = self._script.pop(0) if self._script else self._otherwise
        return answer(request)


class Rig:
    """The product wired on a disk, with time, ids and the reviewer in the test's hands."""

    def __init__(
        self,
        disk: Disk,
        *,
        clock: ManualClock | None = None,
        ids: SequentialIds | None = None,
        provider: ScriptedProvider | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        log: Log = lambda *_: None,
    ) -> None:
        self.disk = disk
        self.clock = clock or ManualClock()
        self.ids = ids or SequentialIds()
        self.provider = provider or ScriptedProvider()
        self._profile = Profile(policy=policy or Policy(), limits=limits)
        self._log = log
        self.records = Records(disk, self.clock)
        self.queue = FileQueue(self.records)
        self.claims = FileClaims(self.records, self.clock, self.ids)
        self.attempts = FileAttempts(self.records, self.claims, largest_hold=LARGEST)
        self.memory = FileMemory(self.records, b"\x5a" * 32)
        self.coverage = FileCoverage(self.records, self.queue, self.ids)

    def prepare(self, *scopes: str) -> None:
        """Make the home's folders and those of the scopes (by default the project), durably."""
        self.disk.make_folder("tmp")
        self.records.ensure_folders(*layout.HOME_FOLDERS)
        for scope in (layout.USER_SCOPE, *(scopes or (PROJECT,))):
            base = layout.scope_folder(scope)
            self.records.ensure_folders(base, *(f"{base}/{name}" for name in layout.SCOPE_FOLDERS))

    def memory_service(self, scope: str = PROJECT) -> MemoryService:
        """Foreground memory."""
        return MemoryService(self.memory, scope, clock=self.clock, ids=self.ids)

    def capture(
        self,
        found: list[RawTurn],
        *,
        session: str = SESSION,
        branch_id: str = MAIN_BRANCH,
        observe: bool = False,
    ) -> Captured:
        """Take turns in as review jobs of a branch, by default of main."""
        service = CaptureService(self.coverage, clock=self.clock, release="1")
        return service.capture(
            host="pi",
            session=session,
            turns=found,
            project=PROJECT,
            branch_id=branch_id,
            mode="observe" if observe else "admit",
        )

    def jobs_service(self) -> JobsService:
        """The user's orders about jobs."""
        return JobsService(
            queue=self.queue,
            attempts=self.attempts,
            memory=self.memory,
            claims=self.claims,
            clock=self.clock,
            policy=self._profile.policy,
            projects=lambda: (PROJECT,),
            log=self._log,
        )

    def budget_service(self) -> BudgetService:
        """What reviews have cost."""
        return BudgetService(
            self.attempts,
            self._ledger(),
            clock=self.clock,
            provider=self.provider.name,
            limits=self._profile.limits,
            largest_hold=LARGEST,
        )

    def retention(self) -> Retention:
        """What takes expired records away."""
        return Retention(
            retain=FileRetain(self.records, self.claims),
            ledger=self._ledger(),
            queue=self.queue,
            mailbox=FileMailbox(self.records),
            memory=self.memory,
            clock=self.clock,
            evidence_days=EVIDENCE_DAYS,
            log=self._log,
        )

    def purge_service(self) -> PurgeService:
        """Forget everywhere."""
        return PurgeService(
            erase=FileErase(self.records),
            queue=self.queue,
            attempts=self.attempts,
            memory=self.memory,
            claims=self.claims,
            clock=self.clock,
            ids=self.ids,
            retention=self.retention(),
            log=self._log,
        )

    def _ledger(self) -> FileLedger:
        return FileLedger(self.records, self.attempts, lambda job_id: self.queue.outcome(job_id) is not None)

    def curator(self) -> Curator:
        """The engine that advances one job."""
        return Curator(
            queue=self.queue,
            claims=self.claims,
            attempts=self.attempts,
            memory=self.memory,
            clock=self.clock,
            provider=self.provider,
            profile=self._profile,
            log=self._log,
        )

    def worker(self) -> Worker:
        """A new worker."""
        return Worker(
            queue=self.queue, claims=self.claims, clock=self.clock, curator=self.curator(), log=self._log
        )

    def drain(self) -> Report:
        """Review what is ready, with a new worker."""
        return self.worker().drain()


def turns(*texts: str, first: int = 0) -> list[RawTurn]:
    """Settled turns, one per text, a second apart; `first` is the position of the first in its session."""
    return [
        RawTurn(
            turn_id=hashlib.sha256(f"turn {position}".encode()).hexdigest()[:32],
            settled_ms=NOON_MS - 3_600_000 + position * 1_000,
            end="settled",
            lines=(RawLine("user", text), RawLine("assistant", "Understood.")),
            position=position,
        )
        for position, text in enumerate(texts, first)
    ]
