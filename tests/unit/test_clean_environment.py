"""What every test may rely on: its own user, home and umask, and no way out to a network."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import foreign


def test_every_test_has_a_home_of_its_own(perdure_home: Path) -> None:
    """PERDURE_HOME and HOME lead to folders of this test, and the first does not exist yet."""
    assert os.environ["PERDURE_HOME"] == str(perdure_home)
    assert Path.home() == perdure_home.parent
    assert list(perdure_home.parent.iterdir()) == []


def test_nothing_of_the_caller_is_visible() -> None:
    """Credentials, settings, locale and Python paths go; what tests themselves need stays."""
    gone = {"ANTHROPIC_API_KEY", "PERDURE_MODE", "LANG", "PYTHONPATH", "HTTPS_PROXY", "GIT_DIR"}
    assert foreign(gone | {"PATH", "TMPDIR", "PYTEST_XDIST_WORKER", "COVERAGE_FILE"}) == gone
    ours = {"HOME", "PERDURE_HOME", "LC_ALL", "TZ", "NO_COLOR"}
    assert all(name in ours or name.startswith(("XDG_", "GIT_")) for name in foreign(os.environ))


def test_the_umask_is_fixed(tmp_path: Path) -> None:
    """Files come out as 0644 whatever the caller's umask was."""
    path = tmp_path / "file"
    path.write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.requirement("G-06")
def test_tests_cannot_reach_a_network() -> None:
    """A connection that leaves the machine fails the test that tries it; loopback is open."""
    with socket.socket() as out, pytest.raises(pytest.fail.Exception, match="tests are offline"):
        out.connect(("192.0.2.1", 80))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as loopback:
        loopback.connect(server.getsockname())


@given(st.integers())
def test_properties_may_use_the_environment(number: int) -> None:
    """Hypothesis accepts the automatic fixtures."""
    assert number == number + 0
    assert "PERDURE_HOME" in os.environ
