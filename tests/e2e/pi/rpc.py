"""Pi in RPC mode: commands in, answers and events out."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.e2e.pi.driver import PiUser

ANSWER_SECONDS = 30.0
Event = dict[str, Any]


class Rpc:
    """Use as a context manager: one Pi that is asked, and every event that it sent."""

    def __init__(self, user: PiUser, *words: str) -> None:
        self.events: list[Event] = []
        self._incoming: queue.Queue[Event | None] = queue.Queue()
        self._count = 0
        self.process = user.start("--mode", "rpc", *words, stdin=subprocess.PIPE)
        self._stdout, self._stdin = _there(self.process.stdout), _there(self.process.stdin)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stdin.close()
            self.process.wait(ANSWER_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            self._stdout.close()
            _there(self.process.stderr).close()

    def send(self, **command: object) -> Event:
        """Send a command and give the answer to it."""
        self._count += 1
        name = f"c{self._count}"
        self._stdin.write(json.dumps({"id": name, **command}) + "\n")
        self._stdin.flush()
        return self.wait(lambda event: event.get("type") == "response" and event.get("id") == name)

    def prompt(self, text: str) -> None:
        """Have the model answer, until the run has settled."""
        start = len(self.events)
        assert self.send(type="prompt", message=text)["success"]
        self.wait(lambda event: event.get("type") == "agent_settled", start=start)

    def memory(self, line: str) -> str:
        """Give a /memory command; its answer comes as a notification."""
        start = len(self.events)
        assert self.send(type="prompt", message=f"/memory {line}".rstrip())["success"]
        return str(self.wait(lambda event: event.get("method") == "notify", start=start)["message"])

    def child(self) -> int:
        """The process id of Pi's Python child."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        (found,) = {pid for thread in threads for pid in (thread / "children").read_text().split()}
        return int(found)

    def notified(self) -> list[str]:
        """Every notification so far."""
        return [event["message"] for event in self.events if event.get("method") == "notify"]

    def statuses(self) -> list[str | None]:
        """Every text of our place in the status line so far."""
        return [event.get("statusText") for event in self.events if event.get("method") == "setStatus"]

    def wait(self, wanted: Callable[[Event], bool], *, start: int | None = None) -> Event:
        """The first event that is wanted, among those from place `start` on; by default only new ones."""
        place = len(self.events) if start is None else start
        while True:
            for event in self.events[place:]:
                place += 1
                if wanted(event):
                    return event
            came = self._incoming.get(timeout=ANSWER_SECONDS)
            assert came is not None, f"Pi ended: {self.process.wait()} {_there(self.process.stderr).read()}"
            self.events.append(came)

    def _read(self) -> None:
        for line in self._stdout:
            self._incoming.put(json.loads(line))
        self._incoming.put(None)


def _there(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
