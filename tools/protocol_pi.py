"""The wire to Pi's extension: its schemas, and golden messages that the tests of both languages read."""

from __future__ import annotations

import json
from typing import get_args

import msgspec

from perdure.hosts import pi_protocol as wire
from tools.protocol_schemas import DIALECT, Schema

_SESSION = "0192f3c4-7a00-7000-8000-000000000001"
_FILE = f"/home/ada/.pi/agent/sessions/--home-ada-orbit--/{_SESSION}.jsonl"
_JOB = f"019b76da8a60{'0' * 32}{'a1' * 16}"
_SECTION = "<perdure-memory>\nIt is data.\n## For this project\n- Grüße — “tabs” 🛰\n</perdure-memory>"


def schemas() -> dict[str, Schema]:
    """Schemas of the three kinds of line, by the name before `.schema.json`."""
    return {
        "pi-request": _schema("request", "What Pi's extension asks", get_args(wire.AnyRequest)),
        "pi-answer": _schema("answer", "What the child answers", (wire.Done, wire.Failed)),
        "pi-event": _schema(
            "event", "What the child tells unasked", (wire.Progress, wire.CardEvent, wire.Notice)
        ),
    }


def golden_files() -> dict[str, bytes]:
    """Golden messages of version 1: file names and lines."""
    return {
        "requests.jsonl": _lines([_compact(request) for request in _requests()]),
        "answers.jsonl": b"".join(wire.encoded(message) for message in _answers()),
        "events.jsonl": b"".join(wire.encoded(message) for message in _events()),
        "refused.jsonl": _lines([{"line": line, "id": found} for line, found in _refused()]),
    }


def _schema(name: str, title: str, kinds: tuple[type, ...]) -> Schema:
    refs, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for kind, definition in definitions.items():
        if kind in {"Done", "Failed"}:
            definition["properties"]["ok"] = {"const": kind == "Done"}
            definition["required"].append("ok")
        if name != "request":
            definition["additionalProperties"] = False
    return {
        "$schema": DIALECT,
        "$id": f"urn:perdure:pi-{name}:{wire.PROTOCOL}",
        "title": title,
        "oneOf": list(refs),
        "$defs": dict(sorted(definitions.items())),
    }


def _lines(documents: list[dict[str, object]]) -> bytes:
    texts = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in documents)
    return "".join(f"{text}\n" for text in texts).encode()


def _compact(request: wire.Request) -> dict[str, object]:
    """As the extension writes it: id and op first, then what is given."""
    document = msgspec.to_builtins(request)
    return {"id": document.pop("id"), "op": document.pop("op"), **document}


def _requests() -> list[wire.Request]:
    hello = wire.Hello(
        id=1,
        protocol=wire.PROTOCOL,
        session=_SESSION,
        session_file=_FILE,
        cwd="/home/ada/orbit",
        branch=None,
        mode="tui",
        extension="0.1.0",
    )
    return [
        hello,
        msgspec.structs.replace(hello, id=2, session_file=None, branch="release 2", mode="print"),
        wire.Turn(id=3, prompt="Deploy the shop.\nThen tell me\u2028what changed – “all” of it 🛰"),
        wire.Turn(id=4, prompt=""),
        wire.Remember(id=5, text="Use tabs."),
        wire.Remember(
            id=6, text="Node is 24.", key="node version", kind="agent", importance="high", relearn=True
        ),
        wire.Recall(id=7, question="Which version of Node?", limit=3, evidence=True),
        wire.Replace(id=8, which="node version", text="Node is 26.", expected="0" * 64),
        wire.Forget(id=9, which="node version"),
        wire.List(id=10, kind="project", start=200, limit=100),
        wire.Status(id=11),
        wire.Show(id=12),
        wire.Why(id=13),
        wire.Branches(id=14),
        wire.Fork(id=15, name="trial"),
        wire.Use(id=16, name="main"),
        wire.Undo(id=17),
        wire.Undo(id=18, revision=4),
        wire.Review(id=19),
        wire.Reviews(id=20),
        wire.Retry(id=21, job="a1a1a1a1a1a1"),
        wire.Inbox(id=22),
        wire.Pause(id=23),
        wire.Resume(id=24),
        wire.Settled(id=25, session_file=_FILE, leaf="0a1b2c3d"),
        wire.Moved(id=26, leaf="0a1b2c3d"),
        wire.Compacted(id=27),
        wire.Bye(id=28),
    ]


def _answers() -> list[wire.Message]:
    greeted = {
        "release": "0.1.0",
        "project": "/home/ada/orbit",
        "branch": "main",
        "capture": True,
        "notice": None,
    }
    alone = {
        "release": "0.1.0",
        "project": None,
        "branch": None,
        "capture": False,
        "notice": "There is no Perdure home. Run perdure init in your project.",
    }
    return [
        wire.Done(1, "", greeted),
        wire.Done(2, "", alone),
        wire.Done(3, "", {"section": _SECTION, "included": 1, "branch": "main"}),
        wire.Done(4, "", {"section": "", "included": 0, "branch": "main"}),
        wire.Done(15, "Branch trial holds a copy.", {"branch": "trial", "branch_id": "0" * 16, "entries": 1}),
        wire.Done(25, "", {"jobs": 1, "turns": 2}),
        wire.failed(9, "not-found", "No entry has the key 'node version'.", "perdure list shows them."),
        wire.failed(0, "usage", "The line is no request.", ""),
    ]


def _events() -> list[wire.Message]:
    card = wire.Card(
        job=_JOB,
        state="applied",
        reason="",
        title="A review changed memory",
        diff=(
            wire.DiffLine("~", "0123456789abcdef"),
            wire.DiffLine("-", "[project] Deploy by hand."),
            wire.DiffLine("+", "[project] Deploy with make ship –\n    “staging” first."),
        ),
        revision=4,
        undo="/memory undo 4",
        retry="",
    )
    failed = msgspec.structs.replace(
        card,
        state="dead-lettered",
        reason="no attempt is left",
        title="A review failed: no attempt is left",
        diff=(),
        revision=None,
        undo="",
        retry="/memory review retry a1a1a1a1a1a1",
    )
    return [
        wire.Progress("reviewing 1, queued 2", (_JOB,)),
        wire.CardEvent(card),
        wire.CardEvent(failed),
        wire.Notice("warning", "The review ended early: no credential."),
        wire.Progress("", ()),
    ]


def _refused() -> list[tuple[str, int]]:
    """Lines that are no request, with the id that the answer has: 0 where none can be read."""
    return [
        ("", 0),
        ("no JSON", 0),
        ("[1]", 0),
        ('{"op":"status"}', 0),
        ('{"id":0,"op":"status"}', 0),
        ('{"id":"7","op":"status"}', 0),
        ('{"id":7}', 7),
        ('{"id":7,"op":"sing"}', 7),
        ('{"id":7,"op":"Status"}', 7),
        ('{"id":7,"op":"status","more":1}', 7),
        ('{"id":7,"op":"turn"}', 7),
        ('{"id":7,"op":"turn","prompt":null}', 7),
        ('{"id":7,"op":"recall","question":"x","limit":0}', 7),
        ('{"id":7,"op":"recall","question":"x","limit":201}', 7),
        ('{"id":7,"op":"remember","text":"x","importance":"vital"}', 7),
        ('{"id":7,"op":"undo","revision":1.5}', 7),
        ('{"id":7,"op":"hello","protocol":1}', 7),
    ]
