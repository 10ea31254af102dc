# ruff: noqa: E501 - a pattern is one piece
"""Secrets by what they are called: assignments in any notation (E-03)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.core.secret_rules_context import (
    NOT_SECRET_PARTS,
    NOUNS,
    OWNER_PARTS,
    SECRET_ID_PARTS,
    Noun,
)
from perdure.core.secret_sentences import find_pair, find_phrase, find_told
from perdure.core.secret_values import (
    TRAILING,
    is_code,
    is_hexlike,
    is_placeholder,
    is_wordlike,
    looks_chosen,
    looks_random,
    names_place,
)

_NAME_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_NAME_REACH = 64
_NAME_TAIL_REACH = 48
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_Q = r"[\"'`\])*_]{0,4}"
_TAG_OPENS = re.compile(r"<(?:[\w-]{1,18}:)?\Z")
_TAG = re.compile(r"(?:\s[^<>\n]{0,80})?>(?:\s{0,40}<!\[CDATA\[)?")
_SEPARATOR = re.compile(
    r"[\"']\s{0,8}(?:value|content)\s?=\s?"
    r"|[\"']?\s{0,4},?\s{1,24}[\"']?(?:value|val)[\"']?\s{0,4}[:=]\s{0,4}"
    r"|[\"']\s{0,4},\s{0,20}[\"']?(?:value|val|default)[\"']?\s{0,4}[:=]\s{0,4}"
    r"|(?P<plist></(?:key|name)>\s{0,40}<(?:string|value|data)>)"
    r"|[\"']\s{0,4}\{[^{}]{0,120}?default\s{0,4}=\s{0,4}"
    r"|[\"']\s{0,4},\s{0,4}(?=[\"'])"
    r"|" + _Q + r"[ \t]{0,4}:[ \t]{0,4}[|>][-+]?[ \t]{0,4}\n[ \t]{1,20}"
    r"|(?P<compare>" + _Q + r"[ \t]{0,4}[=!]={1,2})[ \t]{0,4}"
    r"|(?P<typed>" + _Q + r":[ \t]{0,4}[A-Za-z_&][\w.\[\]|<>? ]{0,30}?[ \t]{0,2}=)[ \t]{0,4}"
    r"|(?P<tight>[\"'\]]?=)(?=[^\s=>])"
    r"|(?P<plain>" + _Q + r"[ \t]{0,20}(?:=>|:=|->|\?=|\+=|=|::?)" + _Q + r")[ \t]{0,20}"
    r"|(?P<table>[ \t]{0,20}\|)[ \t]{0,20}"
)
_VALUE = re.compile(
    r"(?:[rbfuRBFU$@]{1,2}(?=[\"']))?(?:\"(?P<double>(?:[^\"\\\n]|\\.){0,1000})\"|'(?P<single>(?:[^'\\\n]|\\.){0,1000})'"
    r"|`(?P<tick>[^`\n]{0,1000})`|[\"'`]?(?P<bare>[^\s\"'`]{1,400}))"
)
_NEXT_PAIR = re.compile(
    r";(?=\s*[A-Za-z][\w .-]{0,40}=|$)|[&,](?=\s*[\"']?[A-Za-z][\w.-]{0,40}[\"']?\s*[:=])|</|&amp;"
)
_REST_OF_LINE = re.compile(r"[ \t\"'`,;)\]}>*]{0,8}(?:(?:#|//|--|/\*|<!--)[^\n]*)?(?:\r?\n|$)")
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_SENTENCE = re.compile(r"[a-z' ,.!?]{4,}", re.IGNORECASE)
_TYPE_NAME = re.compile(r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,})+")
_UI_WORDS = frozenset(
    """a an the your is are must enter password passwort please or to of for with too short long invalid wrong required
    reset change forgot incorrect new old confirm repeat and not no at in on do does was be it show hide your""".split()
)
_ELEMENT_CHARS_MAX = 2000
_BARE_AFTER = re.compile(r"[ \t]{1,4}[\"'`]?([^\s\"'`]{6,300})")
_NOUN_WORDS = frozenset(word for noun in NOUNS for word in noun.words)
_SHORT_CHARS = 1_000
_SHORTEST = {"strong": 3, "medium": 8, "weak": 20}


def occurs(literal: str, lower: str, lexicon: str) -> bool:
    """Say whether a literal is in a text; `lexicon` holds each of its words once, and is searched first where
    the text is long.
    """
    if len(lower) < _SHORT_CHARS:
        return literal in lower
    return all(part in lexicon for part in literal.split()) and literal in lower


def find_named(text: str, lower: str, lexicon: str) -> Iterator[tuple[int, int, str]]:
    """Give the spans (start, end, kind) of values that their name or their sentence calls a secret.

    `lower` is the lower-cased text, of the same length, and `lexicon` its distinct words.
    """
    plain = text.isascii()
    for noun in NOUNS:
        for word in noun.words:
            if (plain and not word.isascii()) or not occurs(word, lower, lexicon):
                continue
            at, done = lower.find(word), 0
            while at >= 0:
                end = at + len(word)
                if at >= done and (not noun.whole or _stands_whole(text, at, end)):
                    for found in _near(text, lower, (at, end), noun):
                        done = max(done, found[1])
                        yield found
                at = lower.find(word, max(end, done))


def _stands_whole(text: str, start: int, end: int) -> bool:
    """Say whether a word is not a mere piece of a longer one (`pass` in `compass`)."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    left = not before.isalpha() or (before.islower() and text[start].isupper()) or not before.isascii()
    right = not after.isalpha() or (after.isupper() and text[end - 1].islower()) or not after.isascii()
    return left and right


