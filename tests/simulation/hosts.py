"""Hosts: sessions that grow and fork, captured now and then twice."""

from __future__ import annotations

import hashlib

from perdure.core.evidence import RawLine, RawTurn
from tests.simulation.ledger import Said
from tests.simulation.part import Part


def tend(part: Part) -> None:
    """A session grows, or is forked; then it is captured, now and then twice."""
    ledger, chance = part.ledger, part.chance
    mine = [name for name in ledger.sessions if name.startswith(part.name)]
    if not mine or chance.random() < 0.2:
        name = f"{part.name} {len(mine)}"
        known = [turns for turns in ledger.sessions.values() if turns]
        root = list(chance.choice(known)) if known and chance.random() < 0.6 else []
        ledger.sessions[name] = root[: chance.randrange(len(root) + 1)]
        mine.append(name)
    session = chance.choice(mine)
    for _ in range(chance.randrange(0, 3)):
        _say(part, session)
    for _ in range(chance.choice((1, 1, 2))):
        _capture(part, chance.choice((session, ledger.newest or session, *ledger.sessions)))


def _say(part: Part, session: str) -> None:
    ledger = part.ledger
    count = sum(map(len, ledger.sessions.values()))
    again = [text for text in ledger.texts if text not in ledger.unsayable]
    again = [text for text in again if text in ledger.forgotten] or again
    text = f"The port of service {part.name} {count} is {4000 + count}."
    if again and part.chance.random() < 0.25:
        text = part.chance.choice(again)
    if text not in ledger.texts:
        ledger.texts.append(text)
    turn_id = hashlib.sha256(f"turn {session} {count}".encode()).hexdigest()[:32]
    ledger.newest = session
    ledger.sessions[session].append(Said(turn_id, text, part.house.clock.now_ms()))


def _capture(part: Part, session: str) -> None:
    ledger = part.ledger
    found = list(ledger.sessions[session])
    captured = part.rig.capture(
        [_raw(turn, place) for place, turn in enumerate(found)],
        session=hashlib.sha256(session.encode()).hexdigest()[:32],
        branch_id=part.house.branch_ids[int(session[-1]) % 2],
        observe=part.chance.random() < 0.15,
    )
    ledger.counts["captures"] += 1
    ledger.counts["accepted"] += captured.accepted
    ledger.jobs.update(captured.jobs)
    if captured.accepted:
        part.house.notice()
    skipped = {turn.turn_id for turn in captured.skipped_turns}
    ledger.turns.update(turn.turn_id for turn in found if turn.turn_id not in skipped)


def _raw(said: Said, position: int) -> RawTurn:
    return RawTurn(
        turn_id=said.turn_id,
        settled_ms=said.settled_ms,
        end="settled",
        lines=(RawLine("user", said.text), RawLine("assistant", "Understood.")),
        position=position,
    )
