"""A turn as a host tells it to its hook, for a host whose session files do not prove how a turn ended.

Gemini CLI runs its AfterAgent hook once a turn has ended without being stopped, with the prompt and the whole
answer in it; its session files have neither.
"""

from __future__ import annotations

from perdure.core.evidence import RawLine, RawTurn
from perdure.hosts.hook_hosts import Payload
from perdure.hosts.session_file import instant_ms
from perdure.hosts.session_turns import bounded, digest32, without_shell_input
from perdure.hosts.sessions import SessionRead

NO_ANSWER = "[no response text]"
"""What Gemini CLI puts in place of an answer without text."""

_FILES = "--- Content from referenced files ---"
_CONTEXT = "<hook_context>"


def told_turn(payload: Payload, now_ms: int) -> SessionRead | None:
    """The turn that an AfterAgent hook tells of; None when the payload tells of no answered prompt."""
    prompt, answer = payload.told.get("prompt"), payload.told.get("prompt_response")
    if not isinstance(prompt, str) or not isinstance(answer, str) or answer.strip() in {"", NO_ANSWER}:
        return None
    said = without_shell_input(_typed(prompt))
    if not said:
        return None
    told_at = payload.told.get("timestamp")
    settled_ms = instant_ms(told_at)
    turn = RawTurn(
        turn_id=digest32("turn", f"gemini {payload.session} {told_at}", prompt),
        settled_ms=now_ms if settled_ms is None else settled_ms,
        end="settled",
        lines=(RawLine("user", bounded(said)), RawLine("assistant", bounded(answer))),
        position=0,
    )
    return SessionRead(
        host="gemini",
        session=digest32("gemini", payload.session),
        format="gemini-hook",
        cwd=payload.cwd,
        turns=(turn,),
        problems=(),
    )


def _typed(prompt: str) -> str:
    """What a person typed: without the files that the host read for it, and without what hooks added."""
    ends = [place for mark in (_FILES, _CONTEXT) if (place := prompt.find(mark)) >= 0]
    return prompt[: min(ends, default=len(prompt))].strip()
