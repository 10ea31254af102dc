"""Pi in a terminal: tmux draws it, keys are typed into it, and what stands on the screen is read as text."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.e2e.pi.driver import PiUser

WIDTH, HEIGHT = 140, 40
SCREEN_SECONDS = 30.0


class Terminal:
    """Use as a context manager: Pi in a terminal of its own size, on a tmux server of its own."""

    def __init__(self, user: PiUser, *words: str) -> None:
        self._socket = user.base / "tmux.sock"
        settings = [f"{name}={shlex.quote(value)}" for name, value in user.environment().items()]
        self._command = " ".join(["exec", "env", "-i", *settings, *map(shlex.quote, user.command(*words))])
        self._folder = user.project

    def __enter__(self) -> Self:
        size = ("-x", str(WIDTH), "-y", str(HEIGHT))
        self._tmux("-f", os.devnull, "new-session", "-d", *size, "-c", str(self._folder), self._command)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server", check=False)

    def type(self, text: str) -> None:
        """Type text as it is."""
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them."""
        self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """Type a line and send it, once the editor shows it."""
        self.type(text)
        self.until(text[-WIDTH // 2 :].strip())
        self.press("Enter")

    def screen(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p", check=False)

    def until(self, text: str, *, gone: bool = False) -> str:
        """Wait until a text stands on the screen, or with `gone` no longer does; give the screen."""
        end = time.monotonic() + SCREEN_SECONDS
        while (text in (found := self.screen())) is gone:
            assert time.monotonic() < end, f"waited for {text!r}{' to go' if gone else ''}:\n{found}"
            time.sleep(0.05)
        return found

    def ended(self) -> bool:
        """Whether Pi has ended, and its terminal with it."""
        return "no server" in self._tmux("list-sessions", check=False) or not self.screen()

    def _tmux(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            ("tmux", "-S", str(self._socket), *words),
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout or done.stderr


def normalised(screen: str) -> str:
    """The screen without what differs from run to run or says nothing here: ids, frames, blank lines."""
    rules = [
        (r"(?m)^.*(fd|ripgrep) not found.*$", ""),  # whether this machine has them
        (r"[─━]{3,}", "───"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
        (r"\b[0-9a-f]{12,64}\b", "ID"),
        (r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "*"),
    ]
    for pattern, name in rules:
        screen = re.sub(pattern, name, screen)
    lines = [line.rstrip() for line in screen.splitlines()]
    return "\n".join(line for line in lines if line) + "\n"


def check_screen(name: str, screen: str) -> None:
    """Compare a screen with the one that is kept; `PYTEST_PI_SCREENS=write` keeps this one instead."""
    kept = Path(__file__).resolve().parents[2] / "data" / "pi-screens" / f"{name}.txt"
    found = normalised(screen)
    if os.environ.get("PYTEST_PI_SCREENS") == "write":
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(found, encoding="utf-8")
    assert found == kept.read_text(encoding="utf-8")
