"""Job identity, lanes and successors."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.canonical import digest
from perdure.core.job import (
    JOB_ID_DIGITS,
    Job,
    Lane,
    check_identity,
    is_job_id,
    lane_of,
    successor,
    turn_ids,
)
from perdure.core.record import Unreadable, seal, unseal
from tests.core_values import MAIN_ID, PROJECT, evidence, job


@pytest.mark.requirement("Q-01")
def test_a_job_id_binds_project_session_branch_evidence_frontier_and_generation() -> None:
    """Each of them gives another id; release, mode and time of acceptance do not."""
    base = job()
    others = [
        job(project="cd" * 8),
        job(branch_id="f" * 16),
        job(evidence(session="1" * 32)),
        job(evidence("Other.")),
        job(evidence(turn="b1")),
        successor(base, stale=False),
    ]
    assert len({base.job_id, *(other.job_id for other in others)}) == len(others) + 1
    assert job(release="9", accepted_ms=3, mode="observe").job_id == base.job_id


@pytest.mark.requirement("Q-10")
@given(st.integers(0, 2**47), st.integers(0, 2**47))
def test_job_ids_of_a_lane_sort_by_settled_time(first: int, second: int) -> None:
    """Sorting names is sorting by settled time."""
    early, late = (job(evidence(settled_ms=when)).job_id for when in sorted((first, second)))
    assert early <= late


@pytest.mark.requirement("Q-01", "Q-13")
def test_an_id_tells_its_lane_and_foreign_names_are_no_ids() -> None:
    """Project and branch can be read off; anything else in the spool is foreign."""
    made = job()
    assert lane_of(made.job_id) == Lane(PROJECT, MAIN_ID)
    assert lane_of(made.job_id).name == PROJECT + MAIN_ID
    assert is_job_id(made.job_id)
    assert len(made.job_id) == JOB_ID_DIGITS
    for foreign in ("", ".DS_Store", made.job_id[:-1], made.job_id + "0", made.job_id.upper(), "g" * 76):
        assert not is_job_id(foreign)


@pytest.mark.requirement("Q-01")
def test_a_negative_or_huge_time_still_makes_an_id() -> None:
    """A clock that is wrong gives an id that is one."""
    for when in (-5, 2**60):
        assert is_job_id(job(evidence(settled_ms=when)).job_id)


@pytest.mark.requirement("Q-01")
def test_content_that_is_not_what_the_id_says_is_found() -> None:
    """Evidence, its digest, and every part of the identity are checked."""
    made = job()
    assert check_identity(made) is None
    wrong = {
        "evidence": evidence("Other."),
        "evidence_digest": "0" * 64,
        "project": "cd" * 8,
        "branch_id": "0" * 16,
        "generation": 2,
        "job_id": successor(made, stale=False).job_id,
    }
    for field, value in wrong.items():
        assert check_identity(msgspec.structs.replace(made, **{field: value})), field


@pytest.mark.requirement("Q-01")
def test_a_job_about_no_turn_is_no_job() -> None:
    """Its id and its successor come from its last turn: without one a file is damaged."""
    made = job()
    nothing = msgspec.structs.replace(made.evidence, turns=())
    empty = msgspec.structs.replace(made, evidence=nothing, evidence_digest=digest(nothing))
    with pytest.raises(Unreadable, match=r"at \$\.evidence\.turns"):
        unseal(seal(empty), Job)


@pytest.mark.requirement("Q-06", "Q-11")
def test_a_successor_is_the_same_evidence_in_the_next_generation() -> None:
    """It is derived without clock or chance; a stale end counts on, another one starts afresh."""
    made = job()
    after = successor(successor(made, stale=True), stale=True)
    assert (after.generation, after.stale_ends) == (3, 2)
    assert after.evidence == made.evidence
    assert check_identity(after) is None
    assert lane_of(after.job_id) == lane_of(made.job_id)
    retried = successor(after, stale=False)
    assert (retried.generation, retried.stale_ends) == (4, 0)
    assert successor(made, stale=True) == successor(made, stale=True)


@pytest.mark.requirement("E-01")
def test_a_job_covers_its_turns_in_order() -> None:
    """The turns are listed oldest first, and the frontier is the last."""
    made = job(evidence(turns=3))
    assert turn_ids(made) == ("a1", "a11", "a12")
    assert made.evidence.frontier == "a12"
