"""Writers: foreground changes of memory. Each changes only what it wrote itself, or what a review wrote."""

from __future__ import annotations

from perdure.service.remember import Written
from tests.simulation.part import Part

NEWEST = 0.7
"""How often the newest review is undone, when one is."""


def write(part: Part) -> None:
    """One foreground change."""
    own = sorted(part.own)
    wanted = part.chance.choice(
        ("remember", "remember", "replace", "forget", "undo", "review", "fork", "elsewhere")
    )
    match wanted:
        case "replace" if own:
            _replace(part, part.chance.choice(own))
        case "forget" if own:
            _forget(part, part.chance.choice(own))
        case "undo" if part.undoable:
            _undo(part)
        case "review":
            _second_thought(part)
        case "fork" if part.chance.random() < 0.3:
            name = f"{part.name} {part.next_number()}"
            part.rig.memory_service().fork(name, source="main")
            part.ledger.branches.add(name)
            part.forks.append(name)
        case "elsewhere" if part.forks:
            _use(part, part.chance.choice(part.forks))
        case _:
            _remember(part)


def _use(part: Part, name: str) -> None:
    """Switch to one of one's own forks, or back; write on it."""
    ledger = part.ledger
    wanted = name if part.chance.random() < 0.7 else "main"
    with ledger.choosing(wanted):
        part.rig.memory_service().use(wanted)
    ledger.counts["branches used"] += 1
    text = _text(part)
    written = part.rig.memory_service().remember(text, branch=name)
    entry = written.changes[0].after
    assert entry is not None
    ledger.elsewhere[name, entry.entry_id] = text
    ledger.counts["writes on a fork"] += 1


def _told(part: Part, entry_id: str, text: str | None) -> None:
    """A call has returned: it is a promise now."""
    part.ledger.acknowledged(entry_id, text)
    part.house.stage.note(f"{part.name} is told that {entry_id} is {text!r}")


def _text(part: Part) -> str:
    return f"Note {part.next_number()} of {part.name} concerns the build."


def _remember(part: Part) -> None:
    text = _text(part)
    key = f"{part.name} {part.chance.randrange(3)}" if part.chance.random() < 0.3 else None
    if key in part.keys:
        key = None
    part.ledger.begun.add(text)
    written = part.rig.memory_service().remember(text, key=key, branch="main")
    before, entry = written.changes[0].before, written.changes[0].after
    assert entry is not None
    _told(part, entry.entry_id, text)
    part.own.add(entry.entry_id)
    if key is not None:
        part.keys.add(key)
    _remember_undo(part, written, before.text if before is not None else None, text)


def _replace(part: Part, entry_id: str) -> None:
    text = _text(part)
    part.ledger.begins(entry_id, text)
    written = part.rig.memory_service().replace(entry_id, text=text, branch="main")
    before = written.changes[0].before
    _told(part, entry_id, text)
    _remember_undo(part, written, before.text if before is not None else None, text)


def _forget(part: Part, entry_id: str) -> None:
    part.ledger.begins(entry_id, None)
    written = part.rig.memory_service().forget(entry_id, branch="main")
    before = written.changes[0].before
    assert before is not None
    _told(part, entry_id, None)
    part.ledger.forgotten.add(before.text)
    part.own.discard(entry_id)
    _remember_undo(part, written, before.text, None)


def _remember_undo(part: Part, written: Written, before: str | None, after: str | None) -> None:
    """Only the newest change of an entry can be undone."""
    change = written.changes[0]
    entry = change.after or change.before
    assert entry is not None
    part.undoable[entry.entry_id] = (written.seq, before, after)


def _undo(part: Part) -> None:
    """Take one's own newest change of an entry back."""
    entry_id = part.chance.choice(sorted(part.undoable))
    seq, before, after = part.undoable.pop(entry_id)
    if len(part.ledger.entries[entry_id]) > 1:  # a later change is in doubt
        return
    part.ledger.begins(entry_id, before)
    if before is not None:
        part.ledger.forgotten.discard(before)
    part.rig.memory_service().undo(seq, branch="main")
    part.ledger.counts["changes undone"] += 1
    _told(part, entry_id, before)
    if after is None:
        part.own.add(entry_id)
    if before is None:
        part.own.discard(entry_id)


def _second_thought(part: Part) -> None:
    """Forget what a review wrote, or undo it."""
    service = part.rig.memory_service()
    reviewed = [entry for entry in service.branch("main").entries if entry.origin == "review"]
    if not reviewed:
        return
    entry = part.chance.choice(reviewed)
    if part.chance.random() < 0.5:
        service.forget(entry.entry_id, branch="main")
        part.ledger.forgotten.add(entry.text)
        part.ledger.counts["reviewed and forgotten"] += 1
        return
    seqs = [
        revision.seq for revision in service.history("main") if getattr(revision, "cause", "") == "review"
    ]
    if seqs:
        seq = seqs[-1] if part.chance.random() < NEWEST else part.chance.choice(seqs)
        service.undo(seq, branch="main")
        part.ledger.counts["reviews undone"] += 1
