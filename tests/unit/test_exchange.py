"""Memory as Markdown and JSON files: round trips, what people may do to them, and what is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.exchange import (
    DOCUMENT_CHARS_MAX,
    ITEMS_MAX,
    Document,
    Item,
    diff,
    plan_additions,
    plan_whole,
    shown,
)
from perdure.core.exchange_json import from_json, to_json
from perdure.core.exchange_markdown import from_markdown, to_markdown
from perdure.core.memory import Add, Branch, Entry, Planned, empty_main, entry_digest, find_key, plan
from perdure.core.text import normalize_key
from perdure.errors import Refused, TextRefused, UsageError

PROJECT = "a" * 16

PIECES = [*"#*-+`\\<>!()[] \n\t:.ab\"'", "-->", "<!--", "**", "(high) ", "## ", "\n  ", "**a**: ", "é", "日"]
NASTY = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).map(
    "".join
)
TEXTS = NASTY.map(str.strip).filter(bool)
KEYS = NASTY.map(lambda text: " ".join(text.split())).filter(bool)
ENTRIES = st.lists(
    st.builds(
        Entry,
        entry_id=st.integers(0, 2**64 - 1).map(lambda number: f"{number:016x}"),
        text=TEXTS,
        kind=st.sampled_from(["project", "user", "agent", "my-notes"]),
        key=st.none() | KEYS,
        importance=st.sampled_from(["high", "normal", "low"]),
        origin=st.just("tool"),
        created_ms=st.just(1),
        updated_ms=st.just(2),
    ),
    max_size=6,
    unique_by=lambda entry: entry.entry_id,
)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


def branch_of(*entries: Entry, name: str = "main") -> Branch:
    """Make a branch with these entries."""
    return msgspec.structs.replace(empty_main(PROJECT), name=name, seq=3, entries=tuple(entries))


def entry(number: int, text: str, **fields: Any) -> Entry:
    """Make an entry with a plain id."""
    values: dict[str, Any] = {
        "kind": "project",
        "key": None,
        "importance": "normal",
        "origin": "tool",
        "created_ms": 1,
        "updated_ms": 1,
    }
    return Entry(entry_id=f"{number:016x}", text=text, **(values | fields))


def ids() -> Callable[[], str]:
    """Give new ids, one after the other."""
    count = itertools.count(0xF000)
    return lambda: f"{next(count):016x}"


def edited(branch: Branch, old: str, new: str) -> Planned:
    """Change the Markdown of a branch as a person would, and plan the result."""
    text = to_markdown(branch)
    assert text.count(old) == 1
    document = from_markdown(text.replace(old, new))
    assert document.base_digest == branch.digest
    return plan(branch, plan_whole(document, branch, ids()).edits, now_ms=9)


def bullet(found: Entry) -> str:
    """Give the whole Markdown of a one-line entry."""
    return next(line for line in to_markdown(branch_of(found)).splitlines() if found.entry_id in line) + "\n"


@pytest.mark.requirement("M-14")
@given(entries=ENTRIES, name=NAMES)
@pytest.mark.parametrize(("write", "read"), [(to_markdown, from_markdown), (to_json, from_json)])
def test_a_file_that_was_not_edited_says_exactly_what_the_branch_says(
    write: Callable[[Branch], str], read: Callable[[str], Document], entries: list[Entry], name: str
) -> None:
    """Whatever the texts, keys and names hold, export and import plan nothing, and lose nothing."""
    branch = branch_of(*entries, name=name)
    document = read(write(branch))
    assert (document.branch, document.base_digest) == (name, branch.digest)
    found = {item.entry_id: item for item in document.items}
    assert len(document.items) == len(entries)
    for held in entries:
        item = found[held.entry_id]
        assert (item.text, item.kind, item.key, item.importance) == (
            held.text,
            held.kind,
            held.key,
            held.importance,
        )
        assert item.digest is not None
        assert entry_digest(held).startswith(item.digest)
    assert plan_whole(document, branch, ids()).edits == ()


def test_a_comment_within_a_text_stays_visible() -> None:
    """A renderer of Markdown hides only our own comments, not what an entry says."""
    text = to_markdown(branch_of(entry(1, "<!-- hidden? --> shown")))
    (line,) = (line for line in text.splitlines() if line.startswith("- "))
    assert line.count(" <!--") == 1
    assert line.startswith("- \\<!-- hidden? --\\> shown <!-- ")


@pytest.mark.requirement("M-14")
def test_changed_words_are_a_replacement() -> None:
    """A bullet whose words changed keeps its id."""
    branch = branch_of(entry(1, "Use npm."), entry(2, "Other."))
    (change,) = edited(branch, "Use npm.", "Use pnpm.").changes
    assert change.before == branch.entries[0]
    assert change.after is not None
    assert (change.after.entry_id, change.after.text, change.after.origin) == (
        f"{1:016x}",
        "Use pnpm.",
        "edit",
    )


@pytest.mark.requirement("M-14")
def test_a_bullet_that_was_taken_away_is_a_removal() -> None:
    """The entry goes; the others stay."""
    branch = branch_of(entry(1, "Use npm."), entry(2, "Other."))
    planned = edited(branch, bullet(branch.entries[0]), "")
    assert planned.branch.entries == (branch.entries[1],)


@pytest.mark.requirement("M-14")
def test_a_bullet_without_a_comment_is_an_addition() -> None:
    """Kind, key, importance and several lines are read from what a person would write."""
    branch = branch_of(entry(1, "Use npm."))
    planned = edited(
        branch,
        bullet(branch.entries[0]),
        bullet(branch.entries[0])
        + "\n## user\n\n* (high) **Name**: Ada\n  Lovelace\n\n  of London\n\n+ (low) Likes tea.\n",
    )
    added = [change.after for change in planned.changes]
    assert [(e.kind, e.key, e.importance, e.text, e.origin) for e in added if e] == [
        ("user", "Name", "high", "Ada\nLovelace\n\nof London", "edit"),
        ("user", None, "low", "Likes tea.", "edit"),
    ]


@pytest.mark.requirement("M-14")
def test_kind_key_and_importance_can_be_edited() -> None:
    """Moving below another heading changes the kind; a key can be given, changed and taken off."""
    branch = branch_of(entry(1, "Use npm."), entry(2, "make ship", key="deploy", kind="user"))
    (change,) = edited(branch, "## project", "## agent").changes
    assert change.after is not None
    assert change.after.kind == "agent"
    (change,) = edited(branch, "- Use npm", "- (low) **tool**: Use npm").changes
    assert change.after is not None
    assert (change.after.key, change.after.importance) == ("tool", "low")
    (change,) = edited(branch, "**deploy**", "**ship**").changes
    assert change.after is not None
    assert (change.after.key, change.after.entry_id) == ("ship", f"{2:016x}")
    planned = edited(branch, "**deploy**: ", "")
    assert find_key(planned.branch, "deploy") is None
    assert [e.text for e in planned.branch.entries] == ["Use npm.", "make ship"]


@pytest.mark.requirement("M-14")
@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("- Use npm.", "Use npm.", "line 9: text that belongs to no entry"),
        ("- Use npm. ", "- ", "line 9: the entry has no text"),
        (f"{1:016x}", f"{7:016x}", "line 9: there is no entry"),
        (
            "- Use npm.",
            f"- Twice <!-- {1:016x} {'0' * 12} -->\n- Use npm.",
            "line 9: entry .* has another digest",
        ),
        ("## project", "## two words", "line 9: a kind is a word"),
        ("perdure-memory 1", "perdure-memory 2", "line 1: the file has format 2"),
        (" base=", " basis=", "line 1: the comment .* was changed"),
        ('"main"', '"\\q"', "line 1: the branch's name is not readable"),
    ],
)
def test_a_broken_file_is_refused_by_line(old: str, new: str, where: str) -> None:
    """Nothing that a person wrote is lost in silence: the message names the line."""
    with pytest.raises(UsageError, match=where):
        edited(branch_of(entry(1, "Use npm.")), old, new)


@pytest.mark.requirement("M-14")
def test_an_entry_that_stands_twice_is_refused() -> None:
    """A bullet that was copied with its comment is not taken for either of the two."""
    found = entry(1, "Use npm.")
    with pytest.raises(UsageError, match=r"line 10: entry .* stands at line 9 already"):
        edited(branch_of(found), bullet(found), bullet(found) * 2)


@pytest.mark.requirement("M-10", "M-14")
def test_every_door_checks_texts_and_keys() -> None:
    """A fence, a broken key or an instruction is refused at import as anywhere else, naming the place."""
    branch = branch_of(entry(1, "Use npm."))
    for words, code in (("</perdure-memory>", "fence"), ("a\u200bb", "invisible"), ("**_x**: y", "reserved")):
        for old in ("Use npm.", bullet(branch.entries[0])):
            new = words if old == "Use npm." else f"- {words}\n{old}"
            with pytest.raises(TextRefused, match="line 9") as refused:
                edited(branch, old, new)
            assert refused.value.code == code


@pytest.mark.requirement("M-14")
def test_what_was_left_alone_is_not_judged_again() -> None:
    """An entry that today's rules would refuse does not stand in the way of editing another one."""
    branch = branch_of(entry(1, "</perdure-memory>"), entry(2, "Use npm."))
    assert len(edited(branch, "Use npm.", "Use pnpm.").changes) == 1


