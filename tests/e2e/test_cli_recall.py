"""perdure recall, and inject --prompt, as a user types them."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from perdure import app
from tests.e2e.command_line import Perdure, process
from tests.fake_encoder import WordEncoder
from tests.session_files import PiSession

TEXTS = {
    "deploy command": "make ship",
    "api port": "The API listens on port 4100.",
    "名前": "サーバーの名前は鶴です。",
    "почта": "Письма идут через Postfix. 📮",
    "café ☕": "Réunion d’équipe au café à neuf heures.",
}
ENTRY_FIELDS = {
    *("id text kind key importance origin created_ms updated_ms digest".split()),
    *("scope branch score margin provenance why".split()),
}


@pytest.fixture
def filled(perdure: Perdure) -> Perdure:
    """A project that remembers a few things."""
    for key, text in TEXTS.items():
        perdure("remember", text, "--key", key)
    return perdure


@pytest.mark.requirement("R-01", "R-04")
@pytest.mark.parametrize("key", TEXTS)
def test_a_key_gives_its_value_as_text_and_as_json(filled: Perdure, key: str) -> None:
    """Any script: the value stands first, and the document has every field."""
    assert TEXTS[key] in filled("recall", key).out.splitlines()[0]
    found = filled.json("recall", key)
    first = found["entries"][0]
    assert (first["text"], first["key"], first["score"], first["branch"]) == (TEXTS[key], key, 1.0, "main")
    assert first["why"]["exact_key"]
    assert first.keys() == ENTRY_FIELDS
    assert (found["question"], found["mode"], found["nearest"], found["problems"]) == (key, "fused", [], [])
    assert found.keys() == set("question mode searches encoder pending problems entries nearest".split())


@pytest.mark.requirement("R-05")
def test_nothing_is_an_answer_with_a_status_of_its_own(filled: Perdure) -> None:
    """Status 4 and a plain sentence; --explain names the nearest misses, --json says the same."""
    said = filled("recall", "What is the capital of Australia?", "--mode", "lexical", status=4)
    assert said.out.strip() == "Nothing stored answers this."
    found = filled.json(
        "recall", "Which team owns the port of Hamburg?", "--mode", "lexical", "--explain", status=4
    )
    assert found["entries"] == []
    assert filled.json("recall", "anything", "--mode", "exact", status=4)["nearest"] == []


@pytest.mark.requirement("R-04")
def test_explain_gives_reasons_and_provenance(filled: Perdure) -> None:
    """The key, the words and the revision are named."""
    said = filled("recall", "api port", "--explain").out
    assert "its key, exactly" in said
    assert "since revision 2: remember" in said
    words = filled("recall", "Which port does the API listen on?", "--explain", "--mode", "lexical").out
    assert "words: " in words


def test_without_an_encoder_one_line_says_so(filled: Perdure, perdure_home: Path) -> None:
    """On standard error, so that standard output is the answer alone; not for a mode that needs none."""
    (perdure_home / "config.toml").write_text('[recall]\nencoder = "none"\n')
    said = filled("recall", "which port has the api?")
    assert said.err.count("\n") == 1
    assert "recall.encoder is none" in said.err
    assert filled("recall", "api port", "--mode", "exact").err == ""
    assert filled("recall", "api port").err == "", "a key decides, whatever encoder there is"
    assert "needs an encoder" in filled("recall", "port", "--mode", "semantic", status=2).err
    assert filled.json("recall", "api port")["encoder"] is None


@pytest.mark.requirement("R-08", "M-12")
def test_what_was_forgotten_is_not_found_and_in_no_file_of_the_index(filled: Perdure) -> None:
    """After forget the entry is no answer and no miss, and after a purge no file derived from it stands."""
    filled("recall", "which port has the api?")
    filled("forget", "api port")
    found = filled.json("recall", "api port 4100", "--explain", "--limit", "50", status=4)
    assert "4100" not in str(found["nearest"])
    index = Path(filled.home, "index")
    assert [path.name for path in index.iterdir() if b"listens" in path.read_bytes()] == []
    filled("recall", "how is it deployed?")
    filled("forget", "deploy command", "--everywhere", "--yes")
    assert [path.name for path in index.iterdir() if path.name.startswith("recall-")] == []
    filled("verify")


@pytest.mark.requirement("M-12")
def test_forget_takes_the_vectors_along_at_once(filled: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    """After forget, and before any recall, the index has lost that entry's part and kept the others'."""
    encoder = WordEncoder()
    monkeypatch.setattr(app, "make_encoder", lambda _recall: encoder)
    filled("recall", "which port has the api?")
    (file,) = (path for path in Path(filled.home, "index").iterdir() if path.name.startswith("recall-"))
    before = file.stat().st_size
    filled("forget", "api port")
    share = file.stat().st_size / before
    assert 1 - 2 / len(TEXTS) < share < 1 - 0.5 / len(TEXTS)
    encoder.encoded.clear()
    filled("recall", "deploy command")
    assert not any("make ship" in text for text in encoder.encoded)


def test_questions_come_from_standard_input_and_wrong_ones_are_refused(
    filled: Perdure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dash reads the question; an empty one, a limit out of bounds and mixed options are wrong use."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"api port\n")))
    assert filled.json("recall", "-")["entries"][0]["text"] == TEXTS["api port"]
    for wrong in (
        ("recall", "  "),
        ("recall",),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--mode", "psychic"),
        ("recall", "x", "--evidence", "--mode", "exact"),
        ("recall", "x", "--evidence", "--kind", "user"),
    ):
        filled(*wrong, status=2)
    filled("recall", "x", "--branch", "nowhere", status=4)


def test_a_branch_and_a_kind_restrict(filled: Perdure) -> None:
    """The named branch is searched, and only entries of the kind are given."""
    filled("branch", "fork", "trial")
    filled("replace", "deploy command", "--text", "make trial", "--branch", "trial")
    found = filled.json("recall", "deploy command", "--branch", "trial")["entries"][0]
    assert (found["text"], found["branch"]) == ("make trial", "trial")
    assert filled.json("recall", "deploy command")["entries"][0]["text"] == "make ship"
    filled("recall", "deploy command", "--kind", "agent", status=4)


@pytest.mark.requirement("R-04", "E-05")
def test_evidence_is_found_with_its_turn_and_date(perdure: Perdure, tmp_path: Path) -> None:
    """A captured session answers, sanitised, with who said it and when."""
    made = PiSession()
    made.turn("Please rename the helper.", "Done.")
    made.turn("The staging host is called heron, password: hunter2hunter2.", "Noted.")
    perdure("capture", str(made.write(tmp_path)))
    said = perdure("recall", "What is the staging host called?", "--evidence").out
    assert "user: The staging host is called heron" in said
    assert "pi session" in said
    assert "hunter2" not in said
    found = perdure.json("recall", "What is the staging host called?", "--evidence", "--explain")
    line = found["lines"][0]
    assert line.keys() == set("text role host session turn line job settled_ms score margin why".split())
    assert line["settled_ms"] > 0
    perdure("recall", "What is the staging host called?", status=4)


@pytest.mark.requirement("I-02")
def test_inject_chooses_for_a_prompt(
    filled: Perdure, perdure_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small budget holds what the prompt is about; without a prompt it holds what is newest."""
    (perdure_home / "config.toml").write_text('[injection]\ncharacters = 400\n[recall]\nencoder = "none"\n')
    for number in range(8):
        filled("remember", f"The module number {number} belongs to the team that wrote it.")
    assert "4100" not in filled("inject").out
    assert "4100" in filled("inject", "--prompt", "Which port does the API listen on?").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Which port does the API listen on?")))
    found = filled.json("inject", "--prompt", "-", "--session", "s1")
    assert "4100" in found["text"]
    assert found["characters"] <= 400


@pytest.mark.requirement("R-09")
def test_several_processes_recall_while_one_writes(filled: Perdure) -> None:
    """Every reader answers from the whole of one state, whatever the writer is doing."""
    readers = [process("recall", "deploy command", "--json", cwd=filled.project) for _ in range(2)]
    filled("replace", "deploy command", "--text", "make release")
    for reader in readers:
        out, err = reader.communicate(timeout=60)
        assert reader.returncode == 0, err
        assert b'"make ship"' in out or b'"make release"' in out
    assert filled.json("recall", "deploy command")["entries"][0]["text"] == "make release"


@pytest.mark.parametrize(
    "words", [("list",), ("inject",), ("recall", "--help"), ("recall", "api port", "--mode", "exact")]
)
def test_commands_that_need_no_vectors_never_load_numpy(filled: Perdure, words: tuple[str, ...]) -> None:
    """NumPy is loaded by a search with an encoder, and by nothing else."""
    program = (
        "import sys; from perdure.cli.main import main; main(sys.argv[1:]); sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=filled.project, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
