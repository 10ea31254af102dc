"""Evidence: what is kept of a turn, and how turns are cut into windows."""

from __future__ import annotations

import base64
import random
import unicodedata
from collections.abc import Container, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.core import windows as cutting
from perdure.core.canonical import canonical
from perdure.core.encoded import DATA_REMOVED, remove_data
from perdure.core.evidence import Evidence, EvidenceTurn, RawLine, RawTurn, Role, TurnEnd, Windows
from perdure.core.sanitising import TURN_LINES_MAX, sanitise, sanitised_text
from perdure.core.secrets import redact
from perdure.core.windows import WINDOW_BYTES_MAX, WINDOW_CHARS_MAX, WINDOW_TURNS_MAX, turn_chars, windows
from perdure.errors import Refused

SESSION = "0" * 32


def raw(number: int, *lines: tuple[Role, str], end: TurnEnd = "settled") -> RawTurn:
    """Make the turn of a number."""
    held = tuple(RawLine(role=role, text=text) for role, text in lines or (("user", f"Turn {number}."),))
    return RawTurn(turn_id=f"{number:032x}", settled_ms=number, end=end, lines=held, position=number)


def cut(turns: Sequence[RawTurn], covered: Container[str] = ()) -> Windows:
    """Cut turns into windows."""
    return windows("pi", SESSION, turns, covered)


def texts(turn: EvidenceTurn) -> list[str]:
    """List the texts of a turn."""
    return [line.text for line in turn.lines]


def numbers(evidence: Evidence) -> list[int]:
    """List the numbers of a window's turns."""
    return [turn.settled_ms for turn in evidence.turns]