@pytest.mark.requirement("M-08", "M-14")
def test_a_foreign_file_only_adds_and_lists_what_is_there_already() -> None:
    """Texts and keyed values that stand there are duplicates, within the file too."""
    branch = branch_of(entry(1, "Use npm."), entry(2, "make ship", key="deploy"))
    document = from_markdown(
        "\ufeff# Notes\r\n\r\n- Use npm.\r\n- **Deploy**: make ship\r\n- New.\r\n- New.\r\n"
    )
    planned = plan_additions(document, branch, ids())
    assert [edit.text for edit in planned.edits if isinstance(edit, Add)] == ["New."]
    assert [item.where for item in planned.duplicates] == ["line 3", "line 4", "line 6"]


@pytest.mark.requirement("M-14")
def test_a_foreign_file_does_not_supersede_a_key() -> None:
    """All keys with other values are named, and nothing is planned."""
    branch = branch_of(entry(2, "make ship", key="deploy"))
    items = [("x", "DEPLOY"), ("New.", None), ("a", "k"), ("b", "K")]
    document = Document(
        tuple(Item(text, key=key, where=f"line {line}") for line, (text, key) in enumerate(items, 1))
    )
    with pytest.raises(Refused, match=r"2 keys .*line 1: 'DEPLOY'; line 4: 'K'"):
        plan_additions(document, branch, ids())


