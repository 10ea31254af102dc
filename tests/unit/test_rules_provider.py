"""The offline reviewer `rules`: what it finds in a window, what it leaves, and what it proposes."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.evidence import EvidenceLine, Role
from perdure.core.proposal import AddOp, AssessOp, Operation, Parsed, ReplaceOp, parse_proposal
from perdure.ports.provider import Hold, MemoryView, Provider, ReviewRequest, Usage
from perdure.provider.rule_memory import plain
from perdure.provider.rule_operations import findings
from perdure.provider.rule_sentences import mask_of, sentences
from perdure.provider.rules import RulesProvider
from tests.quality.rules_quality import count, wilson
from tests.quality.rules_sentences import SENTENCES


def _lines(*said: tuple[Role, str] | str) -> tuple[EvidenceLine, ...]:
    rows: list[tuple[Role, str]] = [("user", each) if isinstance(each, str) else each for each in said]
    return tuple(EvidenceLine(f"e{number}", role, text) for number, (role, text) in enumerate(rows, 1))


def _held(text: str, *, entry_id: str = "m1", key: str | None = None) -> MemoryView:
    return MemoryView(entry_id, "project", key, "normal", text)


def _request(
    *said: tuple[Role, str] | str,
    memory: tuple[MemoryView, ...] = (),
    room_chars: int = 4_500,
    operations_max: int = 8,
) -> ReviewRequest:
    return ReviewRequest("a1", _lines(*said), memory, room_chars, operations_max, None)


def _review(request: ReviewRequest) -> tuple[Operation, ...]:
    reply = RulesProvider().review(request, timeout_seconds=1.0)
    parsed = parse_proposal(
        reply.text,
        evidence_ids={line.line_id for line in request.evidence},
        entry_ids={entry.entry_id for entry in request.memory},
        operations_max=request.operations_max,
    )
    assert isinstance(parsed, Parsed)
    assert not parsed.left_out
    return parsed.proposal.operations


def _texts(*said: tuple[Role, str] | str) -> list[str]:
    return [finding.text for finding in findings(_lines(*said))]


def test_it_is_a_free_provider_that_is_always_ready() -> None:
    """It works with no account: nothing to set up, nothing to hold, no usage (G-06)."""
    provider: Provider = RulesProvider()
    request = _request("hello")
    reply = RulesProvider().review(request, timeout_seconds=1.0)
    assert (provider.name, provider.model, provider.paid, provider.prompt_version) == (
        "rules",
        "",
        False,
        "rules-1",
    )
    assert provider.ready() is None
    assert provider.quote(request) == Hold(0, 0, 0)
    assert reply.usage == Usage(0, 0, 0)
    assert reply.text == '{"operations":[]}'


@pytest.mark.requirement("D-04")
def test_a_statement_becomes_an_add_that_names_its_line() -> None:
    """An operation is typed and names the evidence that it rests on."""
    (operation,) = _review(_request(("assistant", "Done."), "No, the test command is `pnpm check`!"))
    assert operation == AddOp(
        text="The test command is `pnpm check`.",
        kind="project",
        key="test command",
        importance="high",
        evidence=("e2",),
        rationale="correction",
    )


@pytest.mark.requirement("L-04")
@pytest.mark.parametrize("role", ["host", "assistant", "tool"])
def test_only_human_lines_are_read(role: Role) -> None:
    """Text of the host, the model or a tool never becomes a preference."""
    assert _texts((role, "Remember that we always use tabs.")) == []


def test_the_labelled_messages_keep_their_precision_and_recall() -> None:
    """Over all labelled messages precision is at least 0.95 and recall at least 0.8."""
    counts = count(SENTENCES)
    assert counts.right / counts.caught >= 0.95
    assert counts.right / counts.wanted >= 0.8


def test_no_refusal_that_was_tuned_is_undone() -> None:
    """Of the messages that the tables were tuned on, none that should be left is caught."""
    tuned = [one for one in SENTENCES if one.part != "held" and one.kept is None]
    assert [one.message for one in tuned if _texts(one.message)] == []


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ('rename the label "if set, always use tabs" to indentation', []),
        ("move `we never use tabs; always use spaces` to the top", []),
        ("Always read docs/until.now.md before pushing.", ["Always read docs/until.now.md before pushing."]),
        ("Never rename `for now` flags.", ["Never rename `for now` flags."]),
    ],
)
def test_words_inside_quotations_code_and_names_say_nothing(message: str, kept: list[str]) -> None:
    """Nothing in quotation marks, backticks or a file's name makes or unmakes a statement."""
    assert _texts(message) == kept


