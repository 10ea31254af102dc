"""Cases of homes that were copied or restored (rule 14), on the real disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.home import make_home, open_home, start_writing
from perdure.errors import Refused
from tests.crash.checks import need


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for homes, in which their numbers are kept too."""
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_STATE", str(Path(made, "state")))
        yield Path(made)


def restored() -> None:
    """What a home holds is put back as it was before its last writers started."""
    with _folder() as folder:
        home = make_home(str(folder / "home"))
        start_writing(home)
        numbers, kept = Path(home.path, layout.EPOCH), folder / "kept"
        shutil.copytree(numbers, kept)
        for _ in range(3):
            start_writing(home)
        shutil.rmtree(numbers)
        shutil.copytree(kept, numbers)
        refused = False
        try:
            start_writing(home)
        except Refused:
            refused = True
        home.close()
        need("S-08 a restored home writes nothing", holds=refused)


def copied() -> None:
    """A copy of a home is opened."""
    with _folder() as folder:
        home = make_home(str(folder / "home"))
        home.close()
        copy = folder / "copy"
        shutil.copytree(home.path, copy)
        copy.chmod(0o700)
        refused = False
        try:
            open_home(str(copy)).close()
        except Refused:
            refused = True
        need("S-08 a copied home writes nothing", holds=refused)
