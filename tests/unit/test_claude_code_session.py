"""Claude Code transcripts: the active path, human text, and what proves the end of a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perdure.core.evidence import RawTurn
from perdure.hosts.session_turns import TEXT_CHARS_MAX
from perdure.hosts.sessions import SessionRead, read_session
from tests.session_files import Transcript

NO_ANSWER = {"model": "<synthetic>", "role": "assistant", "id": "m", "stop_reason": "stop_sequence"}


def ends(read: SessionRead) -> list[str]:
    """List how the turns ended."""
    return [turn.end for turn in read.turns]


def lines(turn: RawTurn) -> list[tuple[str, str]]:
    """List the lines of a turn as pairs."""
    return [(line.role, line.text) for line in turn.lines]


@pytest.mark.requirement("K-04", "E-02")
def test_a_settled_turn_holds_texts_and_tool_ends_only(tmp_path: Path) -> None:
    """A turn is the human text, the answers, and each tool's name with its end; nothing marked leaks."""
    transcript = Transcript()
    transcript.add("system", subtype="informational", content="SYSTEM-MARK")
    transcript.user(
        [{"type": "text", "text": "Fix it."}, {"type": "image", "source": {"data": "IMAGE-MARK"}}]
    )
    transcript.assistant([{"type": "thinking", "thinking": "THINKING-MARK"}], "tool_use", message_id="m1")
    transcript.assistant([{"type": "text", "text": "I look."}], "tool_use", message_id="m1")
    transcript.uses("Bash", ok=False)
    transcript.uses("Edit")
    transcript.add("attachment", attachment={"type": "todo", "content": "ATTACHMENT-MARK"})
    transcript.says("Fixed.")
    transcript.add("system", subtype="turn_duration", durationMs=5)
    read = read_session(transcript.write(tmp_path))
    assert lines(read.turns[0]) == [
        ("user", "Fix it."),
        ("assistant", "I look."),
        ("tool", "Bash failed"),
        ("tool", "Edit ok"),
        ("assistant", "Fixed."),
    ]
    assert (ends(read), read.problems) == (["settled"], ())
    assert "-MARK" not in repr(read)


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize(
    ("stops", "alone", "followed"),
    [
        (["end_turn"], "settled", "settled"),
        (["stop_sequence"], "settled", "settled"),
        ([None], "unfinished", "settled"),
        (["tool_use", None], "unfinished", "settled"),
        (["max_tokens"], "failed", "failed"),
        (["refusal"], "failed", "failed"),
        (["max_tokens", "end_turn"], "settled", "settled"),
        (["pause_turn", "end_turn"], "settled", "settled"),
        (["end_turn", "max_tokens"], "settled", "settled"),
    ],
)
def test_what_proves_the_end(tmp_path: Path, stops: list[str | None], alone: str, followed: str) -> None:
    """A final stop reason settles at once; without one, text settles when the next message follows."""
    transcript = Transcript()
    transcript.user("Do it.")
    for stop in stops:
        transcript.says("Done.", stop)
    assert ends(read_session(transcript.write(tmp_path))) == [alone]
    transcript.user("Next.")
    assert ends(read_session(transcript.write(tmp_path))) == [followed, "unfinished"]


@pytest.mark.requirement("K-04")
def test_an_old_transcript_with_an_open_tool_call_is_not_settled(tmp_path: Path) -> None:
    """Without stop reasons, text beside a tool call proves nothing: the next message joins the turn."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.assistant(
        [{"type": "text", "text": "I try."}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}],
        None,
    )
    transcript.user("And?")
    transcript.says("Done.", None)
    transcript.user("Thanks.")
    read = read_session(transcript.write(tmp_path))
    assert ends(read) == ["settled", "unfinished"]
    assert [text for role, text in lines(read.turns[0]) if role == "user"] == ["Do it.", "And?"]
    assert ("tool", "Bash ok") not in lines(read.turns[0])


@pytest.mark.requirement("K-04")
def test_a_final_stop_without_text_waits_for_the_next_message(tmp_path: Path) -> None:
    """A line that carries only thinking may be followed by the text of the same message."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.assistant([{"type": "thinking", "thinking": "x"}], "end_turn", message_id="m1")
    assert ends(read_session(transcript.write(tmp_path))) == ["unfinished"]
    transcript.assistant([{"type": "text", "text": "Done."}], "end_turn", message_id="m1")
    read = read_session(transcript.write(tmp_path))
    assert (ends(read), lines(read.turns[0])[-1]) == (["settled"], ("assistant", "Done."))


