"""Opening and reading session files: detection, rude input, bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.errors import NotFound, UsageError
from perdure.hosts.session_file import instant_ms
from perdure.hosts.sessions import SessionRead, read_session
from tests.session_files import PiSession, Transcript

MEBIBYTE = 1024 * 1024
DATA = Path(__file__).parents[1] / "data" / "sessions"


def asked(read: SessionRead) -> list[str]:
    """List the first line of every turn."""
    return [turn.lines[0].text for turn in read.turns]


def two_turns() -> PiSession:
    """Make a session of two settled turns."""
    session = PiSession()
    session.turn("One.", "First.")
    session.turn("Two.", "Second.")
    return session


@pytest.mark.requirement("G-07", "E-03")
def test_reading_leaves_the_file_and_its_folder_untouched(tmp_path: Path) -> None:
    """A session that nobody may write is read, and nothing about it changes."""
    path = two_turns().write(tmp_path)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    try:
        assert asked(read_session(path)) == ["One.", "Two."]
        assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before
    finally:
        tmp_path.chmod(0o700)


def test_a_path_may_be_text_bytes_or_a_symlink(tmp_path: Path) -> None:
    """People link their session folders; a link to a session is read like the session (G-07)."""
    path = two_turns().write(tmp_path)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert read_session(str(path)) == read_session(path) == read_session(link)


def test_the_session_digest_names_the_session_and_not_the_file(tmp_path: Path) -> None:
    """Two copies are one session; another session is another; 32 hex digits (Q-01)."""
    first = read_session(two_turns().write(tmp_path, "a.jsonl"))
    second = read_session(two_turns().write(tmp_path, "b.jsonl"))
    other = PiSession(session_id="else")
    assert first.session == second.session
    assert len(bytes.fromhex(first.session)) == 16
    assert read_session(other.write(tmp_path, "c.jsonl")).session != first.session


@pytest.mark.requirement("M-13")
def test_what_is_no_readable_file_is_refused_and_never_blocks(tmp_path: Path) -> None:
    """Nothing there, a folder, a FIFO, a device, a NUL in the name, a loop of links: each says so."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("nothing.jsonl", "dangling", "a/b"):
        with pytest.raises(NotFound, match="no such file"):
            read_session(tmp_path / name)
    for path in (tmp_path, tmp_path / "fifo", Path(os.devnull)):
        with pytest.raises(UsageError, match="not a regular file"):
            read_session(path)
    for path in (tmp_path / "a\0b", tmp_path / "loop", tmp_path / ("n" * 300)):
        with pytest.raises(UsageError, match="cannot be opened"):
            read_session(path)


