"""`perdure install` and `uninstall`: what they show, what they change, and that all of it comes back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.errors import Refused
from perdure.hosts import install_files, install_hosts
from perdure.hosts.hook_hosts import EVENTS
from perdure.hosts.install_files import BACKUP_SUFFIX
from tests.e2e.command_line import Perdure

CLAUDE = """\ufeff{\r
  // of the user\r
  "model": "opus",\r
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},\r
  "unknown": {"kept": [1, 2.50, "\\u00e9"]},\r
}"""
CODEX = 'model = "x"\n\n[mcp_servers.other]\ncommand = "o" # kept\n\n[features]\nhooks = true'
HOSTS = ("pi", "claude-code", "codex", "gemini", "mcp:cursor", "mcp:vscode", "mcp:zed", "mcp:opencode")


@pytest.fixture
def user(perdure: Perdure) -> Path:
    """A user's folder with every host in it, and settings of their own in some."""
    assert perdure.home.is_dir(), "a home is made first, apart from what a host has"
    home = Path(os.environ["HOME"])
    for name in (".pi/agent", ".claude", ".codex", ".gemini", ".cursor"):
        (home / name).mkdir(parents=True)
    for name in ("Code/User", "zed", "opencode"):
        (home / ".config" / name).mkdir(parents=True)
    (home / ".claude" / "settings.json").write_bytes(CLAUDE.encode())
    (home / ".codex" / "config.toml").write_text(CODEX)
    (home / ".config" / "zed" / "settings.json").write_text("// zed\n{ }\n")
    (home / ".pi" / "agent" / "settings.json").write_text('{"packages": ["npm:@other/one"]}')
    return home


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder: its bytes and its mode."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.requirement("X-07")
@pytest.mark.parametrize("host", HOSTS)
def test_install_then_uninstall_leaves_every_byte_as_it_was(perdure: Perdure, user: Path, host: str) -> None:
    """Installed, installed again without any change, and taken out: the same files, bytes and modes."""
    before = files(user)
    shown = perdure("install", host, "--dry-run").out
    assert files(user) == before
    assert "Nothing was changed" in shown
    assert perdure.json("install", host, "--yes")["changed"] is True
    once = files(user)
    assert once != before
    assert "already installed" in perdure("install", host, "--yes").out
    assert files(user) == once
    assert perdure.json("uninstall", host, "--yes")["changed"] is True
    assert files(user) == before
    assert "not installed" in perdure("uninstall", host, "--yes").out


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.usefixtures("user")
def test_what_the_user_changed_since_stays_when_it_is_taken_out(perdure: Perdure, host: str) -> None:
    """A setting added after the install survives the uninstall, which then takes out only what is ours."""
    perdure("install", host, "--yes")
    (setting, *_) = next(each for each in install_hosts.hosts(with_mcp=True) if each.name == host).settings
    path = Path(setting.path)
    path.write_bytes(path.read_bytes().replace(b"{", b'{"added": "later",', 1))
    perdure("uninstall", host, "--yes")
    after = path.read_text(encoding="utf-8-sig")
    assert '"added": "later"' in after
    assert "perdure" not in after
    assert not Path(f"{path}{BACKUP_SUFFIX}").exists()


