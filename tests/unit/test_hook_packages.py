"""What is shipped for hook hosts names hooks, events and commands that there are; and a hook stays cheap."""

from __future__ import annotations

import importlib.resources
import json
import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from perdure.cli.table import MODULES
from perdure.hosts.hook_hosts import EVENTS, PROMPT, START
from perdure.hosts.hook_work import HOOKS

SHIPPED = importlib.resources.files("perdure") / "integrations"
HOOK_FILES = {
    "claude-code": ("claude-code/hooks/hooks.json", 1),
    "codex": ("codex/hooks.json", 1),
    "gemini": ("gemini/settings.json", 1_000),
}
"""Host -> its file, and what it counts a second as."""


def shipped(name: str) -> Any:
    """Read one of the shipped files."""
    text = SHIPPED.joinpath(name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


@pytest.mark.parametrize("host", list(HOOK_FILES))
def test_every_event_has_its_hook_and_no_other(host: str) -> None:
    """One command for each event that we act on, with a time above our own deadlines."""
    name, second = HOOK_FILES[host]
    hooks = shipped(name)["hooks"]
    assert list(hooks) == list(EVENTS[host])
    for event, groups in hooks.items():
        ((hook,),) = [group["hooks"] for group in groups]
        assert (hook["type"], hook["command"]) == ("command", f"perdure hook {host} {event}")
        assert 2 * second <= hook["timeout"] <= 5 * second


def test_every_host_is_given_the_block_in_two_ways() -> None:
    """At a session's start and in front of a prompt; hosts differ in names alone."""
    for events in EVENTS.values():
        kinds = list(events.values())
        assert (kinds[0], kinds[1]) == (START, PROMPT)
        assert kinds.count(START) == kinds.count(PROMPT) == 1


@pytest.mark.parametrize(
    "server",
    [
        shipped("claude-code/.mcp.json")["mcpServers"]["perdure"],
        shipped("codex/config.toml")["mcp_servers"]["perdure"],
        shipped("gemini/settings.json")["mcpServers"]["perdure"],
    ],
)
def test_the_server_is_a_command_of_ours(server: dict[str, Any]) -> None:
    """The tools come from `perdure mcp`."""
    assert server == {"command": "perdure", "args": ["mcp"]}
    assert "mcp" in MODULES


def test_the_plugin_and_its_marketplace_have_one_name() -> None:
    """`/plugin install perdure@perdure` finds the plugin in the folder that was added."""
    plugin = shipped("claude-code/.claude-plugin/plugin.json")
    marketplace = shipped("claude-code/.claude-plugin/marketplace.json")
    (listed,) = marketplace["plugins"]
    assert (marketplace["name"], listed["name"], listed["source"]) == (plugin["name"], "perdure", "./")


def test_the_skill_names_commands_that_there_are() -> None:
    """Its head has a name and a description; every command in it exists."""
    text = SHIPPED.joinpath("claude-code/skills/perdure-memory/SKILL.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    assert "name: perdure-memory\n" in head
    assert "\ndescription: " in head
    named = set(re.findall(r"perdure (\w+)", body))
    assert {"recall", "remember", "forget", "undo"} <= named <= set(MODULES)


def test_the_folder_of_notes_is_the_one_of_the_layout() -> None:
    """The quick way names it without loading what names it for the rest."""
    from perdure.authority.filesystem import layout

    assert layout.HOOKS == HOOKS


def test_nothing_is_imported_that_costs() -> None:
    """Until the host has its answer, a hook is the interpreter and a few small modules."""
    code = (
        "import perdure.cli.main, perdure.hosts.hook, perdure.hosts.hook_work;"
        "print(sorted({'msgspec', 'argparse', 'typing', 're', 'json', 'hashlib', 'pathlib', 'collections',"
        " 'contextlib', 'threading', 'subprocess', 'perdure.app'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"[]\n", b"")
