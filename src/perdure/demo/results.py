"""The second half of the demo: what the review changed, cost and left behind, and how it is undone."""

from __future__ import annotations

import shlex
import stat

from perdure.core.admission import Receipt, Revision
from perdure.core.attempt import Attempt
from perdure.core.budget import Amount, Exposure, exposure
from perdure.core.memory import Change
from perdure.demo.scene import Scene
from perdure.demo.screen import WIDTH, Screen, dollars, shortened
from perdure.demo.steps import BY_HAND
from perdure.errors import Refused

_PLACES = (
    ("projects/*/branches", "what memory holds now"),
    ("projects/*/revisions", "every change of it, for undo and history"),
    ("projects/*/receipts", "how each review was admitted"),
    ("projects/*/outcomes", "how each job ended"),
    ("projects/*/mailbox", "what to tell you about it"),
    ("spool/jobs", "accepted jobs, with their evidence"),
    ("spool/decisions", "which proposal was elected"),
    ("attempts/*", "every call: reserved, sent, answered or unknown"),
)


def show_change(screen: Screen, scene: Scene) -> None:
    """The difference in memory, the receipt and the outcome."""
    screen.heading("What changed, and the paper trail")
    outcome, receipt, revision = scene.review()
    job = scene.app.queue.job(scene.job_id)
    lines = {line.line_id: line.text for turn in job.evidence.turns for line in turn.lines} if job else {}
    notes = {note.entry_id: note.evidence for note in revision.notes}
    screen.say(f"Revision {revision.seq} of the project's memory, and the evidence that each entry names:")
    screen.show([""])
    for change in revision.changes:
        screen.show(_diff(change))
        screen.show(
            [screen.dim(f"  {name}: {shortened(lines[name], 70)}") for name in notes.get(change.entry_id, ())]
        )
    screen.show(["", *_trail(receipt, outcome.attempts), ""])
    now = scene.memory.branch()
    screen.check(
        "each added entry stands in memory once and names evidence that exists",
        bool(revision.changes)
        and all([entry.entry_id for entry in now.entries].count(c.entry_id) == 1 for c in revision.changes)
        and all(name in lines for names in notes.values() for name in names)
        and set(notes) == {change.entry_id for change in revision.changes},
    )
    screen.check(
        "the receipt's digests are those of memory before and after",
        receipt.base_digest == _digest_before(scene, revision) and receipt.result_digest == now.digest,
    )
    screen.check('what was said "for now", and the question, were not taken', not _temporary(revision))


def _digest_before(scene: Scene, revision: Revision) -> str:
    before = next(each for each in scene.memory.history() if each.seq == revision.seq - 1)
    return before.result_digest


def _temporary(revision: Revision) -> bool:
    texts = [change.after.text for change in revision.changes if change.after is not None]
    return any("4001" in text or "?" in text for text in texts)


def _diff(change: Change) -> list[str]:
    removed = [f"- {change.before.text}"] if change.before is not None else []
    return removed + ([f"+ {change.after.text}"] if change.after is not None else [])


def _trail(receipt: Receipt, attempts: int) -> list[str]:
    before, after = _short(receipt.base_digest), _short(receipt.result_digest)
    return [
        f"receipt   {receipt.verdict}; memory went from {before} to {after}",
        f"outcome   applied, after {attempts} attempts",
        f"job       ...{receipt.job_id[-32:]}",
    ]


def _short(digest: str | None) -> str:
    return f"{digest[:12]}..." if digest else "nothing"


def show_budget(screen: Screen, scene: Scene) -> None:
    """Spent, held, unknown: three certainties."""
    screen.heading("The budget: spent, held, unknown")
    screen.say(
        "The rules cost nothing. So that there is something to count, the demo's reviewer has an invented"
        " price, in the way of a paid model. A call is held at its upper bound before it is sent; an answer"
        " turns that into what was really spent; a call whose end nobody knows keeps counting in full."
    )
    first, second = scene.attempts()
    total = scene.charged()
    rows = [
        ("attempt 1, at the kill", scene.at_the_kill),
        ("attempt 1, now", exposure(first)),
        ("attempt 2, now", exposure(second)),
        ("counted for the day", total),
    ]
    screen.show(["", f"{'':<24}{'spent':<20}{'held':<20}{'unknown'}", *(_row(*row) for row in rows)])
    limit = scene.app.config.limits.limits().cost_nanodollars_per_day or 0
    screen.show([f"daily limit: {dollars(limit)}  (calls, tokens and dollars; all dollars are invented)", ""])
    screen.check("at the kill the upper bound was held", _only(scene.at_the_kill.held, first))
    screen.check("since then it is unknown, and still counts in full", _only(total.unknown, first))
    screen.check(
        "the second call is spent, for less than its hold",
        Amount() != total.actual == exposure(second).actual
        and second.reserved is not None
        and total.actual.cost_nanodollars < second.reserved.hold.cost_nanodollars,
    )
    screen.check(
        "nothing is held any more, and all of it is within the daily limit",
        total.held == Amount() and total.total.cost_nanodollars <= limit,
    )


