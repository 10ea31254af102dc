"""The Memory port's contract: branches, transactions from every prefix, tombstones, branch selection."""

from __future__ import annotations

import threading

import msgspec
import pytest

from perdure.core.admission import (
    Intent,
    IntentTombstone,
    Revision,
    completion,
    intent_tombstone,
    receipt,
)
from perdure.core.judge import judge
from perdure.core.memory import Add, Branch, empty_main, main_branch_id, plan
from perdure.core.proposal import AddOp
from perdure.errors import Conflict, Damaged, NotFound
from perdure.ports.memory import HeldMemory, Tombstone
from perdure.service.transact import locked, roll_forward
from tests.contract.authorities import OTHER_PROJECT, Ports, Site
from tests.core_values import MAIN_ID, NOW_MS, PROJECT, branch, decision, entry, job

STEPS = 6
"""Intent, branch, revision, completion, receipt, tombstone: how far a transaction may have come."""


def review(text: str = "We use pnpm here.", base: Branch | None = None) -> Intent:
    """The intent of a review that adds one entry."""
    of = job()
    elected = decision(of, AddOp(text=text, evidence=("e1",)), base=base)
    intent = judge(elected, base or empty_main(PROJECT), forgotten=lambda *_: False, now_ms=NOW_MS)
    assert intent.verdict == "applied"
    return intent


def write(name: str, base: Branch, text: str) -> Intent:
    """The intent of a foreground add."""
    planned = plan(base, (Add(text, "project", None, "normal", "tool", name[:16]),), now_ms=NOW_MS)
    after = planned.branch
    revision = Revision(
        branch_id=after.branch_id,
        seq=after.seq,
        transaction=name,
        cause="remember",
        job_id=None,
        undoes=None,
        base_digest=base.digest,
        result_digest=after.digest,
        changes=planned.changes,
        notes=(),
        made_ms=NOW_MS,
    )
    return Intent(
        transaction=name,
        cause="remember",
        job_id=None,
        decision_digest=None,
        verdict="applied",
        reasons=(),
        assessments=(),
        branch_id=after.branch_id,
        base_digest=base.digest,
        result_digest=after.digest,
        branch=after,
        revision=revision,
        successor=None,
        begun_ms=NOW_MS,
    )


def advance(held: HeldMemory, intent: Intent, steps: int) -> None:
    """Take that many steps of a review's transaction by hand, and no more."""
    assert intent.branch is not None
    assert intent.revision is not None
    branch_after, revision, done = intent.branch, intent.revision, completion(intent)
    actions = (
        lambda: held.begin(intent),
        lambda: held.put_branch(branch_after),
        lambda: held.put_revision(revision),
        lambda: held.complete(done),
        lambda: held.put_receipt(receipt(intent, done)),
        lambda: held.compact(intent),
    )
    for action in actions[:steps]:
        action()


@pytest.mark.requirement("D-06", "D-07", "D-11", "G-03")
@pytest.mark.parametrize("steps", range(1, STEPS + 1))
def test_a_review_rolls_forward_from_every_prefix(one: Ports, two: Ports, steps: int) -> None:
    """Whoever takes the lock next finishes what was begun; the effect, revision and receipt are the same."""
    intent = review()
    with two.memory.hold(PROJECT) as held:
        assert held.begun() == []
    with one.memory.hold(PROJECT) as held:
        advance(held, intent, steps)
        assert (intent.transaction in held.begun()) == (steps < STEPS - 1)
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
        assert roll_forward(held, intent.transaction)
        facts = held.transaction(intent.transaction)
        assert facts is not None
        assert facts.intent == intent_tombstone(intent)
    assert two.memory.branch(PROJECT, MAIN_ID) == intent.branch
    assert two.memory.revisions(PROJECT, MAIN_ID) == (1,)
    assert two.memory.revision(PROJECT, MAIN_ID, 1) == intent.revision
    assert intent.job_id is not None
    assert two.memory.receipt(PROJECT, intent.job_id) == receipt(intent, completion(intent))
    assert two.memory.receipts(PROJECT) == (intent.job_id,)


