"""Targets: the files of records, their bodies, and a reviewer's proposals."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.core.admission import (
    Intent,
    Outcome,
    Revision,
    intent_tombstone,
    outcome_tombstone,
    revision_tombstone,
)
from perdure.core.attempt import Attempt, Fate, Reserved, Result
from perdure.core.budget import charge, exposure, month_cost, unresolved
from perdure.core.canonical import canonical, digest_bytes
from perdure.core.decision import Decision
from perdure.core.job import Job, check_identity, lane_of, successor, turn_ids
from perdure.core.memory import Branch, find_key
from perdure.core.proposal import Malformed as NoProposal
from perdure.core.proposal import parse_proposal
from perdure.core.record import Record, Unreadable, seal, unseal
from tests.fuzz.mutation import change_bytes, change_json, mostly
from tests.fuzz.target import Target, as_json, text_of, tried
from tools.protocol_schemas import record_types

GOLDEN = Path(__file__).resolve().parents[2] / "protocol/golden/v1"
_BREAK = b"\n"


@functools.cache
def kinds() -> Mapping[str, type[Record]]:
    """Every kind of record by its name and, past the first, its version: "branch", "branch.2"."""
    record_types()  # imports every module that has one
    found: dict[str, type[Record]] = {}
    waiting = [Record]
    while waiting:
        record_type = waiting.pop()
        waiting += record_type.__subclasses__()
        if record_type.KIND:
            found[_name(record_type.KIND, record_type.VERSION)] = record_type
    return dict(sorted(found.items()))


def _name(kind: str, version: int) -> str:
    return kind if version == 1 else f"{kind}.{version}"


def kind_of(data: bytes) -> str:
    """Which of `kinds` a sealed record is."""
    envelope = msgspec.json.decode(data, type=_Envelope)
    return _name(envelope.kind, envelope.version)


class _Envelope(msgspec.Struct):
    kind: str
    version: int


@functools.cache
def golden() -> Mapping[str, bytes]:
    """The published golden files."""
    return {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("*.json"))}


def body_of(data: bytes) -> bytes:
    """The body of a sealed record as it stands in the file."""
    return data[len(b'{"body":') : data.rindex(b',"digest":"')]


def sealed(kind: str, body: bytes) -> bytes:
    """A record's file around any body, its digest right: what reading gets past before it parses."""
    found = kinds()[kind]
    return b'{"body":%b,"digest":"%b","kind":"%b","version":%d}' % (
        body,
        digest_bytes(body).encode(),
        found.KIND.encode(),
        found.VERSION,
    )


# -- records


def check_records(data: bytes) -> None:
    """Bytes as a file of each kind: refused with a short reason, or exactly what `seal` writes."""
    for record_type in kinds().values():
        _unsealed(data, record_type)


def check_bodies(data: bytes) -> None:
    """A kind, a line break, and a body under a right digest: nothing but the canonical form is accepted."""
    name, _, body = data.partition(_BREAK)
    chosen = name.decode("ascii", "replace")
    for kind in (chosen,) if chosen in kinds() else kinds():
        record = _unsealed(sealed(kind, body), kinds()[kind])
        if record is not None:
            _derive(record)


def _unsealed(data: bytes, record_type: type[Record]) -> Record | None:
    found = tried(lambda: unseal(data, record_type), Unreadable)
    if isinstance(found, Unreadable):
        assert len(found.reason) < 200
        return None
    assert seal(found) == data
    return found


def _derive(record: Record) -> None:
    """What is computed from a record that was read never fails, whatever its fields say."""
    match record:
        case Job():
            if check_identity(record) is None:
                assert turn_ids(record)
                assert check_identity(successor(record, stale=True)) is None
                assert lane_of(record.job_id).name == record.job_id[12:44]
        case Reserved() | Fate() | Result():
            attempt = Attempt(
                reserved=record if isinstance(record, Reserved) else None,
                fate=record if isinstance(record, Fate) else None,
                result=record if isinstance(record, Result) else None,
                attempt_id=record.attempt_id,
            )
            assert unresolved(attempt) in (True, False)
            assert exposure(attempt).total == exposure(attempt).total
            charge([attempt], provider="p", day="20260101")
            month_cost([attempt], provider="p", day="20260101")
        case Decision():
            successor(record.job, stale=False)
        case Branch():
            assert len(record.digest) == 64
            assert record.chars >= 0
            find_key(record, "key")
        case Revision():
            revision_tombstone(record)
        case Intent():
            intent_tombstone(record)
        case Outcome():
            outcome_tombstone(record)
        case _:
            pass


def _body_seeds() -> Mapping[str, bytes]:
    return {stem: kind_of(data).encode() + _BREAK + body_of(data) for stem, data in golden().items()}


def change_body(data: bytes, chance: random.Random) -> bytes:
    """Change a body as JSON and write it canonically, mostly; sometimes leave the foreign form."""
    name, _, body = data.partition(_BREAK)
    return name + _BREAK + canonical_or_not(change_json(body, chance), chance)


def canonical_or_not(body: bytes, chance: random.Random) -> bytes:
    """The canonical form of JSON, if it has one and the dice say so."""
    if chance.randrange(8) == 0:
        return change_bytes(body, chance)
    try:
        return canonical(msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return body


# -- proposals

_EVIDENCE = ("e1", "e2", "e3")
_ENTRIES = ("a" * 16, "b" * 16)
_OPERATIONS = (
    {
        "op": "add",
        "text": "Use pnpm.",
        "evidence": ["e1"],
        "kind": "project",
        "key": "packages",
        "importance": "high",
    },
    {
        "op": "replace",
        "entry": "a" * 16,
        "text": "The port is 4100.",
        "evidence": ["e2"],
        "rationale": "said so",
    },
    {"op": "remove", "entry": "b" * 16, "evidence": ["e3"]},
    {"op": "merge", "entries": ["a" * 16, "b" * 16], "text": "Both.", "evidence": ["e1", "e2"]},
    {"op": "assess", "entry": "a" * 16, "verdict": "confirmed", "evidence": ["e1"]},
)


def check_proposal(data: bytes) -> None:
    """A reviewer's text: a proposal that reads the same from its own canonical form, or guidance."""
    found = parse_proposal(text_of(data), evidence_ids=_EVIDENCE, entry_ids=_ENTRIES)
    if isinstance(found, NoProposal):
        assert 0 < len(found.guidance) < 2_000
        assert found.guidance.isprintable()
        return
    again = parse_proposal(canonical(found.proposal).decode(), evidence_ids=_EVIDENCE, entry_ids=_ENTRIES)
    assert not isinstance(again, NoProposal)
    assert again.proposal == found.proposal
    assert again.left_out == ()


def _proposal_seeds() -> Mapping[str, bytes]:
    whole = as_json({"operations": _OPERATIONS})
    alone = {str(one["op"]): as_json({"operations": [one]}) for one in _OPERATIONS}
    return {
        "all": whole,
        "nothing": as_json({"operations": []}),
        "fenced": b"```json\n" + whole + b"\n```",
        **alone,
    }


TARGETS = (
    Target("records", check_records, golden, examples=60),
    Target("bodies", check_bodies, _body_seeds, change_body, examples=300),
    Target("proposal", check_proposal, _proposal_seeds, mostly(change_json), examples=150),
)