def _row(title: str, counted: Exposure) -> str:
    return (
        f"{title:<24}{_amount(counted.actual):<20}{_amount(counted.held):<20}{_amount(counted.unknown)}"
    ).rstrip()


def _amount(amount: Amount) -> str:
    if amount == Amount():
        return "-"
    return f"{amount.calls}  {amount.tokens:>5,}  {dollars(amount.cost_nanodollars)}"


def _only(counted: Amount, attempt: Attempt) -> bool:
    hold = attempt.reserved.hold if attempt.reserved is not None else None
    return hold is not None and counted == Amount(1, hold.tokens, hold.cost_nanodollars)


def show_block(screen: Screen, scene: Scene) -> None:
    """What the agent is told at the next turn."""
    screen.heading("The next turn")
    screen.say("At the start of every turn, in any session of this project, the agent is given this block:")
    block = scene.app.inject_service().block(scene.project.key)
    screen.show(["", *block.text.splitlines(), ""], indent=2)
    budget = scene.app.config.injection
    entries = scene.memory.branch().entries
    screen.check(
        f"{block.chars:,} of at most {budget.characters:,} characters,"
        f" about {block.tokens:,} of at most {budget.tokens:,} tokens",
        block.chars == len(block.text) <= budget.characters and block.tokens <= budget.tokens,
    )
    screen.check(
        f"all {len(entries)} entries are in it, and none was left out",
        block.included == [entry.entry_id for entry in entries]
        and all(entry.text in block.text for entry in entries),
    )


def undo(screen: Screen, scene: Scene) -> None:
    """The review is taken back; what else stands in memory is not."""
    screen.heading("Undo")
    _, _, revision = scene.review()
    written = scene.memory.undo(revision.seq)
    screen.say(f"perdure undo {revision.seq} takes the review back, entry by entry:")
    screen.show(["", *(line for change in written.changes for line in _diff(change)), ""])
    screen.say("The block is now:")
    block = scene.block()
    screen.show(["", *block.splitlines(), ""], indent=2)
    screen.check("it is what it was before the review", block == scene.block_before and BY_HAND in block)
    newest = scene.memory.history()[0]
    screen.check(
        f"undo is itself a revision ({written.seq}); history still has all {len(scene.memory.history())}",
        isinstance(newest, Revision) and newest.undoes == revision.seq and newest.seq == written.seq,
    )
    refusal = _second_undo(scene, revision.seq)
    screen.check("undoing it a second time is refused", bool(refusal))
    screen.show([f'"{shortened(refusal, WIDTH - 8)}"'], indent=6)
    again = scene.capture()
    screen.check(
        "capturing the session again does not bring it back", again.accepted == 0 and scene.block() == block
    )


def _second_undo(scene: Scene, seq: int) -> str:
    try:
        scene.memory.undo(seq)
    except Refused as refused:
        return refused.message
    return ""


def show_places(screen: Screen, scene: Scene) -> None:
    """Where everything lies, and what to do next."""
    screen.heading("Where everything is, and what to do next")
    screen.say("A home folder outside the project holds it all, as small JSON files:")
    rows = [(pattern, _count(scene, pattern), words) for pattern, words in _PLACES]
    screen.show(["", *(f"{pattern:<22}{count:>3}  {words}" for pattern, count, words in rows), ""])
    screen.check("there is a file in each of these", all(count for _, count, _ in rows))
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in scene.home.rglob("*")}
    found = scene.verified()
    screen.check(
        f"perdure verify: all records of {found.jobs} job, {found.attempts} attempts and"
        f" {found.revisions} revisions agree; no work is left over",
        found.ok and not found.findings,
    )
    screen.check("no file and no folder is open to other users", modes == {(True, 0o700), (False, 0o600)})
    screen.check(
        "the project's own folder was not touched",
        [path.name for path in (scene.folder / "shop").iterdir()] == [".git"],
    )


def _count(scene: Scene, pattern: str) -> int:
    return sum(path.is_file() for folder in scene.home.glob(pattern) for path in folder.rglob("*"))


def show_next(screen: Screen, scene: Scene) -> None:
    """Commands to go on with, in the demo's folder."""
    folder, shop, home, state = (
        shlex.quote(str(path))
        for path in (scene.folder, scene.folder / "shop", scene.home, scene.folder / "state")
    )
    unknown = scene.attempts()[0].attempt_id
    screen.show(["", "Look around, settle the unknown call, go on:"], indent=0)
    screen.show(
        [
            f"cd {shop}",
            f"export PERDURE_HOME={home} PERDURE_STATE={state}",
            scene.command("history"),
            scene.command("jobs list"),
            scene.command("budget show"),
            scene.command(f"budget reconcile {unknown} --reason 'it was a demo'"),
            scene.command("remember 'Release notes live in CHANGELOG.md.'"),
        ]
    )
    screen.show(["Delete it:"], indent=0)
    screen.show([f"rm -r {folder}"])
    screen.show(["Use it in a project of yours: README.md, under First steps.", ""], indent=0)
