"""recall."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, get_args

from perdure.cli import values
from perdure.cli.command import Answer, Command, Context, text_argument, use_one_thread
from perdure.cli.paint import Paint
from perdure.cli.shapes import counted, date, one_line
from perdure.errors import UsageError
from perdure.hosts.documents import line_json, recalled_json
from perdure.recall.found import QUESTION_CHARS_MAX, Mode, Why
from perdure.service.recalled import (
    Provenance,
    Recalled,
    RecalledEntry,
    RecalledEvidence,
    RecalledLine,
)

LIMIT = 5
LIMIT_MAX = 1_000
NOTHING = "Nothing stored answers this."
NOTHING_STATUS = 4
_TEXT_CHARS_SHOWN = 400


def recall(context: Context) -> Answer:
    """Entries, or passages of evidence, that answer a question."""
    options = context.options
    question = text_argument(options.question)
    use_one_thread()
    project = context.project.key
    branch_id = context.app.branch_id(project, context.branch) if context.branch is not None else None
    if options.evidence:
        if options.mode is not None or options.kind is not None:
            msg = "--mode and --kind are of entries; evidence has neither."
            raise UsageError(msg, advice="Leave them out, or leave --evidence out.")
        found = context.app.evidence_recall_service().recall(
            project, question, limit=options.limit, branch_id=branch_id
        )
        return _from_evidence(context, question, found)
    mode: Mode = options.mode or "fused"
    recalled = context.app.recall_service().recall(
        project,
        question,
        limit=options.limit,
        mode=mode,
        kind=options.kind,
        branch_id=branch_id,
        explain=options.explain,
    )
    return _from_memory(context, question, mode, recalled)


def _from_memory(context: Context, question: str, mode: Mode, found: Recalled) -> Answer:
    explain = context.options.explain
    data = {
        "question": question,
        "mode": mode,
        **_searched_json(found),
        "entries": [recalled_json(each) for each in found.entries],
        "nearest": [recalled_json(each) for each in found.nearest] if explain else [],
    }
    shown = [_entry_text(each, context, explain=explain) for each in found.entries]
    near = [_entry_text(each, context, explain=True) for each in found.nearest] if explain else []
    by_key = any(each.why.exact_key or each.why.key_meant is not None for each in found.entries)
    warned = _warning(context, found, asked=mode in {"fused", "semantic"} and not by_key)
    nothing = NOTHING
    if context.options.kind is not None and context.options.kind not in found.kinds:
        nothing = f"No entry has the kind {context.options.kind!r}."
        nothing += f" Here are: {', '.join(found.kinds)}." if found.kinds else ""
    return _answer(context, data, shown, near, warned, nothing=nothing)


def _from_evidence(context: Context, question: str, found: RecalledEvidence) -> Answer:
    explain = context.options.explain
    data = {
        "question": question,
        "mode": "evidence",
        **_searched_json(found),
        "searched": found.searched,
        "lines": [line_json(each) for each in found.lines],
        "nearest": [line_json(each) for each in found.nearest] if explain else [],
    }
    shown = [_line_text(each, context.paint, explain=explain) for each in found.lines]
    near = [_line_text(each, context.paint, explain=True) for each in found.nearest] if explain else []
    return _answer(context, data, shown, near, _warning(context, found, asked=True), nothing=NOTHING)


def _answer(
    context: Context, data: dict[str, Any], shown: list[str], near: list[str], warned: str, *, nothing: str
) -> Answer:
    """What was found, or that nothing was: an answer with a status of its own."""
    if shown:
        return Answer(data, "\n".join(shown), warning=warned)
    lines = [nothing, context.paint("dim", "Nearest misses:"), *near] if near else [nothing]
    if not data["problems"] and not context.app.has_memory(context.project):
        warned = f"This project has no memory yet: perdure init gives it one. {warned}".rstrip()
    return Answer(data, "\n".join(lines), NOTHING_STATUS, warned)


def _searched_json(found: Recalled | RecalledEvidence) -> dict[str, Any]:
    return {
        "searches": list(found.searches),
        "encoder": found.encoder,
        "pending": found.pending,
        "problems": list(found.problems),
    }


def _warning(context: Context, found: Recalled | RecalledEvidence, *, asked: bool) -> str:
    """One line: what could not be read, and what of the search was not there."""
    parts = list(found.problems)
    if asked and (advice := context.app.encoder_advice(found.encoder)):
        parts.append(advice)
    if found.pending:
        left = counted(found.pending, "text")
        parts.append(f"{left} searched by words alone so far; recall again to go on encoding.")
    return " ".join(parts)


def _entry_text(each: RecalledEntry, context: Context, *, explain: bool) -> str:
    paint, entry = context.paint, each.entry
    where = "user" if each.scope != context.project.key else f"branch {each.branch}"
    key = f"{paint('bold', entry.key)}: " if entry.key is not None else ""
    text = entry.text.replace("\n", "\n      ")
    tail = f"{entry.entry_id}  {where}  {entry.origin}  {date(entry.updated_ms)}"
    lines = [f"{each.score:4.2f}  {key}{text}", paint("dim", f"      {tail}")]
    if explain:
        lines += [f"      {line}" for line in (*_reasons(each.why, each.margin), *_origin(each.provenance))]
    return "\n".join(lines)


def _line_text(each: RecalledLine, paint: Paint, *, explain: bool) -> str:
    said = one_line(each.text, _TEXT_CHARS_SHOWN)
    tail = f"{date(each.settled_ms)}  {each.host} session {each.session[:12]}  turn {each.turn_id[:12]}"
    lines = [f"{each.score:4.2f}  {paint('bold', each.role)}: {said}", paint("dim", f"      {tail}")]
    if explain:
        lines += [f"      {line}" for line in _reasons(each.why, each.margin)]
    return "\n".join(lines)


def _reasons(why: Why, margin: float) -> Iterable[str]:
    """Why it was found, one reason on a line."""
    if why.exact_key:
        yield "its key, exactly"
    if why.key_meant is not None:
        yield f"key taken for: {why.key_meant}"
    if why.words:
        yield f"words: {', '.join(why.words)}"
    if why.neighbours:
        yield f"{counted(len(why.neighbours), 'neighbour')} lent it weight"
    measured = (
        ("words score", why.lexical),
        ("meaning, cosine", why.cosine),
        ("meaning, word by word", why.late),
        ("holographic z", why.holographic_z),
    )
    numbers = [f"{name} {value:.2f}" for name, value in measured if value is not None]
    yield "  ".join([*numbers, f"margin {margin:.2f}"])


def _origin(provenance: Provenance) -> Iterable[str]:
    """Where its wording comes from."""
    if provenance.revision is not None:
        job = f", job {provenance.job_id[-32:][:12]}" if provenance.job_id is not None else ""
        lines = f", evidence {', '.join(provenance.evidence)}" if provenance.evidence else ""
        yield f"since revision {provenance.revision}: {provenance.cause}{job}{lines}"
    if provenance.rationale is not None:
        yield f"reviewer's reason: {one_line(provenance.rationale)}"


def _recall_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "question",
        metavar="QUESTION",
        help=f'a question, words or a key, at most {QUESTION_CHARS_MAX:,} characters; "-" reads it',
    )
    parser.add_argument(
        "--limit", metavar="N", type=values.whole(1, LIMIT_MAX), default=LIMIT, help=f"default: {LIMIT}"
    )
    parser.add_argument("--kind", metavar="KIND", help="only entries of this kind")
    parser.add_argument("--mode", choices=get_args(Mode), help="one way of searching alone; default: fused")
    parser.add_argument("--explain", action="store_true", help="say why, and name the nearest misses")
    parser.add_argument("--evidence", action="store_true", help="search what was said in captured sessions")


COMMANDS = (
    Command(
        "recall",
        "find what the memory says about a question",
        recall,
        _recall_arguments,
        frozenset({"branch"}),
        examples=(
            'perdure recall "how do we deploy?"',
            'perdure recall "deploy command" --mode exact --json',
            'perdure recall "which port did the API get?" --evidence --explain',
        ),
        statuses=(
            "2 the question is empty or too long, KIND is not a word, or --mode semantic finds no encoder",
            "4 nothing stored answers this, no entry has that kind, or there is no such branch",
            "6 --mode semantic, and the encoder does not answer; other modes then search by words",
        ),
    ),
)
