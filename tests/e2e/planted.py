"""Values planted in sessions, and the search for them, in any spelling, in files and in what was printed."""

from __future__ import annotations

import base64
import json
import random
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from perdure.cli.main import main
from tests.e2e.command_line import Perdure, Said
from tests.quality.secret_corpus import Secret, make
from tests.session_files import PiSession, Transcript

_JOINTS = str.maketrans("", "", ' \t\r\n\\"+>`')


class Marks:
    """Words that nobody else uses, one for each place where something was planted that is no evidence."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def __getitem__(self, place: str) -> str:
        """The word of a place."""
        return self.words.setdefault(place, f"mark{secrets.token_hex(9)}")


def forms(value: str) -> dict[str, bytes]:
    """The spellings in which a value could stand in a file without being read as itself."""
    data = value.encode()
    found = {
        "plain": data,
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
        "url": quote(value, safe="").encode(),
        "url-all": "".join(f"%{byte:02x}" for byte in data).encode(),
        "json": json.dumps(value)[1:-1].encode(),
        "json-all": "".join(f"\\u{ord(char):04x}" for char in value).encode(),
        "hex": data.hex().encode(),
    }
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + data)
        found[f"base64-{shift}"] = coded[(4 if shift else 0) : len(coded) // 4 * 4 - 4]
    return {name: form for name, form in found.items() if len(form) >= 8}


def squeezed(text: str) -> str:
    """A text without disguises: compatibility forms folded, nothing invisible, lines and quotes joined."""
    plain = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return plain.replace("\\n", "").translate(_JOINTS)


class Searched:
    """Everything that was stored or printed, ready to be searched."""

    def __init__(self, pieces: Mapping[str, bytes]) -> None:
        self.raw = b"\n\0\n".join(pieces.values())
        text = self.raw.decode("utf-8", "replace")
        self.folded = self.raw.lower()
        self.squeezed = squeezed(text)

    def holding(self, value: str) -> list[str]:
        """The spellings in which the value is there."""
        found = [
            name for name, form in forms(value).items() if form in self.raw or form.lower() in self.folded
        ]
        return found + (["disguised"] if squeezed(value) in self.squeezed else [])


def files(home: Path) -> dict[str, bytes]:
    """Every file below the home with its bytes, and every name."""
    found = {str(path): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    return found | {"names": "\n".join(found).encode()}


def leaks(planted: Mapping[str, str], searched: Searched) -> dict[str, list[str]]:
    """What of the planted is there, and how."""
    found = {kind: searched.holding(value) for kind, value in planted.items()}
    return {kind: spellings for kind, spellings in found.items() if spellings}


def corpus(seed: int, count: int) -> tuple[Secret, ...]:
    """So many secrets, drawn over all families."""
    drawn, _ = make(seed)
    return tuple(random.Random(seed).sample(drawn, count))


def fenced(text: str) -> str:
    """A text in a code fence."""
    return f"Look at this:\n```sh\n{text}\n```\nand go on."


def half_a_key(seed: int) -> tuple[str, str]:
    """A text whose key block begins shortly before a window ends, and a line of the block."""
    pem = next(item for item in make(seed)[0] if item.kind == "pem")
    filler = "The shop sells tea and coffee in four sizes. " * 1000
    cut = filler[: 32_000 - 150]
    return cut + pem.text + filler, pem.secret


def pi_session(hidden: Iterable[Secret], marks: Marks, folder: Path) -> Path:
    """A Pi session with secrets in what people and models said, and marks in everything else."""
    session = PiSession(session_id=f"planted-{secrets.token_hex(4)}", cwd=str(folder))
    session.entries[0] |= {"systemPrompt": marks["pi system prompt"], "env": {"X": marks["pi env"]}}
    session.add("custom", customType="x", data={"note": marks["pi custom data"]})
    session.add("custom_message", customType="x", content=marks["pi custom message"], display=True)
    for number, secret in enumerate(hidden):
        asked, said = f"Question {number}: {secret.text}", "Understood."
        if number % 3 == 1:
            asked, said = f"Please go on, {number}.", f"I found {secret.text}"
        if number % 3 == 2:
            asked = fenced(secret.text)
        session.user(asked)
        if number % 4 == 0:
            _pi_tool(session, marks, ok=number % 8 == 0)
        session.says(said)
        if number % 10 == 0:
            session.message(
                "bashExecution", "", command=marks["pi shell"], output=marks["pi shell output"], exitCode=0
            )
    session.user(f"!echo {marks['pi bang']}")
    session.says("That is your own command.")
    session.message(
        "user",
        [
            {"type": "text", "text": "Prefer small commits in this project."},
            {"type": "image", "data": base64.b64encode(marks["pi image"].encode() * 9).decode()},
        ],
    )
    session.message(
        "assistant",
        [{"type": "thinking", "thinking": marks["pi thinking"], "thinkingSignature": marks["pi signature"]},
         {"type": "text", "text": "Will do."}],
        stopReason="stop",
        diagnostics={"headers": {"x-request": marks["pi header"]}},
    )  # fmt: skip
    session.user("This one fails.")
    session.says(marks["pi failed text"], "error", errorMessage=marks["pi error message"])
    session.user("This one is stopped.")
    session.says(marks["pi aborted text"], "aborted")
    return session.write(folder, "pi.jsonl")


def _pi_tool(session: PiSession, marks: Marks, *, ok: bool) -> None:
    call = {"type": "toolCall", "id": f"c{session.ms}", "name": "bash"}
    session.message(
        "assistant", [call | {"arguments": {"command": marks["pi argument"]}}], stopReason="toolUse"
    )
    output = [
        {"type": "text", "text": marks["pi output"]},
        {"type": "image", "data": base64.b64encode(marks["pi output image"].encode()).decode()},
    ]
    session.message(
        "toolResult", output, toolCallId=call["id"], toolName="bash", isError=not ok,
        details={"diff": marks["pi details"]},
    )  # fmt: skip


def transcript(hidden: Iterable[Secret], marks: Marks, folder: Path) -> Path:
    """The same as a Claude Code transcript."""
    session = Transcript(session_id=f"planted-{secrets.token_hex(4)}", cwd=str(folder))
    session.add("system", subtype="init", content=marks["cc system prompt"])
    session.user(f"<system-reminder>{marks['cc reminder']}</system-reminder>Use tabs in this project.")
    session.says("Tabs it is.")
    for number, secret in enumerate(hidden):
        asked, said = f"Question {number}: {secret.text}", "Understood."
        if number % 3 == 1:
            asked, said = f"Please go on, {number}.", f"I found {secret.text}"
        if number % 3 == 2:
            asked = fenced(secret.text)
        session.user(asked)
        if number % 4 == 0:
            call = f"toolu_{session.ms}"
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": marks["cc argument"]}}
            session.assistant(
                [{"type": "thinking", "thinking": marks["cc thinking"]}, use], "tool_use", requestId="r"
            )
            result = {"type": "tool_result", "tool_use_id": call, "content": marks["cc output"]}
            session.user([result], toolUseResult={"stdout": marks["cc stdout"], "stderr": marks["cc stderr"]})
        session.says(said, requestId=marks["cc request header"])
    session.user(f"<bash-input>{marks['cc shell']}</bash-input>")
    session.user(f"<bash-stdout>{marks['cc shell output']}</bash-stdout><bash-stderr></bash-stderr>")
    session.user(f"<local-command-stdout>{marks['cc local command']}</local-command-stdout>")
    session.user(f"{marks['cc meta']} text", isMeta=True)
    beside = session.leaf
    session.user(marks["cc sub-agent"], isSidechain=True)
    session.leaf = beside
    session.add("attachment", attachment={"type": "file", "content": marks["cc attachment"]})
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"x" * 30).decode()}
    image["data"] += base64.b64encode(marks["cc image"].encode()).decode()
    session.user([{"type": "text", "text": "What is in this picture?"}, {"type": "image", "source": image}])
    session.says("A cup of tea.")
    session.user("And now?")
    session.says(marks["cc api error"], None, isApiErrorMessage=True)
    return session.write(folder, "cc.jsonl")


def run_quietly(perdure: Perdure, *words: str) -> Said:
    """Run a command that may end in any way."""
    perdure._capture.readouterr()
    status = main(list(words))
    return Said(status, *perdure._capture.readouterr())
