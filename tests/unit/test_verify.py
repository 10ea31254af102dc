"""Verify: derived states, digests and promises recomputed from the records; restoring what they prove."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from perdure.authority.filesystem import layout
from perdure.authority.filesystem.index import FileIndex, path_of
from perdure.core.admission import Outcome, Revision, RevisionTombstone, revision_tombstone
from perdure.core.attempt import Result
from perdure.core.memory import Branch
from perdure.core.record import Record, seal, unseal
from perdure.ports.index import BranchPart, Standing
from perdure.service.invariants import INVARIANTS, REST, check_rest, rule_text
from tests.fakes import MAIN_BRANCH, PROJECT, Rig, finding_nothing, turns
from tests.services import broken, open_app, restore_service, snapshot, verify_service
from tests.simulated_disk import Crashed, SimulatedDisk

BRANCH = f"projects/{PROJECT}/branches/{MAIN_BRANCH}"
PREFER = "Prefer small commits in this project."


def lived_in() -> Rig:
    """A home with foreground writes, an undo, a fork, a forget, and reviews of every easy end."""
    rig = Rig(SimulatedDisk())
    rig.prepare()
    memory = rig.memory_service()
    memory.remember("Use tabs.", key="indent")
    memory.remember("Use spaces.", key="indent")
    rig.capture(turns(PREFER))
    rig.drain()
    memory.fork("side")
    memory.remember("Only here.", branch="side")
    memory.undo()
    memory.forget("indent")
    memory.remember("Keep functions small.")
    rig.provider._otherwise = finding_nothing
    rig.capture(turns("Nothing here.", first=1))
    rig.drain()
    return rig


def disk_of(rig: Rig) -> SimulatedDisk:
    """The rig's disk, to break things on."""
    assert isinstance(rig.disk, SimulatedDisk)
    return rig.disk


def forge(rig: Rig, path: str, record_type: type[Record], **changes: object) -> None:
    """Put a well-formed record with other content in a record's place."""
    standing = rig.disk.read(path, bytes_max=1 << 20)
    assert standing is not None
    disk_of(rig).put(path, seal(msgspec.structs.replace(unseal(standing, record_type), **changes)))


def only(rig: Rig, folder: str) -> str:
    """The path of the first record in a folder."""
    return f"{folder}/{min(rig.disk.names(folder))}"


@pytest.mark.requirement("X-03")
def test_a_lived_in_home_has_nothing_to_report() -> None:
    """Every derived state and digest is what the records give."""
    rig = lived_in()
    assert broken(rig) == ()
    assert check_rest(snapshot(rig)) == ()
    verified = verify_service(rig).verify()
    assert verified.findings == ()
    assert (verified.jobs, verified.attempts, verified.branches, verified.revisions) == (2, 2, 2, 8)


def _edit_branch(rig: Rig) -> None:
    branch = rig.memory.branch(PROJECT, MAIN_BRANCH)
    assert branch is not None
    entry = msgspec.structs.replace(branch.entries[0], text="Never do that.")
    forge(rig, BRANCH, Branch, entries=(entry, *branch.entries[1:]))


def _swap_change(rig: Rig) -> None:
    path = layout.revision(PROJECT, MAIN_BRANCH, 2)
    second = rig.memory.revision(PROJECT, MAIN_BRANCH, 2)
    assert isinstance(second, Revision)
    forge(rig, path, Revision, changes=(msgspec.structs.replace(second.changes[0], before=None),))


def _renumber(rig: Rig) -> None:
    forge(rig, layout.revision(PROJECT, MAIN_BRANCH, 2), Revision, seq=2**62)


def _run_ahead(rig: Rig) -> None:
    forge(rig, BRANCH, Branch, seq=2**62)


def _lose_revision(rig: Rig) -> None:
    rig.disk.remove(layout.revision(PROJECT, MAIN_BRANCH, 3))


def _lose_branch(rig: Rig) -> None:
    rig.disk.remove(BRANCH)


def _tear(rig: Rig) -> None:
    path = only(rig, layout.SPOOL_DECISIONS)
    disk_of(rig).put(path, (rig.disk.read(path, bytes_max=1 << 20) or b"")[:-9])


def _change_outcome(rig: Rig) -> None:
    forge(rig, only(rig, f"projects/{PROJECT}/outcomes"), Outcome, reason="otherwise")


