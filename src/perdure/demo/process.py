"""A worker process as the demo sees it: started, listened to, killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Literal, Self

import msgspec

PATIENCE_SECONDS = 40.0
"""A worker that has not come to its end by then is killed, and the demo fails."""

_STEP = msgspec.json.Decoder(tuple[str, str, str])


class WorkerProcess:
    """Runs `perdure.demo.worker` in a process of its own; never outlives its `with` block."""

    def __init__(self, manner: Literal["answer", "pause"]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "perdure.demo.worker", manner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._watchdog = threading.Timer(PATIENCE_SECONDS, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def steps(self) -> Iterator[tuple[str, str, str]]:
        """Give (event, id, detail) of each step, until the process ends."""
        if self._process.stdout is not None:
            yield from map(_STEP.decode, self._process.stdout)

    def kill(self) -> int:
        """Send SIGKILL and wait; return the exit status, negative for a signal."""
        self._process.send_signal(signal.SIGKILL)
        return self._process.wait()

    def wait(self) -> int:
        """Wait for its own end; return the exit status."""
        return self._process.wait()

    def __enter__(self) -> Self:
        """Nothing more to do: it runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process, whatever happened."""
        self._watchdog.cancel()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
