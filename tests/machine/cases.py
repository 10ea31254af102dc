"""Every command of the product: those that write, with what they promise when they say that they are done.

`READING` lists the others. A command that stands in neither fails a test, and so does one of them that
writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import msgspec

from perdure.authority.filesystem import layout
from perdure.authority.shadow import PATH as SHADOW
from perdure.core.memory import main_branch_id
from tests.machine.world import View, World, view_of

MAIN = "project/main"

READING = {
    "show": (),
    "list": (),
    "facts": (),
    "branch list": (),
    "history": (),
    "export": (),
    "inject": (),
    "hook": ("claude-code", "Stop"),
    "mcp": (),  # its input ends at once
    "install": (),  # a list; what it writes is outside the home
    "uninstall": ("mcp:windsurf",),
    "jobs list": (),
    "jobs show": ("{old}",),
    "receipts": (),
    "budget show": (),
    "verify": (),
    "home show": (),
    "status": (),
}
"""Commands that write nothing, with their arguments."""


class Case(msgspec.Struct, frozen=True):
    """One writing command.

    `done` says whether what it promises with status 0 holds. `words` may name {session}, {notes}, {output},
    {depot}, {new} and {idle} (jobs), and {attempt}. `again` are statuses, beside 0, with which it may end
    when it is repeated after it was cut short: it is done, perhaps by that repetition.
    """

    name: str
    command: str
    words: tuple[str, ...]
    done: Callable[[World, View], bool]
    prepare: Callable[[World], object] = lambda _: None
    again: frozenset[int] = frozenset()
    stop_after: tuple[str, ...] = ()
    absent: bool = False  # before it there is no home
    unfit: bool = False  # before it something is wrong with the home
    frees: bool = False  # it removes, and can do so on a full disk
    hourly: bool = (
        False  # it is tried at most once an hour, and what it could not do does not fail the command
    )

    def arguments(self, world: World) -> Sequence[str]:
        """The words of the command line, with names in place; to be asked for before a fault."""
        names = {
            "session": str(world.folder / "later.jsonl"),
            "notes": str(world.folder / "notes.md"),
            "output": str(world.folder / "memory.out"),
            "depot": str(world.depot),
        }
        wanted = " ".join(self.words)
        if "{new}" in wanted or "{idle}" in wanted or "{old}" in wanted:
            names |= {"new": world.job("Remember")[-32:], "idle": world.job("What does")[-32:]}
        if "{attempt}" in wanted:
            (unknown,) = (a.attempt_id for a in world.snapshot().attempts if a.state == "unknown")
            names["attempt"] = unknown
        return [*self.command.split(), *(word.format(**names) for word in self.words)]

    def following(self, world: World) -> list[tuple[str, ...]]:
        """What a user does afterwards in each scope; whatever was begun is finished by then."""
        note = ("remember", "All is well again.")
        user = [(*note, "--user")] if {"--user", "user"} & set(self.words) else []
        depot = [(*note, "--project", str(world.depot))] if "{depot}" in self.words else []
        return [("review", "--once"), *user, *depot]


def _has(text: str, branch: str = MAIN) -> Callable[[World, View], bool]:
    def done(_world: World, view: View) -> bool:
        return sum(entry[2] == text for entry in view.entries.get(branch, [])) == 1

    return done


def _lacks(text: str, branch: str = MAIN) -> Callable[[World, View], bool]:
    def done(_world: World, view: View) -> bool:
        return all(text not in entry[2] for entry in view.entries[branch])

    return done


def _moved(world: World, view: View) -> bool:
    there = _has("The staging host is blue.", "user/main")(world, view)
    return there and _lacks("staging host")(world, view)


def _erased(world: World, view: View) -> bool:
    everything = b"".join(path.read_bytes() for path in world.home.rglob("*") if path.is_file())
    return b"staging host" not in everything and _lacks("staging host")(world, view)


def _ended(count: int, *states: str) -> Callable[[World, View], bool]:
    def done(_world: World, view: View) -> bool:
        return sum(state in states for state in view.jobs) == count

    return done


def _exported(world: World, _view: View) -> bool:
    output = world.folder / "memory.out"
    return output.exists() and "make ship" in output.read_text()


def _adopted(world: World, _view: View) -> bool:
    found = json.loads((world.home / layout.FORMAT).read_bytes())
    return bool(found["body"]["inode"] == world.home.stat().st_ino)


def _reconciled(world: World, _view: View) -> bool:
    return not any(attempt.state == "unknown" for attempt in world.snapshot().attempts)


def _initialised(world: World, _view: View) -> bool:
    return all((world.home / name).exists() for name in (layout.FORMAT, layout.KEY, f"projects/{world.key}"))


def _readable(world: World, _view: View) -> bool:
    return not world.snapshot().unread


def _expired(world: World, view: View) -> bool:
    return "gone applied" in view.jobs and b"formatter before you commit" not in b"".join(_evidence(world))


def _evidence(world: World) -> list[bytes]:
    return [path.read_bytes() for path in (world.home / layout.SPOOL_JOBS).iterdir()]


def _seen(world: World, _view: View) -> bool:
    scope = world.snapshot().scopes[world.key]
    return {*scope.shown} == {name for name, event in {**scope.events, **scope.kept}.items() if event.changes}


def _empty_home(world: World) -> None:
    for place in (world.home, world.state):
        world.empty(place)


def _without_project(world: World) -> None:
    world.empty(world.home / layout.PROJECTS)
    for folder in (layout.SPOOL_JOBS, layout.SPOOL_LANES, layout.SPOOL_DECISIONS, layout.ATTEMPTS):
        world.empty(world.home / folder)


def _damage_branch(world: World) -> None:
    path = world.home / layout.branch(world.key, main_branch_id(world.key))
    path.write_bytes(path.read_bytes()[:-40])


def _stop(world: World) -> None:
    world.note_stop(f"{layout.scope_folder(world.key)}/branches")


def _paid(world: World) -> None:
    world.configure(paid=True)


def _used(_world: World, view: View) -> bool:
    return view.selected.get("project") == "experiment"


CASES = (
    Case("init", "init", (), _initialised, _empty_home, absent=True),
    Case("init of a project", "init", (), _initialised, _without_project),
    Case("remember", "remember", ("We ship on Fridays.",), _has("We ship on Fridays.")),
    Case("remember a key", "remember", ("make it so", "--key", "deploy command"), _has("make it so")),
    Case("remember for the user", "remember", ("I like tea.", "--user"), _has("I like tea.", "user/main")),
    Case("replace", "replace", ("package manager", "--text", "Use uv."), _has("Use uv.")),
    Case("forget", "forget", ("staging host",), _lacks("staging host"), again=frozenset({4}), frees=True),
    Case(
        "forget everywhere",
        "forget",
        ("The staging host is blue.", "--everywhere", "--yes"),
        _erased,
        again=frozenset({4}),
        frees=True,
    ),
    Case(
        "branch fork", "branch fork", ("second",), _has("make ship", "project/second"), again=frozenset({3})
    ),
    Case("branch use", "branch use", ("experiment",), _used),
    Case(
        "branch rename",
        "branch rename",
        ("experiment", "trial"),
        _has("make ship", "project/trial"),
        again=frozenset({3}),
    ),
    Case(
        "branch remove",
        "branch remove",
        ("experiment", "--yes"),
        lambda _, view: "project/experiment" not in view.entries,
        again=frozenset({4}),
        frees=True,
    ),
    Case("move", "move", ("staging host", "--to", "user"), _moved, again=frozenset({3, 4})),
    Case("merge", "merge", ("{depot}", "--yes"), _has("The depot has two doors."), again=frozenset({3})),
    Case("undo", "undo", ("2",), _lacks("staging host"), again=frozenset({3})),
    Case("export to a file", "export", ("-o", "{output}"), _exported),
    Case("edit", "edit", ("--yes",), _has("The staging host is green."), again=frozenset({3})),
    Case("import", "import", ("{notes}", "--yes"), _has("The queue is called mint."), again=frozenset({3})),
    Case("capture", "capture", ("{session}", "--yes"), _ended(2, "open")),
    Case("inject for a session", "inject", ("--session", "0192-new"), lambda *_: True),
    Case("recall", "recall", ("Which host is for staging?", "--mode", "fused"), lambda *_: True),
    Case("review", "review", ("--once",), _ended(0, "open")),
    Case("review by a paid reviewer", "review", ("--once",), _ended(0, "open"), _paid),
    Case("retention", "review", ("--once",), _expired, World.forget_retention, hourly=True),
    Case("worker", "worker", (), _ended(0, "open"), stop_after=("closed ", "stopped ")),
    Case("inbox", "inbox", (), _seen),
    Case("jobs retry", "jobs retry", ("{idle}",), _ended(2, "open"), again=frozenset({3})),
    Case("jobs drop", "jobs drop", ("{new}", "--yes"), _ended(1, "dropped"), again=frozenset({3})),
    Case(
        "budget reconcile",
        "budget reconcile",
        ("{attempt}", "--reason", "It is not on the bill."),
        _reconciled,
        again=frozenset({3}),
    ),
    Case("provider test", "provider test", ("--yes",), lambda *_: True, _paid),
    Case("verify and restore", "verify", ("--restore",), _readable, _damage_branch, unfit=True),
    Case("shadow rebuild", "shadow rebuild", (), lambda world, _: (world.home / SHADOW).exists()),
    Case("home adopt", "home adopt", ("--yes",), _adopted, World.as_copied, unfit=True),
    Case("home resume", "home resume", (), lambda world, _: not world.stopped(), _stop, unfit=True),
)


def clean_view(world: World, case: Case) -> View:
    """What stands after the command and a review, when nothing goes wrong."""
    world.restore()
    case.prepare(world)
    ended = world.run(*case.arguments(world), stop_after=case.stop_after)
    assert ended.status == 0, f"{case.name}: {ended.status}\n{ended.out}{ended.err}"
    assert case.done(world, view_of(world)), f"{case.name} is not done\n{ended.out}\n{view_of(world)}"
    for following in case.following(world):
        world.must(*following)
    return view_of(world)
