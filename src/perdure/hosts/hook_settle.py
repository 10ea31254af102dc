"""What a hook does after its answer, with the whole program: notes, exposure, capture and review.

Nothing here is waited for by the host. What fails leaves one line in a small log in the home, and the next
hook of the session does it again: a capture takes every settled turn since the session was enrolled that no
job covers yet, whichever hook came to nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from perdure.app import App
from perdure.authority.filesystem.hooks import FileHooks, HookSession
from perdure.authority.filesystem.place import home_path
from perdure.authority.filesystem.project import Project
from perdure.errors import NotFound, PerdureError, UsageError
from perdure.hosts.conversation import Conversation
from perdure.hosts.hook_hosts import COMPACTED, START, Payload
from perdure.hosts.hook_told import told_turn
from perdure.hosts.sessions import SessionRead, read_session

TRANSCRIPT_SECONDS = 5.0
"""Hosts run their stop hooks before the last lines of the turn are in the transcript: so long they are
waited for. What comes later is taken in by the session's next hook."""

_PAUSE_SECONDS = 0.05


def full_text(folder: str) -> str:
    """The text of the block that the full command gives for a folder; "" where there is none."""
    try:
        with _opened() as app:
            return app.inject_service().block(app.project(folder).key).text
    except PerdureError:
        return ""


def full_home() -> str:
    """The path of the home, where only the whole program finds it; "" when it is not there."""
    try:
        home = home_path()
    except PerdureError:
        return ""
    return home if Path(home).is_dir() else ""


def began(payload: Payload, now_ms: int, text: str | None) -> None:
    """Note a session's start or prompt; `text` is the block that it was given, None for nothing."""
    with _logged(payload) as (app, project):
        _note(app, project, payload, now_ms, payload.shown(text) if text is not None else None)
        if text:
            _expose(app, project, payload, text)
        if payload.kind == START:
            _take_in(app, project, payload, now_ms)


def ended(payload: Payload, now_ms: int) -> None:
    """Take in what settled, and in embedded mode review it."""
    with _logged(payload) as (app, project):
        _note(app, project, payload, now_ms, "" if payload.kind == COMPACTED else None)
        _take_in(app, project, payload, now_ms)


def _note(app: App, project: Project, payload: Payload, now_ms: int, shown: str | None) -> None:
    """Enrol the session at its first hook, and keep what it was shown."""
    hooks = FileHooks(app.records)
    before = hooks.session(payload.name)
    after = before or HookSession(enrolled_ms=now_ms, root=os.fsencode(project.root).hex())
    if shown is not None:
        after = msgspec.structs.replace(after, shown=shown)
    if after != before:
        hooks.note(payload.name, after)


def _expose(app: App, project: Project, payload: Payload, text: str) -> None:
    """Count what was shown, unless memory has changed since it was (I-04)."""
    if app.inject_service().block(project.key).text == text:
        app.begin_writing()
        app.ensure_project(project)
        _conversation(app, project, payload).inject()


def _take_in(app: App, project: Project, payload: Payload, now_ms: int) -> None:
    session = _read(payload, now_ms)
    enrolled = FileHooks(app.records).session(payload.name)
    if session is None or enrolled is None:
        return
    turns = tuple(turn for turn in session.turns if turn.settled_ms >= enrolled.enrolled_ms)
    if any(turn.end == "settled" for turn in turns):
        with app.retention().room():
            found = _conversation(app, project, payload).capture(
                msgspec.structs.replace(session, turns=turns)
            )
        for problem in found.problems:
            FileHooks(app.records).log(f"{now_ms} {payload.host} {payload.event}: {problem}")
        if app.config.mode == "embedded":
            app.worker(only_project=project.key).drain()


def _read(payload: Payload, now_ms: int) -> SessionRead | None:
    """The session's turns, from its transcript or as the host told them; None when there are none."""
    if payload.host == "gemini":
        return told_turn(payload, now_ms)
    if not payload.transcript:
        return None
    until = time.monotonic() + (TRANSCRIPT_SECONDS if payload.event == "Stop" else 0)
    while True:
        size = _size(payload.transcript)
        session = read_session(payload.transcript) if size else None
        if session is not None and session.turns and session.turns[-1].end == "settled":
            return session
        while _size(payload.transcript) == size and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
        if time.monotonic() >= until:
            return session


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def _conversation(app: App, project: Project, payload: Payload) -> Conversation:
    return Conversation(app, project, host=payload.host, session=payload.session)


@contextlib.contextmanager
def _opened() -> Iterator[App]:
    app = App.open()
    try:
        yield app
    finally:
        app.close()


@contextlib.contextmanager
def _logged(payload: Payload) -> Iterator[tuple[App, Project]]:
    """The home and the project of a payload. What goes wrong is logged; without a home or a project there is
    nothing to do.
    """
    with contextlib.suppress(NotFound, UsageError), _opened() as app:
        known = FileHooks(app.records).session(payload.name)
        root = os.fsdecode(bytes.fromhex(known.root)) if known is not None else payload.cwd
        project = app.project(root)
        try:
            yield app, project
        except Exception as error:
            why = f": {error}" if isinstance(error, PerdureError) else ""  # no other one minds what it quotes
            when = f"{app.clock.now_ms()} {payload.host} {payload.event}"
            FileHooks(app.records).log(f"{when}: {type(error).__name__}{why}")
            raise
