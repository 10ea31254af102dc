"""Look for what may not stand in the repository: `python -m tools.hygiene`.

Looked at is every file that Git tracks or would track. Refused are addresses of package registries and
options that name one, lock files that hold them, paths of somebody's machine, words left over from how a
text came about, and large files. The exit status is 1 when something is found.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec

FILE_BYTES_MAX = 512 * 1024
"""No file of the repository may be larger; what is larger is made, or recorded smaller."""

LARGE_FILES = frozenset({"src/perdure/provider/vocabulary/static-rows.u4"})
"""What may be larger all the same: shipped data, that `tools.distil_static` makes, and not each build."""

LOCK_FILES = frozenset({"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", ".npmrc", "pip.conf"})
"""Names of files that hold registry addresses."""


class Rule(msgspec.Struct, frozen=True):
    """A pattern for one line, and why it may not match."""

    pattern: re.Pattern[str]
    reason: str


# Each pattern holds a bracketed letter, so that no line of this file matches itself.
RULES = (
    Rule(
        re.compile(
            r"(?<![\w.-])(?:py[p]i\.org|files\.pythonhost[e]d\.org|registry\.np[m]js\.org"
            r"|registry\.yar[n]pkg\.com|static\.crat[e]s\.io|proxy\.gol[a]ng\.org)"
        ),
        "the address of a package registry",
    ),
    Rule(
        re.compile(r"^\s*(?:-i|--index-ur[l]|--extra-index-ur[l]|--find-link[s])(?:[ =]|$)"),
        "an option that names a package registry",
    ),
    Rule(
        re.compile(r"(?<![\w.~:/-])/(?:roo[t]/[.\w]|wor[k]/|far[m]/|opt/(?:pyp[i]|whe[e]ls))"),
        "a path of one machine",
    ),
    Rule(
        re.compile(r"^\s*(?:co-autho[r]ed-by: |\W*generat[e]d with \W?\w+ cod[e])", re.IGNORECASE),
        "words about how the text was made",
    ),
)


class Finding(msgspec.Struct, frozen=True):
    """One thing found; `line` is zero when it is about the whole file."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        """Name the place the way compilers do."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.reason}"


def files(root: Path) -> list[str]:
    """List what Git tracks or would track, and is there, relative to `root`.

    Raises:
        subprocess.CalledProcessError: `root` is not the top of a Git work tree.

    """
    listed = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={root}",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout.decode("utf-8")
    return sorted({name for name in listed.split("\0") if name and (root / name).is_file()})


def in_text(path: str, text: str, checkout: str) -> list[Finding]:
    """Find refused lines. `checkout` is the absolute path of this checkout, which may stand nowhere."""
    here = re.compile(rf"(?<![\w.~-]){re.escape(checkout)}(?![\w.-])")
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        found += [Finding(path, number, rule.reason) for rule in RULES if rule.pattern.search(line)]
        if here.search(line):
            found.append(Finding(path, number, "the path of this checkout"))
    return found


def findings(root: Path) -> list[Finding]:
    """Look at every file under `root`, the top of the checkout."""
    checkout = str(root.resolve())
    found = []
    for name in files(root):
        path = root / name
        if path.name in LOCK_FILES:
            found.append(Finding(name, 0, "a file that holds registry addresses"))
        if path.stat().st_size > FILE_BYTES_MAX and name not in LARGE_FILES:
            found.append(Finding(name, 0, f"larger than {FILE_BYTES_MAX} bytes"))
        content = path.read_bytes()
        if b"\0" not in content[:8192]:
            found += in_text(name, content.decode("utf-8", errors="replace"), checkout)
    return found


def main() -> int:
    """Print what is found; return the exit status."""
    found = findings(Path.cwd())
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
