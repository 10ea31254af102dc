"""The injected block of a project: its active branch and the user-wide one, as they are on disk now."""

from __future__ import annotations

from perdure.core.inject import Block, Item, render
from perdure.core.memory import MAIN, Branch, main_branch_id
from perdure.ports.memory import Memory

USER_SCOPE = "user"
HEADINGS = {"user": "For this user", "project": "For this project"}


class InjectService:
    """Turn start: load, render, budget. Nothing is kept between turns (I-01)."""

    def __init__(self, memory: Memory, *, chars_max: int, tokens_max: int) -> None:
        self._memory, self._chars_max, self._tokens_max = memory, chars_max, tokens_max

    def block(self, project: str, branch_id: str | None = None) -> Block:
        """The block for a project's branch, by default the selected one."""
        items = _items("user", self._memory.branch(USER_SCOPE, main_branch_id(USER_SCOPE)))
        chosen = branch_id or self._selected(project)
        items += _items("project", self._memory.branch(project, chosen))
        return render(items, chars_max=self._chars_max, tokens_max=self._tokens_max)

    def _selected(self, project: str) -> str:
        name = self._memory.selected(project) or MAIN
        if name == MAIN:
            return main_branch_id(project)
        rows = self._memory.branches(project)
        return next((row.branch_id for row in rows if row.name == name), main_branch_id(project))


def _items(heading: str, branch: Branch | None) -> list[Item]:
    if branch is None:
        return []
    return [
        Item(
            HEADINGS[heading], e.entry_id, e.text, key=e.key, importance=e.importance, updated_ms=e.updated_ms
        )
        for e in branch.entries
    ]
