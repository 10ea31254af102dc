"""Signs that an entry does not answer a question, however alike the two are: what is asked for is not in it.

Two near facts have most of their words in common, and a vector hardly tells them apart: "port 8081" is like
"port 8080", and "who set up the queue?" is like a fact about the queue. Each sign is 0 where there is no such
doubt and 1 where there is; how much it counts is learned (`recall.calibrate`). Kinds of answers are read from
English questions; a question in another language raises no doubt of that kind.
"""

from __future__ import annotations

import re
from itertools import pairwise

from perdure.recall.tokens import content_words

_ASKS_NUMBER = (
    r"(?i)\bhow (?:many|much|long|often|big|large|small|far|old|tall|high|fast|heavy|wide|deep|soon)\b"
)
_TELLS_NUMBER = (
    r"(?i)\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|half|"
    r"third|quarter|once|twice|every|each|hourly|nightly|daily|weekly|monthly|yearly|never|always|none|no|all|"
    r"unlimited|forever)\b"
)
_BEFORE = r"(?i)(?:^|[.,:;!?] )\W*(?:(?:and|so|but|from|to|by|for|with|at|on|in|since|until|of) )?"
"""A question word counts where a question begins: "how can I tell who did it?" does not ask for a person."""
_ASKS_PERSON = _BEFORE + r"(?:who|whom|whose)\b"
_TELLS_PERSON = (
    r"@|\b[A-Z][a-z]+\b|\b(?i:teams?|owner|owned|lead|maintainers?|reviewers?|everyone|everybody|nobody|anyone|"
    r"user|me|we|she|he|they|engineers?|developers?|on-call|admins?|by)\b"
)
_ASKS_TIME = _BEFORE + r"(?:when|(?:what|which) (?:time|day|date|week|month|year)s?)\b"
_TELLS_TIME = (
    r"(?i)\d|\b(?:after|before|until|when|whenever|once|if|every|on|at|during|hourly|nightly|daily|weekly|monthly|"
    r"yearly|never|always|morning|noon|evening|night|midnight|weeks?|months?|years?|\w*days?|january|february|"
    r"march|april|may|june|july|august|september|october|november|december)\b"
)
_KINDS = ((_ASKS_NUMBER, _TELLS_NUMBER), (_ASKS_PERSON, _TELLS_PERSON), (_ASKS_TIME, _TELLS_TIME))
"""Patterns; `re` compiles each for the first question that needs it."""


def doubts(question: str, told: str) -> dict[str, float]:
    """Give all signs by name: "digits" and "kind"."""
    return {"digits": float(has_other_number(question, told)), "kind": float(lacks_kind(question, told))}


def has_other_number(question: str, told: str) -> bool:
    """Say whether the question names a thing by a number where the entry has another one.

    That is a number behind a word that the entry holds ("port 8081", where it tells of port 8080), or a word
    that differs in its digits alone ("http3", "http2"). A number that is merely mentioned ("it gave a 500")
    is no name of a thing in the entry.
    """
    words = content_words(question)
    held = set(content_words(told))
    other = {_shape(word) for word in held.difference(words) if _has_digit(word)}
    return any(
        word not in held
        and _has_digit(word)
        and _shape(word) in other
        and (before in held or not word.isdigit())
        for before, word in pairwise(["", *words])
    )


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _shape(word: str) -> str:
    """A word without its digits: what two numbers, or two names that differ in a number, have in common."""
    return re.sub(r"\d+", "0", word)


def lacks_kind(question: str, told: str) -> bool:
    """Say whether the question asks for a number, a person or a time, and an entry tells none."""
    return any(re.search(asks, question) and not re.search(tells, told) for asks, tells in _KINDS)
