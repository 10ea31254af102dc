"""Real processes that are killed: two workers and a writer, started again as often as they die.

    python -m tests.machine.killing SEED KILLS SECONDS

Forks the three from one process that has imported everything, kills a random one of them with SIGKILL
after a random time and starts it again, until that many kills or that time. The times are drawn from what
the disk's own speed makes of one round of the writer. Writes a `Story` to the file STORY. The home is
PERDURE_HOME; the reviewer is scripted and slow, and notes every request in the file SENDS.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import msgspec

from perdure.app import App
from perdure.core.memory import main_branch_id
from perdure.errors import LockTimeout
from perdure.ports.provider import Reply, ReviewRequest
from tests.fakes import PROJECT, ScriptedProvider, proposing, turns

BRANCH = main_branch_id(PROJECT)
CALL_SECONDS = 0.003
PAUSE_SECONDS = 0.01
LIFE_ROUNDS = (0.2, 2.0)
"""Between two kills, in rounds of the writer."""
ROUNDS_TIMED = 3
TURNS_PER_LIFE = 10_000
ROLES = ("worker", "worker", "writer")


class Noted(msgspec.Struct, frozen=True):
    """An acknowledged `remember`: what the writer of that life stored last, and its revision."""

    life: int
    number: int
    seq: int


class Story(msgspec.Struct):
    """What the processes were promised before they were killed."""

    kills: int = 0
    accepted: list[str] = []
    noted: list[Noted] = []
    failures: list[int] = []  # exit statuses of those that ended before they were killed


class CountingProvider(ScriptedProvider):
    """Takes a while, and notes every request in a way that survives a kill."""

    def review(self, request: ReviewRequest, *, timeout_seconds: float) -> Reply:  # noqa: ARG002 - the port's
        """See `Provider.review`."""
        note = os.open(os.environ["SENDS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(note, f"{request.attempt_id}\n".encode())
        os.close(note)
        time.sleep(CALL_SECONDS)
        return proposing(request)


def work() -> None:
    """Review for ever."""
    app = App.open()
    app.begin_writing()
    provider = CountingProvider()
    while True:
        app.worker(provider=provider).drain()
        time.sleep(PAUSE_SECONDS)


def write(life: int, pipe: int) -> None:
    """Capture a turn and remember a note, for ever; tell what was acknowledged."""
    app = App.open()
    app.begin_writing()
    memory, capture = app.memory_service(PROJECT), app.capture_service()
    for number in range(TURNS_PER_LIFE):
        found = turns(f"Part {number} of {life} is built by itself.", first=life * TURNS_PER_LIFE + number)
        captured = capture.capture(
            host="pi", session=f"{life:032x}", turns=found, project=PROJECT, branch_id=BRANCH
        )
        for job in captured.jobs:
            os.write(pipe, f"accepted {job}\n".encode())
        try:
            written = memory.remember(note(life, number), key=f"note {life}")
        except LockTimeout:
            continue
        os.write(pipe, f"noted {life} {number} {written.seq}\n".encode())
        time.sleep(PAUSE_SECONDS)


def note(life: int, number: int) -> str:
    """The text that a writer stores."""
    return f"Note {number} of writer {life}."


class Child:
    """One process and the pipe that it talks into."""

    def __init__(self, role: str, life: int) -> None:
        self.role = role
        self._read, write_end = os.pipe()
        self.process = os.fork()
        if not self.process:
            try:
                os.close(self._read)
                work() if role == "worker" else write(life, write_end)
            finally:
                os._exit(9)
        os.close(write_end)
        self._heard = b""

    def listen(self, word: str) -> None:
        """Wait until it has said that word once more; returns at once where it has ended."""
        before = self._heard.count(word.encode())
        while self._heard.count(word.encode()) == before and (chunk := os.read(self._read, 65_536)):
            self._heard += chunk

    def kill(self, story: Story) -> None:
        """SIGKILL, reap, and take down what it had been promised."""
        os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        if not os.WIFSIGNALED(status):
            story.failures.append(os.waitstatus_to_exitcode(status))
        while chunk := os.read(self._read, 65_536):
            self._heard += chunk
        os.close(self._read)
        for line in self._heard.decode().splitlines():
            word, *rest = line.split()
            if word == "accepted":
                story.accepted.append(rest[0])
            else:
                story.noted.append(Noted(*(int(part) for part in rest)))


def timed(writer: Child) -> float:
    """How long a round of the writer takes here and now, in seconds."""
    writer.listen("noted")
    begun = time.monotonic()
    for _ in range(ROUNDS_TIMED):
        writer.listen("noted")
    return (time.monotonic() - begun) / ROUNDS_TIMED


def run(seed: int, kills: int, seconds: float) -> Story:
    """Kill until the number or the time is reached; no process is left behind."""
    chance, story = random.Random(seed), Story()
    until = time.monotonic() + seconds
    children = [Child(role, life) for life, role in enumerate(ROLES)]
    life = len(children)
    try:
        round_seconds = timed(children[ROLES.index("writer")])
        while story.kills < kills and time.monotonic() < until:
            time.sleep(chance.uniform(*LIFE_ROUNDS) * round_seconds)
            place = chance.randrange(len(children))
            children[place].kill(story)
            story.kills += 1
            children[place] = Child(ROLES[place], life)
            life += 1
    finally:
        for child in children:
            child.kill(story)
    return story


def main() -> None:
    """Run as the arguments say."""
    seed, kills, seconds = sys.argv[1:4]
    story = run(int(seed), int(kills), float(seconds))
    with Path(os.environ["STORY"]).open("wb") as file:
        file.write(msgspec.json.encode(story))


if __name__ == "__main__":
    main()