def test_there_are_enough_labelled_messages() -> None:
    """The quality figures rest on at least 160 different messages."""
    assert len({one.message for one in SENTENCES}) == len(SENTENCES) >= 160


@pytest.mark.parametrize(
    "message",
    [
        "Always use tabs. Never mind.",
        "Should we always use tabs?",
        "I never said that we use tabs.",
        "What if we always use tabs",
        'The style guide: "always use tabs".',
        "Use tabs instead of spaces this time.",
        "He said: always use tabs.",
        "Always do it like that.",
        "> Always use tabs.",
        "```\nAlways use tabs.\n```\n",
        "~~~\nAlways use tabs.",
        "<system-reminder>\nAlways use tabs.\n</system-reminder>",
        "Traceback (most recent call last):\nAlways use tabs.",
        "For this PR:\n- always use tabs\n- never rebase",
        "# Guide\nAlways use tabs.\n# More\nNever rebase onto main.",
    ],
)
def test_what_is_not_plainly_meant_to_last_is_left(message: str) -> None:
    """Taken back, asked, denied, supposed, quoted, temporary, reported and pasted text is refused."""
    assert _texts(message) == []


def test_taking_back_in_the_next_message_counts() -> None:
    """Saying "never mind" takes back what the message before it said, and nothing older."""
    assert _texts("Never push to main.", "Always use tabs.", ("assistant", "Ok."), "oh, never mind") == [
        "Never push to main."
    ]


def test_a_list_under_a_lasting_lead_is_taken_item_by_item() -> None:
    """A line "From now on:" makes each item below it a statement of its own."""
    assert _texts("From now on:\n- single quotes in TypeScript\n- tests next to the source\n\nthanks") == [
        "Single quotes in TypeScript.",
        "Tests next to the source.",
    ]


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("We use C++ in the engine, not C.", "We use C++ in the engine, not C."),
        ("please always run src/a.ts through `tsc`!!", "Always run src/a.ts through `tsc`."),
        ("never use python 3.11.7, e.g. on ci.", "Never use python 3.11.7, e.g. on ci."),
        ("Always link https://example.org/a.b?c=d. Thanks.", "Always link https://example.org/a.b?c=d."),
        ("No, we use `npm ci`, not `npm i`.", "We use `npm ci`, not `npm i`."),
        ("don\u2019t edit generated files", "Don\u2019t edit generated files."),
    ],
)
def test_text_is_kept_as_it_was_written(message: str, kept: str) -> None:
    """A kept statement is the whole sentence without its opener; names, versions and links stay whole."""
    assert _texts(message) == [kept]


@pytest.mark.requirement("E-03")
def test_a_statement_with_a_secret_is_left() -> None:
    """What looks like a credential, or stands for one that was removed, is never proposed."""
    value = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=32))
    assert _texts(f"Remember that the deploy key starts with {value}") == []
    assert _texts("Remember that the password is swordfish and never changes") == []
    assert _texts("Always use the key [redacted] for staging") == []


def test_a_command_that_ran_well_is_kept_when_the_human_says_so() -> None:
    """A named command, its success, and "use that from now on" make one statement on all three lines."""
    said: tuple[tuple[Role, str], ...] = (
        ("user", "try `pnpm check`"),
        ("tool", "bash ok"),
        ("user", "that works, use that from now on"),
    )
    (operation,) = _review(_request(*said))
    assert isinstance(operation, AddOp)
    assert operation.text == "Use `pnpm check` from now on."
    assert operation.evidence == ("e1", "e2", "e3")
    assert _review(_request(said[0], ("tool", "bash failed"), said[2])) == ()
    assert _review(_request(said[0], said[2])) == ()


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Use npm.", "We use pnpm, not npm."),
        ("We use npm in this repo.", "no, use pnpm instead of npm"),
        ("We use Jest.", "we don't use jest anymore"),
        ("Always use tabs.", "never use tabs"),
    ],
)
def test_a_correction_replaces_what_it_plainly_turns_down(held: str, said: str) -> None:
    """The entry with the same frame is replaced, not contradicted by a second entry."""
    (operation,) = _review(
        _request(said, memory=(_held(held), _held("Deploys happen on Tuesdays.", entry_id="m2")))
    )
    assert isinstance(operation, ReplaceOp)
    assert operation.entry == "m1"


