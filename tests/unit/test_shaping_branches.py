"""Renaming and removing branches: what stays bound to the id, what ends, and what an older release sees."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.queue import FileQueue
from perdure.authority.filesystem.records import Records
from perdure.authority.filesystem.structural import Selected
from perdure.core.admission import Intent, IntentTombstone, Outcome, Revision, RevisionTombstone
from perdure.core.decision import Decision
from perdure.core.memory import Branch
from perdure.core.record import seal
from perdure.core.structural import Revision2, rename, structural_intent
from perdure.errors import Damaged, NewerVersion, NotFound, Refused, Removed, UsageError
from perdure.service.capture import CaptureService
from perdure.service.exchange import ExchangeService
from perdure.service.moves import MoveService
from perdure.service.transact import locked
from tests.fakes import MAIN_BRANCH, PROJECT, SESSION, Rig, SequentialIds, turns
from tests.services import branch_service as shaping
from tests.services import broken, purge_service, restore_service, snapshot, verify_service
from tests.simulated_disk import Crashed, SimulatedDisk

PORT = "The port of the service is 4100."


def forked() -> tuple[Rig, str]:
    """A project with an entry on main and one more on its fork "trial"; the fork's id."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    memory = rig.memory_service()
    memory.remember("Use pnpm here.")
    trial = memory.fork("trial").branch_id
    memory.remember("Only on trial.", branch="trial")
    return rig, trial


def capture_on(rig: Rig, branch_id: str, *texts: str, first: int = 0) -> str:
    """Take turns in as a job of a branch; its id."""
    service = CaptureService(rig.coverage, clock=rig.clock, release="1")
    found = turns(*(texts or (PORT,)), first=first)
    done = service.capture(host="pi", session=SESSION, turns=found, project=PROJECT, branch_id=branch_id)
    (job_id,) = done.jobs
    return job_id


def ended(rig: Rig, job_id: str) -> tuple[str, str]:
    """The state and reason of a job's end."""
    found = rig.queue.outcome(job_id)
    assert isinstance(found, Outcome)
    return found.state, found.reason


# -- renames


@pytest.mark.requirement("M-02", "M-04", "M-09")
def test_a_renamed_branch_is_the_same_branch() -> None:
    """Id, entries and history stay; the history shows the rename under the next number, and verify agrees."""
    rig, trial = forked()
    memory = rig.memory_service()
    before = memory.branch("trial")
    row = shaping(rig).rename_branch("trial", "attempt")
    after = memory.branch("attempt")
    assert (row.branch_id, after.branch_id, after.entries) == (trial, trial, before.entries)
    assert (after.seq, after.digest != before.digest) == (before.seq + 1, True)
    newest = memory.history("attempt")[0]
    assert isinstance(newest, Revision2)
    assert newest.renamed is not None
    assert (newest.renamed.before, newest.renamed.after, newest.changes) == ("trial", "attempt", ())
    with pytest.raises(NotFound):
        memory.branch("trial")
    memory.remember("After the rename.", branch="attempt")
    shaping(rig).rename_branch("attempt", "third")
    assert broken(rig) == ()
    assert verify_service(rig).verify().ok


@pytest.mark.requirement("M-02")
def test_the_branch_in_use_stays_in_use_under_its_new_name() -> None:
    """What commands work on does not change by a rename, nor by a second; another choice is left alone."""
    rig, trial = forked()
    memory = rig.memory_service()
    memory.use("trial")
    shaping(rig).rename_branch("trial", "attempt")
    assert memory.selected() == "attempt"
    assert memory.branch().branch_id == trial
    shaping(rig).rename_branch("attempt", "third")
    assert memory.selected() == "third"
    memory.use("main")
    shaping(rig).rename_branch("third", "fourth")
    assert memory.selected() == "main"


@pytest.mark.requirement("G-01", "Q-11")
def test_jobs_stay_with_a_renamed_branch() -> None:
    """A job that was captured before the rename is reviewed into the branch of that id."""
    rig, trial = forked()
    job_id = capture_on(rig, trial)
    shaping(rig).rename_branch("trial", "attempt")
    rig.drain()
    assert ended(rig, job_id)[0] == "applied"
    assert PORT in [entry.text for entry in rig.memory_service().branch("attempt").entries]


@pytest.mark.requirement("M-02")
def test_main_and_taken_names_refuse_a_rename() -> None:
    """Main keeps its name, nobody takes another's, and the same name again changes nothing."""
    rig, trial = forked()
    rig.memory_service().fork("other")
    service = shaping(rig)
    for old, new in (("main", "x"), (MAIN_BRANCH, "x"), ("trial", "other")):
        with pytest.raises(Refused):
            service.rename_branch(old, new)
    with pytest.raises(Exception, match="main"):
        service.rename_branch("trial", "main")
    with pytest.raises(NotFound):
        service.rename_branch("nobody", "x")
    seq = rig.memory_service().branch("trial").seq
    assert service.rename_branch("trial", "trial").branch_id == trial
    assert rig.memory_service().branch("trial").seq == seq


