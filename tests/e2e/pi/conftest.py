"""Pi, installed once; a model on loopback and a user of Pi for each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.pi.driver import PiUser
from tests.e2e.pi.install import Installed, Missing, install
from tests.e2e.pi.model import Model
from tests.loopback import Answer

Begin = Callable[..., tuple[PiUser, Model]]


@pytest.fixture(scope="session")
def installed() -> Installed:
    """Give Node and Pi; skip, with the exact reason, where they cannot be had."""
    try:
        return install(dict(os.environ))
    except Missing as reason:
        pytest.skip(str(reason))


@pytest.fixture
def begin(installed: Installed, tmp_path: Path) -> Iterator[Begin]:
    """Give a function that makes a user of Pi and the model that plays a script for them."""
    with ExitStack() as stack:

        def begin(
            *script: Answer, initialised: bool = True, window: int = 100_000, mode: str = ""
        ) -> tuple[PiUser, Model]:
            server = stack.enter_context(Model(*script))
            user = PiUser(installed, tmp_path, server.url, context_window=window)
            if initialised:
                user.perdure("init")
            if mode:
                (user.home / "config.toml").write_text(f'mode = "{mode}"\n')
            return user, server

        yield begin
