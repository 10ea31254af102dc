"""Small valid records for tests: each builder takes what the test is about and fills in the rest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

from perdure.core.attempt import Fate, Reconciled, Reserved, Result, ResultClass, Usage, attempt_id
from perdure.core.canonical import canonical, digest_bytes
from perdure.core.decision import Decision, DecisionKind
from perdure.core.evidence import Evidence, EvidenceLine, EvidenceTurn
from perdure.core.job import Job, make_job
from perdure.core.memory import Branch, Entry, Importance, empty_main, main_branch_id
from perdure.core.proposal import Operation, Proposal
from perdure.core.record import record_digest

PROJECT = "ab" * 8
MAIN_ID = main_branch_id(PROJECT)
DAY = "20260301"
NOW_MS = 1_772_000_000_000
HOLD = Usage(600, 400, 5_000)


class Counting:
    """The Ids port: names that count up, the same in every run."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def token(self, digits: int) -> str:
        """See `Ids.token`."""
        return f"{next(self._next):0{digits}x}"[-digits:]


class Hand:
    """The Clock port: it stands until a test moves it."""

    def __init__(self) -> None:
        self.wall_ms, self.seconds, self.boot = NOW_MS, 100.0, "boot-1"

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return self.wall_ms

    def boot_seconds(self) -> float:
        """See `Clock.boot_seconds`."""
        return self.seconds

    def boot_id(self) -> str:
        """See `Clock.boot_id`."""
        return self.boot

    def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        self.seconds += seconds
        self.wall_ms += int(seconds * 1000)


def evidence(
    *texts: str, turn: str = "a1", settled_ms: int = 1_000, session: str = "0" * 32, turns: int = 1
) -> Evidence:
    """Evidence of `turns` turns; the first holds the texts as lines e1, e2, ..."""
    lines = tuple(EvidenceLine(f"e{n}", "user", text) for n, text in enumerate(texts or ("We use pnpm.",), 1))
    made = [EvidenceTurn(turn, settled_ms, cut=False, lines=lines)]
    made += [EvidenceTurn(f"{turn}{n}", settled_ms + n, cut=False, lines=()) for n in range(1, turns)]
    return Evidence(host="pi", session=session, turns=tuple(made))


def job(
    seen: Evidence | None = None,
    *,
    project: str = PROJECT,
    branch_id: str = MAIN_ID,
    accepted_ms: int = NOW_MS,
    release: str = "1",
    mode: Literal["admit", "observe"] = "admit",
) -> Job:
    """A first generation."""
    return make_job(
        project=project,
        branch_id=branch_id,
        evidence=seen or evidence(),
        accepted_ms=accepted_ms,
        release=release,
        mode=mode,
    )


def reserved(
    owner: Job,
    number: int = 1,
    *,
    worker: str = "w1",
    day: str = DAY,
    hold: Usage = HOLD,
    provider: str = "model",
    base: str = "",
    reserved_ms: int = NOW_MS,
) -> Reserved:
    """A reservation."""
    return Reserved(
        attempt_id=attempt_id(day, owner.job_id, number),
        job_id=owner.job_id,
        day=day,
        number=number,
        worker=worker,
        claim_ordinal=1,
        claim_token="",
        provider=provider,
        model="m",
        prompt_version="1",
        prices="p",
        base_digest=base or empty_main(PROJECT).digest,
        request_digest="0" * 64,
        hold=hold,
        reserved_ms=reserved_ms,
        calls=1,
    )


def fate(of: Reserved, which: Literal["dispatched", "cancelled"], *, worker: str = "") -> Fate:
    """One of the two fates of an attempt."""
    return Fate(attempt_id=of.attempt_id, fate=which, worker=worker or of.worker, reason="")


def result(
    of: Reserved,
    outcome: ResultClass = "nothing",
    *,
    proposal: str | None = None,
    usage: Usage | None = HOLD,
    correction: str | None = None,
    retry_after_seconds: int | None = None,
    settled_ms: int = NOW_MS,
) -> Result:
    """The result of an attempt."""
    return Result(
        attempt_id=of.attempt_id,
        job_id=of.job_id,
        outcome=outcome,
        detail="",
        proposal=proposal,
        proposal_digest=digest_bytes(proposal.encode()) if proposal is not None else None,
        correction=correction,
        usage=usage,
        retry_after_seconds=retry_after_seconds,
        provider_request_id=None,
        settled_ms=settled_ms,
    )


def reconciled(of: Reserved, usage: Usage = HOLD) -> Reconciled:
    """The user's word on an attempt."""
    return Reconciled(attempt_id=of.attempt_id, reason="checked the bill", usage=usage, reconciled_ms=NOW_MS)


def decision(
    of: Job,
    *operations: Operation,
    base: Branch | None = None,
    kind: DecisionKind = "elected",
    reason: str = "",
    proposal: str | None = None,
    decided_ms: int = NOW_MS,
) -> Decision:
    """The election of a proposal of these operations, made on `base` (by default an empty main)."""
    elected = kind == "elected"
    text = canonical(Proposal(operations)).decode() if proposal is None else proposal
    shown = base if base is not None else empty_main(of.project)
    winner = reserved(of)
    return Decision(
        job_id=of.job_id,
        kind=kind,
        reason=reason,
        job=of,
        attempt_id=winner.attempt_id if elected else None,
        result_digest=record_digest(result(winner, "proposal", proposal=text)) if elected else None,
        base_digest=shown.digest if elected else None,
        proposal=text if elected else None,
        attempts=1,
        decided_ms=decided_ms,
    )


def entry(
    text: str = "Use pnpm.",
    *,
    entry_id: str = "e" * 16,
    key: str | None = None,
    kind: str = "project",
    importance: Importance = "normal",
    updated_ms: int = 1,
) -> Entry:
    """An entry."""
    return Entry(
        entry_id=entry_id,
        text=text,
        kind=kind,
        key=key,
        importance=importance,
        origin="tool",
        created_ms=1,
        updated_ms=updated_ms,
    )


def branch(
    entries: Sequence[Entry] = (), *, seq: int = 3, name: str = "main", branch_id: str = MAIN_ID
) -> Branch:
    """A branch of the project."""
    return Branch(
        branch_id=branch_id,
        project=PROJECT,
        name=name,
        parent=None,
        seq=seq,
        changed_ms=5,
        entries=tuple(entries),
    )
