"""The kept corpus: one folder of small files per target, and what code makes for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.fuzz import commands, decoders, homes, providers, sessions, texts
from tests.fuzz.hard import bytes_of_all_kinds
from tests.fuzz.target import Target

FOLDER = Path(__file__).parent / "corpus"
FILES_MAX = 300
BYTES_MAX = 600 * 1024

TARGETS = {
    target.name: target
    for target in (
        *decoders.TARGETS,
        *providers.TARGETS,
        *texts.TARGETS,
        *sessions.TARGETS,
        *commands.TARGETS,
        *homes.TARGETS,
    )
}
"""Every target by its name."""


def kept(name: str) -> dict[str, bytes]:
    """The files that are kept for a target: what once failed, and what reached far."""
    return {path.name: path.read_bytes() for path in sorted((FOLDER / name).glob("*"))}


def inputs(target: Target) -> Iterator[tuple[str, bytes]]:
    """Everything that is replayed for a target, with a name that says what it is."""
    yield from kept(target.name).items()
    yield from target.seeds().items()
    yield from bytes_of_all_kinds().items()
