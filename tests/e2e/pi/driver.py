"""A user of Pi: a project, a Pi folder with Perdure in it, and the ways in which Pi is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.pi.install import ROOT, Installed
from tests.e2e.pi.model import MODEL

EXTENSION = ROOT / "src" / "perdure" / "integrations" / "pi"
HELPER = Path(__file__).parent / "helper" / "helper.ts"
FAKE_CHILD = Path(__file__).parent / "fake_child.py"
RUN_SECONDS = 60


@dataclass
class Ran:
    """What one run of Pi printed, and how it ended."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of JSON mode."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Notes:
    """What fake children noted: a line when one starts, with its pid, and one for each request."""

    path: Path

    def lines(self) -> list[dict[str, Any]]:
        """All that was noted so far."""
        if not self.path.exists():
            return []
        whole, _, _ = self.path.read_text(encoding="utf-8").rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def asked(self, op: str) -> list[dict[str, Any]]:
        """The requests of one kind."""
        return [line for line in self.lines() if line.get("op") == op]

    def pids(self) -> list[int]:
        """The children, oldest first."""
        return [line["pid"] for line in self.lines() if "pid" in line]


@dataclass
class PiUser:
    """One user on one machine. `model_url` is where the scripted model listens."""

    installed: Installed
    base: Path
    model_url: str
    python: str = sys.executable
    context_window: int = 100_000
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self.base / "shop"
        (self.project / ".git").mkdir(parents=True, exist_ok=True)
        self.agent = self.base / "agent"
        self.home = self.base / "perdure-home"
        self.extension = self.base / "extension"
        shutil.copytree(EXTENSION, self.extension)
        self.use_python(self.python)
        self._settle()

    def use_python(self, python: str) -> None:
        """Write what the installer writes."""
        self.python = python
        (self.extension / "perdure.json").write_text(json.dumps({"python": python, "release": "test"}))

    def use_fake_child(self, behaviour: str = "none") -> Notes:
        """Have a child that misbehaves in one way; give what it notes."""
        notes = self.base / f"asked-{behaviour}"
        script = self.base / f"fake-{behaviour}"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE_CHILD}" {behaviour} "{notes}"\n')
        script.chmod(0o755)
        self.use_python(str(script))
        return Notes(notes)

    def perdure(self, *words: str, status: int = 0) -> str:
        """Run Perdure's own command line in the project, as this user."""
        ran = subprocess.run(
            (sys.executable, "-m", "perdure", *words),
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert ran.returncode == status, f"{words}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def texts(self, *words: str) -> list[str]:
        """The texts on a branch, the selected one if none is named."""
        return [entry["text"] for entry in json.loads(self.perdure("list", "--json", *words))["entries"]]

    def environment(self) -> dict[str, str]:
        """Nothing of the caller's but the path."""
        return {
            "PATH": f"{self.installed.node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.base),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            "PI_SKIP_VERSION_CHECK": "1",
            "PERDURE_HOME": str(self.home),
            "XDG_STATE_HOME": str(self.base / "state"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            "OMP_NUM_THREADS": "1",
            **self.env,
        }

    def command(self, *words: str) -> tuple[str, ...]:
        """The command line of Pi with these words."""
        return (*self.installed.pi, *words)

    def start(self, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start Pi and leave it running; whoever starts it ends it."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.project,
            env=self.environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *words: str, status: int = 0) -> Ran:
        """Run Pi to its end."""
        with self.start(*words) as process:
            try:
                out, err = process.communicate(timeout=RUN_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        ran = Ran(process.returncode, out, err)
        assert ran.status == status, f"{words}: {ran.status}\n{ran.out}\n{ran.err}"
        return ran

    def say(self, *words: str) -> Ran:
        """Run Pi in print mode."""
        return self.run("-p", *words)

    def sessions(self) -> list[Path]:
        """The session files, oldest first."""
        return sorted(self.agent.glob("sessions/*/*.jsonl"))

    def session(self, place: int = -1) -> Iterator[dict[str, Any]]:
        """The entries of one session file."""
        for line in self.sessions()[place].read_text(encoding="utf-8").splitlines():
            yield json.loads(line)

    def _settle(self) -> None:
        self.agent.mkdir()
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        scripted = {
            "id": MODEL,
            "name": "Scripted",
            "reasoning": False,
            "input": ["text"],
            "contextWindow": self.context_window,
            "maxTokens": 1_000,
            "cost": cost,
        }
        provider = {
            "baseUrl": f"{self.model_url}/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [scripted],
        }
        settings = {
            "defaultProvider": "loopback",
            "defaultModel": MODEL,
            "defaultProjectTrust": "always",
            "packages": [str(self.extension)],
            "extensions": [str(HELPER)],
            "quietStartup": True,
            "compaction": {"enabled": True, "reserveTokens": 500, "keepRecentTokens": 20},
            "retry": {"enabled": False},
        }
        _write(self.agent / "models.json", {"providers": {"loopback": provider}})
        _write(self.agent / "settings.json", settings)


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2))
