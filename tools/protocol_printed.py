"""JSON Schemas of what has no envelope: what commands print with `--json`, and a home's unsynced notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from perdure.authority.filesystem.stops import Doubt
from perdure.core.evidence import TurnEnd
from perdure.core.memory import Importance, Origin
from perdure.core.proposal import KIND_CHARS_MAX, RATIONALE_CHARS_MAX
from perdure.core.text import ENTRY_CHARS_MAX, KEY_CHARS_MAX
from perdure.core.windows import WINDOW_CHARS_MAX
from perdure.errors import PerdureError
from perdure.recall.found import Mode
from perdure.service.evidence_recall import PASSAGE_CHARS_MAX
from perdure.service.remember import BRANCH_NAME_CHARS_MAX
from tools.protocol_schemas import DIALECT, INTEGER_MAX, Schema

SKIP_REASONS = ("duplicate", "empty", *(end for end in get_args(TurnEnd) if end != "settled"))
"""Why a turn is no evidence, now or ever."""


def printed_schemas() -> dict[str, Schema]:
    """Every schema by the name before `.schema.json`."""
    return {
        "beat": _object("note:beat", "A worker's last sign of progress: run/beats/W", _beat()),
        "stop": _object("note:stop", "A sync failed, writing is stopped: run/stop.B.M", _stop()),
        "quarantine-reason": _object("note:quarantine", "Why a copy stands in quarantine", _reason()),
        "retention-mark": _object(
            "note:retention", "How far time was believed: run/hints/retention", _mark()
        ),
        "exposure": _exposure(),
        "capture": _capture(),
        "recall": _recall(),
        "error": _object("printed:error", "What a failed command prints with --json", _error()),
    }


def error_codes() -> Iterator[str]:
    """The codes of all errors that commands print; a refused text has the code of its check.

    Only those of the one error tree's own module: what else is loaded (the demo, a test) does not matter.
    """
    waiting: list[type[PerdureError]] = [PerdureError]
    while waiting:
        kind = waiting.pop()
        if kind.__module__ == PerdureError.__module__:
            yield kind.code
        waiting += kind.__subclasses__()


def _object(identity: str, title: str, properties: Mapping[str, Schema]) -> Schema:
    return {
        "$schema": DIALECT,
        "$id": f"urn:perdure:{identity}:1",
        "title": title,
        **_plain_object(properties),
    }


def _plain_object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _count() -> Schema:
    return {"type": "integer", "minimum": 0, "maximum": INTEGER_MAX}


def _string(pattern: str = "") -> Schema:
    return {"type": "string", "pattern": pattern} if pattern else {"type": "string"}


def _text(most: int | None = None) -> Schema:
    """A string of at least one character."""
    return {"type": "string", "minLength": 1} | ({} if most is None else {"maxLength": most})


def _share() -> Schema:
    return {"type": "number", "minimum": 0, "maximum": 1}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _clock() -> dict[str, Schema]:
    return {"boot_id": _string(), "boot_seconds": {"type": "number", "minimum": 0}}


def _beat() -> dict[str, Schema]:
    """Nothing more may stand in a heartbeat (E-07)."""
    root: Schema = {"type": ["string", "null"]}
    return _clock() | {"release": _string(), "policy": _count(), "process": _count(), "project_root": root}


def _stop() -> dict[str, Schema]:
    """`home`, for a marker whose bytes were lost, is never written."""
    doubts: Schema = {"enum": [doubt for doubt in get_args(Doubt) if doubt != "home"]}
    return {"boot_id": _string(), "doubt": doubts, "path": _string()}


def _reason() -> dict[str, Schema]:
    return {"path": _string(), "reason": _string()}


def _exposure() -> Schema:
    shown: dict[str, Schema] = {
        "entry_digest": _string("^[0-9a-f]{64}$"),
        "times": {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX},
        "last_ms": _count(),
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:perdure:note:exposure:1",
        "title": "What a session was shown: a scope's exposure/M",
        "type": "object",
        "propertyNames": {"pattern": "^[0-9a-f]{16}$"},
        "additionalProperties": _plain_object(shown),
    }


def _mark() -> dict[str, Schema]:
    return {"believed_ms": _count(), **_clock()}


def _turn(reason: Schema) -> dict[str, Schema]:
    place: Schema = {"type": "integer", "minimum": -1, "maximum": INTEGER_MAX}
    return {"turn": _string("^[0-9a-f]{1,64}$"), "position": place, "reason": reason}


def _evidence() -> Schema:
    line = _plain_object(
        {
            "line_id": _string("^e[1-9][0-9]{0,4}$"),
            "role": {"enum": ["assistant", "host", "tool", "user"]},
            "text": {"type": "string", "minLength": 1, "maxLength": WINDOW_CHARS_MAX},
        }
    )
    turn = _plain_object(
        {
            "turn_id": _string("^[0-9a-f]{1,64}$"),
            "settled_ms": _count(),
            "cut": {"type": "boolean"},
            "lines": _list(line),
        }
    )
    return _plain_object(
        {"host": _string(), "session": _string("^[0-9a-f]{32}$"), "turns": _list(turn)},
    )


def _capture() -> Schema:
    """One session as it is; several with sums on top; or nothing, when the question was answered with no."""
    declined: dict[str, Schema] = {"accepted": {"const": 0}, "declined": {"const": True}}
    file: dict[str, Schema] = {"file": _string()}
    several = _taken(file) | {"sessions": {"type": "array", "minItems": 2, "items": _session(file)}}
    return {
        "$schema": DIALECT,
        "$id": "urn:perdure:printed:capture:1",
        "title": "What `perdure capture --json` prints",
        "oneOf": [_session(file), _plain_object(several), _plain_object(declined)],
    }


def _session(file: dict[str, Schema]) -> Schema:
    named: dict[str, Schema] = {
        "host": _string("^[a-z][a-z0-9-]{0,39}$"),
        "format": _string(),
        "session": _string("^[0-9a-f]{32}$"),
    }
    found = _plain_object(file | named | _taken({}))
    found["properties"] = file | named | _taken({}) | {"evidence": _list(_evidence())}
    return found


def _taken(where: dict[str, Schema]) -> dict[str, Schema]:
    """What was taken in. `where` is what items of lists have besides, when they come from several files."""
    problem: dict[str, Schema] = {"line": _count(), "reason": _string()}
    return {
        "accepted": _count(),
        "duplicates": _count(),
        "windows": _count(),
        "turns_accepted": _count(),
        "skipped_turns": _list(_plain_object(_turn({"enum": sorted(SKIP_REASONS)}) | where)),
        "uncovered_turns": _list(_plain_object(_turn(_string("^[a-z][a-z-]*$")) | where)),
        "jobs": _list(_string("^[0-9a-f]{76}$")),
        "problems": _list(_plain_object(problem | where)),
        "failures": _list(_string()),
        "dry_run": {"type": "boolean"},
    }


def _recall() -> Schema:
    """Entries of memory, or passages of evidence; in both, none means that nothing stored answers."""
    asked: dict[str, Schema] = {
        "question": _text(),
        "searches": _list({"enum": ["key", "lexical", "semantic", "holographic"]}),
        "encoder": _or_null(_text()),
        "pending": _count(),
        "problems": _list(_text()),
    }
    entries = _list(_plain_object(_entry() | _standing()))
    lines = _list(_plain_object(_line()))
    memory: dict[str, Schema] = {
        "mode": {"enum": list(get_args(Mode))},
        "entries": entries,
        "nearest": entries,
    }
    evidence: dict[str, Schema] = {
        "mode": {"const": "evidence"},
        "searched": _count(),
        "lines": lines,
        "nearest": lines,
    }
    return {
        "$schema": DIALECT,
        "$id": "urn:perdure:printed:recall:1",
        "title": "What `perdure recall --json` prints",
        "oneOf": [_plain_object(asked | memory), _plain_object(asked | evidence)],
    }


def _entry() -> dict[str, Schema]:
    """An entry as every command prints it."""
    return {
        "id": _string("^[0-9a-f]{16}$"),
        "text": _text(ENTRY_CHARS_MAX),
        "kind": _text(KIND_CHARS_MAX),
        "key": _or_null(_text(KEY_CHARS_MAX)),
        "importance": {"enum": list(get_args(Importance))},
        "origin": {"enum": list(get_args(Origin))},
        "created_ms": _count(),
        "updated_ms": _count(),
        "digest": _string("^[0-9a-f]{64}$"),
    }


def _standing() -> dict[str, Schema]:
    """Where an entry stands, how sure it is, and why it was found."""
    provenance: dict[str, Schema] = {
        "origin": {"enum": list(get_args(Origin))},
        "created_ms": _count(),
        "updated_ms": _count(),
        "revision": _or_null({"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}),
        "cause": _or_null(_text()),
        "job_id": _or_null(_string("^[0-9a-f]{76}$")),
        "evidence": _list(_string("^e[1-9][0-9]{0,4}$")),
        "rationale": _or_null(_text(RATIONALE_CHARS_MAX)),
    }
    return {
        "scope": _string("^([0-9a-f]{16}|user)$"),
        "branch": _text(BRANCH_NAME_CHARS_MAX),
        "score": _share(),
        "margin": _share(),
        "provenance": _plain_object(provenance),
        "why": _plain_object(_why()),
    }


def _line() -> dict[str, Schema]:
    """A passage of evidence."""
    return {
        "text": _text(PASSAGE_CHARS_MAX),
        "role": {"enum": ["assistant", "host", "user"]},
        "host": _string("^[a-z][a-z0-9-]{0,39}$"),
        "session": _string("^[0-9a-f]{32}$"),
        "turn": _string("^[0-9a-f]{1,64}$"),
        "line": _string("^e[1-9][0-9]{0,4}$"),
        "job": _string("^[0-9a-f]{76}$"),
        "settled_ms": _count(),
        "score": _share(),
        "margin": _share(),
        "why": _plain_object(_why()),
    }


def _why() -> dict[str, Schema]:
    """`neighbours` are turns of the same session: only evidence has some."""
    measured: Schema = {"type": ["number", "null"]}
    return {
        "exact_key": {"type": "boolean"},
        "key_meant": _or_null(_text(KEY_CHARS_MAX)),
        "words": _list(_text()),
        "neighbours": _list(_string("^[0-9a-f]{1,64}$")),
        "lexical": measured,
        "cosine": measured,
        "late": measured,
        "holographic_z": measured,
    }


def _error() -> dict[str, Schema]:
    codes = sorted({*error_codes(), "interrupted", "internal"})
    named: dict[str, Schema] = {
        "code": {
            "type": "string",
            "pattern": "^[a-z][a-z-]*$",
            "description": f"{', '.join(codes)}; or the check that refused a text.",
        },
        "message": {"type": "string", "minLength": 1},
        "advice": {"type": "string"},
    }
    return {"error": _plain_object(named)}
