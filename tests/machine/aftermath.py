"""A home after many kills and one clean drain, and whether every promise made before a kill was kept.

with killed(folder, seed=1, kills=200, seconds=45) as after:
    wrong = after.wrong()
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec

from perdure.app import App
from perdure.authority.filesystem import layout
from perdure.authority.filesystem.inspect import load_snapshot
from perdure.core.admission import Revision
from perdure.service.invariants import check_invariants, check_rest
from tests.fakes import PROJECT
from tests.machine.killing import BRANCH, CountingProvider, Noted, Story, note

DRAIN_SECONDS = 60.0
CONFIG = """
[retries]
unknown_seconds_first = 0
quiet_branch_seconds = 0

[limits]
calls = 1_000_000
calls_per_hour = 1_000_000
tokens = 1_000_000_000_000
usd = 1_000_000.0
"""


class Aftermath:
    """What was promised, and what stands. Each check lists what is wrong; none is what is expected."""

    def __init__(self, app: App, story: Story, sends: list[str]) -> None:
        self.app, self.story, self.sends = app, story, sends

    def wrong(self) -> list[str]:
        """Everything."""
        return [
            *(f"a process ended by itself with status {status}" for status in self.story.failures),
            *self.lost_jobs(),
            *self.lost_writes(),
            *self.miscounted_calls(),
            *self.broken_rules(),
            *self.left_behind(),
        ]

    def lost_jobs(self) -> Iterator[str]:
        """Accepted jobs without an outcome, and jobs without an event of it."""
        closed = self.app.queue.closed(PROJECT)
        yield from (
            f"job {job} was accepted and has no outcome" for job in self.story.accepted if job not in closed
        )
        queued, announced = set(self.app.queue.queued()), self.app.queue.announced(PROJECT)
        yield from (f"job {job} is not closed and announced" for job in queued ^ (closed & announced))

    def lost_writes(self) -> Iterator[str]:
        """Acknowledged writes without exactly their own revision, and branches that lack their effect."""
        texts = {entry.key: entry.text for entry in self.app.memory_service(PROJECT).branch().entries}
        last: dict[int, int] = {}
        for noted in self.story.noted:
            yield from self._lost_write(noted)
            last[noted.life] = max(noted.number, last.get(noted.life, 0))
        for life, number in last.items():
            if texts[f"note {life}"] not in {note(life, number), note(life, number + 1)}:
                yield f"writer {life} stored {number}, the branch says {texts[f'note {life}']!r}"

    def _lost_write(self, noted: Noted) -> Iterator[str]:
        revision = self.app.memory.revision(PROJECT, BRANCH, noted.seq)
        changes = revision.changes if isinstance(revision, Revision) else ()
        if [change.after.text for change in changes if change.after] != [note(noted.life, noted.number)]:
            yield f"{noted} was acknowledged, its revision says {changes}"

    def miscounted_calls(self) -> Iterator[str]:
        """Requests that went out twice, that no attempt stands for, or that the budget does not count."""
        attempts = {attempt.attempt_id: attempt for attempt in self.app.attempts.all()}
        for name, count in Counter(self.sends).items():
            found = attempts.get(name)
            if count != 1 or found is None or found.state not in {"settled", "unknown"}:
                yield f"attempt {name}: sent {count} times, {found.state if found else 'not recorded'}"
        yield from (f"attempt {a.attempt_id} is {a.state}" for a in attempts.values() if a.open)
        days = {name[:8] for name in attempts}
        counted = max((self.app.attempts.charge("scripted", day).total.calls for day in days), default=0)
        if len(days) == 1 and counted < len(self.sends):
            yield f"{len(self.sends)} requests, {counted} calls in the budget"

    def broken_rules(self) -> Iterator[str]:
        """What `perdure verify` finds on every record, and what is left to do."""
        snapshot = load_snapshot(self.app.records)
        yield from (str(found) for found in (*check_invariants(snapshot), *check_rest(snapshot)))

    def left_behind(self) -> Iterator[str]:
        """Temporaries that a sweep leaves, workers that count as alive, and locks that are held."""
        disk = self.app.records.disk
        disk.sweep_temporaries()
        yield from (f"temporary {name}" for name in disk.names("tmp"))
        yield from (f"worker {name}" for name in self.app.claims.workers())
        scope = layout.scope_folder(PROJECT)
        for domain in (layout.BUDGETS, scope, f"{scope}/coverage"):
            held = disk.try_lock(domain)
            if held is None:
                yield f"{domain} is locked"
            else:
                held.release()


@contextlib.contextmanager
def killed(folder: Path, *, seed: int, kills: int, seconds: float) -> Iterator[Aftermath]:
    """Make a home in a folder, kill so many processes at work on it, and drain what is left."""
    sends, story = folder / "sends", folder / "story"
    variables = {
        "PERDURE_HOME": str(folder / "home"),
        "PERDURE_STATE": str(folder / "state"),
        "SENDS": str(sends),
        "STORY": str(story),
    }
    with mock.patch.dict(os.environ, variables):
        app = App.open(create=True)
        app.home.ensure_scope(PROJECT)
        app.close()
        (folder / "home" / layout.CONFIG).write_text(CONFIG)
        _kill(seed, kills, seconds)
        app = App.open()
        try:
            app.begin_writing()
            _drain(app)
            told = msgspec.json.decode(story.read_bytes(), type=Story)
            yield Aftermath(app, told, sends.read_text().split() if sends.exists() else [])
        finally:
            app.close()


def _kill(seed: int, kills: int, seconds: float) -> None:
    command = [sys.executable, "-m", "tests.machine.killing", str(seed), str(kills), str(seconds)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, cwd=root, env=environment, start_new_session=True) as driver:
        try:
            if driver.wait(timeout=seconds + 60) != 0:
                msg = f"the driver of kills ended with status {driver.returncode}"
                raise RuntimeError(msg)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)


def _drain(app: App) -> None:
    until = time.monotonic() + DRAIN_SECONDS
    provider = CountingProvider()
    while waiting := app.worker(provider=provider).drain().waiting:
        if time.monotonic() > until:
            msg = f"jobs still wait: { ({advance.reason for advance in waiting.values()}) }"
            raise TimeoutError(msg)
        time.sleep(0.05)
