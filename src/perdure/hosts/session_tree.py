"""Walk a session that is a tree: every way from a root to a leaf, each entry once.

A host that lets its user go back keeps what was left behind in the file, as another branch. A turn that
settled there was a turn, and is evidence like any other; so all branches are walked, not the last alone.
What is wrong in the tree is reported by line, and the rest is walked as far as it reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol, TypeVar

from perdure.hosts.session_file import ProblemLog

Step = Literal["enter", "leaf", "leave"]


class Place(Protocol):
    """An entry's place in the tree: its line in the file, its own name, and that of its parent."""

    @property
    def line(self) -> int:
        """The one-based line in the file."""
        ...

    @property
    def name(self) -> str:
        """What the entry's children call it."""
        ...

    @property
    def parent(self) -> str | None:
        """The entry before it; None for a root."""
        ...


P = TypeVar("P", bound=Place)


def walk(places: Sequence[P], problems: ProblemLog) -> Iterator[tuple[Step, P]]:
    """Yield "enter" and "leave" for every entry, parents around their children, and "leaf" for an entry
    that nothing follows, between the two.

    Names are distinct. An entry whose parent is missing begins a tree of its own; a circle is cut where
    the way back from its last entry closes it. Time and memory are linear in the number of entries.
    """
    known = {place.name for place in places}
    children: dict[str, list[P]] = {}
    roots: list[P] = []
    for place in places:
        if place.parent is None:
            roots.append(place)
        elif place.parent not in known:
            problems.add(place.line, "the parent entry is missing; what hangs on it is read by itself")
            roots.append(place)
        else:
            children.setdefault(place.parent, []).append(place)
    reached: set[str] = set()
    for root in roots:
        yield from _below(root, children, reached)
    circling = {place.name: place for place in places if place.name not in reached}
    for place in reversed(places):
        if place.name not in reached:
            root = way_back(place, circling)[-1]
            problems.add(root.line, "the parents run in a circle; it is read from here on")
            yield from _below(root, children, reached)


def way_back(place: P, index: dict[str, P]) -> list[P]:
    """Return the entries from one back to its root, the root last; a circle ends the way."""
    way, seen, at = [place], {place.name}, place
    while at.parent in index and at.parent not in seen:
        at = index[at.parent]
        seen.add(at.name)
        way.append(at)
    return way


def _below(root: P, children: dict[str, list[P]], reached: set[str]) -> Iterator[tuple[Step, P]]:
    """Walk one tree depth first; an entry that was reached before is not walked again."""
    reached.add(root.name)
    yield "enter", root
    ways: list[tuple[P, Iterator[P]]] = [(root, iter(children.get(root.name, ())))]
    ended = True
    while ways:
        at, following = ways[-1]
        child = next((each for each in following if each.name not in reached), None)
        if child is None:
            ways.pop()
            if ended:
                yield "leaf", at
            yield "leave", at
            ended = False
            continue
        reached.add(child.name)
        yield "enter", child
        ways.append((child, iter(children.get(child.name, ()))))
        ended = True
