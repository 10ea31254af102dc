"""The payloads of hook hosts in tests/data/hooks, with the paths of a test put in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perdure.hosts.hook_hosts import EVENTS

FOLDER = Path(__file__).parent / "data" / "hooks"
VERSIONS = ("claude-code-1.0", "claude-code-2.1", "codex-0.171", "gemini-0.61")


def host_of(version: str) -> str:
    """Give the host that a version is of."""
    return next(host for host in EVENTS if version.startswith(f"{host}-"))


def payloads(
    version: str, *, project: str = "/p", transcript: str = "/t"
) -> list[tuple[str, dict[str, Any]]]:
    """Give every event of a version with a payload that its host writes, paths put in."""
    found = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    return [
        (event, _placed(payload, project=project, transcript=transcript))
        for event, shapes in found.items()
        for payload in shapes
    ]


def payload_of(version: str, event: str, *, project: str, transcript: str, **fields: Any) -> dict[str, Any]:
    """Give the first payload of an event, with some fields changed."""
    named = payloads(version, project=project, transcript=transcript)
    return next(payload for name, payload in named if name == event) | fields


def ignored() -> dict[str, tuple[str, dict[str, Any]]]:
    """Give the payloads that no host's user means for us: by what they are, host and payload."""
    found = json.loads((FOLDER / "ignored.json").read_text(encoding="utf-8"))
    return {
        name: (host, _placed(payload, project="/p", transcript="/t"))
        for name, (host, payload) in found.items()
    }


def _placed(payload: dict[str, Any], *, project: str, transcript: str) -> dict[str, Any]:
    places = {"{project}": project, "{transcript}": transcript}
    return {
        field: places.get(value, value) if isinstance(value, str) else value
        for field, value in payload.items()
    }
