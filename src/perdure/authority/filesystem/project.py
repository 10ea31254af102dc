"""Which project a folder belongs to (M-01): the nearest Git root, else exactly the launch folder.

Standard library only and no regular expressions: the turn-start path imports this.
"""

from __future__ import annotations

import os

from perdure.core.sha256 import sha256_hex
from perdure.errors import NotFound, UsageError

KEY_DIGITS = 16
_POINTER_BYTES_MAX = 4096


class Project:
    """A project's identity.

    `key` has 16 hex digits, `root` is absolute with links resolved, and `kind` is "git", "worktree" (of the
    main repository at `root`) or "folder".
    """

    __slots__ = ("key", "kind", "root")

    def __init__(self, key: str, root: str, kind: str) -> None:
        self.key, self.root, self.kind = key, root, kind


def find_project(start: str, *, worktrees: str = "shared") -> Project:
    """The project of a folder. `worktrees` is "shared" (a linked worktree has the main repository's memory)
    or "own". Raises NotFound for a folder that is not there, UsageError for $HOME and /.
    """
    try:
        folder = os.path.realpath(start) if "\0" not in start else ""
    except OSError as error:
        msg = "the current folder is not there any more."
        raise NotFound(msg, advice="Go to a folder that exists, or name one with --project.") from error
    if not os.path.isdir(folder):
        msg = f"{start}: there is no such folder."
        raise NotFound(msg)
    root, kind = _nearest(folder, worktrees)
    home = os.path.realpath(os.path.expanduser("~"))
    if root in {home, os.path.sep}:
        msg = f"{root} cannot be a project: everything below it would share one memory."
        raise UsageError(msg, advice="Work in a folder of its own, or run git init there.")
    return Project(project_key(root), root, kind)


def project_key(root: str) -> str:
    """The key of a root's memory: 16 hex digits of SHA-256 over its path."""
    return sha256_hex(b"perdure-project\0" + os.fsencode(root))[:KEY_DIGITS]


def repository_around(path: str) -> str | None:
    """The root of the Git repository that a folder lies in, whether the folder exists yet or not.

    One that is all of $HOME, or /, does not count: it says nothing about what is below.
    """
    here = os.path.realpath(path)
    ends = {os.path.realpath(os.path.expanduser("~")), os.path.sep}
    while here not in ends:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    return None


def _nearest(folder: str, worktrees: str) -> tuple[str, str]:
    here = folder
    while True:
        mark = os.path.join(here, ".git")
        if os.path.isdir(mark):
            return here, "git"
        if os.path.isfile(mark):
            shared = _main_repository(here, mark) if worktrees == "shared" else None
            return (shared, "worktree") if shared else (here, "git")
        above = os.path.dirname(here)
        if above == here:
            return folder, "folder"
        here = above


def _main_repository(worktree: str, mark: str) -> str | None:
    """The main repository of a linked worktree; None for a submodule or what cannot be read."""
    pointer = _first_line(mark)
    if not pointer.startswith("gitdir:"):
        return None
    own = os.path.join(worktree, pointer.removeprefix("gitdir:").strip())
    common = _first_line(os.path.join(own, "commondir"))
    if not common:
        return None
    shared = os.path.realpath(os.path.join(own, common))
    if os.path.basename(shared) == ".git" and os.path.isdir(shared):
        return os.path.dirname(shared)
    return shared if os.path.isdir(shared) else None


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_POINTER_BYTES_MAX).split(b"\n", 1)[0]).strip()
    except OSError:
        return ""
