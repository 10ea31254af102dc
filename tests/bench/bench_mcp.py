"""Calls of tools over MCP, beside a server of the same library that does nothing (issue: hosts)."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp import Client, StdioServerParameters

from perdure.authority.filesystem import layout
from tests.bench.figures import Figure, against, plain, scratch
from tests.bench.rig import home, median

ROUNDS = 100
ENTRIES = 40
WRITES = 40

BARE = """
import anyio
from mcp.server import MCPServer
server = MCPServer("bare", log_level="ERROR")
@server.tool()
async def recall(question: str) -> str:
    return question
anyio.run(server.run_stdio_async)
"""


def main() -> list[Figure]:
    """Measure recall and remember, each as a client sees them."""
    with scratch() as folder, home(folder, "mcp") as (app, project):
        service = app.memory_service(project.key)
        for number in range(ENTRIES):
            service.remember(f"The {number}. service listens on port {4000 + number}.", key=f"port {number}")
        env = {**os.environ, "PERDURE_HOME": str(app.home.path)}
        (Path(app.home.path) / layout.CONFIG).write_text('[recall]\nencoder = "none"\n')
        ours = StdioServerParameters(
            command=sys.executable, args=["-m", "perdure.cli.main", "mcp"], env=env, cwd=project.root
        )
        bare = StdioServerParameters(command=sys.executable, args=["-c", BARE], env=env)
        asked, written, nothing = asyncio.run(_measured(ours, bare))
    return [
        against(
            "MCP recall by key, 40 entries, beside a tool that does nothing",
            median(asked) * 1000,
            "ms",
            reference=median(nothing) * 1000,
        ),
        plain("MCP remember, durable", median(written) * 1000, "ms"),
    ]


async def _measured(
    ours: StdioServerParameters, bare: StdioServerParameters
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of recalls, remembers and calls that do nothing, in turns."""
    asked: list[float] = []
    written: list[float] = []
    nothing: list[float] = []
    async with Client(ours) as memory, Client(bare) as other:
        for number in range(ROUNDS):
            question = {"question": f"port {number % ENTRIES}"}
            asked.append(await _timed(memory, "recall", question))
            nothing.append(await _timed(other, "recall", question))
            if number < WRITES:
                fact = {"text": f"Measured {number}.", "key": "measured"}
                written.append(await _timed(memory, "remember", fact))
    return asked, written, nothing


async def _timed(client: Client, tool: str, arguments: dict[str, str]) -> float:
    begun = time.perf_counter()
    result = await client.call_tool(tool, dict(arguments))
    spent = time.perf_counter() - begun
    assert not result.is_error
    return spent