@pytest.mark.requirement("M-09")
def test_a_rename_is_not_undone_and_what_came_before_it_is() -> None:
    """`undo` names the way back; an older revision of entries can still be undone."""
    rig, _ = forked()
    memory = rig.memory_service()
    shaping(rig).rename_branch("trial", "attempt")
    with pytest.raises(Refused, match="renamed the branch"):
        memory.undo(branch="attempt")
    memory.undo(2, branch="attempt")
    assert [entry.text for entry in memory.branch("attempt").entries] == ["Use pnpm here."]
    assert broken(rig) == ()


@pytest.mark.requirement("M-13")
def test_a_lost_file_of_a_renamed_branch_is_restored_under_its_newest_name() -> None:
    """The revisions know the name, also when nothing else does."""
    rig, trial = forked()
    shaping(rig).rename_branch("trial", "attempt")
    rig.memory_service().remember("After it.", branch="attempt")
    before = rig.memory_service().branch("attempt")
    rig.disk.remove(layout.branch(PROJECT, trial))
    later = Rig(rig.disk, ids=SequentialIds("later"))
    restored = restore_service(later).restore()
    assert restored.refused == ()
    assert later.memory_service().branch("attempt") == before


@pytest.mark.requirement("M-12", "M-04")
def test_a_purge_of_a_name_hides_it_and_breaks_no_chain() -> None:
    """Once the old name is purged from the history, the chain still holds and later changes are replayed."""
    rig, trial = forked()
    service = shaping(rig)
    service.rename_branch("trial", "Bluebird Harbour")
    service.rename_branch("Bluebird Harbour", "attempt")
    rig.memory_service().remember("After both.", branch="attempt")
    purge_service(rig).forget_everywhere(PROJECT, text="Bluebird Harbour")
    held = [path for path, data in _files(rig).items() if b"Bluebird" in data]
    assert held == []
    assert isinstance(rig.memory.revision(PROJECT, trial, 3), RevisionTombstone)
    assert broken(rig) == ()


def _files(rig: Rig) -> dict[str, bytes]:
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk.files()


# -- removals


@pytest.mark.requirement("M-02", "G-01", "D-12")
def test_a_removed_branch_leaves_ids_and_digests_alone() -> None:
    """Name, text and history are gone from every file; its open jobs are dropped, its turns stay covered."""
    rig, trial = forked()
    shaping(rig).rename_branch("trial", "Bluebird")
    job_id = capture_on(rig, trial)
    assert shaping(rig).open_jobs("Bluebird")[1] == (job_id,)
    done = shaping(rig).remove("Bluebird")
    assert (done.branch_id, done.entries, done.dropped, done.left) == (trial, 2, (job_id,), ())
    assert ended(rig, job_id) == ("dropped", "branch-gone")
    held = [path for path, data in _files(rig).items() if b"Only on trial" in data or b"Bluebird" in data]
    assert [path for path in held if not path.startswith("tmp/")] == []
    assert rig.memory.revisions(PROJECT, trial) == ()
    assert [row.name for row in rig.memory_service().branches()] == ["main"]
    with pytest.raises(Removed):
        rig.memory.branch(PROJECT, trial)
    assert {turn.turn_id for turn in turns(PORT)} <= rig.coverage.covered(PROJECT).keys()
    assert broken(rig) == ()
    assert verify_service(rig).verify().ok


@pytest.mark.requirement("M-02")
def test_main_is_in_use_after_the_branch_in_use_was_removed() -> None:
    """It says so, and the name, taken again, is another branch."""
    rig, trial = forked()
    memory = rig.memory_service()
    memory.use("trial")
    assert shaping(rig).remove("trial").was_selected
    assert memory.selected() == "main"
    again = memory.fork("trial").branch_id
    assert again != trial
    assert not shaping(rig).remove("trial").was_selected


@pytest.mark.requirement("G-01", "D-02")
def test_a_job_accepted_for_a_removed_branch_is_dropped_by_the_worker_and_goes_nowhere_else() -> None:
    """The id binds it: a later branch of the same name never gets it, and nothing is paid for."""
    rig, trial = forked()
    shaping(rig).remove("trial")
    rig.memory_service().fork("trial")
    job_id = capture_on(rig, trial)
    rig.drain()
    assert ended(rig, job_id) == ("dropped", "branch-gone")
    assert rig.provider.sends == {}
    assert broken(rig) == ()


