"""Faults of the product's own, put in on purpose: a sweep that finds none of them is blind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from unittest import mock

from perdure.authority.filesystem.disk import RealDisk
from perdure.authority.filesystem.disk import _RealTemporary as RealTemporary
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.stops import Stops
from perdure.errors import DiskFull


def silent_sync() -> None:
    """A failed sync stops nobody."""
    mock.patch.object(Stops, "note", lambda _self, _doubt, path: path).start()


def swallowed_room() -> None:
    """A record that found no room is taken for published."""
    real = Records._publish

    def publish(records: Records, path: str, data: bytes) -> bool:
        try:
            return real(records, path, data)
        except DiskFull:
            return True

    mock.patch.object(Records, "_publish", publish).start()


def in_place() -> None:
    """A file whose content changes is written over, in two halves."""

    def replace(temporary: RealTemporary, target: str) -> None:
        disk: RealDisk = temporary._disk
        with open(f"{disk.home}/tmp/{temporary._name}", "rb") as source:  # noqa: PTH123 - by folder, as the disk
            data = source.read()
        descriptor = os.open(f"{disk.home}/{target}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, data[: len(data) // 2])
        os.write(descriptor, data[len(data) // 2 :])
        os.close(descriptor)

    mock.patch.object(RealTemporary, "replace", replace).start()


DELIBERATE: Mapping[str, Callable[[], None]] = {
    "silent-sync": silent_sync,
    "swallowed-room": swallowed_room,
    "in-place": in_place,
}
"""By name, as an order names it."""