@pytest.mark.requirement("K-04")
@pytest.mark.parametrize("suffix", ["", " for tool use"])
@pytest.mark.parametrize("shape", ["text", "block", "beside a result"])
def test_an_interrupted_turn_is_aborted(tmp_path: Path, suffix: str, shape: str) -> None:
    """The harness's mark of an interruption ends the turn at work, and is nobody's words."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.uses("Bash")
    mark = f"[Request interrupted by user{suffix}]"
    content: Any = mark if shape == "text" else [{"type": "text", "text": mark}]
    if shape == "beside a result":
        content.insert(0, {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "x"})
    transcript.user(content)
    transcript.add(
        "assistant", message=NO_ANSWER | {"content": [{"type": "text", "text": "No response requested."}]}
    )
    transcript.user("Another way.")
    transcript.says("Done.")
    read = read_session(transcript.write(tmp_path))
    assert ends(read) == ["aborted", "settled"]
    assert lines(read.turns[1]) == [("user", "Another way."), ("assistant", "Done.")]


def test_an_interruption_with_new_words_ends_one_turn_and_opens_the_next(tmp_path: Path) -> None:
    """The human stopped the agent and said what to do instead, in one message (K-04)."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.uses("Bash")
    transcript.user(
        [{"type": "text", "text": "[Request interrupted by user]"}, {"type": "text", "text": "Stop that."}]
    )
    transcript.says("Stopped.")
    transcript.user([{"type": "text", "text": "the log said [Request interrupted by user] earlier"}])
    transcript.says("It did.")
    read = read_session(transcript.write(tmp_path))
    assert ends(read) == ["aborted", "settled", "settled"]
    assert lines(read.turns[1])[0] == ("user", "Stop that.")


@pytest.mark.requirement("K-04")
def test_an_api_error_fails_the_turn_unless_a_later_answer_repairs_it(tmp_path: Path) -> None:
    """An API error looks like an answer with a stop sequence; it is none, and its text is not kept."""
    transcript = Transcript()
    transcript.user("Do it.")
    error = NO_ANSWER | {"content": [{"type": "text", "text": "API Error: 529 ERROR-MARK"}]}
    transcript.add("assistant", message=error, isApiErrorMessage=True)
    assert ends(read_session(transcript.write(tmp_path))) == ["failed"]
    transcript.says("Done.")
    read = read_session(transcript.write(tmp_path))
    assert ends(read) == ["settled"]
    assert "ERROR-MARK" not in repr(read)


@pytest.mark.requirement("K-04")
def test_what_the_harness_says_at_a_resume_is_no_answer(tmp_path: Path) -> None:
    """A made-up answer after a killed run carries a stop sequence; the turn stays unfinished."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.uses("Bash")
    transcript.add("assistant", message=NO_ANSWER | {"content": [{"type": "text", "text": "Nothing."}]})
    assert ends(read_session(transcript.write(tmp_path))) == ["unfinished"]


@pytest.mark.requirement("E-02")
def test_a_sub_agent_at_the_end_of_the_file_is_not_the_leaf(tmp_path: Path) -> None:
    """Sub-agents of older releases write into the same file; the main conversation is read all the same."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.says("Done.")
    transcript.leaf = None
    transcript.user("MARK", isSidechain=True)
    transcript.says("MARK", isSidechain=True)
    (turn,) = read_session(transcript.write(tmp_path)).turns
    assert (turn.end, lines(turn)) == ("settled", [("user", "Do it."), ("assistant", "Done.")])


@pytest.mark.requirement("E-02", "L-04")
@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("MARK", {"isMeta": True}),
        ("MARK", {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}),
        ("MARK", {"promptSource": "system"}),
        ("MARK", {"origin": {"kind": "task-notification"}}),
        ("MARK", {"isSidechain": True}),
        ("<bash-input>MARK</bash-input>", {}),
        ("<bash-stdout>MARK</bash-stdout><bash-stderr></bash-stderr>", {}),
        ("<local-command-stdout>MARK</local-command-stdout>", {}),
        ("<local-command-caveat>MARK</local-command-caveat>", {}),
        ("<task-notification><summary>MARK</summary></task-notification>", {}),
        ("This session is being continued from a previous conversation that ran out. MARK", {}),
        ("<system-reminder>MARK</system-reminder>", {}),
        ("!cat MARK", {}),
        ([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "MARK"}]}], {}),
    ],
)
def test_what_stands_in_the_humans_place_is_not_the_humans(
    tmp_path: Path, content: Any, fields: dict[str, Any]
) -> None:
    """Meta, summary, shell, output, reminder, result and sub-agent lines open no turn and leak nothing."""
    transcript = Transcript()
    transcript.user("One.")
    transcript.says("First.")
    place = transcript.leaf
    transcript.user(content, **fields)
    if fields.get("isSidechain"):
        transcript.says("MARK", isSidechain=True)
        transcript.leaf = place
    transcript.user("Two.", origin={"kind": "human"}, promptSource="typed")
    transcript.says("Second.")
    read = read_session(transcript.write(tmp_path))
    assert [lines(turn) for turn in read.turns] == [
        [("user", "One."), ("assistant", "First.")],
        [("user", "Two."), ("assistant", "Second.")],
    ]
    assert "MARK" not in repr(read)


