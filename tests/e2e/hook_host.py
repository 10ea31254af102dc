"""A host that runs hooks, for tests: it starts `perdure hook` as real ones do and waits for no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hook_payloads import host_of, payload_of
from tests.session_files import Transcript

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="tells by /proc when the detached process has ended"
)

PATIENT = """
import perdure.hosts.hook as hook
hook.ANSWER_SECONDS = hook.START_SECONDS = hook.SETTLED_SECONDS = 60.0
"""
"""Deadlines that a busy machine does not come near; the tests of the deadlines do without."""

LINE_MS = 1_000
"""What the writer of transcripts puts between two lines."""

_WAIT_SECONDS = 60.0
"""Far longer than anything takes: a test that waits so long has failed."""


class HookHost:
    """One session of a host of some version, in one project, with a transcript that grows."""

    def __init__(self, project: Path, home: Path, *, version: str = "claude-code-2.1") -> None:
        self.version, self.project, self.home = version, project, home
        self.transcript = Transcript(cwd=str(project))
        self.file = project.parent / "transcript.jsonl"
        self.env: dict[str, str] = {}
        self.under(PATIENT)

    def under(self, code: str) -> None:
        """Let code run in every hook before the product, in place of what was put there before."""
        folder = self.file.parent / "under"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(code)
        self.env["PYTHONPATH"] = str(folder)

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        """Give what the host says to a hook."""
        shape = payload_of(self.version, event, project=str(self.project), transcript=str(self.file))
        return shape | fields

    def run(self, event: str, **fields: Any) -> str:
        """Run a hook, let the detached process end, and give the text that came into the context."""
        text = self.context(self.start(event, **fields))
        self.wait()
        return text

    def start(self, event: str, **fields: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a hook without waiting for more than the host would."""
        return self.raw(event, json.dumps(self.payload(event, **fields)).encode())

    def raw(self, event: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
        """Run a hook with these bytes on its standard input."""
        return subprocess.run(
            self.command(event), input=data, capture_output=True, env=self._env(), check=False
        )

    def command(self, event: str) -> list[str]:
        """Give the command of a hook."""
        return [sys.executable, "-m", "perdure.cli.main", "hook", host_of(self.version), event]

    def context(self, done: subprocess.CompletedProcess[bytes]) -> str:
        """Give what an ended hook put into the context; it must have succeeded and said nothing else."""
        assert (done.returncode, done.stderr) == (0, b"")
        if not done.stdout:
            return ""
        said = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        assert isinstance(said, str)
        return said

    def turn(self, said: str, answered: str | None) -> None:
        """Let a turn happen now; without an answer it is still at work."""
        self.transcript.ms = time.time_ns() // 1_000_000 - 2 * LINE_MS
        self.transcript.user(said, origin={"kind": "human"})
        if answered is not None:
            self.transcript.says(answered)
        self.transcript.write(self.file.parent, self.file.name)

    def wait(self) -> None:
        """Wait until no detached process of this host is left."""
        eventually(lambda: not self.others())

    def others(self) -> list[int]:
        """Give the processes that hooks of this host left behind: they alone run with its code under them."""
        mark = f"PYTHONPATH={self.env['PYTHONPATH']}".encode()
        return [process for process in _processes() if _has(process, mark)]

    def log(self) -> str:
        """Give the log of the hooks."""
        path = self.home / "run" / "hooks" / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def _env(self) -> Mapping[str, str]:
        return {**os.environ, **self.env}


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    until = time.monotonic() + _WAIT_SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def _processes() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def _has(process: int, mark: bytes) -> bool:
    folder = Path("/proc", str(process))
    try:
        named = mark in (folder / "environ").read_bytes().split(b"\0")
        return named and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False  # ended meanwhile, or another user's
