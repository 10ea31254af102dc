"""A reader of homes that knows docs/format.md and nothing of Perdure: standard library only.

Types, names, paths and fields come from the tables of the page (tests/format_page.py); names and what follows
from records are written here from the page's words. That it reads a real home, and concludes what Perdure
concludes, proves that the page says enough.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Callable
from pathlib import Path

from tests.format_page import Body, Found, Page, Unreadable, digest, unseal


class Home:
    """All records of a home, read with the page alone. Raises Unreadable."""

    def __init__(self, page: Page, root: Path) -> None:
        self.records: dict[str, Found] = {}
        for file in sorted(root.rglob("*")):
            if file.is_file():
                path = file.relative_to(root).as_posix()
                if kinds := page.kinds_at(path):
                    self.records[path] = self._read(page, file.read_bytes(), kinds, path)

    def _read(self, page: Page, data: bytes, kinds: list[str], path: str) -> Found:
        reasons = []
        for kind in kinds:
            try:
                return unseal(page, kind, data)
            except Unreadable as error:
                reasons.append(f"{kind}: {error}")
        raise Unreadable(f"{path}: {'; '.join(reasons)}")

    def of(self, kind: str) -> dict[str, Found]:
        """The records of a kind by path."""
        return {path: found for path, found in self.records.items() if found.kind == kind}

    def bodies(self, kind: str) -> list[Body]:
        """Their bodies."""
        return [found.body for found in self.of(kind).values()]

    # -- identities

    def broken_names(self) -> list[str]:
        """Paths whose names are not what the content says."""
        return [path for path, found in self.records.items() if not _name_fits(path, found)]

    # -- what follows from the records

    def attempts(self) -> dict[str, str]:
        """Attempt ids and their states."""
        return {body["attempt_id"]: self._state(body["attempt_id"]) for body in self.bodies("reserved")}

    def _part(self, attempt: str, part: str) -> Body | None:
        found = self.records.get(f"attempts/{attempt[:8]}/{attempt}.{part}")
        return found.body if found else None

    def _state(self, attempt: str) -> str:
        fate = self._part(attempt, "fate")
        if fate is not None and fate["fate"] == "cancelled":
            return "cancelled"
        if self._part(attempt, "result") or self._part(attempt, "reconciled"):
            return "settled"
        if self._part(attempt, "unknown"):
            return "unknown"
        return "dispatched" if fate is not None else "reserved"

    def budget(self, provider: str, day: str) -> dict[str, tuple[int, int, int]]:
        """Calls, tokens and nano-dollars: actual, held and unknown."""
        sums = dict.fromkeys(("actual", "held", "unknown"), (0, 0, 0))
        for body in self.bodies("reserved"):
            if body["provider"] == provider:
                counted = self._exposure(body)
                open_still = counted["held"] != (0, 0, 0) or counted["unknown"] != (0, 0, 0)
                if body["day"] >= day or open_still:
                    sums = {c: _add(sums[c], counted.get(c, (0, 0, 0))) for c in sums}
        return sums

    def _exposure(self, reserved: Body) -> dict[str, tuple[int, int, int]]:
        none = {"actual": (0, 0, 0), "held": (0, 0, 0), "unknown": (0, 0, 0)}
        attempt, hold = reserved["attempt_id"], _amount(reserved["hold"])
        match self._state(attempt):
            case "cancelled":
                return none
            case "settled":
                parts = [self._part(attempt, part) for part in ("result", "reconciled")]
                used = [
                    _amount(part["usage"]) for part in parts if part is not None and part["usage"] is not None
                ]
                if not used:
                    return none | {"actual": (1, 0, 0), "held": hold}
                return none | {"actual": (1, max(u[1] for u in used), max(u[2] for u in used))}
            case "unknown":
                return none | {"unknown": (1, *hold[1:])}
            case _:
                return none | {"held": (1, *hold[1:])}

    def coverage(self, project: str) -> set[str]:
        """The covered turns of a project."""
        turns = {
            t["turn_id"]
            for job in self.bodies("job")
            if job["project"] == project
            for t in job["evidence"]["turns"]
        }
        for kind in ("outcome", "outcome-tombstone", "uncovered"):
            for path, found in self.of(kind).items():
                if path.startswith(f"projects/{project}/"):
                    turns |= set(found.body["turns"])
        return turns

    def jobs(self) -> dict[str, str]:
        """Job ids and where they stand: open, decided, or the state of their end."""
        ends = {
            b["job_id"]: b["state"] for kind in ("outcome", "outcome-tombstone") for b in self.bodies(kind)
        }
        decided = {body["job_id"]: "decided" for body in self.bodies("decision")}
        return {body["job_id"]: "open" for body in self.bodies("job")} | decided | ends

    def memory(self, scope: str, branch_id: str) -> list[Body]:
        """The entries of a branch."""
        found = self.records.get(f"{_folder(scope)}/branches/{branch_id}")
        return found.body["entries"] if found and found.kind == "branch" else []

    def replayed(self, scope: str, branch_id: str) -> list[Body]:
        """The entries as the revisions make them, each of which has to follow on the one before."""
        entries: list[Body] = []
        last: str | None = None
        prefix = f"{_folder(scope)}/revisions/{branch_id}/"
        standing_there = {**self.of("revision"), **self.of("revision2")}
        for path in sorted(path for path in standing_there if path.startswith(prefix)):
            body = self.records[path].body
            if last is not None and body["base_digest"] != last:
                msg = f"{path}: it does not follow on the one before"
                raise Unreadable(msg)
            for change in body["changes"]:
                _replay(entries, change)
            last = body["result_digest"]
        standing = self.records.get(f"{_folder(scope)}/branches/{branch_id}")
        if standing is not None and standing.digest != last:
            msg = f"{prefix}: the last revision does not lead to the branch"
            raise Unreadable(msg)
        return entries

    def buried(self, what: str, value: str) -> bool:
        """Whether something was forgotten, by the home's key."""
        form = value if what == "entry" else folded(value)
        key = bytes.fromhex(self.records["key"].body["key"])
        keyed = hmac.new(key, f"{what}\0{form}".encode(), hashlib.sha256).hexdigest()
        return any(body["keyed"] == keyed for body in self.bodies("buried"))

    def broken_chains(self) -> list[str]:
        """Digests that name another record and do not fit it."""
        receipts = {found.body["job_id"]: found for found in self.of("receipt").values()}
        decisions = {found.body["job_id"]: found for found in self.of("decision").values()}
        results = {found.body["attempt_id"]: found for found in self.of("result").values()}
        broken = []
        for path, found in self.of("outcome").items():
            job = found.body["job_id"]
            if found.body["decision_digest"] != decisions[job].digest:
                broken.append(path)
            named = receipts[job].digest if job in receipts else None
            if found.body["receipt_digest"] != named:
                broken.append(path)
        for path, found in self.of("decision").items():
            elected = found.body["attempt_id"]
            if elected is not None and found.body["result_digest"] != results[elected].digest:
                broken.append(path)
        for path, found in self.of("intent-tombstone").items():
            receipt = receipts[found.body["job_id"]]
            done = self.records[f"{path}.done"]
            if not receipt.body["intent_digest"] == found.body["intent_digest"] == done.body["intent_digest"]:
                broken.append(path)
        return broken


