"""A project and a user for the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure


@pytest.fixture
def perdure(
    tmp_path: Path,
    perdure_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Perdure:
    """Give the command line in a fresh project that was initialised."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setattr("sys.stdin", None)
    run = Perdure(project, perdure_home, capsys)
    run("init")
    return run
