"""One damaged or missing branch stops what rests on it, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Literal

import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.exposure import FileExposures
from perdure.core.job import successor
from perdure.core.protocol import Decide
from perdure.core.record import seal
from perdure.errors import Ambiguous, Damaged
from perdure.service.capture import CaptureService
from perdure.service.inject import InjectService
from tests.fakes import MAIN_BRANCH, PROJECT, SESSION, Rig, SequentialIds, turns
from tests.services import broken, restore_service
from tests.simulated_disk import Crashed, SimulatedDisk
from tests.simulated_view import DiskView

USER = layout.USER_SCOPE
MAIN_FILE = layout.branch(PROJECT, MAIN_BRANCH)
PORT = "The port of the service is 4100."


def forked() -> tuple[Rig, SimulatedDisk, str]:
    """A project with an entry on main, two forks of it, and the id of the first, "trial"."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    memory = rig.memory_service()
    memory.remember("Use pnpm here.")
    trial = memory.fork("trial").branch_id
    memory.fork("other")
    return rig, disk, trial


def fresh(disk: SimulatedDisk, series: str = "n") -> Rig:
    """Another process on the same disk."""
    return Rig(disk, ids=SequentialIds(series))


def capture_on(rig: Rig, branch_id: str) -> str:
    """Take a turn in as a job of a branch; its id."""
    service = CaptureService(rig.coverage, clock=rig.clock, release="1")
    done = service.capture(
        host="pi", session=SESSION, turns=turns(PORT), project=PROJECT, branch_id=branch_id
    )
    (job_id,) = done.jobs
    return job_id


def injecting(rig: Rig) -> InjectService:
    """What renders the block."""
    return InjectService(rig.memory, FileExposures(rig.records), rig.clock, chars_max=8_000, tokens_max=2_000)


def lost(disk: SimulatedDisk, path: str) -> None:
    """The file is gone."""
    disk.remove(path)


def torn(disk: SimulatedDisk, path: str) -> None:
    """The file is empty."""
    disk.put(path, b"")


HARMS = [lost, torn]
Harm = Callable[[SimulatedDisk, str], None]


@pytest.mark.requirement("G-01", "D-12")
@pytest.mark.parametrize("harm", HARMS)
def test_a_job_of_a_lost_branch_is_stopped_and_reviewed_once_it_is_back(harm: Harm) -> None:
    """A missing file is no removal: the job keeps its evidence, and `--restore` lets it go on."""
    rig, disk, trial = forked()
    rig.memory_service().use("trial")
    job_id = capture_on(rig, trial)
    whole = disk.read(layout.branch(PROJECT, trial), bytes_max=1 << 20) or b""
    harm(disk, layout.branch(PROJECT, trial))
    report = fresh(disk).drain()
    assert (report.ended, list(report.stopped)) == ({}, [job_id])
    if harm is lost:
        assert "the branch file is gone" in report.stopped[job_id]
        assert restore_service(rig).restore().branches == (layout.branch(PROJECT, trial),)
    else:
        disk.put(layout.branch(PROJECT, trial), whole)
    assert fresh(disk, "m").drain().ended == {"applied": 1}
    assert broken(fresh(disk)) == ()


@pytest.mark.requirement("G-01", "E-01")
@pytest.mark.parametrize("model", ["posix-weak", "ext4"])
def test_no_power_loss_takes_a_branch_from_under_its_job(model: Literal["posix-weak", "ext4"]) -> None:
    """A fork that was killed before its folder was synced is durable once a job names its branch."""
    disk = SimulatedDisk(model)
    rig = Rig(disk)
    rig.prepare()
    rig.memory_service().remember("Base fact here.")
    disk.reboot("kept")
    probe = disk.fork()
    Rig(probe, ids=SequentialIds("f")).memory_service().fork("trial")
    steps = probe.operations
    put = next(n for n, (kind, path) in enumerate(steps) if kind == "replace" and "/branches/" in path)
    synced = next(
        n
        for n, (kind, path) in enumerate(steps)
        if n > put and (kind, path[-9:]) == ("sync_folder", "/branches")
    )
    forker = disk.process("forker", crash_at=synced + 1)
    with contextlib.suppress(Crashed):
        Rig(forker, ids=SequentialIds("f")).memory_service().fork("trial")
    user = Rig(disk.process("user"), ids=SequentialIds("u"))
    job_id = capture_on(user, user.memory_service().branch("trial").branch_id)
    disk.reboot("lost")
    rig = fresh(disk)
    assert [row.name for row in rig.memory.branches(PROJECT)] == ["main", "trial"]
    assert rig.drain().ended == {"applied": 1}
    assert rig.queue.outcome(job_id) is not None


