"""Journal replay on a real ext4: `python -m tests.machine.journal [--disks N] [--seconds N]`.

The product works on an ext4 whose device logs every write and flush. Then the disk is rebuilt as a power cut
would leave it: at each flush, right after each acknowledgement, and between flushes with any of the blocks
that no flush had confirmed. Each is mounted, so that the kernel replays its journal, and has to hold what was
acknowledged. `--without files` or `folders` leaves out that sync: something has to be lost. All disks are
looked at unless a bound is given (the seconds count from the start; one disk is always looked at); another
`--seed` looks at other ones. Says how far it is and ends with a report; figures go to build/journal.json.
With `--json` one document is printed instead. Status 1 when a promise was broken, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from tests.bench.figures import BUILD_FOLDER, Figure, at_most, plain, write
from tests.long_runs import (
    EVERY_SECONDS,
    WRONG_USE,
    Stop,
    count_of,
    interruptible,
    seconds_of,
    status_of,
)
from tests.machine import journal_check, journal_machine
from tests.machine.blocklog import Flush, Write, read_log
from tests.machine.journal_story import Expected, Step, story
from tests.machine.unsynced import KINDS

SEED = 20_261_130
BLOCK = 4096
SUBSETS_OF_A_GAP = 1
BROKEN_MAX = 5
INSIDE = "PERDURE_TEST_JOURNAL_INSIDE"

CONFIG = b"[retries]\nunknown_seconds_first = 0\nquiet_branch_seconds = 0\n"
"""Recovery waits for nothing."""

Block = tuple[int, bytes]


class Report(msgspec.Struct):
    """How many disks were looked at, of how many, and what was wrong with them."""

    seed: int
    writes: int = 0
    flushes: int = 0
    commands: int = 0
    disks_there: int = 0
    disks: int = 0
    flush_points: int = 0
    flush_points_checked: int = 0
    acknowledgements_checked: int = 0
    subsets_checked: int = 0
    bad: int = 0
    broken: list[str] = []

    def told(self) -> str:
        """The report for people."""
        lines = [
            f"{self.commands} commands, {self.writes:,} writes and {self.flushes:,} flushes were recorded",
            f"{self.disks:,} of {self.disks_there:,} disks were looked at, {self.bad} of them bad:",
            f"  {self.acknowledgements_checked:,} of {self.commands:,} right behind an acknowledgement",
            f"  {self.flush_points_checked:,} of {self.flush_points:,} at a flush",
            f"  {self.subsets_checked:,} between flushes, seed {self.seed}",
        ]
        return "\n".join([*lines, *(f"BROKEN {what}" for what in self.broken)])

    def figures(self) -> list[Figure]:
        """What goes to the file."""
        return [
            plain("disks", self.disks, "disks"),
            plain("disks there are", self.disks_there, "disks"),
            plain("flush points", self.flush_points_checked, "disks"),
            plain("acknowledgements", self.acknowledgements_checked, "disks"),
            plain("subsets", self.subsets_checked, "disks"),
            at_most("bad", self.bad, "disks", 0),
        ]


class Recording(msgspec.Struct):
    """An image before any work, what was written to it then, and how long the log was after each command."""

    base: bytes
    events: list[Write | Flush]
    acknowledged: list[int]
    expected: list[Expected]  # one more than commands
    sent: list[tuple[str, int]]  # attempts, and how long the log was when their requests went out

    def allowed(self, log_end: int) -> tuple[Expected, Expected]:
        """The states that a log of this length may lead to."""
        done = sum(end <= log_end for end in self.acknowledged)
        return self.expected[done], self.expected[min(done + 1, len(self.acknowledged))]

    def sent_by(self, log_end: int) -> frozenset[str]:
        """The attempts whose requests had gone out."""
        return frozenset(attempt for attempt, position in self.sent if position <= log_end)


class Cut(msgspec.Struct, frozen=True):
    """A power cut: all blocks that were flushed by then are there, and some of those that were not."""

    kind: str
    flushed: int  # of the blocks in the order in which they were written
    kept: tuple[int, ...]  # later ones
    log_end: int


def record(work: Path, project: Path, steps: Sequence[Step], without: str | None) -> Recording:
    """Let the product work on a logged disk."""
    image, log = work / "image", work / "log"
    journal_machine.make_image(image)
    base = image.read_bytes()
    acknowledged: list[int] = []
    faulty = ["tests.machine.unsynced", without] if without else []
    sends = work / "sends"
    added = {
        "PYTHONPATH": str(journal_machine.ROOT),
        "LOG": str(log),
        "SENDS": str(sends),
        "GATE": os.devnull,
    }
    with (
        journal_machine.logged_disk(work / "device", image, log) as disk,
        journal_machine.mounted("ext4", disk, work / "disk", journal_machine.MOUNT_OPTIONS) as mount,
    ):
        for step in steps:
            module = [*(faulty if not step.begins else []), "tests.machine.gated"]
            command = [sys.executable, "-m", *module, *step.words]
            done = subprocess.run(
                command, cwd=project, env=os.environ | added, capture_output=True, text=True, check=False
            )
            if done.returncode:
                msg = f"{step.words}: {done.returncode}: {done.stdout}{done.stderr}"
                raise OSError(msg)
            if step.begins:
                _configure(mount / "home" / "config.toml")
            acknowledged.append(log.stat().st_size)
        stopped = acknowledged[-1]
    events = [event for event in read_log(log.read_bytes()) if event.end <= stopped]
    expected = [Expected()]
    for step in steps:
        expected.append(step.after(expected[-1]))
    rows = (line.split() for line in sends.read_text(encoding="ascii").splitlines())
    sent = [(attempt, int(position)) for attempt, _process, position in rows]
    return Recording(base, events, acknowledged, expected, sent)


def _configure(path: Path) -> None:
    with path.open("wb") as file:
        path.chmod(0o600)
        file.write(CONFIG)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def cuts(recording: Recording, chance: random.Random) -> tuple[list[Block], list[Cut]]:
    """Every block that was written, and every cut to look at: acknowledgements first, then at random."""
    blocks: list[Block] = []
    ends: list[int] = []
    flushed = 0
    first: list[Cut] = []
    rest: list[Cut] = []
    pending = iter(recording.acknowledged)
    next_end = next(pending, None)
    for event in recording.events:
        while next_end is not None and event.end > next_end:
            first.append(Cut("acknowledged", flushed, (), next_end))
            next_end = next(pending, None)
        if isinstance(event, Write):
            assert event.offset % BLOCK == len(event.data) % BLOCK == 0, "a write of less than a block"
            for at in range(0, len(event.data), BLOCK):
                blocks.append((event.offset + at, event.data[at : at + BLOCK]))
                ends.append(event.end)
            continue
        if flushed < len(blocks):
            rest += _subsets(flushed, ends, chance)
            flushed = len(blocks)
            rest.append(Cut("flush", flushed, (), event.end))
    if next_end is not None:
        first.append(Cut("acknowledged", flushed, (), next_end))
    chance.shuffle(rest)
    return blocks, first + rest


def _subsets(flushed: int, ends: list[int], chance: random.Random) -> Iterator[Cut]:
    """Some cuts before a flush: the log ends at a write of the gap, and any of its blocks are kept."""
    for _ in range(SUBSETS_OF_A_GAP):
        last = chance.randrange(flushed, len(ends))
        kept = tuple(number for number in range(flushed, last + 1) if chance.random() < 0.5)
        yield Cut("subset", flushed, kept, ends[last])


class Replays:
    """Rebuilds disks of one recording and checks them."""

    def __init__(self, recording: Recording, blocks: list[Block], work: Path, project: Path) -> None:
        self._recording, self._blocks, self._work, self._project = recording, blocks, work, project
        base = recording.base
        starts = (at for at in range(0, len(base), BLOCK) if any(base[at : at + BLOCK]))
        self._base = {at: base[at : at + BLOCK] for at in starts}

    def broken(self, cut: Cut) -> str | None:
        """What does not hold after this power cut, or None."""
        options = journal_machine.MOUNT_OPTIONS
        try:
            with journal_machine.mounted("ext4", self._survivor(cut), self._work / "disk", options) as mount:
                survivor = journal_check.Survivor(
                    mount / "home", self._recording.allowed(cut.log_end), self._recording.sent_by(cut.log_end)
                )
                return journal_check.check_apart(self._project, survivor)
        except OSError as error:
            return f"not mounted: {error}"

    def _survivor(self, cut: Cut) -> Path:
        """The disk's image after the cut."""
        blocks = dict(self._base)
        for number in (*range(cut.flushed), *cut.kept):
            offset, data = self._blocks[number]
            blocks[offset] = data
        path = self._work / "survivor"
        with path.open("wb") as file:
            file.truncate(len(self._recording.base))
            for offset, data in blocks.items():
                file.seek(offset)
                file.write(data)
        return path


