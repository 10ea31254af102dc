"""Reviews as a session of Pi runs and tells them: a process of their own, progress, cards (F-01 to F-04).

Nobody waits for a review. At the end of the session it is told to stop: it finishes the call that is under
way, which is paid for, begins no other, and what is left stays queued.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import IO, TYPE_CHECKING

import msgspec

from perdure.hosts.conversation import Told
from perdure.hosts.pi_capture import HOST
from perdure.hosts.pi_protocol import Card, CardEvent, DiffLine, Notice, Progress

# For types alone: what a session needs at its first review is loaded then.
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from perdure.app import App
    from perdure.authority.filesystem.project import Project
    from perdure.hosts.conversation import Conversation
    from perdure.hosts.pi_protocol import Message
    from perdure.service import feedback

POLL_SECONDS = 1.0
FAILED_SECONDS = 30.0
"""What could not be seen is looked at again after this time."""
COST_SHARE = 20
"""A look is repeated no sooner than this many times its own cost."""
TELLS_MAX = 20

_OUTPUT_BYTES_MAX = 256 * 1024
_UNAVAILABLE = 6
_TITLES = {
    "applied": "A review changed memory",
    "rejected": "A review's changes were refused",
    "dead-lettered": "A review failed",
    "stale": "A review came too late",
}


class Reviews:
    """The reviews of one project, as one session has them run and tells them.

    Shown are only those cards that this session has elected to show; nobody else does then.
    """

    def __init__(
        self,
        app: App,
        project: Project,
        conversation: Conversation,
        *,
        session: str,
        say: Callable[[Message], None],
    ) -> None:
        self._app, self._project, self._conversation = app, project, conversation
        self._session, self._say = session, say
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._again = False
        self._told = Progress("", ())
        self._look_at: float | None = None

    # -- running

    def start(self) -> None:
        """Have all that is ready reviewed. While a review runs, another follows it."""
        if self._process is not None:
            self._again = True
            return
        import subprocess
        import tempfile

        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        root = self._project.root
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            (sys.executable, "-P", "-m", "perdure", "review", "--once", "--json", "--project", root),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.watch()

    @property
    def running(self) -> bool:
        """Whether a review of this session runs."""
        return self._process is not None

    def give_up(self) -> None:
        """Tell a review that runs to stop, and wait for nothing."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGTERM)

    # -- telling

    def watch(self, *, in_seconds: float = 0.0) -> None:
        """Look at once or soon, and then again while there is something to be seen."""
        self._look_at = time.monotonic() + in_seconds

    def seconds_to_look(self) -> float | None:
        """How long until the next look is due; None when none is."""
        return None if self._look_at is None else max(0.0, self._look_at - time.monotonic())

    def look(self) -> None:
        """Tell what has changed: cards first, so that the end of progress means that all was told."""
        begun = time.monotonic()
        self._look_at = begun + FAILED_SECONDS  # where this fails
        ended = self._ended()
        self._tell_cards()
        under_way = self._app.feedback_service().progress(self._project.key)
        if ended and self._again:
            self._again = False
            self.start()
        self._tell_progress(under_way)
        cost = time.monotonic() - begun
        again = bool(under_way) or self._process is not None
        self._look_at = begun + max(POLL_SECONDS, cost * COST_SHARE) if again else None

    def inbox(self) -> Told:
        """The ends of reviews that are still kept, the newest first. All of them count as shown then."""
        service, key = self._app.feedback_service(), self._project.key
        if service.peek(key):
            self._app.begin_writing()
            service.take(key, host=HOST, session=self._session, most=None)
        cards = [self._card(card) for card in service.all(key)[::-1][:TELLS_MAX]]
        text = "\n\n".join(_text(card) for card in cards) or "Reviews have nothing to tell."
        return Told(text, {"cards": [msgspec.to_builtins(card) for card in cards]})

    # -- inside

    def _tell_cards(self) -> None:
        service, key = self._app.feedback_service(), self._project.key
        if service.peek(key):
            self._app.begin_writing()
            for card in service.take(key, host=HOST, session=self._session):
                self._say(CardEvent(self._card(card)))

    def _tell_progress(self, under_way: tuple[feedback.Progress, ...]) -> None:
        busy = self._process is not None or bool(self._app.claims.workers())
        now = _progress(under_way, running=self._process is not None) if busy else Progress("", ())
        if now != self._told:
            self._told = now
            self._say(now)

    def _ended(self) -> bool:
        """Whether the review has ended since the last look. What kept it from reviewing is said."""
        if self._process is None or self._process.poll() is None or self._output is None:
            return False
        status, output = self._process.returncode, self._output
        self._process = self._output = None
        output.seek(0)
        said = output.read(_OUTPUT_BYTES_MAX)
        output.close()
        if status > 0:
            self._say(Notice("warning", f"The review ended early: {_reason(said, status)}"))
        return True

    def _card(self, card: feedback.Card) -> Card:
        mine = self._conversation.branch_name()
        title = _TITLES.get(card.state, f"A review ended: {card.state}")
        title += f" on branch {card.branch}" if card.branch != mine else ""
        undo = f"/memory undo {card.revision}" if card.undo and card.branch == mine else card.undo
        return Card(
            job=card.job_id,
            state=card.state,
            reason=card.reason,
            title=f"{title}: {card.reason}" if card.reason else title,
            diff=tuple(DiffLine(line.sign, line.text) for line in card.diff),
            revision=card.revision,
            undo=undo,
            retry=f"/memory review retry {card.short}" if card.retry else "",
        )


def _progress(under_way: tuple[feedback.Progress, ...], *, running: bool) -> Progress:
    """What the open reviews do, in a few words."""
    counts: dict[str, int] = {}
    for each in under_way:
        counts[each.doing] = counts.get(each.doing, 0) + 1
    if running and "queued" in counts and not counts.keys() & {"reviewing", "applying"}:
        counts = {"reviewing": 1, **counts, "queued": counts["queued"] - 1}  # it has only begun
    words = [f"{doing} {count:,}" for doing, count in counts.items() if count]
    if running and not words:
        words = ["reviewing"]
    return Progress(", ".join(words), tuple(each.job_id for each in under_way))


def counted(count: int, what: str, many: str = "") -> str:
    """A number and what it counts."""
    return f"{count:,} {what if count == 1 else many or what + 's'}"


def _text(card: Card) -> str:
    lines = [card.title, *(f"{line.sign} {line.text}" for line in card.diff)]
    lines += [f"Undo: {card.undo}"] if card.undo else []
    lines += [f"Retry: {card.retry}"] if card.retry else []
    return "\n".join(lines)


class _Waiting(msgspec.Struct, frozen=True):
    reason: str = ""


class _Said(msgspec.Struct, frozen=True):
    """What of the review's document says why it did not review; fields of others are passed over."""

    waiting: tuple[_Waiting, ...] = ()
    error: dict[str, str] = {}


def _reason(said: bytes, status: int) -> str:
    try:
        found = msgspec.json.decode(said, type=_Said)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return f"status {status}. perdure review --once says why."
    if status == _UNAVAILABLE and found.waiting:
        return f"{found.waiting[0].reason}. What waits stays queued."
    parts = (found.error.get("message", f"status {status}."), found.error.get("advice", ""))
    return " ".join(part for part in parts if part)
