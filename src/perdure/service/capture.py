"""Capture: from the turns of a session to durable review jobs (G-01, E-01, E-09, rule 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from perdure.core.evidence import Evidence, RawTurn, Skipped, Windows
from perdure.core.job import Job, make_job
from perdure.core.windows import windows
from perdure.errors import Refused, StorageError
from perdure.ports.clock import Clock
from perdure.ports.coverage import Coverage, HeldCoverage, Uncovered


class Captured(msgspec.Struct, frozen=True):
    """What one capture did, or would do. `accepted` and `duplicates` count windows: new jobs, and jobs that
    already hold turns of this session. `skipped_turns` are not evidence and never will be unless the session
    file changes; `uncovered_turns` could not become a job and count as covered.
    """

    accepted: int
    duplicates: int
    windows: int
    turns_accepted: int
    skipped_turns: tuple[Skipped, ...]
    uncovered_turns: tuple[Skipped, ...]
    jobs: tuple[str, ...]
    problems: tuple[str, ...]
    dry_run: bool
    evidence: tuple[Evidence, ...]


class CaptureService:
    """Takes the settled turns of sessions in, for one project's branch."""

    def __init__(self, coverage: Coverage, *, clock: Clock, release: str) -> None:
        self._coverage, self._clock, self._release = coverage, clock, release

    def capture(
        self,
        *,
        host: str,
        session: str,
        turns: Sequence[RawTurn],
        project: str,
        branch_id: str,
        mode: Literal["admit", "observe"] = "admit",
        dry_run: bool = False,
    ) -> Captured:
        """Accept a job for every unreviewed window, oldest first. A dry run stores nothing.

        Planned freely, committed under the coverage lock, planned again if turns were taken meanwhile.
        """
        before = dict(self._coverage.covered(project))
        planned = windows(host, session, turns, before)
        if dry_run:
            return _report(planned, turns, before, (), (), dry_run=True)
        jobs: list[str] = []
        problems: list[str] = []
        with self._coverage.hold(project) as held:
            taken = held.covered()
            if any(turn.turn_id in taken and turn.turn_id not in before for turn in turns):
                before = dict(taken)
                planned = windows(host, session, turns, before)
            before = dict(taken)
            for evidence in planned.evidence:
                job = make_job(
                    project=project,
                    branch_id=branch_id,
                    evidence=evidence,
                    accepted_ms=self._clock.now_ms(),
                    release=self._release,
                    mode=mode,
                )
                problem = self._accept(held, job)
                if problem is None:
                    jobs.append(job.job_id)
                else:
                    problems.append(problem)
            for left_out in planned.uncovered:
                self._leave_out(held, project, left_out.turn_id, left_out.reason)
        return _report(planned, turns, before, tuple(jobs), tuple(problems), dry_run=False)

    def _accept(self, held: HeldCoverage, job: Job) -> str | None:
        """One window that cannot become a job never stops the next ones (E-09); the reason is returned."""
        try:
            held.accept(job)
        except Refused as refused:
            for turn in job.evidence.turns:
                self._leave_out(held, job.project, turn.turn_id, refused.code)
            return refused.message
        except StorageError as error:
            if error.code not in {"damaged", "conflict", "newer"}:
                raise
            return error.message
        return None

    def _leave_out(self, held: HeldCoverage, project: str, turn: str, reason: str) -> None:
        held.note_uncovered(
            Uncovered(project=project, turns=(turn,), reason=reason, noted_ms=self._clock.now_ms())
        )


def _report(
    planned: Windows,
    turns: Sequence[RawTurn],
    before: dict[str, str],
    jobs: tuple[str, ...],
    problems: tuple[str, ...],
    *,
    dry_run: bool,
) -> Captured:
    known = {before[turn.turn_id] for turn in turns if turn.turn_id in before}
    places = {turn.turn_id: turn.position for turn in turns}
    left_out = tuple(
        Skipped(turn_id=u.turn_id, position=places.get(u.turn_id, -1), reason=u.reason)
        for u in planned.uncovered
    )
    return Captured(
        accepted=0 if dry_run else len(jobs),
        duplicates=len(known),
        windows=len(planned.evidence) + len(known),
        turns_accepted=sum(len(evidence.turns) for evidence in planned.evidence),
        skipped_turns=planned.skipped,
        uncovered_turns=left_out,
        jobs=jobs,
        problems=problems,
        dry_run=dry_run,
        evidence=planned.evidence,
    )
