"""Branches, edits, their inverse, keys and capacity."""

from __future__ import annotations

import contextlib
import secrets

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.memory import (
    BRANCH_CHARS_MAX,
    ENTRY_CHARS_MAX,
    REVIEW_CHARS_TARGET,
    Add,
    Branch,
    Change,
    Edit,
    EditRefused,
    Importance,
    Remove,
    Replace,
    check_capacity,
    check_review_capacity,
    empty_main,
    entry_chars,
    entry_digest,
    find_entry,
    find_key,
    invert,
    main_branch_id,
    plan,
)
from perdure.core.text import normalize_key
from tests.core_values import PROJECT, branch, entry

KEYS = st.one_of(st.none(), st.sampled_from(["one", "ONE ", "two", "Größe", "GRÖSSE", "t w o"]))
TEXTS = st.sampled_from(["Use pnpm.", "Use npm.", "Ship on Friday.", "x"])
IDS = st.sampled_from([letter * 16 for letter in "abcdef"])
NAMES: tuple[Importance, ...] = ("high", "normal", "low")
IMPORTANCE = st.sampled_from(NAMES)


def add(text: str = "Use pnpm.", key: str | None = None, entry_id: str = "a" * 16) -> Add:
    """An added entry."""
    return Add(text, "project", key, "normal", "tool", entry_id)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[Edit, ...]]:
    """Plans of one to three edits; ids of adds never recur."""
    count, made = 0, []
    for _ in range(draw(st.integers(1, 5))):
        edits: list[Edit] = []
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(["add", "replace", "remove"]))
            if kind == "add":
                edits.append(
                    Add(draw(TEXTS), "project", draw(KEYS), draw(IMPORTANCE), "tool", f"{count:016x}")
                )
                count += 1
            else:
                target = f"{draw(st.integers(0, max(0, count - 1))):016x}"
                replace = Replace(
                    target,
                    draw(st.one_of(st.none(), TEXTS)),
                    None,
                    draw(KEYS),
                    draw(st.one_of(st.none(), IMPORTANCE)),
                )
                edits.append(replace if kind == "replace" else Remove(target))
        made.append(tuple(edits))
    return made


def grown(plans: list[tuple[Edit, ...]]) -> list[tuple[Branch, Branch, tuple[Change, ...]]]:
    """Before, after and changes of each plan that the branch takes."""
    now, history = empty_main(PROJECT), []
    for when, edits in enumerate(plans, 10):
        with contextlib.suppress(EditRefused):
            planned = plan(now, edits, now_ms=when)
            if planned.changes:
                history.append((now, planned.branch, planned.changes))
            now = planned.branch
    return history


@pytest.mark.requirement("M-09")
@given(steps())
def test_undo_is_the_inverse_of_a_plan(plans: list[tuple[Edit, ...]]) -> None:
    """Undoing the last change gives the entries back as they were, in their order, at a new sequence."""
    for before, after, changes in grown(plans):
        undone = invert(after, changes, now_ms=99)
        assert undone.branch.entries == before.entries
        assert undone.branch.seq == after.seq + 1
        redone = invert(undone.branch, undone.changes, now_ms=100)
        assert redone.branch.entries == after.entries


@pytest.mark.requirement("M-09")
@given(steps(), st.integers(0, 4))
def test_undo_of_an_earlier_change_keeps_later_writes(plans: list[tuple[Edit, ...]], which: int) -> None:
    """Either it refuses, or every entry that the revision did not touch is as it was, in its order."""
    history = grown(plans)
    if not history:
        return
    before, after, changes = history[which % len(history)]
    now = history[-1][1]
    touched = {change.entry_id for change in changes}
    refused = ""
    undone = now
    try:
        undone = invert(now, changes, now_ms=99).branch
    except EditRefused as verdict:
        refused = verdict.code
    left = {e.entry_id: e for e in after.entries}
    changed = any(find_entry(now, name) != left.get(name) for name in touched)
    assert refused in ({"changed", "duplicate-key"} if changed else {"", "duplicate-key"})
    assert [e for e in undone.entries if e.entry_id not in touched] == [
        e for e in now.entries if e.entry_id not in touched
    ]
    for name in touched if not refused else ():
        assert find_entry(undone, name) == find_entry(before, name)


