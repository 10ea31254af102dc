"""What a user does on the logged disk, and what has to be on any disk that survives a power cut in it.

After every command stands what memory holds then, worked out from the commands alone. Whatever is rebuilt
from a log that ends within a command has to come to the state before that command or to the one after it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.session_files import PiSession

PURGED = "The quince warehouse door opens at 7."
"""A text that is forgotten everywhere: no file may hold it afterwards."""


class Expected(msgspec.Struct, frozen=True):
    """What memory holds once every captured turn is reviewed, and how many jobs were accepted."""

    begun: bool = False
    main: frozenset[str] = frozenset()
    fork: frozenset[str] | None = None
    pending: frozenset[str] = frozenset()
    jobs: int = 0
    purged: bool = False

    def reviewed(self) -> Expected:
        """The state after every open job has ended."""
        return msgspec.structs.replace(self, main=self.main | self.pending, pending=frozenset())


class Step(msgspec.Struct, frozen=True):
    """One command, and what it changes."""

    words: tuple[str, ...]
    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    captures: frozenset[str] = frozenset()
    begins: bool = False
    forks: bool = False
    reviews: bool = False
    purges: bool = False

    def after(self, before: Expected) -> Expected:
        """What holds when the command was acknowledged."""
        here = before.reviewed() if self.reviews else before
        return Expected(
            begun=here.begun or self.begins,
            main=(here.main | self.adds) - self.removes,
            fork=here.main if self.forks else here.fork,
            pending=here.pending | self.captures,
            jobs=here.jobs + len(self.captures),
            purged=here.purged or self.purges,
        )


def session(folder: Path, number: int, fact: str) -> str:
    """A session file in which the user states one fact, which the reviewer proposes."""
    pi = PiSession(session_id=f"0192-{number}", cwd=str(folder))
    pi.ms += number * 1_000_000
    pi.turn(fact, "Noted.")
    return str(pi.write(folder, f"session-{number}.jsonl"))


def story(folder: Path) -> list[Step]:
    """The commands, in order; `folder` is the project, where session files are put."""
    build, slow, ship = "Use pnpm here.", "Deploys are slow on Monday.", "make ship"
    learnt = ("The staging port is 4100.", "The linter runs before each commit.", "The region is eu-west-1.")
    port, linter, region = learnt
    files = [session(folder, number, fact) for number, fact in enumerate(learnt)]
    return [
        Step(("init",), begins=True),
        Step(("remember", build), adds=frozenset({build})),
        Step(("remember", ship, "--key", "deploy"), adds=frozenset({ship})),
        Step(("capture", files[0]), captures=frozenset({port})),
        Step(("review", "--once"), reviews=True),
        Step(("replace", "deploy", "--text", slow), adds=frozenset({slow}), removes=frozenset({ship})),
        Step(("branch", "fork", "experiment"), forks=True),
        Step(("capture", files[1]), captures=frozenset({linter})),
        Step(("forget", "Use pnpm", "--yes"), removes=frozenset({build})),
        Step(("review", "--once"), reviews=True),
        Step(("undo",), removes=frozenset({linter})),
        Step(("remember", PURGED), adds=frozenset({PURGED})),
        Step(("forget", "quince", "--everywhere", "--yes"), removes=frozenset({PURGED}), purges=True),
        Step(("capture", files[2]), captures=frozenset({region})),
    ]
