"""config.toml through the command line: read strictly, and the mode is what it says (S-01, S-05)."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.config import CONFIG_BYTES_MAX, Config, Reviewer, load_config
from perdure.errors import ConfigError
from tests.e2e.command_line import Perdure
from tests.e2e.planted import run_quietly

MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "unknown table": ("[revewer]\n", ("revewer", "reviewer")),
    "unknown field": ('[reviewer]\nmodle = "x"\n', ("reviewer", "modle", "model")),
    "unknown at the top": ("colour = 1\n", ("colour", "mode")),
    "wrong choice": ('mode = "auto"\n', ("mode", "'auto'", "'embedded'", "'shadow'", "'external'")),
    "wrong provider": (
        '[reviewer]\nprovider = "opanai"\n',
        ("reviewer.provider", "'opanai'", "'openai'", "'rules'"),
    ),
    "wrong effort": ('[reviewer]\neffort = "max"\n', ("reviewer.effort", "'max'", "'high'")),
    "text for a number": ('[limits]\ncalls = "many"\n', ("limits.calls", "int", "'many'")),
    "number for text": ("[reviewer]\nmodel = 4\n", ("reviewer.model", "str", "4")),
    "fraction for a count": ("[limits]\ntokens = 1.5\n", ("limits.tokens", "int", "1.5")),
    "zero": ("[limits]\ncalls = 0\n", ("limits.calls", ">= 1", "0")),
    "negative money": ("[limits]\nusd = -1.0\n", ("limits.usd", ">= 0", "-1.0")),
    "value for a table": ("reviewer = 1\n", ("reviewer", "object", "1")),
    "table for a value": ("[mode]\nx = 1\n", ("mode",)),
    "half a price": (
        "[reviewer.price]\ninput_usd_per_million = 1\n",
        ("reviewer.price", "output_usd_per_million"),
    ),
    "wrong worktrees": (
        '[project]\nworktrees = "both"\n',
        ("project.worktrees", "'both'", "'shared'", "'own'"),
    ),
    "no TOML": ("mode = \n", ("not valid TOML", "line 1")),
    "twice": ('mode = "shadow"\nmode = "external"\n', ("not valid TOML",)),
    "nested deeply": ("a = " + "[" * 5_000 + "\n", ("not valid TOML",)),
    "retries": ("[retries]\ninvalid_attempts = 3\n", ("retries", "invalid_attempts_max")),
    "retention": ("[retention]\nevidence_days = 0\n", ("retention.evidence_days", "0")),
}


def configured(perdure: Perdure, text: str | bytes) -> Path:
    """Write config.toml."""
    path = perdure.home / "config.toml"
    path.touch(0o600)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_names_file_field_found_and_allowed(perdure: Perdure, mistake: str) -> None:
    """Status 2 from every command that reads settings, in words that lead to the line; no change."""
    text, told = MISTAKES[mistake]
    path = configured(perdure, text)
    before = perdure.files()
    for words in (("status",), ("remember", "Tea."), ("review", "--once"), ("worker",), ("init",)):
        said = run_quietly(perdure, *words)
        assert said.status == 2, (words, said.out, said.err)
        assert str(path) in said.err
        for part in told:
            assert part in said.err, part
    assert perdure.json("status", status=2)["error"]["code"] == "config"
    assert perdure.files() == before


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe[\0m\0",
        b'mode = "embedded\xe9"\n',
        b"\0" * 10,
        b"# x\n" * (CONFIG_BYTES_MAX // 4 + 1),
    ],
)
def test_a_file_that_is_no_settings_file_is_named(perdure: Perdure, data: bytes) -> None:
    """Not UTF-8, NUL, too large: status 2 and the file's name."""
    path = configured(perdure, data)
    assert str(path) in perdure("status", status=2).err


@pytest.mark.requirement("S-05", "Q-13")
def test_what_stands_in_the_place_of_the_file_is_named(perdure: Perdure) -> None:
    """A folder and a link that leads nowhere or round and round."""
    path = perdure.home / "config.toml"
    path.mkdir()
    assert "config.toml" in perdure("status", status=2).err
    path.rmdir()
    path.symlink_to(path)
    assert "config.toml" in perdure("status", status=2).err
    path.unlink()
    assert perdure("status").status == 0


