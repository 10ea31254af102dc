"""The packed product, on its own: built, installed outside the checkout, and used for its first minutes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPENDENCIES = ("msgspec", "numpy", "platformdirs", "pystemmer", "rfc8785")
TIMEOUT_SECONDS = 120

pytestmark = pytest.mark.xdist_group("wheel")


def run(command: Sequence[str | Path], cwd: Path) -> str:
    """Run a command that has to succeed; return what it printed."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the checkout, offline."""
    out = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", out, ROOT], cwd=out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def perdure(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and copies of what it depends on into a new venv; return its `perdure`."""
    venv = tmp_path_factory.mktemp("user") / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", venv], cwd=venv.parent)
    python = venv / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
    run([*pip, "install", "--quiet", "--no-deps", "--no-index", wheel], cwd=venv.parent)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))
    for name in DEPENDENCIES:
        _copy(importlib.metadata.distribution(name), site)
    run([*pip, "check"], cwd=venv.parent)
    return venv / "bin" / "perdure"


def _copy(distribution: importlib.metadata.Distribution, site: Path) -> None:
    for file in distribution.files or ():
        if ".." not in file.parts and file.suffix != ".pyc":
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), target)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with a Git repository."""
    folder = tmp_path / "my-project"
    run(["git", "init", "-q", folder], cwd=tmp_path)
    return folder


@pytest.mark.requirement("X-07")
def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    """The wheel has every module, the data that goes with them, the licence and the mark of being typed."""
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in names if ".dist-info/" not in name}
    assert packed == ours
    assert "perdure/py.typed" in packed
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.requirement("G-06")
def test_the_product_alone_needs_no_network_client(wheel: Path) -> None:
    """Without an extra, it asks for five libraries; network clients and encoders are the user's choice."""
    (metadata,) = importlib.metadata.distributions(path=[str(wheel)])
    needed = {re.split("[^a-z0-9]", text)[0] for text in metadata.requires or () if "extra ==" not in text}
    assert needed == set(DEPENDENCIES)


@pytest.mark.requirement("X-07")
def test_the_installed_package_is_not_the_checkout(perdure: Path, tmp_path: Path) -> None:
    """The new venv imports its own copy and every dependency, with nothing of the checkout on its path."""
    code = "import perdure, msgspec, rfc8785, platformdirs; print(perdure.__file__)"
    found = run([perdure.parent / "python", "-I", "-c", code], cwd=tmp_path).strip()
    assert Path(found).is_relative_to(perdure.parents[1])


@pytest.mark.requirement("X-07", "G-04")
def test_the_first_minutes_of_a_user(perdure: Path, project: Path) -> None:
    """Help, init, remember and show work from the wheel alone, with a home of its own."""
    text = "Use pnpm check before pnpm test."
    assert "remember" in run([perdure, "--help"], cwd=project)
    run([perdure, "init"], cwd=project)
    run([perdure, "remember", text, "--importance", "high"], cwd=project)
    shown = json.loads(run([perdure, "show", "--json"], cwd=project))
    assert text in json.dumps(shown)
    assert "high" in json.dumps(shown)
    assert Path(os.environ["PERDURE_HOME"]).is_dir()
    assert [path.name for path in project.iterdir()] == [".git"]
