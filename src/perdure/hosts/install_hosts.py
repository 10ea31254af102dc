"""What is registered with each host, and where its settings are. Sources: docs/reference/hosts.md."""

from __future__ import annotations

import importlib.resources
import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from perdure import __version__
from perdure.errors import UsageError
from perdure.hosts import jsonc
from perdure.hosts.hook_hosts import EVENTS
from perdure.hosts.install_files import FileChange, edited, read, restored

SERVER = "perdure"
HOOK_SECONDS = 3
"""What Codex allows a hook at a session's end; ours take a fraction of a second."""
_TABLE = f"[mcp_servers.{SERVER}]"


class Setting(msgspec.Struct, frozen=True):
    """One settings file: how to put our part in, how to take it out, and what a new file begins with."""

    path: str
    put: Callable[[str], str]
    take: Callable[[str], str]
    empty: str = ""


class Host(msgspec.Struct, frozen=True):
    """A host as it is on this machine. `signs` are what shows that it is here; `mcp` says whether it only
    speaks the protocol of `perdure mcp`.
    """

    name: str
    title: str
    signs: tuple[str, ...]
    settings: tuple[Setting, ...]
    folder: str | None = None
    mcp: bool = False

    @property
    def found(self) -> bool:
        """Whether the host is on this machine: its program is on the PATH, or its folder is there."""
        return any(shutil.which(sign) or (os.sep in sign and Path(sign).exists()) for sign in self.signs)

    def install(self) -> tuple[FileChange, ...]:
        """What installing changes: our own files first, the settings that name them last."""
        own = _own_files(self.folder) if self.folder is not None else ()
        return (*own, *map(_put, self.settings))

    def uninstall(self) -> tuple[FileChange, ...]:
        """What taking it out changes: the settings first. Memory stays."""
        changes = [_way_back(each) for each in self.settings]
        if self.folder is not None and Path(self.folder).is_dir():
            names = sorted(str(path) for path in Path(self.folder).rglob("*") if path.is_file())
            changes += [FileChange(name, read(name), None, whole=True) for name in names]
        return tuple(changes)

    @property
    def installed(self) -> bool:
        """Whether everything is in place as this release would put it."""
        return not any(change.changed for change in self.install())


def hosts(*, with_mcp: bool) -> tuple[Host, ...]:
    """Every host that can be told of Perdure. `with_mcp`: the library of `perdure mcp` is here."""
    home = Path.home()
    return (
        _pi(_folder("PI_CODING_AGENT_DIR", home / ".pi" / "agent")),
        _claude_code(home, with_mcp=with_mcp),
        _codex(_folder("CODEX_HOME", home / ".codex"), with_mcp=with_mcp),
        _gemini(home / ".gemini", with_mcp=with_mcp),
        *_clients(home),
    )


def program() -> tuple[str, ...]:
    """The words that start this installation of Perdure, whatever the PATH of a host is."""
    script = Path(sys.executable).with_name("perdure")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "perdure")


def hook_command(host: str, event: str) -> str:
    """The shell command of a hook."""
    return shlex.join((*program(), "hook", host, event))


def _pi(agent: Path) -> Host:
    folder = str(agent / "perdure")
    setting = Setting(
        str(agent / "settings.json"),
        lambda text: jsonc.with_element(text, ("packages",), folder),
        lambda text: _without_package(text, folder),
        "{}\n",
    )
    return Host("pi", "Pi", ("pi", str(agent)), (setting,), folder)


def _claude_code(home: Path, *, with_mcp: bool) -> Host:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(named) if named else home / ".claude"
    state = folder / ".claude.json" if named else home / ".claude.json"
    settings = [_hooks("claude-code", str(folder / "settings.json"), seconds=1)]
    if with_mcp:
        settings.append(_server(str(state), ("mcpServers",), {"type": "stdio", **_stdio()}))
    return Host("claude-code", "Claude Code", ("claude", str(folder)), tuple(settings))


def _codex(folder: Path, *, with_mcp: bool) -> Host:
    settings = [_hooks("codex", str(folder / "hooks.json"), seconds=1)]
    if with_mcp:
        settings.append(Setting(str(folder / "config.toml"), _with_table, _without_table))
    return Host("codex", "Codex", ("codex", str(folder)), tuple(settings))