class Wanted(msgspec.Struct, frozen=True):
    """What to look at, and within which bounds."""

    seed: int = SEED
    disks: int = sys.maxsize
    seconds: float = float("inf")
    without: str | None = None


def explore(work: Path, wanted: Wanted, report: Report, say: Callable[[str], None]) -> None:
    """Work once, then check as many cuts as the bounds allow, or until too much is broken."""
    begun = time.monotonic()
    say("recording what the product writes")
    replays, looked_at = _recorded(work, wanted, report)
    planned = min(wanted.disks, len(looked_at))
    said = time.monotonic()
    for cut in looked_at[:planned]:
        now = time.monotonic()
        if (report.disks and now - begun > wanted.seconds) or len(report.broken) >= BROKEN_MAX:
            break
        if now - said > EVERY_SECONDS:
            said = now
            say(f"{report.disks:,} of {planned:,} disks, {report.bad} bad, {now - begun:.0f} s")
        _count(report, cut, replays.broken(cut))


def _recorded(work: Path, wanted: Wanted, report: Report) -> tuple[Replays, list[Cut]]:
    """Let the product work; gives what checks disks, and all the cuts."""
    project = work / "shop"
    (project / ".git").mkdir(parents=True)
    os.environ["PERDURE_HOME"], os.environ["PERDURE_STATE"] = f"{work}/disk/home", f"{work}/disk/state"
    steps = story(project)
    recording = record(work, project, steps, wanted.without)
    blocks, looked_at = cuts(recording, random.Random(wanted.seed))
    report.writes = sum(isinstance(event, Write) for event in recording.events)
    report.flushes = sum(isinstance(event, Flush) for event in recording.events)
    report.commands, report.disks_there = len(steps), len(looked_at)
    report.flush_points = sum(cut.kind == "flush" for cut in looked_at)
    os.environ["SENDS"], os.environ["GATE"] = str(work / "sent-again"), os.devnull
    journal_check.preload()
    return Replays(recording, blocks, work, project), looked_at


