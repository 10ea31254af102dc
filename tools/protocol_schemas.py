"""JSON Schemas (draft 2020-12) of the records, from their types and the bounds below.

The shape comes from the record types themselves, so that a field cannot be forgotten. What a type cannot say
(digits of an id, bounds, how long a text may be) stands in `BOUNDS`, by field name or by `Type.field`; a
string or integer without an entry is a mistake and stops the generation.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec

import perdure
from perdure.core.job import STALE_ENDS_MAX
from perdure.core.proposal import (
    KIND_CHARS_MAX,
    OPERATIONS_MAX,
    PROPOSAL_CHARS_MAX,
    RATIONALE_CHARS_MAX,
    MergeOp,
    Proposal,
)
from perdure.core.record import Record
from perdure.core.sanitising import TURN_LINES_MAX
from perdure.core.text import ENTRY_CHARS_MAX, KEY_CHARS_MAX
from perdure.core.windows import WINDOW_CHARS_MAX, WINDOW_TURNS_MAX
from perdure.ports.retain import REMOVING_MAX
from perdure.service.remember import BRANCH_NAME_CHARS_MAX

Schema = dict[str, object]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
INTEGER_MAX = 2**53 - 1
INODE_MAX = 2**64 - 1
ATTEMPTS_MAX = 9_999


def _pattern(pattern: str) -> Schema:
    return {"pattern": f"^{pattern}$"}


def _hex(digits: int) -> Schema:
    return _pattern(f"[0-9a-f]{{{digits}}}")


def _text(most: int, least: int = 1) -> Schema:
    return {"minLength": least, "maxLength": most}


def _integer(least: int = 0, most: int = INTEGER_MAX) -> Schema:
    return {"minimum": least, "maximum": most}


_TIME, _COUNT, _NUMBER = _integer(), _integer(), _integer(1)
_DIGEST = _hex(64)
_JOB = _hex(76)
_ATTEMPT = _pattern("[0-9]{8}-[0-9a-f]{32}-[0-9]{4}")
_TRANSACTION = _pattern("([0-9a-f]{32}|[0-9a-f]{76})")
_WORD = _pattern("[a-z][a-z0-9-]{0,39}")
_CODE = _pattern("([a-z][a-z0-9-]{0,39})?")
_TURN = _pattern("[0-9a-f]{1,64}")
_LINE = _pattern("e[1-9][0-9]{0,4}")
_DAY = _pattern("[0-9]{8}")
_SCOPE = _pattern("([0-9a-f]{16}|user)")

BOUNDS: dict[str, Schema] = {
    # identities
    "job_id": _JOB,
    "successor": _JOB,
    "attempt_id": _ATTEMPT,
    "removing": _ATTEMPT,
    "transaction": _TRANSACTION,
    "branch_id": _hex(16),
    "parent": _hex(16),
    "entry_id": _hex(16),
    "entry_ids": _hex(16),
    "lane": _hex(32),
    "worker": _hex(32),
    "Fate.worker": _pattern("([0-9a-f]{32})?"),
    "token": _hex(32),
    "claim_token": _pattern("([0-9a-f]{32})?"),
    "plan_id": _hex(32),
    "move_id": _hex(32),
    "target": _SCOPE,
    "target_branch_id": _hex(16),
    "scope": _SCOPE,
    "jobs": _JOB,
    "results": _ATTEMPT,
    "PurgePlan.revisions[0]": _hex(16),
    "PurgePlan.revisions[1]": _NUMBER,
    "project": _hex(16),
    "Branch.project": _SCOPE,
    "BranchTombstone.project": _SCOPE,
    "ProjectFile.key": _hex(16),
    "home_id": _hex(32),
    "HomeKey.key": _hex(64),
    "session": _hex(32),
    "turn_id": _TURN,
    "turns": _TURN,
    "line_id": _LINE,
    "evidence": _LINE,
    "entry": _hex(16),
    "entries": _hex(16),
    "day": _DAY,
    # digests
    "evidence_digest": _DIGEST,
    "request_digest": _DIGEST,
    "base_digest": _DIGEST,
    "result_digest": _DIGEST,
    "proposal_digest": _DIGEST,
    "decision_digest": _DIGEST,
    "receipt_digest": _DIGEST,
    "intent_digest": _DIGEST,
    "outcome_digest": _DIGEST,
    "last_digest": _DIGEST,
    "keyed": _DIGEST,
    "prices": _hex(16),
    # numbers
    "layout": _NUMBER,
    "policy": _NUMBER,
    "inode": _integer(0, INODE_MAX),
    "ordinal": _NUMBER,
    "claim_ordinal": _COUNT,
    "generation": _NUMBER,
    "stale_ends": _integer(0, STALE_ENDS_MAX),
    "number": _integer(1, ATTEMPTS_MAX),
    "attempts": _COUNT,
    "seq": _NUMBER,
    "revision_seq": _NUMBER,
    "undoes": _NUMBER,
    "index": _COUNT,
    "operation": _COUNT,
    "input_tokens": _COUNT,
    "output_tokens": _COUNT,
    "cost_nanodollars": _COUNT,
    "calls": _COUNT,
    "tokens": _COUNT,
    "retry_after_seconds": _COUNT,
    # words and texts
    "machine": _text(64),
    "filesystem": _text(64),
    "root": _pattern("/.*"),
    "copies": _text(400),
    "name": _text(BRANCH_NAME_CHARS_MAX),
    "Renamed.before": _text(BRANCH_NAME_CHARS_MAX),
    "Renamed.after": _text(BRANCH_NAME_CHARS_MAX),
    "release": _text(40),
    "host": _WORD,
    "provider": _WORD,
    "model": _text(200, 0),
    "prompt_version": _text(80),
    "detail": _text(200, 0),
    "proposal": _text(PROPOSAL_CHARS_MAX),
    "correction": _text(1_000, 0),
    "provider_request_id": _text(200),
    "code": _WORD,
    "message": _text(1_000),
    "rationale": _text(RATIONALE_CHARS_MAX, 0),
    "kind": _text(KIND_CHARS_MAX),
    "key": _text(KEY_CHARS_MAX),
    "text": _text(ENTRY_CHARS_MAX),
    "EvidenceLine.text": _text(WINDOW_CHARS_MAX),
    "Assessment.verdict": {"enum": ["confirmed", "contradicted", "outdated"]},
    "Buried.what": {"enum": ["entry", "key", "text"]},
    "reason": _CODE,
    "refused": _CODE,
    "Uncovered.reason": _WORD,
    "Fate.reason": _text(200, 0),
    "Reconciled.reason": _text(1_000),
}
"""What every string and integer holds; fields that end in `_ms` are UTC milliseconds."""

LISTS: dict[str, Schema] = {
    "DayTotals.removing": {"maxItems": REMOVING_MAX},
    "Evidence.turns": {"minItems": 1, "maxItems": WINDOW_TURNS_MAX},
    "EvidenceTurn.lines": {"minItems": 1, "maxItems": TURN_LINES_MAX},
    "Outcome.turns": {"minItems": 1, "maxItems": WINDOW_TURNS_MAX},
    "OutcomeTombstone.turns": {"minItems": 1, "maxItems": WINDOW_TURNS_MAX},
    "Uncovered.turns": {"minItems": 1},
    "Proposal.operations": {"maxItems": OPERATIONS_MAX},
    "MergeOp.entries": {"minItems": 2},
    "AddOp.evidence": {"minItems": 1},
    "ReplaceOp.evidence": {"minItems": 1},
    "RemoveOp.evidence": {"minItems": 1},
    "MergeOp.evidence": {"minItems": 1},
    "AssessOp.evidence": {"minItems": 1},
    "Note.evidence": {"minItems": 1},
    "Assessment.evidence": {"minItems": 1},
}
"""How many items a list holds, where that is bounded."""


class Unbounded(Exception):
    """A string or integer field has no entry in `BOUNDS`."""


def record_types() -> dict[str, type[Record]]:
    """Find the type of every kind of record, in order of the kinds: by kind, and a later version by kind and
    version.
    """
    for module in pkgutil.walk_packages(perdure.__path__, "perdure."):
        if module.name.split(".")[1] in {"core", "ports", "authority"}:
            importlib.import_module(module.name)
    found = {_named(kind): kind for kind in _subclasses(Record) if kind.__module__.startswith("perdure.")}
    return dict(sorted(found.items()))


def _named(kind: type[Record]) -> str:
    return kind.KIND if kind.VERSION == 1 else f"{kind.KIND}{kind.VERSION}"


def _subclasses(kind: type[Record]) -> Iterator[type[Record]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def record_schema(kind: type[Record]) -> Schema:
    """Describe the whole file of a record: its envelope around its body."""
    definitions = strict(kind)
    envelope: Schema = {
        "body": {"$ref": f"#/$defs/{kind.__name__}"},
        "digest": {"type": "string", **_DIGEST},
        "kind": {"const": kind.KIND},
        "version": {"const": kind.VERSION},
    }
    return {
        "$schema": DIALECT,
        "$id": f"urn:perdure:record:{kind.KIND}:{kind.VERSION}",
        "title": f"A record of kind {kind.KIND}, version {kind.VERSION}",
        "type": "object",
        "properties": envelope,
        "required": list(envelope),
        "additionalProperties": False,
        "$defs": definitions,
    }


def envelope_schema(kinds: list[str]) -> Schema:
    """Describe what every record's file has in common, in any version."""
    properties: Schema = {
        "body": {"type": "object"},
        "digest": {"type": "string", **_DIGEST},
        "kind": {"enum": kinds},
        "version": {"type": "integer", **_NUMBER},
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:perdure:envelope:1",
        "title": "The envelope of every record",
        "description": "The digest is SHA-256 of the body's bytes as they stand in the file.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def value_schema(kind: type[msgspec.Struct], identity: str, title: str) -> Schema:
    """Describe a value that has no envelope, such as a proposal."""
    definitions = strict(kind)
    return {
        "$schema": DIALECT,
        "$id": f"urn:perdure:{identity}:1",
        "title": title,
        "$ref": f"#/$defs/{kind.__name__}",
        "$defs": definitions,
    }


def proposal_schema() -> Schema:
    """Describe a proposal, as a reviewer has to write it."""
    schema = value_schema(Proposal, "proposal", "A proposal of a reviewer")
    _properties(schema, MergeOp.__name__)["entries"]["uniqueItems"] = True
    return schema


def strict(kind: type[msgspec.Struct]) -> Schema:
    """Give the definitions of a type and of all that it holds, with every bound.

    Raises:
        Unbounded: a string or integer has no bound in `BOUNDS`.

    """
    _, definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for name, definition in definitions.items():
        for field, found in definition.get("properties", {}).items():
            definition["properties"][field] = _bounded(name, field, found)
    return dict(sorted(definitions.items()))


def _bounded(owner: str, field: str, found: Schema) -> Schema:
    found.pop("discriminator", None)
    if "anyOf" in found and isinstance(found["anyOf"], list):
        found["anyOf"] = [_bounded(owner, field, choice) for choice in found["anyOf"]]
        return found
    match found.get("type"):
        case "array" if "prefixItems" in found and isinstance(found["prefixItems"], list):
            places = enumerate(found["prefixItems"])
            found["prefixItems"] = [_bounded(owner, f"{field}[{n}]", item) for n, item in places]
            return found
        case "array":
            found["items"] = _bounded(owner, field, dict(_as_schema(found["items"])))
            return found | LISTS.get(f"{owner}.{field}", {})
        case "string" | "integer":
            return found | _bound(owner, field)
        case _:
            return found


def _bound(owner: str, field: str) -> Schema:
    if field.endswith("_ms"):
        return _TIME
    bound = BOUNDS.get(f"{owner}.{field}") or BOUNDS.get(field)
    if bound is None:
        msg = f"{owner}.{field} has no bound; give it one in tools/protocol_schemas.py"
        raise Unbounded(msg)
    return bound


def _as_schema(value: object) -> Schema:
    if not isinstance(value, dict):
        msg = f"a schema was expected, found {type(value).__name__}"
        raise TypeError(msg)
    return value


def _properties(schema: Schema, name: str) -> dict[str, Schema]:
    definition = _as_schema(_as_schema(schema["$defs"])[name])
    return {field: _as_schema(value) for field, value in _as_schema(definition["properties"]).items()}