def _lose_receipt(rig: Rig) -> None:
    rig.disk.remove(only(rig, f"projects/{PROJECT}/receipts"))


def _lose_decision(rig: Rig) -> None:
    rig.disk.remove(only(rig, layout.SPOOL_DECISIONS))


def _rename_job(rig: Rig) -> None:
    path = only(rig, layout.SPOOL_JOBS)
    data = rig.disk.read(path, bytes_max=1 << 20)
    rig.disk.remove(path)
    disk_of(rig).put(path[:-1] + ("0" if path[-1] != "0" else "1"), data or b"")


def _undispatch(rig: Rig) -> None:
    day = rig.disk.names(layout.ATTEMPTS)[0]
    folder = f"{layout.ATTEMPTS}/{day}"
    fate = next(name for name in rig.disk.names(folder) if name.endswith(".fate"))
    rig.disk.remove(f"{folder}/{fate}")


def _unbind(rig: Rig) -> None:
    day = rig.disk.names(layout.ATTEMPTS)[0]
    folder = f"{layout.ATTEMPTS}/{day}"
    name = next(name for name in rig.disk.names(folder) if name.endswith(".result"))
    forge(rig, f"{folder}/{name}", Result, detail="another")


@pytest.mark.requirement("X-03", "D-03", "M-13")
@pytest.mark.parametrize(
    ("harm", "invariant"),
    [
        (_edit_branch, "V-13"),
        (_swap_change, "V-13"),
        (_renumber, "V-02"),
        (_run_ahead, "V-13"),
        (_lose_revision, "V-13"),
        (_lose_branch, "V-13"),
        (_tear, "V-01"),
        (_change_outcome, "V-08"),
        (_lose_receipt, "V-08"),
        (_lose_decision, "V-08"),
        (_rename_job, "V-02"),
        (_undispatch, "V-12"),
        (_unbind, "V-04"),
    ],
)
def test_each_harm_is_named(harm: Callable[[Rig], None], invariant: str) -> None:
    """A record that was changed, lost or renamed breaks the rule that is about it, and verify is not ok."""
    rig = lived_in()
    harm(rig)
    assert invariant in {violation.invariant for violation in broken(rig)}
    assert not verify_service(rig).verify().ok


@pytest.mark.requirement("G-03")
def test_a_second_effect_of_the_same_evidence_is_a_fault() -> None:
    """Two jobs of one window that both say they were applied break G-03."""
    rig = lived_in()
    folder = f"projects/{PROJECT}/outcomes"
    outcomes = [f"{folder}/{name}" for name in sorted(rig.disk.names(folder))]
    first = rig.records.read(outcomes[0], Outcome)
    assert first is not None
    assert first.state == "applied"
    forge(rig, outcomes[1], Outcome, state="applied", evidence_digest=first.evidence_digest)
    assert "second-effect" in {violation.code for violation in broken(rig)}


@pytest.mark.requirement("M-12", "M-13")
def test_a_purged_revision_is_a_gap_that_is_accepted() -> None:
    """The chain stays linked over a purged revision, and both sides of it are still replayed."""
    rig = lived_in()
    path = layout.revision(PROJECT, MAIN_BRANCH, 2)
    second = rig.records.read(path, Revision)
    assert second is not None
    disk_of(rig).put(path, seal(revision_tombstone(second)))
    assert broken(rig) == ()
    forge(rig, path, RevisionTombstone, result_digest="0" * 64)
    assert "link" in {violation.code for violation in broken(rig)}


@pytest.mark.requirement("M-13")
def test_a_change_after_a_purged_revision_is_still_checked() -> None:
    """From the branch backward, every revision down to the gap is replayed."""
    rig = lived_in()
    _purge_second(rig)
    branch = rig.memory_service().branch()
    fifth = rig.records.read(layout.revision(PROJECT, MAIN_BRANCH, branch.seq - 1), Revision)
    assert fifth is not None
    assert fifth.changes[0].before is not None
    before = msgspec.structs.replace(fifth.changes[0].before, text="Use neither.")
    changes = (msgspec.structs.replace(fifth.changes[0], before=before),)
    forge(rig, layout.revision(PROJECT, MAIN_BRANCH, branch.seq - 1), Revision, changes=changes)
    assert {violation.code for violation in broken(rig)} == {"replay"}


