"""Promises that the nearest peer in protocol made and broke, each done to Perdure as it was done there."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from perdure.core.budget import Limits
from perdure.ports.provider import Answered, Failed, Reply, ReviewRequest
from tests.e2e.command_line import Perdure, process
from tests.e2e.planted import run_quietly
from tests.e2e.troubles import DAY, drained, garbage, no_credentials, outage, rig_of, states
from tests.fakes import HOLD, PROJECT, USED, ScriptedProvider, finding_nothing, turns
from tests.services import broken, jobs_service, retention
from tests.session_files import PiSession


@pytest.mark.requirement("Q-12", "G-01")
def test_an_outage_of_a_month_ends_nothing() -> None:
    """A 35-second outage ended accepted jobs for ever, and their evidence then expired: here a month of it,
    with retention running, ends nothing, and the first good answer does.
    """
    provider = ScriptedProvider(otherwise=outage)
    rig = rig_of(provider)
    rig.capture(turns("The port is 4100."))
    for _ in range(120):
        rig.drain()
        retention(rig).run()
        rig.clock.advance(DAY / 4)
    assert states(rig)[0] in {"waiting", "queued"}
    assert sum(provider.sends.values()) <= 121
    rig.provider = ScriptedProvider()
    rig.drain()
    assert states(rig) == ["applied"]
    assert broken(rig) == ()


@pytest.mark.requirement("Q-12", "Q-04", "A-08")
def test_missing_credentials_use_up_no_attempt() -> None:
    """Two credential failures made the first 503 final: here twenty of each, then invalid output still has
    its full number of corrections.
    """
    provider = ScriptedProvider([no_credentials, no_credentials, outage] * 20 + [garbage, garbage])
    rig = rig_of(provider)
    rig.capture(turns("The port is 4100."))
    assert drained(rig, rounds=80) < 80
    assert states(rig) == ["applied"]
    assert sum(provider.sends.values()) == 63


@pytest.mark.requirement("B-02")
def test_a_hold_that_can_never_fit_says_so() -> None:
    """A hold above the daily limit deferred for ever and nothing said so: here the reason names both
    figures and the setting, and nothing is sent.
    """
    limits = Limits(calls_per_day=10, tokens_per_day=HOLD.input_tokens - 1, cost_nanodollars_per_day=10**12)
    provider = ScriptedProvider()
    rig = rig_of(provider, limits)
    rig.capture(turns("The port is 4100."))
    (waiting,) = rig.drain().waiting.values()
    assert "can never fit" in waiting.reason
    assert "999" in waiting.reason
    assert "limits.tokens" in waiting.reason
    assert provider.sends == {}


@pytest.mark.requirement("Q-11", "G-03")
def test_five_jobs_from_one_snapshot_cost_five_calls() -> None:
    """Five jobs captured from one state of memory were five paid calls, one applied and four dropped: here
    all five are applied with five calls, since each is shown the memory of its own turn.
    """

    def adding(request: ReviewRequest) -> Reply:
        operation = {
            "op": "add",
            "text": request.evidence[0].text[:60],
            "evidence": [request.evidence[0].line_id],
            "rationale": "r",
        }
        return Answered(json.dumps({"operations": [operation]}), USED, None)

    provider = ScriptedProvider(otherwise=adding)
    rig = rig_of(provider)
    texts = [f"Service {number} listens on port 41{number:02}." for number in range(60)]
    assert len(rig.capture(turns(*texts)).jobs) == 5
    rig.drain()
    assert states(rig) == ["applied"] * 5
    assert sum(provider.sends.values()) == 5


@pytest.mark.requirement("E-09")
def test_what_redaction_makes_longer_still_fits() -> None:
    """A window that is full before redaction, with 800 short secrets in it; a stray tag in a user's text; all
    turns become jobs.
    """
    lines = "".join(f"password: Zx{number:03}!q\n" for number in range(800))
    found = rig_of(ScriptedProvider(otherwise=finding_nothing))
    done = found.capture(turns(lines * 3, "</evidence></perdure-memory> stray", "Last."))
    assert (done.turns_accepted, done.uncovered_turns, done.problems) == (3, (), ())
    found.drain()
    assert set(states(found)) == {"no-op"}


@pytest.mark.requirement("Q-04")
def test_words_of_an_error_never_decide_its_class() -> None:
    """A provider error that contained "forbidden" was taken for missing credentials: here the class is what
    the adapter says by status, whatever the words.
    """

    def wordy(_request: ReviewRequest) -> Reply:
        return Failed("availability", "http 503 forbidden unauthorized api key missing", None, None)

    rig = rig_of(ScriptedProvider([wordy], otherwise=finding_nothing))
    rig.capture(turns("The port is 4100."))
    rig.drain()
    (row,) = jobs_service(rig).list(PROJECT)
    assert "not available" in row.reason
    rig.clock.advance(60)
    rig.drain()
    assert states(rig) == ["no-op"]


@pytest.mark.requirement("Q-13", "E-04", "F-01")
def test_a_file_with_another_mode_or_a_bad_heartbeat_stops_nobody(perdure: Perdure, tmp_path: Path) -> None:
    """One mailbox file of mode 0644 stopped a worker for all projects, one bad heartbeat the doctor: here
    both are named by verify or ignored, and reviews go on.
    """
    session = PiSession()
    session.turn("We always run café first: e\u0301.", "Noted.")
    perdure("capture", str(session.write(tmp_path)))
    perdure("review", "--once")
    for path in [path for path in perdure.home.rglob("*") if path.is_file() and "mailbox" in path.parts]:
        path.chmod(0o644)
    (perdure.home / "run/beats" / ("b" * 32)).write_bytes(b"\xff{")
    (perdure.home / "run/workers" / ("b" * 32)).write_bytes(b"\xff{")
    session.turn("Please always use tabs here.", "Noted.")
    perdure("capture", str(session.write(tmp_path)))
    perdure("review", "--once")
    assert len(perdure.texts()) == 2
    assert "mailbox" in run_quietly(perdure, "verify").out
    assert perdure("status").status == 0


@pytest.mark.requirement("Q-09")
def test_a_worker_that_stopped_in_order_leaves_nothing_to_wait_for(perdure: Perdure, tmp_path: Path) -> None:
    """A graceful stop kept its claim until the lease ended: here the next worker goes on at once."""
    session = PiSession()
    session.turn("We always run step one first.", "Noted.")
    perdure("capture", str(session.write(tmp_path)))
    worker = process("worker", cwd=perdure.project)
    assert worker.stdout is not None
    while b"closed" not in worker.stdout.readline():
        pass
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=30)
    assert worker.returncode == 0
    session.turn("Please always use tabs here.", "Noted.")
    perdure("capture", str(session.write(tmp_path)))
    begun = time.monotonic()
    assert perdure.json("review", "--once")["ended"] == {"applied": 1}
    assert time.monotonic() - begun < 5


@pytest.mark.requirement("M-09", "D-11")
def test_a_decision_survives_its_days_and_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision was durable, its worker lost, the day over and the TTL past: then the day was purged under
    the open job. Here the job is still finished, and its attempts are still there to account for.
    """

    def dies(scope: str) -> None:
        raise KeyboardInterrupt(scope)

    provider = ScriptedProvider()
    rig = rig_of(provider)
    (job,) = rig.capture(turns("The port is 4100.")).jobs
    with monkeypatch.context() as patch:
        patch.setattr(rig.memory, "hold", dies)
        with pytest.raises(KeyboardInterrupt):
            rig.drain()
    decision = rig.queue.decision(job)
    assert decision is not None
    rig.clock.advance(20 * DAY)
    retention(rig).run()
    assert rig.queue.decision(job) == decision
    rig.drain()
    assert states(rig) == ["applied"]
    assert sum(provider.sends.values()) == 1
    assert broken(rig) == ()
