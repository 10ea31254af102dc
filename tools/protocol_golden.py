"""One record of every kind, made by the protocol's own functions from fixed ids and times.

The records tell one story, so that their digests hang together: a home and a project; a job over one turn;
a claim; an attempt that is dispatched and settled; the decision, the admission and the outcome; then what
time, the user or an accident make of these.
"""

from __future__ import annotations

import msgspec

from perdure.authority.filesystem.claims import WorkerFile
from perdure.authority.filesystem.home import LAYOUT_VERSION, POLICY_VERSION, Format, HomeKey
from perdure.authority.filesystem.memory import Buried, stone_name
from perdure.authority.filesystem.project import project_key
from perdure.authority.filesystem.projects import ProjectFile
from perdure.authority.filesystem.structural import Selected
from perdure.core.admission import (
    Intent,
    Receipt,
    Revision,
    completion,
    event,
    intent_tombstone,
    outcome,
    outcome_tombstone,
    receipt,
    revision_tombstone,
)
from perdure.core.attempt import Fate, Reconciled, Reserved, Result, Unknown, Usage, attempt_id
from perdure.core.canonical import canonical, digest, digest_bytes
from perdure.core.claim import Claim, Released
from perdure.core.decision import Decision
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import Job, lane_of, make_job
from perdure.core.judge import judge
from perdure.core.mailbox import Shown
from perdure.core.memory import Add, Branch, empty_main, main_branch_id, plan
from perdure.core.move import Move, arrival, move_transaction, moved, place
from perdure.core.proposal import AddOp, AssessOp, Proposal
from perdure.core.record import Record, record_digest, seal
from perdure.core.structural import Intent2, Renamed, Revision2, rename, structural_intent
from perdure.ports.coverage import Uncovered
from perdure.ports.erase import PurgePlan
from perdure.ports.retain import DayTotals, ProviderTotal

_T0 = 1_767_225_600_000  # 2026-01-01T00:00:00Z in UTC milliseconds
_DAY = "20260101"
_PROVIDER = "openai"
_KEY = "0" * 64  # plainly nobody's


def golden_files() -> dict[str, bytes]:
    """The golden files of version 1: their names and their bytes."""
    return {f"{name}.json": seal(record) for name, record in golden_records().items()}


def golden_records() -> dict[str, Record]:
    """The records by name: the kind, or the kind and a case of it."""
    start = _Start()
    reviewed = _Reviewed(start)
    told = _home(start) | _review(start, reviewed) | _unhappy(start, reviewed) | _foreground(start)
    return told | _shaped(start)


def golden_intent() -> Intent:
    """The intent of an applied review."""
    return _Reviewed(_Start()).intent


def _id(what: str, digits: int) -> str:
    """A fixed id that is as long as a random one."""
    return digest(["golden", what])[:digits]


class _Start:
    """A project with one entry, and a job over one turn."""

    def __init__(self) -> None:
        self.root = "/home/ada/orbit"
        self.project = project_key(self.root)
        self.empty = empty_main(self.project)
        add = Add("Use tabs, not spaces.", "project", None, "normal", "tool", _id("entry", 16))
        planned = plan(self.empty, (add,), now_ms=_T0)
        self.branch, self.changes = planned.branch, planned.changes
        self.job = self._job()
        self.attempt = attempt_id(_DAY, self.job.job_id, 1)
        self.worker = _id("worker", 32)
        self.hold = Usage(input_tokens=1_900, output_tokens=2_048, cost_nanodollars=4_250_000)

    def _job(self) -> Job:
        lines = (
            EvidenceLine("e1", "user", "Please remember: the port of the dev server is 4173, not 3000."),
            EvidenceLine("e2", "tool", "read ok"),
            EvidenceLine("e3", "assistant", "Noted: the dev server listens on 4173. Grüße – and no “3000”."),
        )
        turn = EvidenceTurn(turn_id=_id("turn", 32), settled_ms=_T0 + 60_000, cut=False, lines=lines)
        return make_job(
            project=self.project,
            branch_id=self.branch.branch_id,
            evidence=Evidence(host="pi", session=_id("session", 32), turns=(turn,)),
            accepted_ms=_T0 + 61_000,
            release="0.1.0",
        )


