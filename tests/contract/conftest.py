"""Every authority under contract, as one process or two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.authorities import Ports, Site, open_site


@pytest.fixture(params=["reference", "files", "simulated"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """Each authority in turn."""
    with open_site(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=["reference", "files"])
def threaded_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """Those that several threads may use at the same time; the simulated disk is driven from one."""
    with open_site(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def one(site: Site) -> Ports:
    """The ports of one process."""
    return site.process()


@pytest.fixture
def two(site: Site) -> Ports:
    """The ports of another process."""
    return site.process()