def _count(report: Report, cut: Cut, broken: str | None) -> None:
    report.disks += 1
    report.flush_points_checked += cut.kind == "flush"
    report.acknowledgements_checked += cut.kind == "acknowledged"
    report.subsets_checked += cut.kind == "subset"
    if broken is not None:
        report.bad += 1
        report.broken.append(f"{cut.kind} at {cut.flushed} blocks and {len(cut.kept)} more: {broken[:600]}")


def main(arguments: Sequence[str]) -> int:
    """Run in name spaces of its own; see the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.machine.journal")
    parser.add_argument("--disks", type=count_of, default=sys.maxsize)
    parser.add_argument("--seconds", type=seconds_of, default=float("inf"))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--without", choices=KINDS)
    parser.add_argument("--json", action="store_true", help="print one document, and write no figures")
    chosen = parser.parse_args(arguments)
    if (lacks := journal_machine.missing()) is not None:
        print(f"cannot run here: {lacks}", file=sys.stderr)
        return WRONG_USE
    if os.environ.get(INSIDE) is None:
        command = [*journal_machine.UNSHARE, sys.executable, "-m", "tests.machine.journal", *arguments]
        os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})  # noqa: S606 - so that its end ends all
    wanted = Wanted(chosen.seed, chosen.disks, chosen.seconds, chosen.without)
    report = Report(chosen.seed)
    stop = _explored(wanted, report, _quiet if chosen.json else _say)
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        print(report.told())
        write(BUILD_FOLDER / "journal.json", report.figures())
    return status_of(stop, sound=not report.bad, looked_at=report.disks)


def _explored(wanted: Wanted, report: Report, say: Callable[[str], None]) -> Stop:
    with (
        interruptible() as stop,
        tempfile.TemporaryDirectory(prefix="perdure-journal-") as folder,
        journal_machine.mounted("tmpfs", "tmpfs", Path(folder, "work"), "size=512m,mode=0700") as work,
    ):
        explore(work, wanted, report, say)
    return stop


def _say(line: str) -> None:
    print(line, flush=True)


def _quiet(_line: str) -> None:
    """Say nothing."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
