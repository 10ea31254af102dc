"""Figures: what a measurement found, beside what it is held against, and the floor of the disk.

A *floor* is the least that any durable record must cost: write the bytes, sync the file, link it to its
name, sync the folder. It is measured in the same run as the thing it is compared with, in turns, so that
a slow minute of the machine hits both.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

BUILD_FOLDER = Path("build")
"""Where figures are written, relative to the root of the checkout."""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measured value. `holds` is None where nothing was promised."""

    name: str
    value: float
    unit: str
    reference: float | None = None  # a floor or a peer, in the same unit, measured in the same run
    ratio: float | None = None  # value / reference
    target: str | None = None  # in words, such as "ratio <= 1.5"
    holds: bool | None = None


def plain(name: str, value: float, unit: str) -> Figure:
    """Make a figure that is only for information."""
    return Figure(name=name, value=value, unit=unit)


def at_most(name: str, value: float, unit: str, limit: float) -> Figure:
    """Make a figure whose value, in `unit`, may not be above `limit`."""
    return Figure(name=name, value=value, unit=unit, target=f"<= {limit:g}", holds=value <= limit)


def at_least(name: str, value: float, unit: str, limit: float) -> Figure:
    """Make a figure whose value, in `unit`, may not be below `limit`."""
    return Figure(name=name, value=value, unit=unit, target=f">= {limit:g}", holds=value >= limit)


def against(
    name: str, value: float, unit: str, *, reference: float, ratio_max: float | None = None
) -> Figure:
    """Make a figure that stands beside `reference`, in the same unit and above zero.

    With `ratio_max`, value / reference may not be above it.
    """
    ratio = value / reference
    target = None if ratio_max is None else f"ratio <= {ratio_max:g}"
    holds = None if ratio_max is None else ratio <= ratio_max
    return Figure(
        name=name, value=value, unit=unit, reference=reference, ratio=ratio, target=target, holds=holds
    )


class Interleaved(msgspec.Struct, frozen=True):
    """Samples of a thing and of the floor, taken in turns; seconds, in the order they were taken."""

    measured_seconds: tuple[float, ...]
    floor_seconds: tuple[float, ...]

    @property
    def measured_median(self) -> float:
        """The median of the measured thing, in seconds."""
        return statistics.median(self.measured_seconds)

    @property
    def floor_median(self) -> float:
        """The median of the floor, in seconds."""
        return statistics.median(self.floor_seconds)

    def figure(self, name: str, *, ratio_max: float | None = None) -> Figure:
        """Make the figure of the two medians, in milliseconds."""
        return against(
            name,
            self.measured_median * 1_000,
            "ms",
            reference=self.floor_median * 1_000,
            ratio_max=ratio_max,
        )


def publish_barely(folder: Path, payload: bytes, name: str) -> None:
    """Make `folder/name` durable in the barest way: write, sync, link, sync of the folder.

    The temporary name, `folder/.name.tmp`, is left behind; `unpublish` takes both away.
    """
    temporary = folder / f".{name}.tmp"
    folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file_fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file_fd, payload)
            os.fsync(file_fd)
        finally:
            os.close(file_fd)
        os.link(temporary, folder / name)
        os.fsync(folder_fd)
    finally:
        os.close(folder_fd)


def unpublish(folder: Path, name: str) -> None:
    """Take away what `publish_barely` made."""
    (folder / f".{name}.tmp").unlink()
    (folder / name).unlink()


def floor_seconds(folder: Path, payload: bytes, name: str) -> float:
    """Time `publish_barely`, in seconds; what it made is taken away outside the measured time."""
    start = time.perf_counter()
    publish_barely(folder, payload, name)
    elapsed = time.perf_counter() - start
    unpublish(folder, name)
    return elapsed


def interleaved(
    measured: Callable[[int], object],
    *,
    folder: Path,
    payload: bytes,
    rounds: int,
    warm_up: int = 3,
    after: Callable[[int], object] | None = None,
) -> Interleaved:
    """Time `measured(i)` and the floor of the same size in turns, first one and then the other first.

    `measured`, and then `after` outside the measured time, are called with 0, 1, ... up to
    `warm_up + rounds - 1`; the first `warm_up` are not counted. `folder` is on the disk that is measured.
    """
    times: list[float] = []
    floors: list[float] = []
    for index in range(warm_up + rounds):
        floor_first = index % 2 == 0
        before = floor_seconds(folder, payload, f"floor-{index}") if floor_first else None
        start = time.perf_counter()
        measured(index)
        elapsed = time.perf_counter() - start
        if after is not None:
            after(index)
        floor = before if before is not None else floor_seconds(folder, payload, f"floor-{index}")
        if index >= warm_up:
            times.append(elapsed)
            floors.append(floor)
    return Interleaved(measured_seconds=tuple(times), floor_seconds=tuple(floors))


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder on the checkout's own disk (not a memory disk), removed at the end."""
    BUILD_FOLDER.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=BUILD_FOLDER)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def table(figures: list[Figure]) -> str:
    """Lay figures out as aligned text, one line each, with a headline."""
    head = ("what", "value", "unit", "reference", "ratio", "target", "")
    rows = [head, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    right = {1, 3, 4}
    lines = (
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "ok", False: "MISSED", None: ""}[figure.holds]
    return (
        figure.name,
        _number(figure.value),
        figure.unit,
        "" if figure.reference is None else _number(figure.reference),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        figure.target or "",
        verdict,
    )


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"


def write(path: Path, figures: Sequence[Figure | Mapping[str, object]]) -> None:
    """Write figures, or rows of the same fields, as a JSON list of objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
