"""The part of a hook that touches the home: first the answer, then, with the host gone on, the rest.

The answer is what `perdure inject` prints, read in the same quick way; only what is unusual loads the whole
program for it. At a prompt it is given when it is not what the session was given last, since hosts keep what
they were given in their history.
"""

from __future__ import annotations

import os
import sys
import time

from perdure.cli.quick_inject import quick_block, quick_home
from perdure.cli.quick_json import parsed_object
from perdure.hosts.hook import say
from perdure.hosts.hook_hosts import PROMPT, START, Payload, answer, read_payload

REPLACES = "The memory has changed. This takes the place of every earlier <perdure-memory> block:"
EMPTIED = "The memory is empty now. No earlier <perdure-memory> block holds any more."
HOOKS = "run/hooks"
"""See `perdure.authority.filesystem.layout`."""

_NOTE_BYTES_MAX = 16_384
_NOTE_WAIT_SECONDS = 0.06
_NOTE_PAUSE_SECONDS = 0.004


def work(host: str, event: str, data: bytes) -> None:
    """Do all that a hook does. Standard output leads to the process that the host waits for, until it is
    closed: then the host goes on.
    """
    now_ms = time.time_ns() // 1_000_000
    payload = read_payload(host, event, data)
    if payload is None:
        return
    home = quick_home()
    if home is None:
        home = _full_home()
    if not home:
        return
    if payload.kind in {START, PROMPT}:
        _begin(payload, home, now_ms)
        return
    _let_go()
    from perdure.hosts.hook_settle import ended

    ended(payload, now_ms)


def _begin(payload: Payload, home: str, now_ms: int) -> None:
    note = _noted(home, payload)
    shown = _text(note, "shown")
    text = _block_text(_root(note) or payload.cwd)
    changed = payload.shown(text) != shown
    given = changed or bool(text and payload.kind == START)
    if given:
        before = f"{REPLACES}\n" if shown else ""
        given = _given(payload, f"{before}{text}" if text else EMPTIED)
    _let_go()
    if given or not note or payload.kind == START:
        from perdure.hosts.hook_settle import began

        began(payload, now_ms, text if given else None)


def _given(payload: Payload, text: str) -> bool:
    """Hand the answer over; False when it comes too late, and the next prompt is given it."""
    try:
        say(answer(payload.event, text))
    except OSError:
        return False
    return True


def _let_go() -> None:
    """Close standard output, with nothing in its place that anybody reads."""
    os.dup2(0, 1)
    sys.stdout = None


def _full_home() -> str:
    from perdure.hosts.hook_settle import full_home

    return full_home()


def _block_text(folder: str) -> str:
    block = quick_block(folder)
    if block is not None:
        return block.text
    from perdure.hosts.hook_settle import full_text

    return full_text(folder)


def _noted(home: str, payload: Payload) -> dict[str, object]:
    """What is known of the session; nothing of a new one.

    A session's start and its first prompt may come right after one another: then the note of the former is
    being written, and is waited for a little.
    """
    until = time.monotonic() + (_NOTE_WAIT_SECONDS if payload.kind == PROMPT else 0)
    path = f"{home}/{HOOKS}/{payload.name}"
    while not (note := _note(path)) and time.monotonic() < until:
        time.sleep(_NOTE_PAUSE_SECONDS)
    return note


def _note(path: str) -> dict[str, object]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        return parsed_object(os.read(descriptor, _NOTE_BYTES_MAX).decode())
    except (OSError, ValueError):
        return {}
    finally:
        os.close(descriptor)


def _root(note: dict[str, object]) -> str:
    try:
        return os.fsdecode(bytes.fromhex(_text(note, "root")))
    except ValueError:
        return ""


def _text(note: dict[str, object], field: str) -> str:
    value = note.get(field)
    return value if isinstance(value, str) else ""
