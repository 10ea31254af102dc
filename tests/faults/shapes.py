"""Cases of branches that are removed and made again (rule 15)."""

from __future__ import annotations

from contextlib import suppress

from perdure.service.capture import CaptureService
from tests.crash.checks import need
from tests.fakes import PROJECT, SESSION, turns
from tests.faults.stages import PORT, before_operation, home, process
from tests.services import branch_service
from tests.simulated_disk import Crashed

_NAME = "trial"


def forked_again_under_the_same_name() -> None:
    """A branch with a job is removed by one who dies before the job has ended; its name is used again."""
    disk = home()
    user = process(disk, "user")
    first = user.memory_service().fork(_NAME)
    capture = CaptureService(user.coverage, clock=user.clock, release="1")
    evidence = turns(PORT)
    capture.capture(host="pi", session=SESSION, turns=evidence, project=PROJECT, branch_id=first.branch_id)
    before_operation(disk, "link", ".done", lambda: disk.kill("user"))
    with suppress(Crashed):
        branch_service(user).remove(_NAME)
    worker = process(disk, "worker")
    worker.memory_service().fork(_NAME)
    worker.drain()
    texts = [entry.text for entry in worker.memory_service().branch(_NAME).entries]
    ended = [getattr(worker.queue.outcome(job_id), "state", "") for job_id in worker.queue.queued()]
    sends = worker.provider.sends
    clean = not texts and ended == ["dropped"] and not sends
    need("M-02 a new branch gets nothing of a removed one's jobs", holds=clean, found=(ended, sends))