class _Reviewed:
    """The review of the job, up to its receipt."""

    def __init__(self, start: _Start) -> None:
        add = AddOp(
            text="The dev server listens on port 4173.",
            key="dev server port",
            evidence=("e1", "e3"),
            rationale="The user asked for it to be remembered.",
        )
        assess = AssessOp(entry=start.branch.entries[0].entry_id, verdict="confirmed", evidence=("e1",))
        proposal = canonical(Proposal(operations=(add, assess))).decode()
        self.result = Result(
            attempt_id=start.attempt,
            job_id=start.job.job_id,
            outcome="proposal",
            detail="2 operations",
            proposal=proposal,
            proposal_digest=digest_bytes(proposal.encode()),
            correction=None,
            usage=Usage(input_tokens=1_720, output_tokens=118, cost_nanodollars=1_012_000),
            retry_after_seconds=None,
            provider_request_id="req_0001",
            settled_ms=_T0 + 64_000,
        )
        self.decision = Decision(
            job_id=start.job.job_id,
            kind="elected",
            reason="",
            job=start.job,
            attempt_id=start.attempt,
            result_digest=record_digest(self.result),
            base_digest=start.branch.digest,
            proposal=proposal,
            attempts=1,
            decided_ms=_T0 + 64_100,
        )
        self.intent = judge(self.decision, start.branch, forgotten=_nothing, now_ms=_T0 + 64_200)
        self.completion = completion(self.intent)
        self.receipt: Receipt = receipt(self.intent, self.completion)

    @property
    def revision(self) -> Revision:
        """The change that the review made. Raises ValueError when it made none."""
        if self.intent.revision is None:
            msg = "the golden review was meant to be applied"
            raise ValueError(msg)
        return self.intent.revision

    @property
    def branch(self) -> Branch:
        """The branch after it. Raises ValueError when it made none."""
        if self.intent.branch is None:
            msg = "the golden review was meant to be applied"
            raise ValueError(msg)
        return self.intent.branch


def _nothing(_text: str, _key: str | None, _settled_ms: int) -> bool:
    """Nothing was forgotten."""
    return False


def _home(start: _Start) -> dict[str, Record]:
    made = Format(
        layout=LAYOUT_VERSION,
        policy=POLICY_VERSION,
        home_id=_id("home", 32),
        machine=_id("machine", 32),
        inode=2_359_297,
        filesystem="ext4",
        filesystem_allowed=False,
        made_ms=_T0,
    )
    return {
        "format": made,
        "home-key": HomeKey(key=_KEY),
        "project": ProjectFile(key=start.project, root=start.root, made_ms=_T0),
        "selected": Selected(name="release-2"),
        "worker": WorkerFile(worker=start.worker, started_ms=_T0 + 62_000),
    }


def _review(start: _Start, done: _Reviewed) -> dict[str, Record]:
    lane = lane_of(start.job.job_id).name
    token = _id("token", 32)
    ended = outcome(done.decision, done.receipt)
    reserved = Reserved(
        attempt_id=start.attempt,
        job_id=start.job.job_id,
        day=_DAY,
        number=1,
        worker=start.worker,
        claim_ordinal=1,
        claim_token=token,
        provider=_PROVIDER,
        model="example-model",
        prompt_version="review-1",
        prices=_id("prices", 16),
        base_digest=start.branch.digest,
        request_digest=digest(["golden", "request"]),
        hold=start.hold,
        reserved_ms=_T0 + 62_500,
        calls=1,
    )
    return {
        "job": start.job,
        "claim": Claim(lane=lane, ordinal=1, worker=start.worker, token=token),
        "reserved": reserved,
        "fate": Fate(attempt_id=start.attempt, fate="dispatched", worker=start.worker, reason=""),
        "result": done.result,
        "decision": done.decision,
        "intent": done.intent,
        "branch": done.branch,
        "revision": done.revision,
        "completion": done.completion,
        "receipt": done.receipt,
        "outcome": ended,
        "event": event(ended, done.revision),
        "shown": Shown(job_id=start.job.job_id, host="pi", session=_id("shown", 32), shown_ms=_T0 + 90_000),
        "released": Released(lane=lane, ordinal=1, token=token),
        "intent-tombstone": intent_tombstone(done.intent),
        "outcome-tombstone": outcome_tombstone(ended),
        "revision-tombstone": revision_tombstone(done.revision),
        "day-totals": DayTotals(
            day=_DAY,
            providers=(ProviderTotal(_PROVIDER, 1, 1, 1_838, 1_012_000),),
            removing=(reserved.attempt_id,),
        ),
    }


def _unhappy(start: _Start, done: _Reviewed) -> dict[str, Record]:
    """Ends that are not the usual one."""
    second = attempt_id(_DAY, start.job.job_id, 2)
    stale = judge(
        _elected(start, base=start.empty.digest), start.branch, forgotten=_nothing, now_ms=_T0 + 70_000
    )
    dropped = msgspec.structs.replace(_elected(start, base=None), kind="dropped", reason="user")
    failed = Result(
        attempt_id=second,
        job_id=start.job.job_id,
        outcome="availability",
        detail="http 429",
        proposal=None,
        proposal_digest=None,
        correction=None,
        usage=Usage(0, 0, 0),
        retry_after_seconds=30,
        provider_request_id=None,
        settled_ms=_T0 + 71_000,
    )
    return {
        "fate.cancelled": Fate(attempt_id=second, fate="cancelled", worker="", reason="owner gone"),
        "result.availability": failed,
        "unknown": Unknown(attempt_id=second),
        "reconciled": Reconciled(
            attempt_id=second,
            reason="The provider's bill of the day lists no such call.",
            usage=Usage(0, 0, 0),
            reconciled_ms=_T0 + 90_000_000,
        ),
        "decision.dropped": dropped,
        "outcome.dropped": outcome(dropped, None),
        "receipt.stale": receipt(stale, completion(stale)),
        "receipt.conflict": receipt(done.intent, completion(done.intent, conflict=True)),
        "uncovered": Uncovered(
            project=start.project, turns=(_id("secret turn", 32),), reason="secret", noted_ms=_T0 + 61_000
        ),
    }


