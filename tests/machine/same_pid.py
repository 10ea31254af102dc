"""Inside a process-id name space of its own: kill a worker in its call and give its id to another process.

    python -m tests.machine.same_pid FOLDER sleep|worker

Prints one JSON document. The process that gets the id lives on while the next review runs: a `sleep`, or a
worker of Perdure that waits in a call of another job.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.machine.user import GATED, User, ending, kill

TRIES = 50
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


def start_as(pid: int, user: User, kind: str) -> subprocess.Popen[Any]:
    """Start a process that has this id; the kernel gives the next one to whoever comes first."""
    for _ in range(TRIES):
        LAST_PID.write_text(str(pid - 1), encoding="ascii")
        found = subprocess.Popen(["sleep", "60"]) if kind == "sleep" else user.start("worker", module=GATED)
        if found.pid == pid:
            return found
        kill(found)
    msg = f"process id {pid} was not given again in {TRIES} tries"
    raise OSError(msg)


def story(user: User, kind: str) -> dict[str, Any]:
    """What came of the killed worker's job, and who sent what."""
    (job,) = user.capture("Deploys start at 9.")
    with ending(worker := user.start("review", "--once", module=GATED)):
        user.await_sends(1, worker)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
    with ending(other := start_as(worker.pid, user, kind)):
        if kind == "worker":
            user.await_sends(2, other)
        during = {"states": user.states(), "sent": user.sent(), "workers": user("verify").json["workers"]}
        user.gate.touch()
        if kind == "sleep":
            user("review", "--once", module=GATED)
            assert other.poll() is None
        else:
            while user.states()[job] != "applied":
                assert other.poll() is None
            other.send_signal(signal.SIGTERM)
            other.communicate()
    user.check()
    made = user("jobs", "show", job).json["made"]
    return {
        "job": job,
        "pid": worker.pid,
        "during": during,
        "states": user.states(),
        "attempts": [attempt["state"] for attempt in made],
        "sent": user.sent(),
        "texts": user.texts(),
    }


if __name__ == "__main__":
    print(json.dumps(story(User(Path(sys.argv[1])), sys.argv[2])))
