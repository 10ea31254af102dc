"""The home folder: made once, checked at every start (E-04, S-06, rule 14).

A home knows its machine, its own inode and a number that every writer's start raises, inside and in a small
state folder outside it. A number that is lower inside, another machine or another inode means a restored or
copied home: nothing is written until the user adopts it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

import msgspec

from perdure.authority.filesystem import ballast, layout
from perdure.authority.filesystem.disk import RealDisk
from perdure.authority.filesystem.filesystems import check_filesystem
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.system import RealClock, RealIds, machine_id
from perdure.core.record import Record
from perdure.errors import DiskFailed, NewerVersion, NotFound, Refused, StorageError

LAYOUT_VERSION = 1
POLICY_VERSION = 1
"""What may enter memory and how it is bounded; a worker of another policy takes no work (Q-08)."""
_EPOCH_DIGITS = 12
_ANOTHER = "Set PERDURE_HOME to a new or an empty folder of its own."
_OUR_NAMES = {*layout.HOME_FOLDERS, layout.USER_SCOPE, layout.KEY, layout.CONFIG}


class Format(Record, frozen=True, forbid_unknown_fields=True):
    """What the home is. A newer layout than ours is refused."""

    KIND = "format"

    layout: int
    policy: int
    home_id: str
    machine: str
    inode: int
    filesystem: str
    filesystem_allowed: bool  # the user overrode the check (S-06)
    made_ms: int


class HomeKey(Record, frozen=True, forbid_unknown_fields=True):
    """The key of the digests in tombstones; never leaves the home."""

    KIND = "home-key"

    key: str  # 64 hex digits


class Home:
    """An open home: its disk, its records and its key."""

    def __init__(self, disk: RealDisk, records: Records, found: Format, key: bytes) -> None:
        self.disk, self.records, self.format, self.key = disk, records, found, key

    @property
    def path(self) -> str:
        """The absolute path."""
        return self.disk.home

    def ensure_scope(self, scope: str) -> None:
        """Make a scope's folders, durably."""
        base = layout.scope_folder(scope)
        self.records.ensure_folders(base, *(f"{base}/{name}" for name in layout.SCOPE_FOLDERS))

    def unfit(self) -> str | None:
        """Why this program may not work on the home as it is now, or None (Q-08): read again each time,
        since another release may have taken it over meanwhile.
        """
        try:
            _check_fit(self.path, self.records.read(layout.FORMAT, Format))
        except StorageError as error:
            return str(error)
        return None

    def close(self) -> None:
        """Close the disk."""
        self.disk.close()


def make_home(path: str, *, allow_filesystem: bool = False) -> Home:
    """Make the home, or finish making it. Raises Refused for a folder that cannot hold one."""
    _make_folder(path)
    _check_content(path)
    _check_owner(path)
    _check_whole(path)
    kind = check_filesystem(path, allowed=allow_filesystem)
    disk = RealDisk(path)
    clock, ids = RealClock(), RealIds()
    records = Records(disk, clock)
    disk.make_folder("tmp")
    disk.make_folder(layout.RUN)  # before the first sync that could fail: its marker stands there
    if disk.info(layout.FORMAT) is None:
        _settle_folder(path)
        records.resume()  # home resume opens whole homes alone
    records.ensure_folders(*layout.HOME_FOLDERS)
    scope = layout.USER_SCOPE
    records.ensure_folders(scope, *(f"{scope}/{name}" for name in layout.SCOPE_FOLDERS))
    if disk.info(layout.KEY) is None:
        records.elect(layout.KEY, HomeKey(key=ids.token(64)))
    if disk.info(layout.FORMAT) is None:
        made = Format(
            layout=LAYOUT_VERSION,
            policy=POLICY_VERSION,
            home_id=ids.token(32),
            machine=machine_id(),
            inode=os.stat(path).st_ino,
            filesystem=kind,
            filesystem_allowed=allow_filesystem,
            made_ms=clock.now_ms(),
        )
        records.elect(layout.FORMAT, made)
    ballast.stock(records)
    disk.close()
    return open_home(path)


def open_home(path: str, *, adopting: bool = False) -> Home:
    """Open a home. Raises NotFound when there is none, Refused when it is not safe."""
    if not os.path.isdir(path):
        msg = f"{path}: there is no Perdure home yet."
        raise NotFound(msg, advice="Run perdure init in your project.")
    _check_owner(path)
    disk = RealDisk(path)
    records = Records(disk, RealClock())
    try:
        found, key = _identity_records(path, records)
        if not adopting:
            _check_identity(path, found)
            _check_device(disk, path)
    except BaseException:
        disk.close()
        raise
    return Home(disk, records, found, bytes.fromhex(key.key))


def _identity_records(path: str, records: Records) -> tuple[Format, HomeKey]:
    found = records.read(layout.FORMAT, Format)
    key = records.read(layout.KEY, HomeKey)
    _check_fit(path, found)
    if found is None or key is None:
        msg = f"{path}: there is no complete Perdure home."
        raise NotFound(msg, advice="Run perdure init in your project.")
    return found, key


