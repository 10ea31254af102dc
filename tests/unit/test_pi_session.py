"""Pi sessions: formats 1 to 3, the active path, and what proves the end of a turn."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from perdure.core.evidence import RawTurn
from perdure.core.windows import windows
from perdure.errors import UsageError
from perdure.hosts.sessions import SessionRead, read_session
from tests.session_files import PiSession

DEMO = Path(__file__).parents[2] / "src" / "perdure" / "data" / "demo_session.jsonl"


def ends(read: SessionRead) -> list[str]:
    """List how the turns ended."""
    return [turn.end for turn in read.turns]


def lines(turn: RawTurn) -> list[tuple[str, str]]:
    """List the lines of a turn as pairs."""
    return [(line.role, line.text) for line in turn.lines]


@pytest.mark.requirement("K-04", "E-02")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_settled_turn_holds_texts_and_tool_ends_only(tmp_path: Path, version: int) -> None:
    """In every format, a turn is the human text, the answers, and each tool's name with its end."""
    session = PiSession(version)
    session.user("Fix the price test.")
    session.uses("bash", ok=False, text="I run it first.")
    session.uses("edit")
    session.says("Fixed.")
    read = read_session(session.write(tmp_path))
    assert (read.host, read.format, read.cwd, read.problems) == ("pi", f"pi-{version}", "/home/dev/shop", ())
    assert lines(read.turns[0]) == [
        ("user", "Fix the price test."),
        ("assistant", "I run it first."),
        ("tool", "bash failed"),
        ("tool", "edit ok"),
        ("assistant", "Fixed."),
    ]
    assert ends(read) == ["settled"]
    assert read.turns[0].settled_ms == session.ms


@pytest.mark.requirement("E-02")
def test_what_is_not_text_of_human_or_assistant_never_leaves_the_reader(tmp_path: Path) -> None:
    """Thinking, arguments, output, images, shell commands, extension and system text are not taken."""
    session = PiSession()
    session.message("system", "SYSTEM-MARK", sections={"a": "SYSTEM-MARK"})
    session.add("custom_message", customType="memory", content="EXTENSION-MARK", display=True)
    session.message("bashExecution", None, command="SHELL-MARK", output="SHELL-MARK", exitCode=0)
    image = {"type": "image", "data": "IMAGE-MARK", "mimeType": "image/png"}
    session.message("user", [{"type": "text", "text": "Look at this."}, image])
    session.add("custom", customType="state", data={"x": "EXTENSION-MARK"})
    session.message("custom", "EXTENSION-MARK", customType="memory", display=True)
    session.uses("read")
    session.add("usage", kind="cache_warm", usage={"input": "USAGE-MARK"})
    session.add("label", targetId="00000001", label="LABEL-MARK")
    session.add("session_info", name="NAME-MARK")
    session.says(
        "Seen.", errorMessage="ERROR-MARK", diagnostics=["DIAGNOSTIC-MARK"], usage={"x": "USAGE-MARK"}
    )
    session.user("!cat SHELL-MARK")
    session.says("Done.")
    read = read_session(session.write(tmp_path))
    assert "-MARK" not in repr(read)
    assert ends(read) == ["settled", "settled"]
    assert lines(read.turns[1]) == [("assistant", "Done.")]


@pytest.mark.requirement("L-04", "E-02")
@pytest.mark.parametrize("tag", ["file", "skill"])
def test_files_and_skills_that_pi_puts_before_a_prompt_are_left_out(tmp_path: Path, tag: str) -> None:
    """Of a prompt with an attached file or a skill, only what the human wrote is taken."""
    session = PiSession()
    block = f'<{tag} name="x" location="/y">\nFILE-MARK </{tag}> still FILE-MARK\n</{tag}>\n\n'
    session.turn(block + "Do as it says.", "Done.")
    (turn,) = read_session(session.write(tmp_path)).turns
    assert lines(turn)[0] == ("user", "Do as it says.")


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize(
    ("stops", "end"),
    [
        (["stop"], "settled"),
        (["aborted"], "aborted"),
        (["error"], "failed"),
        (["length"], "failed"),
        (["toolUse"], "unfinished"),
        (["deferred"], "unfinished"),
        (["something new"], "unfinished"),
        ([], "unfinished"),
        (["error", "error", "stop"], "settled"),
        (["length", "stop"], "settled"),
        (["toolUse", "aborted"], "aborted"),
        (["aborted", "stop"], "aborted"),
        (["stop", "error"], "settled"),
    ],
)
def test_only_a_complete_answer_settles_a_turn(tmp_path: Path, stops: list[str], end: str) -> None:
    """The first complete answer settles a turn, an abort ends it, and an error may be repaired."""
    session = PiSession()
    session.user("Do it.")
    for stop in stops:
        session.says(f"text of {stop}", stop)
    (turn,) = read_session(session.write(tmp_path)).turns
    assert turn.end == end
    texts = [text for role, text in lines(turn) if role == "assistant"]
    assert not any(bad in text for bad in ("error", "aborted", "length") for text in texts)


