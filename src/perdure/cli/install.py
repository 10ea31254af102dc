"""install, uninstall."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from perdure.app import App
from perdure.authority.filesystem.place import home_path
from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import counted, table
from perdure.errors import ConfigError, NotFound, PerdureError, UsageError
from perdure.hosts.hook_hosts import EVENTS
from perdure.hosts.install_files import FileChange, apply, remove_folder
from perdure.hosts.install_hosts import Host, hook_command, hosts, program

SMOKE_SECONDS = 30
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "perdure-install", "version": "1"},
    },
}


def install(context: Context) -> Answer:
    """Register with a host, or list what hosts are here."""
    if context.options.host is None:
        return _listed()
    host = _host(context.options.host)
    if not host.found:
        msg = f"{host.title} was not found: neither {' nor '.join(host.signs)}."
        raise NotFound(msg, advice="Install it, start it once, and run this again.")
    changes = tuple(change for change in host.install() if change.changed)
    if not changes:
        return Answer(
            _json(host, changes, done=False), f"{host.title}: already installed, nothing to change."
        )
    if not _agreed(context, host, changes, verb="Install"):
        return Answer(_json(host, changes, done=False), _shown(changes, dry=context.options.dry_run))
    made = _make_home()
    apply(changes, backups=True)
    problem = _smoke(host)
    lines = [f"{host.title}: installed, {counted(len(changes), 'file')} written."]
    lines += ["The home was made: " + home_path()] if made else []
    lines.append(problem or "A trial run of what was registered answered.")
    lines += _next(host)
    data = _json(host, changes, done=True) | {"home_made": made, "problem": problem or None}
    return Answer(data, "\n".join(lines), 1 if problem else 0)


def uninstall(context: Context) -> Answer:
    """Take Perdure out of a host; memory stays."""
    host = _host(context.options.host)
    changes = tuple(change for change in host.uninstall() if change.changed)
    if not changes:
        return Answer(_json(host, changes, done=False), f"{host.title}: not installed, nothing to change.")
    if not _agreed(context, host, changes, verb="Uninstall"):
        return Answer(_json(host, changes, done=False), _shown(changes, dry=context.options.dry_run))
    apply(changes, backups=False)
    if host.folder is not None:
        remove_folder(host.folder)
    said = f"{host.title}: taken out, {counted(len(changes), 'file')} changed. Memory stays in {home_path()}."
    return Answer(_json(host, changes, done=True), said)


def _host(name: str) -> Host:
    known = {host.name: host for host in hosts(with_mcp=_speaks_mcp())}
    found = known.get(name)
    if found is None:
        raise UsageError(f"there is no host {name!r}.", advice=f"There are: {', '.join(known)}.")
    if found.mcp and not _speaks_mcp():
        msg = f"{found.title} needs the library of perdure mcp, which is not installed."
        raise ConfigError(msg, advice='Install it with: pip install "perdure[mcp]".')
    return found


def _listed() -> Answer:
    rows: list[tuple[str, ...]] = []
    data: list[dict[str, Any]] = []
    for host in hosts(with_mcp=_speaks_mcp()):
        state, problem = "not found", None
        if host.found:
            try:
                state = "installed" if host.installed else "found"
            except PerdureError as error:
                state, problem = "found", str(error)
        files = [each.path for each in host.settings]
        data.append(
            {"host": host.name, "title": host.title, "state": state, "files": files, "problem": problem}
        )
        rows.append((host.name, state, problem or ", ".join(files)))
    return Answer({"hosts": data}, table(rows) + "\nNext: perdure install HOST shows what it would change.")


def _agreed(context: Context, host: Host, changes: Sequence[FileChange], *, verb: str) -> bool:
    if context.options.dry_run:
        return False
    question = f"{verb} Perdure {'in' if verb == 'Install' else 'from'} {host.title} by these changes?"
    return context.confirm(question, [change.shown() for change in changes])


def _shown(changes: Sequence[FileChange], *, dry: bool) -> str:
    text = "\n".join(change.shown() for change in changes)
    return f"{text}\nNothing was changed." if dry else "Nothing was changed."


def _make_home() -> bool:
    """Make the home where there is none yet."""
    try:
        App.open().close()
    except NotFound:
        App.open(create=True).close()
        return True
    return False


def _smoke(host: Host) -> str:
    """Run what was registered once; what is wrong with it, or nothing."""
    if not host.mcp and host.name in EVENTS:
        event = next(iter(EVENTS[host.name]))
        told = json.dumps({"hook_event_name": event, "session_id": "perdure-install"})
        return _tried(["sh", "-c", hook_command(host.name, event)], told, "")
    if host.mcp:
        return _tried([*program(), "mcp"], json.dumps(_HELLO) + "\n", '"serverInfo"')
    return _tried([*program(), "--version"], "", "perdure")


def _tried(command: Sequence[str], told: str, expected: str) -> str:
    """Run it where no project is; what is wrong, or nothing."""
    try:
        found = subprocess.run(  # noqa: S603 - what was registered a moment ago
            list(command),
            input=told,
            capture_output=True,
            text=True,
            timeout=SMOKE_SECONDS,
            check=False,
            cwd=os.sep,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"A trial run failed: {error}. perdure uninstall takes it out again."
    if found.returncode == 0 and expected in found.stdout:
        return ""
    said = (found.stderr or found.stdout).strip().splitlines()[-1:] or ["nothing was said"]
    return f"A trial run ended with {found.returncode}: {said[0]}. perdure uninstall takes it out again."


def _next(host: Host) -> list[str]:
    if host.name == "codex":
        return ["Codex asks once whether it may run each of the hooks: say yes, or nothing is injected."]
    if not host.mcp and not _speaks_mcp() and host.name != "pi":
        return ['Its tools need the library of perdure mcp: pip install "perdure[mcp]", then install again.']
    if host.name == "pi" and shutil.which("pi") is None:
        return ["pi is not on the PATH here; its settings name the extension, which it loads when it starts."]
    return [f"Next: start {host.title} in a project."]


def _speaks_mcp() -> bool:
    return importlib.util.find_spec("mcp") is not None


def _json(host: Host, changes: Sequence[FileChange], *, done: bool) -> dict[str, Any]:
    return {
        "host": host.name,
        "changed": done,
        "changes": [{"file": change.path, "shown": change.shown()} for change in changes],
    }


def _install_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", nargs="?", help="pi, claude-code, codex, gemini, mcp:CLIENT")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def _uninstall_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="as perdure install names it")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


COMMANDS = (
    Command(
        "install",
        "register with a host: Pi, Claude Code, Codex, Gemini CLI or a client of MCP",
        install,
        _install_arguments,
        frozenset({"yes"}),
        examples=("perdure install", "perdure install claude-code --dry-run", "perdure install pi --yes"),
        statuses=(
            "1 it is installed, but a trial run failed",
            "2 a settings file cannot be understood; nothing was changed",
            "3 a settings file changed meanwhile; run it again",
            "4 the host is not on this machine",
            "5 a file cannot be written",
        ),
    ),
    Command(
        "uninstall",
        "take Perdure out of a host again; memory stays",
        uninstall,
        _uninstall_arguments,
        frozenset({"yes"}),
        examples=("perdure uninstall pi --dry-run", "perdure uninstall claude-code --yes"),
        statuses=(
            "2 a settings file cannot be understood; nothing was changed",
            "5 a file cannot be written",
        ),
    ),
)
