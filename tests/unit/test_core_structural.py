"""Renames, removals and moves as pure functions: plans, steps, names in a history (rules 15 and 16)."""

from __future__ import annotations

import msgspec
import pytest

from perdure.core.admission import Intent, Revision, RevisionTombstone, completion, revision_tombstone
from perdure.core.attempt import Attempt
from perdure.core.memory import BRANCH_CHARS_MAX, Branch, EditRefused, Entry, Planned, empty_main
from perdure.core.move import Move, arrival, move_transaction, moved, place, still_there, take_out
from perdure.core.protocol import (
    BRANCH_GONE,
    Cancel,
    Decide,
    Dispatch,
    JobFacts,
    Policy,
    Verdict,
    Wait,
    next_step,
)
from perdure.core.structural import (
    Intent2,
    Renamed,
    Revision2,
    branch_tombstone,
    names,
    rename,
    renamed_by,
    structural_intent,
    what_it_did,
)
from perdure.core.transaction import (
    Compact,
    Complete,
    Entomb,
    PutArrival,
    PutRenamed,
    PutRevision,
    RemoveHistory,
    Step,
    TransactionFacts,
    next_transaction_step,
)
from tests.core_values import NOW_MS, PROJECT, branch, entry, fate, job, reserved

TRIAL = "7" * 16
OTHER = "cd" * 8
FIRST = entry("Use pnpm.", entry_id="1" * 16)
KEYED = entry("4100", entry_id="2" * 16, key="port")


def trial(*entries: Entry, seq: int = 3, name: str = "trial") -> Branch:
    """A fork."""
    return branch(entries or (FIRST, KEYED), seq=seq, name=name, branch_id=TRIAL)


def renaming() -> Intent2:
    """The intent of a rename."""
    base = trial()
    return structural_intent(
        transaction="a" * 32,
        base=base,
        planned=rename(base, "attempt", now_ms=NOW_MS),
        renamed=Renamed("trial", "attempt"),
        now_ms=NOW_MS,
    )


def removing() -> Intent2:
    """The intent of a removal."""
    return structural_intent(transaction="b" * 32, base=trial(), planned=None, now_ms=NOW_MS)


def moving(*entries: Entry) -> Move:
    """A move of entries to another project."""
    return Move("c" * 32, PROJECT, TRIAL, OTHER, "8" * 16, entries or (FIRST, KEYED), NOW_MS)


def step(intent: Intent, **facts: object) -> Step:
    """What comes next."""
    base: dict[str, object] = {"branch_digest": intent.base_digest, "revision_present": False}
    base |= {"completion": None, "receipt": None} | facts
    return next_transaction_step(TransactionFacts(intent, **base))  # type: ignore[arg-type]  # by name


# -- transactions


@pytest.mark.requirement("D-06", "M-02")
def test_a_rename_goes_through_the_steps_of_any_change() -> None:
    """The branch under its new name, then its revision, then completion; what is neither is a conflict."""
    intent = renaming()
    assert intent.branch is not None
    assert step(intent) == PutRenamed(intent.branch, Renamed("trial", "attempt"))
    at_result = {"branch_digest": intent.result_digest}
    assert step(intent, **at_result) == PutRevision(intent)
    assert step(intent, **at_result, revision_present=True) == Complete(completion(intent))
    assert step(intent, completion=completion(intent)) == Compact(intent)
    assert step(intent, branch_digest="else") == Complete(completion(intent, conflict=True))
    assert step(intent, branch_digest=None, removed=True) == Complete(completion(intent, conflict=True))
    assert renamed_by(intent) == Renamed("trial", "attempt")
    assert renamed_by(removing()) is None


@pytest.mark.requirement("D-06", "G-01")
def test_a_removal_is_the_tombstone_first_and_the_history_after_it() -> None:
    """Nothing of the history goes before the tombstone is durable; another state of the branch is kept."""
    intent = removing()
    assert intent.tombstone == branch_tombstone(trial(), transaction="b" * 32, removed_ms=NOW_MS)
    assert (intent.branch, intent.revision, intent.result_digest) == (None, None, None)
    assert step(intent) == Entomb(intent.tombstone)
    gone = {"branch_digest": None, "removed": True}
    assert step(intent, **gone, history=True) == RemoveHistory(TRIAL)
    assert step(intent, **gone) == Complete(completion(intent))
    assert step(intent, branch_digest="else") == Complete(completion(intent, conflict=True))


@pytest.mark.requirement("D-06", "G-04")
def test_an_arrival_is_published_after_the_revision_and_before_the_completion() -> None:
    """Whoever finds the transaction completed at the target finds the arrival, too."""
    move, there = moving(), empty_main(OTHER)
    intent = structural_intent(
        transaction=move_transaction(move, "in", there),
        base=there,
        planned=place(there, move.entries, now_ms=NOW_MS),
        moved=moved(move, "in"),
        arrival=arrival(move),
        now_ms=NOW_MS,
    )
    done = {"branch_digest": intent.result_digest, "revision_present": True}
    assert step(intent, **done) == PutArrival(arrival(move))
    assert step(intent, **done, arrived=True) == Complete(completion(intent))


# -- names


def revised(seq: int, renamed: Renamed | None = None) -> Revision2:
    """A revision of version 2."""
    found = renaming().revision
    assert found is not None
    return msgspec.structs.replace(found, seq=seq, renamed=renamed)