def _gemini(folder: Path, *, with_mcp: bool) -> Host:
    path = str(folder / "settings.json")
    hooks = _hooks("gemini", path, seconds=1_000)  # Gemini CLI counts milliseconds
    if not with_mcp:
        return Host("gemini", "Gemini CLI", ("gemini", str(folder)), (hooks,))
    server = _server(path, ("mcpServers",), _stdio())
    both = Setting(
        path, lambda text: server.put(hooks.put(text)), lambda text: hooks.take(server.take(text)), "{}\n"
    )
    return Host("gemini", "Gemini CLI", ("gemini", str(folder)), (both,))


def _clients(home: Path) -> tuple[Host, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    apps = home / "Library" / "Application Support" if sys.platform == "darwin" else config
    local = {"type": "local", "command": [*program(), "mcp"], "enabled": True}
    listed: tuple[tuple[str, str, tuple[str, ...], Path, tuple[str, ...], Mapping[str, object]], ...] = (
        ("cursor", "Cursor", ("cursor",), home / ".cursor" / "mcp.json", ("mcpServers",), _stdio()),
        (
            "vscode",
            "Visual Studio Code",
            ("code",),
            apps / "Code" / "User" / "mcp.json",
            ("servers",),
            {"type": "stdio", **_stdio()},
        ),
        (
            "windsurf",
            "Windsurf",
            ("windsurf",),
            home / ".codeium" / "windsurf" / "mcp_config.json",
            ("mcpServers",),
            _stdio(),
        ),
        ("zed", "Zed", ("zed",), config / "zed" / "settings.json", ("context_servers",), _stdio()),
        (
            "claude-desktop",
            "Claude Desktop",
            (),
            apps / "Claude" / "claude_desktop_config.json",
            ("mcpServers",),
            _stdio(),
        ),
        ("opencode", "opencode", ("opencode",), config / "opencode" / "opencode.json", ("mcp",), local),
    )
    return tuple(
        Host(f"mcp:{name}", title, (*signs, str(path.parent)), (_server(str(path), at, what),), mcp=True)
        for name, title, signs, path, at, what in listed
    )


# -- parts of settings


def _without_package(text: str, folder: str) -> str:
    without = jsonc.without_elements(text, ("packages",), lambda each: each == folder)
    return _pruned(without, ("packages",)) if without != text else text


def _stdio() -> dict[str, object]:
    command, *words = program()
    return {"command": command, "args": [*words, "mcp"]}


def _server(path: str, at: Sequence[str], what: Mapping[str, object]) -> Setting:
    """Our server under its name; one that the user registered in a form of their own stays as it is."""
    place = (*at, SERVER)

    def put(text: str) -> str:
        there = jsonc.value_at(text, place)
        return (
            text if there is not None and not _is_ours(there) else jsonc.with_value(text, place, dict(what))
        )

    def take(text: str) -> str:
        if not _is_ours(jsonc.value_at(text, place)):
            return text
        return _pruned(jsonc.without_value(text, place), at)

    return Setting(path, put, take, "{}\n")


def _is_ours(server: object) -> bool:
    """Whether a server's settings are as some installation of ours writes them, and hold nothing more."""
    if not isinstance(server, dict) or not set(server) <= {"type", "command", "args", "enabled"}:
        return False
    command, args = server.get("command"), server.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(args if isinstance(args, list) else []),
    ]
    if not all(isinstance(word, str) for word in words):
        return False
    return words[1:] in (["mcp"], ["-m", "perdure", "mcp"]) and (
        len(words) > 2 or Path(str(words[0])).name == "perdure"  # noqa: PLR2004 - program and mcp
    )


def _hooks(host: str, path: str, *, seconds: int) -> Setting:
    """Our hook at every event that we act on; `seconds` is how the host counts one."""
    ours = _Ours(host)

    def put(text: str) -> str:
        for event in EVENTS[host]:
            command = hook_command(host, event)
            hook = {"type": "command", "command": command, "timeout": HOOK_SECONDS * seconds}
            group = {"hooks": [hook]}
            there = jsonc.value_at(text, ("hooks", event))
            if not (isinstance(there, list) and group in there):
                text = jsonc.without_elements(text, ("hooks", event), ours)
                text = jsonc.with_element(text, ("hooks", event), group)
        return text

    def take(text: str) -> str:
        before = text
        for event in EVENTS[host]:
            without = jsonc.without_elements(text, ("hooks", event), ours)
            text = _pruned(without, ("hooks", event)) if without != text else text
        return _pruned(text, ("hooks",)) if text != before else text

    return Setting(path, put, take, "{}\n")


