"""review, jobs, status: what a review found and could not keep is told, and can be kept later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command_line import Perdure
from tests.session_files import PiSession

SAID = "Please always run the formatter before you commit in this project."


@pytest.mark.requirement("M-07", "D-05", "Q-06")
def test_what_has_no_room_is_told_and_reviewed_again(perdure: Perdure, tmp_path: Path) -> None:
    """Memory is over the target of reviews: the job is rejected for capacity, each command says so and what
    to do; after a forget the retry keeps what was found.
    """
    for number in range(6):
        words = " ".join(f"part{number}x{place}" for place in range(90))
        perdure("remember", f"Note {number}: {words[:780]}")
    session = PiSession(cwd=str(perdure.project))
    session.turn(SAID, "I will.")
    perdure("capture", str(session.write(tmp_path)))
    reviewed = perdure.json("review", "--once")
    assert (reviewed["ended"], reviewed["reasons"]) == ({"rejected": 1}, {"rejected: capacity": 1})
    (job,) = perdure.json("jobs")["jobs"]
    assert (job["state"], job["reason"]) == ("rejected", "capacity")
    shown = perdure.json("jobs", "show", job["short"])
    assert [reason["code"] for reason in shown["reasons"]] == ["capacity"]
    assert "perdure jobs retry" in perdure("jobs", "show", job["short"]).out
    assert perdure.json("status")["no_room"] == 1
    assert "perdure jobs retry" in perdure("status").out
    for number in range(3):
        perdure("forget", f"Note {number}:", "--yes")
    perdure("jobs", "retry", job["short"])
    assert perdure.json("status")["no_room"] == 0
    assert perdure.json("review", "--once")["ended"] == {"applied": 1}
    assert any("formatter" in text for text in perdure.texts())
