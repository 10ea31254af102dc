"""What each request of Pi's extension does, and what it is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perdure import __version__
from perdure.errors import UsageError
from perdure.hosts import pi_protocol as wire
from perdure.hosts.conversation import PAGE_ENTRIES_MAX, Told
from perdure.hosts.pi_desk import Desk, NoMemory
from perdure.hosts.pi_reviews import counted

CATCH_UP_SECONDS = 3.0
"""How long an order to review looks for turns that other sessions have left."""
PAUSED = "capture is paused in this session; /memory resume takes it up again."

_CAPTURE = {"on": "on", "paused": "paused: /memory resume", "off": "off: this session is not saved"}


def answer(desk: Desk, request: wire.AnyRequest) -> Told:
    """Do what was asked. Raises PerdureError."""
    desk.asked()
    return _OPS[type(request)](desk, request)


def _hello(desk: Desk, request: wire.Hello) -> Told:
    if request.protocol != wire.PROTOCOL:
        older = "extension" if request.protocol < wire.PROTOCOL else "installed Perdure"
        msg = (
            f"The extension speaks protocol {request.protocol}, Perdure {__version__} speaks {wire.PROTOCOL}."
        )
        advice = f"The {older} is older: update Perdure, then run perdure install pi again."
        raise UsageError(msg, advice=advice)
    known: dict[str, Any] = {"release": __version__, "project": None, "branch": None, "capture": False}
    try:
        place = desk.greet(request)
    except NoMemory as absent:
        return Told("", known | {"notice": str(absent)})
    capture = place.capture
    known |= {
        "project": place.project.root,
        "branch": place.conversation.branch_name(),
        "capture": capture.on,
        "notice": PAUSED if capture.possible and not capture.on else None,
    }
    return Told("", known)


def _turn(desk: Desk, request: wire.Turn) -> Told:
    try:
        place = desk.place()
    except NoMemory:
        return Told("", {"section": "", "included": 0, "branch": None})
    turn = place.conversation.turn(request.prompt or None)
    desk.postpone(lambda: place.conversation.expose(turn))
    desk.problem(turn.block.problem)
    branch = place.conversation.branch_name()
    return Told("", {"section": turn.block.text, "included": len(turn.block.included), "branch": branch})


def _remember(desk: Desk, request: wire.Remember) -> Told:
    told = desk.place().conversation.remember(
        request.text,
        key=request.key,
        kind=request.kind,
        importance=request.importance,
        if_new=request.if_new,
        relearn=request.relearn,
    )
    desk.encode_later()
    return told


def _recall(desk: Desk, request: wire.Recall) -> Told:
    told = desk.place().conversation.recall(
        request.question, limit=request.limit, kind=request.kind, evidence=request.evidence
    )
    desk.encode_later()
    return told


def _replace(desk: Desk, request: wire.Replace) -> Told:
    told = desk.place().conversation.replace(
        request.which,
        text=request.text,
        key=request.key,
        kind=request.kind,
        importance=request.importance,
        expected=request.expected,
    )
    desk.encode_later()
    return told


def _forget(desk: Desk, request: wire.Forget) -> Told:
    return desk.place().conversation.forget(request.which, expected=request.expected)


def _list(desk: Desk, request: wire.List) -> Told:
    return desk.place().conversation.entries(kind=request.kind, start=request.start, limit=request.limit)


def _show(desk: Desk, _request: wire.Show) -> Told:
    conversation = desk.place().conversation
    page = conversation.entries()
    texts, entries, following = [page.text], page.data["entries"], page.data["next"]
    while following is not None:
        more = conversation.entries(start=following, limit=PAGE_ENTRIES_MAX)
        texts.append(more.text)
        entries, following = entries + more.data["entries"], more.data["next"]
    head = f"branch {page.data['branch']}, {counted(len(entries), 'entry', 'entries')}"
    return Told("\n".join([head, *texts]), page.data | {"entries": entries, "next": None})


def _status(desk: Desk, _request: wire.Status) -> Told:
    place = desk.place()
    told = place.conversation.status()
    capture = "on" if place.capture.on else "paused" if place.capture.possible else "off"
    return Told(f"{told.text}\ncapture  {_CAPTURE[capture]}", told.data | {"capture": capture})


def _why(desk: Desk, _request: wire.Why) -> Told:
    return desk.place().conversation.why()


def _branches(desk: Desk, _request: wire.Branches) -> Told:
    return desk.place().conversation.branches()


def _fork(desk: Desk, request: wire.Fork) -> Told:
    return desk.moved_to(desk.place().conversation.fork(request.name))


def _use(desk: Desk, request: wire.Use) -> Told:
    return desk.moved_to(desk.place().conversation.use(request.name))


def _undo(desk: Desk, request: wire.Undo) -> Told:
    told = desk.place().conversation.undo(request.revision)
    desk.encode_later()
    return told


def _review(desk: Desk, _request: wire.Review) -> Told:
    place = desk.place()
    desk.catch_up(CATCH_UP_SECONDS)
    waiting = len(place.app.jobs_service().list(place.project.key, open_only=True))
    if not waiting:
        return Told("Nothing is waiting for a review.", {"jobs": 0})
    place.reviews.start()
    place.reviews.look()
    return Told(f"Reviewing {counted(waiting, 'job')}; a card tells each end.", {"jobs": waiting})


def _reviews(desk: Desk, _request: wire.Reviews) -> Told:
    return desk.place().conversation.reviews()


def _retry(desk: Desk, request: wire.Retry) -> Told:
    told = desk.place().conversation.retry(request.job)
    desk.postpone(desk.review_by_itself)
    return told


def _inbox(desk: Desk, _request: wire.Inbox) -> Told:
    return desk.place().reviews.inbox()


def _pause(desk: Desk, _request: wire.Pause) -> Told:
    place = desk.place()
    if not place.capture.possible:
        return Told(
            "This session is not saved: it is not captured, with or without a pause.", {"capture": False}
        )
    desk.taken(place.capture.pause(place.conversation))
    return Told("Capture is paused in this session, until /memory resume.", {"capture": False})


def _resume(desk: Desk, _request: wire.Resume) -> Told:
    place = desk.place()
    if not place.capture.possible:
        return Told("This session is not saved: it is not captured.", {"capture": False})
    place.capture.resume()
    return Told("Turns of this session are captured: those that settle from now on.", {"capture": True})


def _settled(desk: Desk, request: wire.Settled) -> Told:
    place = desk.place()
    if not place.capture.possible:
        return Told("", {"jobs": 0, "turns": 0})
    taken = place.capture.take(request.session_file, place.conversation)
    desk.postpone(lambda: desk.taken(taken))
    return Told("", {"jobs": taken.jobs, "turns": taken.turns})


def _noted(_desk: Desk, _request: wire.Request) -> Told:
    return Told("", {})


_OPS: dict[type, Callable[[Desk, Any], Told]] = {
    wire.Hello: _hello,
    wire.Turn: _turn,
    wire.Remember: _remember,
    wire.Recall: _recall,
    wire.Replace: _replace,
    wire.Forget: _forget,
    wire.List: _list,
    wire.Status: _status,
    wire.Show: _show,
    wire.Why: _why,
    wire.Branches: _branches,
    wire.Fork: _fork,
    wire.Use: _use,
    wire.Undo: _undo,
    wire.Review: _review,
    wire.Reviews: _reviews,
    wire.Retry: _retry,
    wire.Inbox: _inbox,
    wire.Pause: _pause,
    wire.Resume: _resume,
    wire.Settled: _settled,
    wire.Moved: _noted,
    wire.Compacted: _noted,
    wire.Bye: _noted,
}
