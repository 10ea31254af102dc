"""Codex rollouts: what a person typed, what was answered, and what proves the end of a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.hosts.sessions import SessionRead, read_session
from tests.session_files import Rollout


def ends(read: SessionRead) -> list[str]:
    """List how the turns ended."""
    return [turn.end for turn in read.turns]


@pytest.mark.requirement("K-04", "E-02")
def test_a_settled_turn_holds_typed_text_and_answers_only(tmp_path: Path) -> None:
    """Nothing that Codex made for the model, and nothing of tools, is in it."""
    rollout = Rollout()
    rollout.turn("t1", "Use uv here.", "I look.", "Done.")
    read = read_session(rollout.write(tmp_path))
    assert [(line.role, line.text) for line in read.turns[0].lines] == [
        ("user", "Use uv here."),
        ("assistant", "I look."),
        ("assistant", "Done."),
    ]
    assert (read.host, read.format, read.cwd, ends(read)) == ("codex", "codex", "/home/dev/shop", ["settled"])
    assert read.turns[0].settled_ms == rollout.ms
    assert "-MARK" not in repr(read)


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize(
    ("answers", "end", "expected"),
    [
        (("Done.",), "task_complete", "settled"),
        (("Done.",), "turn_complete", "settled"),
        ((), "task_complete", "failed"),
        (("I look.",), "turn_aborted", "aborted"),
        (("Done.",), "", "unfinished"),
    ],
)
def test_what_proves_the_end(tmp_path: Path, answers: tuple[str, ...], end: str, expected: str) -> None:
    """Only an answer and the host's word that the turn is over, whether or not another turn follows."""
    rollout = Rollout()
    rollout.turn("t1", "Fix it.", *answers, end=end)
    assert ends(read_session(rollout.write(tmp_path))) == [expected]
    rollout.turn("t2", "More.", "Yes.")
    assert ends(read_session(rollout.write(tmp_path))) == [expected, "settled"]


@pytest.mark.requirement("K-04")
def test_a_turn_has_one_name_in_every_fork(tmp_path: Path) -> None:
    """A fork repeats lines under a new session: the turn is the same, the session is not."""
    first, fork = Rollout("one"), Rollout("two")
    for rollout in (first, fork):
        rollout.turn("t1", "Fix it.", "Done.")
    fork.turn("t2", "More.", "Yes.")
    one, two = (read_session(r.write(tmp_path, f"{n}.jsonl")) for n, r in enumerate((first, fork)))
    assert one.session != two.session
    assert one.turns[0].turn_id == two.turns[0].turn_id != two.turns[1].turn_id


def test_a_message_to_a_turn_at_work_belongs_to_it(tmp_path: Path) -> None:
    """Steering opens no turn, and neither does what no person began: a compaction, a review."""
    rollout = Rollout()
    rollout.turn("t1", "Fix it.", "I look.", end="")
    rollout.event("user_message", message="And test it.")
    rollout.event("agent_message", message="Both done.")
    rollout.event("task_complete", turn_id="t1", last_agent_message="Both done.")
    rollout.event("task_started", turn_id="c1")
    rollout.event("agent_message", message="Summary.")
    rollout.event("task_complete", turn_id="c1", last_agent_message="Summary.")
    read = read_session(rollout.write(tmp_path))
    assert [[line.text for line in turn.lines] for turn in read.turns] == [
        ["Fix it.", "I look.", "And test it.", "Both done."]
    ]


def test_context_of_an_editor_and_shell_commands_are_not_typed_text(tmp_path: Path) -> None:
    """Of the former the request is kept, of the latter nothing."""
    rollout = Rollout()
    rollout.turn(
        "t1", "# Context from my IDE setup:\nOPEN-MARK\n\n## My request for Codex:\nFix it.\n", "Done."
    )
    rollout.turn("t2", "!rm -rf SHELL-MARK", "Done.")
    read = read_session(rollout.write(tmp_path))
    assert "-MARK" not in repr(read)
    assert read.turns[0].lines[0].text == "Fix it."


@pytest.mark.parametrize(
    "payload", [None, 7, {}, {"type": "task_complete"}, {"type": "user_message", "message": 1}]
)
def test_lines_of_other_shapes_hurt_nothing(tmp_path: Path, payload: object) -> None:
    """They are passed over, also in the middle of a turn."""
    rollout = Rollout()
    rollout.turn("t1", "Fix it.", "I look.", end="")
    rollout.lines.append({"type": "event_msg", "timestamp": None, "payload": payload})
    rollout.event("task_complete", turn_id="t1", last_agent_message="Done.")
    assert ends(read_session(rollout.write(tmp_path))) == ["settled"]
