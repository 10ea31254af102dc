"""The reference authority's mailbox: see `perdure.authority.memory`."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.authority.memory_store import Store
from perdure.core.admission import Event, Outcome
from perdure.core.job import lane_of
from perdure.core.mailbox import Shown, tells
from perdure.core.record import Record
from perdure.ports.mailbox import Told


class MemoryMailbox:
    """See `perdure.ports.mailbox.Mailbox`. Each call is one step, so that nobody comes in between."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def unseen(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.unseen`."""
        return tuple(told for told in self.all(project) if told.news and not told.seen)

    def all(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.all`."""
        with self._store.one_step:
            return self._read({*self._store.names("event/"), *self._store.names("kept/")}, project)

    def told(self, job_id: str) -> Told | None:
        """See `Mailbox.told`."""
        with self._store.one_step:
            standing = self._standing(job_id)
            if standing is None:
                return None
            event, news, kept = standing
            name = f"shown/{job_id}"
            shown = self._readable(name)
            seen = name in self._store.records
            return Told(event, news, kept, seen, shown if isinstance(shown, Shown) else None)

    def show(self, shown: Shown) -> bool:
        """See `Mailbox.show`."""
        with self._store.one_step:
            standing = self._standing(shown.job_id)
            return standing is not None and self._store.elect(f"shown/{shown.job_id}", shown)

    def keep(self, job_id: str) -> bool:
        """See `Mailbox.keep`."""
        with self._store.one_step:
            standing = self._standing(job_id)
            if standing is not None:
                self._store.create(f"kept/{job_id}", standing[0])
            return standing is not None

    def kept(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.kept`."""
        with self._store.one_step:
            return tuple(told for told in self._read(self._store.names("kept/"), project) if told.kept)

    def remove(self, job_ids: tuple[str, ...]) -> int:
        """See `Mailbox.remove`."""
        with self._store.one_step:
            gone = sum(self._drop(f"kept/{job_id}") for job_id in job_ids)
            over = [job_id for job_id in job_ids if self._standing(job_id) is None]
            return gone + sum(self._drop(f"shown/{job_id}") for job_id in over)

    def sweep(self, project: str) -> int:
        """See `Mailbox.sweep`."""
        with self._store.one_step:
            names = [name for name in self._store.names("shown/") if lane_of(name).project == project]
            held = self._store.records
            alone = [name for name in names if f"event/{name}" not in held and f"kept/{name}" not in held]
            return sum(self._drop(f"shown/{name}") for name in alone)

    def _read(self, job_ids: Iterable[str], project: str) -> tuple[Told, ...]:
        mine = (job_id for job_id in job_ids if lane_of(job_id).project == project)
        found = [told for job_id in mine if (told := self.told(job_id)) is not None]
        return tuple(sorted(found, key=lambda told: (told.event.ended_ms, told.event.job_id)))

    def _standing(self, job_id: str) -> tuple[Event, bool, bool] | None:
        ended, event = self._readable(f"outcome/{job_id}"), self._readable(f"event/{job_id}")
        if isinstance(ended, Outcome) and isinstance(event, Event):
            return event, tells(event, ended), False
        event = self._readable(f"kept/{job_id}")
        return (event, True, True) if isinstance(event, Event) else None

    def _readable(self, name: str) -> Record | None:
        return None if name in self._store.damaged else self._store.records.get(name)

    def _drop(self, name: str) -> bool:
        return self._store.records.pop(name, None) is not None
