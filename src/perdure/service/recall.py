"""Recall from memory: what is on disk now is searched, and entries are given with the reason for each (R-04).

The project's active branch and the user-wide one are searched together: quality decides first, and of
entries that are equally good the project's come first (R-06).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import TypeVar

import msgspec

from perdure.core.admission import Revision
from perdure.core.memory import MAIN, Branch, Entry, entry_digest, main_branch_id
from perdure.core.text import clean_evidence_text
from perdure.errors import (
    Ambiguous,
    ConfigError,
    Damaged,
    NewerVersion,
    NotFound,
    ProviderUnavailable,
    UsageError,
)
from perdure.ports.clock import Clock
from perdure.ports.index import BranchPart, FeatureIndex
from perdure.ports.memory import Memory
from perdure.recall.bearing import bearing
from perdure.recall.engine import Encoder, search
from perdure.recall.found import QUESTION_CHARS_MAX, Document, Hit, Mode
from perdure.service.facts import present_branch, row_named
from perdure.service.recall_corpus import FollowingCorpus, PartDocuments, version_of
from perdure.service.recall_features import ENCODING_SECONDS_MAX, Featuring
from perdure.service.recalled import Provenance, Recalled, RecalledEntry

USER_SCOPE = "user"
REVISIONS_READ_MAX = 500
"""How far back provenance is looked for."""
_PIECES_MAX = 6
_PIECE_CHARS_MAX = 400
_PROMPT_CHARS_MAX = 20_000
"""The last pieces are looked for in so much of a prompt."""
_KNOWN_MAX = 2_000
_PIECE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_ENCODING = frozenset({"fused", "semantic"})

T = TypeVar("T")


class _Place(msgspec.Struct, frozen=True):
    """One branch that is searched; `place` is its scope's rank."""

    place: int
    scope: str
    branch: Branch


