"""Which root a project key stands for."""

from __future__ import annotations

import os

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.project import Project
from perdure.authority.filesystem.records import Records
from perdure.core.record import Record
from perdure.errors import Conflict


class ProjectFile(Record, frozen=True, forbid_unknown_fields=True):
    """A project's identity."""

    KIND = "project"

    key: str
    root: str
    made_ms: int


def bind(records: Records, project: Project, *, now_ms: int) -> None:
    """Elect the root of a key. Raises Conflict when the key stands for another root."""
    path = f"{layout.scope_folder(project.key)}/project.json"
    root = legible(project.root)
    standing = records.read(path, ProjectFile)
    if standing is None:
        standing, _ = records.elect(path, ProjectFile(key=project.key, root=root, made_ms=now_ms))
    if standing.root != root:
        msg = f"{project.key} is the memory of {standing.root}, not of {root}."
        raise Conflict(msg, advice="Nothing was changed. Please report this.")


def legible(path: str) -> str:
    """A path as records and people can hold it: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def bound(records: Records, key: str) -> ProjectFile | None:
    """The identity of a key."""
    return records.read(f"{layout.scope_folder(key)}/project.json", ProjectFile)


def keys(records: Records) -> tuple[str, ...]:
    """All projects that have a memory."""
    return tuple(sorted(name for name in records.disk.names(layout.PROJECTS) if len(name) == len("0" * 16)))