def start_writing(home: Home) -> int:
    """Raise the home's number, inside first; to be called once per writing process. Returns it."""
    outside = _state_folder(home.format.home_id)
    outside_now = _highest(outside.names(""))  # first: another writer raises it last
    inside_now = _highest(home.disk.names(layout.EPOCH))
    try:
        if inside_now < outside_now:
            msg = (
                f"{home.path} is older than what this machine has seen of it "
                f"(number {inside_now}, seen {outside_now}): it was restored from a copy."
            )
            raise Refused(msg, advice="If that was intended, run perdure home adopt.")
        number = inside_now
        while True:
            number += 1
            if _raise_to(home.disk, layout.EPOCH, number, home.records.sync_folder):
                break
        _raise_to(outside, "", number, outside.sync_folder)
        _drop_below(home.disk, layout.EPOCH, number)
        _drop_below(outside, "", number)
        return number
    finally:
        outside.close()


def adopt(home: Home) -> Format:
    """Make a restored or copied home this machine's own. What stopped writing is made good first: until then
    home resume refuses it as a copy.
    """
    home.records.resume()
    outside = _state_folder(home.format.home_id)
    number = max(_highest(home.disk.names(layout.EPOCH)), _highest(outside.names(""))) + 1
    _raise_to(home.disk, layout.EPOCH, number, home.records.sync_folder)
    outside.close()
    adopted = msgspec.structs.replace(
        home.format, home_id=RealIds().token(32), machine=machine_id(), inode=os.stat(home.path).st_ino
    )
    home.records.replace(layout.FORMAT, adopted)
    home.format = adopted
    return adopted


def _raise_to(disk: RealDisk, folder: str, number: int, sync: Callable[[str], None]) -> bool:
    name = f"{folder}/{number:0{_EPOCH_DIGITS}d}" if folder else f"{number:0{_EPOCH_DIGITS}d}"
    with disk.temporary(b"") as temporary:
        created = temporary.link(name)
    sync(folder)
    return created


def _drop_below(disk: RealDisk, folder: str, number: int) -> None:
    """Keep a few: a name that is being raised by another process is never the highest of them."""
    for name in disk.names(folder):
        if len(name) == _EPOCH_DIGITS and name.isdigit() and int(name) < number - 8:
            disk.remove(f"{folder}/{name}" if folder else name)


def _highest(names: list[str]) -> int:
    return max((int(name) for name in names if len(name) == _EPOCH_DIGITS and name.isdigit()), default=0)


def _state_folder(home_id: str) -> RealDisk:
    base = os.environ.get("PERDURE_STATE") or os.path.join(
        os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state"),
        "perdure",
    )
    path = os.path.join(base, home_id)
    _make_folder(path)
    disk = RealDisk(path)
    disk.make_folder("tmp")
    return disk


def _check_whole(path: str) -> None:
    """A home that was made before is refused, where it has to be, with nothing written into it (S-08)."""
    disk = RealDisk(path)
    try:
        found = Records(disk, RealClock()).read(layout.FORMAT, Format)
        _check_fit(path, found)
        if found is not None:
            _check_identity(path, found)
    finally:
        disk.close()


def _check_fit(path: str, found: Format | None) -> None:
    if found is not None and (found.layout > LAYOUT_VERSION or found.policy != POLICY_VERSION):
        msg = (
            f"{path} has layout {found.layout} and policy {found.policy}; "
            f"this Perdure knows layout {LAYOUT_VERSION} and policy {POLICY_VERSION}."
        )
        raise NewerVersion(msg, advice="It is left untouched; use the Perdure that wrote it.")


def _check_identity(path: str, found: Format) -> None:
    here = (machine_id(), os.stat(path).st_ino)
    if (found.machine, found.inode) != here:
        msg = f"{path} was made on another machine or as another folder: it is a copy."
        raise Refused(msg, advice="If this machine shall own it from now on, run perdure home adopt.")


def _check_device(disk: RealDisk, path: str) -> None:
    device = os.stat(path).st_dev
    for folder in layout.HOME_FOLDERS:
        found = disk.info(folder)
        if found is not None and (found.kind != "folder" or found.device != device):
            msg = f"{path}/{folder} is not a folder on the same device as {path}."
            raise Refused(msg, advice="All state folders must share one device; move the whole home instead.")


def _check_owner(path: str) -> None:
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        msg = f"{path} is a symbolic link."
        raise Refused(msg, advice="Set PERDURE_HOME to the folder itself.")
    if found.st_uid != os.geteuid():
        msg = f"{path} belongs to user {found.st_uid}, not to you ({os.geteuid()})."
        raise Refused(msg, advice="Use a home of your own: set PERDURE_HOME.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        msg = f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o}); 0700 is needed."
        import shlex

        raise Refused(msg, advice=f"Run: chmod 700 {shlex.quote(path)}" if _is_ours(path) else _ANOTHER)


def _check_content(path: str) -> None:
    """A home is made in a folder of its own: what holds other things is somebody's, and stays as it is."""
    if not _is_ours(path):
        msg = f"{path} is no Perdure home and holds other things."
        raise Refused(msg, advice=_ANOTHER)


def _is_ours(path: str) -> bool:
    """Whether a folder is a home, one that is half made, or empty."""
    try:
        names = set(os.listdir(path))
    except OSError:
        return False
    return layout.FORMAT in names or names <= _OUR_NAMES


def _make_folder(path: str) -> None:
    """Make a folder outside any home and sync the parents of what was new."""
    missing: list[str] = []
    here = path
    while not os.path.isdir(here):
        missing.append(here)
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    for folder in reversed(missing):
        RealDisk.make_outside_folder(folder)


def _settle_folder(path: str) -> None:
    """Sync the folder that holds one of ours: whoever made it may have been killed before that."""
    try:
        RealDisk.make_outside_folder(path)
    except DiskFailed:
        raise
    except StorageError:
        return  # a parent that cannot be read was not made by us
