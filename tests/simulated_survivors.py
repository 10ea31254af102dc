"""All states that a power loss may leave of a simulated medium, each once.

The choices are axes: on posix-weak one per pending name, on ext4 one for the whole journal, and one
per file with pending bytes. Up to `limit` combinations are all walked through; beyond it the two
extremes, every single deviation from them, and a seeded sample of the rest are.

With `settle_loose`, a file that has a name in tmp/ only keeps its bytes: nothing opens it by name again, so
that states which differ in it alone are one to every reader. It keeps them, and does not lose them, for those
who look for text that may not be anywhere.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Self

import msgspec

from tests.simulated_media import ROOT, TEMPORARY, FileNode, Media, Shape, key_of, shape_of

Overrides = tuple[tuple[tuple[int, str], int | None], ...]  # what stands at a name instead of the present


class Survivors:
    """An iterator of settled media with counts of what it covered.

    `combinations` is the number of choices before equal states are counted once, `exhaustive` whether
    all of them are tried, `tried` and `distinct` how far the iteration has come.
    """

    def __init__(self, media: Media, *, limit: int, seed: int, settle_loose: bool = False) -> None:
        self._media = media.fork()
        self._settle_loose = settle_loose
        self._names = _ext4_axes(media) if media.model == "ext4" else _weak_axes(media)
        self._limit, self._seed = limit, seed
        self.tried = 0
        self.distinct = 0
        self.torn = 0
        self._seen: set[tuple[object, ...]] = set()

    @functools.cached_property
    def combinations(self) -> int:
        """How many choices there are."""
        names = math.prod(len(axis) for axis in self._names)
        return names * math.prod(len(axis) for axis in self._bytes.values())

    @property
    def exhaustive(self) -> bool:
        """Whether all of them are tried."""
        return self.combinations <= self._limit

    @functools.cached_property
    def _bytes(self) -> dict[int, list[FileNode]]:
        return _byte_axes(self._media, settle_loose=self._settle_loose)

    @functools.cached_property
    def _states(self) -> Iterator[Media]:
        return self._all() if self.exhaustive else self._some(self._limit, random.Random(self._seed))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Media:
        return next(self._states)

    def extreme(self, *, kept: bool) -> Media:
        """The state in which nothing pending survived, or all of it."""
        folders = self._folders([axis[-1 if kept else 0] for axis in self._names])
        files = {
            inode: _settled(node, node.data if kept else (*node.history, node.data)[0])
            for inode, node in self._media.files.items()
        }
        return self._settle(folders, shape_of(folders), files)

    def chosen(self, choose: Callable[[int], int]) -> Media:
        """One state: of each axis, given its size, the choice of that number; 0 is what is durable already,
        the last one what the running machine sees.
        """
        folders = self._folders([axis[choose(len(axis))] for axis in self._names])
        files = self._media.files | {inode: axis[choose(len(axis))] for inode, axis in self._bytes.items()}
        return self._settle(folders, shape_of(folders), files)

    def _all(self) -> Iterator[Media]:
        for overrides in product(*self._names):
            folders = self._folders(overrides)
            shape = shape_of(folders)
            chosen = shape.files if self._settle_loose else (*shape.files, *shape.loose)
            reached = [inode for inode in chosen if inode in self._bytes]
            files = {inode: self._media.files[inode] for inode in (*shape.files, *shape.loose)}
            self._keep_loose(shape, files)
            for nodes in product(*[self._bytes[inode] for inode in reached]):
                files.update(zip(reached, nodes, strict=True))
                yield from self._if_new(folders, shape, files)

    def _some(self, limit: int, chance: random.Random) -> Iterator[Media]:
        sizes = [len(axis) for axis in self._names] + [len(axis) for axis in self._bytes.values()]
        for picks in _sample(sizes, limit, chance):
            split = len(self._names)
            folders = self._folders(
                [axis[pick] for axis, pick in zip(self._names, picks[:split], strict=True)]
            )
            chosen = zip(self._bytes.items(), picks[split:], strict=True)
            files = self._media.files | {inode: axis[pick] for (inode, axis), pick in chosen}
            shape = shape_of(folders)
            self._keep_loose(shape, files)
            yield from self._if_new(folders, shape, files)

    def _keep_loose(self, shape: Shape, files: dict[int, FileNode]) -> None:
        if self._settle_loose:
            for inode in shape.loose:
                files[inode] = _settled(files[inode], self._media.files[inode].data)

    def _if_new(
        self, folders: dict[int, dict[str, int]], shape: Shape, files: dict[int, FileNode]
    ) -> Iterator[Media]:
        self.tried += 1
        key = key_of(shape, files)
        if key not in self._seen:
            self._seen.add(key)
            self.distinct += 1
            self.torn += any(self._is_torn(inode, files[inode].data) for inode in shape.files)
            yield self._settle(folders, shape, files)

    def _is_torn(self, inode: int, data: bytes) -> bool:
        node = self._media.files[inode]
        return bool(node.history) and data != node.data and data not in node.history

    def _settle(self, folders: dict[int, dict[str, int]], shape: Shape, files: dict[int, FileNode]) -> Media:
        links = shape.links
        reached = {inode: files[inode] for inode in (*shape.files, *shape.loose)}
        kept = {inode: names for inode, names in folders.items() if inode in links}
        return Media.settled(self._media, kept, reached, links.copy())

    def _folders(self, chosen: tuple[Overrides, ...] | list[Overrides]) -> dict[int, dict[str, int]]:
        present = self._media.folders
        changed: dict[int, dict[str, int]] = {}
        for overrides in chosen:
            for (folder, name), inode in overrides:
                if present[folder].get(name) == inode:
                    continue
                names = changed.get(folder)
                if names is None:
                    names = changed[folder] = present[folder].copy()
                if inode is None:
                    del names[name]
                else:
                    names[name] = inode
        return present | changed


def _weak_axes(media: Media) -> list[list[Overrides]]:
    """One axis per pending name: whatever stood there since its folder's last sync."""
    values: dict[tuple[int, str], list[int | None]] = {}
    for entry in media.journal:
        for folder, name, before, after in entry:
            values.setdefault((folder, name), [before]).append(after)
    axes: list[list[Overrides]] = []
    for key, found in values.items():
        last = found[-1]
        distinct = [value for value in dict.fromkeys(found) if value != last]
        if distinct:
            axes.append([((key, value),) for value in (*distinct, last)])
    return axes


