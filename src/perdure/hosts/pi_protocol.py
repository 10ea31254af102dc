"""The messages between Pi's extension and its Python child, version 1: one JSON object a line.

Nothing here reads, writes or waits. `docs/reference/pi-protocol.md` describes the wire; JSON Schemas and
golden messages are made from these types by `make protocol`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from perdure.core.memory import Importance
from perdure.errors import UsageError

PROTOCOL = 1
LINE_BYTES_MAX = 4 * 1024 * 1024
"""The longest line that either side takes, in bytes, without its line feed."""

Number = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=200)]
Mode = Literal["tui", "print", "json", "rpc"]


class Request(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="op",
    tag=str.lower,
):
    """What the extension asks. Its op is the name of its class in small letters."""

    id: Number


class Hello(Request, frozen=True, forbid_unknown_fields=True):
    """First of all: who asks. `sessionFile` is null for a session that is not saved, or works for another;
    `branch` is the memory branch that the session's own path names.
    """

    protocol: int
    session: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    session_file: str | None = msgspec.field(name="sessionFile")
    cwd: Annotated[str, msgspec.Meta(min_length=1)]
    branch: str | None
    mode: Mode
    extension: str


class Turn(Request, frozen=True, forbid_unknown_fields=True):
    """A turn starts: what is the memory section? An empty prompt chooses by importance alone."""

    prompt: str


class Remember(Request, frozen=True, forbid_unknown_fields=True):
    """Store a fact."""

    text: str
    key: str | None = None
    kind: str = "project"
    importance: Importance = "normal"
    if_new: bool = False
    relearn: bool = False


class Recall(Request, frozen=True, forbid_unknown_fields=True):
    """Ask memory, or with `evidence` what was said in captured sessions."""

    question: str
    limit: Limit = 5
    kind: str | None = None
    evidence: bool = False


class Replace(Request, frozen=True, forbid_unknown_fields=True):
    """Change one entry; `expected` is the digest that it must still have."""

    which: str
    text: str | None = None
    key: str | None = None
    kind: str | None = None
    importance: Importance | None = None
    expected: str | None = None


class Forget(Request, frozen=True, forbid_unknown_fields=True):
    """Remove one entry."""

    which: str
    expected: str | None = None


class List(Request, frozen=True, forbid_unknown_fields=True):
    """A page of entries."""

    kind: str | None = None
    start: Count = 0
    limit: Limit = 200


class Status(Request, frozen=True, forbid_unknown_fields=True):
    """Where the session stands."""


class Show(Request, frozen=True, forbid_unknown_fields=True):
    """All entries of the session's branch."""


class Why(Request, frozen=True, forbid_unknown_fields=True):
    """What the last turn was given, and why."""


class Branches(Request, frozen=True, forbid_unknown_fields=True):
    """The branches of memory."""


class Fork(Request, frozen=True, forbid_unknown_fields=True):
    """Copy the session's branch under a new name and use the copy."""

    name: str


class Use(Request, frozen=True, forbid_unknown_fields=True):
    """Use another branch in this session."""

    name: str


class Undo(Request, frozen=True, forbid_unknown_fields=True):
    """Take one revision back, by default the newest."""

    revision: Number | None = None


class Review(Request, frozen=True, forbid_unknown_fields=True):
    """Review what waits, now. The answer comes when it has begun."""


class Reviews(Request, frozen=True, forbid_unknown_fields=True):
    """What became of the reviews, the newest first."""


class Retry(Request, frozen=True, forbid_unknown_fields=True):
    """Review the same evidence again."""

    job: str


class Inbox(Request, frozen=True, forbid_unknown_fields=True):
    """What reviews have to tell."""


class Pause(Request, frozen=True, forbid_unknown_fields=True):
    """Take in no more turns of this session."""


class Resume(Request, frozen=True, forbid_unknown_fields=True):
    """Take in turns again: those that settle from now on."""


class Settled(Request, frozen=True, forbid_unknown_fields=True):
    """A run ended well: take in what the session's file proves."""

    session_file: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="sessionFile")
    leaf: str | None = None


class Moved(Request, frozen=True, forbid_unknown_fields=True):
    """The session went to another place in its tree. Nothing is kept over turns, so nothing is to be done."""

    leaf: str | None = None


class Compacted(Request, frozen=True, forbid_unknown_fields=True):
    """The session was compacted. Nothing is kept over turns, so nothing is to be done."""


