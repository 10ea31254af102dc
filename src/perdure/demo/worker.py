"""The demo's worker process: Perdure's own engine with the demo's reviewer.

    python -m perdure.demo.worker answer|pause

It works on the home of PERDURE_HOME until one job has ended, and prints one JSON array [event, id, detail]
per step. With `pause` it prints ["answering", "", ""] when its reviewer is about to answer, and waits for
the end of its standard input: whoever started it can then be sure of the moment, and nothing is left behind
when that process dies.
"""

from __future__ import annotations

import os
import sys

import msgspec

from perdure.app import App
from perdure.demo.reviewer import PricedRules

ANSWERING = "answering"


def main(manner: str) -> int:
    """Work; return the exit status."""
    app = App.open(log=lambda *step: _tell(*step) if step[1] else None)  # housekeeping names no job
    app.begin_writing()
    worker = app.worker(provider=PricedRules(_pause if manner == "pause" else _go_on))
    worker.run(stop=lambda: bool(worker.report.ended or worker.report.stopped))
    app.close()
    return 0


def _tell(event: str, subject: str, detail: str) -> None:
    sys.stdout.write(msgspec.json.encode((event, subject, detail)).decode("utf-8") + "\n")
    sys.stdout.flush()


def _go_on() -> None:
    """Answer at once."""


def _pause() -> None:
    _tell(ANSWERING, "", "")
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
