"""Export, edit and import: planned on one digest, shown as a diff, applied by compare-and-swap (M-14)."""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.core.exchange import Document, EditPlan, Item, plan_additions, plan_whole
from perdure.core.exchange_json import from_json, to_json
from perdure.core.exchange_markdown import from_markdown, to_markdown
from perdure.core.memory import Branch, Edit, EditRefused, Planned, check_capacity, plan
from perdure.errors import CapacityRefused, StaleBranch
from perdure.ports.clock import Clock, Ids
from perdure.ports.memory import Memory
from perdure.service.remember import MemoryService, Written, refusal, refuse_forgotten
from perdure.service.transact import finish_begun

Format = Literal["markdown", "json"]
_WRITERS = {"markdown": to_markdown, "json": to_json}
_READERS = {"markdown": from_markdown, "json": from_json}


class FilePlan(msgspec.Struct, frozen=True):
    """What a file would change. `duplicates` are items that the branch holds already; `foreign` says that
    the file named no base, so that it only adds.
    """

    base: Branch
    planned: Planned
    edits: tuple[Edit, ...]
    duplicates: tuple[Item, ...]
    foreign: bool


class ExchangeService:
    """Files in and out of one scope's branches."""

    def __init__(self, memory: Memory, scope: str, *, clock: Clock, ids: Ids) -> None:
        self._memory, self._scope, self._clock, self._ids = memory, scope, clock, ids
        self._service = MemoryService(memory, scope, clock=clock, ids=ids)

    def export(self, form: Format, branch: Branch) -> str:
        """The branch as text, ready to be edited and imported again."""
        return _WRITERS[form](branch)

    def to_edit(self, branch: str | None) -> Branch:
        """The branch to begin an edit on: what a crash left begun is finished first."""
        finish_begun(self._memory, self._scope)
        return self._service.branch(branch)

    def plan(
        self,
        text: str,
        *,
        form: Format,
        branch: str | None = None,
        base_digest: str | None = None,
        relearn: bool = False,
        add: bool = False,
    ) -> FilePlan:
        """Plan what a file says, all or nothing; nothing is written but what a crash left begun.

        The branch is the named one, else the one that the file names with its base, else the selected one.
        `base_digest` stands in for a base that the file has lost; `add` takes the file as one without a base,
        as of another memory. Raises StaleBranch when the branch is no
        longer the base, UsageError and TextRefused by line, CapacityRefused, and Refused for forgotten text.
        """
        document = _READERS[form](text)
        finish_begun(self._memory, self._scope)
        base = None if add else base_digest or document.base_digest
        current = self._service.branch(branch or (document.branch if base is not None else None))
        edits = self._edits(document, current, base)
        now_ms = self._clock.now_ms()
        try:
            planned = plan(current, edits.edits, now_ms=now_ms)
            check_capacity(current, planned.branch)
        except EditRefused as refused:
            if refused.code in {"capacity", "too-long"}:
                advice = "Nothing was changed. Shorten the file."
                raise CapacityRefused(f"{refused.message}.", advice=advice) from refused
            raise refusal(refused, advice="Nothing was changed.") from refused
        if not relearn:
            with self._memory.hold(self._scope) as held:
                refuse_forgotten(held, edits.edits)
        return FilePlan(current, planned, edits.edits, edits.duplicates, base is None)

    def apply(self, planned: FilePlan, *, cause: Literal["edit", "import"], relearn: bool = False) -> Written:
        """Apply a plan by compare-and-swap. Raises StaleBranch when the branch changed since."""
        return self._service.edit(
            planned.edits,
            planned_on=planned.base.digest,
            cause=cause,
            branch=planned.base.name,
            relearn=relearn,
        )

    def _edits(self, document: Document, current: Branch, base: str | None) -> EditPlan:
        def new_id() -> str:
            return self._ids.token(16)

        if base is None:
            return plan_additions(document, current, new_id)
        if base != current.digest:
            msg = f"branch {current.name!r}: the file was made from {base[:12]}, found {current.digest[:12]}."
            raise StaleBranch(msg, advice="Nothing was changed. Export it again and repeat the edit.")
        return plan_whole(document, current, new_id)