@pytest.mark.requirement("M-04", "M-09")
def test_the_name_at_each_revision_follows_from_the_renames_after_it() -> None:
    """From the name of now backward; a rename that was purged hides the names before it."""
    chain = [
        revised(1),
        revised(2, Renamed("a", "b")),
        revised(3),
        revised(4, Renamed("b", "c")),
        revised(5),
    ]
    assert names("c", chain) == {1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
    purged: list[Revision2 | RevisionTombstone] = list(chain)
    purged[3] = revision_tombstone(chain[3])
    assert names("c", purged) == {1: "a", 2: "b", 3: None, 4: "c", 5: "c"}
    kept = msgspec.structs.replace(purged[3], entry_ids=("1" * 16,))
    assert names("c", [chain[2], kept]) == {3: "c", 4: "c"}


def test_a_revision_of_version_2_says_what_it_did() -> None:
    """A rename, a move, or what version 1 calls it."""
    plain = renaming().revision
    assert plain is not None
    assert what_it_did(plain) == "rename"
    assert what_it_did(msgspec.structs.replace(plain, renamed=None)) == "move"
    fields = msgspec.structs.asdict(plain)
    del fields["renamed"], fields["moved"]
    assert what_it_did(Revision(**fields)) == "edit"


# -- moves


@pytest.mark.requirement("M-03", "G-05")
def test_entries_arrive_as_they_are_and_leave_as_they_were() -> None:
    """Ids, times, origin and order are kept; the digest of an entry is the same on both sides."""
    move, there = moving(), empty_main(OTHER)
    planned = place(there, move.entries, now_ms=NOW_MS)
    assert planned.branch.entries == (FIRST, KEYED)
    assert (planned.branch.seq, [change.index for change in planned.changes]) == (1, [0, 1])
    left = take_out(trial(), move.entries, now_ms=NOW_MS)
    assert left.branch.entries == ()
    assert still_there(trial(), move.entries)
    assert not still_there(left.branch, move.entries)
    assert not still_there(None, move.entries)


@pytest.mark.requirement("M-08")
def test_what_the_target_says_already_is_not_added_again() -> None:
    """The same entry, text or value of a key stays as it is there; nothing to add is no change."""
    for standing in (
        FIRST,
        msgspec.structs.replace(FIRST, entry_id="3" * 16),
        msgspec.structs.replace(FIRST, importance="high"),
    ):
        there = branch([standing], seq=1)
        assert place(there, (FIRST,), now_ms=NOW_MS) == Planned(there, ())
    value = msgspec.structs.replace(KEYED, entry_id="3" * 16, key="Port", kind="agent")
    there = branch([value], seq=1)
    assert place(there, (KEYED,), now_ms=NOW_MS).changes == ()


@pytest.mark.requirement("M-07", "M-15")
@pytest.mark.parametrize(
    ("standing", "code"),
    [
        (msgspec.structs.replace(KEYED, entry_id="3" * 16, text="4200"), "duplicate-key"),
        (msgspec.structs.replace(KEYED, text="4200"), "taken-id"),
        (msgspec.structs.replace(FIRST, entry_id="3" * 16, text="x" * BRANCH_CHARS_MAX), "capacity"),
    ],
)
def test_a_collision_at_the_target_refuses_all_of_a_move(standing: Entry, code: str) -> None:
    """Another value of a key, another content of an id, and no room: nothing of the move is added."""
    with pytest.raises(EditRefused) as refused:
        place(branch([standing], seq=1), (FIRST, KEYED), now_ms=NOW_MS)
    assert refused.value.code == code


def test_what_changed_at_the_source_does_not_leave_it() -> None:
    """An entry that was changed since the move began is another entry by now."""
    changed = msgspec.structs.replace(FIRST, text="Use npm.")
    left = take_out(trial(changed, KEYED), (FIRST, KEYED), now_ms=NOW_MS)
    assert left.branch.entries == (changed,)


def test_both_sides_of_a_move_name_each_other() -> None:
    """The target's revision says where an entry came from, the source's where it went."""
    move = moving()
    assert (moved(move, "in").scope, moved(move, "in").branch_id) == (PROJECT, TRIAL)
    assert (moved(move, "out").scope, moved(move, "out").branch_id) == (OTHER, "8" * 16)
    assert arrival(move, refused="capacity").entry_ids == (FIRST.entry_id, KEYED.entry_id)
    one, two = empty_main(OTHER), trial()
    arriving = {move_transaction(move, "in", base) for base in (one, two)}
    leaving = {move_transaction(move, "out", base) for base in (one, two)}
    assert len(arriving | leaving) == len(arriving) + len(leaving) == 4


# -- jobs of a branch that is gone


@pytest.mark.requirement("G-01", "D-02")
def test_a_job_whose_branch_was_removed_ends_as_dropped() -> None:
    """What was not sent is not sent any more; what was sent is waited for; then the job is dropped."""
    of = job()

    def after(*made: Attempt, removed: bool = True) -> Verdict:
        facts = JobFacts(of.job_id, job=of, attempts=made, branch_removed=removed)
        return next_step(facts, me="w1", now_ms=NOW_MS, policy=Policy())

    mine, others = reserved(of), reserved(of, worker="w2")
    unsent = Attempt(mine, attempt_id=mine.attempt_id)
    sent = Attempt(others, fate=fate(others, "dispatched"), attempt_id=others.attempt_id)
    assert after() == Decide("dropped", BRANCH_GONE, None)
    assert after(unsent) == Cancel(mine.attempt_id, "the branch was removed")
    assert isinstance(after(sent), Wait)
    assert isinstance(after(unsent, removed=False), Dispatch)