def _elected(start: _Start, *, base: str | None) -> Decision:
    """A decision without a proposal to speak of, for the ends that never look at one."""
    return Decision(
        job_id=start.job.job_id,
        kind="elected",
        reason="",
        job=start.job,
        attempt_id=start.attempt if base is not None else None,
        result_digest=digest(["golden", "result"]) if base is not None else None,
        base_digest=base,
        proposal='{"operations":[]}' if base is not None else None,
        attempts=1 if base is not None else 0,
        decided_ms=_T0 + 69_000,
    )


def _foreground(start: _Start) -> dict[str, Record]:
    """A change that the user made, and a text that was forgotten."""
    transaction = _id("transaction", 32)
    revision = Revision(
        branch_id=start.branch.branch_id,
        seq=start.branch.seq,
        transaction=transaction,
        cause="remember",
        job_id=None,
        undoes=None,
        base_digest=start.empty.digest,
        result_digest=start.branch.digest,
        changes=start.changes,
        notes=(),
        made_ms=_T0,
    )
    intent = Intent(
        transaction=transaction,
        cause="remember",
        job_id=None,
        decision_digest=None,
        verdict="applied",
        reasons=(),
        assessments=(),
        branch_id=start.branch.branch_id,
        base_digest=start.empty.digest,
        result_digest=start.branch.digest,
        branch=start.branch,
        revision=revision,
        successor=None,
        begun_ms=_T0,
    )
    purge = PurgePlan(
        plan_id=_id("purge", 32),
        scope=start.project,
        entries=(start.branch.entries[0].entry_id,),
        revisions=((start.branch.branch_id, start.branch.seq),),
        jobs=(start.job.job_id,),
        results=(start.attempt,),
        copies=(f"quarantine/{start.branch.branch_id}.{_id('copy', 32)}",),
        begun_ms=_T0 + 96_000_000,
    )
    keyed = stone_name(bytes.fromhex(_KEY), "text", start.branch.entries[0].text)
    return {
        "intent.remember": intent,
        "revision.remember": revision,
        "branch.one-entry": start.branch,
        "buried": Buried(what="text", keyed=keyed, forgotten_ms=_T0 + 95_000_000),
        "purge-plan": purge,
    }


def _shaped(start: _Start) -> dict[str, Record]:
    """A branch that is renamed and then removed, and an entry that moves to the user-wide memory."""
    fork = msgspec.structs.replace(
        start.branch, branch_id=_id("fork", 16), name="release-2", parent=start.branch.branch_id, seq=1
    )
    renamed = structural_intent(
        transaction=_id("rename", 32),
        base=fork,
        planned=rename(fork, "release-3", now_ms=_T0 + 97_000_000),
        renamed=Renamed("release-2", "release-3"),
        now_ms=_T0 + 97_000_000,
    )
    removed = structural_intent(
        transaction=_id("remove", 32), base=_branch(renamed), planned=None, now_ms=_T0 + 98_000_000
    )
    there = empty_main("user")
    move = Move(
        move_id=_id("move", 32),
        scope=start.project,
        branch_id=start.branch.branch_id,
        target="user",
        target_branch_id=main_branch_id("user"),
        entries=start.branch.entries,
        begun_ms=_T0 + 99_000_000,
    )
    arriving = structural_intent(
        transaction=move_transaction(move, "in", there),
        base=there,
        planned=place(there, move.entries, now_ms=move.begun_ms),
        moved=moved(move, "in"),
        arrival=arrival(move),
        now_ms=move.begun_ms,
    )
    return {
        "intent2.rename": renamed,
        "revision2.rename": _revision(renamed),
        "intent2.remove": removed,
        "branch2": _tombstone(removed),
        "move": move,
        "arrival": arrival(move),
        "intent2.move": arriving,
        "revision2.move": _revision(arriving),
    }


def _branch(intent: Intent2) -> Branch:
    if intent.branch is None:
        msg = "the golden intent was meant to leave a branch"
        raise ValueError(msg)
    return intent.branch


def _revision(intent: Intent2) -> Revision2:
    if intent.revision is None:
        msg = "the golden intent was meant to have a revision"
        raise ValueError(msg)
    return intent.revision


def _tombstone(intent: Intent2) -> Record:
    if intent.tombstone is None:
        msg = "the golden intent was meant to remove a branch"
        raise ValueError(msg)
    return intent.tombstone
