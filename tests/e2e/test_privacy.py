"""Nothing secret and nothing that is no evidence reaches the disk, the screen or a provider (X-01).

Every test plants values that exist nowhere else, uses the product as people do, and then searches all
that was stored and printed for them, in every spelling.
"""

from __future__ import annotations

import base64
import json
import secrets
import signal
import time
from pathlib import Path

import pytest

from perdure.cli.main import main
from tests.e2e.command_line import Perdure, process
from tests.e2e.planted import (
    Marks,
    Searched,
    corpus,
    files,
    half_a_key,
    leaks,
    pi_session,
    squeezed,
    transcript,
)
from tests.loopback import Answer, LoopbackServer, ok
from tests.quality.secret_corpus import Maker, Secret
from tests.session_files import PiSession

SEED = 7
"""Draws the same secrets in every run; `secrets` draws what only has to be new."""

PER_SESSION = 48
WORKER_SECONDS = 30.0


class Watched:
    """A user whose every word on the screen is kept."""

    def __init__(self, perdure: Perdure, capsys: pytest.CaptureFixture[str]) -> None:
        self.perdure, self._capsys = perdure, capsys
        self.printed: dict[str, bytes] = {}

    def __call__(self, *words: str, any_status: bool = False) -> str:
        """Run a command and keep what it printed; returns standard output."""
        self._capsys.readouterr()
        status = main(list(words))
        out, err = self._capsys.readouterr()
        self.printed[f"{len(self.printed)} {' '.join(words)[:60]}"] = f"{out}\n{err}".encode()
        assert any_status or status == 0, f"{words[:2]}: {status}: {out[:600]} {err[:300]}"
        assert "Traceback" not in err
        return out

    def everything(self) -> Searched:
        """All files of the user's folder that Perdure may have written, and all that was printed."""
        return Searched(files(self.perdure.home.parent) | self.printed)


@pytest.fixture
def watched(perdure: Perdure, capsys: pytest.CaptureFixture[str]) -> Watched:
    """Give a user in a project of their own."""
    return Watched(perdure, capsys)


@pytest.fixture
def hidden() -> tuple[Secret, ...]:
    """Draw secrets of all families, two sessions full."""
    return corpus(SEED, 2 * PER_SESSION)


def sessions(folder: Path, hidden: tuple[Secret, ...], marks: Marks) -> list[str]:
    """Write one session of each host outside the home."""
    return [
        str(pi_session(hidden[:PER_SESSION], marks, folder)),
        str(transcript(hidden[PER_SESSION:], marks, folder)),
    ]


def look_at_everything(watched: Watched) -> None:
    """Use every command that shows something, as text and as JSON."""
    jobs = json.loads(watched("jobs", "list", "--json"))["jobs"]
    for job in jobs:
        watched("jobs", "show", job["job"])
        watched("jobs", "show", job["job"], "--json")
    shown = ("jobs", "receipts", "show", "list", "facts", "history", "inject", "export", "status")
    for command in (*shown, "budget", "verify", "shadow rebuild", "home"):
        watched(*command.split(), any_status=command == "inject")
        watched(*command.split(), "--json")
    watched("export", "--format", "json")


def planted(hidden: tuple[Secret, ...], marks: Marks) -> dict[str, str]:
    """All that must be nowhere, by what it is."""
    return {f"{number} {item.kind}": item.secret for number, item in enumerate(hidden)} | marks.words


@pytest.mark.requirement("X-01", "E-02", "E-03", "E-06", "E-10")
def test_nothing_planted_is_stored_or_shown(
    watched: Watched, hidden: tuple[Secret, ...], tmp_path: Path
) -> None:
    """96 secrets and 30 marks in two sessions; captured, reviewed by rules, shown, exported, injected,
    verified and observed: none of them is anywhere. What was said beside them is there (peers 61).
    """
    marks = Marks()
    paths = sessions(tmp_path, hidden, marks)
    watched("capture", *paths, "--dry-run")
    watched("capture", *paths, "--dry-run", "--json")
    assert json.loads(watched("capture", *paths, "--yes", "--json"))["accepted"] >= 8
    watched("capture", *paths)
    watched("review", "--once")
    look_at_everything(watched)
    everything = watched.everything()
    assert leaks(planted(hidden, marks), everything) == {}
    assert b"Prefer small commits in this project." in everything.raw
    assert b"bash ok" in everything.raw
    texts = watched.perdure.texts()
    assert "Prefer small commits in this project." in texts
    assert len(marks.words) >= 30


