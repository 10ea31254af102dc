"""The Mailbox port on files: `mailbox/J` is the event, `J.kept` it past its job, `J.shown` who showed it."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.records import Records
from perdure.core.admission import Event, Outcome, OutcomeTombstone
from perdure.core.job import is_job_id
from perdure.core.mailbox import Shown, tells
from perdure.core.record import Record
from perdure.errors import Damaged, NewerVersion
from perdure.ports.mailbox import Told

KEPT, SHOWN = ".kept", ".shown"


class FileMailbox:
    """See `perdure.ports.mailbox.Mailbox`."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._no_news: set[str] = set()

    def unseen(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.unseen`. What is no news is read once per process."""
        names = self._names(project)
        jobs = [job for job in _jobs(names) if job + SHOWN not in names and job not in self._no_news]
        return tuple(told for told in self._read(jobs) if told.news and not told.seen)

    def all(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.all`."""
        return self._read(_jobs(self._names(project)))

    def told(self, job_id: str) -> Told | None:
        """See `Mailbox.told`. The tombstone is looked for before the copy, which is made before it."""
        found = self._standing(job_id)
        if found is None:
            return None
        event, news, kept = found
        seen = self._records.disk.info(layout.shown(job_id)) is not None
        return Told(event, news, kept, seen, self._shown(job_id) if seen else None)

    def show(self, shown: Shown) -> bool:
        """See `Mailbox.show`.

        Retention removes an event first and who showed it then. Whoever comes late elects first and looks for
        the event then, so that what was shown and has expired is not shown again.
        """
        job_id, path = shown.job_id, layout.shown(shown.job_id)
        found = self._standing(job_id)
        if found is None:
            return False
        self._records.settle(layout.kept(job_id) if found[2] else layout.event(job_id))
        try:
            _, mine = self._records.elect(path, shown)
        except (Damaged, NewerVersion):
            return False
        if mine and self._standing(job_id) is None:
            self._records.remove(path)
            return False
        return mine

    def keep(self, job_id: str) -> bool:
        """See `Mailbox.keep`."""
        found = self._standing(job_id)
        if found is None:
            return False
        self._records.derive(layout.kept(job_id), found[0])
        return True

    def kept(self, project: str) -> tuple[Told, ...]:
        """See `Mailbox.kept`."""
        names = self._names(project)
        return tuple(told for told in self._read(_endings(names, KEPT)) if told.kept)

    def remove(self, job_ids: tuple[str, ...]) -> int:
        """See `Mailbox.remove`."""
        gone = self._records.remove(*(layout.kept(job_id) for job_id in job_ids))
        over = [job_id for job_id in job_ids if self._standing(job_id) is None]
        return gone + self._records.remove(*(layout.shown(job_id) for job_id in over))

    def sweep(self, project: str) -> int:
        """See `Mailbox.sweep`."""
        names = self._names(project)
        alone = [job for job in _endings(names, SHOWN) if not {job, job + KEPT} & names]
        return self._records.remove(*(layout.shown(job_id) for job_id in alone))

    def _names(self, project: str) -> set[str]:
        return set(self._records.disk.names(f"{layout.scope_folder(project)}/mailbox"))

    def _read(self, job_ids: Iterable[str]) -> tuple[Told, ...]:
        found = [told for job_id in job_ids if (told := self.told(job_id)) is not None]
        return tuple(sorted(found, key=lambda told: (told.event.ended_ms, told.event.job_id)))

    def _standing(self, job_id: str) -> tuple[Event, bool, bool] | None:
        """The event, whether it is news, and whether it is the copy past its job."""
        try:
            path = layout.outcome(job_id)
            ended: Record | None = self._records.read(path, Outcome, OutcomeTombstone)
            event = self._event(layout.event(job_id), job_id) if isinstance(ended, Outcome) else None
            if event is not None and isinstance(ended, Outcome):
                return event, self._is_news(event, ended), False
            event = self._event(layout.kept(job_id), job_id)
        except (Damaged, NewerVersion):
            return None
        return (event, True, True) if event is not None else None

    def _event(self, path: str, job_id: str) -> Event | None:
        event = self._records.read(path, Event)
        return event if event is not None and event.job_id == job_id else None

    def _is_news(self, event: Event, ended: Outcome) -> bool:
        news = tells(event, ended)
        if not news:
            self._no_news.add(event.job_id)
        return news

    def _shown(self, job_id: str) -> Shown | None:
        try:
            return self._records.read(layout.shown(job_id), Shown)
        except (Damaged, NewerVersion):
            return None


def _jobs(names: set[str]) -> list[str]:
    return sorted({name for name in names if is_job_id(name)}.union(_endings(names, KEPT)))


def _endings(names: set[str], ending: str) -> list[str]:
    plain = (name.removesuffix(ending) for name in names if name.endswith(ending))
    return sorted(name for name in plain if is_job_id(name))
