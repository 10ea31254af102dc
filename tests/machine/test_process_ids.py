"""Process ids that come again, that are not seen from here, and children that outlive a worker."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine.user import GATED, ROOT, TIMEOUT_SECONDS, User, ending, finish, kill

APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


def cannot() -> str | None:
    """Why process-id name spaces cannot be used here, or None."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return "process-id name spaces need Linux and unshare"
    probe = ["sh", "-c", "echo 100 > /proc/sys/kernel/ns_last_pid"]
    done = subprocess.run([*APART, *probe], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no process-id name space: {done.stderr.strip()}"


CANNOT = cannot()
apart = pytest.mark.skipif(CANNOT is not None, reason=CANNOT or "it can run here")


@apart
@pytest.mark.requirement("A-03", "Q-03", "Q-09", "X-05")
@pytest.mark.parametrize("kind", ["sleep", "worker"])
def test_the_lock_decides_and_not_the_process_id(tmp_path: Path, kind: str) -> None:
    """A worker is killed in its call, and its process id is another's at once, even another worker's. Its
    attempt is known to be an orphan: it becomes unknown, and a second attempt brings the job to its end.
    """
    command = [*APART, sys.executable, "-m", "tests.machine.same_pid", str(tmp_path / "user"), kind]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=4 * TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["attempts"] == ["unknown", "settled"]
    assert told["states"] == {told["job"]: "applied"}
    assert told["texts"] == ["Deploys start at 9."]
    senders = [process for _attempt, process in told["sent"]]
    assert len(senders) == 2
    assert senders[0] == told["pid"]
    assert (senders[1] == told["pid"]) == (kind == "worker")
    assert len(told["during"]["workers"]) == (1 if kind == "worker" else 0)


@apart
@pytest.mark.requirement("A-03", "Q-03", "X-05")
def test_a_living_owner_is_alive_whatever_its_process_id(tmp_path: Path) -> None:
    """A worker in another process-id name space has an id that nobody has here. It lives: nobody takes its
    lane over, and its answer counts.
    """
    user = User(tmp_path)
    (job,) = user.capture("Deploys start at 9.")
    with ending(worker := user.start("review", "--once", module=GATED, within=APART)):
        user.await_sends(1, worker)
        user("review", "--once", module=GATED)
        assert [process for _attempt, process in user.sent()] == [1]
        assert user.states()[job] != "applied"
        user.gate.touch()
        assert finish(worker).status == 0
    assert len(user.sent()) == 1
    assert user.states() == {job: "applied"}
    assert user.texts() == ["Deploys start at 9."]
    user.check()


@pytest.mark.requirement("A-03", "Q-09")
def test_a_child_that_outlives_its_worker_holds_nothing_of_it(tmp_path: Path) -> None:
    """Whatever a worker starts inherits no lock and no open file of the home, though it may inherit: after a
    SIGKILL of the worker its lane is free at once, while the child lives on.
    """
    user = User(tmp_path)
    (job,) = user.capture("Deploys start at 9.")
    left = tmp_path / "child"
    with ending(worker := user.start("review", "--once", module=GATED, env={"CHILD": str(left)})):
        user.await_sends(1, worker)
        kill(worker)
    child = int(left.read_text(encoding="ascii"))
    try:
        os.kill(child, 0)
        user.gate.touch()
        user("review", "--once", module=GATED)
        os.kill(child, 0)
        if Path("/proc/self/fd").is_dir():
            opened = {str(file.readlink()) for file in Path(f"/proc/{child}/fd").iterdir()}
            assert [name for name in opened if name.startswith(str(user.folder))] == []
    finally:
        os.kill(child, signal.SIGKILL)
    assert user.states() == {job: "applied"}
    assert len(user.sent()) == 2
    user.check()
