"""A scripted HTTP server on 127.0.0.1, for tests of what goes out and of what may come back.

It speaks just enough HTTP to be exact about faults: each connection carries one request, is answered
by the next step of the script, and is closed. Requests are counted and kept. A script that is used up
answers 418, so that one request too many is seen twice: in the count and in the reply.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_CLIENT_SECONDS = 10.0


@dataclass(frozen=True)
class Sent:
    """One request as it came in."""

    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json(self) -> dict[str, object]:
        """Decode the body."""
        decoded = json.loads(self.body)
        assert isinstance(decoded, dict)
        return decoded


@dataclass(frozen=True)
class Answer:
    """One scripted answer, and how badly it is given."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0  # before the first byte
    cut_at: int | None = None  # bytes of the body that are sent before the connection ends
    trickle_seconds: float = 0.0  # between single bytes of head and body
    raw: bytes | None = None  # these bytes instead of a head and a body
    sized: bool = True  # whether the head has a Content-Length

    def chunks(self) -> tuple[bytes, bytes]:
        """Return head and body as they go on the wire."""
        if self.raw is not None:
            return self.raw, b""
        headers = {"content-type": "application/json", "connection": "close"}
        if self.sized:
            headers["content-length"] = str(len(self.body))
        headers.update(self.headers)
        lines = [f"HTTP/1.1 {self.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        return head, self.body if self.cut_at is None else self.body[: self.cut_at]


def ok(document: object, **headers: str) -> Answer:
    """Answer 200 with a JSON document; an underscore in a header's name stands for a hyphen."""
    return Answer(
        body=json.dumps(document).encode(),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


class LoopbackServer:
    """Use as a context manager; `url` has no slash at its end. Leaving it ends its threads."""

    def __init__(self, script: Iterable[Answer], *, tls: ssl.SSLContext | None = None) -> None:
        self._script = iter(script)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._requests: list[Sent] = []
        self._connections = 0
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, name="loopback", daemon=True)

    @property
    def url(self) -> str:
        """The server's address."""
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def requests(self) -> Sequence[Sent]:
        """All whole requests so far."""
        with self._lock:
            return tuple(self._requests)

    @property
    def connections(self) -> int:
        """How many connections were opened so far."""
        with self._lock:
            return self._connections

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        with socket.socket() as last:  # wakes the thread that accepts
            last.connect(self._listener.getsockname())
            self._acceptor.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            client, _address = self._listener.accept()
            if self._closing.is_set():
                client.close()
                return
            with self._lock:
                self._connections += 1
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_CLIENT_SECONDS)
        with client, contextlib.suppress(OSError, ValueError):  # a client that left, or that speaks TLS
            if self._tls is None:
                self._converse(client)
            else:
                with self._tls.wrap_socket(client, server_side=True) as secured:
                    self._converse(secured)

    def _converse(self, client: socket.socket) -> None:
        request = _receive(client)
        with self._lock:
            self._requests.append(request)
            answer = next(self._script, Answer(status=418))
        self._answer(client, answer)

    def _answer(self, client: socket.socket, answer: Answer) -> None:
        if self._closing.wait(answer.wait_seconds):
            return
        for chunk in answer.chunks():
            if answer.trickle_seconds:
                for byte in chunk:
                    client.sendall(bytes([byte]))
                    if self._closing.wait(answer.trickle_seconds):
                        return
            else:
                client.sendall(chunk)


def _receive(client: socket.socket) -> Sent:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(client)
    head, _, body = data.partition(b"\r\n\r\n")
    request_line, *lines = head.decode("latin-1").split("\r\n")
    method, target, _version = request_line.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    size = int(headers.get("content-length", "0"))
    while len(body) < size:
        body += _some(client)
    return Sent(method, target, headers, body)


def _some(client: socket.socket) -> bytes:
    data = client.recv(65_536)
    if not data:
        raise ConnectionError("the client left in the middle of its request")
    return data