class _Meddled(FileQueue):
    """The queue of a worker, after whose decision somebody else acts once."""

    def __init__(self, records: Records, act: Callable[[], object]) -> None:
        super().__init__(records)
        self._act = [act]

    def decide(self, decision: Decision) -> Decision:
        """Let the other act when the decision stands."""
        standing = super().decide(decision)
        for act in (self._act.pop() for _ in self._act[:]):
            act()
        return standing


def _user(rig: Rig) -> Rig:
    """Another process on the same disk."""
    return Rig(rig.disk, ids=SequentialIds("user"))


@pytest.mark.requirement("D-06", "G-03")
def test_a_proposal_that_was_elected_before_the_removal_ends_rejected() -> None:
    """A decision never changes: without its branch the proposal is refused, and no branch appears."""
    rig, trial = forked()
    job_id = capture_on(rig, trial)
    rig.queue = _Meddled(rig.records, lambda: shaping(_user(rig)).remove("trial"))
    rig.drain()
    assert ended(rig, job_id) == ("rejected", "branch-gone")
    assert [row.name for row in rig.memory_service().branches()] == ["main"]
    assert broken(rig) == ()


@pytest.mark.requirement("A-04", "D-02")
def test_a_branch_that_goes_before_the_call_is_not_paid_for() -> None:
    """Removed between the reservation and the call: nothing is sent, the attempt is cancelled."""
    rig, trial = forked()
    job_id = capture_on(rig, trial)
    user = _user(rig)

    def meddle(_request: object) -> None:
        rig.provider.before_quote = lambda _request: None
        with locked(user.memory, PROJECT) as held:
            branch = held.branch(trial)
            assert branch is not None
            intent = structural_intent(transaction="a" * 32, base=branch, planned=None, now_ms=1)
            held.begin(intent)
        with locked(user.memory, PROJECT):
            pass

    rig.provider.before_quote = meddle
    rig.drain()
    assert rig.provider.sends == {}
    assert ended(rig, job_id) == ("dropped", "branch-gone")
    assert [attempt.state for attempt in rig.attempts.all()] == ["cancelled"]


@pytest.mark.requirement("G-01", "Q-13")
def test_a_missing_file_without_a_tombstone_stays_damage() -> None:
    """Only the tombstone proves a removal: without it the job keeps its evidence and waits."""
    rig, trial = forked()
    job_id = capture_on(rig, trial)
    rig.disk.remove(layout.branch(PROJECT, trial))
    rig.drain()
    assert rig.queue.outcome(job_id) is None
    with pytest.raises(Damaged):
        shaping(_user(rig)).remove(trial)


@pytest.mark.requirement("D-06", "D-03")
def test_an_intent_that_is_open_on_a_removed_branch_ends_as_a_conflict() -> None:
    """A transaction that was begun on it, and comes late, changes nothing and stops nobody."""
    rig, _ = forked()
    memory = rig.memory_service()
    branch = memory.branch("trial")
    late = structural_intent(
        transaction="a" * 32, base=branch, planned=rename(branch, "late", now_ms=1), now_ms=1
    )
    shaping(rig).remove("trial")
    with rig.memory.hold(PROJECT) as held:
        held.begin(late)
    memory.remember("Still writable.")
    assert [row.name for row in memory.branches()] == ["main"]
    assert broken(rig) == ()


def test_main_cannot_be_removed() -> None:
    """Neither by name nor by id."""
    rig, _ = forked()
    for name in ("main", MAIN_BRANCH):
        with pytest.raises(Refused, match="cannot be removed"):
            shaping(rig).remove(name)


@pytest.mark.requirement("X-03")
def test_verify_knows_what_a_removal_must_not_leave() -> None:
    """A history beside the tombstone, and a tombstone under another's name, are named."""
    rig, trial = forked()
    first = _files(rig)[layout.revision(PROJECT, trial, 1)]
    shaping(rig).remove("trial")
    stone = _files(rig)[layout.branch(PROJECT, trial)]
    rig.records.ensure_folders(layout.revisions(PROJECT, trial))
    rig.records.keep(layout.revision(PROJECT, trial, 1), first)
    rig.records.keep(layout.branch(PROJECT, "9" * 16), stone)
    found = {(violation.invariant, violation.code) for violation in broken(rig)}
    assert found == {("V-20", "history"), ("V-20", "name")}


@pytest.mark.requirement("X-03")
def test_verify_knows_an_intent_of_version_2_that_is_not_one_change() -> None:
    """It removes exactly the branch that it begins on, or it changes one; neither or both is wrong."""
    rig, trial = forked()
    branch = rig.memory_service().branch("trial")
    right = structural_intent(transaction="a" * 32, base=branch, planned=None, now_ms=1)
    other = structural_intent(transaction="b" * 32, base=branch, planned=None, now_ms=1)
    neither = msgspec.structs.replace(right, tombstone=None)
    another = msgspec.structs.replace(right, tombstone=other.tombstone)
    for intent, code in ((neither, "parts"), (another, "binding")):
        disk = Rig(_copy(rig), ids=SequentialIds(code))
        disk.records.keep(layout.intent(PROJECT, "a" * 32), seal(intent))
        assert ("V-20", code) in {(v.invariant, v.code) for v in broken(disk)}
    assert snapshot(rig).scopes[PROJECT].branches[trial] == branch


