"""Read a host's session file into turns, whatever host wrote it.

The file is opened read-only and never blocks, is streamed, and may be damaged: what could not be used
is listed by line and reason, and the rest is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath

import msgspec

from perdure.core.evidence import RawTurn
from perdure.errors import UsageError
from perdure.hosts.claude_code_session import claude_code_turns, is_claude_code
from perdure.hosts.codex_session import codex_turns, is_codex
from perdure.hosts.pi_session import PiHeader, pi_header, pi_turns
from perdure.hosts.session_file import LineProblem, ProblemLog, Record, open_session, records
from perdure.hosts.session_turns import digest32

_DETECT_LINES_MAX = 64


class SessionRead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one session file holds.

    `turns` are those of every branch of the session, each once, in the order in which they ended, with
    every kind of end, so that skipped ones can be reported.
    """

    host: str  # "pi", "claude-code", "codex" or "gemini"
    session: str  # 32 hex digits: digest of the host's own session id
    format: str  # "pi-1", "pi-2", "pi-3", "claude-code", "codex", "gemini-hook"
    cwd: str | None
    turns: tuple[RawTurn, ...]
    problems: tuple[LineProblem, ...]


def read_session(path: str | os.PathLike[str]) -> SessionRead:
    """Read the session file at `path`.

    Raises NotFound when there is no such file, and UsageError, with advice, when it is not a regular
    file, cannot be read, is empty, is no session of a known host, or has a newer format.
    """
    descriptor = open_session(path)
    try:
        return _read(descriptor, os.fsdecode(path).encode("utf-8", "backslashreplace").decode())
    except OSError as problem:
        raise UsageError(f"Reading failed: {problem.strerror}.", advice="Check the disk.") from problem
    finally:
        os.close(descriptor)


def _read(descriptor: int, shown: str) -> SessionRead:
    problems = ProblemLog()
    stream = records(descriptor, problems)
    first: list[Record] = []
    for record in stream:
        first.append(record)
        header = pi_header(record.value)
        if header is not None:
            return _read_pi(header, stream, problems)
        if is_codex(record.value):
            return _read_codex(record, stream, problems)
        if is_claude_code(record.value):
            return _read_claude_code(chain(first, stream), problems, shown)
        if len(first) == _DETECT_LINES_MAX:
            break
    if not first and not problems:
        raise UsageError(f"{shown}: the file is empty.", advice="Name a session file with at least one turn.")
    raise UsageError(
        f"{shown}: not a session that Perdure can read: no Pi or Codex header and no Claude Code record"
        f" was found in its first {_DETECT_LINES_MAX} lines.",
        advice="Name a session of Pi, a rollout of Codex or a transcript of Claude Code (.jsonl).",
    )


def _read_pi(header: PiHeader, stream: Iterator[Record], problems: ProblemLog) -> SessionRead:
    turns = pi_turns(header, stream, problems)
    return SessionRead(
        host="pi",
        session=digest32("pi", header.session_id),
        format=f"pi-{header.version}",
        cwd=header.cwd,
        turns=turns,
        problems=problems.in_order(),
    )


def _read_codex(head: Record, stream: Iterator[Record], problems: ProblemLog) -> SessionRead:
    read = codex_turns(head, stream)
    return SessionRead(
        host="codex",
        session=digest32("codex", read.session_id),
        format="codex",
        cwd=read.cwd,
        turns=read.turns,
        problems=problems.in_order(),
    )


def _read_claude_code(stream: Iterator[Record], problems: ProblemLog, shown: str) -> SessionRead:
    read = claude_code_turns(stream, problems)
    return SessionRead(
        host="claude-code",
        session=digest32("claude-code", read.session_id or PurePath(shown).name),
        format="claude-code",
        cwd=read.cwd,
        turns=read.turns,
        problems=problems.in_order(),
    )