class RecallService:
    """Questions to the memory of a project. Keep one in a resident process: it answers warm.

    `resident` answers encode no entry. One that is new is found by its words and counted in `pending`, until
    `catch_up`, which the process calls when it is idle, has encoded it.
    """

    def __init__(
        self,
        memory: Memory,
        index: FeatureIndex,
        clock: Clock,
        *,
        encoder: Callable[[], Encoder | None],
        is_word: Callable[[str], bool] | None = None,
        resident: bool = False,
    ) -> None:
        self._memory, self._index, self._clock, self._encoder = memory, index, clock, encoder
        self._is_word = is_word
        self.resident = resident
        self._warm: dict[tuple[str, ...], FollowingCorpus] = {}
        self._provenance: dict[tuple[str, str, str], Provenance] = {}

    def recall(
        self,
        project: str,
        question: str,
        *,
        limit: int = 5,
        mode: Mode = "fused",
        kind: str | None = None,
        branch_id: str | None = None,
        explain: bool = False,
    ) -> Recalled:
        """Up to `limit` entries that answer, best first; none when nothing stored does (R-05).

        With `explain` the reasons hold what the holographic search says, too.

        Raises UsageError for an empty or endless question and for what can be no kind, ConfigError for mode
        "semantic" without an encoder, ProviderUnavailable for one that does not answer then, NotFound and
        Damaged for a branch that was named and is not there or cannot be read.
        """
        asked = checked_question(question)
        places, problems = self._places(project, branch_id)
        kinds = _checked_kinds(places, kind)

        def ask(encoder: Encoder | None, way: Mode = mode) -> Recalled:
            warm, pending = self._brought_up(places, encoder)
            answer = search(
                warm.corpus,
                asked,
                mode=way,
                limit=limit,
                encoder=encoder,
                accept=_of_kind(kind),
                explain=explain,
                is_word=self._is_word,
            )
            return Recalled(
                entries=self._entries(places, answer.hits),
                nearest=self._entries(places, answer.nearest),
                searches=answer.searches,
                encoder=encoder.name if encoder is not None else None,
                pending=pending,
                problems=problems,
                kinds=kinds,
            )

        if mode not in _ENCODING:
            return ask(None)
        if mode == "semantic":
            encoder = self._encoder()
            if encoder is None:
                msg = "searching by meaning needs an encoder, and there is none."
                raise ConfigError(msg, advice="Set recall.encoder, or leave --mode out.")
            return ask(encoder)
        if ask(None, "exact").entries:  # a key decides: no model is loaded or asked for what stands behind it
            return ask(None)
        found, problem = with_encoder(self._encoder, ask)
        return msgspec.structs.replace(found, problems=(*found.problems, *problem))

    def relevance(
        self, branches: tuple[Branch, ...], prompt: str, *, by_words: bool = False
    ) -> Mapping[str, float]:
        """How much each entry of these branches bears on a prompt: entry id -> 0 to 1; 0 where it is missing.

        A long prompt is asked piece by piece, its last pieces, and the best piece counts. `by_words` asks no
        encoder and takes less than a millisecond for what a block has to choose from.
        """
        places = tuple(_Place(place, branch.project, branch) for place, branch in enumerate(branches))
        if by_words:
            near = bearing(self._brought_up(places, None)[0].corpus, pieces_of(prompt))
            return {_entry_id(doc_id): chance for doc_id, chance in near.items()}

        def ask(encoder: Encoder | None) -> dict[str, float]:
            warm, _ = self._brought_up(places, encoder)
            most = len(warm.corpus) or 1
            found: dict[str, float] = {}
            for piece in pieces_of(prompt):
                answer = search(warm.corpus, piece, mode="fused", limit=most, encoder=encoder)
                for hit in (*answer.hits, *answer.nearest):
                    entry_id = _entry_id(hit.doc_id)
                    found[entry_id] = max(found.get(entry_id, 0.0), hit.score)
            return found

        return with_encoder(self._encoder, ask)[0]

    def catch_up(self, project: str, budget_ms: int, *, branch_id: str | None = None) -> int:
        """Encode what is new for about this long, at least one entry, and put it into the index.

        Returns how many entries are still searched by their words alone; 0 where no encoder works. Raises
        NotFound and Damaged for a branch that was named, as `recall` does.
        """
        places, _ = self._places(project, branch_id)

        def encode(encoder: Encoder | None) -> int:
            if encoder is None:
                return 0
            return self._brought_up(places, encoder, seconds=max(budget_ms, 1) / 1_000)[1]

        return with_encoder(self._encoder, encode)[0]

    def prune(self, scope: str) -> None:
        """Take out of the index what belongs to no entry of the scope's branches any more."""
        rows = self._memory.branches(scope)
        there = {row.branch_id for row in rows}
        for part in self._index.branches(scope):
            if part.branch_id not in there:
                self._index.keep_only(part, frozenset())
        for row in rows:
            if row.problem:
                continue
            branch = self._memory.branch(scope, row.branch_id)
            if branch is not None:
                standing = _part(_Place(0, scope, branch))
                self._index.keep_only(standing.part, versions_of(standing.documents))

    # -- what is searched

    def _places(self, project: str, branch_id: str | None) -> tuple[tuple[_Place, ...], tuple[str, ...]]:
        """The branches as they are on disk now, and why one of them is missing."""
        places: list[_Place] = []
        problems: list[str] = []
        wanted = ((project, branch_id), (USER_SCOPE, main_branch_id(USER_SCOPE)))
        for place, (scope, named) in enumerate(dict(wanted).items()):
            try:
                chosen = named or self._selected(scope)
                places.append(_Place(place, scope, present_branch(self._memory, scope, chosen)))
            except (Damaged, NewerVersion, NotFound, Ambiguous) as error:
                if branch_id is not None and scope == project:
                    raise
                problems.append(str(error))
        return tuple(places), tuple(problems)

    def _selected(self, scope: str) -> str:
        name = self._memory.selected(scope) or MAIN
        if name == MAIN:
            return main_branch_id(scope)
        return row_named(self._memory.branches(scope), name).branch_id

    def _brought_up(
        self, places: tuple[_Place, ...], encoder: Encoder | None, *, seconds: float | None = None
    ) -> tuple[FollowingCorpus, int]:
        """The corpus of these branches, and how many entries are still to be encoded."""
        name = tuple(f"{each.scope} {each.branch.branch_id}" for each in places)
        warm = self._warm.get(name)
        if warm is None:
            self._warm.clear()  # one project's branch at a time is asked about
            warm = self._warm[name] = FollowingCorpus()
        if encoder is None and warm.follows({_branch_part(each): each.branch.digest for each in places}):
            return warm, 0
        if seconds is None:
            seconds = 0.0 if self.resident else ENCODING_SECONDS_MAX
        featuring = (
            Featuring(self._index, self._clock, encoder, seconds=seconds) if encoder is not None else None
        )
        warm.bring_up((_part(each) for each in places), featuring)
        if featuring is None:
            return warm, 0
        for each in places:
            part = _branch_part(each)
            if part in featuring.saved:
                self._withdraw(part, each.branch.digest)
        return warm, warm.pending

    def _withdraw(self, part: BranchPart, digest: str) -> None:
        """Take out again what was written of a text that was forgotten meanwhile: whoever forgets looks at
        the index last, whoever indexes looks at the branch last, so that one of the two sees the other.
        """
        branch = self._memory.branch(part.scope, part.branch_id)
        if branch is not None and branch.digest != digest:
            self._index.keep_only(part, versions_of(_part(_Place(0, part.scope, branch)).documents))

    # -- what is given

    def _entries(self, places: tuple[_Place, ...], hits: tuple[Hit, ...]) -> tuple[RecalledEntry, ...]:
        """Hits in order, equal ones by scope; each with its entry as it stands on the branch."""
        by_id = {f"{p.place}:{entry.entry_id}": (p, entry) for p in places for entry in p.branch.entries}
        runs = (list(run) for _, run in groupby(hits, key=lambda hit: round(hit.score, 6)))
        ranked = (hit for run in runs for hit in sorted(run, key=lambda hit: by_id[hit.doc_id][0].place))
        return tuple(self._entry(*by_id[hit.doc_id], hit) for hit in ranked)

    def _entry(self, place: _Place, entry: Entry, hit: Hit) -> RecalledEntry:
        return RecalledEntry(
            entry=entry,
            scope=place.scope,
            branch=place.branch.name,
            score=hit.score,
            margin=hit.margin,
            provenance=self._provenance_of(place, entry),
            why=hit.why,
        )

    def _provenance_of(self, place: _Place, entry: Entry) -> Provenance:
        version = (place.scope, place.branch.branch_id, entry_digest(entry))
        found = self._provenance.get(version)
        if found is None:
            if len(self._provenance) >= _KNOWN_MAX:
                self._provenance.clear()
            found = self._provenance[version] = self._looked_up(place, entry)
        return found

    def _looked_up(self, place: _Place, entry: Entry) -> Provenance:
        """The newest revision that left the entry as it is; what cannot be read or was purged is passed."""
        plain = Provenance(entry.origin, entry.created_ms, entry.updated_ms)
        scope, branch_id = place.scope, place.branch.branch_id
        for seq in tuple(reversed(self._memory.revisions(scope, branch_id)))[:REVISIONS_READ_MAX]:
            try:
                revision = self._memory.revision(scope, branch_id, seq)
            except (Damaged, NewerVersion):
                continue
            if not isinstance(revision, Revision) or all(c.after != entry for c in revision.changes):
                continue
            note = next((note for note in revision.notes if note.entry_id == entry.entry_id), None)
            return msgspec.structs.replace(
                plain,
                revision=revision.seq,
                cause=revision.cause,
                job_id=revision.job_id,
                evidence=note.evidence if note is not None else (),
                rationale=note.rationale or None if note is not None else None,
            )
        return plain


