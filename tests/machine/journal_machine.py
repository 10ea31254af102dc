"""Mounts of the journal's tests, in name spaces of their own: nothing outlives the process that made them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.long_runs import unhearing
from tests.machine import blocklog

ROOT = Path(__file__).parents[2]
IMAGE_BYTES = 24 << 20
WAIT_SECONDS = 30
_CLONE_NEWNS = 0x00020000
TOOLS = ("unshare", "mount", "umount", "mkfs.ext4", "losetup")
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--")
MOUNT_OPTIONS = "loop,noatime,commit=300"
"""The journal is written when something asks for it, and never because time went by."""


def missing() -> str | None:
    """What this machine lacks for journal replay, or None."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "journal replay needs root on Linux"
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"{', '.join(lacking)}: not installed"
    if (lacks := blocklog.missing()) is not None:
        return lacks
    if "ext4" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        return "the kernel has no ext4"
    probe = subprocess.run([*UNSHARE, "losetup", "--find"], capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no loop device: {probe.stderr.strip()}"


def run(*words: str | Path) -> None:
    """Run a tool that has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    if done.returncode:
        msg = f"{' '.join(map(str, words))}: {done.stderr.strip()}"
        raise OSError(msg)


def make_image(path: Path) -> None:
    """An empty ext4 whose tables are all written, so that the log holds the work alone."""
    with path.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    extended = "nodiscard,lazy_itable_init=0,lazy_journal_init=0"
    run("mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-E", extended, path)


@contextlib.contextmanager
def mounted(kind: str, source: str | Path, folder: Path, options: str = "") -> Iterator[Path]:
    """A mounted file system; all loop devices being in use only delays it."""
    folder.mkdir(exist_ok=True)
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            run("mount", "-t", kind, *(["-o", options] if options else []), source, folder)
            break
        except OSError as error:
            if "loop" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.2)
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            run("umount", folder)
            folder.rmdir()


@contextlib.contextmanager
def logged_disk(folder: Path, image: Path, log: Path) -> Iterator[Path]:
    """The image as a file whose writes are logged."""
    folder.mkdir()
    command: Sequence[str | Path] = (sys.executable, "-m", "tests.machine.blocklog", folder, image, log)
    started: subprocess.Popen[bytes] | None = None
    try:
        with unhearing():
            started = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    except KeyboardInterrupt:  # it was held back until the server was there
        if started is not None:
            started.kill()
            started.wait()
        raise
    with started as server:
        disk, until = folder / blocklog.DISK, time.monotonic() + WAIT_SECONDS
        try:
            while not disk.exists():
                if server.poll() is not None or time.monotonic() > until:
                    msg = "the logged disk did not start"
                    raise OSError(msg)
                time.sleep(0.02)
            _leave_mounts()
            yield disk
        finally:
            with contextlib.suppress(OSError):
                run("umount", folder)
            server.kill()  # its own mount name space keeps it going; what it wrote it wrote by system calls


def _leave_mounts() -> None:
    """Take a mount name space of one's own once more, so that the server is not in it.

    The last process of a name space unmounts what is left there while it ends. Were that the server, it would
    wait for its own answer, for ever: the kernel closes its connection only after that.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
