"""One session of Pi at the memory of its project: how it begins and ends, and what is done when nobody waits.

The home is opened at the first request that finds one, so that `perdure init` in another window is enough.
What nobody waits for comes later: `after` once an answer is out, `step` when nothing is asked.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from perdure.app import App
from perdure.authority.filesystem.project import Project
from perdure.errors import NotFound, PerdureError, StorageError, UsageError
from perdure.hosts import pi_protocol as wire
from perdure.hosts.conversation import Conversation, Told
from perdure.hosts.pi_capture import HOST, Capture, Taken
from perdure.hosts.pi_reviews import Reviews

# For types alone.
if TYPE_CHECKING:
    from perdure.recall.encoder import Encoder

LOCK_SECONDS = 5.0
"""How long a request waits for a lock: the extension waits 10 s for a tool, and is to have an answer."""
QUIET_SECONDS = 0.3
"""Work that may take long is begun only after so long without a request."""
ENCODING_MS = 60
WARMING_SECONDS = 0.02
_SCREENS = frozenset({"tui", "rpc"})


class NoMemory(NotFound):
    """There is no home yet, or the session's folder can be no project: Pi goes on without memory."""


class Place(NamedTuple):
    """An open home, and the session in it."""

    app: App
    project: Project
    conversation: Conversation
    capture: Capture
    reviews: Reviews


