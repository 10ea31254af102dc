"""A home that has seen everything once, to be put back as it was before each fault; and what stands in it.

The home keeps its inode, since a home of another inode is a copy (rule 14): what it holds is exchanged.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.disk import RealDisk
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.authority.filesystem.project import find_project
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.retain import MARK
from perdure.authority.filesystem.stops import Stops
from perdure.authority.filesystem.system import RealClock
from perdure.core.admission import Outcome, OutcomeTombstone, Revision
from perdure.core.attempt import Attempt
from perdure.core.budget import exposure
from perdure.ports.inspect import ScopeRecords, Snapshot
from perdure.service.invariants import check_invariants, check_rest
from tests.loopback import Answer, LoopbackServer, ok
from tests.machine.commands import Commands, Ended, Order
from tests.session_files import PiSession

KEY_NAME = "SHOP_REVIEWER_KEY"
FREE = """
[retries]
unknown_seconds_first = 0
quiet_branch_seconds = 0
"""
PAID = """
[reviewer]
provider = "openai"
model = "m"
base_url = "{url}/v1"
credential = "SHOP_REVIEWER_KEY"
timeout_seconds = 20
price = {{ input_usd_per_million = 1.0, output_usd_per_million = 2.0 }}
"""
OLD_DAYS = 40
WANTED = "Please always run the formatter before you commit in this project."
PREFERRED = "Remember that we always use tabs in the Makefile of this project."
ASKED = "What does this function do?"


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder on a disk of memory, where there is one: a fault that is injected hurts as much there."""
    memory = Path("/dev/shm")
    fit = memory.is_dir() and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="perdure-", dir=memory if fit else None) as name:
        yield Path(name).resolve()


class World:
    """A user, a project, a home below `disk`, and a paid reviewer that always answers."""

    def __init__(self, folder: Path, *, disk: Path | None = None) -> None:
        self.folder = folder
        self.disk = disk or folder / "disk"
        self.home, self.state = self.disk / "home", self.disk / "state"
        self.project, self.depot = folder / "shop", folder / "depot"
        self._kept, self._own = folder / "kept", self.disk / "own"
        self.deliberate = ""  # a fault in the product that every command has from now on
        self._commands: Commands | None = None
        self._server: LoopbackServer | None = None

    @contextmanager
    def opened(self) -> Iterator[World]:
        """Make it, with what it needs to run; nothing is left running afterwards."""
        for project in (self.project, self.depot):
            (project / ".git").mkdir(parents=True)
        self.disk.mkdir(exist_ok=True)
        environment = {
            "HOME": str(self.folder),
            "PERDURE_HOME": str(self.home),
            "PERDURE_STATE": str(self.state),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "VISUAL": f"{shutil.which('sed')} -i 's/blue/green/'",
            KEY_NAME: "not-a-real-key",
        }
        with LoopbackServer(_answers()) as server, Commands(environment) as commands:
            self._server, self._commands = server, commands
            self._furnish()
            yield self

    # -- running

    def run(self, *words: str, strace: list[str] | None = None, stop_after: tuple[str, ...] = ()) -> Ended:
        """Run a command in the project, with one JSON document as its answer."""
        return self._run(*words, strace=strace, stop_after=list(stop_after))

    def _run(self, *words: str, **more: Any) -> Ended:
        assert self._commands is not None
        if more.get("strace") is None:
            more["strace"] = []
        order = Order([*words, "--json"], str(self.project), deliberate=self.deliberate, **more)
        return self._commands.run(order)

    def must(self, *words: str, days_ago: int = 0) -> Any:
        """Run a command that has to succeed; gives its document."""
        ended = self._run(*words, days_ago=days_ago)
        assert ended.status == 0, f"{words}: {ended.status}\n{ended.out}{ended.err}"
        return ended.document

    @property
    def calls(self) -> int:
        """How many requests came to the paid reviewer so far."""
        assert self._server is not None
        return len(self._server.requests)

    def configure(self, *, paid: bool) -> None:
        """Choose the reviewer."""
        assert self._server is not None
        paid_text = PAID.format(url=self._server.url) if paid else ""
        config = self.home / layout.CONFIG
        config.write_text(paid_text + FREE)
        config.chmod(0o600)

    # -- what there is before each fault

    def _furnish(self) -> None:
        self.must("init")
        self.configure(paid=False)
        self.must("remember", "Use pnpm.", "--key", "package manager")
        self.must("remember", "The staging host is blue.")
        self.must("remember", "make ship", "--key", "deploy command")
        self._converse("old", WANTED, days_ago=OLD_DAYS)
        assert self.must("review", "--once", days_ago=OLD_DAYS)["ended"] == {"applied": 1}
        self.must("branch", "fork", "experiment")
        self._converse("idle", ASKED)
        assert self.must("review", "--once")["ended"] == {"no-op": 1}
        self.configure(paid=True)
        assert self.run("provider", "test", "--yes").status == 6
        self.configure(paid=False)
        self._converse("new", PREFERRED)
        self._session("later", "We deploy on Tuesdays only.")
        self.must("init", "--project", str(self.depot))
        self.must("remember", "The depot has two doors.", "--project", str(self.depot))
        (self.folder / "notes.md").write_text("- The queue is called mint.\n")
        for place in (self.home, self.state):
            shutil.copytree(place, self._kept / place.name)

    def _session(self, name: str, said: str, *, days_ago: int = 0) -> Path:
        session = PiSession(session_id=f"0192-{name}", cwd=str(self.project))
        session.ms = int((time.time() - 3_600 - days_ago * 86_400) * 1_000)
        session.turn(said, "I will.")
        return session.write(self.folder, f"{name}.jsonl")

    def _converse(self, name: str, said: str, *, days_ago: int = 0) -> None:
        self.must("capture", str(self._session(name, said, days_ago=days_ago)), days_ago=days_ago)

    def restore(self) -> None:
        """Put everything back as it was, into the home's own folder."""
        if self._own.exists():
            shutil.rmtree(self.home)
            self._own.rename(self.home)
        for place in (self.home, self.state):
            self.empty(place)
            shutil.copytree(self._kept / place.name, place, dirs_exist_ok=True)
        for path in self.folder.glob("*.out"):
            path.unlink()

    @staticmethod
    def empty(folder: Path) -> None:
        """Take away all that a folder holds."""
        folder.mkdir(mode=0o700, exist_ok=True)
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def note_stop(self, folder: str) -> None:
        """Leave what a failed sync of that folder leaves."""
        disk = RealDisk(str(self.home))
        try:
            Stops(disk, RealClock()).note("folder", folder)
        finally:
            disk.close()

    def as_copied(self) -> None:
        """Make the home another folder of the same content, as a restored one is."""
        self.home.rename(self._own)
        shutil.copytree(self._own, self.home)
        self.home.chmod(0o700)

    def forget_retention(self) -> None:
        """Make retention due."""
        (self.home / MARK).unlink(missing_ok=True)

    # -- what there is now

    @property
    def key(self) -> str:
        """The project's key."""
        return find_project(str(self.project)).key

    def snapshot(self) -> Snapshot:
        """Every record."""
        disk = RealDisk(str(self.home))
        try:
            return load_snapshot(Records(disk, RealClock()))
        finally:
            disk.close()

    def stopped(self) -> bool:
        """Whether a failed sync has stopped all writing."""
        return any(path.name.startswith("stop.") for path in (self.home / layout.RUN).glob("stop.*"))

    def job(self, wanted: str) -> str:
        """The id of the job whose evidence begins with these words."""
        jobs = self.snapshot().jobs.values()
        (found,) = (job.job_id for job in jobs if job.evidence.turns[0].lines[0].text.startswith(wanted))
        return found


