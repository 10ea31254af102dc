"""Which root a project key stands for."""

from __future__ import annotations

import os

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import Disk
from perdure.authority.filesystem.project import KEY_DIGITS, Project
from perdure.authority.filesystem.records import Records
from perdure.core.record import Record
from perdure.errors import Conflict, StorageError

_HEX = frozenset("0123456789abcdef")


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
    """All projects that have a memory: folders with a key's name; whatever else lies there is foreign."""
    disk = records.disk
    names = sorted(name for name in disk.names(layout.PROJECTS) if is_key(name))
    return tuple(name for name in names if _is_folder(disk, name))


def is_key(name: str) -> bool:
    """Whether a name has the form of a project's key."""
    return len(name) == KEY_DIGITS and _HEX.issuperset(name)


def _is_folder(disk: Disk, name: str) -> bool:
    found = disk.info(f"{layout.PROJECTS}/{name}")
    return found is not None and found.kind == "folder"


def known(records: Records) -> dict[str, str | None]:
    """The root of every project that has a memory; None where its identity is missing or cannot be read."""
    return {key: _root(records, key) for key in keys(records)}


def _root(records: Records, key: str) -> str | None:
    try:
        found = bound(records, key)
    except StorageError:
        return None
    return found.root if found is not None else None


def is_gone(root: str) -> bool:
    """Whether a project's folder is certainly not there any more; what cannot be seen is not gone."""
    try:
        os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
