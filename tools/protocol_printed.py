"""JSON Schemas of what has no envelope: what commands print with `--json`, and a home's unsynced notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from perdure.authority.filesystem.stops import Doubt
from perdure.core.evidence import TurnEnd
from perdure.core.windows import WINDOW_CHARS_MAX
from perdure.errors import PerdureError
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
