"""The rules of verify about the mailbox: events that stand past their jobs, and who showed them."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.core.admission import OutcomeTombstone
from perdure.ports.inspect import ScopeRecords, Snapshot
from perdure.service.violation import Violation, place, unread_at


def mailbox(snapshot: Snapshot) -> Iterator[Violation]:
    """A kept event is the event of a job that ended; only an event is shown, until it expires (F-03)."""
    for scope in snapshot.scopes.values():
        yield from _kept(scope)
        yield from _shown(snapshot, scope)


def _kept(scope: ScopeRecords) -> Iterator[Violation]:
    for name, told in scope.kept.items():
        path = f"{place(scope.scope)}/mailbox/{name}.kept"
        ended = scope.outcomes.get(name)
        if told.job_id != name:
            yield Violation("V-18", "name", path, f"the event of {told.job_id[:90]}", f"that of {name[:90]}")
        elif ended is None:
            yield Violation("V-18", "order", path, "a kept event without an outcome", "outcome first")
        elif ended.state != told.state or scope.events.get(name, told) != told:
            yield Violation("V-18", "derived", path, "another content", "the job's event")


def _shown(snapshot: Snapshot, scope: ScopeRecords) -> Iterator[Violation]:
    for name, shown in scope.shown.items():
        event = f"{place(scope.scope)}/mailbox/{name}"
        if shown.job_id != name:
            found = f"the showing of {shown.job_id[:90]}"
            yield Violation("V-18", "name", f"{event}.shown", found, f"that of {name[:90]}")
        elif not (
            name in scope.events
            or name in scope.kept
            or isinstance(scope.outcomes.get(name), OutcomeTombstone)
            or any(unread_at(snapshot, path) for path in (event, f"{event}.kept"))
        ):
            yield Violation("V-18", "order", f"{event}.shown", "shown without an event", "event first")
