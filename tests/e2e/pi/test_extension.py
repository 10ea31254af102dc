"""The extension alone: its own tests under Node, and its types against those of the installed Pi."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.pi.driver import EXTENSION
from tests.e2e.pi.install import Installed

SUITES = Path(__file__).parent / "extension"
NODE_SECONDS = 120
STRICT = (
    "--noEmit --strict --noUncheckedIndexedAccess --noUnusedLocals --noUnusedParameters --noImplicitReturns "
    "--exactOptionalPropertyTypes --erasableSyntaxOnly --allowImportingTsExtensions --verbatimModuleSyntax "
    "--module nodenext --target esnext --lib esnext --types node --skipLibCheck"
)


def run(installed: Installed, *words: str | Path, cwd: Path) -> str:
    """Run Node, which has to succeed."""
    done = subprocess.run(
        (installed.node, *words),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NODE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("suite", sorted(path.name for path in SUITES.glob("*.test.ts")))
def test_the_extension_keeps_its_promises(installed: Installed, suite: str) -> None:
    """Each suite of the extension passes under Node's own test runner."""
    said = run(installed, "--test", "--test-timeout=60000", "--test-reporter=tap", suite, cwd=SUITES)
    assert "# fail 0" in said
    assert "# pass 0" not in said


def test_the_types_fit_the_installed_pi(installed: Installed, tmp_path: Path) -> None:
    """The strictest check of TypeScript finds nothing, against Pi's own declarations."""
    copy = installed.folder / tmp_path.name
    shutil.copytree(EXTENSION, copy)  # beside node_modules, where the declarations are found
    try:
        compiler = installed.module("typescript") / "bin" / "tsc"
        run(installed, compiler, *STRICT.split(), *sorted(copy.glob("*.ts")), cwd=installed.folder)
    finally:
        shutil.rmtree(copy)


def test_the_package_is_what_pi_loads() -> None:
    """The manifest names a file that is there, needs no build, and asks for nothing to be installed."""
    manifest = json.loads((EXTENSION / "package.json").read_text())
    assert all((EXTENSION / name).is_file() for name in manifest["pi"]["extensions"])
    assert "dependencies" not in manifest
    assert "scripts" not in manifest
