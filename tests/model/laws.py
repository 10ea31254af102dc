"""What has to hold in every state and over every step of the walk."""

from __future__ import annotations

from perdure.core.admission import Completion, Intent, Outcome, Receipt, Revision
from perdure.core.attempt import TRANSITIONS, Attempt, Fate, Reserved, Result
from perdure.core.decision import Decision
from perdure.core.job import STALE_ENDS_MAX, Job, successor
from perdure.core.memory import empty_main
from perdure.core.record import record_digest
from tests.model.calls import HOLD
from tests.model.moves import Moves
from tests.model.world import PROJECT, Records, State, Violation, day_name

CHANGING = ("branch", "intent/", "done/e", "done/u")
"""The only names whose content may be replaced or removed; of completions, those of foreground writes."""


class Laws:
    """Safety over one world; what follows from the records alone is checked once per set of records."""

    def __init__(self, world: Moves) -> None:
        self._world = world
        self._checked: set[Records] = set()
        self._spending: set[tuple[Records, tuple[tuple[str, str], ...]]] = set()
        self._steps: set[tuple[Records, Records]] = set()

    def state(self, state: State) -> None:
        """Raise Violation for a state that must not be."""
        if state.records not in self._checked:
            self._checked.add(state.records)
            self._one_effect(state.records)
            self._order(state.records)
            self._history(state.records)
            self._attempts(state.records)
        if (state.records, state.sent) not in self._spending:
            self._spending.add((state.records, state.sent))
            self._sends(state)
        self._in_flight(state)

    def step(self, before: State, after: State) -> None:
        """Raise Violation for a step that must not be."""
        if before.records is after.records or (before.records, after.records) in self._steps:
            return
        self._steps.add((before.records, after.records))
        for path, _ in before.records - after.records:
            if not path.startswith(CHANGING):
                raise Violation(f"an immutable record changed or vanished: {path[:16]}")
        old = {a.attempt_id: a for a in self._world.attempts(before.records, "")}
        for attempt in self._world.attempts(after.records, ""):
            earlier = old.get(attempt.attempt_id)
            if earlier is not None and earlier.state != attempt.state:
                _legal(earlier, attempt)

    def _one_effect(self, records: Records) -> None:
        """G-03: over all attempts, crashes, replays and generations."""
        effects = [r for r in self._revisions(records) if r.cause == "review"]
        if len(effects) > 1:
            raise Violation("two proposals took effect for the same evidence")
        for effect in effects:
            decision = self._world.get(records, f"decision/{effect.job_id}", Decision)
            if decision is None or decision.kind != "elected":
                raise Violation("memory changed without an elected decision")
            if effect.base_digest != decision.base_digest:
                raise Violation("a stale proposal took effect")

    def _order(self, records: Records) -> None:
        """What stands left is durable before anything to its right (D-06, D-12)."""
        world, names = self._world, self._world.names(records)
        for path, number in names.items():
            kind, _, name = path.partition("/")
            record = world.record(number)
            match record:
                case Outcome():
                    self._outcome(records, name, record)
                case Decision():
                    self._decision(records, record)
                case Receipt():
                    _need(names, f"done/{name}", f"intent/{name}", why="a receipt before its completion")
                case Completion():
                    _need(names, f"intent/{name}", why="a completion without an intent")
                case Intent() if record.job_id is not None:
                    self._intent(records, record)
                case Result():
                    self._result(records, name)
                case Job() if record.stale_ends > STALE_ENDS_MAX:
                    raise Violation("a third generation after a stale end")
                case _:
                    if kind == "event":
                        _need(names, f"outcome/{name}", why="an event before its outcome")

    def _decision(self, records: Records, decision: Decision) -> None:
        """Failed and invalid attempts never win (D-02, Q-14)."""
        if decision.kind != "elected":
            return
        result = self._world.get(records, f"result/{decision.attempt_id}", Result)
        if result is None or record_digest(result) != decision.result_digest:
            raise Violation("a decision before its result")
        if result.outcome not in {"proposal", "nothing"}:
            raise Violation("an invalid or failed attempt was elected")

    def _intent(self, records: Records, intent: Intent) -> None:
        decision = self._world.get(records, f"decision/{intent.job_id}", Decision)
        if (
            decision is None
            or decision.kind != "elected"
            or record_digest(decision) != intent.decision_digest
        ):
            raise Violation("an intent without its elected decision")
        if decision.job.mode != "admit":
            raise Violation("a job that only observes changes memory")

    def _result(self, records: Records, name: str) -> None:
        attempt = self._world.attempt(records, name)
        if attempt.fate is None or attempt.fate.fate != "dispatched" or attempt.reserved is None:
            raise Violation("a result of a call that was never dispatched")

    def _outcome(self, records: Records, job: str, ended: Outcome) -> None:
        names = self._world.names(records)
        decision = self._world.get(records, f"decision/{job}", Decision)
        if decision is None or record_digest(decision) != ended.decision_digest:
            raise Violation("an outcome before its decision")
        receipt = self._world.get(records, f"receipt/{job}", Receipt)
        admits = decision.kind == "elected" and decision.job.mode == "admit"
        if admits and (receipt is None or receipt.verdict != ended.state):
            raise Violation("an outcome before its receipt")
        if ended.successor is not None:
            _need(names, f"job/{ended.successor}", why="an outcome before the successor that it names")
        if decision.kind == "superseded" and ended.successor != successor(decision.job, stale=False).job_id:
            raise Violation("a superseded job lost its successor")

    def _history(self, records: Records) -> None:
        """M-09, M-11: each revision stands on the one before, and the branch on the last."""
        revisions = sorted(self._revisions(records), key=lambda r: r.seq)
        base = empty_main(PROJECT).digest
        for place, revision in enumerate(revisions, 1):
            if revision.seq != place or revision.base_digest != base:
                raise Violation("a change of memory was lost: the history does not join up")
            base = revision.result_digest
        open_one = bool(self._world.begun(records))
        if not open_one and self._world.branch(records).digest != base:
            raise Violation("the branch is not what its last revision left")

    def _attempts(self, records: Records) -> None:
        open_ones: dict[str, int] = {}
        for attempt in self._world.attempts(records, ""):
            if attempt.open and attempt.reserved is not None:
                open_ones[attempt.reserved.job_id] = open_ones.get(attempt.reserved.job_id, 0) + 1
        if any(count > 1 for count in open_ones.values()):
            raise Violation("two attempts of a job are open")

    def _sends(self, state: State) -> None:
        """A-02, A-03, A-04: who may send, and how often."""
        world = self._world
        if len({name for name, _ in state.sent}) != len(state.sent):
            raise Violation("two requests for one attempt")
        for name, sender in state.sent:
            fate = world.get(state.records, world.fate_path(name, "dispatched", state.records), Fate)
            if fate is None or fate.fate != "dispatched" or fate.worker != sender:
                raise Violation("a request was sent by one who did not create its dispatched record")
            if world.attempt(state.records, name).state == "cancelled":
                raise Violation("an attempt that was dispatched is cancelled")
        for day in range(state.day + 1):
            self._budget(state, day)

    def _budget(self, state: State, day: int) -> None:
        """B-03, B-06: a day is charged with its own calls, and with all whose end is not known."""
        total = self._world.charge(state.records, day).total
        calls = tokens = 0
        for name, _ in state.sent:
            attempt = self._world.attempt(state.records, name)
            result = attempt.result
            ended = result is not None or attempt.reconciled is not None
            if name[:8] >= day_name(day) or not ended:
                calls += 1
                usage = result.usage if result is not None else None
                tokens += usage.tokens if usage is not None else HOLD.tokens
        if total.calls < calls:
            raise Violation("the budget counts fewer calls than were sent")
        if total.tokens < tokens:
            raise Violation("the budget counts fewer tokens than may have been spent")
        limit = self._world.bounds.calls_per_day
        if limit is not None and day == state.day and total.calls > limit:
            raise Violation("the daily limit is passed")

    def _in_flight(self, state: State) -> None:
        """Rule 11: no second request while a living sender waits for the first."""
        flying = [w for w in state.workers if w.at == "sent" and w.name not in state.gone]
        if len(flying) > 1:
            raise Violation("two requests of a lane are in flight")

    def _revisions(self, records: Records) -> list[Revision]:
        names = self._world.names(records)
        found = [self._world.record(n) for path, n in names.items() if path.startswith("revision/")]
        return [record for record in found if isinstance(record, Revision)]


def _legal(earlier: Attempt, later: Attempt) -> None:
    """A-01, by the product's own table; a late result may come after the unknown end was reconciled."""
    if later.state not in TRANSITIONS[earlier.state].values():
        raise Violation(f"an attempt went from {earlier.state} to {later.state}")
    if later.state == "settled" and not isinstance(later.reserved, Reserved):
        raise Violation("an attempt settled without a reservation")


def _need(names: dict[str, int], *paths: str, why: str) -> None:
    for path in paths:
        if path not in names:
            raise Violation(why)