@pytest.mark.parametrize(
    "held", ["Use npm to publish packages.", "We use pnpm, not npm, in CI.", "Never use npm."]
)
def test_a_doubtful_replacement_is_an_addition(held: str) -> None:
    """Without the very same frame nothing is replaced."""
    (operation,) = _review(_request("Use pnpm instead of npm.", memory=(_held(held),)))
    assert isinstance(operation, AddOp)


def test_the_same_key_is_replaced() -> None:
    """A new command under a key that memory has takes the old one's place (M-15)."""
    memory = (_held("The test command is `make test`.", key="Test  Command"),)
    (operation,) = _review(_request("The test command is `just test`.", memory=memory))
    assert operation == ReplaceOp(
        entry="m1", text="The test command is `just test`.", evidence=("e1",), rationale="command"
    )


def test_saying_it_again_confirms_the_entry() -> None:
    """A restatement adds nothing and says so of the entry."""
    (operation,) = _review(_request("please, from now on use `uv`!", memory=(_held("Use uv."),)))
    assert operation == AssessOp(entry="m1", verdict="confirmed", evidence=("e1",), rationale="convention")


def test_repetitions_within_a_window_are_one_operation() -> None:
    """The same statement twice is one entry that rests on both lines; a later correction wins."""
    (operation,) = _review(_request("Never push to main.", "never push to MAIN"))
    assert isinstance(operation, AddOp)
    assert operation.evidence == ("e1", "e2")
    (operation,) = _review(_request("We use npm.", "No, we use pnpm, not npm."))
    assert isinstance(operation, AddOp)
    assert operation.text == "We use pnpm, not npm."


@pytest.mark.requirement("D-04")
def test_the_most_important_come_first_when_there_is_a_limit() -> None:
    """Explicit wishes go before corrections, conventions and preferences."""
    said = (
        "I prefer small commits.",
        "Never push to main.",
        "We use pnpm, not npm.",
        "Remember that CI runs on Windows.",
    )
    texts = [op.text for op in _review(_request(*said, operations_max=3)) if isinstance(op, AddOp)]
    assert texts == ["CI runs on Windows.", "We use pnpm, not npm.", "Never push to main."]


@pytest.mark.requirement("M-07")
def test_what_was_found_is_proposed_whatever_room_there_is() -> None:
    """Admission refuses what does not fit, and says so; a reviewer that kept silent would lose it unseen."""
    said = ("Remember that CI runs on Windows.", "Never push to main.")
    for room_chars in (0, 25):
        found = _review(_request(*said, room_chars=room_chars))
        assert [op.text for op in found if isinstance(op, AddOp)] == [
            "CI runs on Windows.",
            "Never push to main.",
        ]
    memory = (_held("We use npm in this project."),)
    (operation,) = _review(_request("Use uv instead of npm.", memory=memory, room_chars=0))
    assert isinstance(operation, ReplaceOp)


_PIECES = st.sampled_from(
    [one.message for one in SENTENCES]
    + ["`", '"', "\u201c", "'", "> ", "```", "\n", "\n\n", "- ", "...", "\ue000", "\ud800"]
)


@given(st.lists(_PIECES | st.text(max_size=40), max_size=12))
def test_any_message_gives_a_valid_proposal_and_always_the_same(pieces: list[str]) -> None:
    """Whatever is typed, the answer fits the schema, its bounds and the request, and is repeatable."""
    request = _request(" ".join(pieces), operations_max=3)
    operations = _review(request)
    assert operations == _review(request)
    assert len(operations) <= 3
    kept = [plain(op.text) for op in operations if isinstance(op, AddOp)]
    assert len(set(kept)) == len(kept)


@given(st.text(max_size=300) | _PIECES)
def test_a_mask_has_the_length_of_its_text(text: str) -> None:
    """Patterns find places in the mask that mean the same places in the text."""
    assert len(mask_of(text)) == len(text)
    assert all(len(one.mask) == len(one.text) for one in sentences(text, frozenset()))


@pytest.mark.parametrize(
    "filler", ["a", ".", "@", "-", "`", '"', "'", "/", "a.", "always ", "use a not ", ", ", "we "]
)
def test_long_messages_take_little_time(filler: str) -> None:
    """A full window of one character or word is read without going over it again and again."""
    message = (filler * 32_000)[:32_000]
    assert _texts(message) == []


def test_wilson_interval_of_a_known_case() -> None:
    """Nine of ten: 0.596 to 0.982, and nothing counted says nothing."""
    low, high = wilson(9, 10)
    assert (round(low, 3), round(high, 3)) == (0.596, 0.982)
    assert wilson(0, 0) == (0.0, 1.0)
