"""Find secrets in a text and take them out (E-03, M-10).

Four kinds of rules look at the original and at normalised copies of it: values with a vendor's shape,
forms (headers, URLs, commands, key blocks), names with a value (assignments and sentences), and numbers
(cards, one-time seeds, recovery codes, combinations). Entropy decides only where the surroundings speak
of a secret.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

import msgspec

from perdure.core.secret_blocks import find_blocks, find_public_blocks
from perdure.core.secret_names import find_named, occurs
from perdure.core.secret_numbers import KINDS as NUMBER_KINDS
from perdure.core.secret_numbers import find_numbers
from perdure.core.secret_rules import DOTTED_RULES, INNER_RULES, VALUE_RULES, ValueRule
from perdure.core.secret_rules_context import NOUNS
from perdure.core.secret_rules_forms import FORMS, NEEDED_REACH, Form
from perdure.core.secret_sentences import find_told_before
from perdure.core.secret_values import MARK, is_placeholder, is_sample, looks_chosen, looks_random
from perdure.core.secret_views import View, views


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret: its kind and where it stands in the original text (start included, end not)."""

    kind: str
    start: int
    end: int


KINDS = (
    frozenset(
        [rule.kind for rule in VALUE_RULES]
        + [rule.kind for rule in INNER_RULES]
        + [kind for kind, _ in DOTTED_RULES]
        + [form.kind for form in FORMS]
        + [noun.kind for noun in NOUNS]
        + ["private-key", "unresolved"]
    )
    | NUMBER_KINDS
)
"""Every kind that a finding or a removal mark can name."""

ROUNDS_MAX = 8
"""How often removal looks again at its own result before it gives the whole text up."""

_WORD_CHARS_MIN = 14  # shorter words cannot hold a value of any shape rule
_BASE64_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BASE64_REACH = 24
_MARKS = re.compile(r"\[secret removed: ([a-z0-9-]{1,40})\]")
_MIXED = re.compile(r"\d|[a-z][A-Z]")
_TAILS = {id(rule): re.compile(rule.tail) for rule in VALUE_RULES}
_INNER = {id(rule): re.compile(rule.pattern) for rule in INNER_RULES}
_DOTTED = [(kind, re.compile(pattern)) for kind, pattern in DOTTED_RULES]
_DOTS = re.compile(r"[\w-]{22}\.[A-Za-z0-9_-]{6}")
_FORM = {id(form): re.compile(form.pattern, re.IGNORECASE) for form in FORMS if form.pattern}
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_+/=~.%-]*")
_WORDS_ONLY = re.compile(r"[A-Z]?[a-z]{1,20}[.,;:]?")

Span = tuple[int, int, str]  # start and end in a view, kind


def positions(text: str, literal: str) -> Iterator[int]:
    """Give the places where a literal stands, without overlap."""
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


def _starts_token(view: View, at: int) -> bool:
    """Say whether a token can begin here: not inside a word, nor inside a longer run of base64."""
    before = view.text[at - 1] if at else " "
    if view.is_cut(at) or not before.isascii():
        return True
    if before in "+/":
        left = view.text[max(0, at - _BASE64_REACH) : at]
        return not looks_random(left[len(left.rstrip(_BASE64_CHARS)) :], 10)
    return not before.isalnum()


def _value_spans(view: View, words: str) -> Iterator[Span]:
    """Values by their shape; `words` holds all long words of the view, as a prefilter."""
    text = view.text
    for rule in VALUE_RULES:
        for prefix in rule.prefixes:
            if prefix in words:
                yield from _prefixed(view, rule, prefix)
    for inner in INNER_RULES:
        if inner.anchor in words:
            pattern = _INNER[id(inner)]
            for at in positions(text, inner.anchor):
                match = pattern.search(text, max(0, at - inner.before), at + 400)
                if match is not None and match.start() <= at < match.end():
                    yield match.start(), match.end(), inner.kind
    if _DOTS.search(words):
        for kind, pattern in _DOTTED:
            yield from ((*match.span(), kind) for match in pattern.finditer(text))


def _prefixed(view: View, rule: ValueRule, prefix: str) -> Iterator[Span]:
    text, tail, done = view.text, _TAILS[id(rule)], 0
    for at in positions(text, prefix):
        if at < done or (rule.bounded and not _starts_token(view, at)):
            continue
        match = tail.match(text, at + len(prefix))
        if match is None or is_sample(text[at : match.end()]):
            continue
        if rule.random and not looks_random(match.group(), 12):
            continue
        done = match.end()
        yield at, done, rule.kind


_CHECKS: dict[str, Callable[[str], bool]] = {
    "none": lambda value: MARK not in value,
    "any": lambda value: not is_placeholder(value),
    "chosen": lambda value: looks_chosen(value) or looks_random(value),
    "random": lambda value: not is_placeholder(value) and looks_random(value, 10),
}


def _form_spans(text: str, lower: str, lexicon: str) -> Iterator[Span]:
    for form in FORMS:
        for anchor in form.anchors:
            if occurs(anchor, lower, lexicon):
                yield from _formed(form, anchor, text, lower)


