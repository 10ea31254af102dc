"""A host's hooks: whole processes beside an interpreter that does nothing (issue: hook hosts; I-01).

What the host waits for is measured. What the other process does afterwards is let go to its end between two
rounds, so that it slows none of them down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from perdure.core.memory import BRANCH_CHARS_MAX
from tests.bench.figures import Figure, against, at_most, scratch
from tests.bench.rig import home, median
from tests.hook_payloads import payload_of
from tests.session_files import Transcript

ROUNDS = 25
ENTRY_CHARS = 140
RATIO_MAX = 1.5
PROMPT_MS_MAX = 300.0
VERSION = "claude-code-2.1"
_REST_SECONDS = 0.4
_EVENTS = {
    "UserPromptSubmit": "in front of a prompt, memory unchanged",
    "SessionStart": "at a session's start, a full block given",
    "Stop": "at a turn's end",
}


def main() -> list[Figure]:
    """Measure each event with a full branch, in turns with the bare interpreter."""
    with scratch() as folder, home(folder, "hook") as (app, project):
        service = app.memory_service(project.key)
        for number in range(BRANCH_CHARS_MAX // ENTRY_CHARS):
            service.remember(f"Fact number {number}: ".ljust(ENTRY_CHARS - 1, "x") + ".")
        transcript = Transcript(cwd=project.root)
        transcript.user("Hello.")
        transcript.says("Hello.")
        file = str(transcript.write(Path(project.root)))
        said = {
            event: json.dumps(payload_of(VERSION, event, project=project.root, transcript=file)).encode()
            for event in _EVENTS
        }
        bare: list[float] = []
        ours: dict[str, list[float]] = {event: [] for event in said}
        _hook("SessionStart", said["SessionStart"])
        for _ in range(ROUNDS):
            for event, payload in said.items():
                time.sleep(_REST_SECONDS)
                bare.append(_timed([sys.executable, "-c", "pass"], b""))
                ours[event].append(_hook(event, payload))
        time.sleep(2 * _REST_SECONDS)
    reference = median(bare) * 1000
    figures = [
        against(
            f"perdure hook {name}, beside python -c pass",
            median(ours[event]) * 1000,
            "ms",
            reference=reference,
            ratio_max=RATIO_MAX,
        )
        for event, name in _EVENTS.items()
    ]
    slowest = max(ours["UserPromptSubmit"]) * 1000
    return [*figures, at_most("the slowest hook in front of a prompt", slowest, "ms", PROMPT_MS_MAX)]


def _hook(event: str, payload: bytes) -> float:
    script = Path(sys.executable).with_name("perdure")
    return _timed([str(script), "hook", "claude-code", event], payload)


def _timed(command: list[str], said: bytes) -> float:
    """Seconds of a process, with compiled modules as a user has them."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    subprocess.run(command, check=True, input=said, capture_output=True, env=env)
    return time.perf_counter() - begun
