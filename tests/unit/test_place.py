"""Where the home is, on every platform and whatever the environment says."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from perdure.authority.filesystem.place import home_path
from perdure.errors import ConfigError


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no home."""
    monkeypatch.delenv("PERDURE_HOME", raising=False)
    return monkeypatch


@pytest.mark.parametrize("home", ["/home/ann", "/home/ann/", None])
@pytest.mark.parametrize("data", [None, "", "  ", "/data", " /data ", "/data/", "relative", "~/data"])
def test_without_a_name_it_is_where_platformdirs_has_it(
    unset: pytest.MonkeyPatch, home: str | None, data: str | None
) -> None:
    """The short way gives the folder that the library gives, so that no release moves a memory."""
    for name, value in (("HOME", home), ("XDG_DATA_HOME", data)):
        if value is None:
            unset.delenv(name, raising=False)
        else:
            unset.setenv(name, value)
    assert home_path() == platformdirs.user_data_dir("perdure", appauthor=False)


def test_on_linux_the_library_is_not_loaded(unset: pytest.MonkeyPatch) -> None:
    """It costs a cold command as much as the interpreter; elsewhere it decides."""
    unset.setenv("HOME", "/home/ann")
    unset.delenv("XDG_DATA_HOME", raising=False)
    unset.setitem(sys.modules, "platformdirs", None)
    unset.setattr(sys, "platform", "linux")
    assert home_path() == "/home/ann/.local/share/perdure"
    unset.setattr(sys, "platform", "darwin")
    with pytest.raises(ModuleNotFoundError):
        home_path()


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("/data/perdure", "/data/perdure"),
        ("/data//perdure/./", "/data/perdure"),
        ("/data/link/../perdure", "/data/link/../perdure"),
    ],
)
def test_a_name_is_taken_as_it_is_said(unset: pytest.MonkeyPatch, named: str, expected: str) -> None:
    """What says nothing goes; ".." stays, since a link may stand before it."""
    unset.setenv("PERDURE_HOME", named)
    assert home_path() == expected


def test_a_relative_name_starts_from_the_current_folder(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And is refused with what to do when that folder is gone."""
    here = tmp_path / "here"
    here.mkdir()
    unset.chdir(here)
    unset.setenv("PERDURE_HOME", "./memory/")
    assert home_path() == str(here / "memory")
    here.rmdir()
    with pytest.raises(ConfigError, match="not there any more") as refused:
        home_path()
    assert "absolute path" in refused.value.advice
