"""Words, stems, parts of compounds and character n-grams: what a search by words compares.

The same text always gives the same terms, in any alphabet. Width and case are folded, and accents are
taken off Latin, Greek and Cyrillic letters. Scripts that are written without spaces (Han, kana, Thai, Lao,
Khmer, Burmese) and Hangul give single characters and pairs. A name such as `C++`, `C#` or `F#` stays whole
and never becomes `c`. Emoji and other symbols are terms of their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

_JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003134f"
)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\x00-\x7f]+")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_ACCENTS = range(0x300, 0x370)
_WORD_CHARS_MAX = 64
"""A longer run is no word (a digest, Base64): its start stands for it."""

STOP = frozenset(
    "a an the and or but if of at by for with about to from in on off out over under then than so as "
    "is am are was were be been being do does did doing done have has had having will would shall should "
    "can could may might must i me my mine we us our ours you your yours he him his she her hers it its "
    "they them their theirs this that these those who whom whose which what when where why how there here "
    "not no nor any some all each both more most other such only own same too very just into up down again "
    "don't didn't doesn't isn't aren't wasn't won't".split()
)
"""English function words: articles, pronouns, auxiliaries, prepositions and question words."""


def _term(joined: str) -> re.Pattern[str]:
    """What a term is, where these characters are written without spaces."""
    return re.compile(
        (rf"(?P<joined>[{joined}]+)|" if joined else "(?P<joined>(?!))|")
        + rf"(?P<word>[^\W_{joined}](?:[^\W_{joined}]|[\u0300-\u036f])*"
        r"(?:['’](?:s|t|d|m|ll|re|ve)\b)?(?P<mark>\+{2}|\#)?(?![\w+#]))"
        rf"|(?P<cut>[^\W_{joined}]+)"
        r"|(?P<symbol>[\u2190-\u2bff\U0001f000-\U0001faff])"
    )


_ASCII_TERM, _ASCII_RUN = _term(""), re.compile(r"[^\W_]+")
"""The same for text in ASCII: compiling the large sets costs a cold command more than its search."""


@lru_cache(maxsize=1)
def _any_term() -> re.Pattern[str]:
    return _term(_JOINED)


@lru_cache(maxsize=1)
def _any_run() -> re.Pattern[str]:
    return re.compile(rf"[{_JOINED}]+|[^\W_{_JOINED}]+")


def _runs(folded: str) -> re.Pattern[str]:
    return _ASCII_RUN if folded.isascii() else _any_run()


def fold(text: str) -> str:
    """Fold width, compatibility forms, case and the accents U+0300 to U+036F."""
    return _plain(unicodedata.normalize("NFKC", text).casefold())


def terms(text: str, *, stop: frozenset[str] = STOP) -> list[str]:
    """The terms of a text in order: stems, compounds whole and in parts, characters and pairs, symbols."""
    return [term for _, term in spelt_terms(text, stop=stop)]


def spelt_terms(text: str, *, stop: frozenset[str] = STOP) -> list[tuple[str, str]]:
    """Terms as `terms` gives them, each after the word of the text that it comes from."""
    found: list[tuple[str, str]] = []
    plain = unicodedata.normalize("NFKC", text)
    for match in (_ASCII_TERM if plain.isascii() else _any_term()).finditer(plain):
        spelt = match.group()
        if match["joined"]:
            found += [(spelt, term) for term in _characters(fold(spelt))]
        elif match["symbol"]:
            found.append((spelt, spelt))
        else:
            found += [(spelt, term) for term in _word(spelt, stop, marked=bool(match["mark"]))]
    return found


def grams(text: str, *, stop: frozenset[str] = STOP) -> list[str]:
    """Character n-grams (3 and 4) inside words, each word between two spaces; function words left out."""
    found: list[str] = []
    folded = fold(text)
    for match in _runs(folded).finditer(folded):
        word = match.group()[:_WORD_CHARS_MAX]
        if word in stop:
            continue
        padded = f" {word} "
        for size in (3, 4):
            found += [padded[at : at + size] for at in range(len(padded) - size + 1)]
    return found


def content_words(text: str) -> list[str]:
    """Folded words without function words, each once, in order: what is compared word by word."""
    folded = fold(text)
    return list(dict.fromkeys(word for word in _runs(folded).findall(folded) if word not in STOP))


def named_terms(question: str) -> list[str]:
    """Folded words that a question spells as names: capitals inside it, or at least two in a word.

    The first word of a sentence has a capital anyway, and "I" is no name.
    """
    found: list[str] = []
    fresh = True
    for match in re.finditer(r"[^\W_][\w.+#-]*|[.?!:]", question):
        word = match.group()
        if word in ".?!:":
            fresh = True
            continue
        capitals = sum(char.isupper() for char in word)
        if capitals > 1 or (capitals and not fresh and word[0].isupper() and word != "I"):
            found += filter(None, re.split(r"[._-]+", fold(word)))
        fresh = word.endswith(".")
    return [word for word in dict.fromkeys(found) if word not in STOP]


def hard_terms(question: str) -> list[str]:
    """Terms of the words of a question that are names or hold a digit or a mark."""
    names = set(named_terms(question))
    return [
        term
        for word, term in spelt_terms(question)
        if not word.replace("'", "").replace("’", "").isalpha()
        or any(part in names for part in re.split(r"[._-]+", fold(word)))
    ]


def mostly_latin(text: str) -> bool:
    """Say whether at least half of the letters are Latin; also where there are none."""
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" or "\u1e00" <= char < "\u1f00" for char in letters)
    return 2 * latin >= len(letters)


@lru_cache(maxsize=16_384)
def reads_as_english(text: str) -> bool:
    """Say whether an English encoder can read a text: most letters are Latin, and there is something to read.

    What it cannot read becomes one unknown piece, and two unknown pieces look like the same word.
    """
    return mostly_latin(text) and any(char.isascii() and char.isalnum() for char in text)


def _plain(text: str) -> str:
    if text.isascii():
        return text
    flat = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(char for char in flat if ord(char) not in _ACCENTS))


def _characters(run: str) -> Sequence[str]:
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]


def _word(spelt: str, stop: frozenset[str], *, marked: bool) -> list[str]:
    straight = spelt.replace("’", "'")
    whole = fold(straight[:_WORD_CHARS_MAX])
    if marked:
        return [whole]
    whole = whole.removesuffix("'s")
    if whole in stop:
        return []
    found = [_stem(whole)]
    parts = _PARTS.findall(_plain(straight[:_WORD_CHARS_MAX])) if "'" not in straight else []
    if len(parts) > 1:
        found += [_stem(part) for part in map(str.casefold, parts) if part not in stop]
    return found


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Snowball's English stem (Porter 2), or its Russian one for Cyrillic letters."""
    english, russian = _stemmers()
    return russian(word) if _CYRILLIC.search(word) else english(word)


@lru_cache(maxsize=1)
def _stemmers() -> tuple[Callable[[str], str], Callable[[str], str]]:
    import Stemmer  # type: ignore[import-not-found] # compiled, without types

    return Stemmer.Stemmer("english", 0).stemWord, Stemmer.Stemmer("russian", 0).stemWord