@pytest.mark.requirement("X-05")
def test_the_rules_hold_in_every_state_a_power_loss_leaves() -> None:
    """Between any two steps of a review and its neighbours, no rule is broken, recovered or not."""
    steps = 0
    for crash_at in range(1, 400):
        disk = SimulatedDisk("posix-weak")
        rig = Rig(disk)
        rig.prepare()
        rig.memory_service().remember("Use tabs.", key="indent")
        begun = len(disk.operations)
        disk.crash_at(begun + crash_at)
        try:
            rig.capture(turns(PREFER))
            rig.drain()
            rig.memory_service().undo()
        except Crashed:
            pass
        else:
            break
        steps += 1
        for state in disk.surviving_states(limit=6, seed=crash_at):
            assert broken(Rig(state)) == (), (crash_at, disk.operations[-1])
    assert steps > 80


@pytest.mark.requirement("M-13")
@pytest.mark.parametrize("harm", [_lose_branch, _edit_branch])
def test_restore_writes_a_branch_again_from_its_revisions(harm: Callable[[Rig], None]) -> None:
    """A missing or edited branch comes back exactly; what stood there is kept in quarantine."""
    rig = lived_in()
    before = rig.memory.branch(PROJECT, MAIN_BRANCH)
    harm(rig)
    restored = restore_service(rig).restore()
    assert restored.branches == (BRANCH,)
    assert restored.refused == ()
    assert rig.memory.branch(PROJECT, MAIN_BRANCH) == before
    assert broken(rig) == ()
    assert len(restored.copies) == (0 if harm is _lose_branch else 1)


@pytest.mark.requirement("M-13")
def test_restore_finds_the_name_of_a_fork_by_its_digest() -> None:
    """A torn fork comes back under its own name, proved by the digest of its last revision."""
    rig = lived_in()
    side = next(row for row in rig.memory.branches(PROJECT) if row.name == "side")
    before = rig.memory.branch(PROJECT, side.branch_id)
    path = layout.branch(PROJECT, side.branch_id)
    data = rig.disk.read(path, bytes_max=1 << 20) or b""
    disk_of(rig).put(path, data.replace(b"Only here.", b"Only HERE."))
    assert restore_service(rig).restore().branches == (path,)
    assert rig.memory.branch(PROJECT, side.branch_id) == before


@pytest.mark.requirement("M-13")
def test_restore_refuses_what_the_records_do_not_prove() -> None:
    """With a revision missing or purged, a lost branch is named and nothing is made up."""
    for harm in (_lose_revision, _purge_second):
        rig = lived_in()
        harm(rig)
        _lose_branch(rig)
        restored = restore_service(rig).restore()
        assert restored.branches == ()
        assert len(restored.refused) >= 1
        assert rig.disk.info(BRANCH) is None


@pytest.mark.requirement("M-13")
def test_restore_does_not_guess_the_name_of_a_lost_fork() -> None:
    """A name that does not give the digest is no name: the fork stays lost, and is named."""
    rig = lived_in()
    rig.memory_service().fork("other")
    rig.memory_service().use("other")
    side = next(row for row in rig.memory.branches(PROJECT) if row.name == "side")
    rig.disk.remove(layout.branch(PROJECT, side.branch_id))
    restored = restore_service(rig).restore()
    assert restored.branches == ()
    assert "name is not known" in restored.refused[0]


@pytest.mark.requirement("D-06", "D-11")
def test_restore_finishes_what_was_begun() -> None:
    """A transaction left open behind a lost branch is rolled forward once the branch is back."""
    rig = lived_in()
    disk = disk_of(rig)
    begun = len(disk.operations)
    rig.memory_service().remember("One more thing.")
    operations = disk.operations[begun:]
    at = (n for n, (kind, path) in enumerate(operations, 1) if kind == "replace" and "branches" in path)
    branch_write = next(at)
    rig = lived_in()
    disk = disk_of(rig)
    disk.crash_at(len(disk.operations) + branch_write)
    with pytest.raises(Crashed):
        rig.memory_service().remember("One more thing.")
    disk.reboot("kept")
    disk.remove(BRANCH)
    rig = Rig(disk, clock=rig.clock)
    restored = restore_service(rig).restore()
    assert (restored.branches, restored.refused, restored.finished) == ((BRANCH,), (), 1)
    assert rig.memory_service().branch().entries[-1].text == "One more thing."
    assert broken(rig) == ()