@pytest.mark.parametrize(
    ("host", "path", "text"),
    [
        ("claude-code", ".claude.json", '{\n\t"mcpServers": {},\n\t"n": 1\n}\n'),
        ("mcp:cursor", ".cursor/mcp.json", '{"mcpServers": {}}'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": { }, "hooks": {"BeforeAgent": []}}'),
        ("pi", ".pi/agent/settings.json", '{"packages": []}'),
    ],
)
def test_what_was_empty_before_is_empty_again(
    perdure: Perdure, user: Path, host: str, path: str, text: str
) -> None:
    """Containers that the user left empty come back as they were, with a backup in between."""
    setting = user / path
    setting.write_text(text)
    perdure("install", host, "--yes")
    assert Path(f"{setting}{BACKUP_SUFFIX}").read_text() == text
    perdure("uninstall", host, "--yes")
    assert setting.read_text() == text


@pytest.mark.parametrize(
    ("host", "path", "text"),
    [
        (
            "mcp:cursor",
            ".cursor/mcp.json",
            '{"mcpServers": {"perdure": {"command": "/my/perdure", "args": ["mcp"], "env": {"A": "b"}}}}',
        ),
        ("codex", ".codex/config.toml", '[mcp_servers.perdure]\ncommand = "mine"\nenv = {A = "b"}\n'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"perdure": {"url": "http://localhost:1/mcp"}}}'),
    ],
)
def test_a_server_that_the_user_registered_stays_theirs(
    perdure: Perdure, user: Path, host: str, path: str, text: str
) -> None:
    """Neither an install nor an uninstall touches settings of a server that are not in our form."""
    setting = user / path
    setting.write_text(text)
    perdure("uninstall", host, "--yes")
    assert setting.read_text() == text
    perdure("install", host, "--yes")
    theirs = text if host != "gemini" else '{"perdure": {"url": "http://localhost:1/mcp"}}'
    assert theirs in setting.read_text()
    perdure("uninstall", host, "--yes")
    assert setting.read_text() == text


@pytest.mark.usefixtures("user")
def test_every_event_of_a_host_runs_our_hook(perdure: Perdure) -> None:
    """The commands that are registered name this installation, and the user's own hook is still the first."""
    perdure("install", "claude-code", "--yes")
    text = (Path(os.environ["HOME"]) / ".claude" / "settings.json").read_text(encoding="utf-8-sig")
    without = "\n".join(line for line in text.splitlines() if "//" not in line).replace(",\n}", "\n}")
    hooks = json.loads(without)["hooks"]
    assert set(hooks) == set(EVENTS["claude-code"])
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say done"
    for event, groups in hooks.items():
        command = groups[-1]["hooks"][0]["command"]
        assert command == install_hosts.hook_command("claude-code", event)
        assert str(Path(command.split()[0])).startswith("/")


