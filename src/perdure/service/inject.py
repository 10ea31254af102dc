"""The injected block of a project: its active branch and the user-wide one, as they are on disk now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from perdure.core.inject import HEADINGS, Block, Item, render
from perdure.core.memory import MAIN, Branch, Entry, entry_digest, main_branch_id
from perdure.errors import Ambiguous, Damaged, NewerVersion, NotFound, PerdureError
from perdure.ports.clock import Clock
from perdure.ports.exposure import Exposures
from perdure.ports.memory import Memory
from perdure.service.facts import present_branch, row_named

USER_SCOPE = "user"

Relevance = Callable[[tuple[Branch, ...], str], Mapping[str, float]]
"""How much the entries of branches bear on a prompt: entry id -> 0 to 1."""


class Turn(NamedTuple):
    """The block of one turn, and the entries that it shows, as they were read."""

    block: Block
    shown: tuple[Entry, ...]


class InjectService:
    """Turn start: load, render, budget. Nothing is kept between turns (I-01)."""

    def __init__(
        self,
        memory: Memory,
        exposures: Exposures,
        clock: Clock,
        *,
        chars_max: int,
        tokens_max: int,
        relevance: Relevance | None = None,
    ) -> None:
        self._memory, self._exposures, self._clock = memory, exposures, clock
        self._chars_max, self._tokens_max, self._relevance = chars_max, tokens_max, relevance

    def block(self, project: str, branch_id: str | None = None, *, prompt: str | None = None) -> Block:
        """The block for a project's branch, by default the selected one. Shows, and counts nothing.

        A branch that cannot be read is left out and named in the block's `problem`; main never stands in for
        another branch. With a prompt, what bears on it goes first (I-02).
        """
        return self._render(*self._branches(project, branch_id), prompt)

    def turn_start(
        self, project: str, *, session: str, branch_id: str | None = None, prompt: str | None = None
    ) -> Block:
        """The block that a host injects into a session now, recorded as exposure (I-04)."""
        turn = self.turn(project, branch_id, prompt=prompt)
        self.expose(project, session, turn)
        return turn.block

    def turn(self, project: str, branch_id: str | None = None, *, prompt: str | None = None) -> Turn:
        """The same, not recorded yet: a host that waits is answered first, and `expose` comes after it."""
        user, own, problems = self._branches(project, branch_id)
        block = self._render(user, own, problems, prompt)
        shown = set(block.included)
        entries = (
            entry
            for branch in (user, own)
            if branch is not None
            for entry in branch.entries
            if entry.entry_id in shown
        )
        return Turn(block, tuple(entries))

    def expose(self, project: str, session: str, turn: Turn) -> None:
        """Record what a session was given (I-04)."""
        if turn.shown:
            versions = {entry.entry_id: entry_digest(entry) for entry in turn.shown}
            self._exposures.record(project, session, versions, now_ms=self._clock.now_ms())

    def _branches(
        self, project: str, branch_id: str | None
    ) -> tuple[Branch | None, Branch | None, tuple[str, ...]]:
        """The user-wide branch, the project's, and why one of them is missing."""
        problems: list[str] = []
        found: list[Branch | None] = []
        for scope, wanted in ((USER_SCOPE, main_branch_id(USER_SCOPE)), (project, branch_id)):
            try:
                name = wanted or self._selected(scope)
                found.append(present_branch(self._memory, scope, name))
            except (Damaged, NewerVersion, NotFound, Ambiguous) as error:
                found.append(None)
                problems.append(str(error))
        return found[0], found[1], tuple(problems)

    def _render(
        self, user: Branch | None, project: Branch | None, problems: tuple[str, ...], prompt: str | None
    ) -> Block:
        items = [*_items("user", user), *_items("project", project)]
        block = render(items, chars_max=self._chars_max, tokens_max=self._tokens_max)
        if prompt is not None and block.left_out:  # where all has room, what bears on the prompt has it too
            worth, problem = self._worth(tuple(b for b in (project, user) if b is not None), items, prompt)
            problems += (problem,) if problem else ()
            block = render(items, chars_max=self._chars_max, tokens_max=self._tokens_max, worth=worth)
        block.problem = " ".join(problems)
        return block

    def _worth(
        self, branches: tuple[Branch, ...], items: list[Item], prompt: str
    ) -> tuple[dict[str, float] | None, str]:
        """What each item is worth to this prompt, or why only importance can decide."""
        if self._relevance is None:
            return None, ""
        from perdure.recall.select import worth

        try:
            relevance = self._relevance(branches, prompt)
        except PerdureError as error:
            return None, str(error)
        return {
            item.entry_id: worth(item.importance, relevance.get(item.entry_id, 0.0)) for item in items
        }, ""

    def _selected(self, project: str) -> str:
        name = self._memory.selected(project) or MAIN
        if name == MAIN:
            return main_branch_id(project)
        return row_named(self._memory.branches(project), name).branch_id


def _items(heading: str, branch: Branch | None) -> list[Item]:
    if branch is None:
        return []
    return [
        Item(
            HEADINGS[heading], e.entry_id, e.text, key=e.key, importance=e.importance, updated_ms=e.updated_ms
        )
        for e in branch.entries
    ]
