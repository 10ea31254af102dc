"""Where the demo plays: a temporary folder with a home and a toy project, and what is known of them."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from perdure.app import App
from perdure.authority.filesystem.project import Project
from perdure.core.admission import Outcome, Receipt, Revision
from perdure.core.attempt import Attempt
from perdure.core.budget import Exposure
from perdure.demo.reviewer import PROVIDER
from perdure.demo.screen import CheckFailed
from perdure.hosts.sessions import SessionRead, read_session
from perdure.service.capture import Captured
from perdure.service.remember import MemoryService
from perdure.service.verify import Verified

SESSION = Path(__file__).resolve().parents[1] / "data" / "demo_session.jsonl"
TOOL_LINE_CHARS_MIN = 12
"""A shorter line of a tool's output may well stand elsewhere by chance."""


def make_folder() -> Path:
    """Make the temporary folder, with the toy project in it; point this process at a home there."""
    folder = Path(tempfile.mkdtemp(prefix="perdure-demo-")).resolve()
    (folder / "shop" / ".git").mkdir(parents=True)  # marks a project as `git init` does
    os.environ["PERDURE_HOME"] = str(folder / "home")
    os.environ["PERDURE_STATE"] = str(folder / "state")
    return folder


class Scene:
    """The open home and project. `block_before` is the injected block before the review."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.app = App.open(create=True)
        self.app.begin_writing()
        self.project: Project = self.app.project(str(folder / "shop"))
        self.app.ensure_project(self.project)
        self.session: SessionRead = read_session(SESSION)
        self.job_id = ""
        self.block_before = ""
        self.at_the_kill = Exposure()

    @property
    def home(self) -> Path:
        """The home folder."""
        return Path(self.app.home.path)

    @property
    def memory(self) -> MemoryService:
        """The project's memory."""
        return self.app.memory_service(self.project.key)

    def capture(self, *, dry_run: bool = False) -> Captured:
        """Capture the bundled session."""
        return self.app.capture_service().capture(
            host=self.session.host,
            session=self.session.session,
            turns=self.session.turns,
            project=self.project.key,
            branch_id=self.app.branch_id(self.project.key),
            dry_run=dry_run,
        )

    def block(self) -> str:
        """The block that a host would inject now."""
        return self.app.inject_service().block(self.project.key).text

    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts of the job, as they are on disk."""
        return self.app.attempts.of_job(self.job_id)

    def charged(self) -> Exposure:
        """What counts against the day of the first attempt."""
        return self.app.attempts.charge(PROVIDER, self.attempts()[0].attempt_id[:8])

    def review(self) -> tuple[Outcome, Receipt, Revision]:
        """How the job ended. Raises CheckFailed when any of the three is not there."""
        outcome = self.app.queue.outcome(self.job_id)
        receipt = self.app.memory.receipt(self.project.key, self.job_id)
        made = [
            revision
            for revision in self.memory.history()
            if isinstance(revision, Revision) and revision.job_id == self.job_id
        ]
        if not isinstance(outcome, Outcome) or receipt is None or len(made) != 1:
            raise CheckFailed("the job has not ended in one outcome, one receipt and one revision")
        return outcome, receipt, made[0]

    def ends(self) -> tuple[list[str], list[str]]:
        """The ids of all outcomes and of all receipts of the project."""
        outcomes = sorted(self.app.queue.closed(self.project.key))
        return outcomes, list(self.app.memory.receipts(self.project.key))

    def files(self) -> Iterator[Path]:
        """Every file of the home, and of the folder beside it that remembers its number."""
        for top in (self.home, self.folder / "state"):
            yield from (path for path in sorted(top.rglob("*")) if path.is_file())

    def stored(self) -> bytes:
        """All that is on disk, one file after the other."""
        return b"\n".join(path.read_bytes() for path in self.files())

    def verified(self) -> Verified:
        """What `perdure verify` says."""
        return self.app.verify_service().verify()

    def command(self, arguments: str) -> str:
        """A command line that works from any folder."""
        program = Path(sys.executable).with_name("perdure")
        return f"{shlex.quote(str(program))} {arguments}"


def tool_lines(session: SessionRead) -> list[str]:
    """What tools were given and printed in the bundled session, line by line, less what people repeated."""
    spoken = "\n".join(line.text for turn in session.turns for line in turn.lines)
    found: list[str] = []
    for record in map(json.loads, SESSION.read_text(encoding="utf-8").splitlines()):
        message = record.get("message", {})
        for block in message.get("content", []) if isinstance(message.get("content"), list) else []:
            if message.get("role") == "toolResult":
                found += str(block.get("text", "")).splitlines()
            elif block.get("type") == "toolCall":
                found += [str(value) for value in block["arguments"].values()]
    return [line for line in found if len(line) >= TOOL_LINE_CHARS_MIN and line not in spoken]