def test_a_stale_path_is_replaced_and_the_first_backup_still_counts(
    perdure: Perdure, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation that moved: one set of hooks is left, and uninstalling gives the user's own file."""
    before = files(user)
    with monkeypatch.context() as moved:
        moved.setattr(install_hosts, "program", lambda: ("/old/place/perdure",))
        planned = next(each for each in install_hosts.hosts(with_mcp=False) if each.name == "claude-code")
        install_files.apply(planned.install(), backups=True)
    perdure("install", "claude-code", "--yes")
    text = (user / ".claude" / "settings.json").read_text(encoding="utf-8-sig")
    assert "/old/place" not in text
    assert text.count("hook claude-code Stop") == 1
    perdure("uninstall", "claude-code", "--yes")
    assert files(user) == before


@pytest.mark.requirement("S-05")
@pytest.mark.parametrize(
    ("host", "path", "text"),
    [
        ("claude-code", ".claude/settings.json", '{"a": 1,, }'),
        ("claude-code", ".claude/settings.json", '{"hooks": ["a list"]}'),
        ("codex", ".codex/config.toml", "model = \n"),
        ("codex", ".codex/config.toml", 'mcp_servers = {a = {command = "x"}}\n'),
        ("codex", ".codex/config.toml", "mcp_servers = 3\n"),
        ("pi", ".pi/agent/settings.json", "[]"),
        ("gemini", ".gemini/settings.json", '{"hooks": '),
    ],
)
def test_settings_that_cannot_be_understood_are_left_alone(
    perdure: Perdure, user: Path, host: str, path: str, text: str
) -> None:
    """The file is named with what is wrong, and no file at all is written."""
    (user / path).write_text(text)
    before = files(user)
    said = perdure("install", host, "--yes", status=2).err
    assert path.rsplit("/", 1)[-1] in said
    assert files(user) == before


def test_links_and_modes_of_settings_stay(perdure: Perdure, user: Path) -> None:
    """Settings that are a link to a file elsewhere stay one, with its mode; a new file is private."""
    kept = user / "dotfiles ü" / "claude.json"
    kept.parent.mkdir()
    setting = user / ".claude" / "settings.json"
    setting.rename(kept)
    kept.chmod(0o640)
    setting.symlink_to(kept)
    perdure("install", "claude-code", "--yes")
    assert setting.is_symlink()
    assert b"perdure" in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert stat.S_IMODE((user / ".claude.json").stat().st_mode) == 0o600
    perdure("uninstall", "claude-code", "--yes")
    assert setting.is_symlink()
    assert kept.read_bytes() == CLAUDE.encode()


def test_a_file_that_changed_meanwhile_is_not_overwritten(user: Path) -> None:
    """What was planned on older bytes is refused."""
    path = user / ".claude" / "settings.json"
    change = install_files.edited(str(path), lambda text: text + " ")
    path.write_text("{}")
    with pytest.raises(Refused, match="changed since"):
        install_files.apply([change], backups=True)
    assert path.read_text() == "{}"


@pytest.mark.parametrize("fails", range(1, 9))
def test_an_install_cut_short_is_whole_after_the_next_one(
    perdure: Perdure, user: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    """Every file is the old or the new one; the next run ends it, and uninstalling gives all back."""
    before = files(user)
    whole, written = install_files.write_whole, [0]

    def dies(target: Path, data: bytes, mode: int) -> None:
        written[0] += 1
        if written[0] == fails:
            raise OSError(28, "No space left on device")
        whole(target, data, mode)

    with monkeypatch.context() as full:
        full.setattr(install_files, "write_whole", dies)
        perdure("install", "pi", "--yes", status=5)
    for name, (data, _) in before.items():
        assert files(user)[name][0] == data
    perdure("install", "pi", "--yes")
    perdure("uninstall", "pi", "--yes")
    assert files(user) == before


def test_a_folder_in_place_of_settings_and_a_dangling_link_are_refused(perdure: Perdure, user: Path) -> None:
    """Nothing is written where no file can be read."""
    setting = user / ".gemini" / "settings.json"
    setting.mkdir()
    assert "settings.json" in perdure("install", "gemini", "--yes", status=2).err
    setting.rmdir()
    setting.symlink_to(user / "nowhere")
    assert "leads nowhere" in perdure("install", "gemini", "--yes", status=2).err


def test_the_list_says_what_is_here(perdure: Perdure, user: Path) -> None:
    """Found, installed and not found, with the files; a broken one is found, with its reason."""

    def state() -> dict[str, Any]:
        return {each["host"]: each["state"] for each in perdure.json("install")["hosts"]}

    assert state()["pi"] == "found"
    assert state()["mcp:windsurf"] == "not found"
    perdure("install", "pi", "--yes")
    assert state()["pi"] == "installed"
    (user / ".claude" / "settings.json").write_text("{")
    assert "settings.json" in perdure("install").out
    assert "not found" in perdure("install", "mcp:windsurf", "--yes", status=4).err
    assert "There are: pi" in perdure("install", "emacs", status=2).err


def test_without_a_yes_nobody_is_taken_by_surprise(perdure: Perdure, user: Path) -> None:
    """Where nobody can answer, nothing is changed."""
    before = files(user)
    assert "--yes" in perdure("install", "pi", status=2).err
    assert files(user) == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [
                'model = "x"',
                "# a comment",
                "",
                "[features]",
                "hooks = true",
                "[mcp_servers.other]",
                'command = "o"',
                "[[profiles]]",
                'name = "ü"',
            ]
        ),
        unique=True,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_toml_settings_come_back_whatever_they_hold(lines: list[str], newline: str, final: bool) -> None:
    """Put in and taken out of any settings that can be read: the same bytes."""
    text = newline.join(lines) + (newline if final and lines else "")
    after = install_hosts._with_table(text)
    assert install_hosts._with_table(after) == after
    back = install_hosts._without_table(after)
    assert back in {text, f"{text}{newline}", f"{text}\n"}
    assert install_hosts._toml(back) == install_hosts._toml(text)