@pytest.mark.requirement("L-04")
@pytest.mark.parametrize(
    "piece",
    ["a", "<system-reminder>", "<ide_a ", "</ide_a", "<ide_a></ide_b>", "<ide_a ></ide_a>"],
)
def test_a_long_text_is_searched_for_woven_parts_in_one_pass(tmp_path: Path, piece: str) -> None:
    """Hundreds of thousands of characters, and of beginnings of tags that nothing ends, are read at once."""
    transcript = Transcript()
    transcript.user(piece * 400_000 + " Use tabs.")
    transcript.says("Yes.")
    (turn,) = read_session(transcript.write(tmp_path)).turns
    assert turn.end == "settled"
    assert [len(line.text) <= TEXT_CHARS_MAX for line in turn.lines] == [True, True]


@pytest.mark.requirement("L-04")
def test_what_the_harness_wove_into_a_message_is_taken_out(tmp_path: Path) -> None:
    """Reminders and editor context around a typed text go; the text stays."""
    transcript = Transcript()
    transcript.user(
        [
            {"type": "text", "text": "<ide_opened_file>MARK</ide_opened_file>"},
            {"type": "text", "text": "Use tabs.<system-reminder>MARK</system-reminder> Always."},
            {"type": "text", "text": "<system-reminder>MARK</system-reminder> MARK</system-reminder>Thanks."},
        ]
    )
    transcript.says("Yes.")
    (turn,) = read_session(transcript.write(tmp_path)).turns
    assert lines(turn)[0] == ("user", "Use tabs. Always.\nThanks.")


@pytest.mark.requirement("E-02")
def test_slash_commands_open_a_turn_only_when_the_agent_answers(tmp_path: Path) -> None:
    """A prompt command starts work, without words of its own; a local one (/clear) leaves no trace."""
    transcript = Transcript()
    transcript.user("<command-name>/clear</command-name><command-args>MARK</command-args>")
    transcript.user("One.")
    transcript.says("First.")
    transcript.user("<command-message>review</command-message><command-name>/review</command-name>")
    transcript.user("MARK", isMeta=True)
    transcript.uses("Read")
    transcript.says("Reviewed.")
    transcript.user("<command-name>/exit</command-name>")
    read = read_session(transcript.write(tmp_path))
    assert [lines(turn) for turn in read.turns] == [
        [("user", "One."), ("assistant", "First.")],
        [("tool", "Read ok"), ("assistant", "Reviewed.")],
    ]


@pytest.mark.requirement("K-04", "L-04")
def test_messages_typed_while_the_agent_works_belong_to_its_turn(tmp_path: Path) -> None:
    """A queued prompt joins the turn at work; a queued notification is not the human's."""
    transcript = Transcript()
    transcript.user("Do it.")
    transcript.uses("Bash")
    queued = {"type": "queued_command", "prompt": "Gently.", "commandMode": "prompt"}
    transcript.add("attachment", attachment=queued)
    transcript.add("attachment", attachment=queued | {"prompt": "MARK", "commandMode": "task-notification"})
    transcript.add("attachment", attachment=queued | {"prompt": "MARK", "origin": {"kind": "channel"}})
    transcript.says("Done.")
    transcript.add("attachment", attachment=queued | {"prompt": "MARK"})
    read = read_session(transcript.write(tmp_path))
    assert [line for line in lines(read.turns[0]) if line[0] == "user"] == [
        ("user", "Do it."),
        ("user", "Gently."),
    ]
    assert "MARK" not in repr(read)


def test_parallel_tool_calls_are_all_found(tmp_path: Path) -> None:
    """Lines of one message and results that hang beside the path are taken in, once each (E-02)."""
    transcript = Transcript()
    transcript.user("Do it.")
    calls = [
        {"type": "tool_use", "id": f"t{number}", "name": f"Tool{number}", "input": {}} for number in range(3)
    ]
    first = transcript.assistant([calls[0]], "tool_use", message_id="m1")
    transcript.assistant([calls[1]], "tool_use", message_id="m1")
    transcript.assistant([calls[2]], "tool_use", message_id="m1")
    transcript.result("t2")
    transcript.leaf = first
    transcript.result("t0", ok=False)
    transcript.says("Done.")
    (turn,) = read_session(transcript.write(tmp_path)).turns
    assert lines(turn)[1:] == [("tool", "Tool0 failed"), ("tool", "Tool2 ok"), ("assistant", "Done.")]