@pytest.mark.requirement("E-08", "S-05")
@pytest.mark.parametrize("field", ["api_key", "key", "token", "password", "secret", "auth"])
def test_no_field_holds_a_credential(perdure: Perdure, field: str) -> None:
    """A field that looks like one is refused as unknown; its value is not repeated."""
    configured(perdure, f'[reviewer]\nprovider = "anthropic"\n{field} = "0123456789abcdef"\n')
    said = perdure("review", "--once", status=2)
    assert f"`{field}`" in said.err or field in said.err
    assert "0123456789abcdef" not in said.err


@pytest.mark.requirement("S-01")
@pytest.mark.parametrize("mode", ["embedded", "shadow", "external"])
def test_the_mode_is_what_is_written(perdure: Perdure, mode: str) -> None:
    """Status and init say the mode of the file, whatever else is there."""
    configured(perdure, f'mode = "{mode}"\n')
    assert perdure.json("status")["mode"] == mode
    assert perdure.json("init")["mode"] == mode


@pytest.mark.requirement("S-01", "S-02")
def test_no_file_that_happens_to_exist_changes_the_mode(perdure: Perdure) -> None:
    """A shadow database, a running worker's leftovers, a file named external: still embedded."""
    perdure("shadow", "rebuild")
    (perdure.home / "index" / "external").write_text("mode = external")
    (perdure.home / "run" / "external").write_text("1")
    (perdure.home / "run" / "workers" / ("a" * 32)).write_text("{}")
    (perdure.home / "config.toml.bak").write_text('mode = "external"\n')
    assert perdure.json("status")["mode"] == "embedded"


@pytest.mark.requirement("S-05")
def test_defaults_written_out_load_as_defaults(tmp_path: Path) -> None:
    """Every default in a file gives the same settings as no file; so does an empty file."""
    lines: list[str] = []
    defaults = msgspec.to_builtins(Config())
    plain = {name: value for name, value in defaults.items() if not isinstance(value, dict)}
    lines += [f"{name} = {_toml(value)}" for name, value in plain.items()]
    for name, table in defaults.items():
        if isinstance(table, dict):
            lines.append(f"[{name}]")
            lines += [f"{key} = {_toml(value)}" for key, value in table.items() if value is not None]
    path = tmp_path / "config.toml"
    path.write_text("\n".join(lines) + "\n")
    assert tomllib.loads(path.read_text())["mode"] == "embedded"
    assert load_config(str(path)) == Config() == load_config(str(tmp_path / "none"))
    path.write_text("")
    assert load_config(str(path)) == Config()


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


@pytest.mark.requirement("B-05", "E-08")
def test_a_reviewer_never_inherits_anything(perdure: Perdure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and models of a host in the environment choose no provider: without settings the rules review."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_MODEL", "OPENAI_MODEL"):
        monkeypatch.setenv(name, "x" * 20)
    assert Config().reviewer == Reviewer()
    assert perdure.json("status")["reviewer"] == "rules"


@settings(max_examples=150)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_settings_or_a_clear_mistake(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Reading never ends in anything but settings or ConfigError with the file's name (S-05)."""
    path = tmp_path_factory.getbasetemp() / "config-any.toml"
    path.write_bytes(data)
    try:
        found: object = load_config(str(path))
    except ConfigError as error:
        found = error.message
    assert isinstance(found, Config) or str(path) in str(found)


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 130_000) + " = 1",
        "[" + ".".join(['"a"'] * 65_000) + "]",
        "x = " + "{ a.b.c.d.e.f.g.h = " * 8 + "1" + " }" * 8,
        "mode = " + "[" * 40 + "]" * 40,
    ],
    ids=["key", "header", "tables", "lists"],
)
def test_settings_of_many_levels_are_refused(tmp_path: Path, text: str) -> None:
    """A key of many parts, for which the parser would need minutes, and tables in tables are a mistake."""
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config\.toml: .*more than 32"):
        load_config(str(path))


@pytest.mark.requirement("S-05", "I-02")
def test_a_mistake_about_the_block_stops_it_and_others_do_not(perdure: Perdure) -> None:
    """A turn start does not fail for a reviewer's settings; for its own it does, and says so."""
    perdure("remember", "The shop sells tea.")
    configured(perdure, '[reviewer]\nmodle = "x"\n')
    assert "The shop sells tea." in perdure("inject").out
    configured(perdure, '[injection]\ncharacters = "many"\n')
    assert "injection.characters" in perdure("inject", status=2).err


@pytest.mark.requirement("S-05")
def test_a_fifo_in_the_place_of_the_file_does_not_block(perdure: Perdure) -> None:
    """Reading settings never waits for a writer."""
    os.mkfifo(perdure.home / "config.toml")
    assert "config.toml" in perdure("status", status=2).err