@pytest.mark.requirement("M-13", "Q-13")
@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_branch_leaves_the_others_at_work(harm: Harm) -> None:
    """Reading, writing, forking, listing, reviewing and injecting go on; the list names what is damaged."""
    rig, disk, trial = forked()
    capture_on(rig, MAIN_BRANCH)
    harm(disk, layout.branch(PROJECT, trial))
    rig = fresh(disk)
    memory = rig.memory_service()
    rows = {row.name: row.problem for row in memory.branches()}
    assert [name for name, problem in rows.items() if problem] == [trial]
    assert set(rows) == {"main", "other", trial}
    assert memory.branch("other").entries
    assert [row.branch for row in rig.jobs_service().list()] == ["main"]
    assert memory.fork("copy").entries == 1
    memory.use("other")
    memory.remember("Tests run with make.")
    block = injecting(rig).block(PROJECT)
    assert "Tests run with make." in block.text
    assert block.problem == ""
    assert rig.drain().ended == {"applied": 1}
    with pytest.raises(Damaged):
        memory.branch(trial)
    with pytest.raises(Damaged, match=f"'trial'.*{trial} cannot be read"):
        memory.branch("trial")


@pytest.mark.requirement("Q-13")
def test_a_foreign_name_as_long_as_an_id_is_no_branch() -> None:
    """Only 16 hexadecimal digits name a branch."""
    rig, disk, _ = forked()
    disk.put(layout.branch(PROJECT, "notes-backup.txt"), b"hi")
    assert [row.name for row in rig.memory.branches(PROJECT)] == ["main", "other", "trial"]


@pytest.mark.requirement("I-01", "M-02")
@pytest.mark.parametrize("harm", HARMS)
def test_main_never_stands_in_for_the_branch_in_use(harm: Harm) -> None:
    """Nothing of the project is shown and the block says why; the user-wide part is still there."""
    rig, disk, trial = forked()
    rig.memory_service(USER).remember("Answers are short.")
    rig.memory_service().use("trial")
    harm(disk, layout.branch(PROJECT, trial))
    block = injecting(fresh(disk)).turn_start(PROJECT, session=SESSION)
    assert "Answers are short." in block.text
    assert "Use pnpm here." not in block.text
    assert "'trial'" in block.problem
    assert injecting(rig).block(PROJECT, trial).problem


@pytest.mark.requirement("I-01", "M-13")
def test_a_damaged_user_branch_leaves_the_project_in_the_block() -> None:
    """What can be read is injected; what cannot is named, and not to the model."""
    rig, disk, _ = forked()
    row = rig.memory.branches(USER)[0]
    rig.memory_service(USER).remember("Answers are short.")
    torn(disk, layout.branch(USER, row.branch_id))
    block = injecting(fresh(disk)).block(PROJECT)
    assert "Use pnpm here." in block.text
    assert layout.branch(USER, row.branch_id) in block.problem
    assert layout.USER_SCOPE + "/" not in block.text


@pytest.mark.requirement("M-13")
def test_two_branches_of_one_name_are_told_apart_by_id() -> None:
    """A name that was taken again while its branch was damaged is ambiguous once that is back."""
    rig, disk, trial = forked()
    path = layout.branch(PROJECT, trial)
    whole = disk.read(path, bytes_max=1 << 20) or b""
    torn(disk, path)
    rig = fresh(disk)
    second = rig.memory_service().fork("trial").branch_id
    disk.put(path, whole)
    with pytest.raises(Ambiguous, match=second):
        rig.memory_service().branch("trial")
    assert rig.memory_service().branch(trial).branch_id == trial


@pytest.mark.requirement("Q-13", "M-13")
def test_a_successor_that_cannot_be_read_stops_its_job_alone() -> None:
    """A retry that was killed after its decision, and whose next generation a newer program wrote."""
    rig, disk, _ = forked()
    job_id = capture_on(rig, MAIN_BRANCH)
    job = rig.queue.job(job_id)
    assert job is not None
    rig.jobs_service()._publisher.decide(job, Decide("superseded", "user", None), ())
    following = successor(job, stale=False)
    newer = seal(following).replace(b'"version":1}', b'"version":2}')
    disk.put(layout.job(following.job_id), newer)
    rig = fresh(disk)
    rig.capture(turns("Releases go out on Thursdays.", first=1), session=SESSION[::-1])
    report = rig.drain()
    assert job_id in report.stopped
    assert report.ended == {"applied": 1}
    assert {row.job_id for row in rig.jobs_service().list()} >= {job_id}


