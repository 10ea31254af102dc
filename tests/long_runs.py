"""What every long run shares: how its bounds are read, how Ctrl-C ends it, and which status it gives.

Processes that are started inside `unhearing` never hear Ctrl-C: it reaches the parent alone, which ends them
and still writes its report.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import multiprocessing
import signal
from collections.abc import Iterable, Iterator

BROKEN, WRONG_USE, INTERRUPTED = 1, 2, 130
EVERY_SECONDS = 5.0
"""How often a run says how far it is."""


class Stop:
    """Whether Ctrl-C ended a run before its end."""

    happened = False


def seconds_of(text: str) -> float:
    """Read a time above zero; for argparse."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (seconds > 0 and math.isfinite(seconds)):
        msg = f"{text!r} is no time; give a number of seconds above 0"
        raise argparse.ArgumentTypeError(msg)
    return seconds


def count_of(text: str) -> int:
    """Read a whole number above zero; for argparse."""
    if not text.isascii() or not text.isdigit() or not int(text):
        msg = f"{text!r} is no number; give a whole one above 0"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def there_are(kind: str, asked: str, names: Iterable[str]) -> str:
    """What to say of a name that is not there: it, and a line for each name that is."""
    listed = "".join(f"\n  {name}" for name in names)
    return f"there is no {kind} {asked!r}; there are:{listed}"


@contextlib.contextmanager
def unhearing() -> Iterator[None]:
    """Start processes to which Ctrl-C means nothing; one that comes meanwhile is heard at the end."""
    heard: list[int] = []  # by another thread of this process, which the mask does not concern
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if heard:
        raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """End the block at Ctrl-C, and with it the processes of `multiprocessing` that it started."""
    stop = Stop()
    try:
        yield stop
    except KeyboardInterrupt:
        stop.happened = True
        print("\ninterrupted; this is how far it came", flush=True)
    finally:
        if stop.happened:
            end_children()


def end_children() -> None:
    """Kill every process that `multiprocessing` started here and that still runs."""
    for child in multiprocessing.active_children():
        child.kill()


def status_of(stop: Stop, *, sound: bool, looked_at: float) -> int:
    """The status of a run: 130 when it was interrupted, and 1 when it looked at nothing."""
    if stop.happened:
        return INTERRUPTED
    if not looked_at:
        print("Nothing was looked at.")
        return BROKEN
    return 0 if sound else BROKEN
