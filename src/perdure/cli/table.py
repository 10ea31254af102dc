"""Which command is where. A command's module is imported when the command is used, or help lists all."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from perdure.cli.command import Command

MODULES = {
    "init": "setup",
    "install": "install",
    "uninstall": "install",
    "remember": "memory",
    "show": "memory",
    "list": "memory",
    "facts": "memory",
    "recall": "recall",
    "replace": "memory",
    "forget": "memory",
    "move": "moves",
    "merge": "moves",
    "branch list": "branches",
    "branch fork": "branches",
    "branch use": "branches",
    "branch rename": "branches",
    "branch remove": "branches",
    "history": "branches",
    "undo": "branches",
    "export": "files",
    "edit": "files",
    "import": "files",
    "capture": "sessions",
    "inject": "sessions",
    "hook": "hooks",
    "mcp": "mcp",
    "review": "reviews",
    "worker": "reviews",
    "jobs list": "jobs",
    "jobs show": "jobs",
    "jobs retry": "jobs",
    "jobs drop": "jobs",
    "receipts": "reviews",
    "inbox": "inbox",
    "budget show": "money",
    "budget reconcile": "money",
    "provider test": "money",
    "verify": "checks",
    "shadow rebuild": "checks",
    "home show": "setup",
    "home adopt": "setup",
    "home resume": "setup",
    "status": "setup",
}
"""Every command and the module in perdure.cli that has it, in the order in which help lists them."""

DEFAULTS = {"branch": "list", "jobs": "list", "budget": "show", "home": "show"}
"""What a group does when nothing more is said."""

HINTS = {
    "add": "remember",
    "save": "remember",
    "store": "remember",
    "update": "replace",
    "set": "remember --key",
    "delete": "forget",
    "remove": "forget",
    "rm": "forget",
    "ls": "list",
    "search": "recall",
    "find": "recall",
    "ask": "recall",
    "log": "history",
    "revert": "undo",
    "setup": "init",
    "queue": "jobs",
    "doctor": "verify",
    "check": "verify",
    "cost": "budget",
    "switch": "branch use",
    "run": "worker",
    "news": "inbox",
    "mailbox": "inbox",
}
"""What people may type for what we have."""


def groups() -> frozenset[str]:
    """The first words of commands of two words."""
    return frozenset(name.split()[0] for name in MODULES if " " in name)


def members(group: str) -> tuple[str, ...]:
    """The second words of a group."""
    return tuple(name.split()[1] for name in MODULES if name.startswith(f"{group} "))


def load(name: str) -> Command:
    """The command of that name."""
    module = importlib.import_module(f"perdure.cli.{MODULES[name]}")
    found: Iterable[Command] = module.COMMANDS
    return next(command for command in found if command.name == name)


def load_all() -> list[Command]:
    """All commands, in the order of the table."""
    return [load(name) for name in MODULES]
