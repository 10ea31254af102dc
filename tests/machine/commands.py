"""Real processes of the command line, many of them a second: forked from one that has imported everything.

    with Commands(environment) as commands:
        ended = commands.run(Order(["remember", "Use pnpm."], cwd))

Each order is a process of its own that runs `perdure` from its arguments to its exit status; only the start
of the interpreter is shared. With `strace` it stands still until strace has attached to it, so that every
call that it makes is seen, counted and perhaps answered by a fault.

`python -m tests.machine.commands` is the process that forks: one order on each line in, one end on each out.
"""

from __future__ import annotations

import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest import mock

import msgspec

from tests.machine.deliberate import DELIBERATE

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 10.0
PAUSE_SECONDS = 0.0005
_ATTACHED = "attached"
_FAULT_STATUS = 99
"""What a command that ends with an exception ends with; no command ends so on purpose."""


class Order(msgspec.Struct, frozen=True):
    """One command to run."""

    words: list[str]
    folder: str
    strace: list[str] = []
    days_ago: int = 0  # its clock is that far behind
    stop_after: list[
        str
    ] = []  # it gets SIGTERM when a line of its standard error begins so, or after a while
    deliberate: str = ""  # the name of a fault in the product, put in on purpose


class Ended(msgspec.Struct, frozen=True):
    """How it ended: the exit status, or minus the signal; what it printed; what strace saw."""

    status: int
    out: str
    err: str
    trace: str = ""
    trouble: str = ""  # why it could not be run as ordered

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return msgspec.json.decode(self.out)


class Commands:
    """The client of the process that forks. Variables are those given, and nothing of the caller's."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.machine.commands"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.communicate()

    def run(self, order: Order) -> Ended:
        """Run one command to its end. Raises RuntimeError when it cannot be run as ordered."""
        server = self._server
        assert server is not None
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(msgspec.json.encode(order) + b"\n")
        server.stdin.flush()
        ended = msgspec.json.decode(server.stdout.readline(), type=Ended)
        if ended.trouble:
            raise RuntimeError(ended.trouble)
        return ended


def cannot_trace() -> str | None:
    """Why processes cannot be traced here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        return f"strace may not trace here: {tried.stderr.decode(errors='replace').strip()}"
    return None


# -- the process that forks


class _Child:
    """One forked command; it begins when `go` is called."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._gate, ours = os.pipe()
        self._ours = ours
        self.process = os.fork()
        if not self.process:
            _become(order, folder, self._gate, ours)
        os.close(self._gate)

    def go(self) -> None:
        os.write(self._ours, b"!")
        os.close(self._ours)

    def wait(self, stop_after: list[str], said: Path) -> int:
        """Its exit status, or minus the signal that killed it; killed when it does not end."""
        begun, told = time.monotonic(), not stop_after
        while True:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
            spent = time.monotonic() - begun
            if not told and (spent > STOP_SECONDS_MAX or _begins(said, tuple(stop_after))):
                os.kill(self.process, signal.SIGTERM)
                told = True
            if spent > SECONDS_MAX:
                os.kill(self.process, signal.SIGKILL)
            time.sleep(PAUSE_SECONDS)


def _begins(said: Path, words: tuple[str, ...]) -> bool:
    return any(line.startswith(words) for line in said.read_text("utf-8", "replace").splitlines())


def _become(order: Order, folder: Path, gate: int, other: int) -> None:
    """The child: never returns."""
    os.close(other)
    os.read(gate, 1)
    os.close(gate)
    status = _FAULT_STATUS
    try:
        status = _command(order, folder)
    except BaseException:  # noqa: BLE001 - whatever it is, it must not run on as a second server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _command(order: Order, folder: Path) -> int:
    from perdure.authority.filesystem.system import RealClock
    from perdure.cli.main import main

    os.chdir(order.folder)
    for number, name in enumerate((os.devnull, str(folder / "out"), str(folder / "err"))):
        opened = os.open(name, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    if order.days_ago:
        behind, real = order.days_ago * 86_400_000, RealClock.now_ms
        mock.patch.object(RealClock, "now_ms", lambda clock: real(clock) - behind).start()
    if order.deliberate:
        DELIBERATE[order.deliberate]()
    sys.argv = ["perdure", *order.words]
    return main()


def _run(order: Order, folder: Path) -> Ended:
    (folder / "trace").write_text("")
    for name in ("out", "err"):
        (folder / name).write_bytes(b"")
    child = _Child(order, folder)
    tracer, said = None, ""
    if order.strace:
        words = ["strace", "-o", str(folder / "trace"), "-y", *order.strace, "-p", str(child.process)]
        tracer = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
    child.go()
    status = child.wait(order.stop_after, folder / "err")
    trouble = ""
    if tracer is not None:
        _, more = tracer.communicate()
        trouble = "" if _ATTACHED in said else f"strace could not attach: {said}{more}"
    out, err, trace = (
        (folder / name).read_text("utf-8", "backslashreplace") for name in ("out", "err", "trace")
    )
    return Ended(status, out, err, trace, trouble)


def _import_all() -> None:
    """Import what any command could load later, so that none does so while it is counted."""
    import perdure

    for found in pkgutil.walk_packages(perdure.__path__, "perdure."):
        if not found.name.endswith("__main__"):
            __import__(found.name)
    for name in ("httpx2", "genai_prices", "keyring", "platformdirs", "sqlite3", "rfc8785"):
        __import__(name)


def serve() -> None:
    """Run orders until there are no more."""
    _import_all()
    with tempfile.TemporaryDirectory() as name:
        for line in sys.stdin.buffer:
            ended = _run(msgspec.json.decode(line, type=Order), Path(name))
            sys.stdout.buffer.write(msgspec.json.encode(ended) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