def with_encoder(
    encoder: Callable[[], Encoder | None], ask: Callable[[Encoder | None], T]
) -> tuple[T, tuple[str, ...]]:
    """Ask with the encoder; where it does not work, without it, and with the reason."""
    try:
        return ask(encoder()), ()
    except (ConfigError, ProviderUnavailable) as error:
        return ask(None), (str(error),)


def checked_question(question: str) -> str:
    """The question without space around it, and without characters that show nothing: they come along with
    what is copied, and stand in no key. Raises UsageError when nothing, or far too much, is left.
    """
    asked = clean_evidence_text(question).strip()
    if not asked:
        msg = "the question is empty."
        raise UsageError(msg, advice='Ask in words: perdure recall "how do we deploy?".')
    if len(asked) > QUESTION_CHARS_MAX:
        msg = f"the question has {len(asked):,} characters, at most {QUESTION_CHARS_MAX:,} are searched."
        raise UsageError(msg, advice="Ask a shorter one.")
    return asked


def pieces_of(prompt: str) -> tuple[str, ...]:
    """The last few sentences or lines of a prompt, each short enough to be encoded whole."""
    parts = [part.strip() for part in _PIECE_END.split(prompt[-_PROMPT_CHARS_MAX:])]
    short = [
        part[start : start + _PIECE_CHARS_MAX]
        for part in parts
        for start in range(0, len(part), _PIECE_CHARS_MAX)
    ]
    return tuple(dict.fromkeys(part for part in short if any(char.isalnum() for char in part)))[-_PIECES_MAX:]


def _entry_id(doc_id: str) -> str:
    return doc_id.partition(":")[2]


def versions_of(documents: tuple[Document, ...]) -> frozenset[str]:
    """The versions by which the index knows documents."""
    return frozenset(version_of(document) for document in documents)


def _branch_part(place: _Place) -> BranchPart:
    return BranchPart(place.scope, place.branch.branch_id)


def _part(place: _Place) -> PartDocuments:
    branch = place.branch
    return PartDocuments(
        _branch_part(place),
        branch.digest,
        tuple(
            Document(f"{place.place}:{entry.entry_id}", entry.text, key=entry.key, kind=entry.kind)
            for entry in branch.entries
        ),
    )


def _checked_kinds(places: tuple[_Place, ...], wanted: str | None) -> tuple[str, ...]:
    """The kinds of all entries that are searched. Raises UsageError when what is wanted can be no kind."""
    kinds = tuple(sorted({entry.kind for each in places for entry in each.branch.entries}))
    if wanted is not None and wanted not in kinds:
        from perdure.core.proposal import check_kind

        fault = check_kind(wanted)
        if fault:
            there = f"Here are: {', '.join(kinds)}." if kinds else "Nothing is remembered here yet."
            raise UsageError(f"{fault}.", advice=there)
    return kinds


def _of_kind(kind: str | None) -> Callable[[Document], bool] | None:
    return None if kind is None else lambda document: document.kind == kind
