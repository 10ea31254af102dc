"""perdure recall, and inject --prompt, as a user types them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from perdure import app
from perdure.errors import ProviderUnavailable
from perdure.recall.found import QUESTION_CHARS_MAX
from tests.e2e.command_line import Perdure, process
from tests.fake_encoder import WordEncoder
from tests.session_files import PiSession
from tools import make_protocol

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
    assert filled("recall", "api prot").err == "", "and so does one that is misspelt"
    assert "needs an encoder" in filled("recall", "port", "--mode", "semantic", status=2).err
    assert filled.json("recall", "api port")["encoder"] is None


@pytest.mark.requirement("R-04")
def test_which_encoder_answers_is_said_once(
    filled: Perdure, perdure_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra the static one answers, and a line says what finds more; not to who chose it."""
    monkeypatch.setattr("perdure.provider.encoder.packaged", lambda: None)
    said = filled("recall", "which port has the api?")
    assert said.err.count("\n") == 1
    assert "static encoder" in said.err
    assert 'pip install "perdure[recall]"' in said.err
    assert filled.json("recall", "which port has the api?")["encoder"] == "static"
    (perdure_home / "config.toml").write_text('[recall]\nencoder = "static"\n')
    assert filled("recall", "which port has the api?").err == ""


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


@pytest.mark.requirement("X-03", "R-09")
def test_verify_tells_of_the_index(filled: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    """None, then one with its texts; a torn one is no fault, and the next recall makes it again."""
    monkeypatch.setattr(app, "make_encoder", lambda _recall: WordEncoder())
    assert "no recall index" in filled("verify").out
    filled("recall", "how is it deployed?")
    whole = filled.json("verify")["index"]
    assert whole["parts"] == 1
    assert whole["entries"] == len(filled.json("list")["entries"])
    assert f"1 recall index of {whole['entries']} texts" in filled("verify").out
    (path,) = Path(filled.home, "index").glob("recall-*")
    path.write_bytes(path.read_bytes()[:-1])
    told = filled("verify").out
    assert f"index/{path.name}" in told
    assert "1 recall index of 0 texts, 1 to be made again" in told
    filled("recall", "how is it deployed?")
    assert filled.json("verify")["index"] == whole


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
        ("recall", "x" * (QUESTION_CHARS_MAX + 1)),
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


def test_a_kind_that_no_entry_has_is_said(filled: Perdure) -> None:
    """A word of the user's own is no mistake, what can be no kind is; both name the kinds that there are."""
    filled("remember", "Ask before you push.", "--kind", "manners")
    assert filled("recall", "deploy command", "--kind", "project").out.startswith("1.00")
    said = filled("recall", "deploy command", "--kind", "agent", status=4)
    assert said.out.strip() == "No entry has the kind 'agent'. Here are: manners, project."
    for wrong in ("", "two words", "x" * 41):
        assert "Here are: manners, project." in filled("recall", "x", "--kind", wrong, status=2).err


def test_help_and_reference_name_the_longest_question(filled: Perdure) -> None:
    """The bound that refuses a question stands where users look."""
    bound = f"at most {QUESTION_CHARS_MAX:,} characters"
    assert bound in " ".join(filled("recall", "--help").out.split())
    page = Path(__file__).resolve().parents[2] / "docs/reference/commands.md"
    assert f"a key, {bound}" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("question", ["\ufeffapi port", "api\u200b port\u200d", "\u2060api port\u00ad"])
def test_characters_that_show_nothing_hinder_no_match(filled: Perdure, question: str) -> None:
    """What is copied along with a key does not keep it from being that key."""
    assert filled.json("recall", question)["entries"][0]["why"]["exact_key"]
    assert filled.json("recall", question, "--mode", "exact")["entries"][0]["text"] == TEXTS["api port"]


def test_an_encoder_that_does_not_answer(filled: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    """By meaning alone that is status 6; otherwise the answer comes by words, and one line says why."""

    def gone() -> None:
        msg = "the encoder does not answer."
        raise ProviderUnavailable(msg)

    monkeypatch.setattr(app, "make_encoder", lambda _recall: WordEncoder(before=gone))
    asked = "Which port does the API listen on?"
    assert "does not answer" in filled("recall", asked, "--mode", "semantic", status=6).err
    said = filled("recall", asked)
    assert "4100" in said.out
    assert "does not answer" in said.err


def test_a_project_without_memory_is_told_how_to_get_one(filled: Perdure, tmp_path: Path) -> None:
    """Nothing answers where nothing was ever kept; the hint goes as soon as something is."""
    other = tmp_path / "other"
    other.mkdir()
    for more in ((), ("--evidence",)):
        said = filled("recall", "api port", "--project", str(other), *more, status=4)
        assert "perdure init" in said.err
    filled("init", "--project", str(other))
    assert "perdure init" not in filled("recall", "api port", "--project", str(other), status=4).err


@pytest.mark.parametrize("more", [("--mode", "holographic"), ("--explain",), ("--evidence",)])
def test_without_numpy_what_needs_it_says_how_to_mend_that(
    filled: Perdure, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    """A broken installation is no fault in Perdure; a search by words does not notice."""
    needing = "cues holographic phases semantic evidence dates".split()
    for name in ["numpy", *(f"perdure.recall.{each}" for each in needing)]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    said = filled("recall", "which port?", *more, status=2).err
    assert "lacks the library 'numpy'" in said
    assert "pip install perdure" in said
    assert "4100" in filled("recall", "Which port does the API listen on?").out


@pytest.mark.requirement("R-04")
def test_every_answer_has_the_published_form(
    filled: Perdure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries with all reasons, a misspelt key, misses, evidence and nothing at all fit the schema."""
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / make_protocol.SCHEMAS / "recall.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    made = PiSession()
    for text in ("Where does the staging host run?", "The staging host is called heron.", "Thanks."):
        made.turn(text, "Noted.")
    filled("capture", str(made.write(tmp_path)))
    monkeypatch.setattr(app, "make_encoder", lambda _recall: WordEncoder())
    found: list[Any] = [
        filled.json("recall", "api port", "--explain"),
        filled.json("recall", "deploy comand"),
        filled.json("recall", "Which port does the API listen on?", "--explain", "--mode", "semantic"),
        filled.json("recall", "zebra", "--explain", "--mode", "lexical", status=4),
        filled.json("recall", "What is the staging host called?", "--evidence", "--explain"),
    ]
    for document in found:
        validator.validate(document)
    assert found[1]["entries"][0]["why"]["key_meant"] == "deploy command"
    turns = {line["turn"] for line in found[4]["lines"]}
    beside = {turn for line in found[4]["lines"] for turn in line["why"]["neighbours"]}
    assert beside
    assert beside <= turns, "a neighbour is named by its turn"


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
    "words", [("list",), ("show",), ("recall", "api port"), ("recall", "which port?", "--mode", "lexical")]
)
def test_a_cold_command_loads_only_what_it_needs(filled: Perdure, words: tuple[str, ...]) -> None:
    """No NumPy, OpenSSL, paths or addresses, rules for texts, stores of reviews: all cost milliseconds."""
    unwanted = (
        "numpy hashlib pathlib platformdirs random shutil urllib.parse perdure.authority.filesystem.attempts "
        "perdure.core.secrets perdure.core.text_meaning perdure.core.text_shown perdure.service.remember"
    )
    wanted = {"perdure.service.remember"} if words[0] != "recall" else set()
    program = (
        "import sys; before = set(sys.modules); from perdure.cli.main import main; main(sys.argv[2:]);"
        "print(*(set(sys.argv[1].split()) & set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, unwanted, *words], cwd=filled.project, capture_output=True, check=True
    )
    loaded = {name for name in done.stderr.decode().split() if name in unwanted.split()}
    assert loaded <= wanted


def test_python_dash_m_is_the_command_line(filled: Perdure) -> None:
    """`python -m perdure` says what the script says, with the same statuses."""
    for words, status in ((("recall", "api port", "--mode", "exact"), 0), (("recall", " "), 2)):
        done = subprocess.run(
            [sys.executable, "-m", "perdure", *words], cwd=filled.project, capture_output=True, check=False
        )
        said = filled(*words, status=status)
        assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (status, said.out, said.err)


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