def test_a_name_that_is_not_utf8_is_shown_safely(tmp_path: Path) -> None:
    """A message about a file with a broken name can be printed (M-13)."""
    with pytest.raises(NotFound) as caught:
        read_session(os.fsencode(tmp_path) + b"/\xff.jsonl")  # type: ignore[arg-type]  # bytes at run time
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        b"\n\n",
        b"hello\n",
        b"{}\n",
        b"{}\n" * 100,
        b'{"type":"message","id":"a","message":{"role":"user"}}\n',
        b"\x00" * 64,
        b"[1]\n",
    ],
)
def test_a_file_that_is_no_session_is_refused_with_advice(tmp_path: Path, content: bytes) -> None:
    """Whatever holds no Pi header and no Claude Code record is refused, with what can be read (S-05)."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="Name a"):
        read_session(path)


def test_an_empty_file_is_told_apart(tmp_path: Path) -> None:
    """A file of no bytes is called empty."""
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(UsageError, match="is empty"):
        read_session(tmp_path / "empty.jsonl")


def test_both_hosts_are_told_apart_by_their_records(tmp_path: Path) -> None:
    """Detection looks at records, not at names or folders."""
    transcript = Transcript()
    transcript.user("Hello.")
    transcript.says("Hi.")
    assert read_session(two_turns().write(tmp_path, "x.jsonl")).host == "pi"
    read = read_session(transcript.write(tmp_path, "y.jsonl"))
    assert (read.host, read.format, read.cwd) == ("claude-code", "claude-code", "/home/dev/shop")


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize("cut", [1, 30, 80])
def test_a_torn_last_line_is_reported_and_the_rest_is_read(tmp_path: Path, cut: int) -> None:
    """A host killed while writing leaves half a line; the turn it belonged to is not settled."""
    text = two_turns().text()
    path = tmp_path / "torn.jsonl"
    path.write_text(text[:-cut], encoding="utf-8")
    read = read_session(path)
    assert asked(read) == ["One.", "Two."]
    if cut == 1:  # only the line end is missing: the record is whole
        assert ([turn.end for turn in read.turns], read.problems) == (["settled", "settled"], ())
    else:
        assert [turn.end for turn in read.turns] == ["settled", "unfinished"]
        assert [(problem.line, problem.reason) for problem in read.problems] == [
            (5, "torn last line; skipped")
        ]


@pytest.mark.requirement("M-13", "E-06")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"CONTENT-MARK", "not valid JSON"),
        (b'["CONTENT-MARK"]', "not a JSON object"),
        (b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"id":"00000009","n":' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"type":"custom","id":"00000009","x":"\xff\xfe"}', "not valid UTF-8"),
    ],
)
def test_a_bad_line_in_the_middle_takes_nothing_else_down(tmp_path: Path, line: bytes, reason: str) -> None:
    """A damaged line is named by number and reason, never by content; the other lines are read."""
    whole = two_turns().text().encode().split(b"\n")
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n".join([*whole[:3], line, *whole[3:]]))
    read = read_session(path)
    assert asked(read) == ["One.", "Two."]
    assert read.problems[0].line == 4
    assert reason in read.problems[0].reason
    assert "CONTENT" not in repr(read.problems)


@pytest.mark.requirement("M-13")
def test_a_damaged_entry_keeps_its_place_in_the_tree(tmp_path: Path) -> None:
    """When an entry's text is damaged but its ids are legible, the turns before it are still reached."""
    lines = two_turns().text().splitlines(keepends=True)
    lines[3] = lines[3][:150] + "\n"
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    read = read_session(path)
    assert asked(read) == ["One."]  # the damaged line was "Two."; its answer belongs to no human message
    assert [turn.end for turn in read.turns] == ["settled"]
    assert [problem.reason for problem in read.problems] == ["not valid JSON; skipped"]


