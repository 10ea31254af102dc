"""inbox: what reviews did since the user last looked."""

from __future__ import annotations

import argparse
from typing import Any

from perdure.cli.command import Answer, Command, Context
from perdure.cli.shapes import date
from perdure.hosts.documents import change_json
from perdure.service.feedback import Card, Progress

HOST = "terminal"


def inbox(context: Context) -> Answer:
    """Show the news, and note that they were shown; with --all those too that were shown before."""
    options = context.options
    if not context.app.has_memory(context.project):
        return _answer(context, (), ())
    service, project = context.app.feedback_service(), context.project.key
    listed = service.all(project) if options.all else service.peek(project)
    if not options.peek and any(card.news and not card.seen for card in listed):
        app = context.begin_writing()
        taken = service.take(project, host=HOST, session=app.ids.token(32), most=None)
        listed = listed if options.all else taken
    return _answer(context, listed, service.progress(project))


def _answer(context: Context, cards: tuple[Card, ...], under_way: tuple[Progress, ...]) -> Answer:
    data = {
        "events": [_card_json(card) for card in cards],
        "reviews": [
            {
                "job": row.job_id,
                "short": row.short,
                "doing": row.doing,
                "reason": row.reason,
                "turns": row.turns,
                "until_ms": row.until_ms,
            }
            for row in under_way
        ],
    }
    parts = [_card_text(context, card) for card in cards] or ["There is no news of reviews."]
    parts += [
        context.paint("dim", f"{row.short} {row.doing}{f': {row.reason}' if row.reason else ''}")
        for row in under_way
    ]
    return Answer(data, "\n".join(parts))


def _card_json(card: Card) -> dict[str, Any]:
    return {
        "job": card.job_id,
        "short": card.short,
        "state": card.state,
        "reason": card.reason,
        "branch": card.branch,
        "changes": [change_json(change) for change in card.changes],
        "revision": card.revision,
        "undo": card.undo,
        "retry": card.retry,
        "ended_ms": card.ended_ms,
        "news": card.news,
        "seen": card.seen,
    }


def _card_text(context: Context, card: Card) -> str:
    paint = context.paint
    why = f": {card.reason}" if card.reason else ""
    seen = " (seen)" if card.seen else ""
    lines = [paint("bold", f"{card.short}  {date(card.ended_ms)}  {card.branch}  {card.state}{why}{seen}")]
    if card.diff:
        lines.append(paint.diff(card.diff))
    if card.undo:
        lines.append(f"  Back: {card.undo}")
    if card.retry:
        lines.append(f"  Again: {card.retry} (perdure jobs show {card.short} says why)")
    return "\n".join(lines)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also what was shown, and what is no news")
    parser.add_argument("--peek", action="store_true", help="look without marking anything as shown")


COMMANDS = (
    Command(
        "inbox",
        "show what reviews did; each piece of news is shown once",
        inbox,
        _arguments,
        examples=("perdure inbox", "perdure inbox --all --peek --json"),
    ),
)
