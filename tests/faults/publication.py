"""Faults in how a record is made durable: syncs left out, files written in place, syncs tried again."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.authority.filesystem import ballast, layout
from perdure.authority.filesystem.attempts import FileAttempts
from perdure.authority.filesystem.disk import Temporary, split
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.stops import Stops
from perdure.core.attempt import Fate
from perdure.core.job import Job
from perdure.core.record import seal
from perdure.errors import DiskFailed, DiskFull
from perdure.ports.queue import Accepted
from perdure.service.curate import Advance
from perdure.service.work import Worker
from tests.faults import bad_disks
from tests.faults.instruments import Check, Crash
from tests.faults.row import Fault, Patch
from tests.simulated_view import DiskView


def no_file_sync(patch: pytest.MonkeyPatch) -> None:
    """Leave the sync of every file out."""
    real = DiskView._sync

    def sync(self: DiskView, operation: Any, path: str, *effects: Any) -> None:
        if operation != "sync_file":
            real(self, operation, path, *effects)

    patch.setattr(DiskView, "_sync", sync)


def _no_folder_sync(part: str) -> Patch:
    def make(patch: pytest.MonkeyPatch) -> None:
        real = DiskView.sync_folder

        def sync(self: DiskView, path: str) -> None:
            if part not in f"{path}/":
                real(self, path)

        patch.setattr(DiskView, "sync_folder", sync)

    return make


def write_in_place(patch: pytest.MonkeyPatch) -> None:
    """Overwrite a record where it stands instead of replacing it by a synced file."""

    def replace(self: Records, path: str, record: Any) -> None:
        self.disk.note(path, seal(record))
        self.disk.sync_folder(split(path)[0])

    patch.setattr(Records, "replace", replace)


def lazy_accept(patch: pytest.MonkeyPatch) -> None:
    """Acknowledge a job before the folder that holds its name is synced."""

    def accept(self: FileQueue, job: Job) -> Accepted:
        path = layout.job(job.job_id)
        with self._records.disk.temporary(seal(job)) as temporary:
            temporary.sync()
            return Accepted(job.job_id, temporary.link(path))

    patch.setattr(FileQueue, "accept", accept)


def send_before_fate(patch: pytest.MonkeyPatch) -> None:
    """Send before the folder that holds the name of `fate` is synced."""

    def decide_fate(self: FileAttempts, fate: Fate) -> bool:
        path = layout.attempt(fate.attempt_id, "fate")
        with self._records.disk.temporary(seal(fate)) as temporary:
            temporary.sync()
            return temporary.link(path)

    patch.setattr(FileAttempts, "decide_fate", decide_fate)


def _found_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Records, "settle", lambda _self, _path: None)
    patch.setattr(Records, "settle_all", lambda _self, _folder, _names: None)
    patch.setattr(Records, "settle_content", lambda _self, _path, _data: None)


def _sync_again(patch: pytest.MonkeyPatch) -> None:
    def sync_file(_self: Records, temporary: Temporary, _path: str) -> None:
        try:
            temporary.sync()
        except DiskFailed:
            temporary.sync()

    patch.setattr(Records, "_sync_file", sync_file)


def _sync_folder_again(patch: pytest.MonkeyPatch) -> None:
    def sync_folder(self: Records, folder: str) -> None:
        try:
            self.disk.sync_folder(folder)
        except DiskFailed:
            self.disk.sync_folder(folder)

    patch.setattr(Records, "sync_folder", sync_folder)


def _no_marker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stops, "note", lambda *_: "")


def _full_is_failed(patch: pytest.MonkeyPatch) -> None:
    real = Records._publish

    def publish(self: Records, path: str, data: bytes) -> bool:
        try:
            return real(self, path, data)
        except DiskFull:
            self.stops.note("file", path)
            raise

    patch.setattr(Records, "_publish", publish)


def _worker_goes_on(patch: pytest.MonkeyPatch) -> None:
    real = Worker._review

    def review(self: Worker, job_id: str, worker: str) -> Advance | None:
        try:
            return real(self, job_id, worker)
        except DiskFailed as error:
            return Advance(job_id, "waiting", error.message, blocks_lane=True)

    patch.setattr(Worker, "_review", review)


def _resume_only_forgets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Stops, "_do", lambda *_: None)


def _no_ballast(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ballast, "stock", lambda _records: None)


ROWS = (
    Fault(
        "drop-the-file-sync",
        "publication",
        "a record's bytes are not synced before its name is made",
        no_file_sync,
        Crash("remember", book=True),
        "V-01",
    ),
    *(
        Fault(
            f"drop-the-folder-sync-of-{what}",
            "publication",
            f"the names in the folder of {what} are not synced",
            _no_folder_sync(part),
            Crash(scenario, kills=kills, book=book),
            check,
        )
        for what, part, scenario, kills, book, check in (
            ("jobs", "spool/jobs/", "capture", 0, False, "G-01"),
            ("attempts", "attempts/2", "review", 0, False, "A-02"),
            ("decisions", "spool/decisions/", "review", 0, False, "D-02"),
            ("branches", "/branches/", "remember", 0, True, "V-13"),
            ("revisions", "/revisions/", "remember", 0, True, "V-13"),
            ("admissions", "/admissions/", "remember", 0, True, "V-13"),
            ("receipts", "/receipts/", "review", 4, True, "G-01"),
            ("outcomes", "/outcomes/", "review", 4, True, "V-09"),
        )
    ),
    Fault(
        "write-in-place",
        "publication",
        "a branch is overwritten where it stands",
        write_in_place,
        Crash("remember", book=True),
        "V-01",
    ),
    Fault(
        "acknowledge-before-the-folder-sync",
        "publication",
        "a job is acknowledged while its name may still vanish",
        lazy_accept,
        Crash("capture"),
        "G-01",
    ),
    Fault(
        "send-before-the-fate-is-durable",
        "order",
        "the request goes out while its dispatched record may still vanish",
        send_before_fate,
        Crash("review"),
        "A-02",
    ),
    Fault(
        "act-on-a-found-record-without-syncing-its-folder",
        "3",
        "a record that another process published is taken for durable",
        _found_is_durable,
        Crash("remember", kills=8, book=True),
        "V-13",
    ),
    Fault(
        "retry-a-failed-sync",
        "7",
        "a sync of a file that failed is tried again, and its success believed",
        _sync_again,
        Check(bad_disks.failed_sync_of_a_file),
        "X-05 a failed sync is never acknowledged",
    ),
    Fault(
        "retry-a-failed-sync-of-a-folder",
        "7",
        "a sync of a folder that failed is tried again, and its success believed",
        _sync_folder_again,
        Check(bad_disks.failed_sync_of_a_folder),
        "X-05 a failed sync is never acknowledged",
    ),
    Fault(
        "a-failed-sync-stops-nobody-else",
        "7",
        "no marker tells the other writers of the home",
        _no_marker,
        Check(bad_disks.failed_sync_elsewhere),
        "X-05 a failed sync stops every writer",
    ),
    Fault(
        "a-worker-outlives-its-disk",
        "7",
        "a worker whose disk failed stays alive, and keeps its claims",
        _worker_goes_on,
        Check(bad_disks.failed_sync_of_a_worker),
        "X-05 a worker whose disk failed ends",
    ),
    Fault(
        "resume-without-writing-again",
        "7",
        "the marker goes though what it was about was not done anew",
        _resume_only_forgets,
        Check(bad_disks.resumed_writing),
        "X-05 what is found after a resume is durable",
    ),
    Fault(
        "a-full-disk-stops-writing",
        "7",
        "a disk that is full is taken for one that failed",
        _full_is_failed,
        Check(bad_disks.full_disk),
        "X-05 a full disk only refuses",
    ),
    Fault(
        "no-ballast",
        "7",
        "nothing is kept back for removals",
        _no_ballast,
        Check(bad_disks.forgetting_on_a_full_disk),
        "X-05 a full disk lets the user forget",
    ),
)