@pytest.mark.requirement("D-10", "D-11", "G-04")
@pytest.mark.parametrize("steps", range(1, 5))
def test_a_foreground_write_rolls_forward_from_every_prefix(one: Ports, two: Ports, steps: int) -> None:
    """A write that died half way is whole after the next lock, and has no receipt."""
    intent = write("f" * 32, empty_main(PROJECT), "Use pnpm.")
    with one.memory.hold(PROJECT) as held:
        advance(held, intent, steps)
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
        assert held.branch(MAIN_ID) == intent.branch
    assert two.memory.revision(PROJECT, MAIN_ID, 1) == intent.revision
    assert two.memory.receipts(PROJECT) == ()


@pytest.mark.requirement("D-11")
def test_the_first_intent_of_a_transaction_stands(one: Ports, two: Ports) -> None:
    """A second judgement of the same decision adopts the first one, and its tombstone later."""
    first, later = review(), review("Another text altogether, judged later.")
    with one.memory.hold(PROJECT) as held:
        assert held.begin(first) == first
    with two.memory.hold(PROJECT) as held:
        assert held.begin(later) == first
        roll_forward(held, first.transaction)
        standing = held.begin(later)
    assert isinstance(standing, IntentTombstone)
    assert standing == intent_tombstone(first)


@pytest.mark.requirement("D-03", "D-06")
def test_a_branch_that_is_neither_base_nor_result_ends_as_conflict(one: Ports, two: Ports) -> None:
    """What something else changed is left alone; the receipt says rejected; the project stays writable."""
    intent = review()
    foreign = branch([entry("Put there past Perdure.")], seq=9)
    with one.memory.hold(PROJECT) as held:
        held.begin(intent)
        held.put_branch(foreign)
    with two.memory.hold(PROJECT) as held:
        assert not roll_forward(held, intent.transaction)
        assert held.begun() == []
        assert held.branch(MAIN_ID) == foreign
        assert roll_forward(held, _begun(held, write("c" * 32, foreign, "Still writable.")))
    assert intent.job_id is not None
    ended = two.memory.receipt(PROJECT, intent.job_id)
    assert ended is not None
    assert (ended.verdict, ended.result_digest, ended.reasons[-1].code) == ("rejected", None, "conflict")


def _begun(held: HeldMemory, intent: Intent) -> str:
    held.begin(intent)
    return intent.transaction


@pytest.mark.requirement("D-08", "D-06")
def test_an_end_without_a_change_still_has_its_receipt(one: Ports) -> None:
    """A no-op goes from intent to completion to receipt and leaves branch and history alone."""
    of = job()
    intent = judge(decision(of), empty_main(PROJECT), forgotten=lambda *_: False, now_ms=NOW_MS)
    with one.memory.hold(PROJECT) as held:
        held.begin(intent)
        assert roll_forward(held, of.job_id)
    ended = one.memory.receipt(PROJECT, of.job_id)
    assert ended is not None
    assert ended.verdict == "no-op"
    assert one.memory.branch(PROJECT, MAIN_ID) == empty_main(PROJECT)
    assert one.memory.revisions(PROJECT, MAIN_ID) == ()


@pytest.mark.requirement("D-03", "M-09")
def test_revisions_receipts_and_completions_are_immutable(one: Ports, two: Ports) -> None:
    """The same again is success, other bytes at their place fail closed."""
    intent = review()
    assert intent.revision is not None
    done = completion(intent)
    with one.memory.hold(PROJECT) as held:
        advance(held, intent, STEPS - 1)
    with two.memory.hold(PROJECT) as held:
        held.put_revision(intent.revision)
        held.complete(done)
        held.put_receipt(receipt(intent, done))
        with pytest.raises(Conflict):
            held.put_revision(msgspec.structs.replace(intent.revision, made_ms=1))
        with pytest.raises(Conflict):
            held.complete(completion(intent, conflict=True))
        with pytest.raises(Conflict):
            held.put_receipt(msgspec.structs.replace(receipt(intent, done), ended_ms=1))
    assert two.memory.revision(PROJECT, MAIN_ID, 1) == intent.revision