@pytest.mark.requirement("D-03", "M-09")
def test_an_older_copy_of_a_branch_takes_no_change_until_it_is_restored() -> None:
    """Nothing is acknowledged on a branch whose numbers would recur; `--restore` brings the newest back."""
    rig, disk, _ = forked()
    memory = rig.memory_service()
    old = disk.read(MAIN_FILE, bytes_max=1 << 20) or b""
    memory.remember("Second fact.")
    memory.remember("Third fact.")
    disk.put(MAIN_FILE, old)
    rig = fresh(disk)
    with pytest.raises(Damaged, match="older than its history"):
        rig.memory_service().remember("Fourth fact.")
    assert disk.names(f"{layout.scope_folder(PROJECT)}/admissions") == []
    assert restore_service(rig).restore().branches == (MAIN_FILE,)
    assert rig.memory_service().remember("Fourth fact.").seq == 4
    assert broken(rig) == ()


ADMISSIONS = f"{layout.scope_folder(PROJECT)}/admissions"


@pytest.mark.requirement("M-13", "D-11")
def test_a_damaged_intent_with_no_effect_left_is_taken_away() -> None:
    """It keeps the project read-only until `--restore` has seen that branches and revisions agree."""
    rig, disk, _ = forked()
    path = f"{ADMISSIONS}/{'ab' * 16}"
    torn(disk, path)
    rig = fresh(disk)
    with pytest.raises(Damaged):
        rig.memory_service().remember("Second fact.")
    restored = restore_service(rig).restore()
    assert (restored.cleared, restored.refused, len(restored.copies)) == ((path,), (), 1)
    assert rig.memory_service().remember("Second fact.").seq == 2
    assert broken(rig) == ()


@pytest.mark.requirement("M-13", "D-11")
def test_a_damaged_intent_stays_while_it_may_have_an_effect_left() -> None:
    """A branch that no revision explains, or a review that took effect and is open, keeps it in place."""
    for kind in ("foreground", "review"):
        rig, disk, _ = forked()
        if kind == "review":
            capture_on(rig, MAIN_BRANCH)
        probe = disk.fork()
        act(Rig(probe, ids=SequentialIds("v")), kind)
        folder = "/branches/" if kind == "foreground" else f"/revisions/{MAIN_BRANCH}/"
        verb = "replace" if kind == "foreground" else "link"
        at = max(n for n, (v, p) in enumerate(probe.operations) if v == verb and folder in p)
        victim = disk.process("victim", crash_at=at + 3)
        with contextlib.suppress(Crashed):
            act(Rig(victim, ids=SequentialIds("v")), kind)
        (name,) = disk.names(ADMISSIONS)
        torn(disk, f"{ADMISSIONS}/{name}")
        if kind == "foreground":
            lost(disk, layout.revision(PROJECT, MAIN_BRANCH, 1))
        restored = restore_service(fresh(disk)).restore()
        assert restored.cleared == (), kind
        assert any("It stays" in why for why in restored.refused), kind
        assert disk.names(ADMISSIONS) == [name]


@pytest.mark.requirement("M-13", "D-06")
@pytest.mark.parametrize(("kind", "compacted"), [("foreground", False), ("review", False), ("review", True)])
def test_a_damaged_completion_is_derived_again(kind: str, *, compacted: bool) -> None:
    """Cut off behind its completion, which is then damaged: `--restore` opens the project, and the change
    stands once, with its receipt.
    """
    rig, disk, _ = forked()
    if kind == "review":
        capture_on(rig, MAIN_BRANCH)
    probe = disk.fork()
    act(Rig(probe, ids=SequentialIds("v")), kind)
    done = max(n for n, (v, p) in enumerate(probe.operations) if v == "link" and p.endswith(".done"))
    if compacted:
        done = max(n for n, (v, p) in enumerate(probe.operations) if v == "replace" and "/admissions/" in p)
    victim = disk.process("victim", crash_at=done + 3)
    with contextlib.suppress(Crashed):
        act(Rig(victim, ids=SequentialIds("v")), kind)
    (path,) = (f"{ADMISSIONS}/{name}" for name in disk.names(ADMISSIONS) if name.endswith(".done"))
    torn(disk, path)
    restored = restore_service(fresh(disk)).restore()
    assert (restored.completions, restored.refused, len(restored.copies)) == ((path,), (), 1)
    rig = fresh(disk)
    rig.drain()
    rig.memory_service().remember("Third fact.")
    texts = [entry.text for entry in rig.memory_service().branch("main").entries]
    assert texts == ["Use pnpm here.", PORT if kind == "review" else "Second fact.", "Third fact."]
    assert broken(rig) == ()