def test_a_stop_that_calls_a_tool_is_not_the_end(tmp_path: Path) -> None:
    """Some models report "stop" beside a tool call; the turn goes on then (K-04)."""
    session = PiSession()
    session.user("Do it.")
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}
    session.message("assistant", [call], stopReason="stop")
    assert ends(read_session(session.write(tmp_path))) == ["unfinished"]
    session.says("Done.")
    assert ends(read_session(session.write(tmp_path))) == ["settled"]


@pytest.mark.requirement("K-04")
def test_an_extension_run_after_an_error_does_not_repair_it(tmp_path: Path) -> None:
    """A run that an extension started is no retry of the human's turn: that stays failed."""
    session = PiSession()
    session.user("Do it.")
    session.says("", "error")
    session.add("custom_message", customType="x", content="carry on", display=True)
    session.says("Something else.")
    assert ends(read_session(session.write(tmp_path))) == ["failed"]


@pytest.mark.requirement("K-04")
def test_messages_sent_while_the_agent_works_belong_to_its_turn(tmp_path: Path) -> None:
    """Steering and queued messages join the open turn; after a failed one a message opens the next."""
    session = PiSession()
    session.user("Do it.")
    session.uses("bash")
    session.user("But gently.")
    session.says("Done.")
    session.user("More.")
    session.says("", "aborted")
    session.user("Again.")
    session.says("Yes.")
    read = read_session(session.write(tmp_path))
    assert ends(read) == ["settled", "aborted", "settled"]
    assert lines(read.turns[0])[2] == ("user", "But gently.")
    assert [turn.position for turn in read.turns] == [0, 1, 2]


@pytest.mark.requirement("K-04")
def test_a_compaction_in_a_turn_does_not_end_it_and_is_no_evidence(tmp_path: Path) -> None:
    """Summaries are the host's own; the turn they fall into goes on."""
    session = PiSession()
    session.user("Do it.")
    session.uses("bash")
    session.add("compaction", summary="SUMMARY-MARK", firstKeptEntryId="00000001", tokensBefore=9)
    session.says("Done.")
    session.add("branch_summary", fromId="00000001", summary="SUMMARY-MARK")
    read = read_session(session.write(tmp_path))
    assert ends(read) == ["settled"]
    assert "SUMMARY-MARK" not in repr(read)


@pytest.mark.requirement("Q-01")
def test_a_settled_turn_reads_the_same_whatever_follows(tmp_path: Path) -> None:
    """Appending to a session, even an extension's run, never changes a turn that was read as settled."""
    session = PiSession()
    session.turn("One.", "First.")
    before = read_session(session.write(tmp_path)).turns
    session.add("custom_message", customType="x", content="run", display=True)
    session.says("An extension's answer.")
    session.turn("Two.", "Second.")
    after = read_session(session.write(tmp_path)).turns
    assert after[:1] == before
    assert ends(read_session(session.write(tmp_path))) == ["settled", "settled"]


@pytest.mark.requirement("M-12", "Q-01")
def test_a_fork_and_an_upgraded_file_keep_the_turn_ids(tmp_path: Path) -> None:
    """Copied turns are the same turns: in a fork, and when Pi writes an old file anew with entry ids."""
    old = PiSession(1)
    old.turn("One.", "First.")
    old.turn("Two.", "Second.")
    upgraded = PiSession(3)
    upgraded.turn("One.", "First.")
    upgraded.turn("Two.", "Second.")
    fork = PiSession(3, session_id="another")
    fork.entries += [
        entry | {"id": "f" + entry["id"][1:], "parentId": None} for entry in upgraded.entries[1:3]
    ]
    fork.entries[2]["parentId"] = fork.entries[1]["id"]
    ids = [turn.turn_id for turn in read_session(old.write(tmp_path)).turns]
    assert ids == [turn.turn_id for turn in read_session(upgraded.write(tmp_path)).turns]
    assert ids[:1] == [turn.turn_id for turn in read_session(fork.write(tmp_path)).turns]
    assert len(set(ids)) == 2
    assert all(len(one) == 32 for one in ids)