@pytest.mark.requirement("E-01", "E-03")
def test_half_a_key_at_the_end_of_a_window_is_gone(watched: Watched, tmp_path: Path) -> None:
    """A private key begins 150 characters before a window is full: neither half of it is stored."""
    text, line = half_a_key(SEED)
    session = PiSession()
    session.turn(text, "Noted.")
    session.turn("The shop sells tea.", "Noted.")
    path = str(session.write(tmp_path))
    watched("capture", path)
    watched("capture", path, "--dry-run")
    look_at_everything(watched)
    everything = watched.everything()
    assert leaks({"line": line, "begin": line[:20], "end": line[-20:]}, everything) == {}
    assert b"The shop sells tea." in everything.raw
    job, _ = json.loads(watched("jobs", "list", "--json"))["jobs"]
    assert json.loads(watched("jobs", "show", job["job"], "--json"))["evidence"]["turns"][0]["cut"]


def configure(perdure: Perdure, url: str, variable: str) -> None:
    """Choose a model at the scripted server; the key is in a variable."""
    (perdure.home / "config.toml").touch(0o600)
    (perdure.home / "config.toml").write_text(
        f'[reviewer]\nprovider = "openai"\nmodel = "m"\nbase_url = "{url}/v1"\ncredential = "{variable}"\n'
        "[reviewer.price]\ninput_usd_per_million = 0.1\noutput_usd_per_million = 0.1\n"
    )


def answer(text: str) -> Answer:
    """One answer of a chat model."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return ok({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage})


def bad_answers(drawn: Maker) -> tuple[list[Answer], dict[str, str]]:
    """Answers that hold a secret in every place where an answer can hold something, and those secrets."""
    made: dict[str, str] = {}

    def token(place: str) -> str:
        made[place] = "ghp_" + drawn.run(36)
        return made[place]

    add: dict[str, object] = {"op": "add", "text": "Tea is sold.", "evidence": ["e1"], "rationale": "said so"}
    operations: list[dict[str, object]] = [
        add | {"text": f"The key is {token('text')}"},
        add | {"rationale": f"it says {token('rationale')}"},
        add | {"key": token("key")},
        add | {"kind": token("kind")},
        add | {"evidence": [token("evidence")]},
        add | {"op": token("op")},
        add | {token("field"): 1},
        {"op": "remove", "entry": token("entry"), "evidence": ["e1"], "rationale": "x"},
    ]
    answers = [answer(json.dumps({"operations": [operation]})) for operation in operations]
    answers += [
        answer(f"I cannot do that: {token('prose')}"),
        answer(json.dumps({token("top"): []})),
        Answer(status=400, body=json.dumps({"error": {"message": token("error body")}}).encode()),
        Answer(status=401, body=token("login body").encode(), headers={"x-secret": token("header")}),
        Answer(status=500, body=token("server body").encode(), headers={"x-request-id": token("request id")}),
        Answer(body=token("cut").encode(), cut_at=30),
    ]
    return answers, made


@pytest.fixture
def model_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set a provider's key in the environment."""
    key = "sk-" + secrets.token_hex(24)
    monkeypatch.setenv("SHOP_MODEL_KEY", key)
    return key


@pytest.mark.requirement("X-01", "E-03", "E-06", "E-08")
def test_the_model_sees_clean_evidence_and_its_answers_are_checked(
    watched: Watched, hidden: tuple[Secret, ...], tmp_path: Path, model_key: str
) -> None:
    """The requests at a scripted server hold nothing planted; a model that answers with secrets, in any
    field, stores none; the key is in the request's header and nowhere else.
    """
    marks = Marks()
    for path in sessions(tmp_path, hidden, marks):
        watched("capture", path)
    answers, made = bad_answers(Maker(SEED))
    answers += [answer(json.dumps({"operations": []}))] * 60
    with LoopbackServer(answers) as server:
        configure(watched.perdure, server.url, "SHOP_MODEL_KEY")
        for _ in range(2):
            watched("review", "--once", any_status=True)
        sent = {f"request {number}": one.body for number, one in enumerate(server.requests)}
        assert all(one.headers["authorization"] == f"Bearer {model_key}" for one in server.requests)
    assert len(sent) >= len(made) // 2
    look_at_everything(watched)
    assert leaks(planted(hidden, marks), Searched(sent)) == {}
    everything = watched.everything()
    assert leaks(planted(hidden, marks) | made | {"the key": model_key}, everything) == {}


@pytest.mark.requirement("E-03", "D-05")
@pytest.mark.parametrize(
    "place",
    ["text", "rationale", "key", "kind", "evidence", "op", "field", "entry", "prose", "top"],
)
def test_each_field_of_an_answer_is_checked(
    watched: Watched, tmp_path: Path, model_key: str, place: str
) -> None:
    """An answer with a secret in one field: no such answer, nor a part of it, is stored with the attempt."""
    session = PiSession()
    session.turn("The shop sells tea.", "Noted.")
    watched("capture", str(session.write(tmp_path)))
    answers, made = bad_answers(Maker(SEED))
    chosen = answers[[*made].index(place)]
    with LoopbackServer([chosen, chosen, chosen]) as server:
        configure(watched.perdure, server.url, "SHOP_MODEL_KEY")
        watched("review", "--once", any_status=True)
        assert 1 <= len(server.requests) <= 3
        again = {str(number): one.body for number, one in enumerate(server.requests)}
    look_at_everything(watched)
    assert leaks({place: made[place], "key": model_key}, watched.everything()) == {}
    assert leaks({"part": made[place][4:22]}, Searched(files(watched.perdure.home) | again)) == {}


@pytest.mark.requirement("X-01", "E-06", "E-07")
def test_a_worker_and_replayed_answers_show_nothing(
    watched: Watched, hidden: tuple[Secret, ...], tmp_path: Path
) -> None:
    """A worker process with recorded answers: its log has ids and outcomes, never words of the evidence."""
    marks = Marks()
    for path in sessions(tmp_path, hidden, marks):
        watched("capture", path)
    recording = tmp_path / "answers.jsonl"
    token = "glpat-" + Maker(SEED).run(20)
    remember = {"op": "add", "text": "Tea is sold here.", "evidence": ["e1"], "rationale": "said"}
    texts = [json.dumps({"operations": [remember | {"text": f"Use {token}"}]})]
    texts += [json.dumps({"operations": [remember]})] * 20
    recording.write_text("".join(json.dumps({"reply": "answered", "text": text}) + "\n" for text in texts))
    (watched.perdure.home / "config.toml").touch(0o600)
    (watched.perdure.home / "config.toml").write_text(
        f'[reviewer]\nprovider = "replay"\nanswers = "{recording}"\n'
    )
    worker = process("worker", cwd=watched.perdure.project)
    until = time.monotonic() + WORKER_SECONDS
    while json.loads(watched("jobs", "list", "--open", "--json"))["jobs"] and time.monotonic() < until:
        time.sleep(0.1)
    heart = files(watched.perdure.home / "run")
    worker.send_signal(signal.SIGTERM)
    out, err = worker.communicate(timeout=WORKER_SECONDS)
    watched.printed["worker"] = out + err
    assert worker.returncode == 0
    assert out.count(b"\n") > 20
    for word in (b"tea", b"question", b"understood", b"commit"):
        assert word not in out.lower()
    assert b"tea" not in b"".join(heart.values()).lower()
    look_at_everything(watched)
    assert leaks(planted(hidden, marks) | {"answered": token}, watched.everything()) == {}
    assert watched.perdure.texts() == ["Tea is sold here."]


def foreground_refuses(watched: Watched, words: tuple[str, ...]) -> None:
    """Run a command that must be refused before a byte is written."""
    before = watched.perdure.files()
    watched(*words, any_status=True)
    said = json.loads(list(watched.printed.values())[-1].decode().strip())
    assert said["error"]["code"] in {"secret", "invisible"}, words
    assert watched.perdure.files() == before


@pytest.mark.requirement("M-10", "X-01", "E-03")
def test_a_secret_is_refused_at_every_foreground_door(watched: Watched, tmp_path: Path) -> None:
    """Remember and replace, as text, as key and from standard input, import of Markdown and of JSON: each
    is refused before any byte is written, and says so without repeating it (peers 63).
    """
    watched("remember", "The shop sells tea.", "--key", "goods")
    drawn = corpus(SEED, 60)
    fit = [
        item for item in drawn if len(item.text) < 700 and "\n" not in item.text and item.secret in item.text
    ]
    assert len(fit) >= 25
    notes = tmp_path / "notes.md"
    for item in fit:
        foreground_refuses(watched, ("remember", "--json", "--", item.text))
        foreground_refuses(watched, ("replace", "goods", "--json", f"--text={item.text}"))
        notes.write_text(f"- {item.text}\n")
        foreground_refuses(watched, ("import", str(notes), "--yes", "--json"))
    for item in [item for item in fit if len(item.secret) < 100 and " " not in item.secret][:12]:
        shaped = "ghp_" + Maker(SEED).run(36)
        foreground_refuses(watched, ("remember", "Tea.", "--json", f"--key={shaped}"))
        foreground_refuses(watched, ("replace", "goods", "--json", f"--key={shaped}"))
        notes.write_text(json.dumps({"entries": [{"text": item.text}]}))
        watched("import", str(notes), "--yes", "--json", any_status=True)
    searched = watched.everything()
    assert leaks({f"{n} {item.kind}": item.secret for n, item in enumerate(fit)}, searched) == {}
    assert watched.perdure.texts() == ["The shop sells tea."]