class Desk:
    """Answers requests, in order, in one thread. `say` sends an event."""

    def __init__(
        self, say: Callable[[wire.Message], None], *, open_app: Callable[[], App] = App.open
    ) -> None:
        self._say, self._open = say, open_app
        self._hello: wire.Hello | None = None
        self._place: Place | None = None
        self._after: list[Callable[[], object]] = []
        self._later: deque[Callable[[], bool]] = deque()
        self._left: deque[str] = deque()
        self._asked = time.monotonic()
        self._problem = ""
        self._warming: threading.Thread | None = None

    # -- around requests

    def asked(self) -> None:
        """A request has come: work that may take long waits."""
        self._asked = time.monotonic()

    def postpone(self, work: Callable[[], object]) -> None:
        """Do it when the answer is out."""
        self._after.append(work)

    def after(self) -> None:
        """What the last answer left to do, now that it is out. Raises PerdureError."""
        while self._after:
            self._after.pop(0)()

    # -- what nobody waits for

    def seconds_to_step(self) -> float | None:
        """How long until `step` has something to do; None: nothing until the next request."""
        waits = [self._asked + QUIET_SECONDS - time.monotonic()] if self._later else []
        look = self._place.reviews.seconds_to_look() if self._place is not None else None
        waits += [look] if look is not None else []
        return max(0.0, min(waits)) if waits else None

    def step(self) -> None:
        """Do one thing that is due. Raises PerdureError; what failed is not tried again by itself."""
        place = self._place
        if place is not None and place.reviews.seconds_to_look() == 0.0:
            place.reviews.look()
        elif self._later and time.monotonic() >= self._asked + QUIET_SECONDS:
            work = self._later.popleft()
            if work():
                self._later.append(work)

    def close(self) -> None:
        """The session is over. A review that runs is told to stop; nothing is waited for."""
        place, self._place = self._place, None
        self._later.clear()
        if place is not None:
            place.reviews.give_up()
            place.app.close()

    # -- the beginning

    def greet(self, hello: wire.Hello) -> Place:
        """Begin a session. Raises NoMemory, and NotFound where its branch is gone."""
        self.close()
        self._hello = hello
        return self.place()

    def place(self) -> Place:
        """The home and the session in it. Raises NoMemory, and NotFound for the session's branch."""
        if self._hello is None:
            msg = "The first request has to be hello."
            raise UsageError(msg, advice="Send hello, then ask.")
        if self._place is None:
            try:
                app = self._open()
            except NotFound as absent:
                raise NoMemory(absent.message, advice=absent.advice) from absent
            try:
                place = self._seated(app, self._hello)
            except BaseException:
                app.close()
                raise
            self._place = place
            self._begin(place)
            self.postpone(lambda: _prepare(place))
        return self._place

    def _seated(self, app: App, hello: wire.Hello) -> Place:
        app.records.lock_wait_seconds = LOCK_SECONDS
        app.recall_service().resident = True
        try:
            project = app.project(os.fsdecode(hello.cwd.encode("utf-8", "surrogatepass")))
        except UsageError as unfit:
            raise NoMemory(unfit.message, advice=unfit.advice) from unfit
        conversation = Conversation(app, project, host=HOST, session=hello.session)
        if hello.branch is not None:
            conversation.use(hello.branch)
        capture = Capture(app, project, session=hello.session, file=hello.session_file)
        reviews = Reviews(app, project, conversation, session=hello.session, say=self._say)
        return Place(app, project, conversation, capture, reviews)

    def _begin(self, place: Place) -> None:
        self._enrol(place)
        if place.capture.possible:
            self._later.append(self._catch_up)
        if self.tells:
            place.reviews.watch(in_seconds=QUIET_SECONDS)
            self._later.append(self._review_waiting)
        self._later.append(_load)
        self.encode_later()

    @property
    def tells(self) -> bool:
        """Whether reviews are run and told without being asked for: in a session that is saved and that
        somebody sees. Others end too soon, or work for another session.
        """
        hello = self._hello
        return hello is not None and hello.session_file is not None and hello.mode in _SCREENS

    # -- later

    def encode_later(self) -> None:
        """Entries may be new: have them ready for recall when nothing else is to be done."""
        if self._encode not in self._later:
            self._later.append(self._encode)

    def taken(self, taken: Taken) -> None:
        """Say what could not be taken in, and review the rest."""
        if taken.problems:
            self._say(
                wire.Notice("warning", f"Some turns could not be taken in: {'; '.join(taken.problems)}")
            )
        if self.tells:
            if taken.jobs:
                self.review_by_itself()
            self.place().reviews.watch()

    def review_by_itself(self) -> None:
        """In embedded mode this process has reviews run; in the others a worker does."""
        place = self.place()
        if place.app.config.mode == "embedded":
            place.reviews.start()

    def moved_to(self, told: Told) -> Told:
        """The session uses another branch: what it leaves behind when it is killed belongs there."""
        self._enrol(self.place())
        self.encode_later()
        return told

    def problem(self, found: str) -> None:
        """Say what of memory cannot be read, once."""
        if found and found != self._problem:
            self._say(wire.Notice("warning", found))
        self._problem = found

    def catch_up(self, seconds: float) -> None:
        """Take in what sessions have left, for about so long."""
        until = time.monotonic() + seconds
        if self._catch_up in self._later:
            self._later.remove(self._catch_up)
            while self._catch_up() and time.monotonic() < until:
                pass

    def _enrol(self, place: Place) -> None:
        """Without room for its note a session still reads memory."""
        try:
            place.capture.enrol(place.conversation.branch)
        except StorageError as error:
            self._say(wire.Notice("warning", f"This session cannot be noted: {error}"))

    def _catch_up(self) -> bool:
        """Take in what one session has left; whether more have."""
        place = self.place()
        if not self._left:
            self._left.extend(place.capture.left())
        if self._left:
            self.taken(place.capture.catch_up(self._left.popleft()))
        return bool(self._left)

    def _review_waiting(self) -> bool:
        place = self.place()
        if not place.reviews.running and place.app.jobs_service().list(place.project.key, open_only=True):
            self.review_by_itself()
        return False

    def _encode(self) -> bool:
        """Have the encoder ready, and encode a little; whether there is more to do."""
        place = self.place()
        encoder = place.app.encoder
        if encoder is None:
            return False
        if self._warming is None and place.app.config.recall.encoder == "packaged":
            # A second of work under load, in front of which a turn is not to stand.
            self._warming = threading.Thread(target=_warm, args=(encoder,), daemon=True)
            self._warming.start()
        if self._warming is not None:
            self._warming.join(WARMING_SECONDS)
            if self._warming.is_alive():
                return True
        return place.conversation.encode(ENCODING_MS) > 0


def _warm(encoder: Encoder) -> None:
    """Have a packaged model loaded. One that cannot be loaded is said by whoever asks it."""
    with contextlib.suppress(PerdureError):
        encoder.encode(["ready"])


def _load() -> bool:
    """Load what the first write and the first capture need: the rules about secrets take a while."""
    import perdure.service.capture
    import perdure.service.remember  # noqa: F401

    return False


def _prepare(place: Place) -> None:
    """Load what the first turn needs."""
    place.app.inject_service().block(place.project.key)