def _ext4_axes(media: Media) -> list[list[Overrides]]:
    """One axis: how much of the end of the journal is taken back, all of it first."""
    undone: dict[tuple[int, str], int | None] = {}
    options: list[Overrides] = [()]
    for entry in reversed(media.journal):
        for folder, name, before, _ in reversed(entry):
            undone[folder, name] = before
        options.append(tuple(undone.items()))
    return [options[::-1]]


def _byte_axes(media: Media, *, settle_loose: bool) -> dict[int, list[FileNode]]:
    """Per file with pending bytes that has a name or may get one back: the nodes that may survive."""
    skipped = media.folders[ROOT].get(TEMPORARY) if settle_loose else None
    named = {
        inode
        for entry in media.journal
        for folder, _, before, after in entry
        if folder != skipped
        for inode in (before, after)
    }
    loose = set() if skipped is None else set(media.folders[skipped].values())
    axes: dict[int, list[FileNode]] = {}
    for inode, node in media.files.items():
        links = media.links.get(inode, 0) - (inode in loose)
        if node.history and (links or inode in named):
            axes[inode] = [_settled(node, data) for data in node.survivals()]
        elif node.stuck:
            axes[inode] = [_settled(node, node.data)]
    return axes


def _settled(node: FileNode, data: bytes) -> FileNode:
    """The node with that content and nothing pending."""
    if data is node.data and not node.history and not node.stuck:
        return node
    return msgspec.structs.replace(node, data=data, history=(), stuck=False)


def _sample(sizes: list[int], limit: int, chance: random.Random) -> Iterator[tuple[int, ...]]:
    """At most `limit` picks, none twice: both extremes, single deviations from them, then by chance."""
    lost, kept = tuple(0 for _ in sizes), tuple(size - 1 for size in sizes)
    near = ((*base[:at], pick, *base[at + 1 :]) for base in (lost, kept) for at, pick in _singles(sizes))
    first = list(dict.fromkeys([lost, kept, *near]))[:limit]
    yield from first
    done = set(first)
    while len(done) < limit:
        picks = tuple(chance.randrange(size) for size in sizes)
        if picks not in done:
            done.add(picks)
            yield picks


def _singles(sizes: list[int]) -> list[tuple[int, int]]:
    return [(at, pick) for at, size in enumerate(sizes) for pick in range(size)]