_NAMES: dict[str, Callable[[Body], str]] = {
    "job": lambda body: job_id(body) if body["evidence_digest"] == digest(body["evidence"]) else "",
    "decision": lambda body: job_id(body["job"]) if body["job_id"] == body["job"]["job_id"] else "",
    "receipt": lambda body: body["job_id"],
    "outcome": lambda body: body["job_id"],
    "outcome-tombstone": lambda body: body["job_id"],
    "event": lambda body: body["job_id"],
    "shown": lambda body: f"{body['job_id']}.shown",
    "claim": lambda body: f"{body['lane']}.{body['ordinal']:08d}",
    "released": lambda body: f"{body['lane']}.{body['ordinal']:08d}.released",
    "reserved": lambda body: f"{body['day']}-{body['job_id'][-32:]}-{body['number']:04d}.reserved",
    "fate": lambda body: f"{body['attempt_id']}.fate",
    "result": lambda body: f"{body['attempt_id']}.result",
    "unknown": lambda body: f"{body['attempt_id']}.unknown",
    "reconciled": lambda body: f"{body['attempt_id']}.reconciled",
    "intent": lambda body: body["transaction"],
    "intent-tombstone": lambda body: body["transaction"],
    "intent2": lambda body: body["transaction"],
    "move": lambda body: body["move_id"],
    "arrival": lambda body: body["move_id"],
    "completion": lambda body: f"{body['transaction']}.done",
    "branch": lambda body: body["branch_id"],
    "branch2": lambda body: body["branch_id"],
    "revision": lambda body: f"{body['seq']:08d}",
    "revision2": lambda body: f"{body['seq']:08d}",
    "revision-tombstone": lambda body: f"{body['seq']:08d}",
    "buried": lambda body: body["keyed"],
    "purge-plan": lambda body: body["plan_id"],
    "uncovered": lambda body: digest([body["project"], body["turns"], body["reason"]])[:32],
    "worker": lambda body: body["worker"],
    "day-totals": lambda body: body["day"],
}
"""What a record's file has to be called, from its content."""


def _name_fits(path: str, found: Found) -> bool:
    named = _NAMES.get(found.kind)
    return named is None or named(found.body) == path.rsplit("/", 1)[-1].removesuffix(".kept")


def job_id(job: Body) -> str:
    """A job's id, from its content."""
    turns, evidence = job["evidence"]["turns"], job["evidence"]
    identity = digest(
        [
            job["project"],
            evidence["session"],
            job["branch_id"],
            digest(evidence),
            turns[-1]["turn_id"],
            job["generation"],
        ]
    )
    return f"{turns[-1]['settled_ms']:012x}{job['project']}{job['branch_id']}{identity[:32]}"


def main_branch_id(scope: str) -> str:
    """The id of a scope's main branch."""
    return digest(["main-branch", scope])[:16]


def folded(text: str) -> str:
    """The form of a text or key in a keyed digest."""
    narrow = "".join(
        unicodedata.normalize("NFKC", c)
        if unicodedata.decomposition(c).startswith(("<wide>", "<narrow>"))
        else c
        for c in unicodedata.normalize("NFC", text)
    )
    cased = unicodedata.normalize("NFC", unicodedata.normalize("NFD", narrow).casefold())
    return " ".join(cased.split()).rstrip(".")


def _folder(scope: str) -> str:
    return scope if scope == "user" else f"projects/{scope}"


def _amount(usage: Body) -> tuple[int, int, int]:
    return 0, usage["input_tokens"] + usage["output_tokens"], usage["cost_nanodollars"]


def _add(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _replay(entries: list[Body], change: Body) -> None:
    index, before, after = change["index"], change["before"], change["after"]
    if before is None:
        entries.insert(index, after)
    elif entries[index] != before:
        msg = f"entry {before['entry_id']} is not where its change says"
        raise Unreadable(msg)
    elif after is None:
        del entries[index]
    else:
        entries[index] = after
