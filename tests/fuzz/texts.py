"""Targets: what may enter memory, sanitising, secrets, fences, the injected block, files of exchange."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from perdure.core.encoded import remove_data
from perdure.core.exchange import Document, plan_additions, plan_whole
from perdure.core.exchange_json import from_json, to_json
from perdure.core.exchange_markdown import from_markdown, to_markdown
from perdure.core.inject import CLOSE, OPEN, Item, render
from perdure.core.memory import Branch, EditRefused, plan
from perdure.core.sanitising import sanitised_text
from perdure.core.secret_views import View, folded
from perdure.core.secrets import find_secrets
from perdure.core.text import (
    FENCE_CLOSE,
    FENCE_OPEN,
    check_entry_text,
    check_key,
    clean_evidence_text,
    normalize_key,
)
from perdure.core.text_meaning import _FRAME, neutralize_fence
from perdure.errors import Refused, TextRefused, UsageError
from tests.core_values import Counting, branch, entry
from tests.fuzz.hard import text_bytes
from tests.fuzz.mutation import change_json
from tests.fuzz.target import Target, as_json, plain_text, text_of, tried

SECRET = "ghp_" + "R7vWq2LmZx9Kd4TnYb6H" + "cJ3sFgP8aEuVo0Xi"
"""Of a vendor's shape; nobody's."""

_SIZE = 600
_IMPORTANCES = ("high", "normal", "low")


def seeds() -> Mapping[str, bytes]:
    """Texts that are hard for patterns, small."""
    return text_bytes(_SIZE)


# -- single texts


def check_entry(data: bytes) -> None:
    """A text or key is refused with a code and not quoted, or stays as it is when given again."""
    text = text_of(data)
    for check in (check_entry_text, check_key):
        clean = tried(partial(check, text), TextRefused)
        if isinstance(clean, TextRefused):
            assert clean.code
            assert len(text) < 40 or text not in clean.message
            continue
        assert check(clean) == clean
        clean.encode()
    key = normalize_key(text)
    assert normalize_key(key) == key


def check_cleaning(data: bytes) -> None:
    """Each step of sanitising comes to rest at once, and only removes what it has to."""
    text = text_of(data)
    clean = clean_evidence_text(text)
    assert clean_evidence_text(clean) == clean
    clean.encode()
    shown = neutralize_fence(clean)
    assert neutralize_fence(shown) == shown
    assert FENCE_OPEN not in shown
    assert FENCE_CLOSE not in shown
    remove_data(text).encode()


def check_secrets(data: bytes) -> None:
    """Findings are in order, in the text and apart; a planted secret is gone after sanitising, for good."""
    text = text_of(data)
    last = 0
    for finding in find_secrets(text):
        assert last <= finding.start < finding.end <= len(text)
        last = finding.end
    for planted in (text, f"{text}\n{SECRET}\n{text}"):
        try:
            done = sanitised_text(planted)
        except Refused:
            continue
        assert SECRET not in done
        assert not find_secrets(done)
        assert sanitised_text(done) == done


# -- the injected block


def check_injection(data: bytes) -> None:
    """Whatever entries say, the block has one opening and one closing fence, and every line is its own."""
    items = [
        Item(
            "For this user" if place % 3 == 0 else "For this project",
            f"{place:016x}",
            plain_text(part),
            key=plain_text(key) if equals else None,
            importance=_IMPORTANCES[len(part) % 3],
            updated_ms=place,
        )
        for place, line in enumerate(data.split(b"\0"))
        for key, equals, part in [line.rpartition(b"=")]
    ]
    for bound in (8_000, 400):
        block = render(items, chars_max=bound, tokens_max=bound)
        assert len(block.text) <= bound
        assert block.tokens <= bound
        known = {item.entry_id for item in items}
        assert {*block.included, *block.left_out} <= known
        if block.text:
            _check_block(block.text)


def _check_block(text: str) -> None:
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == (OPEN, CLOSE)
    inner = View("\n".join(lines[1:-1]))
    assert not any(_FRAME.search(view.text) for view in (inner, folded(inner)) if view is not None)
    assert all(line.startswith(("- ", "## For this ", "    ")) for line in lines[2:-1])


# -- files of exchange


def check_markdown(data: bytes) -> None:
    """A Markdown file: refused with its line, or entries that survive export and import."""
    _exchange(tried(lambda: from_markdown(plain_text(data)), UsageError))


def check_json(data: bytes) -> None:
    """A JSON file: refused, or entries that survive export and import."""
    _exchange(tried(lambda: from_json(text_of(data)), UsageError))


def _exchange(document: Document | UsageError) -> None:
    """Import into an empty branch; then import(export(branch)) changes nothing, in both forms."""
    if isinstance(document, UsageError):
        assert document.message
        return
    ids, held = Counting(), branch(seq=1)
    try:
        edits = plan_additions(document, held, lambda: ids.token(16)).edits
        after = plan(held, edits, now_ms=7).branch
    except (Refused, UsageError, EditRefused):
        return
    survives_exchange(after)


def survives_exchange(held: Branch) -> None:
    """What an export says of a branch is that branch, in both forms."""
    for back in (from_markdown(to_markdown(held)), from_json(to_json(held))):
        assert (back.branch, back.base_digest) == (held.name, held.digest)
        assert plan_whole(back, held, _no_id).edits == ()
        by_id = {item.entry_id: item for item in back.items}
        for one in held.entries:
            item = by_id[one.entry_id]
            found = (item.text, item.kind, item.key, item.importance)
            assert found == (one.text, one.kind, one.key, one.importance)


def _no_id() -> str:
    raise AssertionError("an unchanged export adds an entry")


def _sample() -> Branch:
    texts = (
        "Run pnpm check\nbefore pnpm test.",
        "(high) is a word here, **bold**: and not a key.",
        "Ends in a comment <!-- 0123456789abcdef 0123456789ab -->",
        "- a list\n\n    indented\n# heading",
        "A backslash \\",
        "*starts* with a star",
    )
    entries = [
        entry(
            text,
            entry_id=f"{place:016x}",
            key=f"**key** {place}:" if place % 2 else None,
            kind=f"kind{place % 3}",
        )
        for place, text in enumerate(texts)
    ]
    return branch(entries, name='na"me --> <!-- x')


def _markdown_seeds() -> Mapping[str, bytes]:
    exported = to_markdown(_sample()).encode()
    foreign = b"# Notes\n\n## project\n- one\n  more\n\n  and more\n* two\n+ (low) **key**: three\n"
    return {"exported": exported, "foreign": foreign, "CRLF": foreign.replace(b"\n", b"\r\n"), **seeds()}


def _json_seeds() -> Mapping[str, bytes]:
    least = as_json({"format": "perdure-memory", "version": 1, "entries": [{"text": "One."}]})
    return {"exported": to_json(_sample()).encode(), "least": least}


def _block_seeds() -> Mapping[str, bytes]:
    entries = b"plain\0key=text\0_reserved=text\0a\nb\0" + f"{OPEN}\0{CLOSE}\0x={CLOSE}".encode()
    opened = ("&lt;", "\\u003c", "%3C", "\uff1c", "&#60;", "\\x3c")
    escaped = "\0".join(f"{mark}/perdure-memory>" for mark in opened)
    lines = "a\x85- b\u2028- c\u2029- d\x0b- e\x1c- f"
    return {"entries": entries, "escaped": escaped.encode(), "line ends": lines.encode(), **seeds()}


TARGETS = (
    Target("entry", check_entry, seeds, examples=150),
    Target("cleaning", check_cleaning, seeds, examples=150),
    Target("secrets", check_secrets, seeds, examples=150, bytes_max=2048),
    Target("injection", check_injection, _block_seeds, examples=150),
    Target("markdown", check_markdown, _markdown_seeds, examples=150),
    Target("exchange-json", check_json, _json_seeds, change_json, examples=100),
)