def test_the_same_words_at_another_time_are_another_turn(tmp_path: Path) -> None:
    """Take "Continue." said twice as two turns, also where a file holds no instants at all (Q-01)."""
    session = PiSession(1)
    session.turn("Continue.", "Yes.")
    session.turn("Continue.", "Yes.")
    assert len({turn.turn_id for turn in read_session(session.write(tmp_path)).turns}) == 2
    for entry in session.entries[1:]:
        del entry["timestamp"]
        del entry["message"]["timestamp"]
    read = read_session(session.write(tmp_path))
    assert len({turn.turn_id for turn in read.turns}) == 2
    assert [turn.settled_ms for turn in read.turns] == [0, 0]


@pytest.mark.requirement("L-05", "T-04")
def test_a_turn_that_settled_on_a_branch_that_was_left_is_read(tmp_path: Path) -> None:
    """Going back skips nothing and reads nothing twice: each turn once, in the order in which it settled."""
    session = PiSession()
    session.turn("One.", "First.")
    fork_point = session.leaf
    session.turn("Left behind.", "Lost.")
    session.leaf = fork_point
    session.turn("Two.", "Second.")
    shared = session.leaf
    session.user("Left at work.")
    session.leaf = shared
    session.turn("Three.", "Third.")
    read = read_session(session.write(tmp_path))
    assert [lines(turn)[0][1] for turn in read.turns] == [
        "One.", "Left behind.", "Two.", "Left at work.", "Three.",
    ]  # fmt: skip
    assert ends(read) == ["settled", "settled", "settled", "unfinished", "settled"]
    assert [turn.position for turn in read.turns] == [0, 1, 2, 3, 4]
    assert read.problems == ()


@pytest.mark.requirement("L-05", "T-04", "Q-01")
def test_a_turn_that_was_answered_on_two_branches_reads_as_it_first_settled(tmp_path: Path) -> None:
    """A live capture took it then: a later answer to the same message changes nothing of it."""
    session = PiSession()
    session.user("One.")
    asked = session.leaf
    session.uses("bash")
    before = read_session(session.write(tmp_path)).turns
    session.says("First.")
    settled = read_session(session.write(tmp_path)).turns
    session.leaf = asked
    session.says("Again.")
    session.leaf = asked
    session.says("Stopped.", "aborted")
    assert [turn.end for turn in before] == ["unfinished"]
    assert read_session(session.write(tmp_path)).turns == settled
    assert lines(settled[0]) == [("user", "One."), ("tool", "bash ok"), ("assistant", "First.")]