@pytest.mark.requirement("M-15")
@given(steps())
def test_no_two_current_entries_have_one_key(plans: list[tuple[Edit, ...]]) -> None:
    """Whatever is planned or undone, a key has one current entry by the one rule."""
    for before, after, changes in grown(plans):
        for state in (before, after, invert(after, changes, now_ms=99).branch):
            keys = [normalize_key(e.key) for e in state.entries if e.key is not None]
            assert len(keys) == len(set(keys))


@pytest.mark.requirement("M-15")
def test_an_add_to_an_existing_key_supersedes_in_place() -> None:
    """The entry keeps its id, place, key as spelt and creation time; the old value is in the change."""
    before = branch([entry("Old.", entry_id="a" * 16, key="Größe"), entry("Other.", entry_id="b" * 16)])
    planned = plan(before, (add("New.", key="GRÖSSE ", entry_id="c" * 16),), now_ms=50)
    (change,) = planned.changes
    assert change.before == before.entries[0]
    after = planned.branch.entries[0]
    assert (after.entry_id, after.key, after.text, after.created_ms, after.updated_ms) == (
        "a" * 16,
        "Größe",
        "New.",
        1,
        50,
    )
    assert len(planned.branch.entries) == 2
    assert find_key(planned.branch, "grösse") == after
    assert find_key(planned.branch, "other") is None


@pytest.mark.requirement("M-15")
def test_a_replace_cannot_take_anothers_key() -> None:
    """The one that holds the key is named; its own key in another spelling is fine."""
    before = branch([entry(entry_id="a" * 16, key="one"), entry("B.", entry_id="b" * 16)])
    with pytest.raises(EditRefused) as caught:
        plan(before, (Replace("b" * 16, key="ONE"),), now_ms=2)
    assert caught.value.code == "duplicate-key"
    assert plan(before, (Replace("a" * 16, key="ONE"),), now_ms=2).branch.entries[0].key == "ONE"


@pytest.mark.requirement("M-15", "M-09")
def test_undo_cannot_bring_a_key_back_that_was_taken_meanwhile() -> None:
    """The later entry of that key survives, and undo says why it refuses."""
    before = branch([entry("Old.", entry_id="a" * 16, key="one")])
    removed = plan(before, (Remove("a" * 16),), now_ms=2)
    taken = plan(removed.branch, (add("New.", key="One", entry_id="b" * 16),), now_ms=3).branch
    with pytest.raises(EditRefused) as caught:
        invert(taken, removed.changes, now_ms=4)
    assert caught.value.code == "duplicate-key"


@pytest.mark.requirement("M-08")
def test_exact_duplicates_and_empty_changes_are_no_ops() -> None:
    """The branch is the very same, without a new sequence number."""
    before = branch([entry("Use pnpm.", entry_id="a" * 16)])
    for edit in (
        add(entry_id="b" * 16),
        Replace("a" * 16),
        Replace("a" * 16, text="Use pnpm.", importance="normal"),
    ):
        planned = plan(before, (edit,), now_ms=9)
        assert planned.branch is before
        assert planned.changes == ()
    other = Add("Use pnpm.", "user", None, "normal", "tool", "b" * 16)
    assert plan(before, (other,), now_ms=9).changes