def _answers() -> Iterator[Answer]:
    """One answer that breaks off; then good ones for ever."""
    yield Answer(body=b"{")
    said = {"operations": [{"op": "add", "text": PREFERRED, "evidence": ["e1"], "rationale": "It was said."}]}
    choice = {"message": {"content": json.dumps(said)}, "finish_reason": "stop"}
    while True:
        yield ok({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})


# -- comparing


class View(msgspec.Struct, frozen=True):
    """What a user could tell apart: no ids, no times. Two homes that went the same way have equal views."""

    entries: dict[str, list[tuple[str, str, str, str]]]  # branch -> kind, key, text, importance
    revisions: dict[str, list[str]]  # branch -> causes in order
    jobs: list[str]  # states, sorted
    selected: dict[str, str]


def view_of(world: World) -> View:
    """The view of a home."""
    found = world.snapshot()
    entries: dict[str, list[tuple[str, str, str, str]]] = {}
    revisions: dict[str, list[str]] = {}
    selected: dict[str, str] = {}
    for scope in found.scopes.values():
        name = "project" if scope.scope == world.key else scope.scope
        chosen = world.home / layout.scope_folder(scope.scope) / "selected"
        if chosen.exists():
            selected[name] = json.loads(chosen.read_bytes())["body"]["name"]
        for branch in scope.branches.values():
            label = f"{name}/{branch.name}"
            entries[label] = sorted((e.kind, e.key or "", e.text, e.importance) for e in branch.entries)
            made = sorted(scope.revisions.get(branch.branch_id, {}).items())
            revisions[label] = [r.cause if isinstance(r, Revision) else "purged" for _, r in made]
    states = sorted(_state(scope, name) for name in found.jobs for scope in [_scope_of(found, name)])
    gone = [f"gone {o.state}" for scope in found.scopes.values() for o in _without_job(scope, found)]
    return View(entries, revisions, sorted([*states, *gone]), selected)


def _scope_of(found: Snapshot, job_id: str) -> ScopeRecords:
    return found.scopes[found.jobs[job_id].project]


def _state(scope: ScopeRecords, job_id: str) -> str:
    ended = scope.outcomes.get(job_id)
    return "open" if ended is None else ended.state


def _without_job(scope: ScopeRecords, found: Snapshot) -> list[Outcome | OutcomeTombstone]:
    return [ended for name, ended in scope.outcomes.items() if name not in found.jobs]


def broken(world: World, *, at_rest: bool) -> list[str]:
    """The rules that do not hold over the whole home; at rest also what is left to do."""
    found = world.snapshot()
    wrong = [*check_invariants(found), *(check_rest(found) if at_rest else ())]
    return [f"{one.invariant} {one.code} {one.path}: {one.found}; {one.expected}" for one in wrong]


def paid_calls(world: World) -> int:
    """How many calls to the paid reviewer the budget counts, over all days."""
    return sum(exposure(attempt).total.calls for attempt in _paid(world))


def unsettled(world: World) -> int:
    """How many calls to the paid reviewer have no known end."""
    return sum(attempt.state in {"dispatched", "unknown"} for attempt in _paid(world))


def _paid(world: World) -> list[Attempt]:
    made = world.snapshot().attempts
    return [attempt for attempt in made if attempt.reserved is None or attempt.reserved.provider == "openai"]