def _formed(form: Form, anchor: str, text: str, lower: str) -> Iterator[Span]:
    if not form.pattern:
        yield from (
            (start, end, form.kind) for start, end in find_told_before(text, positions(lower, anchor))
        )
        return
    pattern, check, done, needed = _FORM[id(form)], _CHECKS[form.check], 0, 0
    for at in positions(lower, anchor):
        if form.needs and needed < at:
            needed = text.find(form.needs, at)
            if needed < 0:
                return
        if at < done or needed - at > NEEDED_REACH:
            continue
        match = pattern.match(text, at)
        if match is not None and match.lastindex is not None:
            start, end = match.span(match.lastindex)
            if check(text[start:end]):
                done = end
                yield start, end, form.kind


def lowered(text: str) -> str:
    """Lower-case a text without changing its length."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "I").lower()


def _long_words(text: str) -> str:
    """Join the words that could be a value of some shape: long, with a digit or mixed inside."""
    return "\n".join(
        word for word in set(text.split()) if len(word) >= _WORD_CHARS_MIN and _MIXED.search(word)
    )


def _full_scan(view: View) -> Iterator[Span]:
    public = find_public_blocks(view.text)
    for start, end, kind in _every_span(view):
        place = bisect_right(public, (start, len(view.text))) - 1
        if place < 0 or end > public[place][1]:
            yield start, end, kind


def _every_span(view: View) -> Iterator[Span]:
    lower = lowered(view.text)
    lexicon = "\n".join(set(lower.split()))
    yield from find_blocks(view.text)
    yield from _value_spans(view, _long_words(view.text))
    yield from _form_spans(view.text, lower, lexicon)
    yield from find_named(view.text, lower, lexicon)
    yield from find_numbers(view.text, lower)


def _joined_scan(view: View) -> Iterator[Span]:
    """Values that go over a joint. What follows the last joint goes too unless it is plainly a word."""
    public = find_public_blocks(view.text)
    for start, end, kind in _value_spans(view, _long_words(view.text)):
        place = bisect_right(public, (start, len(view.text))) - 1
        if place >= 0 and end <= public[place][1]:
            continue
        last = _last_piece(view, start, end)
        if view.cuts_within(start, last):
            yield start, last, kind


def _last_piece(view: View, start: int, end: int) -> int:
    """Give where a value over joints ends: before a last piece that is a word while the rest stands alone."""
    cuts = view.cuts_within(start, end)
    while cuts:
        rest = _REST_OF_TOKEN.match(view.text, end)
        word = view.text[cuts[-1] : end] + (rest.group() if rest else "")
        if not (_WORDS_ONLY.fullmatch(word) and _stands_alone(view.text[start : cuts[-1]])):
            break
        end = cuts.pop()
    return end


def _stands_alone(value: str) -> bool:
    """Say whether a value matches a rule by itself, so that the next line's word need not belong to it."""
    view = View(value)
    return any(start == 0 for start, _, _ in _value_spans(view, value))


def _mask(text: str) -> str:
    """Replace marks of earlier removals, keeping every place; they are never read as text."""
    clean = text.replace(MARK, "\ufffd")
    return _MARKS.sub(lambda m: MARK * len(m.group()) if m.group(1) in KINDS else m.group(), clean)


def _merge(findings: Iterable[tuple[int, int, int, str]]) -> tuple[Finding, ...]:
    """Unite overlapping spans; the earliest rule gives the kind."""
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted(findings):
        if merged and start < merged[-1][1]:
            first, last, best, name = merged[-1]
            merged[-1] = (first, max(last, end), *min((best, name), (rank, kind)))
        else:
            merged.append((start, end, rank, kind))
    return tuple(Finding(kind=kind, start=start, end=end) for start, end, _, kind in merged)


def _without_marks(start: int, end: int, marks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Give what is left of a span beside the marks of earlier removals."""
    for first, last in marks[max(0, bisect_left(marks, (start, start)) - 1) :]:
        if first >= end:
            break
        if last <= start:
            continue
        if first > start:
            yield start, first
        start = last
    if start < end:
        yield start, end


def _in_original(
    view: View, spans: Iterable[Span], marks: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int, str]]:
    """Map spans of a view to the original, each with the rank of the rule that found it."""
    for rank, (start, end, kind) in enumerate(spans):
        for first, last in _without_marks(*view.origin(start, end), marks):
            yield first, last, rank, kind


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Give every secret in `text`, ordered, without overlap, as spans of `text` itself.

    Marks of earlier removals are passed over. Time is linear in the length but for a logarithm.
    """
    masked = _mask(text)
    marks = [m.span() for m in _MARKS.finditer(text) if m.group(1) in KINDS] if masked != text else []
    whole, joints = views(masked)
    found: list[tuple[int, int, int, str]] = []
    for view in whole:
        found += _in_original(view, _full_scan(view), marks)
    for view in joints:
        found += _in_original(view, _joined_scan(view), marks)
    return _merge(found)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """Give `text` with every secret replaced by `[secret removed: <kind>]`, and the kinds in order.

    `redact` of its own result changes nothing: it looks again until nothing is found, and a text in which
    each of `ROUNDS_MAX` looks finds something is replaced whole.
    """
    kinds: list[str] = []
    for _ in range(ROUNDS_MAX):
        findings = find_secrets(text)
        if not findings:
            return text, tuple(kinds)
        parts, done = [], 0
        for finding in findings:
            parts += [text[done : finding.start], f"[secret removed: {finding.kind}]"]
            done = finding.end
            kinds.append(finding.kind)
        text = "".join([*parts, text[done:]])
    return "[secret removed: unresolved]", (*kinds, "unresolved")
