"""What commands print with `--json` has the published form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perdure.cli.run import run
from tools import make_protocol, protocol_printed

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "src/perdure/data/demo_session.jsonl"
OTHER = ROOT / "tests/data/sessions/claude_code.jsonl"


def check(name: str, document: object) -> None:
    """Hold a document against a published schema."""
    text = (ROOT / make_protocol.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(json.loads(text)).validate(document)


@pytest.fixture
def project(perdure_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Make a home and a project in it."""
    (tmp_path / ".git").mkdir()
    assert run(["init", "--project", str(tmp_path)]) == 0
    assert perdure_home.is_dir()
    capsys.readouterr()
    return str(tmp_path)


def printed(capsys: pytest.CaptureFixture[str], project: str, *words: str) -> Any:
    """The document that a command prints."""
    run([*words, "--project", project, "--json"])
    return json.loads(capsys.readouterr().out)


def test_capture_prints_its_published_form(project: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Planned, done and repeated, for one session and for several, `capture --json` fits its schema."""
    planned = printed(capsys, project, "capture", str(SESSION), "--dry-run")
    check("capture", planned)
    assert planned["evidence"]
    done = printed(capsys, project, "capture", str(SESSION))
    check("capture", done)
    assert done["accepted"] == 1
    both = printed(capsys, project, "capture", str(SESSION), str(OTHER))
    check("capture", both)
    assert both["duplicates"] >= 1
    assert {turn["reason"] for turn in both["skipped_turns"]} <= set(protocol_printed.SKIP_REASONS)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("capture", "no-such-file.jsonl"), "not-found"),
        (("remember", "\u200bhidden"), "invisible"),
        (("remember", "x" * 801), "too-long"),
        (("forget", "nothing has this text"), "not-found"),
        (("no-such-command",), "usage"),
    ],
)
def test_an_error_is_printed_in_its_published_form(
    words: tuple[str, ...], code: str, project: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever fails, `--json` prints one error with a stable code, as its schema says."""
    document = printed(capsys, project, *words)
    check("error", document)
    assert document["error"]["code"] == code
