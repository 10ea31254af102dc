"""Documents that are searched together, and all that the searches look things up in.

Adding and removing are incremental and encode nothing. What one kind of search alone needs is made at its
first question and kept up after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from perdure.recall.encoder import Encoder
from perdure.recall.features import Features
from perdure.recall.found import Document
from perdure.recall.keys import KeyIndex
from perdure.recall.lexical import Postings
from perdure.recall.lines import Lines
from perdure.recall.scale import Scale, scale_of
from perdure.recall.tokens import content_words, grams, terms

# NumPy is loaded by the first search with an encoder, not by the corpus that it searches.
if TYPE_CHECKING:
    from perdure.recall.cues import CueMemory
    from perdure.recall.encoder import Floats
    from perdure.recall.holographic import HolographicMemory
    from perdure.recall.semantic import Vectors

_WORD_VECTORS_MAX = 20_000


class Corpus:
    """Documents by id, with their features as far as they are there."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.keys = KeyIndex()
        self.words = Postings()
        self.groups = Postings()
        """The words of each group as one document."""
        self._features: dict[str, Features] = {}
        self._lines: Lines | None = None
        self._grams: Postings | None = None
        self._vectors: Vectors | None = None
        self._cues: CueMemory | None = None
        self._traces: HolographicMemory | None = None
        self._word_vectors: dict[tuple[str, str], Floats] = {}
        self._scales: dict[str, Scale] = {}

    def __len__(self) -> int:
        return len(self.documents)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.documents

    def add(self, document: Document, found: Features | None = None, *, scope: int = 0) -> None:
        """Add a document, or replace the one of the same id.

        Without features it is found by its words until it is added again with them. `scope` orders entries
        that answer alike: a lower one comes first (R-06).
        """
        doc_id = document.doc_id
        self.remove(doc_id)
        self._lines = None
        self.documents[doc_id] = document
        if document.key:
            self.keys.add(doc_id, document.key, scope=scope)
            self._trace(document.key)
        words = terms(told(document))
        self.words.add(doc_id, words)
        if document.group and words:
            self.groups.add(document.group, words)
        if self._grams is not None:
            self._grams.add(doc_id, grams(told(document)))
        if self._cues is not None:
            self._cues.add(doc_id, told(document))
        if found is not None:
            self._features[doc_id] = found
            if self._vectors is not None:
                self._vectors.add(doc_id, found)

    def remove(self, doc_id: str) -> None:
        """Take a document out; one that is not there is no mistake. Nothing of it stays."""
        document = self.documents.pop(doc_id, None)
        if document is None:
            return
        self._lines = None
        self._features.pop(doc_id, None)
        self.keys.remove(doc_id)
        if document.key:
            self._trace(document.key)
        if document.group in self.groups:
            self.groups.take(document.group, list(self.words.terms(doc_id)))
        self.words.remove(doc_id)
        for other in (self._grams, self._vectors, self._cues):
            if other is not None:
                other.remove(doc_id)
        if self._word_vectors:
            gone = set(content_words(told(document)))
            for known in [known for known in self._word_vectors if known[1] in gone]:
                del self._word_vectors[known]

    def missing(self, encoder: Encoder) -> Iterator[Document]:
        """Give the documents that have no features of this encoder."""
        for doc_id, document in self.documents.items():
            found = self._features.get(doc_id)
            if found is None or found.fingerprint != encoder.fingerprint:
                yield document

    def grams(self) -> Postings:
        """The character n-grams of all documents."""
        if self._grams is None:
            self._grams = Postings()
            for doc_id, document in self.documents.items():
                self._grams.add(doc_id, grams(told(document)))
        return self._grams

    def lines(self) -> Lines:
        """All documents in the order of their groups."""
        if self._lines is None:
            self._lines = Lines.of(self.documents)
        return self._lines

    def vectors(self, encoder: Encoder) -> Vectors:
        """The vectors of all documents that have some of this encoder."""
        if self._vectors is None or self._vectors.fingerprint != encoder.fingerprint:
            from perdure.recall.semantic import Vectors

            self._vectors = Vectors(encoder.fingerprint)
            for doc_id, found in self._features.items():
                self._vectors.add(doc_id, found)
        return self._vectors

    def scale(self, encoder: Encoder) -> Scale:
        """What the cosines of an encoder mean; measured once."""
        if encoder.fingerprint not in self._scales:
            self._scales[encoder.fingerprint] = scale_of(encoder)
        return self._scales[encoder.fingerprint]

    def cues(self) -> CueMemory:
        """The superposed cues of all documents."""
        if self._cues is None:
            from perdure.recall.cues import CueMemory

            self._cues = CueMemory()
            for doc_id, document in self.documents.items():
                self._cues.add(doc_id, told(document))
        return self._cues

    def traces(self) -> HolographicMemory:
        """Keys, each bound to the ids of the entries that hold it, one in a line, in the order of scopes."""
        if self._traces is None:
            from perdure.recall.holographic import HolographicMemory

            keys = {document.key for document in self.documents.values() if document.key}
            self._traces = HolographicMemory({key: "\n".join(self.keys.holders(key)) for key in keys})
        return self._traces

    def _trace(self, key: str) -> None:
        """Bind a key to the entries that hold it now."""
        if self._traces is None:
            return
        holders = self.keys.holders(key)
        if holders:
            self._traces.add(key, "\n".join(holders))
        else:
            self._traces.remove(key)

    def word_vectors(self, words: Sequence[str], encoder: Encoder) -> dict[str, Floats]:
        """Each word encoded alone; kept until a document that has it goes, so that it outlives none."""
        if len(self._word_vectors) > _WORD_VECTORS_MAX:
            self._word_vectors.clear()
        fresh = [word for word in words if (encoder.fingerprint, word) not in self._word_vectors]
        if fresh:
            for word, vector in zip(fresh, encoder.encode(fresh), strict=True):
                self._word_vectors[encoder.fingerprint, word] = vector
        return {word: self._word_vectors[encoder.fingerprint, word] for word in words}

    def accepted(self, accept: Callable[[Document], bool] | None) -> Callable[[str], bool]:
        """Give the test of an id that `accept` is of a document; with None all pass."""
        if accept is None:
            return lambda _: True
        return lambda doc_id: accept(self.documents[doc_id])


def told(document: Document) -> str:
    """A document's key and text as one text."""
    return f"{document.key}: {document.text}" if document.key else document.text
