"""Proposals: typed operations from a reviewer, harmless until admitted (D-04).

`parse_proposal` reads a reviewer's raw output against the published schema and against what the reviewer
was shown. Output that does not fit the schema is `Malformed`, with guidance for a corrective retry; it is
never taken for "nothing to remember" (Q-14). An operation that cannot be is left out, and the others go on.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

import msgspec

from perdure.core.text import check_entry_text, check_key
from perdure.errors import TextRefused

OPERATIONS_MAX = 8
PROPOSAL_CHARS_MAX = 64_000
RATIONALE_CHARS_MAX = 400
KIND_CHARS_MAX = 40

_PLACE = re.compile(r"(?:\.[a-z]{1,12}|\[(?:\d+|\.\.\.)\])*")

ImportanceName = Literal["high", "normal", "low"]
Verdict = Literal["confirmed", "contradicted", "outdated"]


class _Operation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op", kw_only=True, omit_defaults=True
):
    evidence: tuple[str, ...]
    rationale: str = ""


class AddOp(_Operation, frozen=True, tag="add", kw_only=True):
    """A new entry."""

    text: str
    kind: str = "project"
    key: str | None = None
    importance: ImportanceName = "normal"


class ReplaceOp(_Operation, frozen=True, tag="replace", kw_only=True):
    """New text for one entry."""

    entry: str
    text: str
    key: str | None = None
    importance: ImportanceName | None = None


class RemoveOp(_Operation, frozen=True, tag="remove", kw_only=True):
    """One entry is no longer true."""

    entry: str


class MergeOp(_Operation, frozen=True, tag="merge", kw_only=True):
    """Several entries become one: the first keeps its id and takes the text."""

    entries: tuple[str, ...]
    text: str
    key: str | None = None
    importance: ImportanceName | None = None


class AssessOp(_Operation, frozen=True, tag="assess", kw_only=True):
    """What the evidence says of one entry; changes no text."""

    entry: str
    verdict: Verdict


Operation = AddOp | ReplaceOp | RemoveOp | MergeOp | AssessOp


class Proposal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one review proposes; no operations means nothing to remember."""

    operations: tuple[Operation, ...]


class Parsed(msgspec.Struct, frozen=True):
    """A proposal, less the operations that cannot be. `left_out` says of each why, without quoting it."""

    proposal: Proposal
    left_out: tuple[str, ...] = ()


class Malformed(msgspec.Struct, frozen=True):
    """Output that is no proposal. `guidance` tells the reviewer what to correct, without quoting it."""

    guidance: str


def parse_proposal(
    text: str,
    *,
    evidence_ids: Collection[str],
    entry_ids: Collection[str],
    operations_max: int = OPERATIONS_MAX,
) -> Parsed | Malformed:
    """Read a reviewer's raw output. `entry_ids` are the entries it was shown.

    When none of its operations can be, it is malformed.
    """
    if len(text) > PROPOSAL_CHARS_MAX:
        return Malformed(f"the answer has {len(text)} characters, at most {PROPOSAL_CHARS_MAX} are read")
    try:
        proposal = msgspec.json.decode(_unfenced(text).encode("utf-8"), type=Proposal)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Malformed(f"the answer must be one JSON object of the schema: {_schema_fault(str(error))}")
    if len(proposal.operations) > operations_max:
        return Malformed(f"{len(proposal.operations)} operations, at most {operations_max} are allowed")
    faults = [
        check_operation(operation, evidence_ids=evidence_ids, entry_ids=entry_ids)
        for operation in proposal.operations
    ]
    left_out = tuple(f"operation {number}: {fault}" for number, fault in enumerate(faults, 1) if fault)
    kept = tuple(operation for operation, fault in zip(proposal.operations, faults, strict=True) if not fault)
    if left_out and not kept:
        return Malformed("; ".join(left_out))
    return Parsed(Proposal(kept), left_out)


def check_operation(
    operation: Operation, *, evidence_ids: Collection[str], entry_ids: Collection[str]
) -> str | None:
    """What is wrong with one operation, or None. The same check runs at parsing and at admission (D-05)."""
    if not operation.evidence:
        return "it names no evidence"
    strange = [name for name in operation.evidence if name not in evidence_ids]
    if strange:
        return f"{len(strange)} of its lines of evidence were not shown"
    gone = [name for name in targets(operation) if name not in entry_ids]
    if gone:
        return f"{len(gone)} of its entries are not on the branch"
    if isinstance(operation, MergeOp) and len(set(operation.entries)) < 2:  # noqa: PLR2004 - "several"
        return "a merge needs at least two different entries"
    if len(operation.rationale) > RATIONALE_CHARS_MAX:
        return f"a rationale has at most {RATIONALE_CHARS_MAX} characters"
    return _text_fault(operation)


def targets(operation: Operation) -> tuple[str, ...]:
    """The entries an operation is about."""
    if isinstance(operation, MergeOp):
        return operation.entries
    return () if isinstance(operation, AddOp) else (operation.entry,)


def check_kind(kind: str) -> str | None:
    """What is wrong with a kind's name, or None."""
    if not kind or len(kind) > KIND_CHARS_MAX or not kind.replace("-", "").replace("_", "").isalnum():
        return f"a kind is a word of letters, digits, - and _, at most {KIND_CHARS_MAX} long"
    from perdure.core.secrets import find_secrets

    if find_secrets(kind):
        return "a kind must not look like a secret"
    return None


def _text_fault(operation: Operation) -> str | None:
    from perdure.core.text_meaning import check_fact

    try:
        if isinstance(operation, AddOp | ReplaceOp | MergeOp):
            check_entry_text(operation.text)
            if operation.key is not None:
                check_fact(check_key(operation.key), operation.text)
        check_entry_text(operation.rationale or "none")
    except TextRefused as refused:
        return refused.message
    return check_kind(operation.kind) if isinstance(operation, AddOp) else None


def _schema_fault(fault: str) -> str:
    """What does not fit the schema, and where, without a word of the answer itself."""
    reason, _, where = fault.rpartition(" - at `$")
    place = f" at ${where[:-1]}" if reason and _PLACE.fullmatch(where[:-1]) else ""
    reason = reason or where
    for quoting in ("Object contains unknown field", "Invalid value", "Invalid enum value"):
        if reason.startswith(quoting):
            reason = quoting
    return f"{reason}{place}"


def _unfenced(text: str) -> str:
    """Models often wrap JSON in one Markdown code fence; take that off and nothing else."""
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and "\n" in body:
        return body.split("\n", 1)[1].rsplit("```", 1)[0]
    return body
