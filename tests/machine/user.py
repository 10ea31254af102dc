"""A user with a project and a home, whose every command is a process of its own, of any release."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.session_files import PiSession

ROOT = Path(__file__).parents[2]
CURRENT = ROOT / "src"
PLAIN = "perdure.cli.main"
GATED = "tests.machine.gated"
TIMEOUT_SECONDS = 60
CONFIG = """
[reviewer]
provider = "rules"

[retries]
unknown_seconds_first = 0
quiet_branch_seconds = 0

[limits]
calls = {calls}
calls_per_hour = 100_000
"""


class Ended:
    """How one command ended, and what it printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


class User:
    """Somebody at a machine; `release` is the folder whose `perdure` runs."""

    def __init__(self, folder: Path, *, release: Path = CURRENT, calls: int = 1_000) -> None:
        self.folder, self.release = folder, release
        self.project, self.home = folder / "shop", folder / "home"
        self.sends, self.gate = folder / "sends", folder / "gate"
        self.env: dict[str, str] = {
            "PERDURE_HOME": str(self.home),
            "PERDURE_STATE": str(folder / "state"),
            "SENDS": str(self.sends),
            "GATE": str(self.gate),
        }
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.sends.touch()
        self("init")
        (self.home / "config.toml").write_text(CONFIG.format(calls=calls))
        (self.home / "config.toml").chmod(0o600)
        self._sessions = 0

    def environment(self, release: Path | None = None) -> dict[str, str]:
        """The environment of a command of a release."""
        path = f"{release or self.release}{os.pathsep}{ROOT}"
        return {**os.environ, **self.env, "PYTHONPATH": path}

    def start(
        self,
        *words: str,
        module: str = PLAIN,
        release: Path | None = None,
        env: Mapping[str, str] | None = None,
        within: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        """Start a command; `within` is what it is started by."""
        return subprocess.Popen(
            [*within, sys.executable, "-m", module, *words],
            cwd=self.project,
            env={**self.environment(release), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(
        self, *words: str, status: int = 0, module: str = PLAIN, release: Path | None = None
    ) -> Ended:
        """Run a command that has to end with this status, and print a JSON document."""
        ended = finish(self.start(*words, "--json", module=module, release=release))
        assert ended.status == status, f"{words}: {ended.status}\n{ended.out}\n{ended.err}"
        return ended

    def capture(self, *facts: str, ms: int | None = None, release: Path | None = None) -> list[str]:
        """Let the user say each fact in a session of its own, and capture them. Returns the jobs."""
        files = []
        for fact in facts:
            self._sessions += 1
            session = PiSession(session_id=f"0192-{self._sessions}", cwd=str(self.project))
            session.ms = ms or session.ms + self._sessions * 1_000_000
            session.turn(fact, "Noted.")
            files.append(str(session.write(self.folder, f"session-{self._sessions}.jsonl")))
        jobs: list[str] = self("capture", *files, "--yes", release=release).json["jobs"]
        return jobs

    def texts(self, branch: str = "main", *, release: Path | None = None) -> list[str]:
        """The texts on a branch."""
        listed = self("list", "--branch", branch, release=release).json["entries"]
        return [entry["text"] for entry in listed]

    def states(self, *, release: Path | None = None) -> dict[str, str]:
        """Every job and its state."""
        return {job["job"]: job["state"] for job in self("jobs", "list", release=release).json["jobs"]}

    def sent(self) -> list[tuple[str, int]]:
        """The requests so far: attempts, and the processes that sent them."""
        rows = (line.split() for line in self.sends.read_text(encoding="ascii").splitlines())
        return [(attempt, int(process)) for attempt, process, _log in rows]

    def await_sends(self, count: int, process: subprocess.Popen[str]) -> None:
        """Wait until so many requests went out; the process that sends has to live that long."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while len(self.sent()) < count:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until, "nothing was sent"
            time.sleep(0.01)

    def await_states(self, states: set[str], process: subprocess.Popen[str]) -> None:
        """Wait until every job is in one of these states; the process that works has to live that long."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while not set(self.states().values()) <= states:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until, self.states()

    def check(self, *, release: Path | None = None) -> None:
        """Verify has nothing to say, but that the killed leave temporary files until the next sweep."""
        verified = self("verify", release=release).json
        assert [found for found in verified["findings"] if found["code"] != "temporaries"] == []


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait for a command's end."""
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    return Ended(process.returncode, out, err)


@contextlib.contextmanager
def ending(*processes: subprocess.Popen[Any]) -> Iterator[None]:
    """Kill what still runs at the end."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def kill(process: subprocess.Popen[Any]) -> None:
    """SIGKILL, and reap."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
