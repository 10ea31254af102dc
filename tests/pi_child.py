"""A child of Pi's extension as a process of its own, driven over its wire."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

DEADLINE_SECONDS = 30.0
END_SECONDS = 10.0
"""Generous: a busy machine is no fault. What has to be fast is measured by the benchmark."""


class PiChild:
    """One session of Pi. As a context it ends with its input, and is killed when it does not end then."""

    def __init__(
        self,
        folder: Path,
        *,
        session: str = "session-1",
        file: Path | None = None,
        mode: str = "rpc",
        env: dict[str, str] | None = None,
        greet: bool = True,
        branch: str | None = None,
    ) -> None:
        self.events: list[dict[str, Any]] = []
        self._count = 0
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.process = subprocess.Popen(
            (sys.executable, "-P", "-m", "perdure.hosts.pi_child"),
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.hello: dict[str, Any] = {}
        if greet:
            self.hello = self.ask(
                "hello",
                protocol=1,
                session=session,
                sessionFile=str(file) if file is not None else None,
                cwd=str(folder),
                branch=branch,
                mode=mode,
                extension="test",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, op: str, **arguments: object) -> dict[str, Any]:
        """Ask, and give the answer; events that come before it are kept."""
        return self.answer(self.post(op, **arguments))

    def post(self, op: str, **arguments: object) -> int:
        """Ask without waiting; give the id."""
        self._count += 1
        self.write(json.dumps({"id": self._count, "op": op, **arguments}).encode() + b"\n")
        return self._count

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self, wanted: int) -> dict[str, Any]:
        """Give the answer with an id."""
        while True:
            message = self._next()
            if message.get("id") == wanted:
                return message
            assert "event" in message, f"out of turn: {message}"
            self.events.append(message)

    def event(self, kind: str, **having: object) -> dict[str, Any]:
        """Wait for an event of a kind, also one that has come already."""
        for event in self.events:
            if event["event"] == kind and having.items() <= event.items():
                return event
        while True:
            message = self._next()
            self.events.append(message)
            if message.get("event") == kind and having.items() <= message.items():
                return message

    def cards(self) -> list[dict[str, Any]]:
        """The cards that have come."""
        return [event["card"] for event in self.events if event["event"] == "card"]

    def rest(self) -> list[dict[str, Any]]:
        """All that it still said, once it has ended."""
        found: list[dict[str, Any]] = []
        while (message := self._messages.get(timeout=DEADLINE_SECONDS)) is not None:
            found.append(message)
        return found

    def end_input(self) -> int:
        """Close its input and give the status with which it ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(END_SECONDS)

    def complaints(self) -> str:
        """What it wrote on standard error, once it has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def close(self) -> None:
        """End it in any case."""
        try:
            if self.process.poll() is None:
                self.end_input()
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                with contextlib.suppress(OSError):  # what was not sent cannot be sent any more
                    if stream is not None:
                        stream.close()

    def _next(self) -> dict[str, Any]:
        message = self._messages.get(timeout=DEADLINE_SECONDS)
        assert message is not None, f"the child ended: {self.process.poll()}"
        return message

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._messages.put(json.loads(line))
        self._messages.put(None)
