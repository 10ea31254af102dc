"""The command line with a paid reviewer that waits for the test: `python -m tests.machine.gated COMMAND...`.

It notes each request as a line of the file SENDS: the attempt, its own process id, and how long the file LOG
is, or 0. Then it waits until the file GATE is there, and answers with the first line of evidence. With CHILD
it first starts a process that would inherit whatever is not closed on exec, and outlives it; the process's id
goes into the file CHILD.

Uses nothing but the ports, so that it runs with any release.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import perdure.app
from perdure.cli.main import main
from perdure.config import Reviewer
from perdure.ports.provider import Answered, Hold, Provider, Reply, ReviewRequest, Usage

NAME = "gated"
COST_NANODOLLARS = 3_000
USED = Usage(700, 90, COST_NANODOLLARS)


class Gated:
    """See the module."""

    name = NAME
    model = "gated-1"
    prompt_version = "1"
    paid = True

    def ready(self) -> str | None:
        """See `Provider.ready`."""
        return None

    def quote(self, request: ReviewRequest) -> Hold:  # noqa: ARG002 - the port's
        """See `Provider.quote`."""
        return Hold(1_000, 200, 5_000)

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - the port's
        """See `Provider.review`."""
        if "CHILD" in os.environ:
            null = subprocess.DEVNULL
            child = subprocess.Popen(["sleep", "60"], close_fds=False, stdin=null, stdout=null, stderr=null)
            Path(os.environ["CHILD"]).write_text(str(child.pid), encoding="ascii")
        with Path(os.environ["SENDS"]).open("a", encoding="ascii") as sends:
            log = os.environ.get("LOG")
            size = Path(log).stat().st_size if log else 0
            sends.write(f"{request.attempt_id} {os.getpid()} {size}\n")
        while not Path(os.environ["GATE"]).exists():
            select.select([], [], [], 0.005)  # libfaketime spoils time.sleep
        line = request.evidence[0]
        operation = {"op": "add", "text": line.text, "evidence": [line.line_id], "rationale": "it was said"}
        return Answered(json.dumps({"operations": [operation]}), USED, None)


def make_provider(reviewer: Reviewer, *, home: str) -> Provider:  # noqa: ARG001 - the product's
    """See `perdure.app.make_provider`."""
    return Gated()


if __name__ == "__main__":
    perdure.app.make_provider = make_provider
    sys.exit(main(sys.argv[1:]))
