"""What holds for every test: a home and a user of its own, a clean environment, no network.

Markers: `@pytest.mark.requirement("Q-03")` names the promise that a test proves; `make trace` reads it.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

UMASK = 0o022
"""The umask of every test; a test about modes sets others itself."""

KEPT = frozenset({"PATH", "TMPDIR", "TEMP", "TMP", "COLUMNS", "LINES", "SYSTEMROOT"})
"""Variables of the caller that a test may see."""

KEPT_PREFIXES = ("PYTEST_", "COVERAGE_", "COV_", "HYPOTHESIS_")

# A deadline per example fails on a busy machine and proves nothing; `--hypothesis-profile=deep` looks longer.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", settings.get_profile("house"), max_examples=2_000)
settings.load_profile("house")

_count = itertools.count()


def foreign(names: Iterable[str]) -> set[str]:
    """Give those of the caller's variables that no test may see."""
    return {name for name in names if name not in KEPT and not name.startswith(KEPT_PREFIXES)}


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that ties a test to a promise."""
    config.addinivalue_line("markers", "requirement(id, ...): the promises that this test proves")


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def clean_environment(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test its own user folder; PERDURE_HOME is a folder in it that does not exist yet.

    Nothing of the caller's settings, credentials, locale or Git configuration is visible, and the umask
    is 022.
    """
    user = _homes / str(next(_count))
    user.mkdir()
    for name in foreign(os.environ):
        monkeypatch.delenv(name)
    clean = {
        "HOME": str(user),
        "PERDURE_HOME": str(user / "perdure-home"),
        "XDG_CONFIG_HOME": str(user / ".config"),
        "XDG_DATA_HOME": str(user / ".local/share"),
        "XDG_STATE_HOME": str(user / ".local/state"),
        "XDG_CACHE_HOME": str(user / ".cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A Developer",
        "GIT_AUTHOR_EMAIL": "developer@example.org",
        "GIT_COMMITTER_NAME": "A Developer",
        "GIT_COMMITTER_EMAIL": "developer@example.org",
        "GIT_CEILING_DIRECTORIES": str(_homes),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
    }
    for name, value in clean.items():
        monkeypatch.setenv(name, value)
    before = os.umask(UMASK)
    yield user / "perdure-home"
    os.umask(before)


@pytest.fixture
def perdure_home(clean_environment: Path) -> Path:
    """Give the folder that PERDURE_HOME names; it does not exist yet."""
    return clean_environment


@pytest.fixture(autouse=True, scope="session")
def offline() -> Iterator[None]:
    """Refuse every connection that leaves this machine (G-06); Unix sockets and loopback stay open."""
    with pytest.MonkeyPatch.context() as patch:
        real = socket.socket.connect

        def connect(self: socket.socket, address: object) -> None:
            if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address):
                pytest.fail(f"a test tried to reach {address!r}; tests are offline")
            real(self, address)  # type: ignore[arg-type]  # whatever the caller passed is passed on

        patch.setattr(socket.socket, "connect", connect)
        yield


def _is_loopback(address: object) -> bool:
    host = address[0] if isinstance(address, tuple) and address else ""
    try:
        return host == "localhost" or ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False
