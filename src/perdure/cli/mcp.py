"""mcp."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from perdure.cli import values
from perdure.cli.command import Answer, Command, Context, use_one_thread
from perdure.errors import ConfigError, UsageError

PORT_MAX = 65_535


def mcp(context: Context) -> Answer:
    """Serve the memory until the client closes, or the process is told to stop."""
    options = context.options
    if not options.http and sys.stdin is None:
        msg = "there is no standard input, over which a client speaks."
        raise UsageError(msg, advice="Let the client start it, or serve with --http.")
    use_one_thread()
    try:
        import anyio

        from perdure.mcp.desk import Desk
        from perdure.mcp.server import MemoryServer
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("perdure"):
            raise
        msg = f"serving memory needs the protocol's library, and {error.name} is not installed."
        raise ConfigError(msg, advice='Install it with: pip install "perdure[mcp]".') from error
    folder = None if options.project == "." else str(Path(options.project).absolute())
    desk = Desk(session=os.urandom(16).hex())
    server = MemoryServer(desk, folder=folder).protocol()
    try:
        if options.http:
            from perdure.mcp.http import serve

            serve(server, host=options.host, port=options.port)
        else:
            anyio.run(server.run_stdio_async)
    finally:
        desk.close()
    return Answer({"served": True})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="over HTTP on this machine, not standard input")
    parser.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="with --http: 127.0.0.1 or ::1"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=values.whole(0, PORT_MAX),
        default=0,
        help="with --http; default: a free one, which is shown",
    )


COMMANDS = (
    Command(
        "mcp",
        "serve the memory to a client of the Model Context Protocol",
        mcp,
        _arguments,
        examples=("perdure mcp", "perdure mcp --project ~/shop", "perdure mcp --http --port 8765"),
        statuses=("2 its library is not installed, or the address cannot be used",),
    ),
)