def _copy(rig: Rig) -> SimulatedDisk:
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk.fork()


# -- an older release


@pytest.mark.requirement("X-08", "M-06")
def test_an_older_release_holds_each_new_record_untouched() -> None:
    """What reads version 1 alone finds all of version 2 newer, never damaged: it is left where it is."""
    rig, trial = forked()
    service = shaping(rig)
    service.rename_branch("trial", "attempt")
    branch = rig.memory_service().branch("attempt")
    with rig.memory.hold(PROJECT) as held:
        held.begin(structural_intent(transaction="a" * 32, base=branch, planned=None, now_ms=1))
    of_one = Rig(rig.disk, ids=SequentialIds("older")).records
    with pytest.raises(NewerVersion):
        of_one.read(layout.intent(PROJECT, "a" * 32), Intent, IntentTombstone)
    with pytest.raises(NewerVersion):
        of_one.read(layout.revision(PROJECT, trial, 3), Revision, RevisionTombstone)
    assert of_one.read(layout.branch(PROJECT, trial), Branch) == branch
    rig.memory_service().remember("It finishes the removal.")
    Rig(rig.disk, ids=SequentialIds("next")).memory_service().remember("So does this.")
    with pytest.raises(NewerVersion):
        of_one.read(layout.branch(PROJECT, trial), Branch)


# -- repeating what a crash left begun


def _import(rig: Rig) -> object:
    service = ExchangeService(rig.memory, PROJECT, clock=rig.clock, ids=rig.ids)
    plan = service.plan("- The port of the service is 4100.", form="markdown", add=True)
    return service.apply(plan, cause="import").changes if plan.planned.changes else "says so already"


def _move(rig: Rig) -> object:
    service = MoveService(rig.memory, PROJECT, clock=rig.clock, ids=rig.ids)
    return service.move("Use pnpm here.", layout.USER_SCOPE)


REPEATED: dict[str, tuple[Callable[[Rig], object], object]] = {
    "import": (_import, "says so already"),
    "rename": (lambda rig: shaping(rig).rename_branch("trial", "attempt"), NotFound),
    "remove": (lambda rig: shaping(rig).remove("trial"), NotFound),
    "move": (_move, NotFound),
}


@pytest.mark.requirement("D-10", "D-11")
@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_command_finds_what_the_first_one_did(name: str) -> None:
    """Cut off between intent and branch, and called again: it says what is so, not that all was stale."""
    act, expected = REPEATED[name]
    rig, _ = forked()
    disk = rig.disk
    assert isinstance(disk, SimulatedDisk)
    probe = disk.fork()
    done_already = len(probe.operations)
    act(Rig(probe, ids=SequentialIds("v")))
    begun = [
        n for n, (verb, path) in enumerate(probe.operations, 1) if verb == "link" and "/admissions/" in path
    ]
    with pytest.raises(Crashed):
        act(Rig(disk.process("v", crash_at=begun[0] - done_already + 2), ids=SequentialIds("v")))
    assert disk.names(f"{layout.scope_folder(PROJECT)}/admissions") or name == "move"
    again = Rig(disk.process("again"), ids=SequentialIds("w"))
    if isinstance(expected, type):
        with pytest.raises(NotFound):
            act(again)
    else:
        assert act(again) == expected
    assert broken(again) == ()


@pytest.mark.requirement("M-02")
def test_no_branch_is_called_as_another_s_id() -> None:
    """A choice holds a name or an id: a name that reads like an id would lead to another branch."""
    rig, trial = forked()
    for name in (trial, MAIN_BRANCH, "0123456789ABCDEF"):
        with pytest.raises(UsageError, match="16 hex digits"):
            rig.memory_service().fork(name)
        with pytest.raises(UsageError, match="16 hex digits"):
            shaping(rig).rename_branch("trial", name)
    assert rig.memory_service().fork("0123456789abcde").name == "0123456789abcde"


@pytest.mark.requirement("M-02")
def test_a_choice_of_a_branch_that_is_gone_is_found() -> None:
    """V-22: what is in use is there, by its name or its id."""
    rig, trial = forked()
    for chosen, found in ((trial, []), ("trial", []), ("main", []), ("gone", ["V-22"])):
        rig.disk.note(layout.selected(PROJECT), seal(Selected(name=chosen)))
        assert [one.invariant for one in broken(rig)] == found
