"""Power cuts on a real ext4: a logged block device, rebuilt, mounted so that its journal is replayed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.machine import journal_machine
from tests.machine.blocklog import DISK

DISKS = 110
CONTROL_DISKS = 20
TIMEOUT_SECONDS = 240

CANNOT = journal_machine.missing()
pytestmark = [
    pytest.mark.xdist_group("journal"),
    pytest.mark.skipif(CANNOT is not None, reason=CANNOT or "it can run here"),
]


def replay(*words: str) -> tuple[int, Any]:
    """Run the replay; give its status and its report."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.machine.journal", "--json", *words],
        cwd=journal_machine.ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.requirement("X-05", "G-04", "Q-02", "E-12", "M-12")
def test_no_power_cut_loses_what_was_acknowledged() -> None:
    """After a cut right behind each acknowledgement, at flushes and between them: all of it is there, verify
    finds nothing, and review ends every job once.
    """
    status, report = replay("--disks", str(DISKS))
    assert (status, report["broken"]) == (0, [])
    assert report["disks"] == DISKS
    assert report["acknowledgements_checked"] == report["commands"]
    assert min(report["flush_points_checked"], report["subsets_checked"]) > 30


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("kind", ["files", "folders"])
def test_a_sync_that_is_left_out_is_seen_to_lose_something(kind: str) -> None:
    """The replay is not blind: without the sync of files, or of folders, acknowledged work is lost."""
    status, report = replay("--disks", str(CONTROL_DISKS), "--without", kind)
    assert status == 1
    assert report["bad"] > 0


def loop_devices_of(folder: Path) -> list[str]:
    """The files in a folder that stand behind loop devices now, whoever sees their mounts.

    A logged disk whose folder is gone, and that a device still holds, is named by its last part alone.
    """
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            found.append(path.read_text(encoding="utf-8").strip())
    return [name for name in found if name.startswith(str(folder)) or name == f"/{DISK}"]


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    last = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.02)


@pytest.mark.requirement("X-05")
@pytest.mark.parametrize("attempt", range(3))
def test_nothing_stays_mounted_when_a_replay_is_killed(tmp_path: Path, attempt: int) -> None:
    """SIGKILL in the middle of the work: its processes, mounts and loop devices all go with it."""
    command = [sys.executable, "-m", "tests.machine.journal"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=journal_machine.ROOT, env=environment) as driver:
        try:
            until(lambda: loop_devices_of(tmp_path) != [])
            time.sleep(0.3 * attempt)
            assert driver.poll() is None
        finally:
            driver.kill()
    until(lambda: loop_devices_of(tmp_path) == [])
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text(encoding="utf-8")
