"""The world of the walk: the records of one lane, two workers, a foreground writer and a user.

What a job, an attempt or a transaction is, and what comes next, is asked of the product: `next_step`,
`next_transaction_step`, `judge`, `charge`, `admit` and the derivations. The world adds only what the ports
promise (first creation wins, a lock has one holder, check and reservation are one step) and what may go
wrong. A subclass that breaks one of these promises has to be caught, see the tables of deliberate faults.

Written here and not asked of the product, where it lies between calls of the ports: when a worker claims and
releases, what it looks at once more before a call, the settling of orphans before a reservation, and what
the user may ask for. Left out: retention and purges (`test_readers_and_retention` walks their order against a
reader), removals of branches, moves between scopes, and the disk, on which the crash tests and the simulation
run. A claim counts a higher ordinal only where the one before was not released.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec

from perdure.core import budget, protocol, transaction
from perdure.core.admission import Completion, Intent, IntentTombstone, Outcome, Receipt, Revision
from perdure.core.attempt import Attempt, Fate, Reconciled, Reserved, Result, Unknown
from perdure.core.decision import Decision
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import Job, make_job, successor
from perdure.core.memory import Branch, empty_main, main_branch_id
from perdure.core.protocol import JobFacts, Policy
from perdure.core.record import Record, seal
from perdure.core.transaction import TransactionFacts

PROJECT = "00" * 8
NOW_MS = 10**12
"""When records are made, give or take the process."""

LATER_MS = NOW_MS + 10**9
"""When the next step is asked for: behind every pause, so that no backoff hides an interleaving."""

Records = frozenset[tuple[str, int]]
"""Path and number of each record that exists."""

R = TypeVar("R", bound=Record)


class Bounds(msgspec.Struct, frozen=True):
    """How often each thing may go wrong or be asked for, and what the provider may answer."""

    workers: int = 2
    crashes: int = 0  # of any process, between any two durable steps
    evictions: int = 0  # a worker goes on though the others hold it for dead
    takeovers: int = 0  # a worker that lives but stands still loses its lane
    faults: int = 0  # replies that are not a proposal
    replies: tuple[str, ...] = ()  # which ones
    edits: int = 0  # foreground writes
    undos: int = 0  # foreground undo of the review's change
    drops: int = 0
    retries: int = 0
    supersedes: int = 0
    midnights: bool = False  # a day may end once it has seen an attempt
    calls_per_day: int | None = None
    torn_reads: bool = False  # facts are read in two parts, right before left
    invalid_attempts_max: int = 2
    observe: bool = False  # the job was born to observe (rule 9)


class Left(NamedTuple):
    """What may still happen."""

    crashes: int
    evictions: int
    takeovers: int
    faults: int
    edits: int
    undos: int
    drops: int
    retries: int
    supersedes: int


class Worker(NamedTuple):
    """One worker: its name, where it stands and with what, and the ordinal of its claim, 0 without one."""

    name: str
    at: str
    what: tuple[object, ...]
    ordinal: int = 0


class State(NamedTuple):
    """One state of the world."""

    records: Records
    workers: tuple[Worker, ...]
    writer: tuple[str, str]
    lane: tuple[str, bool, int]  # the owner by the highest claim, whether it is released, and its ordinal
    lock: str
    gone: frozenset[str]
    sent: tuple[tuple[str, str], ...]  # attempt and sender
    day: int
    left: Left


class Move(NamedTuple):
    """One step; `fault` marks those that liveness may not count on."""

    label: str
    state: State
    fault: bool = False


class Violation(Exception):
    """A law does not hold."""


def first_job(*, observe: bool) -> Job:
    """The one accepted review."""
    line = EvidenceLine(line_id="e1", role="user", text="We use pnpm.")
    turn = EvidenceTurn(turn_id="a1", settled_ms=5, cut=False, lines=(line,))
    evidence = Evidence(host="pi", session="0" * 32, turns=(turn,))
    return make_job(
        project=PROJECT,
        branch_id=main_branch_id(PROJECT),
        evidence=evidence,
        accepted_ms=6,
        release="1",
        mode="observe" if observe else "admit",
    )


class World:
    """Interned records and the facts that follow from sets of them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.policy = Policy(invalid_attempts_max=bounds.invalid_attempts_max)
        self.limits = budget.Limits(calls_per_day=bounds.calls_per_day)
        self._numbers: dict[bytes, int] = {}
        self._book: list[Record] = []
        self.known: dict[str, Job] = {}
        self._sets: dict[Records, Records] = {}
        self._names: dict[Records, dict[str, int]] = {}
        self._attempts: dict[tuple[Records, str], tuple[Attempt, ...]] = {}
        self.cache: dict[object, object] = {}

    # -- records

    def number(self, record: Record) -> int:
        """The number of a record; equal bytes have equal numbers."""
        data = seal(record)
        if data not in self._numbers:
            self._numbers[data] = len(self._book)
            self._book.append(record)
            if isinstance(record, Job):
                self.known[record.job_id] = record
        return self._numbers[data]

    def record(self, number: int) -> Record:
        """The record of a number."""
        return self._book[number]

    def names(self, records: Records) -> dict[str, int]:
        """Path to number."""
        found = self._names.get(records)
        if found is None:
            found = self._names[records] = dict(sorted(records))
        return found

    def get(self, records: Records, path: str, record_type: type[R]) -> R | None:
        """The record at a path."""
        number = self.names(records).get(path)
        if number is None:
            return None
        found = self._book[number]
        return found if isinstance(found, record_type) else None

    def _interned(self, records: Records) -> Records:
        return self._sets.setdefault(records, records)

    def elect(self, records: Records, path: str, number: int) -> tuple[Records, bool]:
        """The first creation wins; says whether it was this one."""
        if path in self.names(records):
            return records, False
        return self._interned(records | {(path, number)}), True

    def derive(self, records: Records, path: str, number: int) -> Records:
        """Everyone writes the same bytes; others fail closed."""
        standing = self.names(records).get(path)
        if standing is not None and standing != number:
            raise Violation(f"conflict: two writers derive different bytes for {path}")
        return records if standing is not None else self._interned(records | {(path, number)})

    def replace(self, records: Records, path: str, number: int | None) -> Records:
        """Put another content at a name, or take the name away."""
        kept = frozenset(pair for pair in records if pair[0] != path)
        return self._interned(kept if number is None else kept | {(path, number)})

    # -- facts

    def branch(self, records: Records) -> Branch:
        """The current branch; main exists implicitly."""
        return self.get(records, "branch", Branch) or empty_main(PROJECT)

    def jobs(self, records: Records) -> list[str]:
        """The ids of all accepted jobs, the oldest generation first."""
        found = [self._book[n] for path, n in self.names(records).items() if path.startswith("job/")]
        return [job.job_id for job in sorted((j for j in found if isinstance(j, Job)), key=_generation)]

    def open_jobs(self, records: Records) -> list[str]:
        """Those without an outcome, or without the event of one."""
        names = self.names(records)
        return [
            job for job in self.jobs(records) if f"outcome/{job}" not in names or f"event/{job}" not in names
        ]

    def attempts(self, records: Records, job_id: str) -> tuple[Attempt, ...]:
        """The attempts of a job, oldest first; of all jobs for an empty id."""
        key = (records, job_id)
        if key not in self._attempts:
            names = [p[len("reserved/") :] for p in self.names(records) if p.startswith("reserved/")]
            mine = [name for name in names if not job_id or job_id[-32:] in name]
            self._attempts[key] = tuple(
                self.attempt(records, n) for n in sorted(mine, key=lambda n: n[-4:] + n)
            )
        return self._attempts[key]

    def attempt(self, records: Records, attempt_id: str) -> Attempt:
        """One attempt out of its records."""
        return Attempt(
            reserved=self.get(records, f"reserved/{attempt_id}", Reserved),
            fate=self.get(records, self.fate_path(attempt_id, "any", records), Fate),
            result=self.get(records, f"result/{attempt_id}", Result),
            unknown=self.get(records, f"unknown/{attempt_id}", Unknown) is not None,
            reconciled=self.get(records, f"reconciled/{attempt_id}", Reconciled),
            attempt_id=attempt_id,
        )

    def fate_path(self, attempt_id: str, fate: str, records: Records) -> str:
        """The one name that both fates share (rule 1)."""
        del fate, records
        return f"fate/{attempt_id}"

    def facts(self, records: Records, gone: frozenset[str], job_id: str, half: Records) -> JobFacts:
        """What `read_facts` gives; receipt and decision were read from the older records `half`."""
        decision = self.get(half, f"decision/{job_id}", Decision)
        receipt = self.get(half, f"receipt/{job_id}", Receipt)
        attempts = self.attempts(records, job_id)
        owners = {a.reserved.worker for a in attempts if a.open and a.reserved is not None}
        return JobFacts(
            job_id,
            job=self.get(records, f"job/{job_id}", Job),
            attempts=attempts,
            decision=decision,
            receipt=receipt,
            outcome=self.get(records, f"outcome/{job_id}", Outcome),
            successor_present=self._successor_present(records, decision, receipt),
            event_present=f"event/{job_id}" in self.names(records),
            owners_gone=frozenset(owners & gone),
        )

    def _successor_present(
        self, records: Records, decision: Decision | None, receipt: Receipt | None
    ) -> bool:
        named = receipt.successor if receipt is not None else None
        if named is None and decision is not None and decision.kind == "superseded":
            named = successor(decision.job, stale=False).job_id
        return named is not None and f"job/{named}" in self.names(records)

    def verdict(self, facts: JobFacts, me: str, ordinal: int) -> protocol.Verdict:
        """The product's word on what comes next for a worker whose claim has that ordinal."""
        return protocol.next_step(facts, me=me, ordinal=ordinal, now_ms=LATER_MS, policy=self.policy)

    # -- transactions

    def begun(self, records: Records) -> list[str]:
        """Transactions that are not finished, as the Memory port lists them."""
        names = self.names(records)
        found = []
        for path, number in names.items():
            name, intent = path.removeprefix("intent/"), self._book[number]
            if name == path or not isinstance(intent, Intent):
                continue
            review = intent.job_id is not None
            if f"done/{name}" not in names or not review or f"receipt/{name}" not in names:
                found.append(name)
        return found

    def transaction_step(self, records: Records, name: str) -> transaction.Step:
        """The product's word on the next step of a transaction."""
        intent = self._book[self.names(records)[f"intent/{name}"]]
        if not isinstance(intent, Intent | IntentTombstone):
            raise Violation(f"no intent stands at {name}")
        seq = intent.revision.seq if isinstance(intent, Intent) and intent.revision is not None else 0
        facts = TransactionFacts(
            intent=intent,
            branch_digest=self.branch(records).digest,
            revision_present=self.get(records, f"revision/{seq:08d}", Revision) is not None,
            completion=self.get(records, f"done/{name}", Completion),
            receipt=self.get(records, f"receipt/{name}", Receipt),
        )
        return transaction.next_transaction_step(facts)

    def charge(self, records: Records, day: int) -> budget.Exposure:
        """What counts against a day."""
        return budget.charge(self.attempts(records, ""), provider="model", day=day_name(day))


def day_name(day: int) -> str:
    """The UTC day of a day's number."""
    return f"2026010{day + 1}"


def _generation(job: Job) -> int:
    return job.generation