def _near(text: str, lower: str, place: tuple[int, int], noun: Noun) -> Iterator[tuple[int, int, str]]:
    """Give the values that belong to a noun: assigned, an option, bare after it, or told in its sentence."""
    start, end = place
    head = tail = ""
    if text[start - 1 : start] in _NAME_CHARS:
        window = text[max(0, start - _NAME_REACH) : start]
        head = window[len(window.rstrip(_NAME_CHARS)) :]
    if text[end : end + 1] in _NAME_CHARS:
        tail = text[end : end + _NAME_TAIL_REACH]
        tail = tail[: len(tail) - len(tail.lstrip(_NAME_CHARS))].rstrip(".-")
    name_end, name = end + len(tail), head + text[start:end] + tail
    if (head or tail) and _is_about(head, tail, name):
        return
    spans = [_assigned(text, start - len(head), name_end, name, noun)]
    if spans[0] is None:
        spans = [_after_space(text, name_end, name, noun)]
    if name_end - end <= 1:
        if spans[0] is None:
            spans = [find_told(text, lower, (start, name_end), noun)]
        spans += [find_phrase(lower, (start, name_end)), find_pair(text, lower, (start, name_end), noun)]
    yield from ((*span, noun.kind) for span in spans if span is not None)


def _is_about(head: str, tail: str, name: str) -> bool:
    """Say whether an identifier speaks about a secret (its length, place, policy) instead of being one."""
    if name.lower().strip("-.").replace("-", "_") in SECRET_ID_PARTS or name.lower().endswith("secret_id"):
        return False
    parts = [part.lower() for part in _PARTS.findall(tail)]
    if parts and (parts[0] in NOT_SECRET_PARTS or parts[-1] in NOT_SECRET_PARTS):
        return True
    if tail[:1].islower() and tail[:1] != "s" and tail.isalpha() and tail.lower() not in {"e", "en", "n"}:
        return True
    before = [part.lower() for part in _PARTS.findall(head)]
    return bool(before) and before[-1] in NOT_SECRET_PARTS - OWNER_PARTS


def _assigned(text: str, name_start: int, at: int, name: str, noun: Noun) -> tuple[int, int] | None:
    """Give the span of a value assigned to a name in code, configuration, a URL query, a table or markup."""
    opens = _TAG_OPENS.search(text[max(0, name_start - 20) : name_start])
    tag = None if opens is None else _TAG.match(text, at)
    if tag is not None:
        return _element(text, tag.end(), "]]>" if tag.group().endswith("[") else "<", noun)
    separator = _SEPARATOR.match(text, at)
    if separator is None:
        return None
    kind = separator.lastgroup
    if kind == "plist":
        return _element(text, separator.end(), "<", noun)
    match = _VALUE.match(text, separator.end())
    if match is None or match.lastgroup is None:
        return None
    start, end = match.span(match.lastgroup)
    if match.lastgroup != "bare":
        return (start, end) if _fits(text[start:end], noun) else None
    if kind == "compare":
        return None
    end = _bare_end(text, start, end)
    tight = kind == "tight"
    return (start, end) if start < end and _fits_bare(text, (start, end), name, noun, tight=tight) else None