@pytest.mark.requirement("M-05")
def test_an_edit_planned_on_another_entry_is_refused() -> None:
    """Replace and forget with an expected digest are compare-and-swap; a missing entry is named."""
    before = branch([entry(entry_id="a" * 16)])
    right = entry_digest(before.entries[0])
    for edit in (Replace("a" * 16, text="New.", expected=right), Remove("a" * 16, expected=right)):
        assert plan(before, (edit,), now_ms=2).changes
        stale = msgspec.structs.replace(edit, expected="0" * 64)
        with pytest.raises(EditRefused) as caught:
            plan(before, (stale,), now_ms=2)
        assert caught.value.code == "changed"
    for missing in (Replace("f" * 16, text="New."), Remove("f" * 16)):
        with pytest.raises(EditRefused) as caught:
            plan(before, (missing,), now_ms=2)
        assert caught.value.code == "missing"


@pytest.mark.requirement("M-05")
def test_nothing_of_a_refused_plan_takes_effect() -> None:
    """Edits go together or not at all: the branch is a value."""
    before = branch([entry(entry_id="a" * 16)])
    with pytest.raises(EditRefused):
        plan(before, (Replace("a" * 16, text="New."), Remove("f" * 16)), now_ms=2)
    assert before == branch([entry(entry_id="a" * 16)])


@pytest.mark.requirement("M-07")
def test_an_entry_holds_at_most_its_limit() -> None:
    """800 characters go in, 801 do not, by add or by replace."""
    full, over = "x" * ENTRY_CHARS_MAX, "x" * (ENTRY_CHARS_MAX + 1)
    assert ENTRY_CHARS_MAX == 800
    before = branch([entry(entry_id="b" * 16)])
    for text, fits in ((full, True), (over, False)):
        for edit in (add(text), Replace("b" * 16, text=text)):
            if fits:
                assert plan(before, (edit,), now_ms=2).changes
                continue
            with pytest.raises(EditRefused) as caught:
                plan(before, (edit,), now_ms=2)
            assert caught.value.code == "too-long"


def sized(chars: int) -> Branch:
    """A branch that counts that many characters."""
    made = branch([entry("x" * chars, entry_id="a" * 16)])
    assert made.chars == chars
    return made


@pytest.mark.requirement("M-07")
@pytest.mark.parametrize(
    ("before", "after", "foreground", "review"),
    [
        (0, REVIEW_CHARS_TARGET, True, True),
        (0, REVIEW_CHARS_TARGET + 1, True, False),
        (REVIEW_CHARS_TARGET, REVIEW_CHARS_TARGET, True, True),
        (REVIEW_CHARS_TARGET, REVIEW_CHARS_TARGET + 1, True, False),
        (5_000, 5_000, True, True),
        (5_000, 4_999, True, True),
        (5_000, 5_001, True, False),
        (5_000, BRANCH_CHARS_MAX, True, False),
        (5_000, BRANCH_CHARS_MAX + 1, False, False),
        (BRANCH_CHARS_MAX + 9, BRANCH_CHARS_MAX + 8, True, True),
        (BRANCH_CHARS_MAX + 9, BRANCH_CHARS_MAX + 9, True, True),
        (BRANCH_CHARS_MAX + 9, BRANCH_CHARS_MAX + 10, False, False),
    ],
)
def test_the_capacity_policy_at_its_boundaries(
    before: int, after: int, foreground: bool, review: bool
) -> None:
    """Foreground writes may use the reserve; a review may not cross the target, nor grow at or above it."""
    assert (REVIEW_CHARS_TARGET, BRANCH_CHARS_MAX) == (4_500, 6_000)
    for check, allowed in ((check_capacity, foreground), (check_review_capacity, review)):
        with contextlib.nullcontext() if allowed else pytest.raises(EditRefused) as caught:
            check(sized(before), sized(after))
        assert allowed or caught.value.code == "capacity"  # type: ignore[union-attr]  # set when it raised


def test_keys_count_against_the_limits() -> None:
    """What is shown is what is counted."""
    assert entry_chars(entry("four", key="six six")) == 11
    assert entry_chars(entry("four")) == 4


