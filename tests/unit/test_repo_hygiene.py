"""What may not stand in the repository, and that the check would see it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import hygiene

ROOT = Path(__file__).resolve().parents[2]


def test_the_tree_is_clean() -> None:
    """No file holds a registry address, a path of one machine or a lock of either, and none is large."""
    assert [str(each) for each in hygiene.findings(ROOT)] == []


@pytest.mark.parametrize(
    "line",
    [
        "https://py" + "pi.org/simple",
        '"resol' + 'ved": "https://registry.npm' + 'js.org/x/-/x-1.tgz"',
        "--index" + "-url https://mirror.example/simple",
        "--find" + "-links=/wheels",
        "see /ro" + "ot/notes.txt",
        "cd /wo" + "rk/main",
        "Co-Auth" + "ored-By: someone",
        "kept in /srv/checkout/perdure for now",
    ],
)
def test_a_bad_line_is_found(line: str) -> None:
    """Each kind of line that may not stand in a file is found, with its place."""
    found = hygiene.in_text("a.md", f"fine\n{line}\nfine\n", checkout="/srv/checkout/perdure")
    assert [(each.path, each.line) for each in found] == [("a.md", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "home and `/` are refused",
        "https://docs.python.org/3/library/os.html",
        "$HOME/root/work/x",
        "src/work/main.py",
        "the project's root/folder",
        "pip install perdure",
    ],
)
def test_an_ordinary_line_passes(line: str) -> None:
    """What only looks a little like a refused line may stand."""
    assert hygiene.in_text("a.md", line, checkout="/srv/checkout/perdure") == []


def test_untracked_large_and_lock_files_are_found(tmp_path: Path) -> None:
    """A file that Git would track counts like a tracked one; an ignored one does not."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("ignored.bin\n")
    (tmp_path / "uv.lock").write_text("")
    (tmp_path / "large.bin").write_bytes(b"\0" * (hygiene.FILE_BYTES_MAX + 1))
    (tmp_path / "ignored.bin").write_bytes(b"\0" * (hygiene.FILE_BYTES_MAX + 1))
    found = hygiene.findings(tmp_path)
    assert [each.path for each in found] == ["large.bin", "uv.lock"]


def test_pinned_requirements_have_hashes() -> None:
    """Every pinned requirement carries at least one hash, so that an install takes nothing else."""
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        blocks = path.read_text().replace("\\\n", " ").splitlines()
        pins = [line for line in blocks if line and not line.startswith("#")]
        assert pins
        assert [line for line in pins if "==" not in line or "--hash=sha256:" not in line] == []
