"""Files of hosts that an install changes: planned, shown, written whole with a backup, and taken back.

A plan holds what each file was and what it is to become. Applying compares again, so that nothing is lost
that somebody wrote in between; cut short, each file is the old or the new one, and the same command goes on.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from perdure.errors import Refused, StorageError, UsageError

BACKUP_SUFFIX = ".perdure-backup"
FILE_BYTES_MAX = 32_000_000
_BOM = "\ufeff"
_PRIVATE = 0o600
_FOLDER = 0o700


class FileChange(msgspec.Struct, frozen=True):
    """One file: its bytes before (None: there is none) and after (None: it goes). `whole` marks a file that
    is ours alone; of any other a backup is kept beside it, unless what stood there is `ours` in part already.
    """

    path: str
    before: bytes | None
    after: bytes | None
    whole: bool = False
    ours: bool = False

    @property
    def changed(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def shown(self) -> str:
        """A unified diff, or one line for a file of ours."""
        if self.whole:
            verb = "remove" if self.after is None else "write" if self.before is None else "rewrite"
            return f"{verb} {self.path} ({len(self.after or self.before or b''):,} bytes)"
        lines = difflib.unified_diff(
            _lines(self.before), _lines(self.after), self.path, self.path, lineterm="", n=2
        )
        return "\n".join(lines)


def read(path: str) -> bytes | None:
    """A whole settings file; None where there is none. Raises UsageError for what is no plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: not a regular file.", advice="Nothing was changed.")
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        if os.path.lexists(path):
            raise UsageError(f"{path}: a link that leads nowhere.", advice="Mend or remove it.") from None
        return None
    except OSError as error:
        raise UsageError(
            f"{path}: it cannot be read: {error.strerror}.", advice="Nothing was changed."
        ) from error
    if len(data) > FILE_BYTES_MAX:
        raise UsageError(f"{path}: more than {FILE_BYTES_MAX:,} bytes.", advice="Nothing was changed.")
    return data


def edited(path: str, edit: Callable[[str], str], *, empty: str = "") -> FileChange:
    """Plan one edit of a text file; a byte order mark and the line ends stay. `empty` is a new file's text.

    Raises UsageError when the file is not UTF-8 or cannot be understood; the message names it.
    """
    before = read(path)
    try:
        text = (before or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text: byte {error.start} cannot be read."
        raise UsageError(msg, advice="Nothing was changed.") from error
    mark = _BOM if text.startswith(_BOM) else ""
    body = text.removeprefix(_BOM)
    try:
        after = edit(body if body.strip() else empty)
    except UsageError as error:
        raise UsageError(
            f"{path}: {error.message}", advice="Nothing was changed. Mend the file first."
        ) from error
    if not body.strip() and after == empty:
        return FileChange(path, before, before)
    return FileChange(path, before, f"{mark}{after}".encode())


def restored(path: str, install: Callable[[bytes | None], bytes | None], undo: FileChange) -> FileChange:
    """Plan the way back: the backup, byte for byte, where only we changed the file since, else `undo`."""
    now = read(path)
    backup = read(f"{path}{BACKUP_SUFFIX}")
    if now is not None and backup is not None and install(backup) == now:
        return FileChange(path, now, backup)
    if now is not None and backup is None and install(None) == now:
        return FileChange(path, now, None)
    return undo


def apply(changes: Iterable[FileChange], *, backups: bool) -> tuple[str, ...]:
    """Write what changes, in order; give the paths. With `backups` what stood there before is kept beside it;
    without, that is removed.

    Raises Refused when a file is no longer what the plan saw, StorageError when one cannot be written.
    """
    done = []
    for change in changes:
        if not change.changed:
            continue
        if read(change.path) != change.before:
            msg = f"{change.path} has changed since it was looked at."
            raise Refused(msg, advice="Nothing more was changed. Run the same command again.")
        try:
            _write(change, backups=backups)
        except OSError as error:
            msg = f"{change.path}: it cannot be written: {error.strerror}."
            raise StorageError(msg, advice="Mend that and run the same command again.") from error
        done.append(change.path)
    return tuple(done)


def remove_folder(path: str) -> None:
    """Remove a folder of ours; one that holds files of somebody else stays."""
    with contextlib.suppress(OSError):
        Path(path).rmdir()


def _write(change: FileChange, *, backups: bool) -> None:
    target = Path(os.path.realpath(change.path))
    backup = Path(f"{change.path}{BACKUP_SUFFIX}")
    if change.after is None:
        target.unlink()
    else:
        target.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else _PRIVATE
        if backups and not (change.whole or change.ours) and change.before is not None:
            write_whole(backup, change.before, mode)
        write_whole(target, change.after, mode)
    if not backups and not change.whole:
        backup.unlink(missing_ok=True)


def write_whole(target: Path, data: bytes, mode: int) -> None:
    """Write a file whole and in one step: beside it, synced, and renamed. Raises OSError."""
    draft = target.with_name(f".perdure-{os.getpid()}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
