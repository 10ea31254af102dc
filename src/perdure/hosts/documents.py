"""The JSON documents of memory: what every command prints with --json, and every host and tool is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perdure.core.memory import BRANCH_CHARS_MAX, Branch, Change, Entry, entry_digest

# For types alone.
if TYPE_CHECKING:
    from perdure.service.jobs import JobRow
    from perdure.service.recalled import RecalledEntry, RecalledLine
    from perdure.service.remember import Written


def entry_json(entry: Entry) -> dict[str, Any]:
    """All of an entry, with its digest."""
    return {
        "id": entry.entry_id,
        "text": entry.text,
        "kind": entry.kind,
        "key": entry.key,
        "importance": entry.importance,
        "origin": entry.origin,
        "created_ms": entry.created_ms,
        "updated_ms": entry.updated_ms,
        "digest": entry_digest(entry),
    }


def branch_json(branch: Branch) -> dict[str, Any]:
    """What names a branch and its state, without the entries."""
    return {
        "branch": branch.name,
        "branch_id": branch.branch_id,
        "scope": branch.project,
        "parent": branch.parent,
        "seq": branch.seq,
        "digest": branch.digest,
        "characters": branch.chars,
        "characters_max": BRANCH_CHARS_MAX,
    }


def change_json(change: Change) -> dict[str, Any]:
    """An entry before and after a change."""
    return {
        "id": change.entry_id,
        "index": change.index,
        "before": entry_json(change.before) if change.before is not None else None,
        "after": entry_json(change.after) if change.after is not None else None,
    }


def written_json(written: Written) -> dict[str, Any]:
    """What a foreground change did."""
    return {
        "changed": written.changed,
        "branch": written.branch,
        "seq": written.seq,
        "digest": written.digest,
        "entry": entry_json(written.entry) if written.entry is not None else None,
        "changes": [change_json(change) for change in written.changes],
        "similar": [entry_json(entry) for entry in written.similar],
    }


def recalled_json(each: RecalledEntry) -> dict[str, Any]:
    """An entry that a recall found, with where it stands, how sure, and why."""
    return entry_json(each.entry) | {
        "scope": each.scope,
        "branch": each.branch,
        "score": round(each.score, 4),
        "margin": round(each.margin, 4),
        "provenance": msgspec.to_builtins(each.provenance),
        "why": msgspec.to_builtins(each.why),
    }


def line_json(each: RecalledLine) -> dict[str, Any]:
    """A passage of evidence that a recall found."""
    return {
        "text": each.text,
        "role": each.role,
        "host": each.host,
        "session": each.session,
        "turn": each.turn_id,
        "line": each.line_id,
        "job": each.job_id,
        "settled_ms": each.settled_ms,
        "score": round(each.score, 4),
        "margin": round(each.margin, 4),
        "why": msgspec.to_builtins(each.why),
    }


def job_json(row: JobRow) -> dict[str, Any]:
    """A review job as a list shows it."""
    return {
        "job": row.job_id,
        "short": row.short,
        "state": row.state,
        "reason": row.reason,
        "project": row.project,
        "branch": row.branch,
        "generation": row.generation,
        "turns": row.turns,
        "attempts": row.attempts,
        "settled_ms": row.settled_ms,
        "until_ms": row.until_ms,
    }