@pytest.mark.requirement("L-05")
def test_the_path_crosses_a_compaction_and_takes_in_abandoned_branches(tmp_path: Path) -> None:
    """A compaction boundary is followed to what came before; what settled on a rewound branch is read."""
    transcript = Transcript()
    transcript.user("One.")
    kept = transcript.says("First.")
    transcript.user("Rewound.")
    transcript.says("Lost.")
    transcript.leaf = None
    transcript.add("system", subtype="compact_boundary", logicalParentUuid=kept)
    transcript.user("MARK", isCompactSummary=True)
    transcript.user("Two.")
    transcript.says("Second.")
    transcript.add("summary", summary="MARK", leafUuid=kept)
    read = read_session(transcript.write(tmp_path))
    assert [lines(turn)[0][1] for turn in read.turns] == ["One.", "Rewound.", "Two."]
    assert (read.problems, "MARK" in repr(read)) == ((), False)


@pytest.mark.requirement("Q-01")
def test_a_resumed_copy_keeps_the_turn_ids(tmp_path: Path) -> None:
    """Turns that a resume or fork copied into another file are the same turns."""
    first, second = Transcript(), Transcript(session_id="another")
    for transcript in (first, second):
        transcript.user("One.")
        transcript.says("First.")
    second.user("Two.")
    second.says("Second.")
    one = read_session(first.write(tmp_path, "a.jsonl"))
    two = read_session(second.write(tmp_path, "b.jsonl"))
    assert one.session != two.session
    assert [turn.turn_id for turn in one.turns] == [turn.turn_id for turn in two.turns][:1]
    assert len({turn.turn_id for turn in two.turns}) == 2


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize(
    ("change", "asked", "reason"),
    [
        ("missing parent", ["One.", "Two."], "parent entry is missing"),
        ("cycle", ["One.", "Two."], "in a circle"),
        ("duplicate", ["One.", "Two."], "share a uuid"),
        ("no uuid", ["One.", "Two."], None),
        ("wrong shapes", ["One.", "Two."], None),
    ],
)
def test_a_broken_tree_is_read_as_far_as_it_reaches(
    tmp_path: Path, change: str, asked: list[str], reason: str | None
) -> None:
    """Missing parents, circles, doubled ids and wrong shapes end in a result and a named line."""
    transcript = Transcript()
    transcript.user("One.")
    transcript.says("First.")
    transcript.user("Two.")
    transcript.says("Second.")
    if change == "missing parent":
        del transcript.lines[1]
    elif change == "cycle":
        transcript.lines[0]["parentUuid"] = transcript.lines[2]["uuid"]
    elif change == "duplicate":
        transcript.lines.insert(0, dict(transcript.lines[0]))
    elif change == "no uuid":
        transcript.lines.insert(2, {"type": "user", "sessionId": "x", "message": {"content": "MARK"}})
    else:
        for message in (None, {}, {"content": 7}, {"content": [None, {"type": "text", "text": 1}]}):
            transcript.add("user", message=message)
            transcript.add("attachment", attachment=message)
            transcript.add("assistant", message=message)
    read = read_session(transcript.write(tmp_path))
    assert [lines(turn)[0][1] for turn in read.turns] == asked
    assert [reason in problem.reason for problem in read.problems] == [True] if reason else not read.problems
    assert "MARK" not in repr(read)


def test_a_transcript_of_summaries_alone_has_no_turns(tmp_path: Path) -> None:
    """A file that holds only titles of other sessions is a transcript without turns, not an error (S-05)."""
    transcript = Transcript()
    transcript.lines.append({"type": "summary", "summary": "A title.", "leafUuid": "x"})
    read = read_session(transcript.write(tmp_path))
    assert (read.host, read.turns, read.cwd, len(read.session)) == ("claude-code", (), None, 32)


def test_a_picture_alone_is_a_human_message(tmp_path: Path) -> None:
    """A message without words opens a turn all the same; what is answered to it is evidence (E-02)."""
    transcript = Transcript()
    transcript.user([{"type": "image", "source": {"data": "IMAGE-MARK"}}])
    transcript.says("A cat.")
    (turn,) = read_session(transcript.write(tmp_path)).turns
    assert (turn.end, lines(turn)) == ("settled", [("assistant", "A cat.")])
