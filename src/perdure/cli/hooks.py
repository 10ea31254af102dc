"""hook."""

from __future__ import annotations

import argparse

from perdure.cli.command import Answer, Command, Context
from perdure.hosts.hook import hook as run_hook
from perdure.hosts.hook_hosts import EVENTS


def hook(context: Context) -> Answer:
    """Run one hook. `perdure.cli.main` comes here only when options stand around the two words."""
    run_hook([context.options.host, context.options.event])
    return Answer({})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=f"one of {', '.join(EVENTS)}")
    parser.add_argument("event", metavar="EVENT", help="the host's own name of what happens")


COMMANDS = (
    Command(
        "hook",
        "what the hooks of a host run: give it the memory, take in what settled",
        hook,
        _arguments,
        examples=("perdure hook claude-code SessionStart", "perdure hook gemini AfterAgent"),
        statuses=(
            "0 always, so that no host is ever held up: also for a host or an event that is not known",
        ),
    ),
)