@pytest.mark.requirement("L-05", "Q-07")
def test_ten_thousand_branches_are_read_in_linear_time(tmp_path: Path) -> None:
    """Branches share what they have in common: neither trunk nor turn is read again for each."""

    def seconds(leaves: int) -> float:
        session = PiSession()
        for number in range(leaves // 10):
            session.turn(f"Trunk {number}.", "Yes.")
        session.user("A long turn.")
        for _ in range(leaves // 10):
            session.uses("bash")
        fork = session.leaf
        for number in range(leaves):
            session.leaf = fork
            session.says(f"Answer {number}.") if number % 2 else session.turn(f"Steer {number}.", "Done.")
        path = session.write(tmp_path)
        begun = time.process_time()
        read = read_session(path)
        taken = time.process_time() - begun
        assert len(read.turns) == leaves // 10 + 1
        return taken

    small = min(seconds(1_000) for _ in range(2))
    assert seconds(10_000) < max(small, 0.02) * 40


@pytest.mark.requirement("L-05", "E-09")
def test_windows_of_a_tree_stay_as_they_were_when_it_grows(tmp_path: Path) -> None:
    """Whatever branch goes on next, what was read before is the beginning of what is read now."""
    session = PiSession()
    leaves = [session.leaf]
    before: tuple[RawTurn, ...] = ()
    for number in range(40):
        session.leaf = leaves[number * 7 % len(leaves)]
        session.turn(f"Asked {number}.", f"Answered {number}.")
        leaves.append(session.leaf)
        turns = read_session(session.write(tmp_path)).turns
        assert turns[:-1] == before
        before = turns


@pytest.mark.requirement("L-04", "E-02")
def test_a_context_edit_is_honoured(tmp_path: Path) -> None:
    """What was taken out of the context is not taken; a replaced human message is the host's text."""
    session = PiSession()
    asked = session.user("REMOVED-MARK")
    session.says("First.")
    session.add("context_edit", targetId=asked, replacement=None)
    asked = session.user("REMOVED-MARK too")
    used = session.uses("bash")
    said = session.says("REMOVED-MARK as well")
    session.add("context_edit", targetId=asked, replacement="REMOVED-MARK once")
    session.add("context_edit", targetId=asked, replacement="A summary.")
    session.add("context_edit", targetId=said, replacement=[{"type": "text", "text": "Shorter."}])
    session.add("context_edit", targetId=used, replacement="REMOVED-MARK output")
    read = read_session(session.write(tmp_path))
    assert lines(read.turns[0]) == [("assistant", "First.")]
    assert lines(read.turns[1]) == [("host", "A summary."), ("tool", "bash ok"), ("assistant", "Shorter.")]
    assert "REMOVED-MARK" not in repr(read)


def _broken(session: PiSession, change: str) -> None:
    entries = session.entries
    if change == "missing parent":
        del entries[2]
    elif change == "cycle":
        entries[1]["parentId"] = entries[4]["id"]
    elif change == "no id":
        entries.append({"type": "label", "timestamp": entries[-1]["timestamp"]})
    elif change == "duplicate id":
        entries.append(json.loads(json.dumps(entries[3])) | {"parentId": entries[2]["id"]})
        session.entries = [*entries[:3], entries[-1], *entries[3:5]]
    else:
        entries[3]["parentId"] = {"not": "an id"}


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize(
    ("change", "asked", "reason"),
    [
        ("missing parent", ["One.", "Two."], "parent entry is missing"),
        ("cycle", ["One.", "Two."], "in a circle"),
        ("no id", ["One.", "Two."], "without an id"),
        ("duplicate id", ["One.", "Two."], "used before"),
        ("bad parent", ["One.", "Two."], None),
    ],
)
def test_a_broken_tree_is_read_as_far_as_it_reaches(
    tmp_path: Path, change: str, asked: list[str], reason: str | None
) -> None:
    """Missing parents, circles, missing and doubled ids end in a result and a named line."""
    session = PiSession()
    session.turn("One.", "First.")
    session.turn("Two.", "Second.")
    _broken(session, change)
    read = read_session(session.write(tmp_path))
    assert [lines(turn)[0][1] for turn in read.turns] == asked
    assert [reason in problem.reason for problem in read.problems] == [True] if reason else not read.problems


@pytest.mark.parametrize("version", [4, 0, -1, "3", True, None, 2.5])
def test_a_version_that_is_not_known_is_refused_with_advice(tmp_path: Path, version: Any) -> None:
    """A newer session, or one whose version makes no sense, is refused before anything is read."""
    session = PiSession()
    session.turn("One.", "First.")
    session.entries[0]["version"] = version
    with pytest.raises(UsageError, match=r"formats 1 to 3 can be read.*Update Perdure"):
        read_session(session.write(tmp_path))


@pytest.mark.parametrize(
    "message",
    [
        None,
        {"role": "user"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [None, {"type": "text"}, {"type": "text", "text": 5}]},
        {"role": "assistant", "content": None, "stopReason": 7},
        {"role": "toolResult", "toolName": None},
        {"role": "toolResult", "toolName": "x" * 5000, "isError": "perhaps"},
        {"role": ["user"], "content": "x"},
    ],
)
def test_entries_of_a_wrong_shape_take_nothing_down(tmp_path: Path, message: Any) -> None:
    """A message with missing or wrong fields is passed over; the turns around it are read."""
    session = PiSession()
    session.turn("One.", "First.")
    session.add("message", message=message)
    session.turn("Two.", "Second.")
    read = read_session(session.write(tmp_path))
    assert [line for line in lines(read.turns[-1]) if line[0] == "user"] == [("user", "Two.")]
    assert ends(read) == ["settled", "settled"]


@pytest.mark.requirement("K-04", "E-02", "E-03")
def test_the_bundled_session_of_the_real_pi_reads_whole() -> None:
    """The demo's session, written by Pi itself: five settled turns and a failed one, no machine's paths."""
    read = read_session(DEMO)
    assert (read.format, read.cwd, read.problems) == ("pi-3", "/home/dev/shop", ())
    assert ends(read) == ["settled", "settled", "settled", "settled", "failed", "settled"]
    assert [text for role, text in lines(read.turns[1]) if role == "tool"] == [
        "bash failed",
        "edit ok",
        "bash ok",
    ]
    assert "/tmp" not in DEMO.read_text(encoding="utf-8")
    (window,) = windows(read.host, read.session, read.turns, ()).evidence
    assert len(window.turns) == 5
    assert "heron" in repr(read.turns)
    assert "heron" not in repr(window)