@pytest.mark.requirement("E-09")
def test_long_lines_are_read_and_overlong_ones_skipped(tmp_path: Path) -> None:
    """A line of 1 MB is read; one of 20 MB is skipped, reported, and does not cut off what came before."""
    session = PiSession()
    session.turn("One.", "word " * (MEBIBYTE // 5))
    session.message(
        "toolResult", [{"type": "text", "text": "x" * (20 * MEBIBYTE)}], toolName="bash", isError=False
    )
    session.turn("Two.", "Second.")
    read = read_session(session.write(tmp_path))
    assert asked(read) == ["One.", "Two."]
    assert [problem.reason for problem in read.problems] == ["longer than 16777216 bytes; skipped"]


def test_texts_are_bounded_without_halving_a_word(tmp_path: Path) -> None:
    """A text far beyond a window is cut by the reader, between words; data does not count (E-09)."""
    session = PiSession()
    session.turn("ab" * 60_000 + " " + "word " * 50_000, "w" * 200_005)
    (turn,) = read_session(session.write(tmp_path)).turns
    text = turn.lines[0].text
    assert text.startswith("[data removed] word")
    assert text.endswith(" word")
    assert len(text) <= 200_000
    assert turn.lines[1].text == "[data removed]"


@pytest.mark.requirement("M-10")
def test_marks_line_ends_and_odd_characters(tmp_path: Path) -> None:
    """A byte order mark, CRLF, blank lines, U+2028, NUL and lone surrogates all end in a clear result."""
    session = PiSession()
    session.turn("One\u2028\u0085 line.", "NUL \0 and \ud83d alone.")
    text = session.text().replace("\n", "\r\n\r\n  \r\n").replace('", "', '",\r"')
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    read = read_session(path)
    assert read.problems == ()
    assert [line.text for line in read.turns[0].lines] == [
        "One\u2028\u0085 line.",
        "NUL \0 and \ud83d alone.",
    ]
    raw = tmp_path / "raw.jsonl"
    raw.write_bytes(json.dumps(session.entries[0]).encode() + b"\n" + _unescaped(session))
    assert asked(read_session(raw)) == ["One\u2028\u0085 line."]


def _unescaped(session: PiSession) -> bytes:
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in session.entries[1:2])
    return text.encode()


@pytest.mark.requirement("E-09")
def test_a_file_that_grows_while_it_is_read_is_read_up_to_its_old_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a host appends during a read waits for the next one; the read always ends."""
    path = two_turns().write(tmp_path)
    real = os.read

    def growing(descriptor: int, size: int) -> bytes:
        with path.open("ab") as more:
            more.write(b'{"type":"label","id":"later"}\n' * 10)
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", growing)
    read = read_session(path)
    assert (asked(read), read.problems) == (["One.", "Two."], ())


def test_a_failing_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input error of the disk becomes an error of ours, and the descriptor is closed (S-05)."""
    path = two_turns().write(tmp_path)

    def failing(descriptor: int, _: int) -> bytes:
        raise OSError(5, f"Input/output error on {descriptor}")

    monkeypatch.setattr(os, "read", failing)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(UsageError, match="Reading failed"):
        read_session(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.requirement("M-13")
def test_the_list_of_problems_is_bounded(tmp_path: Path) -> None:
    """A file of nothing but bad lines gives a thousand problems and the number of the rest."""
    path = tmp_path / "junk.jsonl"
    path.write_text(two_turns().text() + "junk\n" * 5000, encoding="utf-8")
    read = read_session(path)
    assert len(read.problems) == 1001
    assert read.problems[-1].reason == "and 4000 more problems, not listed"


READER = """
import sys
from perdure.hosts.sessions import read_session
from tests.memory_use import peak_kib
read_session(sys.argv[1])
before = peak_kib()
read = read_session(sys.argv[2])
print(len(read.turns), (peak_kib() - before) // 1024)
"""


@pytest.mark.requirement("E-09")
def test_a_session_of_50_megabytes_is_streamed(tmp_path: Path) -> None:
    """A large session is read whole in a tenth of its size of memory: only what may be evidence is kept."""
    session = PiSession()
    output = [{"type": "text", "text": "output " * 20_000}]
    for number in range(380):
        session.user(f"Turn {number}.")
        session.message("toolResult", output, toolName="bash", isError=False)
        session.says("Done.")
    large = session.write(tmp_path)
    small = two_turns().write(tmp_path, "small.jsonl")
    assert large.stat().st_size > 50 * MEBIBYTE
    command = [sys.executable, "-c", READER, str(small), str(large)]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=Path(__file__).parents[2])
    turns, mebibytes = done.stdout.split()
    assert int(turns) == 380
    assert int(mebibytes) < 10


GOLDEN = {
    "pi_v1.jsonl": [
        ("f8d18a56eb10684384f46348cdd81896", "settled"),
        ("c24c18a52e47c2a311bb55e79338d6a0", "aborted"),
        ("fc8f3db0a582443c07e960bca6f0883e", "settled"),
    ],
    "pi_v2.jsonl": [
        ("2789002f440a7ed09122d4aaa1ed3719", "settled"),
        ("c8ebda5546ddffc77883d312a897d54a", "settled"),  # on a branch that was left
        ("7be83214bf64c22f8ce63aa516916f70", "settled"),
        ("10d95204127423db091f464b84cc7140", "unfinished"),
    ],
    "claude_code.jsonl": [
        ("35cd8a99fd7be2e72cc06c8601cc08ba", "settled"),
        ("5d8e7c735175c5bc5c0b369860c86adf", "aborted"),
        ("47310fdd5e75c88067bc73798b294e08", "settled"),
        ("9ff4e67ea0beb17466c934d5d847e9c2", "unfinished"),
    ],
}


@pytest.mark.requirement("Q-01", "M-12")
@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_turn_ids_never_change_between_releases(name: str) -> None:
    """Coverage on users' disks names turns by these ids: another id would review old turns again."""
    read = read_session(DATA / name)
    assert ([(turn.turn_id, turn.end) for turn in read.turns], read.problems) == (GOLDEN[name], ())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1970-01-01T00:00:01.500Z", 1500),
        ("2026-11-30T17:28:02.323Z", 1796059682323),
        ("2026-11-30T18:28:02.323+01:00", 1796059682323),
        ("1969-12-31T23:59:59Z", None),
        ("2026-11-30T17:28:02", None),
        ("yesterday", None),
        ("9" * 50, None),
        (1500, 1500),
        (1500.9, 1500),
        (-1, None),
        (float("nan"), None),
        (10**30, None),
        (True, None),
        (None, None),
    ],
)
def test_instants_are_read_or_left_out(value: object, expected: int | None) -> None:
    """A host's timestamp is UTC milliseconds, or nothing when it is not plausible."""
    assert instant_ms(value) == expected
