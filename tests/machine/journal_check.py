"""Recovery on a disk that survived, and whether everything that was acknowledged is there."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pkgutil
import signal
import traceback
from pathlib import Path
from typing import Any

import msgspec

import perdure
import perdure.app
from perdure.cli.main import main
from tests.machine import gated
from tests.machine.journal_story import PURGED, Expected

CHECK_SECONDS_MAX = 60
EXPECTED_NOTES = frozenset({"forgotten-elsewhere"})
"""The story forgets on one branch what another keeps."""


class Survivor(msgspec.Struct, frozen=True):
    """A disk after a power cut: where it is mounted, and what had happened by then."""

    home: Path
    allowed: tuple[Expected, Expected]
    sent: frozenset[str]  # attempts whose requests had gone out


class Broken(Exception):
    """A promise that does not hold on this disk."""


def preload() -> None:
    """Import what commands import when they need it, once and not in every process that checks."""
    for found in pkgutil.walk_packages(perdure.__path__, "perdure."):
        if found.name.startswith(("perdure.cli.", "perdure.service.", "perdure.authority.")):
            importlib.import_module(found.name)
    perdure.app.make_provider = gated.make_provider


def check_apart(project: Path, survivor: Survivor) -> str | None:
    """Check in a process of its own, so that nothing keeps the disk busy. Returns what is broken."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.close(read_end)
        signal.alarm(CHECK_SECONDS_MAX)
        os.chdir(project)
        try:
            found = check(survivor)
        except Broken as error:
            found = str(error)
        except BaseException:  # noqa: BLE001 - whatever it is, the parent has to hear of it
            found = traceback.format_exc()
        os.write(write_end, (found or "").encode()[:4000])
        os._exit(0)
    os.close(write_end)
    try:
        with os.fdopen(read_end, "rb") as pipe:
            said = pipe.read().decode("utf-8", "replace")
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    _, status = os.waitpid(child, 0)
    return said or (f"the check ended with status {status}" if status else None)


def check(survivor: Survivor) -> str | None:
    """Recover as a user would, by going on working; then compare. Returns what is broken, or None."""
    before, after = (expected.reviewed() for expected in survivor.allowed)
    if not before.begun:
        run("init")
    sends = Path(os.environ["SENDS"])
    sends.write_bytes(b"")
    run("review", "--once")
    verified = run("verify")
    found_wrong = [finding for finding in verified["findings"] if finding["code"] not in EXPECTED_NOTES]
    if not verified["ok"] or found_wrong:
        return f"verify: {json.dumps(found_wrong)}"
    jobs = run("jobs", "list")["jobs"]
    accepted = [job for job in jobs if job["generation"] == 1]
    found = Expected(
        begun=True,
        main=texts("main"),
        fork=texts("experiment") if len(run("branch", "list")["branches"]) > 1 else None,
        jobs=len(accepted),
    )
    wanted = [
        Expected(begun=True, main=side.main, fork=side.fork, jobs=side.jobs) for side in (before, after)
    ]
    if found not in wanted:
        return f"found {found}\nwanted {wanted[0]}\nor {wanted[1]}"
    unended = [job for job in jobs if job["state"] not in {"applied", "stale"}]
    if unended:
        return f"jobs that did not end as applied, or stale with a next generation: {unended}"
    return uncounted(survivor.sent, sends) or (purged_text(survivor.home) if before.purged else None)


def uncounted(sent: frozenset[str], sends: Path) -> str | None:
    """A request that was sent again, or one that the budget has forgotten."""
    again = [line.split()[0] for line in sends.read_text(encoding="ascii").splitlines()]
    twice = sent & set(again)
    if twice or len(set(again)) < len(again):
        return f"sent twice: {sorted(twice) or again}"
    shown = run("budget", "show")["days"]
    charged = sum(day[part]["calls"] for day in shown for part in ("actual", "held", "unknown"))
    if charged != len(sent) + len(again):
        return f"{len(sent)} requests before the cut and {len(again)} after it, {charged} are charged"
    return None


def run(*words: str) -> Any:
    """Run a command that has to succeed, and give its document."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*words, "--json"])
    if status not in {0, 1} or (status and words[0] != "verify"):
        msg = f"{' '.join(words)}: status {status}: {out.getvalue()}{err.getvalue()}"
        raise Broken(msg)
    return json.loads(out.getvalue())


def texts(branch: str) -> frozenset[str]:
    """The texts on a branch, each of them once."""
    listed = [entry["text"] for entry in run("list", "--branch", branch)["entries"]]
    if len(set(listed)) < len(listed):
        msg = f"twice on {branch}: {listed}"
        raise Broken(msg)
    return frozenset(listed)


def purged_text(home: Path) -> str | None:
    """A file that still holds what was forgotten everywhere."""
    for path in home.rglob("*"):
        if path.is_file() and PURGED.encode() in path.read_bytes():
            return f"{path.relative_to(home)} holds the text that was forgotten everywhere"
    return None
