# ruff: noqa: E501 - a pattern is one piece
"""Secrets that a sentence tells: "my password is ...", "... is my PIN", pairs and pass phrases (E-03)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from perdure.core.secret_rules_context import COPULA, GAP_STOPS, PHRASE_STOPS, PREDICATES, Noun
from perdure.core.secret_values import (
    MARK,
    TRAILING,
    is_code,
    is_hexlike,
    is_placeholder,
    looks_chosen,
    looks_random,
    names_place,
)

_COPULA = re.compile(COPULA)  # on lower-cased text: several times faster than folding while it searches
_GAP_STOP = re.compile(GAP_STOPS)
_SENTENCE_END = re.compile(r"[.;!?。！？\n](?:\s|$)|[。！？\n]")
_TOLD = re.compile(
    r"[\s:：,]{0,6}(?:\"(?P<double>[^\"\n]{3,200})\"|'(?P<single>[^'\n]{3,200})'|`(?P<tick>[^`\n]{3,200})`"
    r"|[“«„「『](?P<fancy>[^”»“」』\n]{3,200})[”»“」』]|\*{1,2}(?P<star>[^*\s]{3,200})\*{1,2}"
    r"|(?P<bare>[^\s\"'`“”«»„\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]{3,120}))"
)
_TOLD_DIRECTLY = re.compile(
    r"\s?[:=：]|\s(?!to\b|as\b|on\b|or\b|it\b|in\b|the\b|through\b)[^\s]", re.IGNORECASE
)
_TOLD_REACH = 64
_COPULAS_MAX = 3
_TOLD_CHARS_MIN = 4
_MINE = re.compile(
    r"(?:\b(?:my|our|your|his|her|their|root|admin|wifi|wi-fi|login|ssh|db|database|server|mein|unser|dein|mon|notre"
    r"|ma|mi|tu|nuestra|minha|nossa|mia|la mia|nostra|мой|наш|твой)\s+(?:\w+\s+)?|我的|我们的|私の)$",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[\"'`)]?(?:[.,;!]|\s*$|\s*\n|\s+(?:please|and|but|thanks|for|on|so|bitte|und|et|y|e|и)\b)"
)
_DIGITS = re.compile(r"\d{4,12}")
_LAST_WORD_REACH = 400
_QUOTE = re.compile(r"[\"'`]")

_AND = r"(?:and|und|et|y|e|и|&|/)"
_ARE = r"(?:is|are|was|were|lautet|lauten|sind|ist|est|sont|es|son|é|è|são|sono|это|:|=)"
_PAIR_BEFORE = re.compile(
    rf"(?:[^\W_]\s|[^\W_],\s){_AND}\s(?:the |my |our |its |das |die |mein |le |el |la )?\Z"
)
_PAIR = re.compile(
    rf"s?(?:\s(?:for|of|on|to)\s[^.;:!?\n]{{1,32}}?)?\s{{0,2}}{_ARE}:?\s{{1,3}}[\"'`]?(?P<one>[^\s\"'`,;]{{2,100}})[\"'`]?,?"
    rf"\s{_AND}\s(?P<quote>[\"'`]?)(?P<two>[^\s\"'`]{{4,200}})"
)
_PAIR_REACH = 24

_PHRASE_NOUN = re.compile(r"pass ?phrase|(?:парольная|кодовая) фраза|phrase secrète|パスフレーズ")
_PHRASE = re.compile(
    rf"(?:\s(?:for|of|on|to)\s[^.;:!?\n]{{1,40}}?)?\s{{0,2}}{_ARE}:?\s{{1,3}}[\"'`]?(?P<words>[^\W\d_]{{2,20}}(?:[ ]{{1,2}}[^\W\d_]{{2,20}}){{3,11}})(?![\w=:({{/-])"
)
_PHRASE_WORD = re.compile(r"[^\W\d_]+")
_PHRASE_WORDS_MIN = 4
_PASSIVE = re.compile(r"[a-z]{3,}(?:ed|ing|able|ible|ly)")


def find_told(text: str, lower: str, place: tuple[int, int], noun: Noun) -> tuple[int, int] | None:
    """Give the value that a sentence says is the secret: "my password for the box is ...".

    `place` is the start and end of the noun in `text`; `lower` is the lower-cased text, of the same length.
    """
    start, at = place
    if noun.trust == "weak" and text[at : at + 1] in {":", "="}:
        return None
    if noun.whole and noun.trust == "strong" and not _TOLD_DIRECTLY.match(text, at):
        return None
    end = _SENTENCE_END.search(text, at, at + _TOLD_REACH)
    stop = min(len(text), at + _TOLD_REACH if end is None else end.start())
    barred = stop
    for number, copula in enumerate(islice(_COPULA.finditer(lower, at, stop), _COPULAS_MAX)):
        if number == 0:
            barred = _barred_from(text, lower, at, stop)
        if copula.start() >= barred:
            return None
        match = _TOLD.match(text, copula.end())
        if match is None or match.lastgroup is None:
            continue
        first, last = match.span(match.lastgroup)
        last = first + len(text[first:last].rstrip(TRAILING)) if match.lastgroup == "bare" else last
        if _is_told(
            text, (start, copula.start() - at), (first, last), noun, quoted=match.lastgroup != "bare"
        ):
            return first, last
    return None


def _barred_from(text: str, lower: str, at: int, stop: int) -> int:
    """Give the place from which on "is" says something else: about a removed text, a policy, a store."""
    other = _GAP_STOP.search(lower, at, stop)
    mark = text.find(MARK, at, stop)
    return min(stop if other is None else other.end(), stop if mark < 0 else mark + 1)


def _is_told(text: str, near: tuple[int, int], span: tuple[int, int], noun: Noun, *, quoted: bool) -> bool:
    """Say whether the word after "is" is the secret itself and not something said about it."""
    value, (start, gap) = text[slice(*span)], near
    if not _may_be_told(text, span):
        return False
    if noun.trust == "weak":
        return looks_random(value, 20) and not re.fullmatch(r"[0-9a-f-]{7,64}", value)
    if noun.trust == "medium":
        return looks_random(value, 10) or is_hexlike(value)
    if noun.kind == "password" and _DIGITS.fullmatch(value):
        return gap < 24  # noqa: PLR2004 - a number far off is a count
    if looks_chosen(value):
        return True
    if noun.kind != "password":
        return False
    if quoted:
        return gap < 24 and " " not in value  # noqa: PLR2004
    mine = _MINE.search(text, max(0, start - 40), start) is not None
    return mine and gap < 3 and _is_plain_secret(text, span)  # noqa: PLR2004


def _may_be_told(text: str, span: tuple[int, int]) -> bool:
    """Say whether a word after "is" can be a value at all."""
    value = text[slice(*span)]
    return not (
        len(value) < _TOLD_CHARS_MIN
        or is_placeholder(value)
        or names_place(value)
        or value.lower() in PREDICATES
        or is_code(value, text[span[1] : span[1] + 1])
    )


def _is_plain_secret(text: str, span: tuple[int, int]) -> bool:
    """Say whether a plain word that ends its clause is rather a password than said about one."""
    value = text[slice(*span)]
    plain = re.fullmatch(r"[^\W\d_]{5,}", value) is not None and not re.search(
        r"(?:ed|ing|able|ible|al|ive)$", value
    )
    return plain and _CLAUSE_END.match(text, span[1]) is not None and value.islower()


def find_pair(text: str, lower: str, place: tuple[int, int], noun: Noun) -> tuple[int, int] | None:
    """Give the second value of "the PIN and the password are 1234 and ...", for the noun that stands second."""
    start, at = place
    if (
        not text[start - 1 : start].isspace()
        or noun.trust == "weak"
        or not _PAIR_BEFORE.search(lower[max(0, start - _PAIR_REACH) : start])
    ):
        return None
    match = _PAIR.match(lower, at)
    if match is None:
        return None
    first, last = match.span("two")
    span = first, first + len(text[first:last].rstrip(TRAILING))
    value = text[slice(*span)]
    if not _may_be_told(text, span):
        return None
    if noun.trust == "medium":
        return span if looks_random(value, 10) or is_hexlike(value) else None
    one = text[slice(*match.span("one"))]
    given = bool(match["quote"]) or _DIGITS.fullmatch(one) is not None or looks_chosen(one)
    told = looks_chosen(value) or _DIGITS.fullmatch(value) is not None
    return span if told or (given and (bool(match["quote"]) or _is_plain_secret(text, span))) else None


def find_phrase(lower: str, place: tuple[int, int]) -> tuple[int, int] | None:
    """Give the plain words that a sentence says are a pass phrase: four or more, up to the first small word.

    Words such as "in", "stored" or "required" speak about a pass phrase and are part of none.
    """
    if not _PHRASE_NOUN.match(lower, place[0]):
        return None
    match = _PHRASE.match(lower, place[1])
    if match is None or _GAP_STOP.search(lower, place[1], match.start("words")):
        return None
    first, end, count = match.start("words"), match.start("words"), 0
    for word in _PHRASE_WORD.finditer(lower, first, match.end("words")):
        if word.group() in PHRASE_STOPS or (count == 0 and _PASSIVE.fullmatch(word.group())):
            break
        end, count = word.end(), count + 1
    return (first, end) if count >= _PHRASE_WORDS_MIN else None


def find_told_before(text: str, places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Give the word that stands directly before each place ("... is my password")."""
    for at in places:
        left = text[max(0, at - _LAST_WORD_REACH) : at]
        words = left.rsplit(maxsplit=1)
        if not words or left[-1].isspace():
            continue
        end = at - (1 if _QUOTE.match(left, len(left) - 1) else 0)
        word = _QUOTE.split(words[-1][: len(words[-1]) - (at - end)])[-1]
        if len(word) >= _TOLD_CHARS_MIN and looks_chosen(word):
            yield end - len(word), end