def _element(text: str, start: int, close: str, noun: Noun) -> tuple[int, int] | None:
    """Give the span of the text of a markup element, without white space around it."""
    end = text.find(close, start, start + _ELEMENT_CHARS_MAX)
    if end < 0:
        return None
    value = text[start:end]
    start += len(value) - len(value.lstrip())
    value = value.strip()
    return (start, start + len(value)) if value and _fits(value, noun) else None


def _bare_end(text: str, start: int, end: int) -> int:
    """Cut an unquoted value where the next pair begins, and take closing punctuation off."""
    cut = _NEXT_PAIR.search(text, start, end)
    if cut is not None:
        end = cut.start()
    return start + len(text[start:end].rstrip(TRAILING))


def _fits(value: str, noun: Noun) -> bool:
    """Say whether a quoted value is a secret of this noun."""
    if len(value) < _SHORTEST[noun.trust] or is_placeholder(value) or value.lower() in _NOUN_WORDS:
        return False
    if is_code(value, "") or names_place(value):
        return False
    if " " in value.strip():
        words = set(re.findall(r"[a-z]+", value.lower()))
        sentence = _SENTENCE.fullmatch(value) is not None and bool(words & _UI_WORDS)
        return noun.trust == "strong" and not sentence and len(value) < 120 and not value[:1].isspace()  # noqa: PLR2004
    if noun.trust == "strong":
        return True
    if noun.trust == "medium":
        return not is_wordlike(value) or looks_random(value, 8) or re.fullmatch(r"\d{8,}", value) is not None
    return looks_random(value, 20) and not re.fullmatch(r"[0-9a-f-]{20,64}", value)


def _fits_bare(text: str, span: tuple[int, int], name: str, noun: Noun, *, tight: bool) -> bool:
    """Say whether an unquoted value is a secret of this noun; `tight`: written `name=value`."""
    value, after = text[slice(*span)], text[span[1] : span[1] + 2]
    if len(value) < _SHORTEST[noun.trust] or is_placeholder(value) or is_code(value, after) or "://" in value:
        return False
    if _TYPE_NAME.fullmatch(value):
        return False
    if noun.trust == "strong" and looks_chosen(value):
        return True
    alone = _REST_OF_LINE.match(text, span[1]) is not None
    if noun.trust == "strong":
        if re.fullmatch(r"\d{4,}", value):
            return tight or alone
        if tight and (
            _ENV_NAME.fullmatch(name.strip("-.")) or "-" in name or text[span[1] : span[1] + 1] in {";", "&"}
        ):
            return True
        plain = re.fullmatch(r"[^\W\d_A-Z]{5,}", value) is not None
        return (alone and plain and not tight and text[span[0] - 2 : span[0]] == ": ") or looks_random(
            value, 8
        )
    if noun.trust == "medium":
        return (
            looks_random(value, 10)
            or (tight and not is_wordlike(value))
            or is_hexlike(value)
            or _mixed_in(value)
        )
    return looks_random(value, 20) and not re.fullmatch(r"[0-9a-f-]{7,64}", value)


def _mixed_in(value: str) -> bool:
    """Say whether a longer value has digits and letters mixed as no name has."""
    return len(value) > 9 and looks_chosen(value) and not is_wordlike(value)  # noqa: PLR2004 - a name may be shorter


def _after_space(text: str, at: int, name: str, noun: Noun) -> tuple[int, int] | None:
    """Give the value of an option (`--password x`), or a plainly random one that stands right after its name."""
    match = _BARE_AFTER.match(text, at)
    if match is None:
        return None
    first, last = match.span(1)
    last = _bare_end(text, first, last)
    value = text[first:last]
    if len(value) < 4 or is_placeholder(value) or is_code(value, text[last : last + 1]) or "://" in value:  # noqa: PLR2004
        return None
    if name.startswith(("--", "-p")):
        named = noun.trust == "strong" and not value.startswith("-")
        return (first, last) if named or looks_random(value, 8) else None
    if noun.trust == "strong" and looks_chosen(value) and len(value) > 7 and not is_wordlike(value):  # noqa: PLR2004
        return first, last
    if noun.trust == "medium" and _ENV_NAME.fullmatch(name) and "_" in name and _mixed_in(value):
        return first, last
    if noun.trust == "medium" and (looks_random(value, 16) or (len(value) > 15 and is_hexlike(value))):  # noqa: PLR2004
        return first, last
    if noun.trust == "weak" and looks_random(value, 20) and not re.fullmatch(r"[0-9a-f-]{7,64}", value):
        return first, last
    return None