def words(count: int) -> str:
    """Make a text of so many characters out of short words."""
    return ("word " * (count // 5 + 1))[: count - 1] + "."


def secret(seed: int) -> str:
    """Make a token of a well-known shape, new for each seed; never one that stands in a file."""
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    return "_".join(("ghp", "".join(random.Random(seed).choices(letters, k=36))))


@pytest.mark.requirement("E-02")
def test_a_turn_keeps_its_texts_in_order_and_its_tools_by_name_and_end() -> None:
    """User, host and assistant text and tool ends are kept; empty lines are not."""
    turn = raw(
        1,
        ("user", "  Fix it.\n"),
        ("assistant", " \n "),
        ("tool", "bash failed"),
        ("tool", "my tool  with\tspaces ok"),
        ("tool", " ok"),
        ("tool", "odd"),
        ("host", "A note."),
        ("assistant", "Done."),
    )
    clean = sanitise(turn)
    assert [(line.role, line.text) for line in clean.lines] == [
        ("user", "Fix it."),
        ("tool", "bash failed"),
        ("tool", "my tool with spaces ok"),
        ("tool", "tool ok"),
        ("tool", "tool failed"),
        ("host", "A note."),
        ("assistant", "Done."),
    ]
    assert (clean.turn_id, clean.settled_ms, clean.cut) == (turn.turn_id, 1, False)


@pytest.mark.requirement("E-03", "E-10", "X-01")
@pytest.mark.parametrize("role", ["user", "host", "assistant", "tool"])
def test_no_line_of_any_role_keeps_a_secret(role: Role) -> None:
    """Secrets are removed from every kind of line, a tool's name included."""
    token = secret(7)
    clean = sanitise(raw(1, ("user", "Hello."), (role, f"use {token} ok")))
    assert token not in repr(clean)
    assert token[8:24] not in repr(clean)


@pytest.mark.requirement("E-02")
def test_encoded_data_is_replaced() -> None:
    """Data URLs, base64 on one line or wrapped, and long unbroken runs say nothing: a mark stands there."""
    chance = random.Random(3)
    data = base64.b64encode(chance.randbytes(3000)).decode()
    wrapped = "\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    quoted = "\n".join("> " + line for line in wrapped.splitlines())
    image = f'see <img src="data:image/png;base64,{data[:64]}"> here'
    assert remove_data(image) == f'see <img src="{DATA_REMOVED}"> here'
    assert remove_data(f"before {data} after") == f"before {DATA_REMOVED} after"
    assert remove_data(f"x={data[:300]};y") == DATA_REMOVED
    assert remove_data(f"before\n{wrapped}\nafter it.") == f"before\n{DATA_REMOVED}\n\nafter it."
    assert remove_data(f"before\n{quoted}\nafter it.").split() == [
        "before",
        *DATA_REMOVED.split(),
        "after",
        "it.",
    ]
    assert remove_data("a.b" * 700) == DATA_REMOVED
    prose = "汉字" * 1500 + " and " + "a.b" * 600 + " and /a/path/" + "x" * 200 + " " + "f" * 64
    assert remove_data(prose) == prose
    assert remove_data("\ud83d and \ud83d\ude00") == "\ufffd and \U0001f600"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
HARD_PIECES = st.sampled_from(
    ["\u200b", "a" * 255, "b.c" * 650, "\ud83d", "password: ", "\r\n", "data:a/b,c"]
)


@given(st.lists(ANY_TEXT | HARD_PIECES, max_size=6).map("".join))
@example("ab/" * 50 + "\u200b" + "cd/" * 50)
def test_sanitising_comes_to_rest(text: str) -> None:
    """Sanitised text is sanitised: doing it again changes nothing, and it can be written (E-03, E-10)."""
    once = sanitised_text(text)
    assert sanitised_text(once) == once
    once.encode("utf-8")
    assert "\0" not in once


@pytest.mark.requirement("E-02", "E-09")
def test_repeated_and_countless_tool_lines_are_bounded() -> None:
    """Runs of one tool become one line; beyond 400 lines, tools are gathered, then the end is cut."""
    run: list[tuple[Role, str]] = [("tool", "bash ok")] * 37
    joined = sanitise(raw(1, ("user", "Go."), *run, ("tool", "edit ok"), ("user", "Go."), ("user", "Go.")))
    assert texts(joined) == ["Go.", "bash ok x37", "edit ok", "Go.", "Go."]
    mixed: list[tuple[Role, str]] = [
        ("tool", "bash ok"),
        ("tool", "bash ok"),
        ("tool", "edit ok"),
        ("tool", "a x2 failed"),
    ] * 200
    gathered = sanitise(raw(1, ("user", "Go."), *mixed, ("assistant", "Done.")))
    assert texts(gathered) == ["Go.", "bash ok x400", "edit ok x200", "a x2 failed x200", "Done."]
    assert not gathered.cut
    talk: list[tuple[Role, str]] = [("user", "Go."), ("assistant", "Done.")] * 300
    assert len(sanitise(raw(1, *talk)).lines) == TURN_LINES_MAX
    assert sanitise(raw(1, *talk)).cut
    long = sanitise(raw(1, ("user", "Go."), ("tool", "n" * 5000 + " ok"), ("tool", "nö " * 90 + "ok")))
    assert max(map(len, texts(long))) <= 83


@pytest.mark.requirement("E-09")
def test_what_no_window_can_hold_is_not_sanitised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of megabytes costs no more than its first 64,000 characters."""
    seen: list[int] = []

    def counting(text: str) -> tuple[str, tuple[str, ...]]:
        seen.append(len(text))
        return text, ()

    monkeypatch.setattr("perdure.core.sanitising.redact", counting)
    long: list[tuple[Role, str]] = [("user", words(30_000))] * 100
    clean = sanitise(raw(1, *long))
    assert (clean.cut, len(clean.lines), len(seen)) == (True, 3, 3)


@pytest.mark.requirement("K-04", "E-01")
def test_only_settled_turns_with_something_to_say_are_evidence() -> None:
    """Every other turn is skipped with its reason, and a window goes on over it."""
    turns = [
        raw(0),
        raw(1, end="aborted"),
        raw(2, end="failed"),
        raw(3, ("tool", "bash ok")),
        raw(4, ("user", "Look."), ("tool", "bash ok")),
        raw(5, ("assistant", "  ")),
        raw(0),
        raw(7, end="unfinished"),
    ]
    found = cut(turns)
    assert [numbers(one) for one in found.evidence] == [[0, 4]]
    assert [(one.position, one.reason) for one in found.skipped] == [
        (1, "aborted"), (2, "failed"), (3, "empty"), (5, "empty"), (0, "duplicate"), (7, "unfinished"),
    ]  # fmt: skip
    assert found.uncovered == ()


@pytest.mark.requirement("E-01")
def test_a_window_has_twelve_turns_and_numbers_its_lines() -> None:
    """Windows follow the order of the session, at most twelve turns each; line ids run over a window."""
    found = cut([raw(number, ("user", "Go."), ("assistant", "Done.")) for number in range(30)])
    assert [numbers(one) for one in found.evidence] == [
        list(range(12)),
        list(range(12, 24)),
        list(range(24, 30)),
    ]
    for window in found.evidence:
        ids = [line.line_id for turn in window.turns for line in turn.lines]
        assert ids == [f"e{count + 1}" for count in range(2 * len(window.turns))]
    assert found.evidence[0].frontier == f"{11:032x}"


@pytest.mark.requirement("E-01")
def test_a_window_has_at_most_32000_characters() -> None:
    """The turn that does not fit begins the next window; what just fits, fits."""
    half = WINDOW_CHARS_MAX // 2
    fits = [raw(0, ("user", words(half))), raw(1, ("user", words(half)))]
    assert [numbers(one) for one in cut(fits).evidence] == [[0, 1]]
    over = [raw(0, ("user", words(half))), raw(1, ("user", words(half + 1))), raw(2)]
    assert [numbers(one) for one in cut(over).evidence] == [[0], [1, 2]]


@pytest.mark.requirement("E-01", "Q-01")
def test_coverage_splits_windows_and_nothing_covered_comes_again() -> None:
    """A covered turn ends the window before it; the rest is what is new."""
    turns = [raw(number) for number in range(8)]
    covered = {turns[number].turn_id for number in (0, 3, 4)}
    assert [numbers(one) for one in cut(turns, covered).evidence] == [[1, 2], [5, 6, 7]]
    assert cut(turns, {turn.turn_id for turn in turns}) == Windows((), (), ())


@pytest.mark.requirement("E-01")
def test_one_turn_over_the_limit_is_cut_at_its_end_and_marked() -> None:
    """The start is kept, the cut falls between words, later lines go, and the turn counts as covered."""
    turn = raw(1, ("user", "Start."), ("assistant", words(40_000)), ("tool", "bash ok"), ("user", "Late."))
    found = cut([raw(0), turn, raw(2)])
    clean = found.evidence[1].turns[0]
    assert [numbers(one) for one in found.evidence] == [[0], [1], [2]]
    assert (clean.cut, found.evidence[0].turns[0].cut) == (True, False)
    assert texts(clean)[0] == "Start."
    assert texts(clean)[1].endswith("word")
    assert WINDOW_CHARS_MAX - 10 < turn_chars(clean) <= WINDOW_CHARS_MAX
    assert len(clean.lines) == 2


@pytest.mark.requirement("E-03", "X-01")
@pytest.mark.parametrize("back", range(0, 60, 5))
def test_no_half_of_a_secret_stays_at_the_cut(back: int) -> None:
    """Wherever the cut falls in a secret, nothing of it is left."""
    token = secret(back)
    text = words(WINDOW_CHARS_MAX - back) + " " + token + words(2000)
    clean = cut([raw(1, ("user", text))]).evidence[0].turns[0]
    assert clean.cut
    assert token[:12] not in repr(clean)
    assert turn_chars(clean) <= WINDOW_CHARS_MAX


@pytest.mark.requirement("E-03")
def test_a_cut_that_lays_a_secret_bare_is_redacted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules see the text as it is stored: what only the cut made recognisable is removed, in bounds."""

    def strict(text: str) -> tuple[str, tuple[str, ...]]:
        if text.endswith("word"):
            return text[:-4] + "[secret removed: made up for the test]", ("x",)
        return redact(text)

    monkeypatch.setattr("perdure.core.sanitising.redact", strict)
    clean = cut([raw(1, ("user", words(40_000)))]).evidence[0].turns[0]
    assert not texts(clean)[0].endswith("word")
    assert turn_chars(clean) <= WINDOW_CHARS_MAX


@pytest.mark.requirement("E-09")
def test_a_window_has_at_most_100_kibibytes() -> None:
    """Texts of wide characters and turns of many lines keep to the bytes of a job, cut where they must be."""
    wide = [raw(number, ("user", "\U0001f600" * 2600)) for number in range(12)]
    giant = raw(12, ("user", "\U0001f600" * 31_000))
    talk: list[tuple[Role, str]] = [("user", "Go."), ("assistant", "Done.")]
    many = [raw(13 + number, *talk * 200) for number in range(8)]
    found = cut([*wide, giant, *many])
    assert [turn.settled_ms for one in found.evidence for turn in one.turns] == list(range(21))
    for window in found.evidence:
        assert len(canonical(window)) <= WINDOW_BYTES_MAX
    sizes = [len(canonical(window)) for window in found.evidence]
    assert max(sizes) > WINDOW_BYTES_MAX * 9 // 10


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301\u0323",
        "\U0001f469\u200d\U0001f4bb",
        "\U0001f44d\U0001f3fd",
        "\U0001f1e9\U0001f1ea",
        "क्ष",
        "✈\ufe0f",
    ],
)
def test_a_cut_never_splits_what_reads_as_one_character(cluster: str) -> None:
    """Marks, joiners, flags and skin tones stay with their base, at every offset of the cut (E-01)."""
    cluster = unicodedata.normalize("NFC", cluster)
    for offset in range(len(cluster)):
        text = "\u3042" * (WINDOW_CHARS_MAX - offset) + cluster * 900
        (kept,) = texts(cut([raw(1, ("user", text))]).evidence[0].turns[0])
        assert text.startswith(kept)
        assert len(kept) == WINDOW_CHARS_MAX - offset
    endless = "\u0915\u094d" * 20_000
    (kept,) = texts(cut([raw(1, ("user", endless))]).evidence[0].turns[0])
    assert len(kept) == WINDOW_CHARS_MAX


