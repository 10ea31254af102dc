"""A corpus that follows what is on disk: brought up by difference before each search (R-08)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from perdure.core.canonical import digest
from perdure.ports.index import Part
from perdure.recall.engine import Corpus, Features
from perdure.recall.found import Document
from perdure.service.recall_features import Featuring


class PartDocuments(msgspec.Struct, frozen=True):
    """The documents of a part as they are now; `source` is the digest of what they were read from."""

    part: Part
    source: str
    documents: tuple[Document, ...]


class FollowingCorpus:
    """Documents as a search sees them. A resident process keeps one, so that only changes cost time."""

    def __init__(self) -> None:
        self.corpus = Corpus()
        self._versions: dict[str, str] = {}
        self._featured: set[str] = set()
        self._sources: dict[Part, str] = {}
        """What the corpus has of each part."""
        self._read: set[Part] = set()
        """The parts whose index was read."""
        self._indexed: dict[Part, str] = {}
        """What the index of each part was brought up to."""

    @property
    def pending(self) -> int:
        """How many documents are searched by their words alone."""
        return len(self._versions) - len(self._featured)

    def follows(self, sources: Mapping[Part, str]) -> bool:
        """Whether the corpus holds exactly what these parts were made from."""
        return self._sources == sources

    def bring_up(self, parts: Iterable[PartDocuments], featuring: Featuring | None) -> None:
        """Make the corpus hold exactly these documents, with such features as there is time for."""
        given = tuple(parts)
        present = {document.doc_id for each in given for document in each.documents}
        for doc_id in [known for known in self._versions if known not in present]:
            self._drop(doc_id)
        there = {each.part for each in given}
        self._sources = {part: source for part, source in self._sources.items() if part in there}
        for each in given:
            if not self._stands(each, featuring):
                self._follow(each, featuring)
                self._sources[each.part] = each.source

    def _stands(self, each: PartDocuments, featuring: Featuring | None) -> bool:
        """Whether there is nothing to do for a part."""
        same = self._sources.get(each.part) == each.source
        if featuring is None:
            return same
        if featuring.deferring:
            return same and each.part in self._read
        complete = all(document.doc_id in self._featured for document in each.documents)
        return same and complete and self._indexed.get(each.part) == each.source

    def _follow(self, each: PartDocuments, featuring: Featuring | None) -> None:
        versions = {document.doc_id: self._version(document) for document in each.documents}
        ready = self._ready(each, versions, featuring)
        for document in each.documents:
            version = versions[document.doc_id]
            same = self._versions.get(document.doc_id) == version
            made = ready.get(version)
            if same and (made is None or document.doc_id in self._featured):
                continue
            if document.doc_id in self._versions:
                self._drop(document.doc_id)
            self.corpus.add(document, made)
            self._versions[document.doc_id] = version
            if made is not None:
                self._featured.add(document.doc_id)

    def _version(self, document: Document) -> str:
        """The version of a document; that of one which stands as it is, is known."""
        if self.corpus.documents.get(document.doc_id) == document:
            return self._versions[document.doc_id]
        return version_of(document)

    def _ready(
        self, each: PartDocuments, versions: Mapping[str, str], featuring: Featuring | None
    ) -> Mapping[str, Features]:
        """Features of a part by version, as far as somebody waits for them."""
        if featuring is None or (featuring.deferring and each.part in self._read):
            return {}
        wanted = {versions[document.doc_id]: document for document in each.documents}
        ready = featuring.of_part(each.part, wanted, source=each.source)
        self._read.add(each.part)
        if not featuring.deferring:
            self._indexed[each.part] = each.source
        return ready

    def _drop(self, doc_id: str) -> None:
        self.corpus.remove(doc_id)
        self._featured.discard(doc_id)
        del self._versions[doc_id]


def version_of(document: Document) -> str:
    """A digest of all that features and words can be made from; its place among others is no part of it."""
    content = msgspec.structs.replace(document, doc_id="", group="", order=0)
    return digest(content)
