"""`perdure hook HOST EVENT`: what a host's hook runs. It never holds the host up, and never fails it.

Two processes share the work. The one that the host started reads what the host says, starts the other, hands
over its answer, and ends: within `ANSWER_SECONDS` of its start in front of a prompt, whatever the disk or a
lock does, since all that touches the home happens in the other one. That one answers first, and then, with
the host gone on, does what takes longer: it notes what was shown, takes settled turns in and reviews them.
It is a session of its own, with no stream of the host's open, so that the host neither waits for it nor ends
it. The exit status is always 0: to a host, 2 would mean that the prompt is refused.

Standard library only, and of that only small C modules: a hook has to cost little more than the interpreter.
"""

from __future__ import annotations

import os
import select
import sys
import time

from perdure.hosts.hook_hosts import EVENTS, PROMPT, START, kind_of

ANSWER_SECONDS = 0.2
"""The interpreter's own start comes before: together they stay below 0.3 s in front of a prompt."""
START_SECONDS = 1.0
"""A session's start is no prompt; hosts run it while they draw their screen."""
SETTLED_SECONDS = 0.5
"""To read what the host says; hosts give all hooks at a session's end little more than a second."""
STDIN_BYTES_MAX = 64 * 1024 * 1024
"""A prompt can be megabytes long. What is longer is read, so that the host can write on, and not used."""

APART = b"\0"
"""What the other process says once nothing of the host's can end it."""

_READ_SHARE = 0.7
_CHUNK_BYTES = 1024 * 1024
_DESCRIPTORS_MAX = 65_536


def hook(words: list[str]) -> int:
    """Run one hook, given its host and its event; returns the exit status, which is always 0."""
    kind = kind_of(words)
    if kind is None:
        known = "; ".join(f"{host}: {', '.join(events)}" for host, events in EVENTS.items())
        sys.stderr.write(f"perdure: hook takes a host and one of its events: {known}.\n")
        return 0
    seconds = {PROMPT: ANSWER_SECONDS, START: START_SECONDS}.get(kind, SETTLED_SECONDS)
    begun = time.monotonic()
    try:
        data = _stdin(begun + seconds * _READ_SHARE)
        if data:
            answer = _handed_over(words, data, begun + seconds, waits=kind in {PROMPT, START})
            if answer.endswith(b"\n"):  # whole: a host may take half an answer for anything
                say(answer)
    except OSError:
        return 0  # no pipe, no process, nobody who reads: the host goes on without
    return 0


def say(data: bytes) -> None:
    """Write to standard output, if there is one. Raises OSError."""
    if sys.stdout is not None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def end(status: int) -> int:
    """End the process without the interpreter's tidying up, which takes as long as the rest of a hook."""
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(status)


def _handed_over(words: list[str], data: bytes, until: float, *, waits: bool) -> bytes:
    """Start the other process; returns its answer, or nothing once the time is over.

    Its first byte says that it is a session of its own: before, a host that ends its hooks' process group
    would end it too.
    """
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if not child:
        _be_other(words, data, writing)
    os.close(writing)
    try:
        apart = _is_ready(reading, until) and os.read(reading, 1) == APART
        return _read_all(reading, until) if apart and waits else b""
    finally:
        os.close(reading)


def _be_other(words: list[str], data: bytes, writing: int) -> None:
    """The other process, from here to its end. What it says on its standard output is the answer."""
    try:
        os.setsid()
        os.write(writing, APART)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for stream, source in ((0, nothing), (2, nothing), (1, writing)):
            os.dup2(source, stream)
        os.closerange(3, _DESCRIPTORS_MAX)
        sys.stdin = sys.stderr = None
        from perdure.hosts.hook_work import work

        work(words[0], words[1], data)
    finally:
        os._exit(0)


def _is_ready(descriptor: int, until: float) -> bool:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN | select.POLLHUP)
    return bool(ready.poll(max(0.0, until - time.monotonic()) * 1000))


def _stdin(until: float) -> bytes:
    """All of standard input, or what of it came in time; nothing when it is too much."""
    data = _read_all(0, until)
    return data if len(data) <= STDIN_BYTES_MAX else b""


def _read_all(descriptor: int, until: float) -> bytes:
    """What can be read until its end or until the time is over; little more than the bound is kept."""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN | select.POLLHUP)
    chunks: list[bytes] = []
    kept = 0
    while (left := until - time.monotonic()) > 0 and ready.poll(left * 1000):
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            break
        if kept <= STDIN_BYTES_MAX:
            chunks.append(chunk)
            kept += len(chunk)
    return b"".join(chunks)
