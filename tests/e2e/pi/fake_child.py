"""A child that misbehaves in one way, for tests of the extension: `fake_child.py BEHAVIOUR NOTES`.

It speaks the wire with the standard library alone, and notes each request as a line in the file NOTES.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

SECTION = "<perdure-memory>\nfrom the fake child\n</perdure-memory>"
CARD = {
    "job": "J1",
    "state": "applied",
    "reason": "",
    "title": "A review changed memory",
    "diff": [{"sign": "-", "text": "Deploy by hand."}, {"sign": "+", "text": "Deploy with make ship."}],
    "revision": 4,
    "undo": "/memory undo 4",
    "retry": "",
}
FAILURE = {
    **CARD,
    "state": "dead",
    "title": "A review failed",
    "diff": [],
    "undo": "",
    "retry": "/memory review retry J1",
}
TEXTS = {
    "remember": "Remembered on branch main, revision 1:\n+ [project] Use tabs.\nUndo: perdure undo 1",
    "recall": "\n".join(f"e{place}  Fact number {place}." for place in range(9)),
    "status": "project  shop\nbranch   main, 1 entry\nreviews  none open",
}
EVENTS = (
    {"event": "progress", "text": "reviewing 1 turn", "jobs": ["J1"]},
    {"event": "card", "card": CARD},
    {"event": "card", "card": FAILURE},
    {"event": "notice", "level": "warning", "text": "No worker is alive."},
    {"event": "progress", "text": "", "jobs": []},
)
FOREVER = 20.0  # longer than every deadline, and no process is left behind for good


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What a child that is well would answer."""
    data: dict[str, Any] = {}
    if asked["op"] == "hello":
        data = {"release": "test", "project": "shop", "branch": "main", "capture": True, "notice": None}
    elif asked["op"] == "turn":
        data = {"section": SECTION, "included": 1, "branch": "main"}
    elif asked["op"] in {"fork", "use"}:
        data = {"branch": asked["name"]}
    elif asked["op"] == "branches":
        data = {"branches": [{"branch": "main"}, {"branch": "trial"}]}
    return {
        "id": asked["id"],
        "ok": True,
        "text": TEXTS.get(asked["op"], f"done: {asked['op']}"),
        "data": data,
    }


def send(message: object) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def misbehave(behaviour: str, asked: dict[str, Any]) -> None:
    """Do what `behaviour` names, when its request has come."""
    place, _, what = behaviour.partition("-")
    if place != asked["op"]:
        return
    if what == "hang":
        time.sleep(FOREVER)
    elif what == "exit":
        print("the fake child gave up", file=sys.stderr)
        sys.exit(3)
    elif what == "slow":
        time.sleep(2)
    elif what == "garbage":
        sys.stdout.write('not JSON\n[1]\n{"id":"x"}\n{"event":"later"}\n\n')
    elif what == "flood":
        sys.stdout.write("x" * (5 * 1024 * 1024))
        sys.stdout.flush()
        time.sleep(FOREVER)
    elif what == "refuse":
        error = {"code": "newer", "message": "The home is newer.", "advice": "Update Perdure."}
        send({"id": asked["id"], "ok": False, "error": error, "text": "The home is newer. Update Perdure."})


def main(behaviour: str, notes: Path) -> None:
    """Serve until the input ends; a child that is stuck at its end does not end by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with notes.open("a", encoding="utf-8") as noted:
        noted.write(json.dumps({"pid": os.getpid()}) + "\n")
        noted.flush()
        for line in sys.stdin:
            asked = json.loads(line)
            noted.write(line)
            noted.flush()
            misbehave(behaviour, asked)
            if behaviour != f"{asked['op']}-refuse":
                send(answer(asked))
            if behaviour == f"{asked['op']}-events":
                for event in EVENTS:
                    send(event)
    if behaviour == "end-hang":
        time.sleep(FOREVER)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
