"""One HTTP request with hard bounds: the only door from Perdure to a model provider (A-04).

A call goes out on a connection of its own, which is not used again, with the client's retries off and
redirects not followed. It runs in a thread of its own while the caller waits for `total_seconds`, so
that the deadline holds for everything: name resolution, a slow handshake, a server that sends one byte
a second. When the caller gives up, the connection is shut down, and a request that had not begun to go
out never will: *not sent* is a fact that both sides agree on under a lock, not a guess.

The client is httpx2, imported by the first call. TLS verification is on. The environment's proxies
(`HTTPS_PROXY`, `NO_PROXY`, ...) are used, except for servers on this machine.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol
from urllib.parse import urlsplit

import msgspec

from perdure.errors import ConfigError

BODY_BYTES_MAX = 1_048_576
"""The largest response body that is read; a larger one is a broken response."""

CONNECT_SECONDS_MAX = 10.0
"""How long connecting, and then the TLS handshake, may take; never longer than the whole call."""

_CHUNK_BYTES = 65_536

Breakage = Literal["timeout", "cut stream", "oversized body", "encoded body"]
"""How a response that was due did not come whole."""


class Received(msgspec.Struct, frozen=True):
    """A response came. `body` is whole for a 2xx status; for any other it is b"" and was not read."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class NotSent(msgspec.Struct, frozen=True):
    """Not one byte of the request went out, and none will."""


class Broken(msgspec.Struct, frozen=True):
    """The request went out, at least in part, and no whole response is here. The provider may have run it."""

    breakage: Breakage


Outcome = Received | NotSent | Broken


class Post(msgspec.Struct, frozen=True):
    """One POST request, ready to send."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def post(request: Post, *, total_seconds: float) -> Outcome:
    """Send `request` once and wait for its end, for at most `total_seconds`.

    Never raises for what the network or the server does.
    """
    exchange = _Exchange(request, total_seconds)
    exchange.start()
    try:
        exchange.ended.wait(total_seconds)
    finally:  # also when the wait is interrupted: nothing may go out after it
        outcome = exchange.close()
    return outcome


def check_base_url(url: str, *, plain_http: bool = False) -> str:
    """Return `url` without a slash at its end.

    Raises `ConfigError` unless it is an https URL with a host and without user name, query and fragment.
    Plain http is for servers on this machine, or, with `plain_http`, for any: evidence and key would
    travel in the clear.
    """
    advice = 'Set base_url to something like "https://api.example.com/v1".'
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port  # reading the port checks it
    except ValueError as error:
        raise ConfigError("base_url is not a URL.", advice=advice) from error
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise ConfigError("base_url is not an http or https URL with a host.", advice=advice)
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError("base_url holds a user name, a query or a fragment.", advice=advice)
    if parts.scheme == "http" and not plain_http and not is_loopback(url):
        raise ConfigError(
            f"base_url would send evidence to {host} over plain http.",
            advice="Use https, or set plain_http = true if you trust every machine on the way.",
        )
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Say whether the URL's host is this machine: `localhost` or a loopback address."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Response(Protocol):
    """What is used of the client's response; the client itself is not imported before a call."""

    @property
    def status_code(self) -> int: ...
    @property
    def is_success(self) -> bool: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def iter_raw(self, chunk_size: int | None = None) -> Iterator[bytes]: ...


class _Abandoned(Exception):
    """The caller gave up before the request began to go out."""


class _Exchange(threading.Thread):
    """The calling side. All that the waiting side reads or sets is guarded by `_lock`."""

    def __init__(self, request: Post, total_seconds: float) -> None:
        super().__init__(name="provider-call", daemon=True)
        self.ended = threading.Event()
        self._request = request
        self._total_seconds = total_seconds
        self._lock = threading.Lock()
        self._sending = False
        self._abandoned = False
        self._connection: socket.socket | None = None
        self._outcome: Outcome | None = None
        self._mistake: Exception | None = None

    def close(self) -> Outcome:
        """End the exchange and say how it ended; a mistake of ours is raised here, in the caller's thread."""
        with self._lock:
            self._abandoned = True
            outcome, mistake, connection = self._outcome, self._mistake, self._connection
            gone_out = self._sending
        if connection is not None and outcome is None:
            _shut_down(connection)
        if mistake is not None:
            raise mistake
        if outcome is not None:
            return outcome
        return Broken("timeout") if gone_out else NotSent()

    def run(self) -> None:
        """Send the request and keep what comes of it."""
        try:
            outcome = self._exchange()
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            with self._lock:
                self._mistake = error
        else:
            with self._lock:
                self._outcome = outcome
        finally:
            self.ended.set()

    def _exchange(self) -> Outcome:
        import httpx2

        total, request = self._total_seconds, self._request
        try:
            with (
                httpx2.Client(
                    timeout=httpx2.Timeout(total, connect=min(total, CONNECT_SECONDS_MAX)),
                    verify=httpx2.create_ssl_context(),  # SSL_CERT_FILE counts for loopback too
                    follow_redirects=False,
                    trust_env=not is_loopback(request.url),
                ) as client,
                client.stream(
                    "POST",
                    request.url,
                    headers={**request.headers, "accept-encoding": "identity", "connection": "close"},
                    content=request.body,
                    extensions={"trace": self._watch},
                ) as response,
            ):
                return _read(response)
        except httpx2.TimeoutException:
            return self._broken("timeout")
        except (httpx2.TransportError, httpx2.InvalidURL, OSError):
            return self._broken("cut stream")
        except _Abandoned:
            return NotSent()

    def _watch(self, event: str, info: Mapping[str, object]) -> None:
        """Follow the transport's trace: keep the socket, and let the request out only if still wanted.

        A CONNECT request goes to a proxy and holds nothing of ours.
        """
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            stream = info["return_value"]
            found = stream.get_extra_info("socket") if hasattr(stream, "get_extra_info") else None
            if isinstance(found, socket.socket):
                with self._lock:
                    self._connection = found
        elif event.endswith(".send_request_headers.started"):
            if getattr(info.get("request"), "method", None) == b"CONNECT":
                return
            with self._lock:
                if self._abandoned:
                    raise _Abandoned
                self._sending = True

    def _broken(self, breakage: Breakage) -> Outcome:
        with self._lock:
            return Broken(breakage) if self._sending else NotSent()


def _read(response: _Response) -> Outcome:
    """Read a response within bounds; only a success has a body worth reading."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if not response.is_success:
        return Received(response.status_code, headers, b"")
    if headers.get("content-encoding", "identity") != "identity":
        return Broken("encoded body")
    body = bytearray()
    for chunk in response.iter_raw(_CHUNK_BYTES):
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            return Broken("oversized body")
    return Received(response.status_code, headers, bytes(body))


def _shut_down(connection: socket.socket) -> None:
    """Wake the thread that waits on the socket. A TLS socket's own method would drop its encryption first."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already, or has become a TLS socket in the middle of its handshake
