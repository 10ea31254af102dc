"""What text may mean before it enters memory: no secret, no tag that frames a prompt, no order to the model.

Apart from `perdure.core.text`, which loads it at the first check: compiling these rules costs a command that
only reads more than all the rest of its start.
"""

from __future__ import annotations

import re
import unicodedata

from perdure.core.secret_views import View, folded, unescaped
from perdure.core.secrets import find_secrets
from perdure.core.text_rules import CONFUSABLES, FRAMES, INSTRUCTIONS
from perdure.errors import TextRefused

BLOCKED = "[blocked]"

_MARKED_LATIN = re.compile(r"([a-z])[\u0300-\u036f]+")
_SPACES = re.compile(r"\s+")
_INSTRUCTION = [re.compile(pattern) for pattern in INSTRUCTIONS]
_FRAME = re.compile("|".join(f"(?:{pattern})" for pattern in FRAMES), re.IGNORECASE)
_KEEP_ELSEWHERE = "Say where the secret is kept instead, for example in the keyring."
_REPHRASE = (
    "State it as a fact about the project, or as a preference; not as an order about how the model works."
)


def check_meaning(text: str, what: str) -> None:
    """Refuse secrets, frames of the prompt, and instructions to the model; `what` names the text.

    Raises `TextRefused` with code "secret", "fence" or "instruction".
    """
    findings = find_secrets(text)
    if findings:
        message = f"{what} holds a secret ({findings[0].kind}), and memory is shown to models."
        raise TextRefused("secret", message, advice=_KEEP_ELSEWHERE)
    if any(_FRAME.search(view.text) for view in _plain_views(text)):
        message = f"{what} holds a tag that frames a prompt."
        raise TextRefused("fence", message, advice="Describe the tag in words.")
    for copy in _instruction_copies(text):
        if any(pattern.search(copy) for pattern in _INSTRUCTION):
            message = f"{what} addresses the model as an instruction about its own behaviour."
            raise TextRefused("instruction", message, advice=_REPHRASE)


def check_fact(key: str, text: str) -> None:
    """Refuse a text that is a secret only because of its key. Raises `TextRefused` with code "secret"."""
    findings = find_secrets(f"{key}: {text}")
    if findings:
        message = f"The text under that key is a secret ({findings[0].kind}), and memory is shown to models."
        raise TextRefused("secret", message, advice=_KEEP_ELSEWHERE)


def _plain_views(text: str) -> list[View]:
    """The text as it is, folded, and with one and two layers of escapes undone."""
    found = [View(text)]
    for step in (folded, unescaped, unescaped):
        view = step(found[-1])
        if view is not None:
            found.append(view)
    return found


def _instruction_copies(text: str) -> set[str]:
    """Copies in which an instruction shows: folded, without accents, and with look-alike letters as Latin."""
    copies: set[str] = set()
    for view in _plain_views(text):
        low = unicodedata.normalize("NFD", view.text.casefold())
        bare = unicodedata.normalize("NFC", _MARKED_LATIN.sub(r"\1", low)).replace("\u2019", "'")
        flat = _SPACES.sub(" ", bare.replace("\n", " ")).strip()
        plain = re.sub(r"[*_`\"“”]+", "", flat)
        copies |= {flat, plain, plain.translate(CONFUSABLES)}
    return copies


def neutralize_fence(text: str) -> str:
    """Give a text in which every tag that frames a prompt, ours or a host's, is `BLOCKED`. Idempotent."""
    done = ""
    while done != text:
        done = text
        spans = sorted(
            {
                view.origin(*match.span())
                for view in _plain_views(text)
                for match in _FRAME.finditer(view.text)
            }
        )
        parts, last = [], 0
        for start, end in spans:
            if start >= last:
                parts += [text[last:start], BLOCKED]
            last = max(last, end)
        text = "".join([*parts, text[last:]])
    return text
