"""What a command is: its arguments, its examples, and a function from a context to an answer."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.app import USER_SCOPE, App
from perdure.authority.filesystem.project import Project
from perdure.cli.paint import Paint
from perdure.errors import UsageError

# For types alone.
if TYPE_CHECKING:
    from perdure.service.remember import MemoryService

STDIN_BYTES_MAX = 4_000_000


class Answer(msgspec.Struct, frozen=True):
    """What a command found or did: one JSON document, the same as text, and the exit status. A warning goes
    to standard error.
    """

    data: dict[str, Any]
    text: str = ""
    status: int = 0
    warning: str = ""


class Command(msgspec.Struct, frozen=True):
    """One command. `name` may have two words; `takes` are the shared options beside --project and --json."""

    name: str
    summary: str
    run: Callable[[Context], Answer]
    arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None
    takes: frozenset[str] = frozenset()
    examples: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()


class Context:
    """One run of one command: its options, and the services they lead to, opened when they are needed."""

    def __init__(self, options: argparse.Namespace, paint: Paint) -> None:
        self.options, self.paint = options, paint
        self.log: Callable[[str, str, str], None] = lambda *_: None

    @functools.cached_property
    def app(self) -> App:
        """The home, opened for reading."""
        return App.open(log=self._logged)

    @functools.cached_property
    def project(self) -> Project:
        """The project that --project or the current folder names."""
        return self.app.project(self.options.project)

    @property
    def user_wide(self) -> bool:
        """Whether the command works on the user-wide scope."""
        return bool(getattr(self.options, "user", False))

    @property
    def scope(self) -> str:
        """The scope that the command works on: a project's key, or "user"."""
        return USER_SCOPE if self.user_wide else self.project.key

    @property
    def branch(self) -> str | None:
        """The branch that was named, None for the selected one."""
        name = getattr(self.options, "branch", None)
        return name if isinstance(name, str) else None

    @property
    def memory(self) -> MemoryService:
        """Foreground memory of the scope."""
        return self.app.memory_service(self.scope)

    def begin_writing(self) -> App:
        """The home, made ready for this process to write to the scope."""
        self.app.begin_writing()
        if not self.user_wide:
            self.app.ensure_project(self.project)
        return self.app

    def _logged(self, event: str, name: str, detail: str) -> None:
        self.log(event, name, detail)  # whoever listens by then

    def close(self) -> None:
        """Close what was opened."""
        if "app" in self.__dict__:
            self.app.close()

    @property
    def interactive(self) -> bool:
        """Whether somebody can answer a question."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str, shown: Iterable[str] = ()) -> bool:
        """Ask on the terminal, unless --yes was given. Raises UsageError when nobody can answer."""
        if self.options.yes:
            return True
        if not self.interactive:
            msg = f"{question} Nobody can answer that here."
            look = ", or --dry-run to look first" if hasattr(self.options, "dry_run") else ""
            raise UsageError(msg, advice=f"Add --yes to go on{look}.")
        for line in shown:
            print(line, file=sys.stderr)
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().casefold() in {"y", "yes"}


def use_one_thread() -> None:
    """Let a search that is about to load NumPy use one thread, unless the environment says otherwise: for
    arrays this small, threads only wait for one another.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def text_argument(value: str) -> str:
    """The text itself, or standard input for "-". Raises UsageError for what is not UTF-8 or far too long."""
    if value != "-":
        return value
    if sys.stdin is None:
        msg = "there is no standard input to read."
        raise UsageError(msg)
    data = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
    if len(data) > STDIN_BYTES_MAX:
        msg = f"standard input has more than {STDIN_BYTES_MAX:,} bytes."
        raise UsageError(msg)
    return decoded(data, "standard input")


def decoded(data: bytes, name: str) -> str:
    """UTF-8 text of a file that a person gave. Raises UsageError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{name} is not UTF-8 text: byte {error.start} cannot be read."
        raise UsageError(msg) from error