@pytest.mark.requirement("M-09")
def test_undo_refuses_when_a_reviewed_entry_changed_later() -> None:
    """An entry that the revision added, changed or removed is no longer as it left it."""
    before = branch([entry("Old.", entry_id="a" * 16)])
    for edit in (add("New.", entry_id="b" * 16), Replace("a" * 16, text="New.")):
        planned = plan(before, (edit,), now_ms=2)
        target = planned.changes[0].entry_id
        later = plan(planned.branch, (Replace(target, text="Later."),), now_ms=3).branch
        with pytest.raises(EditRefused) as caught:
            invert(later, planned.changes, now_ms=4)
        assert caught.value.code == "changed"


@pytest.mark.requirement("M-09")
def test_undo_of_a_change_of_nothing_is_refused() -> None:
    """A change without before and after names no entry; it cannot come from a revision."""
    with pytest.raises(EditRefused) as caught:
        invert(branch(), (Change(0, None, None),), now_ms=1)
    assert caught.value.code == "missing"
    assert Change(0, None, None).entry_id == ""


@pytest.mark.requirement("M-09")
def test_undo_puts_a_removed_entry_back_at_its_place_or_at_the_end() -> None:
    """When the branch has become shorter, the end is the nearest place."""
    letters = [entry(f"{letter}.", entry_id=letter * 16) for letter in "abc"]
    before = branch(letters)
    removed = plan(before, (Remove("c" * 16),), now_ms=2)
    assert invert(removed.branch, removed.changes, now_ms=3).branch.entries == tuple(letters)
    shorter = plan(removed.branch, (Remove("a" * 16), Remove("b" * 16)), now_ms=4).branch
    assert invert(shorter, removed.changes, now_ms=5).branch.entries == (letters[2],)


@pytest.mark.requirement("M-02", "M-04")
def test_main_is_derived_and_digests_see_every_field() -> None:
    """Main's id follows from the project; changing any field of a branch or entry changes its digest."""
    main = empty_main(PROJECT)
    assert (main.seq, main.name, main.branch_id) == (0, "main", main_branch_id(PROJECT))
    assert main_branch_id("cd" * 8) != main.branch_id
    base, one = branch([entry()]), entry()
    fields = {"name": "b", "seq": 9, "parent": "c" * 16, "changed_ms": 8, "entries": (), "project": "d" * 16}
    digests = {msgspec.structs.replace(base, **{name: value}).digest for name, value in fields.items()}
    assert len(digests | {base.digest}) == len(fields) + 1
    changed = [
        msgspec.structs.replace(one, **{name: value})
        for name, value in {
            "text": "B.",
            "kind": "user",
            "key": "k",
            "importance": "low",
            "updated_ms": 7,
        }.items()
    ]
    assert len({entry_digest(each) for each in (one, *changed)}) == len(changed) + 1


@pytest.mark.requirement("M-03")
def test_times_never_run_backwards() -> None:
    """A clock that was set back does not make an entry or branch older than it is."""
    before = msgspec.structs.replace(branch([entry(entry_id="a" * 16, updated_ms=80)]), changed_ms=90)
    after = plan(before, (Replace("a" * 16, text="New."),), now_ms=5).branch
    assert (after.changed_ms, after.entries[0].updated_ms) == (90, 80)


@pytest.mark.requirement("M-10", "E-03")
def test_key_and_text_are_also_judged_together() -> None:
    """What is harmless alone may be a secret under its key; by add and by replace it is refused unshown."""
    value = secrets.token_urlsafe(18) + "aB3"
    before = branch([entry("Kept elsewhere.", entry_id="b" * 16, key="database password")])
    for edit in (add(value, key="admin password"), Replace("b" * 16, text=value)):
        with pytest.raises(EditRefused) as caught:
            plan(before, (edit,), now_ms=2)
        assert caught.value.code == "secret"
        assert value not in caught.value.message
