"""The first half of the demo: a session, its capture, and a worker that dies at the worst moment."""

from __future__ import annotations

import signal
import time
from collections import Counter

import msgspec

from perdure.core.evidence import Evidence, RawTurn
from perdure.core.sanitising import sanitised_text
from perdure.demo.process import WorkerProcess
from perdure.demo.scene import Scene, tool_lines
from perdure.demo.screen import Screen, shortened
from perdure.demo.worker import ANSWERING

MARK = "[secret removed:"
BY_HAND = "The staging database is emptied every Sunday night."

_ENDS = {
    "settled": "ended well",
    "failed": "failed",
    "aborted": "was broken off",
    "unfinished": "has no end",
}
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool", "host": "host"}
_FIRST_WORDS = {
    "reserved": "reserved: identity and budget of the call are on disk",
    "dispatched": "dispatched: that it is sent is on disk, and then it is sent",
    ANSWERING: "waiting for the answer, which is about to come ...",
}
_WORDS = {
    "unknown": "the dead worker's call is written down as unknown: it may have run",
    "reserved": "a second attempt is reserved, with a budget of its own",
    "dispatched": "it is written down that this one is sent, then it is sent",
    "settled": "its answer and its cost are on disk",
    "decided": "its proposal is elected, once and for all",
    "admitting": "the proposal passes the checks; memory is changed in one transaction",
    "closed": "the job has its end",
}


def explain(screen: Screen, scene: Scene) -> None:
    """What will happen, and where."""
    screen.heading("What you are about to see")
    screen.say(
        "A real session of a coding agent, recorded once, becomes memory. In the middle the process that"
        " does the work is killed without warning. Nothing is lost, nothing is done twice, no cost is"
        " hidden. Then the change is undone."
    )
    screen.say("No account and no network are needed: the reviewer is a set of offline rules.")
    screen.show([""])
    screen.say("Everything stays in one temporary folder, and is kept there for you to look at:")
    screen.show(["", str(scene.folder), ""])
    screen.say(
        "To begin with, the project's memory holds one entry. It was written by hand, as perdure remember"
        " does it, and was on disk before the call returned:"
    )
    written = scene.memory.remember(BY_HAND)
    screen.show(["", *(f"+ {entry.text}" for entry in scene.memory.branch().entries), ""])
    screen.check("the entry is on disk", written.changed and BY_HAND.encode() in scene.stored())
    screen.check("the project is the toy folder", scene.project.root == str(scene.folder / "shop"))


def show_session(screen: Screen, scene: Scene) -> None:
    """The bundled session, turn by turn."""
    screen.heading("The session")
    screen.say(
        "A turn is what you say and all that the agent does until it is done. The session file has these"
        " (a secret is in one of them; here and everywhere it is shown without it):"
    )
    turns = scene.session.turns
    screen.show(["", *(_turn_line(turn) for turn in turns), ""])
    ends = Counter(turn.end for turn in turns)
    told = ", ".join(f"{count} {_ENDS[end]}" for end, count in ends.items())
    screen.check(f"{len(turns)} turns: {told}", ends["settled"] > 0 and ends["failed"] > 0)
    screen.check("no line of the file was unreadable", not scene.session.problems)


def _turn_line(turn: RawTurn) -> str:
    said = next((line.text for line in turn.lines if line.role == "user"), "")
    return f"{turn.position + 1}  {_ENDS[turn.end]:<14}  {shortened(sanitised_text(said), 64)}"


def capture(screen: Screen, scene: Scene) -> None:
    """Evidence is taken, a job is accepted, and a second capture takes nothing."""
    screen.heading("Capture: what is kept, and what is not")
    planned = scene.capture(dry_run=True)
    captured = scene.capture()
    scene.job_id = captured.jobs[0]
    job = scene.app.queue.job(scene.job_id)
    kept = captured.evidence[0]
    screen.say("The turns that ended well, as text. This is all that a reviewer will ever get to see:")
    screen.show(["", *_evidence_lines(kept), ""], indent=2)
    settled = [turn for turn in scene.session.turns if turn.end == "settled"]
    again = scene.capture()
    screen.check(
        f"one job is accepted for {len(kept.turns)} turns; the turn that failed is left out",
        captured.accepted == 1
        and [turn.turn_id for turn in kept.turns] == [turn.turn_id for turn in settled]
        and len(captured.skipped_turns) == len(scene.session.turns) - len(settled),
    )
    screen.check(
        "the job on disk holds exactly this; a dry run had shown the same",
        job is not None and job.evidence == kept == planned.evidence[0],
    )
    _check_removed(screen, scene, settled, kept)
    screen.check(
        "capturing the same file again accepts nothing new", (again.accepted, again.duplicates) == (0, 1)
    )


