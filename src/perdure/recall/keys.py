"""Finding entries by key: exactly, and by a key that is misspelt, incomplete, or named within a question.

Keys are compared by the one key rule (M-15, `core.text.normalize_key`). What a question may do:

- **exact**: the whole question is the key. It decides.
- **misspelt**: the whole question is the key but for one edit (two from ten characters on; a swap of
  neighbours is one edit). It decides only if no other key is as near, if the digits are the same, and if no
  word of the question that the key lacks is a word of another key, or an ordinary word that means another
  thing: "code version" is not a misspelt "node version". An inflection ("commands") means the same.
- **partial**: each word of the question stands in the key. It never decides.
- **named**: the key stands in a longer question, as whole words. It never decides, however common or short
  the key is: a longer question asks for more than its key says, and other searches weigh it against that.

Candidates come from an inverted list of character 2-grams and 3-grams, rarest first and up to a bounded
number of postings; edits are then counted exactly. Without NumPy, so that a command can use it at once.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from operator import itemgetter
from typing import Literal

import msgspec

from perdure.core.text import KEY_CHARS_MAX, normalize_key
from perdure.recall.tokens import terms

Way = Literal["exact", "misspelt", "partial", "named"]

POSTINGS_MAX = 3_000
"""Postings looked at per question, at least those of its rarest gram: bounds the time, at any size."""
COUNTED = 24
"""Keys with the most grams in common whose likeness is then worked out; the best are compared in full:"""
CANDIDATES = 8
NEAR_CHARS_MIN = 5
"""Shorter keys have no misspellings: too many words are one edit apart."""
TWO_EDITS_CHARS_MIN = 10
EDITS_MAX = 2
NAMED_WORDS_MAX = 12
RUN_CHARS_MAX = 24

_EDGES = " \t\n?!.,;:\"'`()[]{}<>«»“”„‘’‚‹›¿¡。、,！？：；「」『』（）…"
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]{2,}"
)
"""A run of a script without spaces; compiled for the first question that is not ASCII."""
_RANK: dict[Way, int] = {"exact": 0, "misspelt": 1, "partial": 2, "named": 3}


class KeyMatch(msgspec.Struct, frozen=True):
    """One entry whose key the question means or may mean.

    `share` is what question and key have in common, 0 to 1 (cosine of their grams, rare ones weighing more);
    `decides`: this entry answers, whatever other searches say.
    """

    doc_id: str
    key: str
    """As it is spelt."""
    scope: int
    way: Way
    edits: int
    share: float
    decides: bool


class _Keyed(msgspec.Struct, frozen=True):
    spelling: str
    name: str
    scope: int


def bare(question: str) -> str:
    """Give a question in the compared form of a key, without quotes and punctuation around it."""
    return normalize_key(question).strip(_EDGES)


def grams(text: str, sizes: Iterable[int] = (2, 3)) -> list[str]:
    """Give the character n-grams of a text, with a mark at each of its ends, in order and with repeats."""
    marked = f"\x02{text}\x03"
    return [marked[at : at + size] for size in sizes for at in range(len(marked) - size + 1)]


def words_of(name: str) -> list[str]:
    """Give the words of a folded text, without punctuation around them; "c++" and "3.11" are words."""
    return [word.strip(_EDGES) or word for word in name.split()]


def edits_between(one: str, other: str, limit: int = EDITS_MAX) -> int:
    """Count the edits from one text to the other, or give `limit + 1` when there are more than `limit`.

    An edit inserts, deletes or replaces a character, or swaps neighbours that are edited no further (optimal
    string alignment). Only the band of `limit` around the diagonal is looked at (Ukkonen 1985).
    """
    over = limit + 1
    if abs(len(one) - len(other)) > limit:
        return over
    width = len(other) + 1
    before = [over] * width
    row = [min(at, over) for at in range(width)]
    for i, char in enumerate(one, start=1):
        first, last = max(1, i - limit), min(len(other), i + limit)
        fresh = [over] * width
        fresh[0] = min(i, over)
        for j in range(first, last + 1):
            best = min(row[j] + 1, fresh[j - 1] + 1, row[j - 1] + (char != other[j - 1]))
            if i > 1 and j > 1 and char == other[j - 2] and one[i - 2] == other[j - 1]:
                best = min(best, before[j - 2] + 1)
            fresh[j] = best
        if min(fresh) > limit:
            return over
        before, row = row, fresh
    return min(row[-1], over)


class KeyIndex:
    """Keys of entries. The order of scopes is the caller's: a lower number comes first among equals (R-06).

    Adding and removing cost one dictionary entry each; what only nearness needs is made at the first question
    that is no key, and kept up after that.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Keyed] = {}
        self._holders: dict[str, dict[str, None]] = {}
        """Ids of the entries of a key, in its compared form."""
        self._waiting: dict[str, None] = {}
        """Keys that are not in the lists yet."""
        self._slots: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next_slot = 0
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        """Slots of the keys that hold a gram, ascending."""
        self._words: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, doc_id: str, key: str, *, scope: int = 0) -> None:
        """Add an entry; one that is there under the same id is replaced."""
        self.remove(doc_id)
        name = normalize_key(key)
        self._entries[doc_id] = _Keyed(key, name, scope)
        holders = self._holders.setdefault(name, {})
        if not holders:
            self._waiting[name] = None
        holders[doc_id] = None

    def remove(self, doc_id: str) -> bool:
        """Take an entry out; False when it is not there."""
        entry = self._entries.pop(doc_id, None)
        if entry is None:
            return False
        holders = self._holders[entry.name]
        del holders[doc_id]
        if not holders:
            del self._holders[entry.name]
            self._forget_grams(entry.name)
        return True

    def holders(self, key: str) -> tuple[str, ...]:
        """Give the ids of the entries of a key, in the order of scopes."""
        name = normalize_key(key)
        found = sorted(self._matches(name, "exact", edits=0, share=1.0, decides=True), key=_order)
        return tuple(match.doc_id for match in found)

    def exact(self, question: str) -> tuple[KeyMatch, ...]:
        """Give the entries whose key is the question, in the order of scopes (R-01).

        The question is compared as it is and, if that is no key, without quotes and punctuation around it.
        """
        name = normalize_key(question)
        if name not in self._holders:
            name = bare(question)
        return tuple(sorted(self._matches(name, "exact", edits=0, share=1.0, decides=True), key=_order))

    def find(
        self, question: str, *, limit: int = CANDIDATES, is_word: Callable[[str], bool] | None = None
    ) -> tuple[KeyMatch, ...]:
        """Give the entries whose key the question is or may mean: exact, misspelt, partial, then named ones.

        Exact matches stand alone. Within a way, fewer edits and a larger share come first, then the order of
        scopes. `is_word` says of a folded word whether it is an ordinary one, and so no misspelling.
        """
        found = self.exact(question)
        name = bare(question)
        if found or not name:
            return found[:limit]
        near = self._candidates(name) if len(name) <= KEY_CHARS_MAX + EDITS_MAX else []
        misspelt = _misspellings(name, near)
        meant = self._meant(name, misspelt, is_word)
        ways: dict[str, Way] = dict.fromkeys(self._named(name), "named")
        ways |= dict.fromkeys((each for each in near if _is_part(name, each)), "partial")
        ways |= dict.fromkeys(misspelt, "misspelt")
        matches = [
            match
            for each, way in ways.items()
            for match in self._matches(
                each,
                way,
                edits=misspelt.get(each, 0),
                share=self._share(name, each),
                decides=each == meant,
            )
        ]
        return tuple(sorted(matches, key=_order)[:limit])

    def _matches(self, name: str, way: Way, *, edits: int, share: float, decides: bool) -> Iterator[KeyMatch]:
        for doc_id in self._holders.get(name, ()):
            entry = self._entries[doc_id]
            yield KeyMatch(
                doc_id=doc_id,
                key=entry.spelling,
                scope=entry.scope,
                way=way,
                edits=edits,
                share=share,
                decides=decides,
            )

    def _meant(
        self, name: str, misspelt: dict[str, int], is_word: Callable[[str], bool] | None
    ) -> str | None:
        """Give the one key that the question can only be a misspelling of, if there is one."""
        fewest = min(misspelt.values(), default=0)
        nearest = [each for each, edits in misspelt.items() if edits == fewest]
        if len(nearest) != 1:
            return None
        key = nearest[0]
        strange = set(name.split()) - set(key.split())
        if any(self._words[word] for word in strange) or _DIGITS.findall(name) != _DIGITS.findall(key):
            return None
        if is_word is not None and any(map(is_word, _foreign(strange, key))):
            return None
        return key

    def _named(self, name: str) -> Iterator[str]:
        """Keys that stand in a question as whole words, or in a run of a script without spaces."""
        words = words_of(name)
        for at in range(len(words)):
            for end in range(at + 1, min(len(words), at + NAMED_WORDS_MAX) + 1):
                key = " ".join(words[at:end])
                if key in self._holders:
                    yield key
        for run in [] if name.isascii() else re.findall(_UNSPACED, name):
            for at in range(len(run)):
                for end in range(at + 2, min(len(run), at + RUN_CHARS_MAX) + 1):
                    if run[at:end] in self._holders:
                        yield run[at:end]

    def _forget_grams(self, name: str) -> None:
        """Take a key out of the lists."""
        if name in self._waiting:
            del self._waiting[name]
            return
        slot = self._slots.pop(name)
        del self._names[slot]
        self._words.subtract(set(name.split()))
        for gram in set(grams(name)):
            slots = self._postings[gram]
            del slots[bisect_left(slots, slot)]
            if not slots:
                del self._postings[gram]

    def _catch_up(self) -> None:
        """Put the keys that wait into the lists."""
        for name in self._waiting:
            slot = self._next_slot
            self._next_slot += 1
            self._slots[name] = slot
            self._names[slot] = name
            self._words.update(set(name.split()))
            for gram in set(grams(name)):
                self._postings[gram].append(slot)
        self._waiting = {}

    def _candidates(self, name: str) -> list[str]:
        """Give the keys that are most like the question: by grams counted, then by their share."""
        self._catch_up()
        known = [gram for gram in set(grams(name)) if gram in self._postings]
        known.sort(key=lambda gram: (len(self._postings[gram]), gram))
        counts: Counter[int] = Counter()
        seen = 0
        for gram in known:
            slots = self._postings[gram]
            seen += len(slots)
            if seen > POSTINGS_MAX and counts:
                break
            counts.update(slots)
        counted = (self._names[slot] for slot, _ in nlargest(COUNTED, counts.items(), key=itemgetter(1)))
        weights = {gram: self._weight(gram) for gram in known}

        def likeness(key: str) -> float:
            its = set(grams(key))
            return sum(weights[gram] for gram in its & weights.keys()) / math.sqrt(len(its))

        return nlargest(CANDIDATES, counted, key=likeness)

    def _weight(self, gram: str) -> float:
        """The square of the inverse document frequency of a gram."""
        return math.log(1 + len(self._names) / max(1, len(self._postings.get(gram, ())))) ** 2

    def _share(self, one: str, other: str) -> float:
        """The cosine of the grams of two texts."""
        self._catch_up()
        mine, its = set(grams(one)), set(grams(other))
        shared, whole, key = (sum(map(self._weight, each)) for each in (mine & its, mine, its))
        return shared / math.sqrt(whole * key)


def _misspellings(name: str, keys: Iterable[str]) -> dict[str, int]:
    """Give the keys that are few enough edits away, with their edits."""
    counted = {key: edits_between(name, key) for key in keys}
    return {key: edits for key, edits in counted.items() if edits <= _edits_allowed(min(len(name), len(key)))}


def _foreign(words: Iterable[str], key: str) -> Iterator[str]:
    """Give the parts of words, letters only, that are not a word of the key in another inflection."""
    stems = set(terms(key, stop=frozenset()))
    for word in words:
        for part in _LETTERS.findall(word):
            if stems.isdisjoint(terms(part, stop=frozenset())):
                yield part


def _edits_allowed(chars: int) -> int:
    if chars < NEAR_CHARS_MIN:
        return 0
    return 1 if chars < TWO_EDITS_CHARS_MIN else EDITS_MAX


def _is_part(name: str, key: str) -> bool:
    """Say whether all words of the question stand in a key, or the question does in one without spaces."""
    if set(name.split()) < set(key.split()):
        return True
    return not name.isascii() and name in key and re.fullmatch(_UNSPACED, name) is not None


def _order(match: KeyMatch) -> tuple[int, int, float, int]:
    return _RANK[match.way], match.edits, -round(match.share, 9), match.scope
