"""Running `perdure` in a test: in this process, for speed, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.cli.main import main


class Said:
    """What one command printed, and its exit status."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


class Perdure:
    """A user in one project, with a home of their own."""

    def __init__(self, project: Path, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.project, self.home, self._capture = project, home, capture

    def __call__(self, *words: str, status: int = 0) -> Said:
        """Run a command that has to end with this status; nothing on standard error when it is 0."""
        self._capture.readouterr()
        found = main(list(words))
        said = Said(found, *self._capture.readouterr())
        assert said.status == status, f"{words}: {said.status}\n{said.out}\n{said.err}"
        return said

    def json(self, *words: str, status: int = 0) -> Any:
        """Run a command with --json and give its document."""
        return self(*words, "--json", status=status).json

    def texts(self) -> list[str]:
        """The texts on the active branch."""
        return [entry["text"] for entry in self.json("list")["entries"]]

    def files(self) -> dict[str, bytes]:
        """Every file in the home with its bytes, but for what runs change unsynced."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and path.relative_to(self.home).parts[0] not in {"run", "epoch", "tmp"}
        }


def process(
    *words: str, cwd: Path, env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """Start `perdure` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "perdure.cli.main", *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )
