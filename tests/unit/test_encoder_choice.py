"""Which encoder the configuration chooses, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.app import make_encoder
from perdure.config import Recall, load_config
from perdure.errors import ConfigError
from perdure.provider import encoder as packaged_encoder
from perdure.provider import encoder_static
from perdure.provider.encoder_http import HttpEncoder


def configured(tmp_path: Path, text: str) -> Recall:
    """The [recall] table of a configuration file."""
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(str(path)).recall


@pytest.mark.requirement("R-04")
def test_no_encoder_is_a_choice_and_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """With "none", and with those of Perdure where NumPy is missing, there is none, and nothing is raised."""
    assert make_encoder(Recall(encoder="none")) is None
    monkeypatch.setattr(packaged_encoder, "find_spec", lambda _name: None)
    monkeypatch.setattr(encoder_static, "find_spec", lambda _name: None)
    assert make_encoder(Recall()) is None
    assert make_encoder(Recall(encoder="static")) is None


@pytest.mark.requirement("R-04")
def test_the_static_encoder_is_there_without_any_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what "packaged" means without that package, and what "static" means with it too."""
    chosen = make_encoder(Recall(encoder="static"))
    assert chosen is not None
    assert chosen.name == "static"
    monkeypatch.setattr(packaged_encoder, "find_spec", lambda name: None if name != "numpy" else name)
    instead = make_encoder(Recall())
    assert instead is not None
    assert instead.fingerprint == chosen.fingerprint


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize("kind", ["ollama", "openai", "sentence-transformers"])
def test_other_encoders_need_a_model(kind: str, tmp_path: Path) -> None:
    """Without a model's name the error names the field; with it the model is part of the fingerprint."""
    with pytest.raises(ConfigError, match=r"recall\.model"):
        make_encoder(configured(tmp_path, f'[recall]\nencoder = "{kind}"\n'))
    one = make_encoder(configured(tmp_path, f'[recall]\nencoder = "{kind}"\nmodel = "one"\n'))
    two = make_encoder(configured(tmp_path, f'[recall]\nencoder = "{kind}"\nmodel = "two"\n'))
    assert one is not None
    assert two is not None
    assert one.fingerprint != two.fingerprint


@pytest.mark.requirement("E-08")
def test_a_server_gets_a_key_only_when_one_is_named_or_is_its_own() -> None:
    """Ollama on this machine gets none; OpenAI's own variable is never read for another address."""
    ollama = make_encoder(Recall(encoder="ollama", model="m"))
    assert isinstance(ollama, HttpEncoder)
    assert (ollama.base_url, ollama.credential()) == ("http://localhost:11434", None)
    elsewhere = make_encoder(Recall(encoder="openai", model="m", base_url="https://embed.example/v1"))
    assert isinstance(elsewhere, HttpEncoder)
    assert "variables=()" in repr(elsewhere.credential)


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('encoder = "telepathy"', "recall.encoder"),
        ('modle = "x"', "recall"),
        ('base_url = "ftp://example.com"', "recall.base_url"),
        ('model = "a\\nb"', "recall.model"),
        ("timeout_seconds = 0", "recall.timeout_seconds"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(line: str, field: str, tmp_path: Path) -> None:
    """Unknown fields, kinds, addresses and bounds are errors that name the field."""
    with pytest.raises(ConfigError) as raised:
        configured(tmp_path, f"[recall]\n{line}\n")
    assert field in str(raised.value)
