"""Cold commands: whole processes in turns with an interpreter that does nothing (issue: speed).

Beside the time that passes stands the processor's, which a busy machine changes less.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure.authority.filesystem import layout
from perdure.provider.encoder import packaged
from tests.bench.figures import Figure, against, at_most, plain, scratch
from tests.bench.rig import home, median

ENTRIES = 40
ROUNDS = 25
ABOVE_MS_MAX = 80.0
"""What a recall without an encoder may need more than the interpreter."""
ENCODING_MS_MAX = 700.0
"""What a recall with an encoder may need in all, its entries encoded before."""

QUESTION = "which port does service 7 listen on?"
BARE = "python -c pass"
PLAIN: Mapping[str, tuple[str, ...]] = {
    "recall, a key": ("recall", "port 7"),
    "recall, a question": ("recall", QUESTION),
    "list": ("list",),
    "show": ("show",),
    "status": ("status",),
}
WITHOUT_ENCODER = '[recall]\nencoder = "none"\n'
STATIC_ENCODER = '[recall]\nencoder = "static"\n'


def main() -> list[Figure]:
    """Measure a memory of some entries: without an encoder, with the static one, with the packaged one."""
    with scratch() as folder, home(folder, "cold") as (app, project):
        service = app.memory_service(project.key)
        for number in range(ENTRIES):
            service.remember(f"Service {number} listens on port {4_100 + number}.", key=f"port {number}")
        work, settings = Path(project.root), Path(app.home.path, layout.CONFIG)
        settings.write_text(WITHOUT_ENCODER, encoding="utf-8")
        times = _in_turns(PLAIN, work)
        settings.write_text(STATIC_ENCODER, encoding="utf-8")
        static = _in_turns({"recall": PLAIN["recall, a question"]}, work)["recall"]
        settings.unlink()
        encoding = _in_turns({"recall": PLAIN["recall, a question"]}, work) if packaged() is not None else {}
    bare = times.pop(BARE)
    figures: list[Figure] = []
    for name, found in times.items():
        figures.append(against(f"cold {name}, no encoder", found.passed_ms, "ms", reference=bare.passed_ms))
        above = found.passed_ms - bare.passed_ms
        title = f"cold {name}, above the interpreter"
        figures.append(
            at_most(title, above, "ms", ABOVE_MS_MAX) if "recall" in name else plain(title, above, "ms")
        )
        figures.append(plain(f"{title}, of the processor", found.used_ms - bare.used_ms, "ms"))
    figures.append(at_most("cold recall, static encoder", static.passed_ms, "ms", ENCODING_MS_MAX))
    figures.append(plain("cold recall, static encoder, of the processor", static.used_ms, "ms"))
    if encoding:
        found = encoding["recall"]
        figures.append(at_most("cold recall, packaged encoder", found.passed_ms, "ms", ENCODING_MS_MAX))
        figures.append(plain("cold recall, packaged encoder, of the processor", found.used_ms, "ms"))
    return figures


class _Time(msgspec.Struct, frozen=True):
    """Medians of one command, in milliseconds: what passed, and what it used of a processor."""

    passed_ms: float
    used_ms: float


def _in_turns(commands: Mapping[str, tuple[str, ...]], work: Path) -> dict[str, _Time]:
    """Times by name; one round before the others warms the disk's cache, and is not counted."""
    script = str(Path(sys.executable).with_name("perdure"))
    words = {BARE: [sys.executable, "-c", "pass"]} | {
        name: [script, *each] for name, each in commands.items()
    }
    passed: dict[str, list[float]] = {name: [] for name in words}
    used: dict[str, list[float]] = {name: [] for name in words}
    for turn in range(ROUNDS + 1):
        for name, command in words.items():
            found = _timed(command, work)
            if turn:
                passed[name].append(found.passed_ms)
                used[name].append(found.used_ms)
    return {name: _Time(median(passed[name]), median(used[name])) for name in words}


def _timed(command: list[str], work: Path) -> _Time:
    """One process. It may keep compiled modules, as an installation has them."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(command, check=True, cwd=work, capture_output=True, env=environment)
    passed = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return _Time(passed * 1_000, used * 1_000)
