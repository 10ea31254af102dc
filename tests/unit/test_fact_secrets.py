"""A secret that only its key gives away, a kind that is a token, and guidance that quotes nothing."""

from __future__ import annotations

import json
import secrets

import pytest

from perdure.core.memory import Add, Branch, EditRefused, Replace, plan
from perdure.core.proposal import Malformed, check_kind, parse_proposal
from perdure.core.text_meaning import check_fact
from perdure.errors import TextRefused

PASSWORD = f"Falcon-{secrets.randbelow(9000) + 1000}{secrets.token_hex(2)}"
TOKEN = "ghp_" + secrets.token_hex(18)
BRANCH = Branch(
    branch_id="b" * 16, project="p" * 16, name="main", parent=None, seq=0, changed_ms=0, entries=()
)


@pytest.mark.requirement("M-10")
def test_a_text_under_the_key_of_a_secret_is_refused() -> None:
    """Together, "db password" and a password are a secret; other facts are welcome."""
    with pytest.raises(TextRefused) as found:
        check_fact("db password", PASSWORD)
    assert found.value.code == "secret"
    assert PASSWORD not in str(found.value)
    check_fact("password rules", "at least 12 characters")
    check_fact("check command", "make check")


@pytest.mark.requirement("M-10")
def test_no_edit_brings_key_and_secret_together() -> None:
    """Neither an addition nor a new key for an old text."""
    with pytest.raises(EditRefused) as found:
        plan(BRANCH, (Add(PASSWORD, "project", "db password", "normal", "tool", "e" * 16),), now_ms=1)
    assert found.value.code == "secret"
    held = plan(BRANCH, (Add(PASSWORD, "project", None, "normal", "tool", "e" * 16),), now_ms=1).branch
    with pytest.raises(EditRefused):
        plan(held, (Replace("e" * 16, None, None, "db password", None, "tool", None),), now_ms=2)


@pytest.mark.requirement("D-05", "M-10")
@pytest.mark.parametrize(
    "changed",
    [
        {"kind": TOKEN},
        {"key": "db password", "text": PASSWORD},
        {TOKEN: 1},
        {"op": TOKEN},
        {"evidence": [TOKEN]},
        {"importance": TOKEN},
        {"text": 5},
    ],
)
def test_guidance_never_quotes_the_answer(changed: dict[str, object]) -> None:
    """Guidance is stored and sent again: it names the fault and the place, not what stood there."""
    add = {"op": "add", "text": "Tea is sold.", "evidence": ["e1"], "rationale": "said"}
    found = parse_proposal(json.dumps({"operations": [add | changed]}), evidence_ids=["e1"], entry_ids=[])
    assert isinstance(found, Malformed)
    assert TOKEN[:8] not in found.guidance
    assert PASSWORD not in found.guidance


def test_guidance_names_the_place_of_a_fault() -> None:
    """A wrong type, a field that nobody knows, and no JSON at all are told apart."""
    answers = {
        '{"operations": 1}': "at $.operations",
        '{"operations": [], "x - at `$abc": 1}': "unknown field",
        '{"operations": [{"op": "add", "text": 5}]}': "at $.operations[0].text",
        "no words of mine": "JSON is malformed",
    }
    for answer, told in answers.items():
        found = parse_proposal(answer, evidence_ids=[], entry_ids=[])
        assert isinstance(found, Malformed)
        assert told in found.guidance
        assert "abc" not in found.guidance


@pytest.mark.requirement("M-10")
def test_a_kind_is_no_token() -> None:
    """A kind is shown to models like a text."""
    assert check_kind(TOKEN) is not None
    assert check_kind("deploy-notes") is None
