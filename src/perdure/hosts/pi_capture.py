"""What is taken in of Pi's session files: settled turns since a session was enrolled, each once (K-04).

A session's note (see `perdure.authority.filesystem.hooks`) says since when it is enrolled, where its file is
and how long the file was when its turns were taken in last. So a turn that a killed Pi could not hand over is
found by the next session of the project, whichever that is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perdure.authority.filesystem.hooks import FileHooks, HookSession
from perdure.errors import NotFound, PerdureError
from perdure.hosts.conversation import Conversation
from perdure.hosts.session_turns import digest32

# For types alone.
if TYPE_CHECKING:
    from perdure.app import App
    from perdure.authority.filesystem.project import Project

HOST = "pi"
LEFT_MAX = 20
"""So many sessions, the newest, are caught up with at a start."""


class Taken(msgspec.Struct, frozen=True):
    """How many jobs and turns were accepted, and what could not be."""

    jobs: int = 0
    turns: int = 0
    problems: tuple[str, ...] = ()


class Capture:
    """Capture for one session. `file` is None where it can be no evidence: not saved, or a sub-agent's."""

    def __init__(self, app: App, project: Project, *, session: str, file: str | None) -> None:
        self._app, self._project = app, project
        self._hooks = FileHooks(app.records)
        self._session, self._file = session, file
        self._name = digest32(HOST, session)
        self._root = os.fsencode(project.root).hex()
        self._begun_ms = app.clock.now_ms()

    @property
    def possible(self) -> bool:
        """Whether this session can be evidence at all."""
        return self._file is not None

    @property
    def on(self) -> bool:
        """Whether its turns are taken in now."""
        return self.possible and not self._note().paused

    def enrol(self, branch: str | None) -> None:
        """Note the session, at its first time, and which branch it uses."""
        if self._file is None:
            return
        file = os.fsencode(_path(self._file)).hex()
        self._keep(msgspec.structs.replace(self._note(), file=file, branch=branch or ""))

    def pause(self, conversation: Conversation) -> Taken:
        """Take in what has settled, and then nothing more until `resume`."""
        taken = self.take(self._file, conversation) if self._file is not None and self.on else Taken()
        self._keep(msgspec.structs.replace(self._note(), paused=True))
        return taken

    def resume(self) -> None:
        """Enrol the session anew: what settled in the pause stays out."""
        if self._note().paused:
            again = msgspec.structs.replace(self._note(), paused=False, enrolled_ms=self._app.clock.now_ms())
            self._keep(again)

    def take(self, path: str, conversation: Conversation) -> Taken:
        """Take in what the file proves of this session. A file that is not there yet holds nothing.

        Raises UsageError for what is no session of Pi, and whatever capture raises.
        """
        return self._take(_path(path), self._name, self._note(), conversation)

    def left(self) -> list[str]:
        """Names of the project's sessions whose files have grown since their turns were taken in.

        The newest comes last. Sessions that were paused, and those of other projects, are left out.
        """
        known = self._hooks.sessions().items()
        mine = [(name, note) for name, note in known if note.root == self._root and note.file]
        grown = [
            (note.enrolled_ms, name)
            for name, note in mine
            if not note.paused and _size(_decoded(note.file)) not in {0, note.size}
        ]
        return [name for _, name in sorted(grown)][-LEFT_MAX:]

    def catch_up(self, name: str) -> Taken:
        """Take in what such a session has left. A file that cannot be read is not looked at again until it
        grows.
        """
        note = self._hooks.session(name)
        if note is None:
            return Taken()
        path = _decoded(note.file)
        conversation = Conversation(
            self._app, self._project, host=HOST, session=name, branch=self._branch(note.branch)
        )
        size = _size(path)
        try:
            return self._take(path, name, note, conversation)
        except PerdureError:
            self._mark(name, size)
            return Taken()

    # -- inside

    def _take(self, path: str, name: str, note: HookSession, conversation: Conversation) -> Taken:
        from perdure.hosts.sessions import read_session

        size = _size(path)
        try:
            session = read_session(path) if size else None
        except NotFound:
            session = None
        if session is None or session.session != name or note.paused:
            return Taken()
        turns = tuple(turn for turn in session.turns if turn.settled_ms >= note.enrolled_ms)
        taken = Taken()
        if any(turn.end == "settled" for turn in turns):
            with self._app.retention().room():
                found = conversation.capture(msgspec.structs.replace(session, turns=turns))
            taken = Taken(found.accepted, found.turns_accepted, found.problems)
        self._mark(name, size)
        return taken

    def _mark(self, name: str, size: int) -> None:
        """Note how far the file was read; whatever else the note says by now stays."""
        note = self._hooks.session(name)
        if note is not None and note.size != size:
            self._hooks.note(name, msgspec.structs.replace(note, size=size))

    def _note(self) -> HookSession:
        """What is known of this session; what was lost is made again as it was at this process's start."""
        return self._hooks.session(self._name) or HookSession(enrolled_ms=self._begun_ms, root=self._root)

    def _keep(self, note: HookSession) -> None:
        if note != self._hooks.session(self._name):
            self._hooks.note(self._name, note)

    def _branch(self, name: str) -> str | None:
        """The branch that a session used, None when it is gone."""
        rows = self._app.memory_service(self._project.key).branches()
        return name if any(row.name == name for row in rows) else None


def _path(told: str) -> str:
    """A path whose bytes are the UTF-8 that Pi means, whatever this process takes file names for."""
    return os.fsdecode(told.encode("utf-8", "surrogatepass"))


def _decoded(path: str) -> str:
    return os.fsdecode(bytes.fromhex(path))


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0
