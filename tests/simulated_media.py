"""What is on a simulated medium, what of it is durable, and what a power loss may leave of it.

Names and bytes are kept as the running machine sees them, beside what is needed to take them back:
a journal of changes of names that no sync has made durable, and, per file, the contents that may
stand there instead of the present ones. A surviving state is one choice out of these.

Two models. `posix-weak` promises what POSIX does: a file's sync saves its bytes, a folder's sync its
names, and everything else survives or not, each on its own; a rename may leave both names. `ext4`
keeps one ordered journal of names: what survives is a prefix of it, and any sync commits all of it;
bytes that were not synced may still be missing behind a name that survived.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Literal

import msgspec

from perdure.authority.filesystem.disk_port import EntryKind

Model = Literal["posix-weak", "ext4"]
Rename = tuple[int, str, int | None]  # the folder's inode, a name in it, the inode it gets or None
Atom = tuple[int, str, int | None, int | None]  # folder, name, inode before, inode after

BLOCK_BYTES = 4096
ROOT = 1
TEMPORARY = "tmp"
_VERSIONS_MAX = 4  # unsynced contents remembered for a file that is overwritten in place


class FileNode(msgspec.Struct, frozen=True, gc=False):
    """A file, or a thing that is no folder: what it holds now and what it may hold after a power loss."""

    data: bytes
    history: tuple[bytes, ...] = ()  # earlier contents that no sync replaced, the durable one first
    mode: int = 0o600
    kind: EntryKind = "file"
    changed: int = 0
    stuck: bool = False  # a sync failed: the kernel dropped the bytes, and later syncs do not know it

    def survivals(self) -> list[bytes]:
        """All contents that a power loss may leave, from the durable ones to the present ones."""
        versions = (*self.history, self.data)
        found = {versions[0]: None}
        for older, newer in pairwise(versions):
            for edge in range(BLOCK_BYTES, len(newer), BLOCK_BYTES):
                found[newer[:edge] + older[edge:]] = None
            found[newer + older[len(newer) :]] = None
            found[newer] = None
        found.pop(self.data)
        return [*found, self.data]


class Shape(msgspec.Struct, frozen=True, gc=False):
    """The reachable tree without the bytes, and which inode stands where in it."""

    tree: tuple[object, ...]
    files: tuple[int, ...]  # inodes of files with a name outside tmp/, as numbered in the tree
    twins: tuple[int, ...]  # numbers of those that also have a name in tmp/
    loose: tuple[int, ...]  # inodes with a name in tmp/ only
    links: dict[int, int]


def shape_of(folders: dict[int, dict[str, int]]) -> Shape:
    """Walk from the root. Names in tmp/ are random, so they do not belong to the shape."""
    numbers: dict[int, int] = {}
    links: dict[int, int] = {}

    def walk(folder: int, skip: str) -> tuple[object, ...]:
        links[folder] = links.get(folder, 0) + 1
        names = folders[folder]
        if not names:
            return ()
        found: list[object] = []
        for name in sorted(names):
            child = names[name]
            if name == skip:
                continue
            if child in folders:
                found.append((name, walk(child, "")))
            else:
                links[child] = links.get(child, 0) + 1
                found.append((name, numbers.setdefault(child, len(numbers))))
        return tuple(found)

    tree = walk(ROOT, TEMPORARY)
    temporary = folders[ROOT].get(TEMPORARY)
    twins: list[int] = []
    loose: list[int] = []
    if temporary in folders:
        links[temporary] = links.get(temporary, 0) + 1
        tree = (*tree, (TEMPORARY,))
        for child in folders[temporary].values():
            if child in numbers:
                twins.append(numbers[child])
            else:
                loose.append(child)
            links[child] = links.get(child, 0) + 1
    return Shape(tree, tuple(numbers), tuple(sorted(twins)), tuple(loose), links)


def key_of(shape: Shape, files: dict[int, FileNode]) -> tuple[object, ...]:
    """What makes two states the same for every reader: tree, kinds, modes, bytes, hard links; no times."""
    known = tuple([(node.kind, node.mode, node.data) for node in map(files.__getitem__, shape.files)])
    loose = sorted([(node.kind, node.mode, node.data) for node in map(files.__getitem__, shape.loose)])
    return (shape.tree, known, shape.twins, tuple(loose))


class Media:
    """Names and bytes with their durability; no path, no lock, no fault (see `SimulatedDisk`)."""

    __slots__ = (
        "_dead",
        "_finished",
        "_owned",
        "files",
        "folders",
        "journal",
        "links",
        "model",
        "next_inode",
        "stuck",
        "walked",
    )

    def __init__(self, model: Model) -> None:
        self.model: Model = model
        self.files: dict[int, FileNode] = {}
        self.folders: dict[int, dict[str, int]] = {ROOT: {}}
        self.links: dict[int, int] = {ROOT: 1}
        self.journal: list[tuple[Atom, ...]] = []
        self.stuck: set[tuple[int, str]] = set()
        self.next_inode = ROOT + 1
        self._finished: list[tuple[int, str]] = []
        self._dead: set[int] = set()
        self._owned: set[int] = {ROOT}
        self.walked: dict[str, int] = {}
        """Path to inode of folders that were walked to since a folder last got or lost a name."""

    @classmethod
    def settled(
        cls,
        like: Media,
        folders: dict[int, dict[str, int]],
        files: dict[int, FileNode],
        links: dict[int, int],
    ) -> Media:
        """A medium with nothing pending; the dicts of names may be shared with others."""
        media = cls.__new__(cls)
        media.model, media.next_inode = like.model, like.next_inode
        media.files, media.folders, media.links = files, folders, links
        media.journal, media.stuck, media._finished, media._owned = [], set(), [], set()
        media._dead = set()
        media.walked = {}
        return media

    def fork(self) -> Media:
        """A copy with the same pending changes; both share what neither changes."""
        media = Media.settled(self, self.folders.copy(), self.files.copy(), self.links.copy())
        media.journal, media.stuck, media._finished = (
            list(self.journal),
            set(self.stuck),
            list(self._finished),
        )
        media._dead = set(self._dead)
        self._owned = set()
        return media

    def new_inode(self) -> int:
        """The next inode number; never used again, not even after a power loss."""
        inode = self.next_inode
        self.next_inode += 1
        return inode

    def add_folder(self, inode: int) -> None:
        """An empty folder without a name yet."""
        self.folders[inode] = {}
        self._owned.add(inode)

    def rename(self, *changes: Rename, durable: bool = False) -> None:
        """Give or take names, all in one step of the journal; `durable` is for an outsider's change."""
        atoms: list[Atom] = []
        for folder, name, after in changes:
            if folder not in self._owned:
                self.folders[folder] = self.folders[folder].copy()
                self._owned.add(folder)
            names = self.folders[folder]
            before = names.pop(name, None)
            if after is not None:
                names[name] = after
                self.links[after] = self.links.get(after, 0) + 1
            if before is not None:
                self.links[before] -= 1
                if self.links[before] == 0:
                    self._dead.add(before)
            atoms.append((folder, name, before, after))
            self.stuck.discard((folder, name))
            if before in self.folders or after in self.folders:
                self.walked.clear()
        if not durable:
            self.journal.append(tuple(atoms))

    def write(self, inode: int, data: bytes, *, changed: int) -> None:
        """Overwrite in place; nothing of it is durable."""
        node = self.files[inode]
        if data != node.data:
            first, *later = (*node.history, node.data)
            history = (first, *later[-(_VERSIONS_MAX - 1) :])
            node = msgspec.structs.replace(node, data=data, history=history)
        self.files[inode] = msgspec.structs.replace(node, changed=changed)

    def sync_file(self, inode: int) -> None:
        """Save the bytes, unless a failed sync lost them earlier; on ext4 also all names."""
        node = self.files[inode]
        if node.history and not node.stuck:
            self.files[inode] = msgspec.structs.replace(node, history=())
        if self.model == "ext4":
            self._commit_all()

    def sync_folder(self, folder: int) -> None:
        """Save the names in one folder; on ext4 all names."""
        if self.model == "ext4":
            self._commit_all()
        else:
            self._commit(
                {(atom[0], atom[1]) for entry in self.journal for atom in entry if atom[0] == folder}
            )

    def spoil_file(self, inode: int) -> None:
        """Let a sync fail: the bytes stay visible, may be lost, and no later sync saves them."""
        self.files[inode] = msgspec.structs.replace(self.files[inode], stuck=True)

    def spoil_folder(self, folder: int) -> None:
        """Let a folder's sync fail: its pending names are saved only once they are given anew."""
        self.stuck |= {(atom[0], atom[1]) for entry in self.journal for atom in entry if atom[0] == folder}

    def finish_temporary(self, folder: int, name: str, *, keep: int) -> None:
        """Settle the names of all but the last `keep` finished temporaries, as time does.

        Nobody syncs tmp/, so that otherwise every name that ever was there could come back.
        """
        self._finished.append((folder, name))
        if self.model == "posix-weak" and len(self._finished) > keep:
            old = set(self._finished[: len(self._finished) - keep])
            self._finished = self._finished[len(self._finished) - keep :]
            self._commit(old)

    def key(self) -> tuple[object, ...]:
        """See `key_of`; of what the running machine sees."""
        return key_of(shape_of(self.folders), self.files)

    def digest(self) -> str:
        """SHA-256 of the key, in hex."""
        return hashlib.sha256(repr(self.key()).encode("utf-8", "backslashreplace")).hexdigest()

    def _commit_all(self) -> None:
        self.journal = []
        self._finished = []
        self._reclaim()

    def _commit(self, names: set[tuple[int, str]]) -> None:
        names -= self.stuck
        if not names:
            return
        left = (tuple(atom for atom in entry if (atom[0], atom[1]) not in names) for entry in self.journal)
        self.journal = [entry for entry in left if entry]
        self._reclaim()

    def _reclaim(self) -> None:
        """Forget what has no name and cannot get one back."""
        if not self._dead:
            return
        wanted = {inode for entry in self.journal for atom in entry for inode in atom[2:]}
        gone = {inode for inode in self._dead if inode not in wanted and self.links[inode] == 0}
        self._dead &= wanted
        for inode in gone:
            del self.links[inode]
            self.files.pop(inode, None)
            self.folders.pop(inode, None)
        left = (tuple(atom for atom in entry if atom[0] not in gone) for entry in self.journal)
        self.journal = [entry for entry in left if entry]