def _purge_second(rig: Rig) -> None:
    path = layout.revision(PROJECT, MAIN_BRANCH, 2)
    second = rig.records.read(path, Revision)
    assert second is not None
    disk_of(rig).put(path, seal(revision_tombstone(second)))


@pytest.mark.requirement("E-04", "S-03", "Q-13")
def test_modes_links_and_foreign_files_are_named(tmp_path: Path, perdure_home: Path) -> None:
    """A file that others can read is a fault, a link a warning, a foreign file a note."""
    app, project = open_app(tmp_path)
    app.memory_service(project).remember("Use tabs.")
    branches = perdure_home / "projects" / project / "branches"
    next(branches.iterdir()).chmod(0o644)
    (branches / ".DS_Store").write_bytes(b"x")
    (branches / ".DS_Store").chmod(0o600)
    (perdure_home / "spool" / "jobs" / "link").symlink_to("/etc/hostname")
    (perdure_home / "config.toml").write_text("", encoding="utf-8")
    (perdure_home / "run" / "workers" / ".DS_Store").write_bytes(b"x")
    (perdure_home / "run" / "workers" / ".DS_Store").chmod(0o600)
    os.mkfifo(perdure_home / "quarantine" / "pipe", 0o600)
    found = {(one.severity, one.code) for one in app.verify_service().verify().findings}
    app.close()
    assert found == {
        ("fault", "permissions"),
        ("warning", "permissions"),
        ("warning", "symlink"),
        ("note", "foreign"),
        ("note", "special-file"),
    }


@pytest.mark.requirement("X-01", "E-03")
def test_a_secret_in_a_record_is_a_fault_that_does_not_show_it() -> None:
    """A record that came about without the check is found; its text does not stand in the finding."""
    token = "ghp_" + os.urandom(30).hex()[:36]
    rig = Rig(SimulatedDisk())
    rig.prepare()
    rig.memory_service().remember("Use tabs.")
    branch = rig.memory.branch(PROJECT, MAIN_BRANCH)
    assert branch is not None
    forge(
        rig, BRANCH, Branch, entries=(msgspec.structs.replace(branch.entries[0], text=f"Use {token} here"),)
    )
    findings = verify_service(rig).verify().findings
    assert "secret" in {one.code for one in findings}
    assert not any(token in str(one) for one in findings)


@pytest.mark.requirement("M-12")
def test_a_forgotten_text_on_a_branch_is_named(tmp_path: Path) -> None:
    """Forgotten on one branch and standing on another is a note; learned again on purpose is none."""
    app, project = open_app(tmp_path)
    memory = app.memory_service(project)
    memory.remember("Use tabs.")
    memory.fork("side")
    memory.forget("Use tabs.")
    codes = [one.code for one in app.verify_service().verify().findings]
    assert codes == ["forgotten-elsewhere"]
    memory.forget("Use tabs.", branch="side")
    memory.remember("Use tabs.", relearn=True)
    assert app.verify_service().verify().findings == ()
    app.close()


@pytest.mark.requirement("X-03", "R-09")
def test_the_index_of_recall_is_counted_and_damage_to_it_is_a_note() -> None:
    """Parts and texts are told; a torn file is named, will be made again, and is no fault."""
    rig = lived_in()
    assert verify_service(rig).verify().index == Standing(parts=0, entries=0)
    part = BranchPart(PROJECT, MAIN_BRANCH)
    FileIndex(rig.records, b"k" * 32).save(part, {"00": b"packed"}, source="s", encoder="e")
    assert verify_service(rig).verify().index == Standing(parts=1, entries=1)
    rig.disk.note(path_of(part), b"torn")
    found = verify_service(rig).verify()
    assert found.ok
    assert found.index == Standing(parts=1, entries=0, damaged=(path_of(part),))
    assert [(each.severity, each.code, each.path) for each in found.findings] == [
        ("note", "index", path_of(part))
    ]


def test_every_rule_can_be_said_in_a_line() -> None:
    """Each invariant has its rule in words, for messages and for docs."""
    rules = {name: rule_text(name) for name in (*INVARIANTS, *REST)}
    assert all(rule.endswith((".", ")")) and "\n" not in rule for rule in rules.values())
    assert len(set(rules.values())) == len(rules)
    page = (Path(__file__).parents[2] / "docs/explanation/reliability.md").read_text()
    assert [line for line in page.splitlines() if line.startswith(("| V-", "| R-"))] == [
        f"| {name} | {rule} |" for name, rule in rules.items()
    ]