def act(rig: Rig, kind: str) -> None:
    """Write in the foreground, or review."""
    if kind == "review":
        rig.drain()
    else:
        rig.memory_service().remember("Second fact.")


@pytest.mark.requirement("M-02", "Q-13")
def test_a_fork_is_not_taken_for_a_lost_branch_while_it_is_made() -> None:
    """Whoever lists the branches while another finishes it sees it whole or not at all."""
    for looks in range(1, 20):
        disk = SimulatedDisk()
        rig = Rig(disk)
        rig.prepare()
        rig.memory_service().remember("Use pnpm here.")
        probe = disk.fork()
        Rig(probe, ids=SequentialIds("v")).memory_service().fork("trial")
        (at,) = (n for n, (v, p) in enumerate(probe.operations) if v == "replace" and "/branches/" in p)
        with contextlib.suppress(Crashed):
            Rig(disk.process("v", crash_at=at + 1), ids=SequentialIds("v")).memory_service().fork("trial")
        reader = disk.process("reader")
        writer = Rig(disk.process("writer"), ids=SequentialIds("w"))
        left = [looks]

        def look(left: list[int] = left, writer: Rig = writer) -> None:
            left[0] -= 1
            if left[0] == 0:
                writer.memory_service().remember("Another fact.")

        spied(reader, look)
        for _ in range(2):
            rows = Rig(reader, ids=SequentialIds("r")).memory.branches(PROJECT)
            assert [row.problem for row in rows] == [""] * len(rows), looks


def spied(view: DiskView, look: Callable[[], None]) -> None:
    """Call `look` after each read and each listing of that process."""
    read, names = view.read, view.names

    def spied_read(path: str, *, bytes_max: int) -> bytes | None:
        data = read(path, bytes_max=bytes_max)
        look()
        return data

    def spied_names(folder: str) -> list[str]:
        found = names(folder)
        look()
        return found

    view.read = spied_read  # type: ignore[method-assign] # a stand-in for one method
    view.names = spied_names  # type: ignore[method-assign] # a stand-in for one method


@pytest.mark.requirement("M-12", "M-13")
@pytest.mark.parametrize("branch_too", [False, True], ids=["the revision", "the branch as well"])
def test_restoring_never_brings_back_what_was_forgotten(*, branch_too: bool) -> None:
    """The newest revision, a forget, is lost: a branch that stands stays, another is refused."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    memory = rig.memory_service()
    memory.remember("Keep this.")
    memory.remember("The old host is called Zed.")
    memory.forget("The old host is called Zed.")
    lost(disk, layout.revision(PROJECT, MAIN_BRANCH, 3))
    if branch_too:
        torn(disk, MAIN_FILE)
    before = disk.files()[MAIN_FILE]
    restored = restore_service(fresh(disk)).restore()
    assert (restored.branches, len(restored.refused)) == ((), 1)
    assert disk.files()[MAIN_FILE] == before
    if not branch_too:
        assert [entry.text for entry in fresh(disk).memory_service().branch().entries] == ["Keep this."]


@pytest.mark.requirement("M-13", "X-05")
def test_a_branch_that_a_killed_restore_left_is_made_durable_by_the_next() -> None:
    """Killed before it synced the folder: who restores again is told that all is well, and then it is."""
    disk = SimulatedDisk()
    rig = Rig(disk)
    rig.prepare()
    rig.memory_service().remember("Use pnpm here.")
    lost(disk, MAIN_FILE)
    disk.reboot("kept")
    probe = disk.fork()
    restore_service(Rig(probe)).restore()
    at = max(
        n
        for n, (verb, path) in enumerate(probe.operations, 1)
        if verb == "sync_folder" and "/branches" in path
    )
    with contextlib.suppress(Crashed):
        restore_service(Rig(disk.process("v", crash_at=at))).restore()
    assert restore_service(fresh(disk)).restore().refused == ()
    disk.reboot("lost")
    assert [entry.text for entry in fresh(disk).memory_service().branch().entries] == ["Use pnpm here."]