class _Ours:
    """Whether a group of hooks holds ours alone, of whatever installation."""

    def __init__(self, host: str) -> None:
        self._host = host

    def __call__(self, group: object) -> bool:
        if not isinstance(group, dict):
            return False
        hooks = group.get("hooks")
        if not isinstance(hooks, list) or not hooks:
            return False
        return all(self._named(hook.get("command") if isinstance(hook, dict) else None) for hook in hooks)

    def _named(self, command: object) -> bool:
        try:
            words = shlex.split(command) if isinstance(command, str) else []
        except ValueError:
            return False
        if len(words) < 4 or words[-3:-1] != ["hook", self._host]:  # noqa: PLR2004 - program, hook, host, event
            return False
        return Path(words[-4]).name == "perdure"


def _pruned(text: str, path: Sequence[str]) -> str:
    """Without a container that has become empty."""
    found = jsonc.value_at(text, path)
    return jsonc.without_value(text, path) if found in ({}, []) else text


def _with_table(text: str) -> str:
    """Codex' settings with our server's table at their end; what is there already is replaced."""
    command, *words = program()
    wanted = {"command": command, "args": [*words, "mcp"]}
    there = _servers(text).get(SERVER)
    if there == wanted or (there is not None and not _is_ours(there)):
        return text
    rest = _without_table(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    quoted = ", ".join(json.dumps(word, ensure_ascii=False) for word in wanted["args"])
    table = (_TABLE, f"command = {json.dumps(command, ensure_ascii=False)}", f"args = [{quoted}]")
    gap = "" if not rest else newline if rest.endswith("\n") else newline * 2
    after = rest + gap + "".join(f"{line}{newline}" for line in table)
    try:
        added = _servers(after).get(SERVER) == wanted
    except UsageError:
        added = False
    if not added:
        raise UsageError("its mcp_servers is written in one line, which cannot be added to.")
    return after


def _without_table(text: str) -> str:
    """Codex' settings without our server's table and the empty line in front of it."""
    before = _toml(text)
    servers = _servers(text)
    if not _is_ours(servers.get(SERVER)):
        return text
    lines = text.splitlines(keepends=True)
    begin = next((at for at, line in enumerate(lines) if line.strip() == _TABLE), None)
    if begin is None:
        raise UsageError(f"its mcp_servers.{SERVER} is not a table of its own.")
    end = next((at for at in range(begin + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
    if begin and not lines[begin - 1].strip():
        begin -= 1
    after = "".join(lines[:begin] + lines[end:])
    expected = {**before, "mcp_servers": {k: v for k, v in servers.items() if k != SERVER}}
    found = _toml(after)
    if {"mcp_servers": {}, **found} != expected:
        raise UsageError(f"the table {_TABLE} cannot be taken out on its own.")
    return after


def _servers(text: str) -> dict[str, Any]:
    found = _toml(text).get("mcp_servers", {})
    if not isinstance(found, dict):
        raise UsageError("its mcp_servers is not a table.")
    return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not valid TOML: {error}.") from error


def _put(setting: Setting) -> FileChange:
    change = edited(setting.path, setting.put, empty=setting.empty)
    ours = edited(setting.path, setting.take, empty=setting.empty).changed
    return msgspec.structs.replace(change, ours=ours)


def _way_back(setting: Setting) -> FileChange:
    undo = edited(setting.path, setting.take, empty=setting.empty)

    def install(before: bytes | None) -> bytes | None:
        text = (before or b"").decode("utf-8")
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix("\ufeff")
        return f"{mark}{setting.put(body if body.strip() else setting.empty)}".encode()

    return restored(setting.path, install, undo)


def _own_files(folder: str) -> tuple[FileChange, ...]:
    """The extension as it is shipped, with what it has to know of this installation; others' files go."""
    shipped = importlib.resources.files("perdure") / "integrations" / "pi"
    wanted = {each.name: each.read_bytes() for each in shipped.iterdir() if each.is_file()}
    about = {"python": sys.executable, "release": __version__}
    wanted["perdure.json"] = (json.dumps(about, ensure_ascii=False) + "\n").encode()
    there = [path.name for path in Path(folder).glob("*") if path.is_file()] if Path(folder).is_dir() else []
    paths = {name: str(Path(folder, name)) for name in sorted({*wanted, *there})}
    return tuple(FileChange(path, read(path), wanted.get(name), whole=True) for name, path in paths.items())


def _folder(variable: str, default: Path) -> Path:
    named = os.environ.get(variable)
    return Path(named).expanduser().absolute() if named else default