@pytest.mark.requirement("M-11", "G-04")
def test_writers_at_once_lose_nothing(threaded_site: Site) -> None:
    """Threads of four processes add three entries each: all twelve are there, with twelve revisions."""

    def add(ports: Ports, who: int) -> None:
        for turn in range(3):
            with locked(ports.memory, PROJECT) as held:
                base = held.branch(MAIN_ID)
                assert base is not None
                roll_forward(held, _begun(held, write(f"{who}{turn}" * 16, base, f"Fact {who} {turn}.")))

    threads = [threading.Thread(target=add, args=(threaded_site.process(), who)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = threaded_site.process()
    now = late.memory.branch(PROJECT, MAIN_ID)
    assert now is not None
    assert len({each.text for each in now.entries}) == 12
    assert late.memory.revisions(PROJECT, MAIN_ID) == tuple(range(1, 13))


@pytest.mark.requirement("M-12")
def test_a_tombstone_keeps_text_and_key_from_coming_back(one: Ports, two: Ports) -> None:
    """Text is bound for ever and in every spelling; a key only for evidence that settled before it."""
    stones = (
        Tombstone("text", "Use  PNPM.", 50),
        Tombstone("key", "Check Command", 50),
        Tombstone("entry", "e1", 50),
    )
    with one.memory.hold(PROJECT) as held:
        assert not held.buried("Use pnpm.", "check command", 0)
        held.bury(stones)
    with two.memory.hold(PROJECT) as held:
        assert held.buried("use pnpm", None, 99)
        assert held.buried("Use pnpm.", None, 0)
        assert held.buried("Other text.", "CHECK command", 50)
        assert not held.buried("Other text.", "check command", 51)
        assert not held.buried("Check command", "use pnpm", 0)
        assert not held.buried(None, None, 0)
    with two.memory.hold(OTHER_PROJECT) as held:
        assert not held.buried("Use pnpm.", "check command", 0)


@pytest.mark.requirement("M-12")
def test_a_later_forget_moves_a_keys_tombstone_and_an_earlier_one_does_not(one: Ports) -> None:
    """The latest time counts, in whatever order the tombstones are written."""
    with one.memory.hold(PROJECT) as held:
        for when in (50, 90, 70):
            held.bury((Tombstone("key", "check command", when),))
        assert held.buried(None, "check command", 90)
        assert not held.buried(None, "check command", 91)


@pytest.mark.requirement("M-02", "M-04")
def test_main_exists_implicitly_and_other_branches_do_not(one: Ports) -> None:
    """Before any write main is empty with sequence 0, and nothing else is there."""
    assert one.memory.branch(PROJECT, MAIN_ID) == empty_main(PROJECT)
    assert one.memory.branch(PROJECT, "f" * 16) is None
    assert [row.name for row in one.memory.branches(PROJECT)] == ["main"]
    assert one.memory.branch("user", main_branch_id("user")) == empty_main("user")


@pytest.mark.requirement("M-02")
def test_branches_are_listed_main_first_and_one_is_chosen(one: Ports, two: Ports) -> None:
    """Names sort after main; choosing one is seen by other processes; an unknown name is refused."""
    forks = [
        branch([entry()], seq=1, name=name, branch_id=letter * 16)
        for name, letter in (("b", "1"), ("a", "2"))
    ]
    with one.memory.hold(PROJECT) as held:
        for fork in forks:
            held.put_branch(fork)
    rows = two.memory.branches(PROJECT)
    assert [(row.name, row.entries) for row in rows] == [("main", 0), ("a", 1), ("b", 1)]
    assert two.memory.selected(PROJECT) is None
    one.memory.select(PROJECT, "b")
    assert two.memory.selected(PROJECT) == "b"
    with pytest.raises(NotFound):
        one.memory.select(PROJECT, "c")
    assert two.memory.selected(PROJECT) == "b"
    one.memory.select(PROJECT, "main")
    assert two.memory.selected(PROJECT) == "main"


@pytest.mark.requirement("M-13", "Q-13")
def test_a_damaged_branch_is_listed_as_such(site: Site, one: Ports) -> None:
    """The list holds it by its id, with what is wrong, and the others as ever."""
    with one.memory.hold(PROJECT) as held:
        for name, letter in (("b", "1"), ("a", "2")):
            held.put_branch(branch([entry()], seq=1, name=name, branch_id=letter * 16))
    site.damage("branch", "1" * 16)
    rows = site.process().memory.branches(PROJECT)
    assert [(row.name, bool(row.problem)) for row in rows] == [
        ("main", False),
        ("1" * 16, True),
        ("a", False),
    ]
    with pytest.raises(Damaged):
        one.memory.branch(PROJECT, "1" * 16)


@pytest.mark.requirement("D-03", "M-09")
def test_a_branch_that_is_older_than_its_history_takes_no_change(one: Ports, two: Ports) -> None:
    """A sequence number that has a revision is not given to another transaction: nothing is begun."""
    first = write("a" * 32, empty_main(PROJECT), "Use pnpm.")
    assert first.branch is not None
    with locked(one.memory, PROJECT) as held:
        held.begin(first)
        roll_forward(held, first.transaction)
        held.put_branch(empty_main(PROJECT))
    again = write("b" * 32, empty_main(PROJECT), "Use npm.")
    with two.memory.hold(PROJECT) as held:
        with pytest.raises(Damaged, match="older than its history"):
            held.begin(again)
        assert held.begun() == []
    assert one.memory.revision(PROJECT, MAIN_ID, 1) == first.revision


@pytest.mark.requirement("D-03", "D-06")
def test_the_revision_of_another_transaction_is_never_taken_for_ones_own(one: Ports, two: Ports) -> None:
    """Rolling forward stops loudly, and neither acknowledges nor overwrites."""
    mine = write("a" * 32, empty_main(PROJECT), "Use pnpm.")
    other = write("b" * 32, empty_main(PROJECT), "Use npm.")
    assert other.revision is not None
    with one.memory.hold(PROJECT) as held:
        held.put_branch(empty_main(PROJECT))
        held.begin(mine)
        held.put_revision(other.revision)
        with pytest.raises(Conflict):
            roll_forward(held, mine.transaction)
    with pytest.raises(Conflict), locked(two.memory, PROJECT):
        pass
    assert two.memory.revision(PROJECT, MAIN_ID, 1) == other.revision


@pytest.mark.requirement("D-06", "D-10")
def test_the_own_revision_beside_the_base_is_no_conflict(one: Ports, two: Ports) -> None:
    """A power loss that took the branch's new content and left the revision is rolled forward."""
    mine = write("a" * 32, empty_main(PROJECT), "Use pnpm.")
    assert mine.revision is not None
    with one.memory.hold(PROJECT) as held:
        held.begin(mine)
        held.put_revision(mine.revision)
        held.put_branch(empty_main(PROJECT))
    with locked(two.memory, PROJECT) as held:
        assert held.begun() == []
    assert two.memory.branch(PROJECT, MAIN_ID) == mine.branch


@pytest.mark.requirement("M-13", "D-11")
def test_a_discarded_intent_never_began(one: Ports, two: Ports) -> None:
    """Neither the intent nor its completion is left, and the scope is free."""
    mine = write("a" * 32, empty_main(PROJECT), "Use pnpm.")
    with one.memory.hold(PROJECT) as held:
        held.begin(mine)
        held.complete(completion(mine))
        held.discard(mine.transaction)
        assert held.begun() == []
    with locked(two.memory, PROJECT) as held:
        assert held.transaction(mine.transaction) is None
        assert held.branch(MAIN_ID) == empty_main(PROJECT)


@pytest.mark.requirement("G-05", "M-04")
def test_scopes_do_not_see_one_another(one: Ports) -> None:
    """A change in one project leaves the other projects and the user's scope as they were."""
    intent = review()
    with one.memory.hold(PROJECT) as held:
        held.begin(intent)
        roll_forward(held, intent.transaction)
    for scope in (OTHER_PROJECT, "user"):
        assert one.memory.branch(scope, main_branch_id(scope)) == empty_main(scope)
        assert one.memory.branch(scope, MAIN_ID) is None
        assert one.memory.revisions(scope, MAIN_ID) == ()
        assert one.memory.receipts(scope) == ()
