"""The foreground writer of the world, and the transactions that it and the workers roll forward."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perdure.core import memory
from perdure.core.admission import Intent, Revision
from perdure.core.admission import intent_tombstone as tombstone_of
from perdure.core.job import Job
from perdure.core.transaction import Compact, Complete, Finished, PutBranch, PutReceipt, PutRevision
from tests.model.world import NOW_MS, Move, Records, State, Violation, World


class Foreground(World):
    """The world with a writer who adds and undoes."""

    # -- what the ports do

    def elect_decision(self, records: Records, job: str, number: int) -> tuple[Records, bool]:
        """The first decision stands."""
        return self.elect(records, f"decision/{job}", number)

    def accept(self, records: Records, job: Job) -> Records:
        """Publish a job."""
        return self.elect(records, f"job/{job.job_id}", self.number(job))[0]

    def free(self, state: State) -> bool:
        """Whether the project's lock can be taken."""
        return not state.lock

    def roll(self, records: Records, name: str) -> tuple[Records, bool]:
        """One step of a transaction; True at its end."""
        step = self.transaction_step(records, name)
        match step:
            case PutBranch():
                return self.replace(records, "branch", self.number(step.branch)), False
            case PutRevision():
                revision = step.intent.revision
                if revision is None:
                    raise Violation("a revision is wanted that the intent does not hold")
                return self.derive(records, f"revision/{revision.seq:08d}", self.number(revision)), False
            case Complete():
                if step.completion.conflict:
                    raise Violation("conflict: the branch was neither base nor result under the lock")
                return self.derive(records, f"done/{name}", self.number(step.completion)), False
            case PutReceipt():
                return self.derive(records, f"receipt/{name}", self.number(step.receipt)), False
            case Compact():
                return self._compacted(records, step.intent), True
            case Finished():
                return records, True
            case _:
                raise Violation(f"a step that this world does not know: {step}")

    def _compacted(self, records: Records, intent: Intent) -> Records:
        path = f"intent/{intent.transaction}"
        if intent.job_id is not None:
            return self.replace(records, path, self.number(tombstone_of(intent)))
        return self.replace(self.replace(records, path, None), f"done/{intent.transaction}", None)

    # -- the writer

    def writer_moves(self, state: State) -> Iterator[Move]:
        """Add, undo, step, or die."""
        at, what = state.writer
        if at == "idle":
            if self.free(state) and state.left.edits:
                yield self._enter(state, f"e{state.left.edits}", "edits")
            if self.free(state) and state.left.undos and self._reviewed(state.records) is not None:
                yield self._enter(state, f"u{state.left.undos}", "undos")
            if self.free(state) and self.begun(state.records):
                visit = state._replace(writer=("in", ""), lock="w")
                yield Move("the writer locks only to finish what was begun", visit)
            return
        yield self.writer_step(state, at, what)
        if state.left.crashes:
            left = state.left._replace(crashes=state.left.crashes - 1)
            yield Move("the writer dies", state._replace(writer=("idle", ""), lock="", left=left), fault=True)

    def _enter(self, state: State, what: str, field: str) -> Move:
        left: int = getattr(state.left, field)
        after = state.left._replace(**{field: left - 1})
        return Move(
            f"the writer locks for {what}",
            state._replace(writer=("in", what), lock="w", left=after),
            fault=True,
        )

    def writer_step(self, state: State, at: str, what: str) -> Move:
        """The next step of a writer who holds the lock."""
        records = state.records
        if at == "in":
            open_ones = self.open_transactions(records)
            if open_ones:
                records, _ = self.roll(records, open_ones[0])
                return Move("the writer rolls forward", state._replace(records=records))
            planned = self._planned_write(records, what) if what else None
            if planned is None:
                return Move("the writer has nothing to do", state._replace(writer=("idle", ""), lock=""))
            after = state._replace(writer=(f"begin {planned}", what))
            return Move("the writer plans", after)
        if at.startswith("begin "):
            records, _ = self.elect(records, f"intent/{what}", int(at[6:]))
            return Move("the writer begins", state._replace(records=records, writer=("roll", what)))
        records, done = self.roll(records, what)
        after = state._replace(records=records)
        if done:
            after = after._replace(writer=("idle", ""), lock="")
        return Move("the writer steps", after)

    def open_transactions(self, records: Records) -> list[str]:
        """What the writer finishes first (rule 5)."""
        return self.begun(records)

    def _reviewed(self, records: Records) -> Revision | None:
        found = [self.record(n) for path, n in self.names(records).items() if path.startswith("revision/")]
        mine = [r for r in found if isinstance(r, Revision) and r.cause == "review"]
        return mine[-1] if mine else None

    def _planned_write(self, records: Records, what: str) -> int | None:
        base = self.branch(records)
        if what[0] == "e":
            add = memory.Add(f"Note {what}.", "user", None, "normal", "tool", what)
            planned = memory.plan(base, (add,), now_ms=NOW_MS)
        else:
            reviewed = self._reviewed(records)
            if reviewed is None:
                return None
            try:
                planned = memory.invert(base, reviewed.changes, now_ms=NOW_MS)
            except memory.EditRefused:
                return None
        return self.number(write_intent(base, planned, what))


def write_intent(base: memory.Branch, planned: memory.Planned, name: str) -> Intent:
    """The intent of a foreground write."""
    after = planned.branch
    revision = Revision(
        branch_id=after.branch_id,
        seq=after.seq,
        transaction=name,
        cause="remember" if name[0] == "e" else "undo",
        job_id=None,
        undoes=None,
        base_digest=base.digest,
        result_digest=after.digest,
        changes=planned.changes,
        notes=(),
        made_ms=NOW_MS,
    )
    return Intent(
        transaction=name,
        cause=revision.cause,
        job_id=None,
        decision_digest=None,
        verdict="applied",
        reasons=(),
        assessments=(),
        branch_id=after.branch_id,
        base_digest=base.digest,
        result_digest=after.digest,
        branch=msgspec.structs.replace(after),
        revision=revision,
        successor=None,
        begun_ms=NOW_MS,
    )