class Bye(Request, frozen=True, forbid_unknown_fields=True):
    """The session is over."""


AnyRequest = (
    Hello
    | Turn
    | Remember
    | Recall
    | Replace
    | Forget
    | List
    | Status
    | Show
    | Why
    | Branches
    | Fork
    | Use
    | Undo
    | Review
    | Reviews
    | Retry
    | Inbox
    | Pause
    | Resume
    | Settled
    | Moved
    | Compacted
    | Bye
)


class Fault(msgspec.Struct, frozen=True):
    """What went wrong: a stable code, what was found, and what to do."""

    code: str
    message: str
    advice: str


class Done(msgspec.Struct, frozen=True):
    """The answer to a request that was done."""

    id: Number
    text: str
    data: dict[str, Any]
    ok: bool = True


class Failed(msgspec.Struct, frozen=True):
    """The answer to a request that was not done. `id` is 0 where the line had none that can be read."""

    id: Count
    error: Fault
    text: str
    ok: bool = False


def failed(request_id: int, code: str, message: str, advice: str) -> Failed:
    """The answer to a request that was not done."""
    return Failed(request_id, Fault(code, message, advice), f"{message} {advice}".strip())


class Progress(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """What is under way; an empty text when nothing is."""

    text: str
    jobs: tuple[str, ...]


class DiffLine(msgspec.Struct, frozen=True):
    """One line of what changed: "+", "-" or another sign, and the text."""

    sign: str
    text: str


class Card(msgspec.Struct, frozen=True):
    """What one review did. `undo` and `retry` are commands of Pi, "" where there is none."""

    job: str
    state: str
    reason: str
    title: str
    diff: tuple[DiffLine, ...]
    revision: int | None
    undo: str
    retry: str


class CardEvent(msgspec.Struct, frozen=True, tag_field="event", tag="card"):
    """A card, to be shown once."""

    card: Card


class Notice(msgspec.Struct, frozen=True, tag_field="event", tag="notice"):
    """Something the user should know."""

    level: Literal["info", "warning"]
    text: str


Message = Done | Failed | Progress | CardEvent | Notice


class BadLine(UsageError):
    """A line that is no request. `id` is that of the request, 0 where none can be read."""

    def __init__(self, request_id: int, message: str, *, advice: str) -> None:
        super().__init__(message, advice=advice)
        self.id = request_id


class _Named(msgspec.Struct, frozen=True):
    id: Number = 0  # stays 0 where there is none


_requests = msgspec.json.Decoder(AnyRequest)
_named = msgspec.json.Decoder(_Named)


def decode_request(line: bytes) -> AnyRequest:
    """Read one line of the extension. Raises BadLine."""
    try:
        return _requests.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine(
            _id_of(line),
            f"The line is no request of protocol {PROTOCOL}: {error}.",
            advice="Bring the extension and Perdure to one release: perdure install pi.",
        ) from error


def encoded(message: Message) -> bytes:
    """One message as a line, with its line feed. A message that is too long becomes an error that says so."""
    line = _line(message)
    if len(line) > LINE_BYTES_MAX:
        found = f"The message has {len(line):,} bytes, at most {LINE_BYTES_MAX:,} are sent."
        line = _line(
            failed(message.id, "too-long", found, "Ask for less.")
            if isinstance(message, Done | Failed)
            else Notice("warning", found)
        )
    return line + b"\n"


def _line(message: Message) -> bytes:
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:  # a path may hold bytes that are no UTF-8
        document = msgspec.to_builtins(message)
        return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _id_of(line: bytes) -> int:
    try:
        return _named.decode(line).id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0


class Lines:
    """Splits what comes from the extension into lines, on LF only. A line that is too long is given as None,
    once, and the rest of it is passed over.
    """

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._size = 0
        self._passing = False

    def push(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            if self._keep(part):
                yield None
            if not self._passing:
                yield b"".join(self._kept)
            self._kept, self._size, self._passing = [], 0, False
        if self._keep(rest):
            yield None

    def _keep(self, part: bytes) -> bool:
        """Whether the line has just become too long."""
        if self._passing:
            return False
        self._kept.append(part)
        self._size += len(part)
        if self._size <= LINE_BYTES_MAX:
            return False
        self._kept, self._passing = [], True
        return True
