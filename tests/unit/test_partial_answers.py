"""An answer of which some operations cannot be: what is kept of it, and what is said (Q-14, D-05)."""

from __future__ import annotations

import json
import secrets

import pytest

from perdure.core.attempt import Result
from perdure.core.proposal import Proposal
from perdure.ports.provider import Answered, Usage
from perdure.service.curate import make_request, make_result
from tests.core_values import NOW_MS, branch, evidence, job

GOOD: dict[str, object] = {"op": "add", "text": "We use pnpm.", "evidence": ["e1"]}
BASE = branch([])


def settled(*operations: dict[str, object]) -> Result:
    """The result of an answer with these operations."""
    reviewed = job(evidence("We use pnpm.", "And we ship on Friday."))
    request = make_request(reviewed, BASE, attempt="20261130-a-1", correction=None)
    answer = Answered(json.dumps({"operations": operations}), Usage(1, 1, 0), None)
    return make_result(reviewed, BASE, request, answer, closed=False, now_ms=NOW_MS)


@pytest.mark.requirement("Q-14", "D-05", "E-06")
def test_one_bad_operation_costs_only_itself() -> None:
    """The good ones are the proposal; the checkpoint says of the bad one why, and quotes nothing of it."""
    password = secrets.token_hex(20)
    found = settled(GOOD | {"text": f"The password is {password}"}, GOOD)
    assert (found.outcome, found.detail) == ("proposal", "1 operations, 1 left out")
    assert found.proposal is not None
    assert len(json.loads(found.proposal)["operations"]) == 1
    assert found.correction is not None
    assert found.correction.startswith("operation 1: ")
    assert password not in repr(found)
    assert settled(GOOD).correction is None


@pytest.mark.requirement("Q-14")
def test_an_answer_of_bad_operations_alone_is_invalid() -> None:
    """It is never taken for nothing to remember, and the next attempt is told all that was wrong."""
    found = settled(GOOD | {"evidence": ["e9"]}, {"op": "remove", "entry": "0" * 16, "evidence": ["e1"]})
    assert (found.outcome, found.proposal) == ("invalid", None)
    assert found.correction is not None
    assert found.correction.count("operation ") == 2
    assert settled().outcome == "nothing"
    assert json.loads(settled().proposal or "") == {"operations": list(Proposal(()).operations)}
