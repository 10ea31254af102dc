"""The Python child of one session of Pi: `python -m perdure.hosts.pi_child`, JSON lines over stdio.

A thread only reads; all memory work is done in order in the main thread. Standard output carries the protocol
and nothing else. When its input ends, the child does what was asked before and ends, within a few seconds in
any case: its writes are whole or were never made. Pi waits for none of that.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Literal

from perdure.errors import PerdureError
from perdure.hosts import pi_protocol as wire
from perdure.hosts.pi_desk import Desk
from perdure.hosts.pi_ops import answer

END_SECONDS = 5.0
"""How long the child goes on at most after the end of its input: to take in the turn that has just settled,
on a machine that is busy. Nobody waits for it.
"""
_CHUNK_BYTES = 64 * 1024

_Item = bytes | Literal["too long", "end"]


class Output:
    """Where messages go. When nobody reads any more, they go nowhere and `gone` says so."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.gone = False

    def send(self, message: wire.Message) -> None:
        """Write one message, whole."""
        data = memoryview(wire.encoded(message))
        try:
            while data and not self.gone:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            self.gone = True


class Child:
    """Takes lines from a queue, and has the desk answer them."""

    def __init__(self, items: queue.SimpleQueue[_Item], output: Output) -> None:
        self._items, self._output = items, output
        self.desk = Desk(output.send)

    def serve(self) -> None:
        """Serve until the input ends or the session is over."""
        while not self._output.gone:
            try:
                item = self._items.get(timeout=self.desk.seconds_to_step())
            except queue.Empty:
                self._guarded("step", self.desk.step)
                continue
            if item == "end":
                return
            if self._answer(item):
                return

    def _answer(self, item: bytes | Literal["too long"]) -> bool:
        """Answer one line; whether it said goodbye."""
        if isinstance(item, str):
            msg = f"A line of more than {wire.LINE_BYTES_MAX:,} bytes came."
            self._output.send(wire.failed(0, "too-long", msg, "Send a shorter one."))
            return False
        try:
            request = wire.decode_request(item)
        except wire.BadLine as bad:
            self._output.send(wire.failed(bad.id, bad.code, bad.message, bad.advice))
            return False
        self._output.send(self._answered(request))
        self._guarded("after", self.desk.after)
        return isinstance(request, wire.Bye)

    def _answered(self, request: wire.AnyRequest) -> wire.Message:
        op = type(request).__name__.lower()
        try:
            told = answer(self.desk, request)
        except PerdureError as error:
            return wire.failed(request.id, error.code, error.message, error.advice)
        except Exception as error:  # noqa: BLE001 - one request that fails ends no session
            _complain(op, error)
            msg = f"{op} failed inside Perdure: {type(error).__name__}."
            return wire.failed(request.id, "internal", msg, "Please report it; memory is not affected.")
        return wire.Done(request.id, told.text, told.data)

    def _guarded(self, what: str, work: Callable[[], object]) -> None:
        """Do what nobody waits for: what fails is noted, and nobody is disturbed."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - as above
            _complain(what, error)


def _complain(what: str, error: Exception) -> None:
    """One line for whoever looks into it; only our own errors mind what they quote."""
    why = f": {error}" if isinstance(error, PerdureError) else ""
    line = f"perdure: {what}: {type(error).__name__}{why}\n"
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), line.encode("utf-8", "backslashreplace"))


def _read(descriptor: int, items: queue.SimpleQueue[_Item], done: threading.Event) -> None:
    """Queue lines until the input ends; then end the process, if it does not end by itself."""
    lines = wire.Lines()
    try:
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            for line in lines.push(chunk):
                items.put("too long" if line is None else line)
    except OSError:
        pass  # nothing more comes
    items.put("end")
    if not done.wait(END_SECONDS):
        os._exit(0)


def main() -> int:
    """Serve one session of Pi on standard input and output."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for Pi; our end is that of input
    output = Output(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    done = threading.Event()
    child = Child(items, output)
    threading.Thread(target=_read, args=(sys.stdin.fileno(), items, done), daemon=True).start()
    try:
        child.serve()
        child.desk.close()
    finally:
        done.set()
    return 0


if __name__ == "__main__":
    os._exit(main())  # Pi waits: nothing is left to be flushed, and taking the interpreter down takes long
