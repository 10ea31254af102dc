"""The same server over streamable HTTP: on this machine only, and only for who knows the token."""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
import sys
from typing import Any

import uvicorn
from mcp.server import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from perdure.errors import ConfigError, UsageError

TOKEN_VARIABLE = "PERDURE_MCP_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_CHARS_MIN = 24
PATH = "/mcp"


class TokenGate:
    """Lets a request pass that carries the token, and answers every other one with 401."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compare in constant time; what is no HTTP request (start and stop of the server) passes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) == 1 and hmac.compare_digest(given[0], self._expected):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"This server needs its token.\n"})


def serve(server: MCPServer[Any], *, host: str, port: int) -> None:
    """Serve until told to stop. Port 0 takes a free one. Says address and token on standard error.

    Raises UsageError for an address that others can reach, or that is taken; ConfigError for a short token.
    """
    if not ipaddress.ip_address(host).is_loopback:
        raise UsageError(
            f"{host} can be reached from other machines; memory is served on this one only.",
            advice="Use 127.0.0.1 or ::1.",
        )
    token = _token()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()  # who reads the address can connect from then on
        except OSError as error:
            raise UsageError(
                f"port {port} of {host} cannot be used: {error.strerror}.",
                advice="Choose another with --port.",
            ) from error
        shown = f"[{host}]" if ":" in host else host
        print(f"serving http://{shown}:{listener.getsockname()[1]}{PATH}", file=sys.stderr)  # noqa: T201
        if TOKEN_VARIABLE not in os.environ:
            print(f"token {token}", file=sys.stderr, flush=True)  # noqa: T201 - shown once, kept nowhere
        app = TokenGate(server.streamable_http_app(streamable_http_path=PATH, host=host), token)
        config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _token() -> str:
    given = os.environ.get(TOKEN_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(32)
    if len(given) < TOKEN_CHARS_MIN or not given.isascii():
        raise ConfigError(
            f"{TOKEN_VARIABLE} has {len(given)} characters; it needs {TOKEN_CHARS_MIN} or more, in ASCII.",
            advice="Leave it out, and a new one is made and shown.",
        )
    return given
