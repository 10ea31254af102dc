"""What the offline reviewer proposes: its findings set against the memory they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from perdure.core.evidence import EvidenceLine
from perdure.core.proposal import AddOp, AssessOp, Operation, ReplaceOp, check_operation
from perdure.ports.provider import MemoryView, ReviewRequest
from perdure.provider.rule_findings import Finding, confirmed_command, read_message
from perdure.provider.rule_memory import relate


def operations_for(request: ReviewRequest) -> tuple[Operation, ...]:
    """What the window's human lines plainly state, as operations that pass the checks of admission."""
    return tuple(_admissible(_found(request), request))


def findings(evidence: Sequence[EvidenceLine]) -> tuple[Finding, ...]:
    """All durable statements of a window in the order they were made, less those that were taken back."""
    stated: list[Finding] = []
    before: list[Finding] = []  # of the human line before
    for place, line in enumerate(evidence):
        if line.role != "user":
            continue
        read = read_message(line.text, line.line_id)
        if not read.retracts_before:
            stated.extend(before)
        confirmed = _confirmed(evidence, place)
        before = [*read.findings, *([] if confirmed is None else [confirmed])]
    return (*stated, *before)


def _confirmed(evidence: Sequence[EvidenceLine], place: int) -> Finding | None:
    """A command that a human named, that ran well, and that the human then said to keep."""
    earlier = [number for number in range(place) if evidence[number].role == "user"]
    if not earlier:
        return None
    asked = earlier[-1]
    ran = [line for line in evidence[asked:place] if line.role == "tool"]
    if not ran or not ran[-1].text.endswith(" ok"):
        return None
    text = confirmed_command(evidence[asked].text, evidence[place].text)
    if text is None:
        return None
    names = (evidence[asked].line_id, ran[-1].line_id, evidence[place].line_id)
    return Finding(text, kind="project", key=None, importance="high", rationale="command", evidence=names)


def _found(request: ReviewRequest) -> list[Operation]:
    """One operation for each finding that counts, the most important first."""
    current = _latest(findings(request.evidence))
    operations: list[Operation] = []
    for finding in sorted(current, key=lambda each: each.rank):
        relation = relate(finding, request.memory)
        if relation.entry is None:
            operations.append(_add(finding))
        elif relation.standing == "same":
            operations.append(_confirm(finding, relation.entry))
        else:
            operations.append(_replace(finding, relation.entry))
    return operations


def _latest(stated: Iterable[Finding]) -> list[Finding]:
    """Drop repetitions, and what a later statement of the same window replaces."""
    kept: list[Finding] = []
    for finding in stated:
        views = [
            MemoryView(str(number), held.kind, held.key, held.importance, held.text)
            for number, held in enumerate(kept)
        ]
        relation = relate(finding, views)
        if relation.entry is None:
            kept.append(finding)
        elif relation.standing == "same":
            number = int(relation.entry.entry_id)
            first = kept[number]
            best = min(first, finding, key=lambda each: each.rank)
            kept[number] = msgspec.structs.replace(best, evidence=(*first.evidence, *finding.evidence))
        else:
            del kept[int(relation.entry.entry_id)]
            kept.append(finding)
    return kept


def _add(finding: Finding) -> AddOp:
    return AddOp(
        text=finding.text,
        kind=finding.kind,
        key=finding.key,
        importance=finding.importance,
        evidence=finding.evidence,
        rationale=finding.rationale,
    )


def _replace(finding: Finding, entry: MemoryView) -> ReplaceOp:
    return ReplaceOp(
        entry=entry.entry_id, text=finding.text, evidence=finding.evidence, rationale=finding.rationale
    )


def _confirm(finding: Finding, entry: MemoryView) -> AssessOp:
    return AssessOp(
        entry=entry.entry_id, verdict="confirmed", evidence=finding.evidence, rationale=finding.rationale
    )


def _admissible(operations: Iterable[Operation], request: ReviewRequest) -> Iterable[Operation]:
    """Yield what passes the checks of admission, at most `operations_max`; an entry is met once.

    Whether it fits the branch is for admission to say, which names what did not: it is not dropped here.
    """
    entries = {entry.entry_id for entry in request.memory}
    shown = [line.line_id for line in request.evidence]
    left, met = request.operations_max, set[str]()
    for operation in operations:
        target = getattr(operation, "entry", None)
        if left <= 0:
            return
        if target in met or check_operation(operation, evidence_ids=shown, entry_ids=entries):
            continue
        if target is not None:
            met.add(target)
        left -= 1
        yield operation
