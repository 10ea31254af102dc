"""The injected block as a service: current, bounded, and recorded as exposure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.app import App
from perdure.authority.filesystem import exposure
from perdure.authority.filesystem.exposure import FileExposures

pytestmark = pytest.mark.usefixtures("perdure_home")


@pytest.fixture
def app(perdure_home: Path) -> Iterator[App]:
    """An open home."""
    assert not perdure_home.exists()
    made = App.open(create=True)
    yield made
    made.close()


@pytest.fixture
def project(app: App, tmp_path: Path) -> str:
    """A project's key."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    found = app.project(str(tmp_path / "shop"))
    app.ensure_project(found)
    return found.key


@pytest.mark.requirement("I-01")
def test_the_block_shows_what_another_process_wrote(app: App, project: str) -> None:
    """A change by another process is in the next block with no refresh."""
    inject = app.inject_service()
    assert inject.block(project).text == ""
    other = App.open()
    other.memory_service(project).remember("The API listens on port 8080.")
    other.close()
    assert "port 8080" in inject.block(project).text


@pytest.mark.requirement("I-04")
def test_a_turn_start_counts_exposure_per_session_and_version(app: App, project: str) -> None:
    """What was injected is counted per session; a changed entry starts again; a preview counts nothing."""
    memory, inject = app.memory_service(project), app.inject_service()
    entry = memory.remember("The API listens on port 8080.").entry
    assert entry is not None
    inject.block(project)
    inject.turn_start(project, session="a")
    inject.turn_start(project, session="a")
    inject.turn_start(project, session="b")
    counts = FileExposures(app.records)
    assert counts.of_session(project, "a")[entry.entry_id].times == 2
    assert counts.of_session(project, "b")[entry.entry_id].times == 1
    memory.replace(entry.entry_id, text="The API listens on port 9090.")
    inject.turn_start(project, session="a")
    assert counts.of_session(project, "a")[entry.entry_id].times == 1


@pytest.mark.requirement("I-04")
def test_exposure_is_bounded_and_survives_a_torn_file(
    app: App, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old sessions make room, and a torn file only loses its counts."""
    monkeypatch.setattr(exposure, "SESSIONS_MAX", 3)
    app.memory_service(project).remember("The API listens on port 8080.")
    inject = app.inject_service()
    for session in range(6):
        inject.turn_start(project, session=str(session))
    folder = Path(app.home.path, "projects", project, "exposure")
    files = sorted(folder.iterdir())
    assert len(files) == 3
    for file in files:
        file.write_bytes(b'{"torn')
    assert inject.turn_start(project, session="5").text
    assert len(FileExposures(app.records).of_session(project, "5")) == 1