def _evidence_lines(evidence: Evidence) -> list[str]:
    return [
        f"{line.line_id:<4}{_SPEAKERS[line.role]:<6} {shortened(line.text, 74)}"
        for turn in evidence.turns
        for line in turn.lines
    ]


def _check_removed(screen: Screen, scene: Scene, settled: list[RawTurn], kept: Evidence) -> None:
    """No word that sanitising took out, and no line that only a tool saw, is anywhere on disk."""
    raw = " ".join(line.text for turn in settled for line in turn.lines if line.role != "tool")
    clean = " ".join(line.text for turn in kept.turns for line in turn.lines)
    stored = scene.stored()
    removed = {word.strip("`.,;") for word in raw.split()} - {word.strip("`.,;") for word in clean.split()}
    hidden = tool_lines(scene.session)
    screen.check(
        f"where the password was, it says {MARK} ...]; what was removed is in no file",
        MARK in clean and bool(removed) and not any(_as_json(word) in stored for word in removed),
    )
    screen.check(
        "nothing that tools were given or printed is in any file",
        bool(hidden) and not any(_as_json(line) in stored for line in hidden),
    )


def _as_json(text: str) -> bytes:
    """The bytes that the text would have inside a record."""
    return msgspec.json.encode(text)[1:-1]


def kill(screen: Screen, scene: Scene) -> None:
    """A worker dies between "sent" and "answered"."""
    screen.heading("The worst moment to die")
    screen.say(
        "A worker process takes the job: it reserves a budget, writes down that the call is sent, and makes"
        " the call. The demo's reviewer stops just before it answers, and there the process gets SIGKILL."
    )
    scene.block_before = scene.block()
    screen.show([""])
    with WorkerProcess("pause") as worker:
        seen = []
        for event, _, detail in worker.steps():
            seen.append(event)
            screen.show([f"worker {worker.pid}  {_FIRST_WORDS.get(event, f'{event} {detail}')}"])
            if event == ANSWERING:
                break
        status = worker.kill()
        screen.show([f"worker {worker.pid}  killed", ""])
    screen.check(
        "the process died of SIGKILL, after dispatched and before any result",
        status == -signal.SIGKILL and seen == ["reserved", "dispatched", ANSWERING],
    )
    _show_attempt(screen, scene)
    scene.at_the_kill = scene.charged()
    screen.check("memory is as it was", scene.block() == scene.block_before)
    found = scene.verified()
    screen.check("perdure verify finds no fault even now, and says what is left to do:", found.ok)
    screen.show((f"{note.code}: {note.advice}" for note in found.findings), indent=6)
    screen.check("the open attempt is among that", "open-attempt" in {note.code for note in found.findings})


def _show_attempt(screen: Screen, scene: Scene) -> None:
    (attempt,) = scene.attempts()
    files = [path for path in scene.files() if path.name.startswith(attempt.attempt_id)]
    screen.say("What the dead process left of its attempt:")
    screen.show(["", *(str(path.relative_to(scene.folder)) for path in files)])
    fate = attempt.fate.fate if attempt.fate is not None else "missing"
    screen.show([f"(the fate says: {fate}; there is no result)", ""])
    screen.check(
        "on disk: reserved, and fate = dispatched; no result",
        fate == "dispatched" and sorted(path.suffix for path in files) == [".fate", ".reserved"],
    )
    owner = attempt.reserved.worker if attempt.reserved is not None else ""
    screen.check("its owner is proved dead: its lock is free", scene.app.claims.gone(owner))


def restart(screen: Screen, scene: Scene) -> None:
    """Another worker starts and the job ends."""
    screen.heading("A new worker, and no special recovery")
    screen.say(
        "The next worker does what every worker does: read which records exist, take the one next step,"
        " read again."
    )
    begun = time.monotonic()
    seen = []
    screen.show([""])
    with WorkerProcess("answer") as worker:
        for event, _, detail in worker.steps():
            seen.append(event)
            words = _WORDS.get(event, f"{event} {detail}".strip())
            screen.show([f"{time.monotonic() - begun:5.2f} s  {event:<11} {words}"], indent=2)
        status = worker.wait()
    screen.show([""])
    screen.check("the worker came to its end by the seven steps above", status == 0 and seen == [*_WORDS])
    first, second = scene.attempts()
    screen.check(
        "the first attempt is unknown, the second settled; neither was sent twice",
        (first.state, second.state) == ("unknown", "settled") and seen.count("dispatched") == 1,
    )
    outcome, receipt, _ = scene.review()
    screen.check(
        "the job ended in exactly one admitted change: one outcome, applied; one receipt; one revision",
        scene.ends() == ([scene.job_id], [scene.job_id])
        and (outcome.state, receipt.verdict) == ("applied", "applied")
        and scene.memory.branch().seq == scene.memory.history()[0].seq == receipt.revision_seq,
    )