@pytest.mark.requirement("E-09")
@pytest.mark.parametrize(("problem", "reason"), [(Refused("no"), "secret"), (UnicodeError("no"), "text")])
def test_what_cannot_be_sanitised_is_recorded_and_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch, problem: Exception, reason: str
) -> None:
    """A turn that sanitising refuses is uncovered with its reason; the windows around it go on."""

    def refusing(text: str) -> tuple[str, tuple[str, ...]]:
        if "REFUSE" in text:
            raise problem
        return redact(text)

    monkeypatch.setattr("perdure.core.sanitising.redact", refusing)
    found = cut([raw(0), raw(1), raw(2, ("user", "REFUSE")), raw(3)])
    assert [numbers(one) for one in found.evidence] == [[0, 1], [3]]
    assert [(one.position, one.settled_ms, one.reason) for one in found.uncovered] == [(2, 2, reason)]


@pytest.mark.requirement("E-03", "E-09")
def test_a_redaction_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that still changes after several rounds of redaction is not stored."""
    monkeypatch.setattr("perdure.core.sanitising.redact", lambda text: (text + "!", ("x",)))
    with pytest.raises(Refused, match="still looked like a secret"):
        sanitised_text("a")
    assert cut([raw(0)]).uncovered[0].reason == "secret"


def test_a_cut_that_leaves_nothing_skips_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """When redaction of what the cut left takes all of it, the turn is empty, and the loop ends (E-09)."""
    monkeypatch.setattr(cutting, "sanitised_text", lambda text: text + "x" * 40_000)
    assert [one.reason for one in cut([raw(0, ("user", words(40_000)))]).skipped] == ["empty"]


PIECES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "tool", "host"]),
        st.sampled_from(["Go.", "bash ok", words(90), words(330), "汉字 " * 60, "é" * 700, "\ud800", ""]),
    ),
    max_size=4,
)
SESSIONS = st.lists(
    st.tuples(PIECES, st.sampled_from(["settled", "settled", "settled", "failed"])), max_size=20
)


@pytest.mark.requirement("E-01", "E-09", "Q-01")
@given(SESSIONS, st.integers(0, 20))
def test_windows_hold_every_bound_cover_all_and_never_change(
    drawn: list[tuple[list[tuple[Role, str]], TurnEnd]], first: int
) -> None:
    """Every turn is in exactly one place; bounds hold; a longer session keeps the windows it had.

    The limits are a hundredth of the real ones, so that short texts reach them.
    """
    turns = [raw(number, *(lines or [("user", "Go.")]), end=end) for number, (lines, end) in enumerate(drawn)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "WINDOW_CHARS_MAX", 320)
        patch.setattr(cutting, "WINDOW_BYTES_MAX", 1500)
        found, earlier = cut(turns), cut(turns[:first]).evidence
    placed = [turn.turn_id for one in found.evidence for turn in one.turns]
    placed += [one.turn_id for one in found.skipped] + [one.turn_id for one in found.uncovered]
    assert sorted(placed) == [turn.turn_id for turn in turns]
    for window in found.evidence:
        assert 1 <= len(window.turns) <= WINDOW_TURNS_MAX
        assert sum(map(turn_chars, window.turns)) <= 320
        assert len(canonical(window)) <= 1500
        assert window.turns[0].lines[0].line_id == "e1"
    kept = max(len(earlier) - 1, 0)  # the last window of the shorter session may still grow
    assert earlier[:kept] == found.evidence[:kept]