@pytest.mark.requirement("M-10", "X-01")
def test_a_secret_in_a_name_or_told_by_its_key_is_refused(watched: Watched, tmp_path: Path) -> None:
    """A token as a kind or as a branch's name, and a password whose key alone tells that it is one: nothing
    is written, at any door.
    """
    drawn = Maker(SEED)
    token, password = "ghp_" + drawn.run(36), drawn.password()
    watched("remember", "The shop sells tea.", "--key", "goods")
    watched("remember", password)
    watched("forget", password)
    before = watched.perdure.files()
    notes = tmp_path / "notes.json"
    notes.write_text(json.dumps({"entries": [{"text": password, "key": "db password"}]}))
    for words in (
        ("remember", "Tea.", "--kind", token),
        ("replace", "goods", "--kind", token),
        ("branch", "fork", token),
        ("remember", password, "--key", "db password", "--relearn"),
        ("replace", "goods", "--text", password, "--key", "db password"),
        ("import", str(notes), "--yes", "--relearn"),
    ):
        watched(*words, any_status=True)
        watched(*words, "--json", any_status=True)
        said = json.loads(list(watched.printed.values())[-1].decode())
        assert "error" in said, words
        assert watched.perdure.files() == before, words
        assert not leaks(
            {"token": token, "password": password}, Searched({"said": json.dumps(said).encode()})
        )
    assert leaks({"token": token}, watched.everything()) == {}


@pytest.mark.requirement("M-10", "E-08")
def test_a_password_in_prose_is_not_remembered(watched: Watched) -> None:
    """Saying "my password is ..." is refused in seven languages, with a way out (peers 63)."""
    phrases = (
        "my password is {}",
        "mein Passwort ist {}",
        "mi contraseña es {}",
        "mon mot de passe est {}",
        "мой пароль {}",
        "我的密码是{}",
        "パスワードは{}です",
    )
    for phrase in phrases:
        value = Maker(SEED).password()
        foreground_refuses(watched, ("remember", "--json", phrase.replace("{}", value)))
        watched("remember", phrase.replace("{}", value), any_status=True)
        last = list(watched.printed.values())[-1].decode()
        assert "keyring" in last
        assert value not in last


@pytest.mark.requirement("E-08")
def test_a_key_in_the_configuration_is_refused_and_not_repeated(watched: Watched) -> None:
    """A field that looks like a credential is unknown, and its value is not printed."""
    token = "sk-ant-api03-" + secrets.token_urlsafe(70)
    for field in ("api_key", "token", "credential"):
        (watched.perdure.home / "config.toml").write_text(
            f'[reviewer]\nprovider = "anthropic"\n{field} = "{token}"\n'
        )
        watched("status", any_status=True)
        watched("status", "--json", any_status=True)
        watched("review", "--once", any_status=True)
    assert leaks({"token": token}, Searched(watched.printed)) == {}


def test_the_search_itself_finds_every_spelling() -> None:
    """A leak in any of the spellings would be found: else the other tests would prove nothing."""
    value = "ghp_" + secrets.token_hex(18)
    wide = "".join(chr(ord(char) + 0xFEE0) for char in value)
    for stored in (
        value.encode(),
        value.encode("utf-16-le"),
        base64.b64encode(f"x{value}yz".encode()),
        base64.b64encode(f"{value}".encode()),
        "".join(f"%{byte:02X}" for byte in value.encode()).encode(),
        "".join(f"\\u{ord(char):04x}" for char in value).encode(),
        wide.encode(),
        f"{value[:9]}\u200b{value[9:]}".encode(),
        json.dumps(value[:20] + "\n" + value[20:]).encode(),
        f'"{value[:12]}" + "{value[12:]}"'.encode(),
    ):
        assert leaks({"it": value}, Searched({"file": b"some " + stored + b" more"})), stored
    assert leaks({"it": value}, Searched({"file": b"nothing of the kind"})) == {}
    assert squeezed(wide) == value