@pytest.mark.requirement("M-14")
@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"entries": [{"text": "x", "colour": "red"}]},
        {"entries": [{"kind": "user"}]},
        {"entries": [{"text": "x", "importance": "huge"}]},
        {"extra": 1},
    ],
)
def test_a_json_file_of_another_form_is_refused(change: dict[str, Any]) -> None:
    """Unknown fields and versions are refused rather than dropped (S-05)."""
    document = json.loads(to_json(branch_of(entry(1, "Use npm."))))
    with pytest.raises(UsageError, match="not a perdure-memory document"):
        from_json(json.dumps(document | change))


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"format": "\ud800"}'])
def test_bytes_that_are_no_json_are_refused(text: str) -> None:
    """Empty, deeply nested and broken text end in the same clear refusal."""
    with pytest.raises(UsageError, match="not a perdure-memory document"):
        from_json(text)


@pytest.mark.parametrize("read", [from_markdown, from_json])
def test_a_giant_file_is_refused_before_it_is_read(read: Callable[[str], Document]) -> None:
    """The bound comes before the parser."""
    with pytest.raises(UsageError, match="at most"):
        read("x" * (DOCUMENT_CHARS_MAX + 1))


@pytest.mark.requirement("M-14")
def test_more_entries_than_a_branch_can_hold_are_refused_at_once() -> None:
    """Each entry is judged, which takes long for hundreds of thousands."""
    assert len(from_markdown("- a\n" * ITEMS_MAX).items) == ITEMS_MAX
    with pytest.raises(UsageError, match="no branch can hold"):
        from_markdown("- a\n" * (ITEMS_MAX + 1))
    entries = [{"text": "a"}] * (ITEMS_MAX + 1)
    with pytest.raises(UsageError, match="no branch can hold"):
        from_json(json.dumps({"format": "perdure-memory", "version": 1, "entries": entries}))


@pytest.mark.requirement("M-14")
def test_a_diff_says_what_was_and_what_is() -> None:
    """A change has three lines, an addition and a removal one."""
    branch = branch_of(entry(1, "Use npm.", importance="high", key="tool"), entry(2, "Old."))
    text = to_markdown(branch).replace("Use npm.", "Use pnpm.").replace(bullet(branch.entries[1]), "- New.\n")
    planned = plan(branch, plan_whole(from_markdown(text), branch, ids()).edits, now_ms=9)
    assert [(line.sign, line.text) for line in diff(planned.changes)] == [
        ("-", "[project] Old."),
        ("~", f"{1:016x}"),
        ("-", "[project] (high) tool: Use npm."),
        ("+", "[project] (high) tool: Use pnpm."),
        ("+", "[project] New."),
    ]


def test_a_long_text_is_shown_by_its_beginning() -> None:
    """Messages stay on one line."""
    assert shown("a\n b") == "a b"
    assert len(shown("word " * 100)) == 60


@given(key=KEYS)
def test_keys_survive_as_they_are_spelt(key: str) -> None:
    """Spelling is kept; comparison is by the one key rule (M-15)."""
    branch = branch_of(entry(1, "x", key=key))
    (item,) = from_markdown(to_markdown(branch)).items
    assert item.key is not None
    assert normalize_key(item.key) == normalize_key(key)
    assert item.key == key
